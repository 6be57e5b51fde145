"""`stream-anon audit`: print what was checked, what was taken on trust, and every violation."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.prometheus.audit_file import write_audit_file
from stream_anon.audit.scope import AuditScope
from stream_anon.audit.verdict import Change, Verdict, Violation
from stream_anon.cli.printing import titled_table
from stream_anon.cli.progress_bars import counting_read
from stream_anon.microdata.bounds import k_in_words
from stream_anon.operations.audit import auditing
from stream_anon.operations.audit.audit_report import as_json as as_object
from stream_anon.operations.audit.audit_report import asked_of, figures_of, iso
from stream_anon.operations.audit.auditing import AuditReport, WantedAudit
from stream_anon.operations.disclosures import COLUMNS, cells, warnings

SHOWN = 50  # violations printed one by one


def audit(
    config: Path,
    files: tuple[Path, Path] | None,
    wanted: WantedAudit,
    *,
    since: str | None,
    batch: str | None,
    as_json: bool,
    metrics: Path | None,
) -> int:
    """Audit the output topic of a settings file, or files; return 1 on any violation, else 0.

    Parameters
    ----------
    files
        Released records and their certificates; None for the topics.
    wanted
        Without its stretch, which follows from `since` and `batch`; without these all windows are wanted.
    """
    clock = SystemClock()
    start = -inf if since is None else auditing.moment_of("--since", since, clock.wall())
    with counting_read() as progress:
        wanted = replace(wanted, stretch=AuditScope(start, batch), progress=progress)
        if files is None:
            report = auditing.audit_topic(config, wanted, clock)
        else:
            report = auditing.audit_files(config, *files, wanted, clock)
    if metrics is not None:
        write_audit_file(metrics, figures_of(report))
    if as_json:
        typer.echo(json.dumps(as_object(report), indent=2, ensure_ascii=False))
        return 0 if report.verdict.clean and _holds(report) else 1
    return show(report, Console(markup=False, highlight=False))


def show(report: AuditReport, console: Console) -> int:
    """Print a report; return the exit code."""
    verdict = report.verdict
    console.print(_summary(report))
    _show_policies(report, console)
    _show_lives(report.verdict, console)
    _show_signers(report.verdict, console)
    _show_uncompared(report, console)
    _show_what_is_gone(verdict, console)
    for name, windows in verdict.accepted.items():
        console.print(f"accepted risk: {name} ({windows:,} windows)")
    _show_disclosed(verdict, console)
    console.print("checked", *(f"  - {text}" for text in verdict.checked), sep="\n")
    console.print("on trust", *(f"  - {text}" for text in verdict.trusted), sep="\n")
    if verdict.clean:
        console.print(_conclusion(report), soft_wrap=True)
        return 0 if _holds(report) else 1
    table = Table(title="Violations, worst first", title_justify="left")
    table.add_column("window", no_wrap=True)
    for heading in ("class", "attribute or partition", "what", "times"):
        table.add_column(heading, overflow="fold")
    for violation in verdict.violations[:SHOWN]:
        table.add_row(*_row(violation))
    console.print(table)
    left = max(0, len(verdict.violations) - SHOWN) + verdict.more
    more = f", {left:,} of them not shown" if left else ""
    console.print(f"{len(verdict.violations) + verdict.more:,} violations{more}")
    if not _holds(report):
        console.print(_conclusion(report), soft_wrap=True)
    if left:
        console.print(*(f"  {count:>9,}  {kind.value}" for kind, count in verdict.kinds.items()), sep="\n")
    return 1


def _holds(report: AuditReport) -> bool:
    asked = asked_of(report)
    return asked is None or asked.holds


def _conclusion(report: AuditReport) -> str:
    """Return what was asked and what holds; for a release without violations, or one that falls short of --k."""
    least, asked = report.verdict.least, asked_of(report)
    own = _promised(report)
    if least is None:
        return "no violation found: no class was released"
    if asked is not None and not asked.holds:
        return (
            f"k {asked.k} was asked; every class has at least {least}, and its own policy asked for k {own}: "
            "what was asked does not hold"
        )
    if asked is not None:
        return f"no violation found: k {asked.k} was asked; every class has at least {least} individuals"
    other = (
        "" if report.verdict.pending is None else f"; the settings file asks for k {k_in_words(report.policy.k)}"
    )
    if report.policy.counterfeits is not None:
        own += " of records, half of which may be counterfeits"
    return f"no violation found: every class has at least {least} individuals; its policy asks for k {own}{other}"


def _promised(report: AuditReport) -> str:
    asked = {period.k for period in report.verdict.periods}
    return ", ".join(k_in_words(k) for k in sorted(asked, key=lambda k: k or 0))


def _summary(report: AuditReport) -> Table:
    verdict, policy = report.verdict, report.policy
    counts, periods = verdict.counts, verdict.periods
    table = Table(title="Audit", show_header=False, title_justify="left")
    table.add_row("output", report.subject)
    k, revision = k_in_words(policy.k), policy.revision
    table.add_row("policy", f"{_settings(report)}, revision {revision}, k {k}, {report.promises[:19]}")
    if periods:
        first, last = min(period.first for period in periods), max(period.last for period in periods)
        table.add_row("period", f"{first} to {last}")
        table.add_row("k promised", _promised(report))
    table.add_row("audited", iso(report.ended))
    trust = f", {counts.on_trust:,} of them on trust" if counts.on_trust else ""
    table.add_row("windows", f"{counts.windows:,}{trust} ({counts.parts:,} certificate parts)")
    table.add_row("contents", f"compared with digests in {counts.recounted:,} of {counts.windows:,} windows")
    if report.wanted.public_keys:
        table.add_row("signatures", f"hold in {counts.signed:,} of {counts.windows:,} windows")
    table.add_row("classes", f"{counts.classes:,}")
    table.add_row("records", f"{counts.records:,}")
    table.add_row("input partitions", f"{counts.partitions:,}")
    if counts.lost:
        table.add_row("input lost", f"{counts.lost:,} offsets that nobody could read, as certificates say")
    return table


def _settings(report: AuditReport) -> str:
    """Return the name of the settings file, and what the command line put in place of its values."""
    typed = [
        f"{section}.{key}: {value}"
        for section, values in report.wanted.overrides.items()
        for key, value in values.items()
    ]
    return f"{report.settings} with {', '.join(typed)}" if typed else str(report.settings)


def _show_policies(report: AuditReport, console: Console) -> None:
    """Print the policies of the audited windows where there is more to say than that all had the present one."""
    periods = report.verdict.periods
    if not periods or (len(periods) == 1 and periods[0].promises == report.promises):
        return
    table = titled_table(
        "Policies", ("policy", "revision", "k", "first window", "last window", "windows", "against the one before")
    )
    for period in periods:
        trust = " (on trust)" if period.on_trust else ""
        name = f"{period.promises[:19]}{trust}"
        row = (str(period.revision), k_in_words(period.k), period.first, period.last, f"{period.windows:,}")
        table.add_row(name, *row, "" if period.change is None else _change(period.change))
    console.print(table)
    if report.verdict.pending is not None:
        console.print("the settings file promises otherwise than the policy of the last window:")
        console.print(_change(report.verdict.pending))


def _show_lives(verdict: Verdict, console: Console) -> None:
    """Print the input topics where one was created anew: each of its lives begins its offsets again."""
    if len(verdict.lives) == len({life.topic for life in verdict.lives}):
        return
    table = titled_table(
        "Input topics that were created anew", ("topic", "topic id", "first window", "last window", "windows")
    )
    for life in verdict.lives:
        table.add_row(life.topic, life.topic_id or "not named", life.first, life.last, f"{life.windows:,}")
    console.print(table)


def _show_signers(verdict: Verdict, console: Console) -> None:
    """Print when each key signed."""
    if not verdict.signers:
        return
    table = titled_table("Keys that signed", ("key", "first window", "last window", "windows"))
    for signer in verdict.signers:
        table.add_row(signer.key, signer.first, signer.last, f"{signer.windows:,}")
    console.print(table)


def _show_uncompared(report: AuditReport, console: Console) -> None:
    """Print of how many windows contents were not compared with digests, and why."""
    reasons, away = report.verdict.uncompared, report.absent_key
    if not reasons and away is None:
        return
    lines = [f"  - {count:,} windows: {reason.value}" for reason, count in reasons.items()]
    if away is not None:
        lines.append(f"  - output.digest_key_file is not there: {away}")
    console.print("contents were not compared with digests", *lines, sep="\n", soft_wrap=True)


def _show_disclosed(verdict: Verdict, console: Console) -> None:
    """Print what classes give away of sensitive attributes, and a warning where it is a value itself."""
    if not verdict.disclosed:
        return
    table = titled_table("What classes give away of sensitive attributes", ("attribute", *COLUMNS))
    for name, found in verdict.disclosed.items():
        table.add_row(name, *cells(found))
    console.print(table)
    for text in warnings(verdict.disclosed):
        console.print(f"warning: {text}")


def _change(change: Change) -> str:
    lines = [f"weaker: {text}" for text in change.weaker]
    lines += [f"stronger: {text}" for text in change.stronger]
    return "\n".join(lines) or "neither weaker nor stronger"


def _show_what_is_gone(verdict: Verdict, console: Console) -> None:
    removed = verdict.removed
    gone = [
        (removed.records, f"{removed.records:,} released records of {removed.windows:,} windows"),
        (removed.uncertified, f"the certificates of {removed.uncertified:,} released records"),
        (removed.gaps, f"the certificates of {removed.gaps:,} stretches of the input"),
        (removed.chains, f"the certificates before {removed.chains:,} others"),
    ]
    lines = [f"  - {text}" for count, text in gone if count]
    if lines:
        console.print("no longer there, older than the start of its topic or than --since", *lines, sep="\n")


def _row(violation: Violation) -> tuple[str, ...]:
    number = "" if violation.number is None else str(violation.number)
    return (violation.batch or "", number, violation.attribute or "", violation.kind.value, f"{violation.count:,}")
