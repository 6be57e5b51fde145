"""The open forest on windows of a few hundred rows: pieces, rows that leave, work that is late or never done."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.clustering.forest.arriving.formed_classes import FormedClasses
from stream_anon.clustering.forest.arriving.keyed_rows import Keyed
from stream_anon.clustering.forest.forest import Forest
from stream_anon.clustering.forest.ordering.order import KeyTable
from stream_anon.clustering.partitioning import Outlook
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.cost import cost_model, interval_cost
from stream_anon.privacy.criteria import Criteria
from tests.conformance.engines import settled_book
from tests.support.tables import DOMAINS, Table

K = 5
CLASSES, LINE, UNKNOWN_END = Outlook(400, 1.0), Outlook(400, 20_000.0), Outlook(None, 1.0)
OUTLOOKS = pytest.mark.parametrize("outlook", [CLASSES, LINE, UNKNOWN_END], ids=["classes", "line", "unknown end"])


@pytest.fixture(scope="module")
def table() -> Table:
    """Four hundred rows in clouds around a few people."""
    attributes = tuple(QuasiIdentifier(f"a{i}", DOMAINS[i]) for i in (0, 3, 4, 6))
    draws = np.random.default_rng(3)
    sizes = np.array([attribute.domain.size for attribute in attributes])
    centres = draws.integers(0, sizes, (12, 4))
    codes = np.clip(centres[draws.integers(0, 12, 400)] + draws.integers(-3, 4, (400, 4)), 0, sizes - 1)
    rows = Columns(codes.T.astype(np.int32).copy(), np.arange(400, dtype=np.int32), np.empty((0, 400), np.int32))
    return Table(attributes, cost_model(attributes), rows, Criteria(K, 0.5, np.empty(0, np.int64)))


def _forest(table: Table) -> Forest:
    return Forest(table.model, settled_book(table), k=K)


def _prepare(forest: Forest) -> None:
    while (work := forest.preparation()) is not None:
        work()
        forest.check_invariants()


def _filled(table: Table, outlook: Outlook, cuts: list[int], work: Callable[[Forest], None] = _prepare) -> Forest:
    forest = _forest(table)
    for start, stop in zip([0, *cuts], [*cuts, 400], strict=True):
        forest.add(table.rows.take(slice(start, stop)), outlook)
        forest.check_invariants()
        work(forest)
    return forest


def _loss(table: Table, answer: NDArray[np.int32]) -> float:
    codes = table.rows.codes
    total = 0.0
    for c in range(answer.max() + 1):
        own = codes[:, answer == c]
        assert own.shape[1] >= K
        table_low, table_high = own.min(axis=1), own.max(axis=1)
        total += own.shape[1] * sum(
            interval_cost(table.model, j, int(a), int(b))
            for j, (a, b) in enumerate(zip(table_low, table_high, strict=True))
        )
    return total


@OUTLOOKS
def test_classes_do_not_depend_on_how_arrival_was_cut(table: Table, outlook: Outlook) -> None:
    expected = _filled(table, outlook, []).close(table.rows, table.criteria).tolist()
    for cuts in ([388], [390, 391, 398], list(range(1, 400, 7)), list(range(380, 400))):
        assert _filled(table, outlook, cuts).close(table.rows, table.criteria).tolist() == expected


@OUTLOOKS
def test_preparing_loses_little_more_than_from_scratch(table: Table, outlook: Outlook) -> None:
    prepared = _filled(table, outlook, [])
    assert prepared.arrival_matters
    scratch = _filled(table, outlook, [], lambda _: None)
    assert not scratch.arrival_matters
    losses = [_loss(table, forest.close(table.rows, table.criteria)) for forest in (prepared, scratch)]
    assert losses[0] <= 1.05 * losses[1]


def test_blocks_that_nobody_prepared_give_the_same_classes(table: Table) -> None:
    """Only the build at the mark decides; blocks are joined at the close in the same way."""
    forest = _forest(table)
    forest.add(table.rows.take(slice(0, 390)), CLASSES)
    work = forest.preparation()
    assert work is not None
    work()
    forest.add(table.rows.take(slice(390, 400)), CLASSES)
    late = forest.close(table.rows, table.criteria)
    assert late.tolist() == _filled(table, CLASSES, []).close(table.rows, table.criteria).tolist()


def test_a_window_that_closes_neither_waits_for_work_nor_takes_half_of_it(table: Table) -> None:
    """Work that was handed out and not done counts for nothing; done after the close it does no harm."""
    forest = _forest(table)
    forest.add(table.rows, CLASSES)
    work = forest.preparation()
    assert work is not None
    assert forest.preparation() is None  # one at a time
    answer = forest.close(table.rows, table.criteria)
    assert answer.tolist() == _forest_from_scratch(table).tolist()
    work()


def _forest_from_scratch(table: Table) -> NDArray[np.int32]:
    return _filled(table, CLASSES, [], lambda _: None).close(table.rows, table.criteria)


def test_rows_that_arrive_while_a_thread_works_do_not_change_what_it_sees(table: Table) -> None:
    forest = _forest(table)
    forest.add(table.rows.take(slice(0, 388)), CLASSES)
    work = forest.preparation()
    assert work is not None
    thread = threading.Thread(target=work)
    thread.start()
    for row in range(388, 400):
        forest.add(table.rows.take(slice(row, row + 1)), CLASSES)
    thread.join(60)
    _prepare(forest)
    answer = forest.close(table.rows, table.criteria)
    assert answer.tolist() == _filled(table, CLASSES, []).close(table.rows, table.criteria).tolist()


@pytest.mark.parametrize("leaving", [3, 60], ids=["few: classes go on", "many: built anew"])
@OUTLOOKS
def test_rows_that_left_are_in_no_class(table: Table, outlook: Outlook, leaving: int) -> None:
    forest = _forest(table)
    forest.add(table.rows.take(slice(0, 395)), outlook)
    _prepare(forest)
    kept = np.ones(395, np.bool_)
    kept[np.random.default_rng(leaving).choice(395, leaving, replace=False)] = False
    stay = np.append(np.flatnonzero(kept), np.arange(395, 400))
    rest = table.rows.take(stay)
    rest = Columns(rest.codes, np.arange(len(stay), dtype=np.int32), rest.sensitive)
    forest.keep(kept, rest.take(slice(0, len(stay) - 5)))
    forest.check_invariants()
    _prepare(forest)
    forest.add(rest.take(slice(len(stay) - 5, None)), outlook)
    _prepare(forest)
    forest.check_invariants()
    answer = forest.close(rest, table.criteria)
    assert np.bincount(answer).min() >= K
    assert len(answer) == len(stay)


def test_work_on_rows_that_left_is_done_again(table: Table) -> None:
    forest = _forest(table)
    forest.add(table.rows.take(slice(0, 390)), CLASSES)
    work = forest.preparation()
    assert work is not None
    kept = np.arange(390) > 3
    rest = table.rows.take(slice(4, 390))
    rest = Columns(rest.codes, np.arange(386, dtype=np.int32), rest.sensitive)
    forest.keep(kept, rest)
    work()
    forest.check_invariants()
    assert not forest.arrival_matters
    _prepare(forest)  # it is done again without them
    assert np.bincount(forest.close(rest, table.criteria)).min() >= K


def test_people_who_return_share_a_class_with_enough_others(table: Table) -> None:
    people = np.append(np.arange(395), np.arange(5)).astype(np.int32)
    rows = Columns(table.rows.codes, people, table.rows.sensitive)
    forest = _forest(table)
    forest.add(rows.take(slice(0, 392)), CLASSES)
    _prepare(forest)  # nobody has returned yet: classes stand
    forest.add(rows.take(slice(392, 400)), CLASSES)
    answer = forest.close(rows, table.criteria)
    for c in range(answer.max() + 1):
        assert len(set(people[answer == c].tolist())) >= K


def test_a_class_that_lost_too_many_rows_is_dissolved() -> None:
    rows, ends = np.arange(10), np.array([5, 10])
    nothing = np.empty(0, np.int64)
    table = KeyTable(
        nothing, nothing, nothing, nothing, nothing, np.empty(0, np.int32), nothing, 0, whole=True, curve=False
    )
    standing = FormedClasses(Keyed(table, rows, np.zeros((2, 10), np.int64)), rows, ends, nothing)
    kept = np.arange(10) != 7
    fewer = standing.without(kept, 5)
    assert fewer is not None
    assert fewer.rows.tolist() == [0, 1, 2, 3, 4]
    assert fewer.loose.tolist() == [5, 6, 7, 8]
    assert standing.without(kept, 6) is None
