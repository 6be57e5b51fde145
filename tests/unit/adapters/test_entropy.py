"""Draws that nobody can replay come from one place."""

from __future__ import annotations

import re

from stream_anon.adapters.entropy import fresh_draws
from tests.support.data import ROOT

_FRESH = re.compile(r"default_rng\(\)|default_rng\(secrets")


def test_no_two_generators_draw_alike() -> None:
    assert fresh_draws().integers(2**62, size=2).tolist() != fresh_draws().integers(2**62, size=2).tolist()


def test_nothing_else_makes_a_generator_of_the_systems_entropy() -> None:
    sources = [path for folder in ("stream_anon", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    assert [path.name for path in sources if _FRESH.search(path.read_text())] == ["entropy.py"]
