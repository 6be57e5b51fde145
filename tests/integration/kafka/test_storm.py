"""Random faults on several real workers and a real Kafka; and that the storm would notice a missing fence.

The long variant is `python benchmarks/chaos.py --faults 200`.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import numpy as np
import pytest

from stream_anon.runtime.policy_file import build_policy
from stream_anon.runtime.settings import load_settings
from tests.support.apache_kafka import ApacheKafka, missing_parts
from tests.support.service import Stage, compile_once, make_records, produce
from tests.support.storm.storm import Storm, stage_behind_lines
from tests.support.storm.team import SESSION, Team
from tests.support.storm.verdict import judge, read_topics

FAULTS = int(os.environ.get("STREAM_ANON_STORM_FAULTS", "20"))
SEED = int(os.environ.get("STREAM_ANON_STORM_SEED", "1"))
MOST_ZOMBIES = 6

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.mark.timeout(600 + 20 * FAULTS)
async def test_storm_loses_repeats_or_exposes_a_record(unique: str, tmp_path: Path) -> None:
    missing = missing_parts()
    if missing:
        pytest.skip(missing)
    async with stage_behind_lines(tmp_path / "storm", unique) as (stage, lines):
        report = await Storm(stage, lines, SEED).run(FAULTS, 150 + 8.0 * FAULTS)
    figures = report.figures()
    assert report.verdict.clean, figures
    assert not report.failures, figures
    assert report.faults.total() >= FAULTS // 2, f"too slow a machine for a storm: {figures}"
    assert report.verdict.released > 0.8 * report.verdict.accepted, figures


async def _zombies(stage: Stage, module: str, most: int) -> tuple[int, int]:
    """Stop workers that hold a window until others have read it again; return zombies and duplicates."""
    team = Team(stage, [], np.random.default_rng(0), module)
    sent = zombies = duplicated = 0
    config = stage.config()
    policy = build_policy(load_settings(config), config)
    try:
        team.join()
        while zombies < most and not duplicated:
            zombie = team.join(fault="closing.4:stop@1")
            while not zombie.stopped:
                assert zombie.alive, "the worker ended before it could be stopped"
                await produce(stage, make_records(200, sent, first=sent), seed=sent)
                sent += 200
            await asyncio.sleep(SESSION + 4)  # the other one takes over, and publishes what the zombie holds
            team.wake(zombie)
            zombies += 1
            await asyncio.sleep(3)
            await team.end(zombie)
            verdict = judge(await read_topics(stage), [0] * sent, set(), policy)
            duplicated = verdict.duplicated
    finally:
        team.kill_all()
    return zombies, duplicated


@pytest.mark.timeout(600)
@pytest.mark.parametrize("fenced", [False, True])
async def test_storm_overlooks_a_missing_fence(
    kafka: ApacheKafka, unique: str, tmp_path: Path, fenced: bool
) -> None:
    stage = Stage(kafka, unique, tmp_path)
    await stage.create_topics()
    await asyncio.to_thread(compile_once, stage.config())
    if fenced:
        assert await _zombies(stage, "stream_anon.cli.main", 2) == (2, 0)
    else:
        zombies, duplicated = await _zombies(stage, "tests.support.storm.unfenced", MOST_ZOMBIES)
        assert duplicated, f"{zombies} zombies without a fence repeated nothing"
