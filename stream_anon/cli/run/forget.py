"""`stream-anon forget`: show what would be released twice, ask, and make the ledger forget."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from stream_anon.cli.printing import titled_table
from stream_anon.cli.run.confirming import confirmed
from stream_anon.operations.ledger import forgetting
from stream_anon.operations.ledger.changes import refuse_members
from stream_anon.operations.ledger.offsets import OffsetStanding, Survey

STAKE = (
    "What is at stake: these records were released already. They will be released a second time, in other classes. "
    "A reader with both outputs can intersect the two classes of a record: fewer than k people may be left, and "
    "one may be recognised. Every reader must drop the earlier output of these records before the new one is "
    "published, wherever it was copied to."
)
ANEW = (
    "These topics were deleted and created anew. Their partitions will begin at their first record, whatever "
    "offset the group holds, and all of their records will be released. What is at stake: nothing of the new topic "
    "was released, unless records of the old one were copied into it: those would be released a second time, "
    "in other classes. Do not go on before you know where the records of the new topic come from. If MirrorMaker "
    "copied them from another cluster, use `stream-anon realign` instead."
)
NO_ENTRY = (
    "It is not known whether records of partitions that are not in the ledger were released: look for them in the "
    "certificates first. What a certificate names will be released a second time."
)
RECREATED = (
    "Partitions of a topic that was created anew are not forgotten: `stream-anon forget --recreated` lets them "
    "begin at their first record."
)
UNBACKED = (
    "An entry beyond the end of its input was not written by this service, or the input has lost records. Without "
    "it the partition goes on at the group's offset: compare that with the end of its range in the newest "
    "certificate that names the partition, and set the offset there first if they differ."
)
INSTEAD = "To release nothing twice, do not forget: set the group's offsets to the ledger's and start again."
SKIPPED = (
    "With kafka.start: latest a partition without an offset begins at its end: what lies between the ledger's "
    "entry and the end is never released."
)


def forget(config: Path, partitions: Sequence[str], *, yes: bool, recreated: bool = False) -> int:
    """Forget after a confirmation; return 0 if it is done or nothing is to be done, 1 if it is declined."""
    console = Console(markup=False, highlight=False)
    shown = forgetting.look(config, partitions, recreated=recreated)
    show(shown, console)
    if not shown.chosen:
        console.print("no topic was created anew" if recreated else "nothing to forget")
        return 0
    refuse_members(shown.group, shown.members)
    question = "Let them begin at their first record?" if recreated else "Let the ledger forget them?"
    if not (yes or confirmed(question, sys.stdin.isatty(), typer.confirm)):
        console.print("refused; nothing was forgotten")
        return 1
    forgetting.forget_shown(config, partitions, shown)
    count = len(shown.chosen)
    done = f"{count} partitions begin anew" if recreated else f"the ledger has forgotten {count} partitions"
    console.print(f"done: {done}; workers may start again")
    return 0


def show(survey: Survey, console: Console) -> None:
    """Print how partitions stand, and what is at stake where there is something to forget."""
    table = titled_table(
        f"Ledger {survey.ledger}, group {survey.group}",
        ("partition", "next to release", "committed", "released twice, at most", "standing"),
    )
    for account in survey.accounts:
        topic, number = account.place
        again = f"{account.again(survey.start):,}" if account in survey.chosen and not survey.recreated else ""
        table.add_row(f"{topic}:{number}", _text(account.entry), _text(account.committed), again, account.standing)
    console.print(table)
    if not survey.recreated and any(a.standing is OffsetStanding.RECREATED for a in survey.accounts):
        console.print(RECREATED)
    if not survey.chosen:
        return
    if survey.recreated:
        console.print(ANEW)
        if any(a.standing is OffsetStanding.NO_ENTRY for a in survey.chosen):
            console.print(NO_ENTRY)
        return
    console.print(f"{survey.again:,} records at most would be released a second time.")
    console.print(STAKE, INSTEAD, sep="\n")
    if any(a.standing is OffsetStanding.UNBACKED for a in survey.chosen):
        console.print(UNBACKED)
    if survey.start == "latest" and any(a.standing is OffsetStanding.MISSING for a in survey.chosen):
        console.print(SKIPPED)


def _text(offset: int | None) -> str:
    return "none" if offset is None else str(offset)
