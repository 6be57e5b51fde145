"""The delay after a fault on a real Kafka, at a small rate; `python benchmarks/delay.py` measures larger ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.delay import CRASHES, observe, open_scene
from tests.support.apache_kafka import missing_parts
from tests.support.data import shared_data

RATE = 1500.0

pytestmark = [pytest.mark.kafka, pytest.mark.soak]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("packed", "faults"),
    [(False, ("line-held",)), (False, ("broker-killed", "killed-in-transaction")), (True, ("worker-killed",))],
)
async def test_the_delay_is_bounded_again_soon_after_a_fault(
    packed: bool, faults: tuple[str, ...], tmp_path: Path
) -> None:
    data = shared_data("arx-adult")
    missing = missing_parts()
    if missing:
        pytest.skip(missing)
    scene = await open_scene(tmp_path, data, 1000, 10_000, packed=packed)
    try:
        for fault in faults:
            found = await observe(scene, fault, RATE, 4.0)
            assert found["recovered_after"] <= found["allowed"], found
            # The broker misses a killed worker, and ends its transaction, in its own time.
            if fault not in CRASHES:
                assert found["first_window_after"] < 6.0, f"workers rest though all is there: {found}"
            assert found["worst_delay"] > 1.0, f"the fault did nothing: {found}"
    finally:
        await scene.stop()
