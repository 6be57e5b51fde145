"""CASTLE: clusters of a stream under a delay bound (Cao, Carminati, Ferrari, Tan, TDSC 2011).

Every row joins the open cluster that it enlarges least, or begins one. When a row has waited for `delta` rows its
cluster is published, split if it is large; a cluster that is too small takes others in. Clusters that were
published at a low loss are kept: a row that is due and lies in one of them is published with its tuple at once.

Where this breaks k, as published: (1) a row that is published with an old cluster's tuple stands alone at its time,
so whoever knows when somebody's record arrived sees one candidate, not k; (2) a row whose cluster is smaller than
most, or for which k others are not there, is published alone with the most general tuple. Over the whole output
each other tuple has k individuals. `Castle.alone` counts (1) and (2).

Placing rows runs in a kernel, publishing clusters in the interpreter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import kernel
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.generalization import Generalizer

RECENT = 100  # mu: published clusters over whose loss tau is the mean
FEW, MANY = 25, 800  # beta, best of 16 settings on the census at windows of 10,000 and of 1,000 rows
FREE = -1


def tuned_beta(delta: int) -> int:
    """Return how many clusters are open at most."""
    return MANY if delta < 3_000 else FEW


@kernel
def union_loss(
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    least: NDArray[np.int32],
    most: NDArray[np.int32],
    model: CostModel,
) -> NDArray[np.float64]:
    """Return what each of c boxes int32[c, q] loses together with another box, mean over attributes; O(c q)."""
    count, q = low.shape
    answer = np.zeros(count)
    for c in range(count):
        for j in range(q):
            start = min(low[c, j], least[j])
            end = max(high[c, j], most[j])
            answer[c] += interval_cost(model, j, start, end)
        answer[c] /= q
    return answer


@kernel
def place_rows(
    codes: NDArray[np.int32],
    people: NDArray[np.int32],
    model: CostModel,
    first: int,
    delta: int,
    tau: float,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    size: NDArray[np.int64],
    loss: NDArray[np.float64],
    owner: NDArray[np.int32],
    held: NDArray[np.int32],
) -> int:
    """Place rows from `first` on until one is due; return the row after the last one that was placed.

    Parameters
    ----------
    codes, people
        int32[n, q], int32[n].
    low, high, size, loss
        int32[beta, q] twice, int64[beta], float64[beta]: box, individuals and loss of each open cluster; a place
        with no individuals is free.
    owner
        int32[n], the cluster of each row, -1 once it is published.
    held
        int32[beta, individuals], rows of each; [1, 1] if nobody has two rows.
    """
    n, q = codes.shape
    beta = len(size)
    for row in range(first, n):
        # Of the clusters that grow least, those that lose no more than tau then; of these the smallest.
        least = np.inf
        chosen = -1
        fits = False
        empty = -1
        for c in range(beta):
            if size[c] == 0:
                empty = c
                continue
            grown = 0.0
            for j in range(q):
                start = min(low[c, j], codes[row, j])
                end = max(high[c, j], codes[row, j])
                grown += interval_cost(model, j, start, end)
            grown /= q
            more = grown - loss[c]
            if more > least + 1e-9:
                continue
            good = grown <= tau
            better = more < least - 1e-9 or (good and not fits) or (good == fits and size[c] < size[chosen])
            if better:
                least = min(least, more)
                chosen = c
                fits = good
        if not fits and empty >= 0:
            chosen = empty
            low[chosen] = codes[row]
            high[chosen] = codes[row]
        for j in range(q):
            low[chosen, j] = min(low[chosen, j], codes[row, j])
            high[chosen, j] = max(high[chosen, j], codes[row, j])
        loss[chosen] = 0.0
        for j in range(q):
            loss[chosen] += interval_cost(model, j, low[chosen, j], high[chosen, j]) / q
        owner[row] = chosen
        if len(held) == 1:
            size[chosen] += 1
        else:
            size[chosen] += held[chosen, people[row]] == 0
            held[chosen, people[row]] += 1
        if row >= delta and owner[row - delta] >= 0:
            return row + 1
    return n


class Castle:
    """One stream.

    Parameters
    ----------
    attributes, model
        Quasi-identifiers and their cost tables.
    k
        Least individuals in a cluster that is published.
    delta
        Rows that a row waits at most.
    beta
        Most clusters that are open.
    """

    def __init__(
        self, attributes: Sequence[QuasiIdentifier], model: CostModel, k: int, delta: int, beta: int = 0
    ) -> None:
        self._attributes = attributes
        self._model = model
        self._k = k
        self._delta = delta
        self._beta = beta or tuned_beta(delta)
        self._generalizers = [Generalizer(attribute) for attribute in attributes]
        self._draws = np.random.default_rng(0)
        self._losses: deque[float] = deque(maxlen=RECENT)
        self._tuples: dict[bytes, int] = {}
        self.reused = self.general = 0

    def publish(self, rows: Columns) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Return of each row the number of its tuple, its NCP, and when it was published, in rows.

        The most general tuple has the number -1. O(n (beta q + log n)) and O(n m q / k) for clusters of m rows.
        """
        self._rows = rows
        self._codes = codes = np.ascontiguousarray(rows.codes.T)
        n, q = codes.shape
        self._low, self._high = np.zeros((2, self._beta, q), np.int32)
        self._size, self._loss = np.zeros(self._beta, np.int64), np.zeros(self._beta)
        self._owner = np.full(n, FREE, np.int32)
        self._label, self._ncp, self._moment = np.full(n, -1), np.ones(n), np.zeros(n, np.int64)
        self._known = 0  # clusters that may be used again: box, tuple and loss
        self._known_box = np.empty((2, n // self._k + 1, q), np.int32)
        self._known_tuple = np.empty((2, n // self._k + 1))
        people = int(rows.individuals.max(initial=0)) + 1
        self._once = people == n
        self._held = np.zeros((1, 1) if self._once else (self._beta, people), np.int32)
        placed, self._oldest = 0, 0
        while placed < n:
            tau = float(np.mean(self._losses)) if self._losses else 0.0
            placed = place_rows(
                codes, rows.individuals, self._model, placed, self._delta, tau, self._low, self._high, self._size,
                self._loss, self._owner, self._held,
            )  # fmt: skip
            self._oldest, self._now = max(placed - 1 - self._delta, 0), placed
            if self._owner[self._oldest] != FREE and placed > self._delta:
                self._end_wait(self._oldest)
        for row in range(self._oldest, n):
            if self._owner[row] != FREE:
                self._oldest = row
                self._end_wait(row)
        return self._label, self._ncp, self._moment

    def alone(self, individuals: NDArray[np.int32]) -> int:
        """Return how many rows were published at a time when their tuple had fewer than k individuals."""
        keys = np.stack([self._label, self._moment])
        _, group = np.unique(keys, axis=1, return_inverse=True)
        pairs = np.unique(np.stack([group, individuals]), axis=1)[0]
        return int((np.bincount(pairs)[group] < self._k).sum())

    def _end_wait(self, row: int) -> None:
        """Publish a row that is due, with its cluster if it can be."""
        cluster = int(self._owner[row])
        if self._size[cluster] >= self._k:
            self._publish_cluster(self._members(cluster), [cluster])
            return
        code = self._codes[row]
        low, high = self._known_box[:, : self._known]
        fits = np.flatnonzero(((low <= code) & (code <= high)).all(axis=1))
        if len(fits):
            label, ncp = self._known_tuple[:, self._draws.choice(fits)]
            self.reused += 1
            self._publish_alone(row, cluster, int(label), float(ncp))
            return
        open_sizes = self._size[self._size > 0]
        waiting = self._oldest + np.flatnonzero(self._owner[self._oldest : self._now] != FREE)
        outlier = (open_sizes > self._size[cluster]).sum() > len(open_sizes) / 2
        if outlier or len(np.unique(self._rows.individuals[waiting])) < self._k:
            self.general += 1
            self._publish_alone(row, cluster, -1, 1.0)
            return
        self._merge(cluster)

    def _merge(self, cluster: int) -> None:
        """Take in the clusters that enlarge this one least until it has k individuals; publish it."""
        taken = [cluster]
        members = self._members(cluster)
        low, high = self._low[cluster].copy(), self._high[cluster].copy()
        while len(np.unique(self._rows.individuals[members])) < self._k:
            others = np.array([c for c in np.flatnonzero(self._size) if c not in taken])
            nearest = int(
                others[union_loss(self._low[others], self._high[others], low, high, self._model).argmin()]
            )
            taken.append(nearest)
            members = np.concatenate([members, self._members(nearest)])
            low, high = np.minimum(low, self._low[nearest]), np.maximum(high, self._high[nearest])
        self._publish_cluster(members, taken)

    def _members(self, cluster: int) -> NDArray[np.int64]:
        return self._oldest + np.flatnonzero(self._owner[self._oldest : self._now] == cluster)

    def _publish_alone(self, row: int, cluster: int, label: int, ncp: float) -> None:
        self._label[row], self._ncp[row], self._moment[row] = label, ncp, self._now
        self._owner[row] = FREE
        if self._once:
            self._size[cluster] -= 1
        else:
            self._held[cluster, self._rows.individuals[row]] -= 1
            self._size[cluster] -= self._held[cluster, self._rows.individuals[row]] == 0

    def _publish_cluster(self, members: NDArray[np.int64], taken: list[int]) -> None:
        parts = self._split(members)
        boxes = [(self._codes[part].min(axis=0), self._codes[part].max(axis=0)) for part in parts]
        columns = [
            generalizer.columns(generalizer.intervals(*(np.array([box[i][j] for box in boxes]) for i in (0, 1))))
            for j, generalizer in enumerate(self._generalizers)
        ]
        low, high = (np.array([column[i] for column in columns]).T for i in (0, 1))
        losses = np.mean([column[3] for column in columns], axis=0)
        for number, part in enumerate(parts):
            key = low[number].tobytes() + high[number].tobytes()
            label = self._tuples.setdefault(key, len(self._tuples))
            loss = float(losses[number])
            self._label[part], self._ncp[part], self._moment[part] = label, loss, self._now
            self._losses.append(loss)
            if loss < np.mean(self._losses):
                self._known_box[:, self._known] = low[number], high[number]
                self._known_tuple[:, self._known] = label, loss
                self._known += 1
        self._owner[members] = FREE
        self._size[taken] = 0
        if not self._once:
            self._held[taken] = 0

    def _split(self, members: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Cut a cluster of 2k individuals and more: a random row with its k - 1 nearest, again and again.

        Each row of a part is another individual's; the rows of those that are left follow to the nearest part.
        """
        people = np.unique(self._rows.individuals[members], return_inverse=True)[1]
        if people.max() + 1 < 2 * self._k:
            return [members]
        left = self._draws.permutation(len(members))
        parts: list[NDArray[np.int64]] = []
        while True:
            # The first row of everybody who still has one, in random order.
            firsts = left[np.sort(np.unique(people[left], return_index=True)[1])]
            if len(firsts) < self._k:
                break
            seed, others = firsts[0], firsts[1:]
            near = self._codes[members[others]]
            loss = union_loss(near, near, self._codes[members[seed]], self._codes[members[seed]], self._model)
            chosen = others[np.argpartition(loss, self._k - 2)[: self._k - 1]] if self._k > 1 else others[:0]
            parts.append(np.append(chosen, seed))
            left = left[~np.isin(left, parts[-1])]
        low = np.array([self._codes[members[part]].min(axis=0) for part in parts])
        high = np.array([self._codes[members[part]].max(axis=0) for part in parts])
        alone = np.array(
            [union_loss(a[None], b[None], a, b, self._model)[0] for a, b in zip(low, high, strict=True)]
        )
        for person in np.unique(people[left]):
            rows = left[people[left] == person]
            code = self._codes[members[rows[0]]]
            nearest = int((union_loss(low, high, code, code, self._model) - alone).argmin())
            parts[nearest] = np.append(parts[nearest], rows)
        return [members[part] for part in parts]
