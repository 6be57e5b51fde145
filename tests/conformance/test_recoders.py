"""What every recoder of whole tables keeps, and the optimum where a paper claims one."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.microdata.attributes import QuasiIdentifier, Unknown
from stream_anon.microdata.batch import MISSING_KEY
from stream_anon.microdata.domains.calendar.calendar_cells import Finest
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.recoding.lattice.rows import Rows
from stream_anon.recoding.recoders import recoder as protocol
from stream_anon.recoding.recoders.datafly import DataFly
from stream_anon.recoding.recoders.incognito import Incognito
from stream_anon.recoding.recoders.min_gen import KMinimal, MinGen
from stream_anon.recoding.recoders.mu_argus import MuArgus
from stream_anon.recoding.recoders.optimal import Ola
from stream_anon.recoding.recoders.recoder import Recoder, Recoding, RecodingGoal
from stream_anon.recoding.recoders.recoders_by_name import RECODERS
from stream_anon.recoding.recoders.samarati import Samarati
from tests.conformance.recoders import SPECIMENS, Names, recoders
from tests.support.effort import examples
from tests.support.lattices import Table, counted, published, tables, tables_of_times, times, too_small

_TABLES = st.one_of(tables(), tables_of_times())


@st.composite
def _asked(draw: st.DrawFn, most: int = 6) -> RecodingGoal:
    k, least, suppressed = draw(st.integers(1, 5)), draw(st.integers(1, 3)), draw(st.integers(0, most))
    return RecodingGoal(k, least, suppressed, draws=np.random.default_rng(draw(st.integers(0, 9))))


def _table(drawn: Table, seed: int = 0) -> protocol.Table:
    labels = np.random.default_rng(seed).integers(0, 3, len(drawn.rows))
    return protocol.Table(drawn.attributes, drawn.rows, labels)


def _made(make: Callable[[Names], Recoder], table: protocol.Table) -> Recoder:
    return make(table.names)


def _published(table: protocol.Table, recoding: Recoding) -> dict[bytes, list[int]]:
    """Return the rows that are published, by what is published of them."""
    groups: defaultdict[bytes, list[int]] = defaultdict(list)
    for row in np.flatnonzero(~recoding.suppressed).tolist():
        groups[recoding.low[:, row].tobytes() + recoding.high[:, row].tobytes()].append(row)
    return groups


def test_every_method_has_a_specimen() -> None:
    assert SPECIMENS.keys() == RECODERS.keys()
    for name, own in SPECIMENS.items():
        assert {type(make(("a", "b"))) for make in own} == {RECODERS[name]}


@examples(300)
@given(_TABLES, recoders(), _asked(), st.integers(0, 99))
def test_each_cell_becomes_a_node_above_its_value(
    drawn: Table, make: Callable[[Names], Recoder], asked: RecodingGoal, seed: int
) -> None:
    table = _table(drawn, seed)
    found = _made(make, table).recode(table, asked)
    assert found.low.dtype == found.high.dtype == np.int32
    assert found.low.shape == found.high.shape == table.rows.codes.shape
    assert found.suppressed.shape == (len(table),)
    for attribute, codes, low, high in zip(table.attributes, table.rows.codes, found.low, found.high, strict=True):
        for code, bounds in zip(codes.tolist(), zip(low.tolist(), high.tolist(), strict=True), strict=True):
            assert bounds[0] <= code <= bounds[1]
            assert attribute.node(*bounds) == bounds


@examples(300)
@given(_TABLES, recoders(), _asked(), st.integers(0, 99))
def test_each_published_group_is_large_and_diverse_enough_where_the_method_promises_it(
    drawn: Table, make: Callable[[Names], Recoder], asked: RecodingGoal, seed: int
) -> None:
    table = _table(drawn, seed)
    recoder = _made(make, table)
    found = recoder.recode(table, asked)
    below = 0
    for rows in _published(table, found).values():
        people = len(set(table.rows.individuals[rows].tolist()))
        values = [len(set(column[rows].tolist()) - {MISSING_KEY}) for column in table.rows.sensitive]
        if people < asked.k or (asked.l > 1 and min(values, default=asked.l) < asked.l):
            below += len(rows)
    assert below == found.below_k
    assert not below or isinstance(recoder, MuArgus)  # looks at combinations of two and three attributes only


EVERY = [pytest.param(make, id=f"{name}-{i}") for name, own in SPECIMENS.items() for i, make in enumerate(own)]


@pytest.mark.parametrize("finest", [Finest.HOUR, Finest.MINUTE])
@pytest.mark.parametrize("make", EVERY)
def test_every_method_recodes_hours_and_minutes(make: Callable[[Names], Recoder], finest: Finest) -> None:
    """In the night of the autumn in which an hour comes twice, over two days and two ages."""
    draws = np.random.default_rng(7)
    seen = QuasiIdentifier("seen", times("Europe/Berlin", finest, dt.date(2024, 10, 26), 2), unknown=Unknown.ROOT)
    age = QuasiIdentifier("age", NumericDomain(Decimal(0), Decimal(7), Decimal(1), 0))
    moments = [dt.datetime(2024, 10, 27, 0, tzinfo=dt.UTC) + dt.timedelta(minutes=7 * (i % 40)) for i in range(120)]
    codes = np.array([[seen.code(each.isoformat()) for each in moments], draws.integers(0, 8, 120)], np.int32)
    rows = Rows(codes, np.arange(120), draws.integers(0, 3, (1, 120)))
    table = protocol.Table((seen, age), rows, draws.integers(0, 2, 120))
    found = make(table.names).recode(table, RecodingGoal(4, 2, 5, draws=np.random.default_rng(0)))
    low, high = found.low[0, ~found.suppressed], found.high[0, ~found.suppressed]
    assert len(low) > 0
    assert {seen.node(*each) for each in zip(low.tolist(), high.tolist(), strict=True)} == set(
        zip(low.tolist(), high.tolist(), strict=True)
    )
    assert all(seen.publish(*each) for each in zip(low.tolist(), high.tolist(), strict=True))


@examples(150)
@given(_TABLES, recoders(), _asked(), st.integers(0, 99))
def test_the_same_table_gives_the_same_answer_and_the_same_explanation(
    drawn: Table, make: Callable[[Names], Recoder], asked: RecodingGoal, seed: int
) -> None:
    first, again = (_made(make, table).recode(table, asked) for table in (_table(drawn, seed), _table(drawn, seed)))
    assert np.array_equal(first.low, again.low)
    assert np.array_equal(first.high, again.high)
    assert np.array_equal(first.suppressed, again.suppressed)
    assert list(map(str, first.steps)) == list(map(str, again.steps))
    assert first.steps


@examples(150)
@given(_TABLES, recoders(), _asked(), st.integers(0, 99))
def test_rows_in_another_order_become_the_same_where_none_is_chosen_among_equals(
    drawn: Table, make: Callable[[Names], Recoder], asked: RecodingGoal, seed: int
) -> None:
    table = _table(drawn, seed)
    recoder = _made(make, table)
    if getattr(recoder, "keep_suppressed", False):
        return  # equal rows of which one joins the suppressed ones
    assert table.labels is not None
    order = np.random.default_rng(seed).permutation(len(table))
    turned = protocol.Table(table.attributes, table.rows.take(order), table.labels[order])
    first, second = recoder.recode(table, asked), recoder.recode(turned, asked)
    assert np.array_equal(first.low[:, order], second.low)
    assert np.array_equal(first.high[:, order], second.high)
    assert np.array_equal(first.suppressed[order], second.suppressed)


@examples(200)
@given(tables(), _asked())
def test_datafly_publishes_every_row_where_the_whole_table_would_do_as_a_group(
    drawn: Table, asked: RecodingGoal
) -> None:
    table = _table(drawn)
    plain, kept = DataFly().recode(table, asked), DataFly(keep_suppressed=True).recode(table, asked)
    whole = asked.short(table, np.zeros(len(table), np.int64), 1)[0]
    assert kept.suppressed.any() == whole
    if whole:
        assert plain.suppressed.all()
    tops = table.bounds([own.height for own in table.levels])
    changed = ((kept.low != plain.low) | (kept.high != plain.high)).any(axis=0)
    assert (kept.low == tops[0])[:, changed].all()
    assert (kept.high == tops[1])[:, changed].all()


def _suppressed(drawn: Table, asked: RecodingGoal) -> dict[tuple[int, ...], int]:
    """Return what every node suppresses, counted by hand."""
    levels = drawn.levels
    asked_l = asked.l if len(drawn.rows.sensitive) else 1
    return {
        own: too_small(counted(drawn, levels, own), asked.k, asked_l)
        for own in product(*(range(each.height + 1) for each in levels))
    }


def _chosen(drawn: Table, found: Recoding) -> tuple[int, ...]:
    """Return the node that a recoding is on: levels that publish alike on all rows are one."""
    levels = drawn.levels
    table = _table(drawn)
    named = found.steps[-1].figures["levels"]
    assert isinstance(named, dict)
    vector = tuple(own.numbers.index(named[own.name]) for own in levels)
    low, high = table.bounds(vector)
    assert np.array_equal(low, found.low)
    assert np.array_equal(high, found.high)
    return vector


def _prec(drawn: Table, vector: tuple[int, ...], *, collapse_levels: bool = False) -> float:
    """Return 1 - the mean over cells of level / height, by climbing trees."""
    low, high = _table(drawn).bounds(vector)
    shares = []
    for place, (attribute, codes) in enumerate(zip(drawn.attributes, drawn.rows.codes.tolist(), strict=True)):
        levels = _distinct_levels(attribute, codes) if collapse_levels else list(range(attribute.domain.height + 1))
        for a, b in zip(low[place].tolist(), high[place].tolist(), strict=True):
            level = _level_of(attribute, a, b)
            shares.append((sum(own <= level for own in levels) - 1) / (len(levels) - 1))
    return round(1 - sum(shares) / len(shares), 9)


def _distinct_levels(attribute: QuasiIdentifier, codes: list[int]) -> list[int]:
    """Return the level of single values, each above that unites more of them, and the root."""
    top = attribute.domain.height
    kinds = [len({_group(attribute, code, level) for code in codes}) for level in range(top + 1)]
    return [level for level in range(top + 1) if level in (0, top) or kinds[level] < kinds[level - 1]]


def _group(attribute: QuasiIdentifier, code: int, level: int) -> str | None:
    """Return what a value becomes on a level; an unknown one is in no known one's group."""
    return "unknown" if code == attribute.unknown_code else published(attribute, code, level)


def _level_of(attribute: QuasiIdentifier, low: int, high: int) -> int:
    """Return how far the deepest node that holds some codes lies above the leaves."""
    if high >= attribute.missing_code:
        return 0 if low == high == attribute.missing_code else attribute.domain.height
    assert isinstance(attribute.domain, CategoricalDomain)
    tree = attribute.domain.hierarchy
    above = []
    for code in (low, high):
        path = [int(tree.leaves[code])]
        while path[-1] > 0:
            path.append(int(tree.parents[path[-1]]))
        above.append(path)
    node = next(own for own in above[0] if own in above[1])
    return 0 if node == above[0][0] else tree.height - int(tree.depths[node])


def _minimal(satisfying: list[tuple[int, ...]]) -> set[tuple[int, ...]]:
    def above(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        return one != other and all(a >= b for a, b in zip(one, other, strict=True))

    return {own for own in satisfying if not any(above(own, other) for other in satisfying)}


@examples(120)
@given(tables(), _asked(), st.booleans())
def test_k_minimal_and_mingen_agree_with_a_search_of_all_nodes(
    drawn: Table, asked: RecodingGoal, collapse_levels: bool
) -> None:
    satisfying = [own for own, lost in _suppressed(drawn, asked).items() if lost <= asked.most_suppressed]
    table = _table(drawn)
    plain = KMinimal().recode(table, asked)
    best = MinGen(collapse_levels=collapse_levels).recode(table, asked)
    told = [dict(step.figures) for step in best.steps if step.action == "minimal node"]
    levels = drawn.levels
    listed = {tuple(own.numbers.index(one["levels"][own.name]) for own in levels) for one in told}  # type: ignore[index]
    assert listed == _minimal(satisfying)
    if satisfying:
        assert _chosen(drawn, plain) == min(_minimal(satisfying))
        precs = {own: _prec(drawn, own, collapse_levels=collapse_levels) for own in satisfying}
        assert _chosen(drawn, best) == min(satisfying, key=lambda own: (-precs[own], own))
        for one in told:
            own = tuple(own.numbers.index(one["levels"][own.name]) for own in levels)  # type: ignore[index]
            assert one["prec"] == precs[own]


@examples(120)
@given(tables(), _asked())
def test_samarati_agrees_with_a_search_of_all_nodes(drawn: Table, asked: RecodingGoal) -> None:
    lost = _suppressed(drawn, asked)
    satisfying = [own for own in lost if lost[own] <= asked.most_suppressed]
    found = Samarati().recode(_table(drawn), asked)
    if satisfying:
        assert _chosen(drawn, found) == min(satisfying, key=lambda own: (sum(own), lost[own], own))
        assert found.suppressed.sum() == lost[_chosen(drawn, found)]


@examples(120)
@given(tables(), _asked(), st.booleans())
def test_incognito_finds_all_nodes_that_satisfy(drawn: Table, asked: RecodingGoal, collapse_levels: bool) -> None:
    satisfying = [own for own, lost in _suppressed(drawn, asked).items() if lost <= asked.most_suppressed]
    found = Incognito(collapse_levels).recode(_table(drawn), asked)
    whole = found.steps[-2]  # the last subset is all attributes
    assert whole.figures["satisfying"] == len(satisfying)
    if satisfying:
        precs = {own: _prec(drawn, own, collapse_levels=collapse_levels) for own in satisfying}
        best = min(satisfying, key=lambda own: (-precs[own], sum(own), own))
        assert _chosen(drawn, found) == best


@pytest.mark.parametrize("loss", ["ncp", "prec", "discernibility", "entropy"])
@examples(60)
@given(drawn=tables(), asked=_asked())
def test_ola_agrees_with_a_search_of_all_nodes(drawn: Table, asked: RecodingGoal, loss: str) -> None:
    satisfying = [own for own, lost in _suppressed(drawn, asked).items() if lost <= asked.most_suppressed]
    found = Ola(loss).recode(_table(drawn), asked)  # type: ignore[arg-type]
    if satisfying:
        # Of equal losses any may be taken that a sum in another order does not tell apart.
        least = min(_loss(drawn, own, loss) for own in satisfying)
        chosen = _chosen(drawn, found)
        assert _loss(drawn, chosen, loss) == pytest.approx(least, abs=1e-6)
        assert chosen in satisfying


def _loss(drawn: Table, vector: tuple[int, ...], loss: str) -> float:
    table = _table(drawn)
    low, high = table.bounds(vector)
    if loss == "prec":
        return -_prec(drawn, vector)
    if loss == "discernibility":
        return float(sum(records**2 for _, _, records in counted(drawn, drawn.levels, vector)))
    lost = 0.0
    for attribute, codes, lows, highs in zip(table.attributes, table.rows.codes, low, high, strict=True):
        for a, b, code in zip(lows.tolist(), highs.tolist(), codes.tolist(), strict=True):
            if loss == "ncp":
                lost += attribute.ncp(a, b)
            else:
                # What is unknown is which of the values that are published alike on this level was there.
                alike = codes[(lows == a) & (highs == b)]
                lost += float(np.log2(len(alike) / (alike == code).sum()))
    return lost
