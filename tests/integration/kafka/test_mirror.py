"""`stream-anon realign` behind a real MirrorMaker 2: the service goes on in cluster B."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.apache_kafka import ApacheKafka
from tests.support.mirror_maker import EXACTLY_ONCE, IDENTITY, MirrorMaker, offset_syncs
from tests.support.mirror_maker.moving import (
    behind,
    command,
    has_gaps,
    produce_in_transactions,
    realign,
    until_copied,
)
from tests.support.service import (
    PARTITIONS,
    Stage,
    WorkerProcess,
    make_records,
    produce,
    read_published,
    wait_until_accounted,
)

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

RELEASED, WAITING, LATER = 600, 300, 400


@pytest.fixture
def kafka_b(tmp_path: Path) -> Iterator[ApacheKafka]:
    """Return the broker of the new cluster."""
    with ApacheKafka(tmp_path / "broker-b") as broker:
        yield broker


@pytest.mark.soak
@pytest.mark.parametrize(("alias", "exactly_once"), [(None, False), ("A", False), ("A", True)])
async def test_a_service_goes_on_behind_a_mirror_and_releases_nothing_twice(
    stage: Stage, kafka_b: ApacheKafka, tmp_path: Path, alias: str | None, exactly_once: bool
) -> None:
    stage.folder.joinpath("B").mkdir()
    there = Stage(kafka_b, stage.name, stage.folder / "B")
    topics = [stage.name, stage.output, *(f"{stage.output}.{end}" for end in ("certificates", "ledger"))]
    copied = stage.name if alias is None else f"{alias}.{stage.name}"
    values = make_records(RELEASED + WAITING + LATER, 1)
    properties = (IDENTITY if alias is None else {}) | (EXACTLY_ONCE if exactly_once else {})
    with MirrorMaker(tmp_path / "mm2", stage.kafka, kafka_b, topics, properties):
        await produce_in_transactions(stage, values[:RELEASED])
        # The rest comes in a later transaction of an exactly-once mirror, however slowly the mirror starts.
        await until_copied(stage.kafka, stage.name, kafka_b, copied)
        with WorkerProcess(stage.config()) as worker:
            await wait_until_accounted(stage, RELEASED)
            worker.signal(signal.SIGTERM)
            assert await worker.ended(10) == 0
        await produce_in_transactions(stage, values[RELEASED : RELEASED + WAITING])
        for topic in topics[:3]:
            await until_copied(stage.kafka, topic, kafka_b, topic if alias is None else f"{alias}.{topic}")
    config = there.config(kafka={"input": copied})
    own = [f"{there.output}.dead-letters"]
    own += [] if alias is None else [there.output, f"{there.output}.certificates"]
    for topic in own:
        await kafka_b.create_topic(topic)

    await _is_refused(config, copied)
    if alias is None:  # a run that is forced stops every partition: the ledger is of another topic
        with WorkerProcess(config, options=["--accept-risk", "mirrored-input-unaligned"]) as worker:
            await worker.wait_for("partition-stopped", times=PARTITIONS)
            assert {line["reason"] for line in worker.said("partition-stopped")} == {"recreated"}
            worker.signal(signal.SIGTERM)
            assert await worker.ended(10) == 0

    # An exactly-once mirror copies in transactions, whose markers take offsets.
    assert await has_gaps(kafka_b, copied) == exactly_once
    code, text = await realign(config, "--offset-syncs", "elsewhere", "--yes")
    assert (code, "offset-syncs.topic.location" in text) == (3, True), text
    arguments = ["--offset-syncs", offset_syncs("A"), "--yes"]
    arguments += [] if alias is None else ["--source-alias", alias]
    arguments += ["--exactly-once-mirror"] if exactly_once else []
    code, text = await realign(config, *arguments)
    assert code == 0, text
    left = await behind(there, copied)
    assert min(left, default=RELEASED) >= RELEASED, "a released record would be read again"
    at_most = int(re.findall(r"([\d,]+) records at most are withheld", text)[0].replace(",", ""))
    assert WAITING - len(left) <= at_most

    await produce(there, values[RELEASED + WAITING :], seed=2, topic=copied)
    expected = len(left) + LATER + (RELEASED if alias is None else 0)  # the mirrored output is that of A
    with WorkerProcess(config) as worker:
        published = await wait_until_accounted(there, expected)
        assert not worker.said("partition-stopped")
    released = (await read_published(stage)).serials
    assert max(published.serials.values()) == 1
    assert alias is None or not released.keys() & published.serials.keys()
    assert sum(c["suppressed"] for c in published.certificates) + len(published.records) == expected
    code, text = await realign(config, *arguments)
    assert (code, "nothing to realign" in text) == (0, True), text


async def _is_refused(config: Path, copied: str) -> None:
    """Check that neither `check` nor `run` lets a service start before it was realigned."""
    code, text = await command("check", config, "--json")
    report = json.loads(text)
    forbidding = [each for each in report["findings"] if each["severity"] == "forbids"]
    assert code == 1, text
    assert [(each["condition"], each["place"]) for each in forbidding] == [("mirrored-input-unaligned", copied)]
    assert "stream-anon realign" in forbidding[0]["text"]
    with WorkerProcess(config) as worker:
        assert await worker.ended(60) == 1
        assert f"mirrored-input-unaligned: {copied}: was copied from another cluster" in worker.text
        assert not worker.said("assigned")
