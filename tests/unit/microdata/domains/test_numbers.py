from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import SettingsError, Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.numbers import NumericDomain


def _grid(low: Any, high: Any, step: Any = 1, decimals: int | None = 0, **more: Any) -> NumericDomain:
    levels = tuple(Decimal(str(width)) for width in more.pop("levels", ()))
    return NumericDomain(Decimal(str(low)), Decimal(str(high)), Decimal(str(step)), decimals, levels, **more)


def _misfit(domain: NumericDomain, value: object) -> Reason:
    with pytest.raises(Unfit) as caught:
        domain.code(value)
    return Reason(caught.value.reason)


AGE = _grid(17, 90)


def test_whole_numbers_get_the_codes_of_their_places() -> None:
    assert AGE.size == 74
    assert [AGE.code(v) for v in (17, 25, 25.0, 90)] == [0, 8, 8, 73]
    assert AGE.publish(8, 8) == 25
    assert type(AGE.publish(8, 8)) is int
    assert AGE.ncp(8, 8) == 0
    assert AGE.ncp(0, 73) == 1
    assert AGE.publish(0, 73) == "*"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (16, Reason.OUT_OF_RANGE),
        (91, Reason.OUT_OF_RANGE),
        (25.5, Reason.WRONG_TYPE),
        (True, Reason.WRONG_TYPE),
        ("25", Reason.WRONG_TYPE),
        ([25], Reason.WRONG_TYPE),
        (float("nan"), Reason.WRONG_TYPE),
        (float("inf"), Reason.WRONG_TYPE),
        (1e300, Reason.OUT_OF_RANGE),
        pytest.param(10**400, Reason.OUT_OF_RANGE, id="400 digits"),
        pytest.param(-(10**5000), Reason.OUT_OF_RANGE, id="5000 digits"),
    ],
)
def test_a_number_that_does_not_fit_is_rejected_with_its_reason(value: object, reason: Reason) -> None:
    assert _misfit(AGE, value) is reason


def test_a_cell_of_five_is_published_as_its_range() -> None:
    fives = _grid(0, 100, 5)
    assert fives.size == 21
    assert [fives.code(v) for v in (0, 4, 5, 29, 99, 100)] == [0, 0, 1, 5, 19, 20]
    assert fives.publish(5, 5) == {"min": 25, "max": 29}
    assert fives.publish(5, 7) == {"min": 25, "max": 39}
    assert fives.publish(20, 20) == 100  # the top cell holds one value only
    assert fives.publish(19, 20) == {"min": 95, "max": 100}
    assert fives.ncp(5, 5) == pytest.approx(4 / 100)


def test_the_top_cell_costs_what_it_publishes() -> None:
    fives = _grid(0, 100, 5)
    assert fives.ncp(20, 20) == 0  # published as exactly 100
    assert fives.ncp(19, 20) == pytest.approx(5 / 100)
    assert fives.ncp(0, 20) == 1
    continuous = _grid(0, 10, 4, None)  # [0, 4) [4, 8) [8, 10]
    assert continuous.ncp(2, 2) == pytest.approx(2 / 10)
    assert continuous.ncp(1, 2) == pytest.approx(6 / 10)


def test_decimals_are_not_shifted_by_binary_fractions() -> None:
    weight = _grid(30, 150, "0.5", 1)
    assert [weight.code(v) for v in (30, 30.4, 30.5, 70.0, 150)] == [0, 0, 1, 80, 240]
    assert weight.publish(1, 1) == {"min": 30.5, "max": 30.9}
    assert _misfit(weight, 70.25) is Reason.WRONG_TYPE
    tenths = _grid(0, 1, "0.1", 1)
    assert [tenths.code(i / 10) for i in range(11)] == list(range(11))
    assert [tenths.publish(i, i) for i in range(11)] == [i / 10 for i in range(11)]


def test_a_continuous_cell_is_published_as_its_range() -> None:
    height = _grid(0, 2, "0.5", None)
    assert height.size == 4
    assert [height.code(v) for v in (0, 0.4999, 0.5, 1.75, 2, 2.0)] == [0, 0, 1, 3, 3, 3]
    assert height.publish(1, 1) == {"min": 0.5, "max": 1.0}
    assert height.ncp(1, 1) == pytest.approx(0.25)


def test_halving_puts_the_odd_value_on_the_left() -> None:
    #          1..9
    #     1..4      5..9
    #  1..2 3..4  5..6 7..9
    nine = _grid(1, 9)
    assert nine.node(0, 3) == (0, 3)
    assert nine.node(3, 4) == (0, 8)
    assert nine.node(6, 8) == (6, 8)
    assert nine.node(7, 8) == (7, 8)
    assert nine.node(3, 3) == (3, 3)


@pytest.mark.parametrize(("low", "high", "cost"), [(8, 8, 0), (1, 2, 0.5), (8, 9, 0.25), (1, 4, 0.75), (1, 5, 1)])
def test_level_cost_of_halvings_is_that_of_the_vectors(low: int, high: int, cost: float) -> None:
    """Vector 1: level / height, short paths padded at the leaf's end."""
    nine = _grid(1, 9)
    assert nine.level(low - 1, high - 1) / nine.height == cost


@pytest.mark.parametrize(
    ("ends", "value", "ranges"),
    [
        ((0, 150), 25, [{"min": 18, "max": 36}, {"min": 0, "max": 36}, {"min": 0, "max": 74}, "*"]),
        ((5, 10), 6, [6, {"min": 6, "max": 7}, {"min": 5, "max": 7}, "*"]),
    ],
)
def test_ranges_around_a_number_are_those_of_the_vectors(
    ends: tuple[int, int], value: int, ranges: list[Any]
) -> None:
    """Vector 6: all nodes above one value, from the widest down."""
    grid = _grid(*ends)
    nodes = {grid.node(*sorted((grid.code(value), other))) for other in range(grid.size)}
    found = [grid.publish(*node) for node in sorted(nodes, key=lambda node: node[1] - node[0])]
    assert found[-len(ranges) :] == ranges


def test_levels_are_counted_from_the_minimum() -> None:
    age = _grid(17, 90, levels=(5, 10, 20))
    assert age.height == 4
    assert age.node(0, 4) == (0, 4)
    assert age.publish(0, 4) == {"min": 17, "max": 21}
    assert age.node(4, 5) == (0, 9)
    assert age.node(9, 10) == (0, 19)
    assert age.node(19, 20) == (0, 73)
    assert age.node(71, 73) == (70, 73)
    assert age.publish(70, 73) == {"min": 87, "max": 90}
    assert [age.level(*pair) for pair in ((3, 3), (0, 4), (4, 5), (9, 10), (19, 20))] == [0, 1, 2, 3, 4]


def test_levels_that_reach_past_the_range_count_as_the_root() -> None:
    assert _grid(0, 9, levels=(5, 10)).height == 2
    assert _grid(0, 9, levels=(5, 10)).node(4, 5) == (0, 9)


def test_a_tight_range_is_not_widened_to_a_node() -> None:
    age = _grid(17, 90, tight=True)
    assert age.node(8, 10) == (8, 10)
    assert age.publish(8, 10) == {"min": 25, "max": 27}
    assert age.ncp(8, 10) == pytest.approx(2 / 73)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"low": 5, "high": 5}, "numeric.min"),
        ({"low": 0, "high": 5, "step": 0}, "numeric.step"),
        ({"low": 0, "high": 5, "step": 6}, "numeric.step"),
        ({"low": 0, "high": 2**31}, "numeric.step"),
        ({"low": 0, "high": 1, "step": "0.25", "decimals": 1}, "numeric.step"),
        ({"low": "0.5", "high": 5}, "numeric.min"),
        ({"low": 0, "high": 5, "decimals": 10}, "numeric.decimals"),
        ({"low": 0, "high": 50, "levels": (5, 12)}, "numeric.levels.1"),
        ({"low": 0, "high": 50, "levels": (10, 5)}, "numeric.levels.1"),
        ({"low": 0, "high": 50, "levels": ("2.5",)}, "numeric.levels.0"),
        ({"low": 0, "high": "inf"}, "numeric.max"),
        ({"low": "nan", "high": 1}, "numeric.min"),
        ({"low": 0, "high": 10**25, "step": 10**20, "decimals": 9}, "numeric.max"),
        ({"low": 0, "high": 1, "step": "nan"}, "numeric.step"),
    ],
)
def test_an_impossible_grid_is_refused(given: dict[str, Any], key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        _grid(**given)
    assert caught.value.key == key


_GRIDS = st.builds(
    lambda low, cells, step, decimals, tight: NumericDomain(low, low + cells * step, step, decimals, tight=tight),
    st.integers(-50, 50).map(Decimal),
    st.integers(1, 40),
    st.sampled_from([1, 2, 5]).map(Decimal),
    st.sampled_from([0, None]),
    st.booleans(),
)


@given(_GRIDS, st.data())
def test_every_value_lies_within_what_is_published_for_it(grid: NumericDomain, data: st.DataObject) -> None:
    numbers = st.integers(int(grid.minimum), int(grid.maximum))
    values = data.draw(st.lists(numbers, min_size=1, max_size=5))
    codes = [grid.code(value) for value in values]
    low, high = grid.node(min(codes), max(codes))
    assert 0 <= low <= min(codes) <= max(codes) <= high < grid.size
    assert grid.node(low, high) == (low, high)
    published = grid.publish(low, high)
    if published != "*":
        ends = published if isinstance(published, dict) else {"min": published, "max": published}
        assert all(ends["min"] <= value <= ends["max"] for value in values)
        width = Decimal(str(ends["max"])) - Decimal(str(ends["min"]))
        assert grid.ncp(low, high) == pytest.approx(float(width / (grid.maximum - grid.minimum)))
    assert (grid.level(low, high) == 0) == (low == high)
    assert grid.level(0, grid.size - 1) == (grid.height if grid.size > 1 else 0)
