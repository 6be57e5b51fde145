"""Windows made small: a target of loss sizes windows, and somebody who may write plants records that are alike."""

from __future__ import annotations

import json

import numpy as np

from stream_anon.service.events import SizesLearned
from tests.attacks.conftest import Measured
from tests.support.driver import CITIES, Driver
from tests.unit.service.closing.test_size_learning import make_people, studied


async def test_records_that_are_alike_make_windows_smaller_and_never_below_ten_times_k(measured: Measured) -> None:
    smallest = []
    for planted in (0.0, 0.97):
        async with Driver(
            window={"max_records": 20_000, "max_delay": 10, "target_loss": 0.1}, privacy={"k": 10}
        ) as driver:
            for number in range(6):
                records, own = (
                    make_people(600, 1_000 * number),
                    np.random.default_rng(number).random(600) >= planted,
                )
                driver.send(
                    [
                        record if alone else json.dumps({"person": n, "age": 5, "city": CITIES[0]}).encode()
                        for n, (record, alone) in enumerate(zip(records, own.tolist(), strict=True), 10**6)
                    ]
                )
                await driver.advance(10.5)
                await studied(driver)
            smallest.append(driver.told(SizesLearned)[-1].in_use)
    assert smallest[0] > 2 * smallest[1]
    assert smallest[1] == 100
    measured(f"97 of 100 records planted: windows of {smallest[1]} records where {smallest[0]} were")
