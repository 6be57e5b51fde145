"""`stream-anon topics` on a real broker."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.input_topics import InputTopics
from stream_anon.adapters.kafka.topics.requirements import Described, Topics, TopicSeverity, examine, look
from stream_anon.cli.main import app
from tests.support.apache_kafka import ApacheKafka
from tests.support.policies import write_policy

pytestmark = pytest.mark.kafka


def test_missing_topics_are_shown_printed_and_created(kafka: ApacheKafka, unique: str, tmp_path: Path) -> None:
    names = {"input": f"{unique}.in", "output": f"{unique}.out"}
    section = {"bootstrap_servers": kafka.address, "group": unique, "development": True, **names}
    config = str(write_policy(tmp_path, kafka=section))

    def run(*options: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["topics", "-c", config, *options])
        return done.exit_code, done.stdout

    connection = Connection(kafka.address, unique)
    topics = Topics(
        InputTopics((names["input"],)),
        names["output"],
        f"{unique}.out.certificates",
        f"{unique}.out.dead-letters",
        f"{unique}.out.ledger",
    )

    def there() -> dict[str, int]:
        _, found = asyncio.run(look(connection, topics))
        return {name: each.partitions for name, each in found.items() if isinstance(each, Described)}

    code, shown = run()
    assert (code, there()) == (1, {})
    assert "--create creates what is missing" in shown
    code, printed = run("--print", "--partitions", "3")
    assert code == 0
    assert [shlex.split(line)[5] for line in printed.splitlines()] == [
        names["input"],
        topics.output,
        topics.certificates,
        topics.dead_letters,
        topics.ledger,
    ]
    assert there() == {}
    code, shown = run("--create", "--partitions", "3")
    assert (code, there()) == (1, {topics.output: 3, topics.certificates: 1, topics.dead_letters: 1})
    assert "The input is created only with --create --input" in shown
    code, shown = run("--create", "--input", "--partitions", "3")
    assert (code, there().get(names["input"])) == (0, 3)
    code, shown = run()
    assert (code, "--create" in shown) == (0, False)
    findings = asyncio.run(examine(connection, topics, development=True))
    assert [each for each in findings if each.severity is TopicSeverity.ERROR] == []
