"""Sink and ledger on a network that delays, repeats and reorders requests: no window is torn, whatever the seed.

Everything above the frames is real: aiokafka, sink, ledger, takeover and the steps of closing. The brokers are a
model that `test_wire_model.py` compares with Apache Kafka. A seed that fails is printed with all its faults and the
command that runs it again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from tests.simulation.wire.conversation import Conversation
from tests.simulation.wire.loop import JumpingLoop, jumping
from tests.simulation.wire.model.broker import Cluster
from tests.simulation.wire.network import Network
from tests.simulation.wire.storm import run
from tests.simulation.wire.weather import Weather
from tests.simulation.wire.worker import LEDGER

RUNS = int(os.environ.get("STREAM_ANON_WIRE_RUNS", "2000"))
"""Seeds of `make soak`; each takes a tenth of a second of one core."""
_SHORT, _AT_ONCE = 300, 25


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(
            range(first, first + _AT_ONCE), marks=[pytest.mark.soak] if first >= _SHORT else [], id=str(first)
        )
        for first in range(0, max(RUNS, _SHORT), _AT_ONCE)
    ],
)
def test_no_window_is_torn_by_what_the_network_does(seeds: range) -> None:
    torn = [found for seed in seeds if (found := run(seed)).verdict]
    assert not torn, f"{len(torn)} of {len(seeds)} seeds; the first one:\n{torn[0]}"


def test_a_seed_gives_the_same_run_each_time() -> None:
    assert str(run(4)) == str(run(4))


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_late_request_tears_a_window_where_nothing_keeps_it_out(level: int) -> None:
    assert any(run(seed, level, ["once", "epochs"]).verdict for seed in range(_SHORT))


def test_epochs_of_their_own_keep_late_requests_out_without_the_worker() -> None:
    """Where the cluster has agreed on level 2, one of the two fences is enough."""
    torn = [seed for seed in range(60) if run(seed, 2, ["once", "epochs"]).verdict]
    assert torn, "no late request has met a transaction"
    assert not [seed for seed in torn if run(seed, 2, ["once"]).verdict]
    assert not [seed for seed in torn if run(seed, 2, ["epochs"]).verdict]


def test_two_groups_release_records_twice_without_the_ledgers_fence() -> None:
    assert any(run(seed, fences_off=["ledger"]).verdict.twice for seed in _of_groups(2))


def test_one_group_releases_records_twice_without_its_own_fence_and_the_ledgers() -> None:
    """The ledger's fence alone keeps them out too, so both are taken away, and one is put back."""
    seed = next(seed for seed in _of_groups(1) if run(seed, fences_off=["group", "ledger"]).verdict.twice)
    assert not run(seed, fences_off=["ledger"]).verdict
    assert not run(seed, fences_off=["group"]).verdict


def _of_groups(count: int) -> Iterator[int]:
    return (seed for seed in range(_SHORT) if Weather(seed, lambda: 0.0).groups == count)


def test_a_ledger_is_complete_while_the_first_window_of_all_is_being_written() -> None:
    # The output has a batch of it already, the ledger has none yet.
    async def first_window() -> tuple[bool, bool]:
        cluster, weather = Cluster(2, {"first.out": (1,), LEDGER: (1,)}), Weather(0, lambda: 0.0)
        weather.is_calm = True
        loop, network = asyncio.get_running_loop(), Network(cluster, weather)
        assert isinstance(loop, JumpingLoop)
        loop.connect = network.connect
        talk = Conversation(lambda frame: cluster.handle(1, frame), "first")
        _, producer = await talk.init(30_000)
        assert await talk.add(producer, 0) == 0
        assert await talk.produce(producer, 0, 0, b"1") == 0
        while_open = await _is_incomplete()
        await talk.end(producer, commits=True, version=0)
        await talk.until("CompleteCommit")
        afterwards = await _is_incomplete()
        await network.close()
        return while_open, afterwards

    with jumping(0) as runner:
        assert runner.run(first_window()) == (False, True)


async def _is_incomplete() -> bool:
    ledger = KafkaLedger(Connection("model:9091", "g"), LEDGER, output="first.out")
    await ledger.open()
    try:
        return ledger.is_incomplete
    finally:
        await ledger.discard()
