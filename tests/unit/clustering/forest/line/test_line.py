"""The kernels of the line against plain Python."""

from __future__ import annotations

import itertools
from decimal import Decimal
from string import ascii_uppercase
from string import digits as digits_of_ten

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.clustering.forest.cost_tables import reordered, tables_first
from stream_anon.clustering.forest.line.cut import cut, last_boxes
from stream_anon.clustering.forest.line.points import points_of
from stream_anon.clustering.forest.ordering.digits import Digits
from stream_anon.clustering.forest.ordering.order import hilbert_keys, key_table, line_order
from stream_anon.clustering.forest.ordering.order_search import WindowSample, block_loss
from stream_anon.clustering.forest.refining.split import sort_places
from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.microdata.domains.domain import Domain
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.privacy.costs.cost import cost_model, interval_cost
from stream_anon.privacy.costs.model import CostModel
from tests.support.tables import Table, tables

NUMBER = NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0, tight=True)


def cost(codes: NDArray[np.int32], rows: NDArray[np.int64], model: CostModel) -> float:
    part = codes[:, rows]
    return sum(interval_cost(model, j, int(own.min()), int(own.max())) for j, own in enumerate(part))


def digit(digits: Digits, d: int, code: int) -> int:
    width, values = int(digits.width[d]), int(digits.base[d]) - 2
    if not width:
        return int(digits.listed[int(digits.start[d]) + code])
    size = int(digits.sizes[int(digits.attribute[d])]) - 2
    return code // width % values if code < size else values + code - size


def snake(codes: list[int], digits: Digits, order: NDArray[np.int64]) -> int:
    key = parity = 0
    for d in order.tolist():
        value = digit(digits, d, codes[int(digits.attribute[d])])
        value = int(digits.base[d]) - 1 - value if parity else value
        key = key * int(digits.base[d]) + value
        parity ^= value & 1
    return key


@given(tables())
def test_packed_keys_and_ties_in_the_first_word_stand_in_order(table: Table) -> None:
    digits = Digits.of(table.attributes)
    keys = key_table(digits, digits.cold_order())
    if keys.curve or not keys.whole:
        return
    order = line_order(table.rows.codes, keys)
    own = [snake(column, digits, digits.cold_order()) for column in table.rows.codes.T.tolist()]
    assert order.tolist() == sorted(range(len(own)), key=lambda row: (own[row], row))


@given(st.integers(1, 30), st.integers(2, 9), st.integers(0, 99))
def test_the_box_of_the_last_rows_is_exact_at_borders_of_blocks(n: int, k: int, seed: int) -> None:
    codes = np.random.default_rng(seed).integers(0, 9, (n, 3), np.int32)
    lows, highs = np.empty((n + k, 3), np.int32), np.empty((n + k, 3), np.int32)
    last_boxes(codes, k, lows, highs)
    for end in range(k, n + 1):
        assert lows[end].tolist() == codes[end - k : end].min(0).tolist()
        assert highs[end].tolist() == codes[end - k : end].max(0).tolist()


@given(tables(), st.integers(2, 5))
def test_a_cut_of_the_line_has_the_least_loss(table: Table, k: int) -> None:
    # The model in any order of its attributes, and with those that have a table first.
    first = tables_first(table.model)
    codes = table.rows.codes
    n = codes.shape[1]
    order = np.arange(n)
    losses = [0.0, *[np.inf] * n]
    for end in range(k, n + 1):
        for size in range(k, min(2 * k - 1, end) + 1):
            own = size * cost(codes, order[end - size : end], table.model)
            losses[end] = min(losses[end], losses[end - size] + own)
    for model, own_codes in ((table.model, codes), (reordered(table.model, first), codes[first])):
        points, starts = points_of(np.ascontiguousarray(own_codes), order)
        point_of = np.repeat(np.arange(len(points)), np.diff(starts))
        best = np.empty(n + 1)
        cut(points, point_of, np.full(n, n), model, k, 2 * k - 1, best)
        assert best == pytest.approx(np.array(losses))


@pytest.mark.parametrize("n", [1_500, 2_999, 3_000, 3_001, 4_499, 4_500, 7_000])
def test_a_cut_for_a_large_k_is_legal_and_no_dearer_than_equal_parts(n: int) -> None:
    k = 1_500
    numbers = QuasiIdentifier("number", NumericDomain(Decimal(0), Decimal(999), Decimal(1), 0))
    model = cost_model([numbers])
    codes = np.sort(np.random.default_rng(n).integers(0, 1_000, n).astype(np.int32))[None]
    points, starts = points_of(np.ascontiguousarray(codes), np.arange(n))
    point_of = np.repeat(np.arange(len(points)), np.diff(starts))
    best = np.empty(n + 1)
    ends = cut(points, point_of, np.full(n, n), model, k, 2 * k - 1, best)
    sizes = np.diff(np.concatenate([[0], ends]))
    assert ends[-1] == n
    assert ((sizes >= k) & (sizes < 2 * k)).all()
    equal = [*range(k, n - k + 1, k), n]
    parts = zip([0, *equal], equal, strict=False)
    assert best[n] <= sum((b - a) * cost(codes, np.arange(a, b), model) for a, b in parts) + 1e-6


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.sampled_from([1, 10]))
def test_equal_keys_keep_their_places(some: list[int], times: int) -> None:
    """Few are counted, many sorted."""
    keys = some * times
    places = np.empty(len(keys), np.int64)
    sort_places(np.array(keys, np.int32), places)
    assert places.tolist() == sorted(range(len(keys)), key=lambda i: (keys[i], i))


@given(tables())
def test_the_loss_of_blocks_counts_every_row(table: Table) -> None:
    codes, n = table.rows.codes, len(table.rows)
    if n == 0:
        return
    found = block_loss(codes, np.arange(n)[::-1].copy(), table.model, 3.0, 1)
    order = np.arange(n)[::-1]
    edges = [0, *range(1, n, 3), n] if n > 1 else [0, 1]
    losses = [cost(codes, order[a:b], table.model) * (b - a) for a, b in itertools.pairwise(edges) if b > a]
    assert found == pytest.approx(sum(losses) / n)


def test_neighbours_on_the_curve_are_neighbours_on_the_plane() -> None:
    grid = np.array([[x, y] for x in range(16) for y in range(16)], np.int32).T.copy()
    keys = np.empty(256, np.int64)
    hilbert_keys(grid, np.array([16, 16]), keys)
    along = grid[:, np.argsort(keys)]
    assert (np.abs(np.diff(along, axis=1)).sum(0) == 1).all()


def test_two_numbers_alone_are_laid_along_the_curve() -> None:
    assert Digits.of([QuasiIdentifier("a", NUMBER), QuasiIdentifier("b", NUMBER)]).curve
    assert not Digits.of([QuasiIdentifier(name, NUMBER) for name in "abc"]).curve


@given(tables(), st.integers(0, 9))
def test_the_sample_that_is_learned_from_does_not_depend_on_arrival(table: Table, seed: int) -> None:
    digits = Digits.of(table.attributes)
    along = key_table(digits, digits.cold_order())
    codes = table.rows.codes
    if not codes.shape[1]:
        return
    mixed = np.random.default_rng(seed).permutation(codes.shape[1])
    one, other = WindowSample.of(codes, 3, along), WindowSample.of(np.ascontiguousarray(codes[:, mixed]), 3, along)
    assert (one.codes == other.codes).all()


def test_orders_that_are_tried_share_the_digits_of_all_codes() -> None:
    digits = Digits.of([QuasiIdentifier(name, NUMBER) for name in "abc"])
    order = digits.cold_order()[::-1]
    table = key_table(digits, order)
    assert table.listed is digits.listed
    assert table.start.tolist() == digits.start[order].tolist()


@pytest.mark.parametrize(
    "domain",
    [
        PrefixDomain(7, "0123456789", 7),
        PrefixDomain(6, ascii_uppercase + digits_of_ten, 5),
        NumericDomain(Decimal(0), Decimal(10_000_000), Decimal(1), 0),
        PrefixDomain(3, "0123456789", 3),
        NumericDomain(Decimal(0), Decimal(4_090), Decimal(1), 0),
    ],
)
def test_digits_of_many_codes_take_little_memory_and_stand_in_order(domain: Domain) -> None:
    attributes = [QuasiIdentifier(name, domain) for name in "abc"]
    digits = Digits.of(attributes)
    assert len(digits.listed) < 100_000
    draws = np.random.default_rng(1)
    codes = draws.integers(0, domain.size + 2, (3, 900), np.int32)
    codes[:, :4] = [0, domain.size - 1, domain.size, domain.size + 1]
    # One after the other: in fewer digits than two words hold, nothing is left out.
    whole = np.arange(len(digits.base))
    keys = key_table(digits, whole)
    kept = whole[: len(keys.base)]
    own = [snake(column, digits, kept) for column in codes.T.tolist()]
    assert line_order(codes, keys).tolist() == sorted(range(900), key=lambda row: (own[row], row))


def test_the_codes_of_a_prefix_are_a_stretch_of_the_line() -> None:
    domain = PrefixDomain(3, "0123456789", 3)
    digits = Digits.of([QuasiIdentifier("zip", domain)])
    assert digits.base.tolist() == [12, 12, 12]
    codes = np.arange(1000, dtype=np.int32)[None]
    place = np.argsort(line_order(codes, key_table(digits, np.arange(3))))
    for width in (100, 10):
        assert (np.ptp(place.reshape(-1, width), axis=1) == width - 1).all()
