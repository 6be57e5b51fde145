"""Shields on a real Kafka: in every window each holds, counted from what consumers read, and an audit agrees."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any, get_args

import pytest

from stream_anon.settings.sections.engine_settings import EngineSettings
from tests.integration.kafka.test_audit import _audit
from tests.support.service import (
    Published,
    Stage,
    WorkerProcess,
    check_published,
    make_records,
    produce,
    wait_until_accounted,
)

pytestmark = pytest.mark.kafka

COUNT = 2_000
SHIELDS = [{"attributes": ["age"], "k": 20}, {"attributes": ["city"], "k": 30}]


def _least(published: Published) -> dict[str, list[int]]:
    """Return for each window the records that share the rarest published age, and the rarest city."""
    counts: dict[str, list[Counter[str]]] = defaultdict(lambda: [Counter(), Counter()])
    for batch, record in published.records:
        for name, counter in zip(("age", "city"), counts[batch], strict=True):
            counter[json.dumps(record[name])] += 1
    return {batch: [min(counter.values()) for counter in own] for batch, own in counts.items()}


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param(name, marks=[] if name == "forest" else [pytest.mark.soak])
        for name in get_args(EngineSettings.model_fields["name"].annotation)
    ],
)
async def test_every_window_of_a_stream_keeps_its_shields_and_passes_its_audit(stage: Stage, engine: str) -> None:
    # On fixed levels nothing can be raised: with quarters of the ages and larger windows groups are large enough.
    fixed = engine == "full-domain"
    settings: dict[str, Any] = {"engine": {"name": engine}}
    if fixed:
        settings = {
            "engine": {"name": engine, "levels": {"age": 1, "city": 0}},
            "attributes": {"age": {"numeric": {"min": 0, "max": 99, "levels": [25]}}},
            "window": {"max_records": 400},
        }
    config = stage.config(privacy={"shields": SHIELDS}, **settings)
    await produce(stage, make_records(COUNT, 3))
    with WorkerProcess(config):
        published = await wait_until_accounted(stage, COUNT)
    check_published(published, COUNT)
    code, text = await _audit(config)
    assert code == 0, text
    found = _least(published)
    assert found
    whole = 0
    for certificate in published.certificates:
        if certificate["part"] != 1:
            continue
        assert certificate["asked"]["shields"] == SHIELDS
        reasons = {"max-level", "shield", "shortfall", "over-limit"} if fixed else {"shortfall", "over-limit"}
        assert certificate["suppressed_by_reason"].keys() <= reasons
        if not certificate["released"]:
            continue
        whole += 1
        reached = [shield["k"] for shield in certificate["achieved"]["shields"]]
        for records, people, shield in zip(found[certificate["batch"]], reached, SHIELDS, strict=True):
            assert records >= people >= shield["k"]
    assert whole == len(found) >= (3 if fixed else 5)
    # Finer than everything: a shield is met by raising what needs it, no more.
    assert len({json.dumps(record["age"]) for _, record in published.records}) > 3


async def test_a_worker_that_promises_less_by_a_shield_does_not_start(stage: Stage) -> None:
    await produce(stage, make_records(COUNT, 3))
    with WorkerProcess(stage.config(privacy={"shields": SHIELDS})):
        await wait_until_accounted(stage, COUNT)
    with WorkerProcess(stage.config(privacy={"shields": SHIELDS[:1]})) as worker:
        assert await worker.ended(60) == 2
        assert "privacy.shields[city] was 30 and would fall to 5" in worker.text
