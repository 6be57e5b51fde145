"""The cost table: what it costs to publish codes `low`..`high` of an attribute, for kernels.

It measures what is published: the NCP of the node over the interval, or its level over the hierarchy's height,
times the attribute's weight. Up to 1,026 codes it is one look-up; larger domains walk up their levels. A set
(`publish: values`) costs as many shares as it has values; a kernel that knows only the ends of an interval takes
all values between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import bare_inlined, bare_kernel, constant, kernel
from stream_anon.microdata.attributes import Publication, QuasiIdentifier
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.domain import WHOLE_TABLE, CategoricalDomain, PrefixDomain
from stream_anon.microdata.domains.numbers import NumericDomain

TABLE = 0  # cost[low, high] in `table`
LINEAR = 1  # slope x (high - low) + base: tight numbers
HALVING = 2  # linear cost of the halving above
WIDTHS = 3  # linear cost of the cell above, cells of equal width per level
PREFIX = 4  # level / height, cells of equal width per level
FIRSTS = 5  # leaves under the node / leaves, nodes given by their first code per level
HALVING_LEVEL = 6  # level / height of the halving above
FIRSTS_LEVEL = 7  # level / height, nodes given by their first code per level
SPAN = 8  # codes between the ends / codes, 0 for one: a set of which only the ends are known


class CostModel(NamedTuple):
    """The cost tables of q attributes as flat arrays.

    Parameters
    ----------
    kind
        int8[q], one of the constants above.
    domain
        int64[q], codes of the domain; the codes for missing and unknown values follow.
    levels
        int64[q], number of levels stored in `steps`.
    start
        int64[q], where the attribute's entries begin, in `table` for TABLE and in `steps` else.
    slope, base, weight
        float64[q].
    table
        float32, row-major (domain + 2) squared per attribute, weighted.
    steps
        int32: widths of the levels, or for FIRSTS domain entries a level.
    share
        float64[q], what each value of a published set costs, 0 where nodes or ranges are published.
    crowd
        What a record pays for each record of its class, itself included.
    """

    kind: NDArray[np.int8]
    domain: NDArray[np.int64]
    levels: NDArray[np.int64]
    start: NDArray[np.int64]
    slope: NDArray[np.float64]
    base: NDArray[np.float64]
    weight: NDArray[np.float64]
    table: NDArray[np.float32]
    steps: NDArray[np.int32]
    share: NDArray[np.float64]
    crowd: float


_Walked: TypeAlias = tuple[int, float, float, NDArray[np.int32]]


def cost_model(attributes: Sequence[QuasiIdentifier]) -> CostModel:
    """Return the cost tables of `attributes`, in their order, by NCP."""
    return _tabled(attributes, [_walked(attribute) for attribute in attributes])


def level_model(attributes: Sequence[QuasiIdentifier]) -> CostModel:
    """Return cost tables by level / height, as Aggarwal et al. (2005) and Prec (Sweeney 2002) measure loss.

    Tight numbers count the level of the node above what they publish. A set of values has no level: it counts its
    share of all values, as in the NCP.
    """
    return _tabled(attributes, [_by_level(attribute) for attribute in attributes])


def _tabled(attributes: Sequence[QuasiIdentifier], walked: Sequence[_Walked]) -> CostModel:
    """Return cost tables, whole ones for small domains."""
    kinds = [kind for kind, *_ in walked]
    tables: list[NDArray[np.float32]] = []
    for j, attribute in enumerate(attributes):
        if attribute.domain.size <= WHOLE_TABLE:
            tables.append(whole_table(_model([attribute], [walked[j]], [kinds[j]], [])))
            kinds[j] = TABLE
    return _model(attributes, walked, kinds, tables)


def _model(
    attributes: Sequence[QuasiIdentifier],
    walked: Sequence[_Walked],
    kinds: Sequence[int],
    tables: Sequence[NDArray[np.float32]],
) -> CostModel:
    """Lay the entries of all attributes one behind the other; `tables` are those of the TABLE ones."""
    starts, steps, entries = [], [np.empty(0, np.int32)], 0
    sizes = [attribute.domain.size for attribute in attributes]
    for kind, size, (*_, own) in zip(kinds, sizes, walked, strict=True):
        starts.append(entries if kind == TABLE else sum(len(part) for part in steps))
        if kind == TABLE:
            entries += (size + 2) ** 2
        else:
            steps.append(own)
    levels = [
        len(own) // (size if kind in (FIRSTS, FIRSTS_LEVEL) else 1)
        for size, (kind, _, _, own) in zip(sizes, walked, strict=True)
    ]
    return CostModel(
        np.array(kinds, np.int8),
        np.array(sizes, np.int64),
        np.array(levels, np.int64),
        np.array(starts, np.int64),
        np.array([slope for _, slope, _, _ in walked], np.float64),
        np.array([base for _, _, base, _ in walked], np.float64),
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
    )


def _is_set(attribute: QuasiIdentifier) -> bool:
    return attribute.publication is Publication.VALUES


def _walked(attribute: QuasiIdentifier) -> _Walked:
    """Return how to find the nodes of an attribute without a table: kind, slope, base, steps."""
    domain = attribute.domain
    if _is_set(attribute):
        return SPAN, 1 / domain.size, 1 / domain.size, np.empty(0, np.int32)
    if isinstance(domain, NumericDomain):
        widths = np.array([min(width, domain.size) for width in domain.widths], np.int32)
        kind = LINEAR if domain.tight else WIDTHS if len(widths) else HALVING
        return kind, domain.slope, domain.base, widths
    if isinstance(domain, PrefixDomain):
        powers = [domain.base**cut for cut in range(1, domain.keep + 1)]
        return PREFIX, 1 / domain.length, (domain.length - domain.keep) / domain.length, np.array(powers, np.int32)
    if isinstance(domain, DateDomain):
        return FIRSTS, 1 / domain.size, 1 / domain.size, domain.firsts[1:].ravel()
    assert isinstance(domain, CategoricalDomain)  # noqa: S101 - there are no more
    return FIRSTS, 1 / domain.size, 1 / domain.size, _firsts(domain)


def _by_level(attribute: QuasiIdentifier) -> _Walked:
    """Return how to find the levels of an attribute without a table: kind, 1 / height, base, steps."""
    domain = attribute.domain
    if isinstance(domain, NumericDomain):
        # The widest cells may not be the whole range: then that is one level more.
        widths = np.array([min(width, domain.size) for width in (*domain.widths, domain.size)], np.int32)
        if domain.widths:
            return PREFIX, 1 / domain.height, 0.0, widths
        return HALVING_LEVEL, 1 / domain.height, 0.0, np.array([domain.height], np.int32)
    kind, slope, base, steps = _walked(attribute)
    if kind == SPAN:
        return kind, slope, base, steps
    if kind == PREFIX:
        return kind, 1 / domain.height, base, steps
    return FIRSTS_LEVEL, 1 / domain.height, 0.0, steps


def _firsts(domain: CategoricalDomain) -> NDArray[np.int32]:
    """Return for each level above the leaves, without the root, the first code of each code's node."""
    tree = domain.hierarchy
    rows = []
    node = tree.leaves.copy()
    for level in range(1, tree.height):
        above = tree.parents[node]
        # A node at depth d lies at level height - d; short branches wait at their leaf.
        node = np.where(tree.height - tree.depths[node] < level, above, node)
        rows.append(tree.first[node])
    return np.concatenate(rows).astype(np.int32) if rows else np.empty(0, np.int32)


_ONLY = constant(0)


@bare_kernel
def table_cost(model: CostModel, j: int, low: int, high: int) -> float:
    """Return the weighted cost of codes `low` to `high` of attribute `j` if it has a table, else -1.

    Kernels ask this first and `walked_cost` where the answer is negative: a function so small costs two
    nanoseconds, one call for both, with its loops and branches, costs eighty.
    """
    if model.kind[j] == TABLE:
        return float(model.table[model.start[j] + low * (model.domain[j] + 2) + high])
    return -1.0


@bare_kernel
def walked_cost(model: CostModel, j: int, low: int, high: int) -> float:
    """Return the weighted cost of codes `low` to `high` of attribute `j`, which has no table; O(levels)."""
    kind = model.kind[j]
    n = model.domain[j]
    start = model.start[j]
    if high >= n:
        return 0.0 if low == high == n else model.weight[j]
    first = low
    last = high
    cut = 0
    if kind in (HALVING, HALVING_LEVEL) and low < high:
        cut = model.steps[start] if kind == HALVING_LEVEL else 0
        first = 0
        last = n - 1
        while first < last:
            middle = first + (last - first + 1) // 2 - 1
            if high <= middle:
                last = middle
            elif low > middle:
                first = middle + 1
            else:
                break
            cut -= 1
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
        cut = model.levels[j] + 1
        for level in range(model.levels[j]):
            begin = start + level * n
            if model.steps[begin + low] == model.steps[begin + high]:
                cut = level + 1
                break
    elif kind in (FIRSTS, SPAN) and low == high:
        return 0.0
    elif kind == FIRSTS:
        first = 0
        last = n - 1
        for level in range(model.levels[j]):
            begin = start + level * n
            if model.steps[begin + low] == model.steps[begin + high]:
                first = model.steps[begin + low]
                # The node's last code by bisection: its codes are neighbours.
                inside = high
                outside = n
                while outside - inside > 1:
                    probe = (inside + outside) // 2
                    if model.steps[begin + probe] == first:
                        inside = probe
                    else:
                        outside = probe
                last = inside
                break
    if kind in (PREFIX, HALVING_LEVEL, FIRSTS_LEVEL):
        return float(min(1.0, cut * model.slope[j] + model.base[j]) * model.weight[j])
    width = (last - first) * model.slope[j] + model.base[j]
    if last == n - 1:  # the top cell ends at the maximum, wherever its grid would
        width = max(0.0, min(width, 1.0 - first * model.slope[j]))
    return float(min(1.0, width) * model.weight[j])


@bare_kernel
def interval_cost(model: CostModel, j: int, low: int, high: int) -> float:
    """Return the weighted cost of publishing codes `low` to `high` of attribute `j`; O(1) or O(levels)."""
    cost = table_cost(model, j, low, high)
    return cost if cost >= 0 else walked_cost(model, j, low, high)


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
