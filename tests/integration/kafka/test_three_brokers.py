"""Three brokers with TLS, SCRAM and the documented permissions fail in ten ways under load; no record is lost.

`STREAM_ANON_OUTAGES=40 pytest tests/integration/kafka/test_three_brokers.py` is the long form, about ten minutes.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.apache_kafka import missing_parts
from tests.support.apache_kafka.three import ThreeBrokers
from tests.support.outages.outages import Outages, figures, stage_on
from tests.support.service import PARTITIONS, Stage

FAULTS = int(os.environ.get("STREAM_ANON_OUTAGES", "10"))
SEED = int(os.environ.get("STREAM_ANON_OUTAGES_SEED", "1"))
A_FAULT = 60.0

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.soak]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeBrokers]:
    missing = missing_parts() or ("" if shutil.which("openssl") else "certificates need `openssl` on the path")
    if missing:
        pytest.skip(missing)
    with ThreeBrokers(tmp_path_factory.mktemp("three")) as cluster:
        yield cluster


@pytest.mark.timeout(300 + A_FAULT * FAULTS)
async def test_outages_of_three_brokers_lose_repeat_and_expose_no_record(
    three: ThreeBrokers, unique: str, tmp_path: Path
) -> None:
    async with stage_on(three, unique, tmp_path) as stage:
        outages = Outages(three, stage, SEED, say=print)
        report = await outages.run(FAULTS, A_FAULT * FAULTS)
    told = figures(outages, report)
    assert report.verdict.clean, told
    assert not report.failures, told
    assert report.faults.total() == FAULTS, f"too slow a machine: {told}"
    assert report.verdict.released > 0.8 * report.verdict.accepted, told


@pytest.mark.timeout(300)
@pytest.mark.parametrize("in_sync", [1, 2])
async def test_records_are_missed_where_one_copy_in_sync_is_enough_and_a_leader_is_lost(
    three: ThreeBrokers, unique: str, tmp_path: Path, in_sync: int
) -> None:
    """A judge that overlooked them would prove nothing."""
    stage = Stage(three.any, unique, tmp_path, {"kafka": three.settings()})
    behind, leader = three.nodes[1:]
    await three.create_on(
        stage.name,
        PARTITIONS,
        [leader, behind],
        min_insync_replicas=str(in_sync),
        unclean_leader_election_enable="true",
    )
    await stage.create_outputs(min_insync_replicas="2")
    await three.allow_service(stage.name, stage.output)

    async def lose_the_leader() -> None:
        await asyncio.to_thread(behind.kill)
        await three.until_led_by(leader, stage.name)
        await asyncio.sleep(4)  # it goes on alone, if it may
        await asyncio.to_thread(leader.kill)
        await asyncio.to_thread(behind.start)
        await three.until_led_by(behind, stage.name)  # what it lacks is lost
        await asyncio.to_thread(leader.start)

    outages = Outages(three, stage, SEED, within=20.0, say=print)
    outages.kinds = {"leader-lost": lose_the_leader}
    report = await outages.run(1, A_FAULT)
    told = figures(outages, report)
    assert report.verdict.clean == (in_sync == 2), told
    assert (report.verdict.lost > 0) == (in_sync == 1), told
