"""How values are dealt into families."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.operations.dealt_families import deal

COUNTS = st.lists(st.integers(1, 60), min_size=2, max_size=9).map(
    lambda counts: {f"v{place}": count for place, count in enumerate(counts)}
)


def _guessed(families: list[tuple[str | None, ...]], people: dict[str, int]) -> int:
    return sum(max(people[v] for v in one if v) for one in families)


def _surest(families: list[tuple[str | None, ...]], people: dict[str, int]) -> float:
    return max(max(people[v] for v in one if v) / sum(people[v] for v in one if v) for one in families)


def _all_cuts(values: list[str], count: int, least: int) -> Iterator[list[tuple[str, ...]]]:
    if count == 1:
        yield [tuple(values)]
        return
    for size in range(least, len(values) - least * (count - 1) + 1):
        yield from ([tuple(values[:size]), *rest] for rest in _all_cuts(values[size:], count - 1, least))


@given(COUNTS, st.integers(2, 4))
def test_each_value_is_in_one_family_and_fewest_are_guessed_by_the_least_surest_guess(
    people: dict[str, int], least: int
) -> None:
    if len(people) < least:
        return
    families = deal(people, least)
    assert sorted(value for family in families for value in family if value) == sorted(people)
    assert all(len(family) >= least for family in families)
    assert len(families) == len(people) // least
    values = sorted(people, key=lambda value: (-people[value], value))
    others = [list(other) for other in _all_cuts(values, len(families), least)]
    best = min((_surest(other, people), _guessed(other, people)) for other in others)
    assert (_surest(families, people), _guessed(families, people)) == best


def test_what_is_best_so_far_need_not_be_best_in_the_end() -> None:
    """The last family is the surest one anyway; those before may be as sure, so that fewer are guessed in all."""
    counts = [50, 50, 40, 30, 12, 3, 1]
    families = deal({f"v{place}": count for place, count in enumerate(counts)}, 2)
    assert families == [("v0", "v1", "v2"), ("v3", "v4"), ("v5", "v6")]


@given(COUNTS, st.randoms())
def test_the_order_in_which_values_come_does_not_matter(people: dict[str, int], draws: object) -> None:
    items = list(people.items())
    draws.shuffle(items)  # type: ignore[attr-defined]
    assert deal(dict(items), 2) == deal(people, 2)


@pytest.mark.parametrize("missing", [0, 9], ids=["last", "first"])
def test_a_missing_value_is_a_value(missing: int) -> None:
    (family,) = deal({"a": 4, None: missing + 1}, 2)
    assert set(family) == {"a", None}


def test_many_values_are_dealt_at_once() -> None:
    families = deal({f"v{n:04}": 10_000 - n for n in range(5_003)}, 5)
    assert len(families) == 1_000
    assert max(map(len, families)) <= 8
