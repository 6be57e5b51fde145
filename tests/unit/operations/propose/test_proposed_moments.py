"""Moments: numbers since 1970 and texts, by their values and names."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from stream_anon.settings.policy_file import load_policy
from tests.support.proposals import proposed

DRAWS = random.Random(7)
SECONDS = [828_124_615 + DRAWS.randrange(700_000_000) for _ in range(1_000)]  # from 1996 on


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
@pytest.mark.parametrize("name", ["timestamp", "created", "last_seen", "updatedAt", "unixReviewTime", "pickup"])
def test_seconds_since_1970_are_moments_where_the_name_says_so(tmp_path: Path, name: str, suffix: str) -> None:
    records = [{"user_id": i, "sex": "FM"[i % 2], name: second} for i, second in enumerate(SECONDS)]
    _, attributes = proposed(tmp_path, records, suffix)
    assert attributes[name]["date"]["format"] == "epoch-s"


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
@pytest.mark.parametrize("factor", [1_000, 1_000_000])
def test_milliseconds_and_microseconds_are_moments_whatever_the_name_is(
    tmp_path: Path, factor: int, suffix: str
) -> None:
    values = [(second + 400_000_000) * factor for second in SECONDS]
    records = [{"user_id": i, "sex": "FM"[i % 2], "x": value} for i, value in enumerate(values)]
    _, attributes = proposed(tmp_path, records, suffix)
    assert attributes["x"]["date"]["format"] == {1_000: "epoch-ms", 1_000_000: "epoch-us"}[factor]


def test_moments_as_texts_of_numbers_are_coerced_and_the_file_loads(tmp_path: Path) -> None:
    records = [{"user_id": i, "sex": "FM"[i % 2], "timestamp": str(second)} for i, second in enumerate(SECONDS)]
    text, attributes = proposed(tmp_path, records)
    assert attributes["timestamp"]["coerce"] is True
    (tmp_path / "policy.yaml").write_text(text)
    assert load_policy(tmp_path / "policy.yaml").attribute("timestamp").coerce


def test_payment_cards_are_no_moments(tmp_path: Path) -> None:
    records = [{"user_id": i, "sex": "FM"[i % 2], "card": 4_000_000_000_000_000 + i * 7919} for i in range(600)]
    _, attributes = proposed(tmp_path, records, "csv")
    assert attributes["card"] == {"role": "identifier"}
