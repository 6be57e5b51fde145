"""How an order is learned, confirmed and adopted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.ordering.current_order import Adoption, OrderBook
from stream_anon.clustering.forest.ordering.digits import Digits
from stream_anon.clustering.forest.ordering.order import key_table
from stream_anon.clustering.forest.ordering.order_search import WindowSample, learn_order
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.cost import cost_model

ATTRIBUTES = tuple(
    QuasiIdentifier(f"a{j}", CategoricalDomain(balanced([str(v) for v in range(size)], 3)))
    for j, size in enumerate((27, 3, 9, 27))
)
MODEL = cost_model(ATTRIBUTES)


def rows(kind: int, seed: int, count: int = 600) -> NDArray[np.int32]:
    """Half of the attributes say who is alike, the others are noise; `kind` says which."""
    draws = np.random.default_rng(seed)
    codes = np.array([draws.integers(0, a.domain.size, count) for a in ATTRIBUTES], np.int32)
    group = draws.integers(0, 9, count)
    for j in (0, 2) if kind == 0 else (1, 3):
        size = ATTRIBUTES[j].domain.size
        codes[j] = group * size // 9
    return codes


def book(background: Callable[[Callable[[], None]], None] | None, news: list[Adoption]) -> OrderBook:
    return OrderBook(ATTRIBUTES, MODEL, 0, background=background, adopted=news.append)


def test_the_first_window_is_laid_along_the_order_that_it_taught() -> None:
    news: list[Adoption] = []
    learning = book(None, news)
    before = learning.turn()
    assert learning.consider(rows(0, 0), 5) is not before
    assert not news  # told between windows
    learning.turn()
    assert [adoption.version for adoption in news] == [1]
    assert news[0].gain > 0


def test_an_order_changes_between_windows_and_only_once_confirmed() -> None:
    news: list[Adoption] = []
    learning = book(lambda study: study(), news)
    learning.turn()
    learning.consider(rows(0, 0), 5)
    version = learning.version
    for seed in range(1, 30):
        opened = learning.turn()
        judged = learning.version
        assert learning.consider(rows(1, seed), 5) is opened
        assert learning.version == judged
    assert version < learning.version == news[-1].version
    assert any(adoption.drifted for adoption in news) or learning.version > version


def test_the_learner_improves_an_order_and_depends_on_rows_and_seed_only() -> None:
    digits = Digits.of(ATTRIBUTES)
    cold = digits.cold_order()
    lesson = WindowSample.of(rows(1, 3), 5, key_table(digits, cold))
    one, other = (learn_order(lesson, digits, MODEL, cold, np.random.default_rng(1), 60) for _ in range(2))
    assert (one == other).all()
    assert lesson.loss(key_table(digits, one), MODEL) < lesson.loss(key_table(digits, cold), MODEL)
    # Each attribute's digits stay top-down: a lower level says nothing without those above it.
    assert all((np.diff(one[digits.attribute[one] == j]) > 0).all() for j in range(len(ATTRIBUTES)))


def test_studies_become_rarer_when_there_is_nothing_to_find() -> None:
    studies: list[int] = []
    turn = 0

    def run(study: Callable[[], None]) -> None:
        studies.append(turn)
        study()

    learning = book(run, [])
    same = rows(0, 0)
    for turn in range(60):  # noqa: B007 - read by `run`
        learning.turn()
        learning.consider(same, 5)
    assert 3 <= len(studies) < 30
    assert np.diff(studies).max() > 4


def test_a_given_order_is_kept() -> None:
    given = Digits.of(ATTRIBUTES).cold_order()
    kept = OrderBook(ATTRIBUTES, MODEL, 0, given)
    kept.consider(rows(0, 0), 5)
    assert kept.version == 0
    assert (kept.order == given).all()
