"""The order in use, and how a better one is found.

What is learned from what::

    window 1        laid along the built-in order, a file's order, or one learned from its own rows at its close
    later windows   a study, in the background: 1. is the challenger better than the order in force on these rows,
                    from which it was not learned?  then it is adopted when the next window opens
                                                2. does the order still do as well as it did when it was adopted?
                                                3. try changes on these rows; what wins is the next challenger

Nothing but orders and three numbers about them outlives a window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.ordering.digits import Digits
from stream_anon.clustering.forest.ordering.order import KeyTable, key_table
from stream_anon.clustering.forest.ordering.order_search import THOROUGH, WindowSample, learn_order
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.model import CostModel

_LEAST_CLASSES = 8  # a window of fewer possible classes teaches little
_LARGER = 2  # without a background: a window so many times as large as the one learned from is learned from again
_BETTER = 0.998  # a challenger must lose less than this share of what the order in force loses
_DRIFT = 1.05  # the order has aged once it loses so much more, against the built-in order, than when it was adopted
_FEW_TRIES = 60  # of a study; the first one, and one after an order has aged, are thorough
_MOST_PAUSE = 32  # windows between two studies once nothing better is found

Background = Callable[[Callable[[], None]], None]


@dataclass(frozen=True, slots=True)
class Adoption:
    """An order comes into force with the window that opens.

    Parameters
    ----------
    version
        How many orders there were before it.
    gain
        Share of the loss of ORDER alone that it saves against the one before, on rows it was not learned from
        (the first one: on its own).
    drifted
        Whether the order before had aged.
    """

    version: int
    gain: float
    drifted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _StudyOutcome:
    """What a study found.

    Parameters
    ----------
    adopt
        The challenger, where it is better, and its gain.
    challenger
        The next one to be judged.
    ratio
        Smoothed loss of the order in force (or adopted) against the built-in one.
    """

    adopt: NDArray[np.int64] | None
    gain: float
    challenger: NDArray[np.int64] | None
    ratio: float
    drifted: bool


class OrderBook:
    """Holds the order of the digits; it changes only between windows.

    Parameters
    ----------
    attributes
        The quasi-identifiers.
    model
        Their cost tables.
    seed
        Of the changes that are tried.
    order
        An order learned elsewhere; else the built-in one serves until the first window closes.
    background
        Runs a study, at once or later, in any thread; without one only the first window is learned from, and one
        much larger than it.
    adopted
        Hears of each new order, from `turn`.
    """

    def __init__(
        self,
        attributes: Sequence[QuasiIdentifier],
        model: CostModel,
        seed: int,
        order: NDArray[np.int64] | None = None,
        *,
        background: Background | None = None,
        adopted: Callable[[Adoption], None] | None = None,
    ) -> None:
        self._digits = Digits.of(attributes)
        self._model = model
        self._seed = seed
        self._background = background
        self._adopted = adopted
        self._cold = self._digits.cold_order()
        self._order = self._cold if order is None else order
        self._given = order is not None
        self._learned_from = 0
        self._studies = 0
        self._wait = 0
        self._pause = 1
        self._busy = False
        self._verdict: _StudyOutcome | None = None
        self._challenger: NDArray[np.int64] | None = None
        self._ratio = self._reference = 0.0
        self._aged = False
        self._news: list[Adoption] = []
        self.version = 0
        self.table: KeyTable = key_table(self._digits, self._order)

    @property
    def order(self) -> NDArray[np.int64]:
        """Return the order in force, int64[d]."""
        return self._order

    @property
    def settled(self) -> bool:
        """Return whether the order is another than the one that the first window's rows are still to replace."""
        return self.version > 0 or self._given or self._digits.curve

    def turn(self) -> KeyTable:
        """Adopt what was confirmed, and return the order for the window that opens."""
        verdict, self._verdict = self._verdict, None
        if verdict is not None:
            self._take(verdict)
        news, self._news = self._news, []
        for adoption in news:
            if self._adopted is not None:
                self._adopted(adoption)
        return self.table

    def consider(self, codes: NDArray[np.int32], k: int) -> KeyTable:
        """Learn from the rows of a window that closes; return the order it is to be laid along.

        The order changes here only if nothing was learned before; then the window itself profits from it.

        Parameters
        ----------
        codes
            int32[q, n], in any order.
        """
        n = codes.shape[1]
        if n < _LEAST_CLASSES * k or self._digits.curve:
            return self.table
        fresh = self.version == 0 and not self._given
        if fresh or (self._background is None and not self._given and n >= _LARGER * self._learned_from):
            self._learn_at_once(WindowSample.of(codes, k, self.table), n)
        elif self._background is not None and not self._busy and self._due():
            self._busy = True
            lesson = WindowSample.of(codes, k, self.table)
            self._background(lambda: self._study(lesson))
        return self.table

    def _learn_at_once(self, lesson: WindowSample, n: int) -> None:
        before = lesson.loss(self.table, self._model)
        self._install(learn_order(lesson, self._digits, self._model, self._order, self._draws()))
        self._learned_from = n
        after = lesson.loss(self.table, self._model)
        self._news.append(Adoption(self.version, 1 - after / before if before else 0.0))

    def _install(self, order: NDArray[np.int64]) -> None:
        self._order = order
        self.version += 1
        self.table = key_table(self._digits, order)

    def _draws(self) -> np.random.Generator:
        self._studies += 1
        return np.random.default_rng([self._seed, self._studies])

    # -- in the background ---------------------------------------------------------------------------------

    def _due(self) -> bool:
        self._wait += 1
        return self._wait >= self._pause

    def _study(self, lesson: WindowSample) -> None:
        """Judge the challenger on rows it was not learned from, then find the next one."""
        try:
            self._verdict = self._judged(lesson)
        finally:
            self._wait = 0
            self._busy = False

    def _judged(self, lesson: WindowSample) -> _StudyOutcome:
        mine = self._loss(lesson, self._order)
        built_in = self._loss(lesson, self._cold)
        order, adopt, gain = self._order, None, 0.0
        if self._challenger is not None:
            other = self._loss(lesson, self._challenger)
            if other < mine * _BETTER:
                order = adopt = self._challenger
                gain, mine = 1 - other / mine, other
        ratio = mine / built_in if built_in else 1.0
        smooth = ratio if adopt is not None or not self._ratio else (self._ratio + ratio) / 2
        drifted = adopt is None and bool(self._reference) and smooth > _DRIFT * self._reference
        # An order that has aged may be far from a good one: then the built-in one is a place to begin as well.
        begin = self._cold if drifted and built_in < mine else order
        tries = THOROUGH if drifted or not self._reference else _FEW_TRIES
        found = learn_order(lesson, self._digits, self._model, begin, self._draws(), tries)
        better = self._loss(lesson, found) < mine * _BETTER
        return _StudyOutcome(adopt, gain, found if better else None, smooth, drifted)

    def _loss(self, lesson: WindowSample, order: NDArray[np.int64]) -> float:
        return lesson.loss(key_table(self._digits, order), self._model)

    def _take(self, verdict: _StudyOutcome) -> None:
        self._ratio = verdict.ratio
        if verdict.adopt is not None:
            self._install(verdict.adopt)
            self._news.append(Adoption(self.version, verdict.gain, self._aged))
        if verdict.adopt is not None or not self._reference:
            self._reference = verdict.ratio
        self._aged = verdict.drifted
        self._challenger = verdict.challenger
        lively = verdict.challenger is not None or verdict.adopt is not None or verdict.drifted
        self._pause = 1 if lively else min(2 * self._pause, _MOST_PAUSE)
