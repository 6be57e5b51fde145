"""`stream-anon report`: write the evidence over a period, and print what it comes to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from stream_anon.adapters.clock import SystemClock
from stream_anon.audit.scope import AuditScope
from stream_anon.cli.printing import print_figures, print_remarks
from stream_anon.cli.progress_bars import counting_read
from stream_anon.errors import CertificateError, SettingsError
from stream_anon.operations.audit.auditing import Wanted, moment_of
from stream_anon.operations.audit.public_key_files import read_public_keys
from stream_anon.operations.report.figures.risks import AttackerRisk, in_words, risk_in_percent
from stream_anon.operations.report.report_document import document_of
from stream_anon.operations.report.report_findings import Findings
from stream_anon.operations.report.report_page import assessment, report_page, report_pdf, require_pdf
from stream_anon.operations.report.reporting import ReportSubject, report
from stream_anon.operations.report.signed_files import SUFFIX, signer_of, write_signed
from stream_anon.rounding import in_percent
from stream_anon.settings.certificates.signing import signing_key_in

HEADINGS = ("attacker", "highest risk", "average", "people above the threshold")


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """The period of a report, and where it is written."""

    since: str | None = None
    until: str | None = None
    former: tuple[str, ...] = ()
    keys: tuple[Path, ...] = ()
    public_keys: tuple[Path, ...] = ()
    json_file: Path | None = None
    html_file: Path | None = None
    pdf_file: Path | None = None
    dpia_file: Path | None = None
    sign_key: Path | None = None


def write_report(subject: ReportSubject, options: ReportOptions) -> int:
    """Write a report; return 1 if the audit found something or a risk is above the threshold, else 0.

    Raises
    ------
    SettingsError, BrokerError, InputError
        If options, settings or files are wrong, or a file cannot be written.
    """
    clock = SystemClock()
    now = clock.wall()
    since = -inf if options.since is None else moment_of("--from", options.since, now)
    until = inf if options.until is None else moment_of("--to", options.until, now)
    if since >= until:
        raise SettingsError("--to", "must be after --from")
    _check_written(subject, options)
    if options.pdf_file is not None:
        require_pdf()
    key = signing_key_in(options.sign_key)
    with counting_read() as progress:
        wanted = Wanted(
            AuditScope(since, until=until),
            frozenset(options.former),
            keys=options.keys,
            public_keys=options.public_keys,
            progress=progress,
        )
        found = report(subject, wanted, clock)
    document = document_of(found)
    written = list(_written(document, options))
    for path, content in written:
        write_signed(path, content, None if key is None else key.sign)
    _show(found, Console(highlight=False, markup=False), [path for path, _ in written])
    return 0 if found.holds else 1


def _check_written(subject: ReportSubject, options: ReportOptions) -> None:
    """Raise SettingsError if a file would be written twice, nowhere, or over what is read, or a key signs none."""
    original = None if subject.original is None else Path(subject.original)
    files = (subject.output, subject.certificates, original, subject.attacks, subject.population, options.sign_key)
    read = (subject.config, *options.keys, *options.public_keys, *filter(None, files))
    taken = {path.resolve() for path in read}
    written = {
        "--json": options.json_file,
        "--dpia": options.dpia_file,
        "--html": options.html_file,
        "--pdf": options.pdf_file,
    }
    if options.sign_key is not None and not any(written.values()):
        raise SettingsError("--sign-key", f"signs what is written: give one of {', '.join(written)}")
    for option, path in written.items():
        if path is None:
            continue
        if not path.resolve().parent.is_dir():
            raise SettingsError(option, f"{path.parent}: is no folder")
        for each in (path, path.with_name(path.name + SUFFIX)):
            if each.resolve() in taken:
                raise SettingsError(
                    option, f"{each}: would be written over what the report reads or writes besides"
                )
            taken.add(each.resolve())


def verify_file(path: Path, public_keys: Sequence[Path]) -> int:
    """Print who signed a file; return 1 if it was none of the given keys, else 0."""
    try:
        name = signer_of(path, read_public_keys(public_keys))
    except CertificateError as error:
        typer.echo(str(error), err=True)
        return 1
    typer.echo(f"{path}: signed by {name}")
    return 0


def _written(document: dict[str, Any], options: ReportOptions) -> Iterator[tuple[Path, bytes]]:
    """Yield what is to be written, and where."""
    if options.json_file is not None:
        yield options.json_file, (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
    if options.dpia_file is not None:
        yield options.dpia_file, assessment(document).encode()
    if options.html_file is None and options.pdf_file is None:
        return
    page = report_page(document)
    if options.html_file is not None:
        yield options.html_file, page.encode()
    if options.pdf_file is not None:
        yield options.pdf_file, report_pdf(page)


def _show(found: Findings, console: Console, written: Sequence[Path]) -> None:
    evidence, verdict = found.evidence, found.audit.verdict
    records, sizes = evidence.records, evidence.sizes
    period = f", {evidence.first} to {evidence.last}" if evidence.windows else ""
    console.print(f"{found.audit.subject}: {evidence.windows:,} windows{period}")
    console.print(
        f"{records.taken_in:,} records in, {records.released:,} released, "
        f"{records.suppressed.total():,} suppressed, {records.rejected.total():,} rejected; "
        f"{sizes.classes:,} classes"
    )
    console.print()
    rows = [(f"{when}: {one.attacker}", _cells(one, found.threshold)) for when, one in _risks(found)]
    print_figures(console, HEADINGS, rows)
    count = sum(verdict.kinds.values())
    told = [
        "no violation found" if verdict.clean else f"{count:,} violations: stream-anon audit lists them",
        *([f"a risk is above {in_words(found.threshold)}"] if found.too_high else []),
        *found.cautions,
        *(f"written: {path}" for path in written),
    ]
    print_remarks(console, told, end="")


def _risks(found: Findings) -> Iterator[tuple[str, AttackerRisk]]:
    before = [] if found.before is None else found.before.risks()
    for when, risks in (("before", before), ("after", found.evidence.risks())):
        yield from ((when, one) for one in risks)


def _cells(one: AttackerRisk, bound: float | None) -> list[str]:
    above = "-" if one.above is None else in_percent(one.above)
    return [risk_in_percent(one.highest, bound), risk_in_percent(one.average, bound), above]
