"""Let the ledger forget partitions that were set back, or let those of a re-created topic begin anew.

A committed offset below the ledger stops its partition, and so does a topic that was deleted and created anew
(`service/takeover/takeover_steps.py`). Only this lets them go on: an operator has seen what is at stake, no worker
is at work, and exactly the partitions that were shown are changed, in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from stream_anon.errors import Refused
from stream_anon.operations.ledger.changes import change_entries, on_brokers, refuse_members
from stream_anon.operations.ledger.looking import Brokers, Look, look_at
from stream_anon.operations.ledger.offsets import Account, OffsetStanding, Question, Survey, parse_places
from stream_anon.ports import Place


async def survey(question: Question, brokers: Brokers) -> Survey:
    """Return how partitions stand, without changing anything. Raises as `look_at` does."""
    kafka = question.kafka
    seen = await look_at(kafka, brokers, question.named)
    accounts = tuple(_account(place, seen) for place in seen.places)
    wanted = {OffsetStanding.REWOUND, OffsetStanding.UNBACKED} | (
        {OffsetStanding.MISSING} if question.named else set()
    )
    if question.recreated:
        wanted = {OffsetStanding.RECREATED} | ({OffsetStanding.NO_ENTRY} if question.named else set())
    chosen = tuple(account for account in accounts if account.standing in wanted)
    return Survey(kafka.group, kafka.ledger, kafka.start, seen.members, accounts, chosen, question.recreated)


def _account(place: Place, seen: Look) -> Account:
    entry = seen.entries.get(place)
    return Account(
        place,
        entry=None if entry is None else entry.next,
        committed=seen.committed[place],
        first=seen.firsts.get(place),
        topic_id=seen.topics.ids.get(place[0]),
        released_of=None if entry is None else entry.topic_id,
        end=seen.ends.get(place),
        revision=0 if entry is None else entry.revision,
    )


async def forget(question: Question, shown: Survey, brokers: Brokers) -> None:
    """Take the entries away that were shown, or let these partitions begin anew: all of them or none.

    Parameters
    ----------
    shown
        What the operator has agreed to.

    Raises
    ------
    Refused
        If a worker runs, or anything has moved since.
    BrokerError
        If it could not be done; the message says whether that is known.
    """
    # 1. Everything is still as it was shown, and no worker runs.
    now = await survey(question, brokers)
    refuse_members(now.group, now.members)
    if now.chosen != shown.chosen:
        raise Refused("offsets, topics or ledger have changed since they were shown; nothing was changed")
    # 2. to 7. are those of `change_entries`.
    entries = {each.place: each.beginning if question.recreated else None for each in now.chosen}
    await change_entries(entries, "forgotten", brokers)


# On a real broker ----------------------------------------------------------------------------------------------


def look(config: Path, partitions: Iterable[str], *, recreated: bool = False) -> Survey:
    """Return how the partitions of a settings file stand.

    Parameters
    ----------
    partitions
        Texts such as `people:3`; none means all of the input.
    recreated
        Whether it is about partitions whose topic was created anew.

    Raises
    ------
    SettingsError, BrokerError
        If the settings are wrong, or the brokers cannot be asked.
    """
    named = parse_places(partitions)
    return on_brokers(config, lambda kafka, _, brokers: survey(Question(kafka, named, recreated), brokers))


def forget_shown(config: Path, partitions: Iterable[str], shown: Survey) -> None:
    """Make the ledger of a settings file forget what was shown; see `forget` and `look`."""
    named = parse_places(partitions)
    on_brokers(config, lambda kafka, _, its: forget(Question(kafka, named, shown.recreated), shown, its))
