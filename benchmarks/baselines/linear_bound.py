"""The linear bound: no partition into classes of k people can lose less than this.

A class is a box, one node an attribute, and at least k rows within it; each pays what the box costs. Let a row be
dealt out in shares to as many classes as one likes: the least loss is then a linear program, whose columns are all
boxes with all their sets of rows. It is solved by column generation (Gilmore and Gomory 1961): HiGHS solves the
program over the columns known so far, and a search by branch and bound over all boxes finds those that its prices
call for, or proves that there is none. A search that finds none worth more than `excess` proves a bound too (Lasdon
1970), since a solution has at most n / k columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.castle import union_loss
from benchmarks.tables import Table
from stream_anon.compiled import kernel
from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.cost import cost_model, interval_cost
from stream_anon.privacy.costs.model import CostModel

_LITTLE = 1e-9
Rows = NDArray[np.int64]  # numbers of rows
Box = NDArray[np.int32]  # t numbers of nodes, then the ends of a range: places in `Boxes.spans`
Tell = Callable[[int, float, float], object]  # searches, the program's loss, the bound


def _tell_nobody(_searches: int, _program: float, _bound: float) -> None:
    pass


@kernel
def _pair_costs(model: CostModel, j: int, values: NDArray[np.int32]) -> NDArray[np.float64]:
    n = len(values)
    costs = np.zeros((n, n))
    for a in range(n):
        for b in range(a, n):
            costs[a, b] = costs[b, a] = interval_cost(model, j, values[a], values[b])
    return costs


@dataclass(frozen=True)
class Boxes:
    """All boxes around some rows: of each attribute the nodes that hold one of its values.

    Parameters
    ----------
    node
        int32[n, t, levels], the nodes around each row of the t attributes with nodes, the narrowest first and then
        the last one again and again; numbered over all attributes.
    cost, parent
        float64[nodes] and int32[nodes]; the parent of a root is -1.
    first
        int32[t + 1], the first node of each attribute.
    line
        int32[n], the place of each row's value in `spans`: rows are in this order.
    spans
        float64[v, v], what it costs to publish all values between two of the attribute that has ranges; 0[1, 1]
        without one.
    """

    node: NDArray[np.int32]
    cost: NDArray[np.float64]
    parent: NDArray[np.int32]
    first: NDArray[np.int32]
    line: NDArray[np.int32]
    spans: NDArray[np.float64]


def boxes_of(codes: NDArray[np.int32], model: CostModel, tight: Sequence[bool]) -> tuple[NDArray[np.int64], Boxes]:
    """Return an order of the rows of codes int32[n, q], and their boxes in this order.

    Parameters
    ----------
    tight
        Whether each attribute is published as a range that no node bounds.

    Raises
    ------
    ValueError
        If the nodes of an attribute that is not tight overlap, or two are tight.
    """
    if sum(tight) > 1:
        raise ValueError("at most one attribute may publish tight ranges")
    n = len(codes)
    order, places, spans = np.arange(n), np.zeros(n, np.int64), np.zeros((1, 1))
    for j in np.flatnonzero(tight):
        order = np.argsort(codes[:, j], kind="stable")
        values, places = np.unique(codes[order, j], return_inverse=True)
        spans = _pair_costs(model, int(j), values.astype(np.int32))
    chains: list[NDArray[np.int32]] = []
    costs: list[float] = []
    parents: list[int] = []
    first = [0]
    for j in np.flatnonzero(~np.asarray(tight)):
        values, place = np.unique(codes[order, j], return_inverse=True)
        pairs = _pair_costs(model, int(j), values.astype(np.int32))
        numbers: dict[tuple[int, ...], int] = {}
        above: list[list[int]] = []
        for own in pairs:
            chain: list[int] = []
            for width in np.unique(own):
                held = np.flatnonzero(own <= width + _LITTLE)
                if pairs[np.ix_(held, held)].max() > width + _LITTLE:
                    raise ValueError(f"the nodes of attribute {j} overlap")
                key = tuple(held.tolist())
                if key not in numbers:
                    numbers[key] = len(costs)
                    costs.append(float(width))
                    parents.append(-1)
                if chain:
                    parents[chain[-1]] = numbers[key]
                chain.append(numbers[key])
            above.append(chain)
        deepest = max(map(len, above))
        chains.append(np.array([c + c[-1:] * (deepest - len(c)) for c in above], np.int32)[place])
        first.append(len(costs))
    levels = max((chain.shape[1] for chain in chains), default=0)
    node = np.zeros((n, len(chains), levels), np.int32)
    for t, chain in enumerate(chains):
        node[:, t] = np.pad(chain, ((0, 0), (0, levels - chain.shape[1])), mode="edge")
    return order, Boxes(
        node,
        np.array(costs),
        np.array(parents, np.int32),
        np.array(first, np.int32),
        places.astype(np.int32),
        spans,
    )


@kernel
def _worth(prices: NDArray[np.float64], rows: NDArray[np.int32], cost: float, k: int) -> float:
    """Return what the best k or more of some rows pay beyond `cost` each."""
    total = 0.0
    count = 0
    for i in rows:
        if prices[i] > cost:
            total += prices[i] - cost
            count += 1
    if count < k:
        gains = np.sort(prices[rows])[::-1]
        for place in range(count, k):
            total += gains[place] - cost
    return total


@kernel
def _look_along(
    rows: NDArray[np.int32],
    prices: NDArray[np.float64],
    cost: float,
    k: int,
    line: NDArray[np.int32],
    spans: NDArray[np.float64],
    floor: NDArray[np.float64],
    least: float,
    chosen: NDArray[np.int32],
    best: NDArray[np.float64],
    boxes: NDArray[np.int32],
) -> float:
    """Try all ranges of rows that are in the order of their line; return the most that one is worth."""
    most = 0.0
    m = len(rows)
    t = len(chosen)
    begin = 0
    while begin + k <= m:
        low = line[rows[begin]]
        end = begin
        while end < m:
            high = line[rows[end]]
            while end < m and line[rows[end]] == high:
                end += 1
            whole = cost + spans[low, high]
            # Wider ranges cost more: beyond this one no row can gain more than what it gains here.
            inside = 0.0
            beyond = 0.0
            for place in range(begin, m):
                i = rows[place]
                gain = prices[i] - max(whole, floor[i])
                if gain > 0:
                    if place < end:
                        inside += gain
                    else:
                        beyond += gain
            if inside + beyond <= least:
                break
            if end - begin < k or inside <= least:
                continue
            worth = _worth(prices, rows[begin:end], whole, k)
            if worth <= least:
                continue
            most = max(most, worth)
            for place in range(begin, end):
                i = rows[place]
                if prices[i] > whole and worth > best[i]:
                    best[i] = worth
                    boxes[i, :t] = chosen
                    boxes[i, t] = low
                    boxes[i, t + 1] = high
        now = line[rows[begin]]
        while begin < m and line[rows[begin]] == now:
            begin += 1
    return most


@kernel
def _search(
    prices: NDArray[np.float64],
    k: int,
    node: NDArray[np.int32],
    costs: NDArray[np.float64],
    parent: NDArray[np.int32],
    first: NDArray[np.int32],
    line: NDArray[np.int32],
    spans: NDArray[np.float64],
    floor: NDArray[np.float64],
    least: float,
    best: NDArray[np.float64],
    boxes: NDArray[np.int32],
) -> float:
    """Return the most that a class is worth, or `least` if none is worth more.

    `best` float64[n] and `boxes` int32[n, t + 2] get for each row the best of the classes that it gains in: its
    nodes, and the ends of its range. A box is worth less with fewer rows and at a higher cost, so that a branch
    whose rows are worth too little at the cost so far is cut.
    """
    n, t, levels = node.shape
    held = np.empty((t + 1, n), np.int32)
    sizes = np.zeros(t + 1, np.int64)
    counts = np.zeros(len(costs), np.int64)
    spent = np.zeros(t + 1)
    at = np.zeros(t + 1, np.int64)
    chosen = np.zeros(t, np.int32)
    fit = np.zeros((t, len(costs)), np.bool_)
    held[0] = np.arange(n)
    sizes[0] = n
    depth = 0
    fresh = True
    most = least
    while depth >= 0:
        if depth == t:
            rows = held[t, : sizes[t]]
            worth = _look_along(rows, prices, spent[t], k, line, spans, floor, least, chosen, best, boxes)
            most = max(most, worth)
            depth -= 1
            fresh = False
            continue
        if fresh:
            for number in range(first[depth], first[depth + 1]):
                counts[number] = 0
            for i in held[depth, : sizes[depth]]:
                last = -1
                for level in range(levels):
                    number = node[i, depth, level]
                    if number == last:
                        break
                    counts[number] += 1
                    last = number
            for number in range(first[depth], first[depth + 1]):
                fit[depth, number] = counts[number] >= k
            for number in range(first[depth], first[depth + 1]):
                # All rows of this one are in a narrower one.
                if parent[number] >= 0 and counts[number] == counts[parent[number]]:
                    fit[depth, parent[number]] = False
            at[depth] = first[depth]
        number = at[depth]
        if number == first[depth + 1]:
            depth -= 1
            fresh = False
            continue
        at[depth] += 1
        fresh = False
        cost = spent[depth] + costs[number]
        if not fit[depth, number]:
            continue
        size = 0
        gain = 0.0
        for i in held[depth, : sizes[depth]]:
            for level in range(levels):
                if node[i, depth, level] == number:
                    held[depth + 1, size] = i
                    size += 1
                    gain += max(prices[i] - max(cost, floor[i]), 0.0)
                    break
        if gain <= least:
            continue
        chosen[depth] = number
        sizes[depth + 1] = size
        spent[depth + 1] = cost
        depth += 1
        fresh = True
    return most


@dataclass(frozen=True)
class Window:
    """Rows of as many people, and what the search needs to know of them.

    Parameters
    ----------
    boxes
        All boxes around them.
    k
        How many rows a class has at least.
    suppressed
        What a row costs that is not released.
    floor
        float64[n], what each row costs at least: as much as together with the (k - 1)th nearest other.
    """

    boxes: Boxes
    k: int
    suppressed: float
    floor: NDArray[np.float64]

    def part(self, rows: Rows) -> Window:
        """Return some of the rows, in order, as a window of their own."""
        boxes = self.boxes
        few = replace(boxes, node=np.ascontiguousarray(boxes.node[rows]), line=boxes.line[rows])
        return replace(self, boxes=few, floor=self.floor[rows])

    def cost(self, rows: Rows) -> float:
        """Return what the narrowest box around some rows costs each of them."""
        return self.held(self.box(rows))[1]

    def loss(self, classes: Iterable[Rows]) -> float:
        """Return what classes lose, the sum over their rows."""
        return sum(self.cost(rows) * len(rows) for rows in classes)

    def box(self, rows: Rows) -> Box:
        """Return the narrowest box around some rows."""
        boxes, own = self.boxes, []
        for j in range(boxes.node.shape[1]):
            first, *others = (set(boxes.node[i, j].tolist()) for i in rows)
            own.append(min(first.intersection(*others), key=lambda number: (boxes.cost[number], number)))
        return np.array([*own, boxes.line[rows].min(), boxes.line[rows].max()], np.int32)

    def held(self, box: Box) -> tuple[Rows, float]:
        """Return the rows in a box, and what it costs each."""
        boxes, t = self.boxes, len(box) - 2
        inside = (boxes.line >= box[t]) & (boxes.line <= box[t + 1])
        for j in range(t):
            inside &= (boxes.node[:, j] == box[j]).any(axis=1)
        return np.flatnonzero(inside), float(boxes.cost[box[:t]].sum() + boxes.spans[box[t], box[t + 1]])

    def best_of(self, box: Box, prices: NDArray[np.float64]) -> tuple[Rows, float]:
        """Return the k or more rows of a box that pay most beyond its cost, and its cost."""
        rows, cost = self.held(box)
        gains = prices[rows] - cost
        best = rows[np.argsort(-gains, kind="stable")]
        return best[: max(self.k, int((gains > 0).sum()))], cost

    def search(self, prices: NDArray[np.float64], least: float) -> tuple[float, Sequence[Box]]:
        """Return what the best class is worth, or `least` if none is worth more, and the best box of each row."""
        boxes = self.boxes
        n, t, _ = boxes.node.shape
        best, found = np.full(n, _LITTLE), np.full((n, t + 2), -1, np.int32)
        most = _search(
            prices, self.k, boxes.node, boxes.cost, boxes.parent, boxes.first, boxes.line, boxes.spans, self.floor,
            least, best, found,
        )  # fmt: skip
        return most, [*np.unique(found[found[:, 0] >= 0], axis=0)]


def window_of(table: Table, k: int) -> tuple[Rows, Window]:
    """Return an order of a table's rows, and the window of the rows in this order.

    Raises
    ------
    ValueError
        If somebody has several rows, two attributes are published as tight ranges, or nodes overlap.
    """
    codes = np.ascontiguousarray(table.rows.codes.T)
    if len(np.unique(table.rows.individuals)) < len(codes):
        raise ValueError("everybody must have one row")
    model = cost_model(table.attributes)
    order, boxes = boxes_of(codes, model, [is_tight(attribute) for attribute in table.attributes])
    codes = np.ascontiguousarray(codes[order])
    floor = np.empty(len(codes))
    for i in range(len(codes)):
        pairs = union_loss(codes, codes, codes[i], codes[i], model) * codes.shape[1]
        floor[i] = np.partition(pairs, k - 1)[k - 1]  # the row itself is among them, at its own cost
    return order, Window(boxes, k, float(codes.shape[1]), floor * (1 - 1e-6))


def is_tight(attribute: QuasiIdentifier) -> bool:
    """Return whether ranges are published that no node bounds."""
    return attribute.publication is PublishedForm.TIGHT or bool(getattr(attribute.domain, "tight", False))


@dataclass(frozen=True)
class Bound:
    """What the program says of a window.

    Parameters
    ----------
    least
        No partition loses less; the sum over rows.
    program
        The least loss over the columns found, classes in shares.
    columns
        The rows of each column found.
    searches
        How often all boxes were searched.
    """

    least: float
    program: float
    columns: Sequence[Rows]
    searches: int


def solver() -> Any:
    """Return a quiet HiGHS on one core."""
    import highspy

    made = highspy.Highs()
    made.silent()
    made.setOptionValue("threads", 1)
    return made


class _Program:
    """The linear program over the columns known so far."""

    def __init__(self, n: int, suppressed: float) -> None:
        self._highs = solver()
        self.columns: list[Rows] = []
        ones = np.ones(n)
        self._highs.addRows(n, ones, ones, 0, np.zeros(n, np.int32), np.empty(0, np.int32), np.empty(0))
        self.add([np.array([i]) for i in range(n)], [suppressed] * n)

    def add(self, members: Sequence[Rows], costs: Sequence[float]) -> None:
        """Add columns: the rows of each, and what it costs as a whole."""
        if not members:
            return
        self.columns.extend(members)
        starts = np.cumsum([0, *map(len, members)])
        rows = np.concatenate(members).astype(np.int32)
        count = len(members)
        self._highs.addCols(
            count,
            np.array(costs),
            np.zeros(count),
            np.full(count, np.inf),
            len(rows),
            starts[:-1].astype(np.int32),
            rows,
            np.ones(len(rows)),
        )

    def solve(self) -> tuple[float, NDArray[np.float64]]:
        """Return the least loss, and the price of each row."""
        self._highs.run()
        return self._highs.getObjectiveValue(), np.array(self._highs.getSolution().row_dual)


def linear_bound(
    window: Window, known: Sequence[Rows] = (), gap: float = 1e-3, searches: int = 400, tell: Tell = _tell_nobody
) -> Bound:
    """Return a lower bound on what a window loses.

    Parameters
    ----------
    known
        Classes to begin with, the more the better: the rows of each.
    gap
        Stop where the bound is within this share of the program over the columns found.
    searches
        Stop after so many.
    """
    n = len(window.floor)
    program = _Program(n, window.suppressed)
    costs = [window.cost(rows) for rows in known]
    program.add(known, [cost * len(rows) for rows, cost in zip(known, costs, strict=True)])
    # Prices that proved the best bound so far. What a row pays in a partition at hand is a fair first guess.
    centre = np.full(n, np.inf)
    for rows, cost in zip(known, costs, strict=True):
        centre[rows] = np.minimum(centre[rows], 0.9 * cost)
    centre = np.where(np.isfinite(centre), np.maximum(centre, window.floor), window.floor)
    lowest, value, count = 0.0, np.inf, 0
    for count in range(searches + 1):
        value, own = program.solve()
        if count == searches or value - lowest <= gap * value:
            break
        # Between these prices and the best: on its own the program swings from one extreme to the other.
        for share in (0.8 if value - lowest > 0.05 * value else 0.3, 0.0):
            prices = share * centre + (1 - share) * own
            # What is worth less than a tenth of the gap cannot be what keeps it open.
            least = max(0.1 * (value - lowest) * window.k / n, _LITTLE)
            excess, found = window.search(prices, least)
            proven = float(prices.sum()) - n / window.k * excess
            if proven > lowest:
                lowest, centre = proven, prices
            columns = [window.best_of(box, prices) for box in found]
            wanted = [(rows, cost) for rows, cost in columns if own[rows].sum() > cost * len(rows) + _LITTLE]
            if wanted:
                program.add([rows for rows, _ in wanted], [cost * len(rows) for rows, cost in wanted])
                break
        tell(count + 1, value, lowest)
    return Bound(lowest, value, program.columns[n:], count)
