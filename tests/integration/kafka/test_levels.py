"""Levels and bounds on suppression on a real Kafka: what is published is on its level, and an audit agrees."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stream_anon.settings.policy_file import load_policy
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
AGES = {"numeric": {"min": 0, "max": 99, "levels": [5, 25, 50]}}  # levels 1 to 3, 4 is the root


async def _published(stage: Stage, config: Path, **environment: str) -> Published:
    await produce(stage, make_records(COUNT, 3))
    with WorkerProcess(config, environment=environment):
        published = await wait_until_accounted(stage, COUNT)
    check_published(published, COUNT)
    code, text = await _audit(config)
    assert code == 0, text
    return published


def _reasons(published: Published) -> Counter[str]:
    reasons: Counter[str] = Counter()
    for certificate in published.certificates:
        if certificate["part"] == 1:
            reasons.update(certificate["suppressed_by_reason"])
    return reasons


async def test_a_stream_on_fixed_levels_has_columns_of_one_granularity_and_passes_its_audit(stage: Stage) -> None:
    levels = {"age": 1, "city": 0}
    age: dict[str, Any] = {"numeric": {**AGES["numeric"], "levels": [25, 50], "publish": "tight"}}
    config = stage.config(engine={"name": "full-domain", "levels": levels}, attributes={"age": age})
    published = await _published(stage, config)
    quarters = [{"min": low, "max": low + 24} for low in range(0, 100, 25)]
    assert published.records
    assert all(record["age"] in quarters for _, record in published.records)
    assert "*" not in {record["city"] for _, record in published.records}
    # 200 records over 32 groups: some are of fewer than five people, and nothing else is lost.
    reasons = _reasons(published)
    assert reasons.keys() <= {"max-level", "shortfall"}
    assert reasons["max-level"] > 0
    assert all(
        c["asked"]["levels"] == {"age": {"min": 1, "max": 1}, "city": {"max": 0}} for c in published.certificates
    )


async def test_a_stream_with_a_highest_level_stays_below_it_and_passes_its_audit(stage: Stage) -> None:
    config = stage.config(
        attributes={"age": {"numeric": AGES["numeric"], "max_level": 2}, "city": {"max_level": 0}}
    )
    published = await _published(stage, config)
    age, city = load_policy(config).quasi_identifiers
    for _, record in published.records:
        low, high = age.read(record["age"]) or (0, 99)
        assert high - low < 25
        assert city.read(record["city"]) is not None
    assert len({str(record["age"]) for _, record in published.records}) > 4  # finer ones too
    assert _reasons(published).keys() <= {"max-level", "shortfall"}
    assert _reasons(published)["max-level"] > 0


async def test_windows_that_would_suppress_too_many_records_are_suppressed_whole_and_pass_the_audit(
    stage: Stage,
) -> None:
    limits = {"max_suppressed": "1%", "above_max_suppressed": "suppress"}
    config = stage.config(
        engine={"name": "full-domain", "levels": {"age": 1, "city": 0}}, attributes={"age": AGES}, privacy=limits
    )
    published = await _published(stage, config)
    # 160 groups of five years and a city: no window of 200 records has five people in nearly all of them.
    assert not published.records
    assert _reasons(published)["max-suppressed"] > 0
    assert all(c["above_max_suppressed"] for c in published.certificates)
