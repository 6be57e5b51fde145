"""`stream-anon audit`: print what was checked, what was taken on trust, and every violation."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from stream_anon.audit.verdict import Verdict, Violation
from stream_anon.runtime import auditing

SHOWN = 50  # violations printed one by one


def audit_files(policy: Path, output: Path, certificates: Path) -> int:
    """Audit files; return 1 on any violation, else 0."""
    return show(auditing.audit_files(policy, output, certificates), Console(markup=False, highlight=False))


def audit_topic(config: Path) -> int:
    """Audit the output topic of a settings file; return 1 on any violation, else 0."""
    return show(auditing.audit_topic(config), Console(markup=False, highlight=False))


def show(verdict: Verdict, console: Console) -> int:
    """Print a verdict; return the exit code."""
    counts = verdict.counts
    looked = Table(title="Audit", show_header=False, title_justify="left")
    looked.add_row("windows", f"{counts.windows:,} ({counts.parts:,} certificate parts)")
    looked.add_row("classes", f"{counts.classes:,}")
    looked.add_row("records", f"{counts.records:,}")
    looked.add_row("input partitions", f"{counts.partitions:,}")
    console.print(looked)
    console.print("checked", *(f"  - {text}" for text in verdict.checked), sep="\n")
    console.print("on trust", *(f"  - {text}" for text in verdict.trusted), sep="\n")
    if verdict.clean:
        console.print("no violation found")
        return 0
    table = Table(title="Violations", title_justify="left")
    table.add_column("window", no_wrap=True)
    for heading in ("class", "attribute or partition", "what", "times"):
        table.add_column(heading, overflow="fold")
    for violation in verdict.violations[:SHOWN]:
        table.add_row(*_row(violation))
    console.print(table)
    left = len(verdict.violations) - SHOWN + verdict.more if len(verdict.violations) > SHOWN else verdict.more
    more = f", {left:,} of them not shown" if left else ""
    console.print(f"{len(verdict.violations) + verdict.more:,} violations{more}")
    return 1


def _row(violation: Violation) -> tuple[str, ...]:
    number = "" if violation.number is None else str(violation.number)
    return (violation.batch or "", number, violation.attribute or "", violation.kind.value, f"{violation.count:,}")
