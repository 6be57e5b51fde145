"""`stream-anon anonymize`: a file in, a k-anonymous file out."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from stream_anon.cli.compiling import saying_when_compiling
from stream_anon.cli.interruption import INTERRUPTED, interruptible
from stream_anon.cli.run.choosing import TerminalHolder, check_choosing
from stream_anon.cli.run.drawing import key_of_draws
from stream_anon.conditions import Condition
from stream_anon.errors import InputError, SettingsError
from stream_anon.files.file_report import FileReport
from stream_anon.files.job import FileJob
from stream_anon.files.rejects import in_words, parse_most_rejected
from stream_anon.files.series.series_job import SeriesJob
from stream_anon.files.suppressed import many_suppressed, reasons_in_words, suppressed_in_words
from stream_anon.files.two_tables import TwoTablesJob, beside
from stream_anon.formats.tables.format_names import STANDARD, Format, format_of
from stream_anon.formats.tables.new_files import write_whole
from stream_anon.formats.tables.opening import not_utf8
from stream_anon.formats.tables.record_files import RecordReader, size_of
from stream_anon.judging.refusing import Judging, conditions_of
from stream_anon.judging.sample_findings import MANY_MISSING
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.bounds import RecordBound
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.signing.signature import Sign
from stream_anon.rounding import in_percent
from stream_anon.settings.certificates.signing import signing_key_of
from stream_anon.settings.loading import load_settings
from stream_anon.settings.model import Settings
from stream_anon.settings.policy_file import build_policy
from stream_anon.settings.yaml_text import read_yaml

MOST_ALIKE = 20


class Explain(StrEnum):
    """How much of a method's steps is printed."""

    SHORT = "short"
    ALL = "all"


@dataclass(frozen=True)
class FileNames:
    """The files of a run; `sensitive` is the second table of anatomy, `by_arrival` as in `FileJob`.

    `series` is the folder of the series of which the run makes the next release.
    """

    source: str
    target: str
    certificates: Path | None = None
    rejects: Path | None = None
    sensitive: str | None = None
    by_arrival: bool = False
    series: Path | None = None


def file_job(
    config: Path,
    overrides: Mapping[str, Mapping[str, Any]],
    names: FileNames,
    max_rejected: str,
    standard: Format,
    accepted: Sequence[Condition] = (),
    *,
    fresh: bool = False,
) -> FileJob:
    """Return what the options of the command ask for.

    Parameters
    ----------
    fresh
        Whether the run draws anew instead of by a key.
    """
    source, target = names.source, names.target
    most, judging = parse_most_rejected(max_rejected), Judging(conditions_of(accepted))
    settings = load_settings(config, {section: dict(values) for section, values in overrides.items()})
    policy = build_policy(settings, config)
    if names.series is not None:
        series = _series_job(policy, names, names.series, most, standard, judging)
        return replace(series, sign=_sign(settings, names))
    job: FileJob
    if policy.method is not None and policy.method.name == "anatomy":
        if names.certificates is not None:
            raise SettingsError("--certificates", "certify classes of k individuals, which anatomy does not make")
        table = beside(target) if names.sensitive is None else names.sensitive
        job = TwoTablesJob(
            policy, source, target, None, names.rejects, most, standard, judging=judging, sensitive=table
        )
    else:
        if names.sensitive is not None:
            raise SettingsError("--sensitive-table", "is for method: anatomy only")
        files = source, target, names.certificates, names.rejects
        by_arrival, sign = names.by_arrival, _sign(settings, names)
        job = FileJob(policy, *files, most, standard, judging=judging, by_arrival=by_arrival, sign=sign)
    return replace(job, key=key_of_draws(config, settings, fresh=fresh))


def _sign(settings: Settings, names: FileNames) -> Sign | None:
    """Return what signs certificates; None where there are none, or no key."""
    key = None if names.certificates is None else signing_key_of(settings.certificates)
    return None if key is None else key.sign


def _series_job(
    policy: Policy, names: FileNames, series: Path, most: RecordBound, standard: Format, judging: Judging
) -> SeriesJob:
    """Return the next release of a series. All of them are drawn anew: none is made twice of the same state."""
    if names.by_arrival:
        raise SettingsError("--by-arrival", "is not for --series: a release is one table")
    if names.sensitive is not None:
        raise SettingsError("--sensitive-table", "is for method: anatomy only")
    files = names.source, names.target, names.certificates, names.rejects
    return SeriesJob(policy, *files, most, standard, judging=judging, series=series)


def anonymize(job: FileJob, report: Path | None, explain: Explain | None, *, choose: bool) -> int:
    """Anonymize a file, show progress on a terminal, say in a line what happened; return the exit code.

    The code is 1 if too many records were rejected, if a method's answer falls short of the policy, or if the gate
    had to suppress a class (the output is safe, and there is a bug), and 130 after Ctrl-C or SIGTERM.

    Parameters
    ----------
    explain
        How much of a method's steps is printed; None for nothing.
    choose
        Whether a person decides what the method leaves to the data's holder.
    """
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    if choose:
        check_choosing(job.policy, sys.stdin.isatty() and console.is_terminal and job.source != STANDARD)
    try:
        with interruptible(), _bar(console) as bar, saying_when_compiling(bar.console):
            holder = TerminalHolder(console, lambda question: _asked(question, bar))
            if choose:
                job = replace(job, holder=holder)
            task = bar.add_task("anonymizing", total=_size(job.source))
            result = job.run(lambda read: bar.update(task, completed=read))
    except KeyboardInterrupt:
        console.print(f"stream-anon: interrupted; {_not_written(job)}")
        return INTERRUPTED
    if report is not None:
        write_whole(report, json.dumps(result.as_json(), indent=2).encode() + b"\n")
    if explain is not None:
        _explain(result, explain, console)
    if choose:
        console.print(f"in the settings file this chooses the same: {holder.as_settings()}")
    for text in result.warnings:
        console.print(f"stream-anon: warning: {text}")
    if result.refusal:
        console.print(f"stream-anon: {result.refusal}\nstream-anon: {_not_written(job)}")
        return 1
    console.print(_summary(result))
    if many_suppressed(result):
        console.print(f"stream-anon: warning: {suppressed_in_words(result)}")
    if not result.written:
        console.print(f"stream-anon: {_too_many(job, result)}")
    return 1 if result.gate_violations or not result.written else 0


def _explain(report: FileReport, explain: Explain, console: Console) -> None:
    """Print the steps of a method; of many alike only the first, unless all were asked for."""
    of_a_kind: Counter[str] = Counter(line.partition(":")[0] for line in report.explanation)
    seen: Counter[str] = Counter()
    for line in report.explanation:
        kind = line.partition(":")[0]
        seen[kind] += 1
        if explain is Explain.ALL or seen[kind] <= MOST_ALIKE:
            console.print(f"  {line}")
        elif seen[kind] == MOST_ALIKE + 1:
            console.print(f"  {kind}: {of_a_kind[kind] - MOST_ALIKE:,} more, --all lists them")


def _asked(question: str, bar: Progress) -> str:
    """Return a line that a person types, while no bar moves over it."""
    bar.stop()
    try:
        return bar.console.input(question)
    finally:
        bar.start()


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def method_options(name: str | None, options: Sequence[str]) -> dict[str, Any]:
    """Return a method and its options as the settings file has them.

    Parameters
    ----------
    name
        None where the settings file names it.
    options
        `KEY=VALUE`, the value as YAML.

    Raises
    ------
    SettingsError
        If one is not of this form.
    """
    found: dict[str, Any] = {} if name is None else {"name": name}
    for text in options:
        key, mark, value = text.partition("=")
        if not mark:
            raise SettingsError("--option", "must be KEY=VALUE, such as loss=entropy")
        found[key.strip()] = read_yaml(value, "--option")
    return found


def _too_many(job: FileJob, report: FileReport) -> str:
    rejected, records = report.rejected.total(), report.records_in
    bound = job.most_rejected.share if job.most_rejected.records is None else None
    text = (
        f"{rejected:,} of {records:,} records were rejected ({in_percent(rejected / records, bound=bound)}), "
        f"--max-rejected allows {job.most_rejected}; {_not_written(job)}. "
    )
    if job.source == STANDARD and job.standard is Format.JSONL and not rejected - _no_json(report):
        return text + "Standard input is read as JSON Lines; if it is CSV, say --format csv."
    if isinstance(job.source, str) and 2 * report.rejected[Reason.NOT_UTF8.label] > rejected:
        return f"{text}{not_utf8(job.source, format_of(job.source, job.standard))}."
    where = f"The lines are in {job.rejects}" if job.rejects else "--rejects FILE lists their lines"
    return f"{text}{where}: correct the input or the policy, or allow more with --max-rejected."


def _no_json(report: FileReport) -> int:
    return sum(report.rejected[reason.label] for reason in (Reason.MALFORMED, Reason.NOT_AN_OBJECT))


def _not_written(job: FileJob) -> str:
    if job.target == STANDARD:
        return "what went to standard output before is not the whole"
    return f"nothing was written to {job.target}"


def _size(source: str | RecordReader) -> int | None:
    try:
        return size_of(source) if isinstance(source, str) else None
    except OSError as error:
        raise InputError(f"{source}: cannot be opened ({error.strerror})") from None


def _shields(report: FileReport) -> str:
    reached = zip(report.achieved_shields, report.shields, strict=False)  # nothing is reached without a class
    told = [f"{people} who share {', '.join(own)}" for people, own in reached]
    return f"at least {' and '.join(told)}, " if told else ""


def _summary(report: FileReport) -> str:
    lost = "-" if report.gcp is None else f"{report.gcp:.4f}"
    faults, reasons = in_words(report.faults), reasons_in_words(report)
    text = (
        f"{report.records_in} records in, {report.released} released in {report.classes} classes, "
        f"{f'{report.counterfeits} of them counterfeits, ' if report.counterfeits else ''}"
        f"{report.suppressed.total()} suppressed{f' ({reasons})' if reasons else ''}, "
        f"{report.rejected.total()} rejected"
        f"{f' ({faults})' if faults else ''}; "
        f"smallest class {report.achieved_k or '-'} people, {_shields(report)}information loss {lost}"
    )
    absent = [f"{name} {share:.1%}" for name, share in report.missing_shares.items() if share > MANY_MISSING]
    if absent:
        text += f"; without a value: {', '.join(absent)}"
    if report.coerced:
        text += f"; {report.coerced} texts counted as numbers or truth values (coerce)"
    if report.gate_violations:
        text += f"; the gate suppressed {report.gate_violations} classes: please report this"
    return text
