"""How much work a proposal is."""

from __future__ import annotations

import datetime as dt
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stream_anon.formats.tables.undeclared_samples import SampledField, Value
from stream_anon.operations.propose.proposing import propose
from stream_anon.operations.propose.support import read
from tests.support.proposals import Record, write_json

MOST_SECONDS = 8.0  # of processor time; it takes 2.5 alone on a machine, and took 11 when every value was looked at


def test_what_a_value_means_is_asked_once_for_each_different_value() -> None:
    column = SampledField(list(range(3_000)), [i % 30 for i in range(3_000)])
    asked: list[Value] = []

    def tens(value: Value) -> int | None:
        asked.append(value)
        return None if value == 29 else int(str(value)) // 10

    reading = read(column, tens)
    assert len(asked) == 30
    assert (reading.meanings, reading.counts.tolist(), len(reading)) == ([0, 1, 2], [1_000, 1_000, 900], 2_900)
    assert reading.then(lambda ten: ten > 0 or None).counts.tolist() == [1_900]


def wide(records: int) -> list[Record]:
    draws, start = random.Random(1), dt.datetime(2023, 1, 1, tzinfo=dt.UTC)
    kinds: list[Callable[[], object]] = [
        lambda: draws.randrange(1_000),
        lambda: round(draws.random() * 500, 2),
        lambda: f"Town {draws.randrange(40)}",
        lambda: (start + dt.timedelta(days=draws.randrange(700))).date().isoformat(),
        lambda: f"{start + dt.timedelta(seconds=draws.randrange(60_000_000)):%Y-%m-%dT%H:%M:%SZ}",
        lambda: (start + dt.timedelta(days=draws.randrange(700))).strftime("%d.%m.%Y"),
        lambda: 1_700_000_000_000 + draws.randrange(10**10),
        lambda: f"C{draws.randrange(300):04}",
        lambda: draws.random() < 0.3,
        lambda: draws.randrange(6),
    ]
    return [
        {"person_id": f"P{i % 5_000}", **{f"field{j}": kinds[j % len(kinds)]() for j in range(59)}}
        for i in range(records)
    ]


@pytest.mark.soak
def test_sixty_fields_of_ten_thousand_records_take_seconds(tmp_path: Path) -> None:
    path = write_json(tmp_path / "s.jsonl", wide(10_000))
    before = time.process_time()
    propose(path)
    assert time.process_time() - before < MOST_SECONDS
