"""Going on in another cluster, on a broker in memory: what is planned, what is refused, and all or nothing."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from stream_anon.cli.main import app
from stream_anon.cli.run import realign as command
from stream_anon.errors import BrokerError, Refused, SettingsError
from stream_anon.operations.ledger import realigning
from stream_anon.operations.ledger.looking import Brokers
from stream_anon.operations.ledger.mirror_reading import MirrorOptions, MirrorReport
from stream_anon.operations.ledger.mirrored_offsets import Aligned, Sync
from stream_anon.operations.ledger.realigning import Fate, RealignmentPlan, Route, plan, realign
from stream_anon.ports import LedgerEntry
from stream_anon.settings.sections.kafka_settings import KafkaSettings
from tests.support.driver import Driver, after_release, people
from tests.support.memory import INPUT, MemoryBroker, MemoryLedger, MemorySink
from tests.unit.operations.ledger.memory_cluster import MemoryCluster

SAME_NAMES = MirrorOptions("syncs")
WITH_PREFIX = MirrorOptions("syncs", "A")
KAFKA = KafkaSettings.model_validate(
    {"bootstrap_servers": "nowhere:9", "group": "g", "input": INPUT, "output": "out", "ledger": "ledger"}
)


class Bench:
    """Three partitions of 100 records in the new cluster, called `people` in both."""

    def __init__(self, broker: MemoryBroker | None = None) -> None:
        self.broker = broker or MemoryBroker(3)
        self.broker.topic_id = "here"
        if broker is None:
            for number in range(3):
                self.broker.send([None] * 100, number)
        self.cluster = MemoryCluster(self.broker)
        self.sink = MemorySink(self.broker, "realign")
        self.ledger = MemoryLedger(self.broker)
        self.brokers = Brokers(self.cluster, self.sink, self.ledger, 1_000)
        self.told = MirrorReport(
            SAME_NAMES,
            {(INPUT, 0): LedgerEntry(170), (INPUT, 1): LedgerEntry(150, revision=4)},
            {(INPUT, 0): [Sync(100, 0), Sync(180, 80)], (INPUT, 1): [Sync(100, 50)]},
        )

    async def plan(self) -> RealignmentPlan:
        return await plan(KAFKA, self.told, self.brokers)

    async def realign(self, shown: RealignmentPlan) -> None:
        await realign(KAFKA, shown, self.told, self.brokers)


async def test_partitions_go_on_behind_what_was_released_and_others_are_left_alone() -> None:
    bench = Bench()
    shown = await bench.plan()
    assert [line.fate for line in shown.lines] == [Fate.ALIGNED, Fate.ALIGNED, Fate.UNTOUCHED]
    assert shown.entries == {
        (INPUT, 0): LedgerEntry(80, None, "here"),
        (INPUT, 1): LedgerEntry(100, None, "here", 4),
    }
    assert shown.withheld == 79 + 49


async def test_entries_and_offsets_are_written_at_once_and_are_left_alone_afterwards() -> None:
    bench = Bench()
    released = {p: replace(entry, revision=0) for p, entry in bench.told.released.items()}
    bench.told = replace(bench.told, released=released)
    shown = await bench.plan()
    await bench.realign(shown)
    assert await bench.ledger.caught_up() == shown.entries
    assert bench.broker.offsets == {(INPUT, 0): 80, (INPUT, 1): 100}
    again = await bench.plan()
    assert again.entries == {}
    assert again.lines[0].fate is Fate.DONE


async def test_a_ledger_that_was_mirrored_under_the_same_name_counts_as_the_old_one() -> None:
    bench = Bench()
    bench.broker.ledger = {(INPUT, 0): 175, (INPUT, 2): 30}
    bench.broker.released_of = {(INPUT, 0): "there", (INPUT, 2): "there"}
    released = {line.place: line.released for line in (await bench.plan()).lines}
    assert released == {(INPUT, 0): 175, (INPUT, 1): 150, (INPUT, 2): 30}


async def test_with_an_alias_only_topics_that_carry_it_are_realigned() -> None:
    assert WITH_PREFIX.upstream(("A.people", 3)) == ("people", 3)
    assert WITH_PREFIX.upstream(("people", 3)) is None
    assert WITH_PREFIX.mirrored("out.certificates") == "A.out.certificates"
    bench = Bench()
    bench.told = replace(bench.told, options=WITH_PREFIX)
    with pytest.raises(Refused, match="--source-alias"):
        await bench.plan()


async def test_nothing_is_done_where_nothing_tells_what_was_released() -> None:
    bench = Bench()
    bench.told = replace(bench.told, released={})
    with pytest.raises(Refused, match="name a partition"):
        await bench.plan()


async def test_all_of_a_mirror_can_be_withheld_without_syncs_or_certificates() -> None:
    bench = Bench()
    bench.told = MirrorReport(MirrorOptions(None, to_end=True))
    shown = await bench.plan()
    assert [entry.next for entry in shown.entries.values()] == [100, 100, 100]
    assert shown.withheld == 300


async def test_brokers_that_tell_no_topic_ids_are_refused() -> None:
    bench = Bench()
    bench.broker.topic_id = None
    with pytest.raises(BrokerError, match=r"2\.8"):
        await bench.plan()


async def test_nothing_is_changed_beside_a_worker_or_a_mirror_at_work() -> None:
    bench = Bench()
    shown = await bench.plan()
    bench.cluster.count = 1
    with pytest.raises(Refused, match="1 live member:"):
        await bench.realign(shown)
    bench.cluster.count = 0
    bench.broker.send([None], 1)
    with pytest.raises(Refused, match="Stop the mirror"):
        await bench.realign(shown)
    assert bench.broker.ledger == {}
    assert bench.sink.attempts == []


@pytest.mark.parametrize("verb", ["begin", "send after", "settle", "commit_offsets after", "commit"])
async def test_a_broken_transaction_changes_neither_entries_nor_offsets(verb: str) -> None:
    bench = Bench()
    shown = await bench.plan()
    bench.sink.break_at = [verb]
    with pytest.raises(BrokerError, match="nothing was realigned"):
        await bench.realign(shown)
    assert (bench.broker.ledger, bench.broker.offsets) == ({}, {})


async def test_no_record_is_released_in_both_clusters() -> None:
    there = MemoryBroker()
    driver = await after_release(there, 40)
    released = there.ledger[INPUT, 0]
    assert released == 40
    # The mirror began at the fifth record, and was ahead of the service; the offsets of the group came along, too.
    here = MemoryBroker()
    here.send(people(40)[5:] + people(60, 40))
    here.ledger, here.released_of = dict(there.ledger), dict(there.released_of)
    here.offsets = dict(there.offsets)
    bench = Bench(here)
    bench.told = MirrorReport(SAME_NAMES, {}, {(INPUT, 0): [Sync(5, 0), Sync(60, 55)]})
    shown = await bench.plan()
    assert shown.entries[INPUT, 0].next == 55
    await bench.realign(shown)
    async with Driver(here, driver.clock) as driver:
        await driver.settle()
        await driver.stop()
    assert set(here.serials) == set(range(60, 100))
    assert not set(there.serials) & set(here.serials)


# The command -----------------------------------------------------------------------------------------------------


LINE = Route((INPUT, 0), Fate.ALIGNED, 170, LedgerEntry(80, None, "here"), Aligned(80, 1))


def test_the_table_names_what_is_withheld_and_what_is_at_stake() -> None:
    stream = io.StringIO()
    command.show(RealignmentPlan("g", "ledger", 0, (LINE,)), Console(file=stream, width=200))
    for words in ("people:0", "170", "79 (offsets 1 to 79)", "79 records at most", "must not be released again"):
        assert words in stream.getvalue()


@pytest.mark.parametrize(
    ("lines", "arguments", "code", "done", "words"),
    [
        ((LINE,), ("--yes",), 0, 1, "1 partitions go on as shown"),
        ((LINE,), (), 1, 0, "--yes"),
        ((Route((INPUT, 0), Fate.DONE),), ("--yes",), 0, 0, "nothing to realign"),
    ],
)
def test_it_is_done_only_where_somebody_agreed(
    monkeypatch: pytest.MonkeyPatch,
    lines: tuple[Route, ...],
    arguments: tuple[str, ...],
    code: int,
    done: int,
    words: str,
) -> None:
    did: list[RealignmentPlan] = []
    seen = RealignmentPlan("g", "ledger", 0, lines)
    monkeypatch.setattr(realigning, "look", lambda config, options: seen)
    monkeypatch.setattr(realigning, "realign_shown", lambda config, options, shown: did.append(shown))
    given = ["realign", "--config", "x.yaml", "--offset-syncs", "syncs", *arguments]
    result = CliRunner().invoke(app, given, env={"COLUMNS": "200"})
    refused = isinstance(result.exception, Refused)
    assert (1 if refused else result.exit_code, len(did)) == (code, done)
    assert words in result.output + str(result.exception)


@pytest.mark.parametrize("arguments", [[], ["--offset-syncs", "syncs", "--to-end"]])
def test_syncs_or_the_end_are_chosen_on_purpose(arguments: list[str], tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["realign", "--config", str(tmp_path / "x.yaml"), *arguments])
    assert isinstance(result.exception, SettingsError)
