"""`stream-anon anonymize`: a file in, a k-anonymous file out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from stream_anon.adapters.tables.format_names import STANDARD, Format
from stream_anon.adapters.tables.formats import size_of
from stream_anon.adapters.tables.new_files import NewFile
from stream_anon.cli.compiling import saying_when_compiling
from stream_anon.cli.interruption import INTERRUPTED, interruptible
from stream_anon.errors import InputError
from stream_anon.files.job import FileJob, FileReport
from stream_anon.files.rejects import MostRejected, in_words
from stream_anon.microdata.batch import Reason
from stream_anon.service.starting.findings import MANY_MISSING
from stream_anon.settings.policy_file import load_policy


def file_job(
    config: Path,
    overrides: Mapping[str, Mapping[str, Any]],
    files: Sequence[str],
    certificates: Path | None,
    rejects: Path | None,
    max_rejected: str,
    standard: Format,
) -> FileJob:
    """Return what the options of the command ask for."""
    source, target = files
    most = MostRejected.parse(max_rejected)
    policy = load_policy(config, {section: dict(values) for section, values in overrides.items()})
    return FileJob(policy, source, target, certificates, rejects, most, standard)


def anonymize(job: FileJob, report: Path | None) -> int:
    """Anonymize a file, show progress on a terminal, say in a line what happened; return the exit code.

    The code is 1 if too many records were rejected, or if the gate had to suppress a class (the output is safe, and
    there is a bug), and 130 after Ctrl-C or SIGTERM.
    """
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    try:
        with interruptible(), _bar(console) as bar, saying_when_compiling(bar.console):
            task = bar.add_task("anonymizing", total=_size(job.source))
            result = job.run(lambda read: bar.update(task, completed=read))
    except KeyboardInterrupt:
        console.print(f"stream-anon: interrupted; {_not_written(job)}")
        return INTERRUPTED
    if report is not None:
        _save(report, result)
    console.print(_summary(result))
    if not result.written:
        console.print(f"stream-anon: {_too_many(job, result)}")
    return 1 if result.gate_violations or not result.written else 0


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


def _too_many(job: FileJob, report: FileReport) -> str:
    rejected, records = report.rejected.total(), report.records_in
    text = (
        f"{rejected:,} of {records:,} records were rejected ({rejected / records:.1%}), "
        f"--max-rejected allows {job.most_rejected}; {_not_written(job)}. "
    )
    if job.source == STANDARD and job.standard is Format.JSONL and not rejected - _no_json(report):
        return text + "Standard input is read as JSON Lines; if it is CSV, say --format csv."
    where = f"The lines are in {job.rejects}" if job.rejects else "--rejects FILE lists their lines"
    return f"{text}{where}: correct the input or the policy, or allow more with --max-rejected."


def _no_json(report: FileReport) -> int:
    return sum(report.rejected[reason.label] for reason in (Reason.MALFORMED, Reason.NOT_AN_OBJECT))


def _not_written(job: FileJob) -> str:
    if job.target == STANDARD:
        return "what went to standard output before is not the whole"
    return f"nothing was written to {job.target}"


def _size(source: str) -> int | None:
    try:
        return size_of(source)
    except OSError as error:
        raise InputError(f"{source}: cannot be opened ({error.strerror})") from None


def _save(path: Path, report: FileReport) -> None:
    with NewFile(str(path)) as new:
        new.file.write(json.dumps(report.as_json(), indent=2).encode() + b"\n")
        new.publish()


def _summary(report: FileReport) -> str:
    lost = "-" if report.gcp is None else f"{report.gcp:.4f}"
    faults = in_words(report.faults)
    text = (
        f"{report.records_in} records in, {report.released} released in {report.classes} classes, "
        f"{sum(report.suppressed.values())} suppressed, {report.rejected.total()} rejected"
        f"{f' ({faults})' if faults else ''}; "
        f"smallest class {report.achieved_k or '-'} people, information loss {lost}"
    )
    absent = [f"{name} {share:.1%}" for name, share in report.missing_shares.items() if share > MANY_MISSING]
    if absent:
        text += f"; without a value: {', '.join(absent)}"
    if report.gate_violations:
        text += f"; the gate suppressed {report.gate_violations} classes: please report this"
    return text
