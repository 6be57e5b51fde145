"""`negotiate` on the input topic of a real Kafka: the same answer as on a file, and nothing is left behind."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_check import PERSONAL, _events, _settings, _topics
from tests.support.apache_kafka import ApacheKafka
from tests.support.commands import run
from tests.support.plain_kafka import admin_of, create_topics, fill


async def _left_behind(address: str) -> tuple[set[str], set[str]]:
    async with admin_of(address) as admin:
        topics = {topic for topic in await admin.list_topics() if not topic.startswith("__")}  # the broker's own
        return {group for group, _ in await admin.list_consumer_groups()}, topics


def _answer(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    said = capsys.readouterr()
    assert PERSONAL not in said.out + said.err
    answer: dict[str, Any] = json.loads(said.out)
    assert answer.pop("milliseconds") >= 0
    return answer


@pytest.mark.kafka
def test_a_sample_of_the_topic_gives_the_answer_of_its_records_in_a_file_and_no_group_is_joined(
    kafka: ApacheKafka, unique: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(create_topics(kafka.address, _topics(unique)))
    events = [*_events(250), *_events(97, 400)]
    asyncio.run(fill(kafka.address, f"{unique}.in", [*events, b"[]", None], key=b"k"))
    settings = _settings(tmp_path, kafka.address, unique)
    sample = tmp_path / "sample.jsonl"
    sample.write_bytes(b"\n".join(events) + b"\n[]\n")
    asked = ("--k", 5, "--max-level", "age=2", "--max-suppressed", "2%")
    before = asyncio.run(_left_behind(kafka.address))
    assert run("negotiate", "--config", settings, *asked, "--json") == 0
    of_topic = _answer(capsys)
    assert asyncio.run(_left_behind(kafka.address)) == before
    assert run("negotiate", settings, "--input", sample, *asked, "--json") == 0
    assert of_topic == _answer(capsys)
    assert of_topic["exact"] is not None
    # Another policy may be asked about the same topic.
    other = tmp_path / "other.yaml"
    other.write_text(settings.read_text().replace("max: 99", "max: 99, levels: [10]"))
    assert run("negotiate", other, "--config", settings, "--k", 5, "--json") == 0
    assert _answer(capsys)["exact"]["levels"] == {"age": 1}


@pytest.mark.kafka
def test_a_topic_that_is_not_there_is_said_to_be_missing(
    kafka: ApacheKafka, unique: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("negotiate", "-c", _settings(tmp_path, kafka.address, unique)) == 2
    assert f"{unique}.in: there is no such topic" in capsys.readouterr().err
    assert run("negotiate", "-c", _settings(tmp_path, "127.0.0.1:1", unique)) == 3
