"""`stream-anon realign`: show where a service goes on in another cluster and what is withheld, ask, and do it."""

from __future__ import annotations

import sys
from pathlib import Path

import typer
from rich.console import Console

from stream_anon.cli.printing import titled_table
from stream_anon.cli.run.confirming import confirmed
from stream_anon.operations.ledger import realigning
from stream_anon.operations.ledger.changes import refuse_members
from stream_anon.operations.ledger.mirror_reading import MirrorOptions
from stream_anon.operations.ledger.realigning import RealignmentPlan, Route

STAKE = (
    "What is at stake: a record that was released in the old cluster must not be released again. That holds if the "
    "service there has ended, if MirrorMaker has ended and never copies these topics again, and if certificates "
    "here name all that was released there: a window whose certificate was not copied would be released a second "
    "time. Records below the new offsets that were not released yet are withheld for good."
)


def realign(config: Path, options: MirrorOptions, *, yes: bool) -> int:
    """Realign after a confirmation; return 0 if it is done or nothing is to be done, 1 if it is declined."""
    console = Console(markup=False, highlight=False)
    shown = realigning.look(config, options)
    show(shown, console)
    if not shown.entries:
        console.print("nothing to realign")
        return 0
    refuse_members(shown.group, shown.members)
    if not (yes or confirmed("Let the service go on here as shown?", sys.stdin.isatty(), typer.confirm)):
        console.print("refused; nothing was changed")
        return 1
    realigning.realign_shown(config, options, shown)
    console.print(
        f"done: {len(shown.entries)} partitions go on as shown; run `stream-anon check`, then start workers"
    )
    return 0


def show(plan: RealignmentPlan, console: Console) -> None:
    """Print where partitions go on, and what is at stake where something is changed."""
    table = titled_table(
        f"Ledger {plan.ledger}, group {plan.group}",
        ("partition", "released there, below", "goes on here at", "withheld, at most", "what happens"),
    )
    for line in plan.lines:
        table.add_row(*_cells(line))
    console.print(table)
    if plan.entries:
        console.print(f"{plan.withheld:,} records at most are withheld.", STAKE, sep="\n")


def _cells(line: Route) -> tuple[str, ...]:
    topic, number = line.place
    released = "" if line.released is None else str(line.released)
    if line.aligned is None:
        return f"{topic}:{number}", released, "", "", line.fate
    its = line.aligned
    withheld = f"{its.withheld:,}" + (f" (offsets {its.begin} to {its.next - 1})" if its.withheld else "")
    return f"{topic}:{number}", released, str(its.next), withheld, line.fate
