"""The cost table: what it costs to publish codes `low`..`high` of an attribute, for kernels.

It measures what is published: the NCP of the node over the interval, or its level over the hierarchy's height,
times the attribute's weight. Up to 1,026 codes it is one look-up; larger domains walk up their levels. A set
(`publish: values`) costs as many shares as it has values; a kernel that knows only the ends of an interval takes
all values between them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import bare_inlined, bare_kernel, constant, kernel
from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.domains.domain import WHOLE_TABLE
from stream_anon.microdata.domains.walk import (
    FIRSTS,
    FIRSTS_LEVEL,
    HALVING,
    HALVING_LEVEL,
    PREFIX,
    RANGES,
    SPAN,
    TABLE,
    WIDTHS,
    Walk,
)
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.model import CostModel


def cost_model(attributes: Sequence[QuasiIdentifier]) -> CostModel:
    """Return the cost tables of `attributes`, in their order, by NCP."""
    return _tabled(attributes, [_walked(attribute) for attribute in attributes])


def level_model(attributes: Sequence[QuasiIdentifier]) -> CostModel:
    """Return cost tables by level / height, as Aggarwal et al. (2005) and Prec (Sweeney 2002) measure loss.

    Tight numbers and sets of values count the level of the least node around what they publish, as in
    `measures.distance`.
    """
    model = _tabled(attributes, [attribute.domain.level_walk() for attribute in attributes])
    return model._replace(share=np.zeros(len(attributes)))


def _tabled(attributes: Sequence[QuasiIdentifier], walked: Sequence[Walk]) -> CostModel:
    """Return cost tables, whole ones for small domains."""
    kinds = [walk.kind for walk in walked]
    tables: list[NDArray[np.float32]] = []
    for j, attribute in enumerate(attributes):
        if attribute.domain.size <= WHOLE_TABLE:
            tables.append(whole_table(_model([attribute], [walked[j]], [kinds[j]], [])))
            kinds[j] = TABLE
    return _model(attributes, walked, kinds, tables)


def _model(
    attributes: Sequence[QuasiIdentifier],
    walked: Sequence[Walk],
    kinds: Sequence[int],
    tables: Sequence[NDArray[np.float32]],
) -> CostModel:
    """Join the entries of all attributes into single arrays; `tables` are those of the TABLE attributes."""
    starts, steps, entries = [], [np.empty(0, np.int32)], 0
    sizes = [attribute.domain.size for attribute in attributes]
    for kind, size, walk in zip(kinds, sizes, walked, strict=True):
        starts.append(entries if kind == TABLE else sum(len(part) for part in steps))
        if kind == TABLE:
            entries += (size + 2) ** 2
        else:
            steps.append(walk.steps)
    levels = [
        len(walk.steps) // (size // walk.cell if walk.kind in (FIRSTS, FIRSTS_LEVEL, RANGES) else 1)
        for size, walk in zip(sizes, walked, strict=True)
    ]
    return CostModel(
        np.array(kinds, np.int8),
        np.array(sizes, np.int64),
        np.array(levels, np.int64),
        np.array(starts, np.int64),
        np.array([walk.slope for walk in walked], np.float64),
        np.array([walk.base for walk in walked], np.float64),
        np.array([attribute.weight for attribute in attributes], np.float64),
        np.concatenate([np.empty(0, np.float32), *tables]),
        np.concatenate(steps),
        np.array(
            [
                attribute.weight / size * _is_set(attribute)
                for attribute, size in zip(attributes, sizes, strict=True)
            ]
        ),
        0.0,
        np.zeros(len(attributes), np.int64),
        np.array([walk.cell for walk in walked], np.int64),
    )


def _is_set(attribute: QuasiIdentifier) -> bool:
    return attribute.publication is PublishedForm.VALUES


def _walked(attribute: QuasiIdentifier) -> Walk:
    """Return how to find the nodes of an attribute without a table."""
    share = 1 / attribute.domain.size
    return Walk(SPAN, share, share) if _is_set(attribute) else attribute.domain.walk()


_ONLY = constant(0)


@bare_kernel
def _last_of_node(model: CostModel, begin: int, code: int, n: int) -> int:
    """Return the last code of a code's node on the level that begins at `begin`, by bisection; O(log n)."""
    inside = code
    outside = n
    while outside - inside > 1:  # the codes of a node are neighbours
        probe = (inside + outside) // 2
        if model.steps[begin + probe] == model.steps[begin + code]:
            inside = probe
        else:
            outside = probe
    return inside


@bare_kernel
def _bounds_on_level(model: CostModel, j: int, level: int, first: int, last: int) -> tuple[int, int]:
    """Return the first code of the node around one cell on a listed level, and the last one of another's."""
    cell = model.cell[j]
    n = model.domain[j] // cell
    begin = model.start[j] + level * n
    return model.steps[begin + first] * cell, (_last_of_node(model, begin, last, n) + 1) * cell - 1


@bare_kernel
def _least_bounds(model: CostModel, j: int, low: int, high: int) -> tuple[int, int]:
    """Return the first code of the lowest node that may be published of `low`, and the last one of `high`'s."""
    n = model.domain[j]
    level = model.least[j] - 1
    if model.kind[j] in (WIDTHS, PREFIX):
        width = model.steps[model.start[j] + level]
        return low // width * width, min(high // width * width + width, n) - 1
    cell = model.cell[j]
    if cell > 1:
        level -= 1
        if level < 0:
            return low // cell * cell, high // cell * cell + cell - 1
    return _bounds_on_level(model, j, level, low // cell, high // cell)


@bare_kernel
def _level_of_firsts(model: CostModel, j: int, low: int, high: int) -> int:
    """Return the level of the node around different codes, of an attribute whose nodes are listed; O(levels)."""
    cell = model.cell[j]
    n = model.domain[j]
    finer = 0
    if cell > 1:
        if low // cell == high // cell:
            return 1
        low //= cell
        high //= cell
        n //= cell
        finer = 1
    for level in range(model.levels[j]):
        begin = model.start[j] + level * n
        if model.steps[begin + low] == model.steps[begin + high]:
            return level + 1 + finer
    return int(model.levels[j] + 1 + finer)


@bare_kernel
def _node_of_firsts(model: CostModel, j: int, low: int, high: int) -> tuple[int, int]:
    """Return the bounds of the node around different codes, of an attribute whose nodes are listed."""
    cell = model.cell[j]
    level = _level_of_firsts(model, j, low, high) - 1
    if cell > 1:
        level -= 1
        if level < 0:
            return low // cell * cell, low // cell * cell + cell - 1
    if level >= model.levels[j]:
        return 0, model.domain[j] - 1
    return _bounds_on_level(model, j, level, low // cell, low // cell)


@bare_kernel
def walked_cost(model: CostModel, j: int, low: int, high: int) -> float:
    """Return the weighted cost of codes `low` to `high` of attribute `j`, which has no table; O(levels)."""
    kind = model.kind[j]
    n = model.domain[j]
    start = model.start[j]
    least = model.least[j]
    if least < 0:
        return float(model.weight[j])
    if high >= n:
        return 0.0 if low == high == n else model.weight[j]
    halving = kind in (HALVING, HALVING_LEVEL)
    if least > 0 and not halving:
        low, high = _least_bounds(model, j, low, high)
    first = low
    last = high
    cut = 0
    if halving and (low < high or least > 0):
        cut = model.steps[start] if kind == HALVING_LEVEL else 0
        first = 0
        last = n - 1
        halvings = 0
        while first < last and (least == 0 or halvings < least - 1):
            middle = first + (last - first + 1) // 2 - 1
            if high <= middle:
                last = middle
            elif low > middle:
                first = middle + 1
            else:
                break
            cut -= 1
            halvings += 1
        if least > 0 and first == last:
            cut = 0  # a short branch stays at its leaf
    elif kind in (WIDTHS, PREFIX) and low < high:
        first = 0
        last = n - 1
        for level in range(model.levels[j]):
            width = model.steps[start + level]
            cut += 1
            if low // width == high // width:
                first = low // width * width
                last = min(first + width, n) - 1
                break
    elif kind == FIRSTS_LEVEL and low < high:
        cut = _level_of_firsts(model, j, low, high)
    elif kind in (FIRSTS, SPAN) and low == high:
        return 0.0
    elif kind in (FIRSTS, RANGES) and low < high:
        first, last = _node_of_firsts(model, j, low, high)
    if kind in (PREFIX, HALVING_LEVEL, FIRSTS_LEVEL):
        return float(min(1.0, cut * model.slope[j] + model.base[j]) * model.weight[j])
    width = (last - first) * model.slope[j] + model.base[j]
    if last == n - 1:  # the top cell ends at the maximum, wherever its grid would
        width = max(0.0, min(width, 1.0 - first * model.slope[j]))
    return float(min(1.0, width) * model.weight[j])


@bare_inlined
def interval_cost(model: CostModel, j: int, low: int, high: int) -> float:
    """Return the weighted cost of publishing codes `low` to `high` of attribute `j`; O(1) or O(levels).

    A look-up costs two nanoseconds, a call of `walked_cost` with its loops and branches eighty.
    """
    if model.kind[j] == TABLE:
        return float(model.table[model.start[j] + low * (model.domain[j] + 2) + high])
    return walked_cost(model, j, low, high)


@bare_inlined
def set_cost(model: CostModel, j: int, values: int, missing: int, unknown: int) -> float:
    """Return the weighted cost of a published set of attribute `j`: its values, rows without one, unknown rows."""
    if unknown > 0:
        return float(model.weight[j])
    if missing > 0:
        return float(model.weight[j]) if values > 0 else 0.0
    return values * model.share[j] if values > 1 else 0.0


@kernel
def whole_table(model: CostModel) -> NDArray[np.float32]:
    """Return cost[low, high] of a model's only attribute, mirrored and flattened; O(size^2 levels)."""
    size = model.domain[0] + 2
    table = np.zeros(size * size, np.float32)
    for low in range(size):
        for high in range(low, size):
            # Codes as other kernels pass them: the compiler would make one more for wider numbers.
            cost = walked_cost(model, _ONLY, np.int32(low), np.int32(high))  # type: ignore[arg-type]
            table[low * size + high] = cost
            table[high * size + low] = cost
    return table
