from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace

import pytest

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.client.security import Security
from stream_anon.adapters.kafka.topics.cluster_view import ClusterView
from stream_anon.adapters.kafka.topics.descriptions import Described, Topics
from stream_anon.adapters.kafka.topics.plans import TopicPlan, looked_into, plans
from stream_anon.adapters.kafka.topics.tools import Tools
from stream_anon.errors import BrokerError
from stream_anon.ports import Place
from stream_anon.ports.input_topics import InputTopics

MISSING = "does not exist"
TOPICS = Topics(InputTopics(("people",)), "out", "out.certificates", "out.dead-letters", "out.ledger")


TOOLS = Tools("a:9092")
SAFE = {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}


def planned(
    brokers: int = 3,
    most: int = 1_048_576,
    largest_release: int = 0,
    partitions: int | None = None,
    **found: Described | str,
) -> Mapping[str, TopicPlan]:
    names = ("people", TOPICS.output, TOPICS.certificates, TOPICS.dead_letters, TOPICS.ledger)
    there = {name: found.get(name, MISSING) for name in names}
    made = plans(
        TOPICS,
        brokers,
        there,
        max_record_bytes=most,
        largest_release=largest_release,
        partitions=partitions,
    )
    return {plan.name: plan for plan in made}


def test_the_output_gets_the_partitions_of_the_input_and_what_check_asks_for() -> None:
    found = planned(people=Described("people", 12, 3, {}))
    assert [plan.missing for plan in found.values()] == [False, True, True, True, True]
    assert (found["out"].partitions, found["out"].replicas) == (12, 3)
    assert found["out"].settings == {
        "cleanup.policy": "delete",
        "unclean.leader.election.enable": "false",
        "min.insync.replicas": "2",
        "message.timestamp.type": "CreateTime",
    }
    assert found["out.ledger"].settings["cleanup.policy"] == "compact"
    assert found["out.certificates"].partitions == 1


def test_one_broker_gets_one_replica_that_need_not_be_in_sync_with_others() -> None:
    assert planned(brokers=1)["out"].replicas == 1
    assert "min.insync.replicas" not in planned(brokers=1)["out"].settings


def test_large_records_fit_the_topics_that_hold_them() -> None:
    found = planned(most=5_000_000, largest_release=7_000_000)
    assert int(found["people"].settings["max.message.bytes"]) > 5_000_000
    assert int(found["out"].settings["max.message.bytes"]) == 7_000_000
    assert "max.message.bytes" not in found["out.certificates"].settings
    small = planned(largest_release=1000).values()
    assert all("max.message.bytes" not in plan.settings for plan in small)


def test_a_topic_with_other_settings_is_told_with_what_is_needed() -> None:
    settings = {"cleanup.policy": "compact", "min.insync.replicas": "3", "unclean.leader.election.enable": "false"}
    found = planned(out=Described("out", 1, 2, settings))["out"]
    assert found.differences() == [
        "cleanup.policy is compact, delete is needed",
        "has 2 replicas, 3 are needed",
    ]
    assert planned(out=Described("out", 1, 3, {}))["out"].differences() == []  # they may not be seen


def test_an_input_that_exists_keeps_its_partitions_unless_a_number_is_asked_for() -> None:
    inputs = Topics(InputTopics(("north", "south")), "out", "out.certificates", "out.dead-letters", "out.ledger")
    there: dict[str, Described | str] = dict.fromkeys(
        ("out", "out.certificates", "out.dead-letters", "out.ledger"), MISSING
    )
    there |= {"north": Described("north", 6, 3, SAFE), "south": Described("south", 2, 3, SAFE)}
    made = {plan.name: plan.partitions for plan in plans(inputs, 3, there)}
    assert (made["north"], made["south"], made["out"]) == (6, 2, 6)
    made = {plan.name: plan.partitions for plan in plans(inputs, 3, there, partitions=8)}
    assert (made["north"], made["south"], made["out"]) == (8, 8, 8)


def words(commands: tuple[str, ...]) -> list[list[str]]:
    return [
        [word for word in shlex.split(each) if word not in ("--bootstrap-server", "a:9092")] for each in commands
    ]


def test_an_empty_topic_that_asking_made_is_mended_by_more_partitions_and_its_settings() -> None:
    given = Described("out", 1, 3, {**SAFE, "cleanup.policy": "compact"})
    found = planned(people=Described("people", 4, 3, SAFE), out=given)["out"]
    assert found.differences() == ["cleanup.policy is compact, delete is needed"]
    assert words(found.mending(TOOLS)) == [
        [
            "kafka-configs.sh",
            "--alter",
            "--entity-type",
            "topics",
            "--entity-name",
            "out",
            "--add-config",
            "cleanup.policy=delete",
        ]
    ], "one that holds records keeps its partitions"
    empty = replace(found, empty=True)
    assert empty.differences()[1:] == ["has 1 partition and no record, 4 are needed"]
    assert words(empty.mending(TOOLS)) == [
        ["kafka-topics.sh", "--alter", "--topic", "out", "--partitions", "4"],
        *words(found.mending(TOOLS)),
    ]


def test_an_empty_topic_with_too_few_replicas_is_deleted_and_made_anew() -> None:
    found = planned(**{"out.ledger": Described("out.ledger", 1, 1, {"cleanup.policy": "delete"})})["out.ledger"]
    anew = replace(found, empty=True).mending(TOOLS)
    assert anew == (TOOLS.delete("out.ledger"), found.command(TOOLS))
    assert shlex.split(anew[0])[3:] == ["--delete", "--topic", "out.ledger"]
    assert "cleanup.policy=compact" in anew[1]
    kept = found.mending(TOOLS)
    assert words(kept)[0][-1] == "cleanup.policy=compact", "one that holds records is never deleted"


def test_an_input_that_holds_records_is_left_to_its_producers() -> None:
    found = planned(people=Described("people", 4, 1, {"cleanup.policy": "compact"}))["people"]
    assert len(found.differences()) == 2
    assert found.mending(TOOLS) == ()
    assert replace(found, empty=True).mending(TOOLS)


def test_what_is_as_planned_needs_no_command() -> None:
    assert planned(people=Described("people", 4, 3, SAFE))["people"].mending(TOOLS) == ()
    assert planned()["people"].mending(TOOLS) == ()


def test_a_topic_that_was_made_otherwise_than_asked_is_told() -> None:
    plan = planned()["out.ledger"]
    assert plan.deviations(Described("out.ledger", 1, 3, {**SAFE, "cleanup.policy": "compact"})) == []
    assert plan.deviations(Described("out.ledger", 1, 3, {})) == [], "its settings may not be seen"
    assert plan.deviations(Described("out.ledger", 2, 1, {"cleanup.policy": "delete"})) == [
        "1 was asked for partitions, and it is 2",
        "3 was asked for replicas, and it is 1",
        "compact was asked for cleanup.policy, and it is delete",
    ]
    assert plan.deviations(MISSING) == [MISSING]


async def test_only_topics_that_are_not_as_planned_are_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Place] = []
    ends = {("out", 0): 0, ("out.ledger", 0): 0, ("out.ledger", 1): 3}

    async def end_offsets(_: ClusterView, places: list[Place]) -> dict[Place, int]:
        asked.extend(places)
        return {place: ends[place] for place in places}

    monkeypatch.setattr(ClusterView, "end_offsets", end_offsets)
    connection, there = Connection("127.0.0.1:9", "g"), Described("people", 4, 3, SAFE)
    made = planned(
        people=there,
        out=Described("out", 1, 3, SAFE),
        **{"out.ledger": Described("out.ledger", 2, 3, {**SAFE, "cleanup.policy": "delete"})},
    )
    known = await looked_into(connection, list(made.values()))
    assert {plan.name for plan in known if plan.empty} == {"out"}
    assert asked == [("out", 0), ("out.ledger", 0), ("out.ledger", 1)]
    fine = list(planned(people=there).values())
    assert await looked_into(connection, fine) == fine
    assert len(asked) == 3

    async def no_leader(*_: object) -> dict[Place, int]:
        raise BrokerError("a partition without a leader")

    monkeypatch.setattr(ClusterView, "end_offsets", no_leader)
    assert not any(plan.empty for plan in await looked_into(connection, list(made.values())))


def test_the_command_is_one_that_a_shell_reads_back() -> None:
    tools = Tools.of(Connection("a:9092,b:9092", "g", Security("SASL_SSL", "PLAIN", "user", "x")))
    read = shlex.split(planned()["out"].command(tools))
    assert read[:5] == [
        "kafka-topics.sh",
        "--bootstrap-server",
        "a:9092,b:9092",
        "--command-config",
        "client.properties",
    ]
    assert read[5:12] == ["--create", "--topic", "out", "--partitions", "4", "--replication-factor", "3"]
    assert "min.insync.replicas=2" in read
    assert "--command-config" not in planned()["out"].command(Tools.of(Connection("a:9092", "g")))
