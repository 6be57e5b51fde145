from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.measures.distance import every_level, published_levels
from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.calendar.calendar_cells import Finest
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.domain import Domain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.domains.ranges import RangedDomain
from stream_anon.microdata.domains.walk import FIRSTS, HALVING, LINEAR, PREFIX, RANGES, TABLE, WIDTHS
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs import cost as cost_module
from stream_anon.privacy.costs.cost import cost_model, interval_cost, level_model, set_cost
from stream_anon.privacy.costs.model import CostModel


def _ragged(leaves: int) -> CategoricalDomain:
    """A hierarchy whose branches end at many heights."""
    rows = []
    for i in range(leaves):
        path = [f"a{i // 3}", f"b{i // 24}", f"c{i // 200}", f"d{i // 700}"][i // 300 % 3 :]
        rows.append([f"x{i}", *path, "*"])
    parents: dict[str, list[str]] = {}

    def agrees(row: list[str]) -> bool:
        """Tell whether the row's labels stand under the same parents as before."""
        return all(parents.setdefault(label, row[i + 1 :]) == row[i + 1 :] for i, label in enumerate(row[:-1]))

    kept = [row for row in rows if agrees(row)]
    return CategoricalDomain(Hierarchy.from_rows(kept))


def _number(
    low: str, high: str, step: str, decimals: int | None = 0, levels: str = "", tight: bool = False
) -> Domain:
    widths = tuple(Decimal(width) for width in levels.split())
    return NumericDomain(Decimal(low), Decimal(high), Decimal(step), decimals, widths, tight)


def _ranged(low: str, high: str, step: str, decimals: int | None, cuts: str) -> RangedDomain:
    given = (Decimal(low), Decimal(high), Decimal(step), decimals)
    return RangedDomain(*given, cuts=tuple(map(Decimal, cuts.split())))


def _moments(first: dt.date, last: dt.date, finest: Finest) -> DateDomain:
    return DateDomain("iso8601", first, last, zone="Europe/Berlin", finest=finest)


KINDS: dict[str, tuple[int, Domain]] = {
    "table-ragged": (
        TABLE,
        CategoricalDomain(Hierarchy.from_rows([["a", "g", "h", "*"], ["b", "g", "h", "*"], ["c", "*"]])),
    ),
    "table-one-leaf": (TABLE, CategoricalDomain(Hierarchy.flat(["only"]))),
    "table-one-branch": (TABLE, CategoricalDomain(Hierarchy.from_rows([["a", "all", "*"], ["b", "all", "*"]]))),
    "table-halving": (TABLE, _number("1", "9", "1")),
    "table-fives": (TABLE, _number("0", "100", "5")),
    "table-one-cell": (TABLE, _number("0", "1", "1", None)),
    "table-tight": (TABLE, _number("17", "90", "1", 0, "", True)),
    "table-levels": (TABLE, _number("17", "90", "1", 0, "5 10 20")),
    "table-prefix": (TABLE, PrefixDomain(3, "01234567", 3)),
    "table-prefix-cut": (TABLE, PrefixDomain(5, "01234567", 3)),
    "table-dates": (TABLE, DateDomain("%Y-%m-%d", dt.date(2023, 11, 17), dt.date(2025, 2, 1))),
    "linear": (LINEAR, _number("0", "20000", "3", 0, "", True)),
    "linear-continuous": (LINEAR, _number("0", "100.25", "0.05", None, "", True)),
    "halving": (HALVING, _number("0", "20002", "5")),
    "widths": (WIDTHS, _number("0", "20000", "1", 0, "5 50 1000")),
    "widths-continuous": (WIDTHS, _number("0", "2000.5", "1", None, "4 500")),
    "prefix": (PREFIX, PrefixDomain(5, "0123456789", 5)),
    "prefix-cut": (PREFIX, PrefixDomain(12, "0123456789", 9)),
    "ranges": (RANGES, _ranged("0", "20000", "1", 0, "1 100 5000 5001 19999 20000")),
    "ranges-continuous": (RANGES, _ranged("0", "2000.5", "1", None, "500 1500")),
    "table-ranges": (TABLE, _ranged("0", "120", "5", 0, "20 30 65")),
    "firsts-dates": (FIRSTS, DateDomain("%Y-%m-%d", dt.date(1999, 11, 17), dt.date(2020, 2, 1))),
    "firsts-hours": (FIRSTS, _moments(dt.date(2024, 1, 17), dt.date(2025, 2, 1), Finest.HOUR)),
    "firsts-minutes": (FIRSTS, _moments(dt.date(2024, 3, 29), dt.date(2024, 4, 2), Finest.MINUTE)),
    "firsts-minutes-of-two-years": (FIRSTS, _moments(dt.date(2024, 12, 30), dt.date(2025, 1, 2), Finest.MINUTE)),
    "firsts-ragged": (FIRSTS, _ragged(3_000)),
    "firsts-flat": (FIRSTS, CategoricalDomain(Hierarchy.flat([str(i) for i in range(1_100)]))),
    "firsts-balanced": (FIRSTS, CategoricalDomain(balanced([str(i) for i in range(2_500)], 3))),
}


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_the_kernel_prices_what_is_published(name: str, data: st.DataObject) -> None:
    kind, domain = KINDS[name]
    weight = data.draw(st.sampled_from([1.0, 2.5]))
    attribute = QuasiIdentifier("x", domain, weight)
    before = QuasiIdentifier("before", CategoricalDomain(Hierarchy.flat(["u", "v"])))
    model = cost_model([before, attribute]) if domain.size > 1024 else _small_model(name, weight)
    assert model.kind[1] == kind
    # Near to each other as often as anywhere: neighbours under one small node are rare among all pairs.
    low = data.draw(
        st.integers(0, attribute.size - 1) | st.sampled_from([0, domain.size - 1, attribute.missing_code])
    )
    reach = data.draw(st.sampled_from([0, 3, 30, attribute.size]))
    high = data.draw(st.integers(low, min(low + reach, attribute.size - 1)))
    expected = attribute.ncp(*attribute.node(low, high)) * weight
    assert interval_cost(model, 1, low, high) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_the_level_that_is_priced_is_the_one_above(name: str, data: st.DataObject) -> None:
    domain = KINDS[name][1]
    attribute = QuasiIdentifier("x", domain, 2.5)
    if name not in _LEVEL_MODELS:
        before = QuasiIdentifier("before", CategoricalDomain(Hierarchy.flat([str(i) for i in range(1_100)])))
        _LEVEL_MODELS[name] = level_model([before, attribute])
    model = _LEVEL_MODELS[name]
    low = data.draw(st.integers(0, attribute.size - 1) | st.sampled_from([0, domain.size - 1, domain.size]))
    reach = data.draw(st.sampled_from([0, 3, 30, attribute.size]))
    high = data.draw(st.integers(low, min(low + reach, attribute.size - 1)))
    expected = attribute.level(low, high) / domain.height * 2.5
    assert interval_cost(model, 1, low, high) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("leaves", [1, 6, 1_100])
@given(data=st.data())
def test_a_set_is_priced_by_what_occurs_in_it(leaves: int, data: st.DataObject) -> None:
    domain = CategoricalDomain(Hierarchy.flat([str(i) for i in range(leaves)]))
    attribute = QuasiIdentifier("x", domain, 2.5, publication=PublishedForm.VALUES)
    if leaves not in _SET_MODELS:
        _SET_MODELS[leaves] = cost_model([attribute])
    model = _SET_MODELS[leaves]
    code = st.integers(0, leaves - 1) | st.sampled_from([attribute.missing_code, attribute.unknown_code])
    codes = data.draw(st.lists(code, min_size=1, max_size=9))
    missing, unknown = codes.count(attribute.missing_code), codes.count(attribute.unknown_code)
    values = len({c for c in codes if c < leaves})
    expected = 1.0 if attribute.unknown_code in codes else attribute.ncp_set(codes)
    assert set_cost(model, 0, values, missing, unknown) == pytest.approx(2.5 * expected)
    # Who knows only the ends takes all between them: never less.
    whole = 2.5 * attribute.ncp_set(range(min(codes), max(codes) + 1))
    assert interval_cost(model, 0, min(codes), max(codes)) == pytest.approx(whole, abs=1e-6)


@pytest.mark.parametrize("leaves", [6, 1_100])
def test_a_set_costs_the_level_of_the_node_around_it_where_others_cost_their_level(leaves: int) -> None:
    domain = CategoricalDomain(Hierarchy.from_rows([[str(i), f"pair {i // 2}", "*"] for i in range(leaves)]))
    attribute = QuasiIdentifier("x", domain, 2.5, publication=PublishedForm.VALUES)
    model = level_model([attribute])
    low, high = np.array([[0, 0, 2]]), np.array([[1, 3, 2]])
    shares = published_levels(attribute, low, high, every_level(attribute))[0] / domain.height
    assert shares.tolist() == [0.5, 1, 0]
    assert [interval_cost(model, 0, a, b) for a, b in ((0, 1), (0, 3), (2, 2))] == pytest.approx(2.5 * shares)
    assert model.share.tolist() == [0]  # so that kernels do not price what occurs in it


def test_a_cell_that_the_maximum_cuts_off_costs_only_the_rest_of_its_width() -> None:
    model = cost_model([QuasiIdentifier("x", _number("0", "20003", "1", 0, "5 50 1000"))])
    assert model.kind[0] == WIDTHS
    assert interval_cost(model, 0, 19_996, 19_997) == pytest.approx(4 / 20_003)
    assert interval_cost(model, 0, 20_001, 20_002) == pytest.approx(3 / 20_003)


def test_the_largest_domain_with_a_table_has_as_many_values_as_the_limit_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cost_module, "WHOLE_TABLE", 4)
    domains = [CategoricalDomain(Hierarchy.flat([str(i) for i in range(size)])) for size in (4, 5)]
    model = cost_model([QuasiIdentifier(f"x{domain.size}", domain) for domain in domains])
    assert model.kind.tolist() == [TABLE, FIRSTS]
    assert len(model.table) == 6 * 6


@pytest.mark.parametrize("priced", [cost_model, level_model])
def test_a_record_pays_nothing_for_the_others_of_its_class(priced: Callable[..., CostModel]) -> None:
    assert priced([QuasiIdentifier("x", CategoricalDomain(Hierarchy.flat(["u", "v"])))]).crowd == 0


_SET_MODELS: dict[int, CostModel] = {}
_LEVEL_MODELS: dict[str, CostModel] = {}
_MODELS: dict[tuple[str, float], object] = {}


def _small_model(name: str, weight: float):
    if (name, weight) not in _MODELS:
        before = QuasiIdentifier("before", CategoricalDomain(Hierarchy.flat(["u", "v"])))
        _MODELS[name, weight] = cost_model([before, QuasiIdentifier("x", KINDS[name][1], weight)])
    return _MODELS[name, weight]


def test_the_graph_of_level_costs_is_that_of_the_vectors() -> None:
    """Vectors 1 and 2: the cost of four halved attributes over 1..9, as levels / height."""
    nine = _number("1", "9", "1")
    rows = [(1, 1, 1, 1), (1, 1, 1, 2), (4, 5, 1, 1), (1, 3, 5, 7)]

    def cost(a: tuple[int, ...], b: tuple[int, ...]) -> float:
        return sum(nine.level(min(x, y) - 1, max(x, y) - 1) / nine.height for x, y in zip(a, b, strict=True))

    edges = {f"{i}{j}": cost(rows[i], rows[j]) for i in range(4) for j in range(i + 1, 4)}
    assert edges == {"01": 0.5, "02": 1.75, "03": 2.75, "12": 2.25, "13": 2.75, "23": 3.75}
    assert cost((1, 3), (1, 6)) == 1
    assert cost((1, 1, 1, 1), (4, 5, 1, 2)) == 2.25


def test_tables_of_a_thousand_values_are_built_fast() -> None:
    attributes = [
        QuasiIdentifier("a", CategoricalDomain(balanced([str(i) for i in range(1_000)]))),
        QuasiIdentifier("d", DateDomain("%Y-%m-%d", dt.date(2024, 1, 1), dt.date(2026, 9, 1))),
        QuasiIdentifier("n", _number("0", "1000", "1")),
    ]
    cost_model(attributes[:1])  # compiles
    start = time.process_time()
    model = cost_model(attributes)
    assert time.process_time() - start < 2.0  # 17 s with a Python call for every pair
    assert model.table.dtype == np.float32
