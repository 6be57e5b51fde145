"""The Adult census file: the figures of the design, and pycanon as an independent judge."""

from __future__ import annotations

import warnings

import pytest

from stream_anon.microdata.choices.engine_choice import EngineChoice
from stream_anon.microdata.diversity import Diversity
from tests.support.adult import (
    QUASI_IDENTIFIERS,
    SENSITIVE,
    adult_policy,
    adult_records,
    adult_releases,
    released_table,
)


@pytest.mark.parametrize(
    ("engine", "max_records", "windows", "most"),
    [
        ("mondrian", 10_000, 4, 0.20),
        ("mondrian", 1_000, 31, 0.37),
        ("forest", 10_000, 4, 0.120),
        ("forest", 1_000, 31, 0.260),
        ("forest", 40_000, 1, 0.080),
    ],
)
def test_no_engine_loses_more_than_it_did(engine: str, max_records: int, windows: int, most: float) -> None:
    releases = adult_releases(adult_policy(max_records=max_records, engine=EngineChoice(engine)))
    assert len(releases) == windows
    assert sum(release.records_in for release in releases) == len(adult_records()) == 30_162
    full = [release.gcp for release in releases[: max(windows - 1, 1)] if release.gcp is not None]
    assert 0.07 < sum(full) / len(full) <= most
    assert all(release.gate_violations == 0 and release.suppressed == {} for release in releases)
    assert min(release.achieved_k or 0 for release in releases) >= 10


@pytest.mark.parametrize(("k", "least", "tight"), [(10, None, True), (5, 2, True), (7, 2, False)])
def test_an_independent_judge_finds_the_same_k_and_l(k: int, least: int | None, tight: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what pandas thinks of pycanon is not our matter
        import pandas as pd
        from pycanon import anonymity as judge

        diversity = {} if least is None else {SENSITIVE: Diversity(least)}
        policy = adult_policy(k, max_records=4_000, tight=tight, diversity=diversity)
        for release in adult_releases(policy)[::3]:
            table = pd.DataFrame(released_table(policy, release))
            assert judge.k_anonymity(table, list(QUASI_IDENTIFIERS)) == release.achieved_k
            found = judge.l_diversity(table, list(QUASI_IDENTIFIERS), [SENSITIVE])
            assert found >= (least or 1)
            assert least is None or found == release.achieved_l[SENSITIVE]


def test_the_census_is_the_file_that_the_figures_were_measured_on() -> None:
    """Vector 8: 19,502 distinct rows of nine attributes, 15,512 of them unique."""
    counts: dict[tuple[object, ...], int] = {}
    for record in adult_records():
        key = tuple(record.values())
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 19_502
    assert sum(count == 1 for count in counts.values()) == 15_512
