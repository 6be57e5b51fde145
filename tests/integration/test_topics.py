"""`stream-anon topics` on a real broker."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import NewPartitions
from aiokafka.client import AIOKafkaClient
from typer.testing import CliRunner

from stream_anon.adapters.kafka.client.administering import administering
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.topics.creation import create_ledger
from stream_anon.adapters.kafka.topics.descriptions import Described, Topics
from stream_anon.adapters.kafka.topics.plans import TopicPlan
from stream_anon.adapters.kafka.topics.requirements import look
from stream_anon.cli.decide.check import check
from stream_anon.cli.main import app
from stream_anon.conditions import Condition
from stream_anon.errors import TopicError
from stream_anon.operations.check import topic_setup
from stream_anon.operations.check.checking import CheckReport, examine_deployment
from stream_anon.ports.input_topics import InputTopics
from tests.support.apache_kafka import ApacheKafka
from tests.support.policies import write_policy

pytestmark = pytest.mark.kafka


class Setup:
    """A service on the broker, and the commands that an operator types."""

    def __init__(self, kafka: ApacheKafka, name: str, folder: Path, **section: object) -> None:
        self.kafka = kafka
        names = {"input": f"{name}.in", "output": f"{name}.out"}
        given = {"bootstrap_servers": kafka.address, "group": name, "development": True, **names, **section}
        self.config = write_policy(folder, kafka=given)
        self.connection = Connection(kafka.address, name)
        self.topics = Topics(
            InputTopics((names["input"],)),
            names["output"],
            f"{name}.out.certificates",
            f"{name}.out.dead-letters",
            f"{name}.out.ledger",
        )

    def run(self, *options: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["topics", "-c", str(self.config), *options])
        return done.exit_code, done.stdout

    def check(self) -> CheckReport:
        return asyncio.run(examine_deployment(self.config))

    def there(self) -> dict[str, Described]:
        _, found = asyncio.run(look(self.connection, self.topics))
        return {name: each for name, each in found.items() if isinstance(each, Described)}

    def partitions(self) -> dict[str, int]:
        return {name: each.partitions for name, each in self.there().items()}

    async def ask(self, *topics: str) -> None:
        """Ask for topics as other clients do, which creates them."""
        client = AIOKafkaClient(bootstrap_servers=self.kafka.address)
        try:
            await client.bootstrap()
            await client.set_topics(topics)
            for topic in topics:
                await client._wait_on_metadata(topic)
        finally:
            await client.close()

    async def obey(self, commands: Sequence[str]) -> None:
        """Do what commands of Apache Kafka say: by its own tool, or what its tool would ask the brokers for."""
        for command in commands:
            tool, server, address, *words = shlex.split(command)
            assert (server, address) == ("--bootstrap-server", self.kafka.address)
            if tool == "kafka-configs.sh":
                await self.kafka.tool("kafka.admin.ConfigCommand", *words)
                continue
            assert tool == "kafka-topics.sh"
            what, named, topic, key, count = words
            assert (what, named, key) == ("--alter", "--topic", "--partitions")
            async with administering(self.connection, "test", "adding partitions") as admin:
                answer = await admin.create_partitions({topic: NewPartitions(int(count))})
                assert [code for _, code, _ in answer.topic_errors] == [0]


@pytest.fixture
def setup(kafka: ApacheKafka, unique: str, tmp_path: Path) -> Setup:
    return Setup(kafka, unique, tmp_path)


def _commands(shown: str) -> list[str]:
    return [line.strip() for line in shown.splitlines() if line.strip().startswith("kafka-")]


def test_missing_topics_are_shown_printed_and_created(setup: Setup) -> None:
    topics, (given,) = setup.topics, setup.topics.input.names
    code, shown = setup.run()
    assert (code, setup.there()) == (1, {})
    assert "--create creates what is missing" in shown
    code, printed = setup.run("--print", "--partitions", "3")
    assert code == 0
    assert [shlex.split(line)[5] for line in printed.splitlines()] == [
        given,
        topics.output,
        topics.certificates,
        topics.dead_letters,
        topics.ledger,
    ]
    assert setup.there() == {}
    code, shown = setup.run("--create", "--partitions", "3")
    assert (code, setup.partitions()) == (
        1,
        {topics.output: 3, topics.certificates: 1, topics.dead_letters: 1},
    )
    assert "The input is created only with --create --input" in shown
    code, shown = setup.run("--create", "--input", "--partitions", "3")
    assert (code, setup.partitions().get(given)) == (0, 3)
    code, shown = setup.run()
    assert (code, "--create" in shown) == (0, False)


def test_what_was_created_is_described_again_and_check_finds_nothing_about_it(setup: Setup) -> None:
    code, shown = setup.run("--create", "--input")
    assert code == 0
    assert [line for line in shown.splitlines() if line.startswith("created")] == [
        f"created {name}: {text}, 1 replica, as asked"
        for name, text in {
            setup.topics.input.names[0]: "4 partitions",
            setup.topics.output: "4 partitions",
            setup.topics.certificates: "1 partition",
            setup.topics.dead_letters: "1 partition",
        }.items()
    ]
    assert setup.partitions() == {
        setup.topics.input.names[0]: 4,
        setup.topics.output: 4,
        setup.topics.certificates: 1,
        setup.topics.dead_letters: 1,
    }
    about = [each for each in setup.check().findings if each.place in setup.there()]
    # This broker has no second replica to give, and lets everybody write. All else is as it should be.
    given = ("has 1 replicas", "min.insync.replicas is 1", "everybody may write there")
    assert [each.text for each in about if not each.text.startswith(given)] == []
    assert not setup.check().forbids


def test_topics_that_somebody_else_made_meanwhile_are_not_called_as_asked(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = topic_setup.create

    def late(config: Path, wanted: Sequence[TopicPlan]) -> Mapping[str, Described | str]:
        asyncio.run(setup.ask(setup.topics.output, *setup.topics.input.names))
        return made(config, wanted)

    monkeypatch.setattr(topic_setup, "create", late)
    code, shown = setup.run("--create", "--input", "--partitions", "4")
    assert code == 1
    assert f"{setup.topics.output}: 4 was asked for partitions, and it is 1" in shown
    assert f"created {setup.topics.output}:" not in shown
    assert f"created {setup.topics.certificates}: 1 partition, 1 replica, as asked" in shown


def test_an_empty_topic_that_asking_created_is_named_with_the_commands_that_mend_it(setup: Setup) -> None:
    (given,), topics = setup.topics.input.names, setup.topics
    asyncio.run(setup.kafka.create_topic(given, 4))
    own = (topics.output, topics.certificates, topics.dead_letters, topics.ledger)
    asyncio.run(setup.ask(*own))
    assert set(setup.partitions().values()) == {4, 1}
    code, shown = setup.run()
    assert code == 1
    assert f"{topics.output}: has 1 partition and no record, 4 are needed" in shown
    assert f"{topics.ledger}: cleanup.policy is delete, compact is needed" in shown
    report = setup.check()
    assert Condition.LEDGER_CLEANUP in {each.condition for each in report.findings}
    told = [command for each in report.findings for command in each.commands]
    assert sorted(told) == sorted(_commands(shown))
    assert len(told) == 3, "the ledger's policy; partitions of the output, and the size of its records"
    asyncio.run(setup.obey(told))
    code, shown = setup.run()
    assert (code, _commands(shown)) == (0, [])
    assert setup.partitions()[topics.output] == 4
    assert setup.there()[topics.ledger].settings["cleanup.policy"] == "compact"
    assert not setup.check().forbids
    assert not [command for each in setup.check().findings for command in each.commands]


def test_a_topic_that_held_a_record_gets_no_more_partitions(setup: Setup) -> None:
    asyncio.run(setup.kafka.create_topic(setup.topics.input.names[0], 4))
    asyncio.run(setup.ask(setup.topics.output))

    async def write() -> None:
        async with AIOKafkaProducer(bootstrap_servers=setup.kafka.address) as producer:
            await producer.send_and_wait(setup.topics.output, b"{}")

    asyncio.run(write())
    _, shown = setup.run()
    assert "and no record" not in shown
    assert not [command for command in _commands(shown) if "--partitions" in command]


def test_check_prints_a_command_on_one_line(setup: Setup, capsys: pytest.CaptureFixture[str]) -> None:
    setup.run("--create", "--input")
    asyncio.run(setup.ask(setup.topics.ledger))
    assert check(setup.config) == 1
    shown = capsys.readouterr().out
    (command,) = _commands(shown)
    assert shlex.split(command)[-1] == "cleanup.policy=compact"
    with pytest.raises(TopicError, match="must be compact") as raised:
        asyncio.run(create_ledger(setup.connection, setup.topics))
    assert str(raised.value).endswith(command), "a run says the same"
