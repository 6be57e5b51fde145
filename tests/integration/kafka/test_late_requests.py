"""A request of a transaction that arrives late, in the next transaction, tears no window.

`python -m tests.support.late_requests all` plays all schedules, with `--level N` at that level of transactions.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.topics.descriptions import Topics
from stream_anon.adapters.kafka.topics.requirements import TopicSeverity, examine
from stream_anon.ports.input_topics import InputTopics
from tests.support.apache_kafka import missing_parts
from tests.support.late_requests.cluster import cluster_of
from tests.support.late_requests.playing import GUARDED, UNGUARDED, Played, play
from tests.support.late_requests.schedules import SCHEDULES

pytestmark = pytest.mark.kafka

WORST = ("commit-mid", "bundles-2nodes-kill", "zombie", "bundles-before-end-kill")
PARTED, OLD = 2, 0
"""Levels: from 2 on, brokers tell transactions of one producer apart."""


@pytest.fixture(autouse=True)
def _parts() -> None:
    if missing := missing_parts():
        pytest.skip(missing)


async def played(
    folder: Path, names: tuple[str, ...], size: int = 2, level: int | None = None, module: str = GUARDED
) -> dict[str, Played]:
    """Play schedules at a time on one cluster; each of them must have held a request, and let it arrive."""
    async with cluster_of(folder / "kafka", size, level) as cluster:
        plays = [play(SCHEDULES[name], cluster, folder / name, module) for name in names]
        found = dict(zip(names, await asyncio.gather(*plays), strict=True))
        if level is not None:
            await check_says(cluster.nodes[0].address, level)
    late = {name: each.in_short for name, each in found.items() if not (each.held and each.arrived)}
    assert not late, f"nothing was late: {late}"
    return found


async def check_says(address: str, level: int) -> None:
    """`check` tells the level of transactions, and warns below 2."""
    topics = Topics(InputTopics(("in",)), "out", "out.certificates", "out.dead-letters", "out.ledger")
    (brokers,) = [each for each in await examine(Connection(address, "g"), topics) if not each.topic]
    assert brokers.severity is (TopicSeverity.OK if level >= PARTED else TopicSeverity.WARNING)
    assert f"transaction.version is {level}" in brokers.text


def torn(found: dict[str, Played]) -> dict[str, object]:
    return {name: each.in_short for name, each in found.items() if not each.clean}


async def test_a_late_request_tears_no_window(tmp_path: Path) -> None:
    assert not torn(await played(tmp_path, WORST, level=PARTED))


@pytest.mark.soak
@pytest.mark.parametrize(
    ("level", "names"),
    [
        (1, ("commit-2nodes-kill", "commit-mid-kill", "commit-sent-kill", "offsets-between", "lost-answer-commit")),
        (OLD, ("zombie", "commit-2nodes", "offsets-before-end-kill", "partitions-mid", "add-offsets")),
    ],
)
async def test_no_window_is_torn_where_brokers_alone_would_let_it_happen(
    tmp_path: Path, level: int, names: tuple[str, ...]
) -> None:
    assert not torn(await played(tmp_path, names, level=level))


@pytest.mark.soak
@pytest.mark.parametrize("name", ["commit-3nodes", "commit-moved"])
async def test_no_window_is_torn_with_two_copies_in_sync_or_while_the_coordinator_moves(
    tmp_path: Path, name: str
) -> None:
    assert not torn(await played(tmp_path, (name,), size=3))


@pytest.mark.soak
async def test_requests_that_are_repeated_tear_windows_whatever_the_brokers_level(tmp_path: Path) -> None:
    """The control: without the guard these very schedules find torn windows."""
    found = await played(tmp_path, WORST, level=PARTED, module=UNGUARDED)
    assert torn(found).keys() == set(WORST), {name: each.in_short for name, each in found.items()}
