"""Random faults on several real workers and a real Kafka; and that the storm would notice a missing fence.

`make soak` runs the longer storm; `python benchmarks/chaos.py --faults 200` is the longest.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.apache_kafka import missing_parts
from tests.support.registry import apicurio, confluent
from tests.support.service import Stage, compile_once
from tests.support.storm.control import FENCED, MOST_ZOMBIES, UNFENCED, wake_zombies
from tests.support.storm.report import Report
from tests.support.storm.stage import stage_behind_lines
from tests.support.storm.storm import Storm

SHORT = 5
LONG = int(os.environ.get("STREAM_ANON_STORM_FAULTS", "40"))
AVRO = int(os.environ.get("STREAM_ANON_STORM_AVRO_FAULTS", "20"))
RETURNS = int(os.environ.get("STREAM_ANON_STORM_RETURNS_FAULTS", "15"))
MOST = 2  # releases of one person
SEED = int(os.environ.get("STREAM_ANON_STORM_SEED", "1"))

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


async def storm(name: str, folder: Path, faults: int, **weather: Any) -> Report:
    """Return the report of a storm on topics of this name; `weather` is as of a `Storm`."""
    missing = missing_parts()
    if missing:
        pytest.skip(missing)
    async with stage_behind_lines(folder / "storm", name) as (stage, lines):
        return await Storm(stage, lines, SEED, **weather).run(faults, 150 + 12.0 * faults)


def clean_figures(report: Report, faults: int) -> dict[str, Any]:
    """Return the figures of a storm in which enough broke, and nothing was lost, repeated or exposed."""
    figures = report.figures()
    assert report.verdict.clean, figures
    assert not report.failures, figures
    assert report.faults.total() >= faults // 2, f"too slow a machine for a storm: {figures}"
    return figures


@pytest.mark.timeout(600 + 20 * LONG)
@pytest.mark.parametrize(
    ("faults", "weather"),
    [
        pytest.param(SHORT, {"packed": False, "families": True, "workers": 4}, id="short, spread, families"),
        pytest.param(LONG, {"packed": True}, id="long, packed", marks=pytest.mark.soak),
    ],
)
async def test_a_storm_loses_repeats_and_exposes_no_record(
    faults: int, weather: dict[str, Any], unique: str, tmp_path: Path
) -> None:
    report = await storm(unique, tmp_path, faults, **weather)
    figures = clean_figures(report, faults)
    assert report.verdict.released > 0.8 * (report.verdict.accepted - report.verdict.gone), figures


@pytest.mark.soak
@pytest.mark.timeout(600 + 20 * RETURNS)
async def test_a_storm_loses_and_doubles_no_count_of_who_was_released(unique: str, tmp_path: Path) -> None:
    report = await storm(unique, tmp_path, RETURNS, most=MOST, families=True, workers=4)
    figures = clean_figures(report, RETURNS)
    assert report.verdict.notes["records with an illness in no family"] > 0, figures
    assert report.verdict.notes["people released as often as allowed"] > 500, figures


@pytest.mark.soak
@pytest.mark.timeout(600 + 20 * AVRO)
async def test_a_storm_on_avro_and_its_registry_loses_repeats_and_exposes_no_record(
    unique: str, tmp_path: Path
) -> None:
    missing = missing_parts() or apicurio.missing_parts()
    if missing:
        pytest.skip(missing)
    with apicurio.Apicurio(tmp_path / "registry") as registry:
        async with stage_behind_lines(tmp_path / "storm", unique) as (plain, lines):
            stage = confluent.avro_stage(plain, registry.url)
            weather = Storm(stage, lines, SEED, registry=registry, packed=False)
            report = await weather.run(AVRO, 150 + 15.0 * AVRO)
    confluent.Confluent.close_all()
    figures = clean_figures(report, AVRO)
    assert report.faults["registry-kill"], figures
    assert report.verdict.released > 0.8 * (report.verdict.accepted - report.verdict.gone), figures


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("fenced", [False, True])
async def test_workers_that_wake_up_repeat_records_only_where_fences_are_down(stage: Stage, fenced: bool) -> None:
    await asyncio.to_thread(compile_once, stage.config())
    if fenced:
        assert await wake_zombies(stage, FENCED, 2) == (2, 0)
    else:
        zombies, duplicated = await wake_zombies(stage, UNFENCED, MOST_ZOMBIES)
        assert duplicated, f"{zombies} zombies without a fence repeated nothing"
