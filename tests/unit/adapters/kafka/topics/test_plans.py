from __future__ import annotations

import shlex
from collections.abc import Mapping

from stream_anon.adapters.kafka.reading.input_topics import InputTopics
from stream_anon.adapters.kafka.topics.plans import TopicPlan, plans
from stream_anon.adapters.kafka.topics.requirements import Described, Topics

MISSING = "does not exist"
TOPICS = Topics(InputTopics(("people",)), "out", "out.certificates", "out.dead-letters", "out.ledger")


def planned(brokers: int = 3, most: int = 1_048_576, **found: Described | str) -> Mapping[str, TopicPlan]:
    names = ("people", TOPICS.output, TOPICS.certificates, TOPICS.dead_letters, TOPICS.ledger)
    there = {name: found.get(name, MISSING) for name in names}
    return {plan.name: plan for plan in plans(TOPICS, brokers, there, max_record_bytes=most)}


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
    found = planned(most=5_000_000)
    assert int(found["out"].settings["max.message.bytes"]) > 5_000_000
    assert "max.message.bytes" not in found["out.certificates"].settings


def test_a_topic_with_other_settings_is_told_with_what_is_needed() -> None:
    settings = {"cleanup.policy": "compact", "min.insync.replicas": "3", "unclean.leader.election.enable": "false"}
    found = planned(out=Described("out", 1, 2, settings))["out"]
    assert found.differences() == [
        "cleanup.policy is compact, delete is needed",
        "has 2 replicas, 3 are needed",
    ]
    assert planned(out=Described("out", 1, 3, {}))["out"].differences() == []  # they may not be seen


def test_the_command_is_one_that_a_shell_reads_back() -> None:
    words = shlex.split(planned()["out"].command("a:9092,b:9092", secured=True))
    assert words[:5] == [
        "kafka-topics.sh",
        "--bootstrap-server",
        "a:9092,b:9092",
        "--command-config",
        "client.properties",
    ]
    assert words[5:12] == ["--create", "--topic", "out", "--partitions", "4", "--replication-factor", "3"]
    assert "min.insync.replicas=2" in words
