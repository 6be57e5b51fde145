"""Forgetting on a broker in memory: what is chosen, what is refused, and that all or nothing is forgotten."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from rich.console import Console
from typer.testing import CliRunner

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.cli.main import app, main
from stream_anon.cli.run import forget as command
from stream_anon.errors import BrokerError, Refused, SettingsError, TopicError
from stream_anon.operations.ledger import forgetting
from stream_anon.operations.ledger.changes import refuse_members
from stream_anon.operations.ledger.forgetting import forget, survey
from stream_anon.operations.ledger.looking import Brokers
from stream_anon.operations.ledger.offsets import Account, OffsetStanding, Question, Survey, parse_places
from stream_anon.ports import LedgerEntry, Place
from stream_anon.service.takeover.resuming import judge
from stream_anon.service.takeover.takeover_steps import Stop
from stream_anon.settings.sections.kafka_settings import KafkaSettings
from tests.support.driver import Driver, after_release, people
from tests.support.memory import INPUT, MemoryBroker, MemoryLedger, MemorySink
from tests.unit.operations.ledger.memory_cluster import MemoryCluster

SECTION = {"bootstrap_servers": "nowhere:9", "group": "g", "input": INPUT, "output": "out", "ledger": "ledger"}
KAFKA = KafkaSettings.model_validate(SECTION)


class Bench:
    """Four partitions: set back, without an offset, in agreement, ahead."""

    def __init__(self) -> None:
        self.broker = MemoryBroker(5)
        self.broker.ledger = {(INPUT, n): 100 for n in range(4)}
        self.broker.offsets = {(INPUT, 0): 30, (INPUT, 2): 100, (INPUT, 3): 140}
        self.cluster = MemoryCluster(self.broker, end=1000)
        self.sink = MemorySink(self.broker, "forget")
        self.ledger = MemoryLedger(self.broker)
        self.brokers = Brokers(self.cluster, self.sink, self.ledger, 1_000)

    async def look(self, *named: Place) -> Survey:
        return await survey(self.asked(*named), self.brokers)

    async def forget(self, shown: Survey, *named: Place) -> None:
        await forget(self.asked(*named), shown, self.brokers)

    def asked(self, *named: Place) -> Question:
        return Question(KAFKA, named)


async def test_only_partitions_that_stopped_are_chosen() -> None:
    bench = Bench()
    seen = await bench.look()
    assert [account.standing for account in seen.accounts] == [
        OffsetStanding.REWOUND,
        OffsetStanding.MISSING,
        OffsetStanding.AGREES,
        OffsetStanding.AHEAD,
        OffsetStanding.NO_ENTRY,
    ]
    assert [account.place for account in seen.chosen] == [(INPUT, 0)]
    assert seen.again == 70


async def test_a_named_partition_is_chosen_alone() -> None:
    bench = Bench()
    assert [a.place for a in (await bench.look((INPUT, 1))).chosen] == [(INPUT, 1)]
    assert (await bench.look((INPUT, 2), (INPUT, 3), (INPUT, 4))).chosen == ()
    seen = await bench.look(("older", 7))
    assert (seen.accounts[0].standing, seen.chosen) == (OffsetStanding.NO_ENTRY, ())
    bench.broker.ledger["older", 7] = 5
    assert [a.place for a in (await bench.look(("older", 7))).chosen] == [("older", 7)]


@pytest.mark.parametrize("committed", [None, 0, 30, 99, 100, 101])
@pytest.mark.parametrize("entry", [None, 100])
def test_forget_and_takeover_agree_on_what_stops(entry: int | None, committed: int | None) -> None:
    stops = isinstance(judge((INPUT, 0), committed, None if entry is None else LedgerEntry(entry)), Stop)
    assert (Account((INPUT, 0), entry, committed).standing is OffsetStanding.REWOUND) == stops


@pytest.mark.parametrize(
    ("committed", "first", "start", "again"),
    [
        (30, 0, "earliest", 70),
        (30, 60, "earliest", 40),
        (30, 200, "earliest", 0),
        (30, None, "latest", 70),
        (None, 25, "earliest", 75),
        (None, None, "earliest", 100),
        (None, 25, "latest", 0),
    ],
)
def test_records_that_nobody_can_read_any_more_are_not_counted(
    committed: int | None, first: int | None, start: str, again: int
) -> None:
    assert Account((INPUT, 0), 100, committed, first).again(start) == again


async def test_exactly_the_chosen_entries_are_forgotten() -> None:
    bench = Bench()
    bench.broker.offsets[INPUT, 2] = 7
    shown = await bench.look()
    await bench.forget(shown)
    assert bench.broker.ledger == {(INPUT, 1): 100, (INPUT, 3): 100}
    assert bench.broker.offsets == {(INPUT, 0): 30, (INPUT, 2): 7, (INPUT, 3): 140}
    (parcel,) = bench.broker.committed
    assert list(parcel.values) == [None, None]
    assert parcel.time == 1_000
    assert (await bench.look()).chosen == ()


async def test_a_group_at_work_is_refused() -> None:
    bench = Bench()
    shown = await bench.look()
    bench.cluster.count = 2
    with pytest.raises(Refused, match="2 live members"):
        refuse_members("g", (await bench.look()).members)
    with pytest.raises(Refused, match="2 live members"):
        await bench.forget(shown)
    bench.cluster.count = 1
    with pytest.raises(Refused, match="1 live member:"):
        await bench.forget(shown)
    assert len(bench.broker.ledger) == 4
    assert bench.sink.attempts == []


@pytest.mark.parametrize("change", [{(INPUT, 0): 31}, {(INPUT, 0): 100}, {(INPUT, 2): 0}])
async def test_only_what_was_shown_is_forgotten(change: dict[Place, int]) -> None:
    bench = Bench()
    shown = await bench.look()
    bench.broker.offsets |= change
    with pytest.raises(Refused, match="changed since"):
        await bench.forget(shown)
    assert len(bench.broker.ledger) == 4


@pytest.mark.parametrize("verb", ["begin", "send", "send after", "settle", "commit"])
async def test_a_broken_transaction_forgets_nothing_and_is_told(verb: str) -> None:
    bench = Bench()
    bench.broker.offsets[INPUT, 2] = 7
    shown = await bench.look()
    bench.sink.break_at = [verb]
    with pytest.raises(BrokerError, match="nothing was forgotten"):
        await bench.forget(shown)
    assert len(bench.broker.ledger) == 4
    assert bench.broker.open == {}
    await bench.forget(shown)
    assert len(bench.broker.ledger) == 2


async def test_a_commit_whose_answer_was_lost_counts_as_done() -> None:
    bench = Bench()
    shown = await bench.look()
    bench.sink.break_at = ["commit after"]
    await bench.forget(shown)
    assert (INPUT, 0) not in bench.broker.ledger


async def test_an_unknown_end_is_told_as_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    shown = await bench.look()

    async def commit() -> None:
        bench.broker.away = True
        raise BrokerError("gone")

    monkeypatch.setattr(bench.sink, "commit", commit)
    with pytest.raises(BrokerError, match="not known, look again"):
        await bench.forget(shown)


async def test_a_missing_ledger_is_empty_and_a_missing_input_is_an_error() -> None:
    bench = Bench()
    bench.cluster.missing = frozenset({"ledger"})
    assert {account.standing for account in (await bench.look()).accounts} == {OffsetStanding.NO_ENTRY}
    bench.cluster.missing = frozenset({INPUT})
    with pytest.raises(TopicError, match="people: does not exist"):
        await bench.look()


async def test_a_forgotten_partition_goes_on_and_its_records_come_once_more() -> None:
    broker = MemoryBroker(2)
    async with Driver(broker) as driver:
        driver.send(people(40))
        await driver.settle()
        assert set(broker.serials.values()) == {1}
        await driver.stop()
    broker.offsets[INPUT, 0] = 20
    async with Driver(broker) as driver:
        await driver.advance(20)
        assert max(broker.serials.values()) == 1
        await driver.stop()
    bench = Bench()
    bench.broker = bench.cluster.broker = bench.sink.broker = bench.ledger.broker = broker
    await bench.forget(await bench.look())
    async with Driver(broker) as driver:
        await driver.advance(20)
        released = sum(certificate["released"] for certificate in broker.certificates)
        assert broker.serials.total() == released
        assert broker.accounted == 60
        assert {serial for serial, times in broker.serials.items() if times == 2} <= set(range(20, 40))
        assert max(broker.serials.values()) == 2
        await driver.stop()
    assert broker.ledger[INPUT, 0] == broker.offsets[INPUT, 0] == 40


@pytest.mark.parametrize(
    "text", ["people", "people:", ":3", "people:-1", "people:x", "a b:1", "people:1 ", "p:1234567890"]
)
def test_a_misspelt_partition_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="--partition"):
        parse_places([text])


def test_a_partition_that_is_given_twice_is_forgotten_once() -> None:
    assert parse_places(["people:3", "a.b_c-d:0", "people:3"]) == (("a.b_c-d", 0), ("people", 3))


def test_a_tombstone_has_the_key_of_its_entry() -> None:
    ledger = KafkaLedger(Connection("nowhere:9", "g"), "ledger")
    places = {("people", 3): 7, ("people", 11): 9, ('a"b', 0): 1}
    entries, tombstones = ledger.entries(places, "b", {}, 5), ledger.written(dict.fromkeys(places), 5)
    assert entries is not None
    assert entries.keys == tombstones.keys
    assert (entries.topic, entries.partition) == (tombstones.topic, tombstones.partition)
    assert tombstones.values == [None] * 3


async def test_an_entry_beyond_the_end_is_forgotten_though_no_record_was_released_for_it() -> None:
    bench = Bench()
    bench.broker.ledger[INPUT, 0] = 99_999_999
    bench.broker.ledger[INPUT, 1] = 99_999_999
    bench.cluster.end = 30
    seen = await bench.look()
    assert [(a.place, a.standing) for a in seen.chosen] == [
        ((INPUT, 0), OffsetStanding.UNBACKED),
        ((INPUT, 1), OffsetStanding.UNBACKED),
    ]
    assert seen.chosen[0].again("earliest") == 0
    stream = io.StringIO()
    command.show(seen, Console(file=stream, width=200))
    assert "newest certificate" in stream.getvalue()
    await bench.forget(seen)
    assert (INPUT, 0) not in bench.broker.ledger


class Anew(Bench):
    """Two partitions whose topic was created again, and one whose entry names no topic."""

    def __init__(self) -> None:
        super().__init__()
        self.broker.recreate()
        self.broker.first = [0, 3, 0, 0, 0]
        self.broker.released_of = {(INPUT, 0): "first", (INPUT, 1): "first"}

    def asked(self, *named: Place) -> Question:
        return Question(KAFKA, named, recreated=True)


async def test_a_recreated_topic_begins_at_its_first_record_whatever_the_group_committed() -> None:
    bench = Anew()
    shown = await bench.look()
    assert [(a.place, a.standing) for a in shown.chosen] == [
        ((INPUT, 0), OffsetStanding.RECREATED),
        ((INPUT, 1), OffsetStanding.RECREATED),
    ]
    await bench.forget(shown)
    held = await bench.ledger.caught_up()
    assert held[INPUT, 0] == LedgerEntry(0, None, "second")
    assert held[INPUT, 1] == LedgerEntry(3, None, "second")
    assert bench.broker.offsets == {(INPUT, 0): 0, (INPUT, 1): 3, (INPUT, 2): 100, (INPUT, 3): 140}
    assert (await bench.look()).chosen == ()


async def test_a_recreated_topic_is_neither_forgotten_by_default_nor_by_name() -> None:
    bench = Anew()
    seen = await survey(Question(KAFKA, ((INPUT, 0), (INPUT, 1))), bench.brokers)
    assert seen.chosen == ()
    stream = io.StringIO()
    command.show(seen, Console(file=stream, width=200))
    assert "stream-anon forget --recreated" in stream.getvalue()


@pytest.mark.parametrize("verb", ["send after", "commit_offsets after", "commit"])
async def test_a_broken_transaction_lets_no_partition_begin_again(verb: str) -> None:
    bench = Anew()
    shown = await bench.look()
    bench.sink.break_at = [verb]
    with pytest.raises(BrokerError, match="nothing was forgotten"):
        await bench.forget(shown)
    assert bench.broker.ledger[INPUT, 0] == 100
    assert bench.broker.offsets[INPUT, 0] == 30


async def test_a_topic_that_was_created_again_since_it_was_shown_is_refused() -> None:
    bench = Anew()
    shown = await bench.look()
    bench.broker.recreate("third")
    with pytest.raises(Refused, match="changed since"):
        await bench.forget(shown)


async def test_all_records_of_a_recreated_topic_are_released_once_after_the_command() -> None:
    broker = MemoryBroker()
    driver = await after_release(broker, 40)
    broker.recreate()
    broker.send(people(60, 100))
    assert broker.offsets[INPUT, 0] == 40, "the offset of the topic that is gone"
    bench = Anew()
    bench.broker = bench.cluster.broker = bench.sink.broker = bench.ledger.broker = broker
    await bench.forget(await bench.look())
    async with Driver(broker, driver.clock) as driver:
        await driver.advance(20)
        assert broker.accounted == 100
        assert max(broker.serials.values()) == 1
        await driver.stop()


# The command ----------------------------------------------------------------------------------------------------


REWOUND = Account((INPUT, 0), 100, 30)


def _survey(members: int = 0, *chosen: Account, start: str = "earliest") -> Survey:
    return Survey("g", "people.ledger", start, members, (REWOUND, Account((INPUT, 1), 5, None)), chosen)


class Command:
    """The command on a survey in place of a broker's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seen: Survey) -> None:
        self.done: list[Survey] = []
        monkeypatch.setattr(forgetting, "look", lambda config, partitions, recreated: seen)
        monkeypatch.setattr(forgetting, "forget_shown", lambda config, partitions, shown: self.done.append(shown))

    def run(self, *arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["forget", "--config", "x.yaml", *arguments], env={"COLUMNS": "200"})
        if isinstance(result.exception, Refused):
            return 1, result.output + str(result.exception)
        return result.exit_code, result.output


def test_yes_forgets_and_says_what(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = _survey(0, REWOUND)
    run = Command(monkeypatch, seen)
    code, text = run.run("--yes", "--partition", "people:0")
    assert (code, run.done) == (0, [seen])
    for word in ("people:0", "100", "30", "70", "released a second time", "intersect", "recognised", "must drop"):
        assert word in text


def test_the_meaning_of_a_new_beginning_is_said_before_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    anew = Account((INPUT, 0), 100, 30, 0, "new", "old")
    seen = Survey("g", "people.ledger", "earliest", 0, (anew,), (anew,), recreated=True)
    run = Command(monkeypatch, seen)
    code, text = run.run("--recreated", "--yes")
    assert (code, run.done) == (0, [seen])
    for words in (
        "created anew",
        "first record",
        "unless records of the old one were copied",
        "stream-anon realign",
        "1 partitions begin anew",
    ):
        assert words in text


def test_without_a_terminal_nothing_is_forgotten_unless_yes_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Command(monkeypatch, _survey(0, REWOUND))
    code, text = run.run()
    assert (code, run.done) == (1, [])
    assert "--yes" in text
    assert "released a second time" in text


def test_yes_forgets_nothing_beside_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Command(monkeypatch, _survey(3, REWOUND))
    code, text = run.run("--yes")
    assert (code, run.done) == (1, [])
    assert "3 live members" in text


def test_nothing_to_forget_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Command(monkeypatch, _survey(3))
    code, text = run.run()
    assert (code, run.done) == (0, [])
    assert "nothing to forget" in text
    assert "intersect" not in text


@pytest.mark.parametrize("answer", [True, False])
def test_only_a_yes_at_the_terminal_forgets(monkeypatch: pytest.MonkeyPatch, answer: bool) -> None:
    run = Command(monkeypatch, _survey(0, REWOUND))
    asked: list[str] = []

    def agreed(question: str, terminal: bool, ask: Callable[[str], bool]) -> bool:
        return command_confirmed(question, True, lambda text: asked.append(text) or answer)

    command_confirmed = command.confirmed
    monkeypatch.setattr(command, "confirmed", agreed)
    code, text = run.run()
    assert len(asked) == 1
    assert (code, len(run.done)) == ((0, 1) if answer else (1, 0))
    assert ("nothing was forgotten" in text) == (not answer)


def test_records_that_latest_skips_are_told() -> None:
    missing = Account((INPUT, 1), 5, None)
    for start, told in (("latest", True), ("earliest", False)):
        stream = io.StringIO()
        command.show(_survey(0, missing, start=start), Console(file=stream, width=200))
        assert ("is never released" in stream.getvalue()) == told


@pytest.mark.parametrize(
    ("kafka", "arguments", "code", "word"),
    [
        ({"delivery": "at-least-once"}, [], 2, "kafka.delivery"),
        ({}, ["--partition", "people"], 2, "--partition"),
        ({"bootstrap_servers": "127.0.0.1:9"}, [], 3, "connecting"),
    ],
)
def test_every_exit_code_has_its_meaning(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kafka: dict[str, str],
    arguments: list[str],
    code: int,
    word: str,
) -> None:
    section = {"bootstrap_servers": "127.0.0.1:9", "group": "g", "input": "people", "output": "out"}
    document = {
        "kafka": section | kafka,
        "privacy": {"k": 3, "individual": "person"},
        "attributes": {"person": {"role": "identifier"}},
    }
    path = tmp_path / "x.yaml"
    path.write_text(yaml.safe_dump(document))
    monkeypatch.setattr("sys.argv", ["stream-anon", "forget", "--config", str(path), *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    assert word in capsys.readouterr().err


async def test_a_pattern_chooses_partitions_of_its_topics_and_fits_none_only_with_an_error() -> None:
    bench = Bench()

    async def look(pattern: str) -> Survey:
        kafka = KafkaSettings.model_validate(SECTION | {"input": {"pattern": pattern}})
        return await survey(Question(kafka), bench.brokers)

    assert (await look(f"{INPUT[:2]}.*")).accounts == (await bench.look()).accounts
    with pytest.raises(TopicError, match="no topic fits"):
        await look("nothing.*")
