"""Random windows for Hypothesis, and judges in plain Python."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from math import ceil, inf, log

import numpy as np
from hypothesis import strategies as st

from stream_anon.microdata.columns import Columns
from stream_anon.microdata.diversity import Closeness, Distance, Diversity, Recursion
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.ordered import OrderedDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.cost import cost_model
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.criteria import Criteria, Spread

_RAGGED = Hierarchy.from_tree({"g": {"h": ["a", "b"], "i": ["c"]}, "j": ["d", "e"], "f": None})
DOMAINS = (
    CategoricalDomain(_RAGGED),
    CategoricalDomain(Hierarchy.flat(["only"])),
    CategoricalDomain(Hierarchy.flat(["x", "y"])),
    NumericDomain(Decimal(0), Decimal(30), Decimal(1), 0, tight=True),
    NumericDomain(Decimal(1), Decimal(9), Decimal(1), 0),
    NumericDomain(Decimal(0), Decimal(5_000), Decimal(1), 0, (Decimal(10), Decimal(100))),
    PrefixDomain(4, "0123456789", 4),
    DateDomain("%Y-%m-%d", dt.date(2020, 1, 1), dt.date(2023, 12, 31)),
    CategoricalDomain(balanced([str(i) for i in range(12)])),
    OrderedDomain(("none", "primary", "secondary", "bachelor", "master", "doctor")),
)
_ATTRIBUTES = tuple(QuasiIdentifier(f"a{i}", domain) for i, domain in enumerate(DOMAINS))
_MODELS: dict[tuple[int, ...], CostModel] = {}


@dataclass(frozen=True)
class Table:
    """A window: its quasi-identifiers, cost model, rows and what classes must meet."""

    attributes: tuple[QuasiIdentifier, ...]
    model: CostModel
    rows: Columns
    criteria: Criteria


def dense(values: Sequence[int]) -> list[int]:
    """Return numbers from 0 in the order of first appearance."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Random windows: ragged and tiny domains, duplicates, heavy people, sizes around multiples of k."""
    chosen = tuple(draw(st.lists(st.integers(0, len(DOMAINS) - 1), min_size=1, max_size=3, unique=True)))
    attributes = tuple(_ATTRIBUTES[i] for i in chosen)
    if chosen not in _MODELS:
        _MODELS[chosen] = cost_model(attributes)
    k = draw(st.integers(2, 4))
    n = draw(st.sampled_from([0, 1, k - 1, k, k + 1, 2 * k - 1, 2 * k, 3 * k - 1, 3 * k, 12, 30]))
    people = draw(st.sampled_from(["each", "few", "heavy"]))
    who = {
        "each": st.lists(st.just(0), min_size=n, max_size=n).map(lambda rows: list(range(len(rows)))),
        "few": st.lists(st.integers(0, max(1, n // 2)), min_size=n, max_size=n),
        "heavy": st.lists(st.sampled_from([0] * 6 + list(range(1, n + 1))), min_size=n, max_size=n),
    }[people]
    edges = [
        st.integers(0, a.size - 1) | st.sampled_from([0, a.domain.size - 1, a.missing_code, a.unknown_code])
        for a in attributes
    ]
    pool = draw(st.lists(st.tuples(*edges), min_size=1, max_size=max(1, n)))
    codes = [draw(st.sampled_from(pool)) for _ in range(n)]
    diverse = draw(st.integers(0, 2))
    values = [dense(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))) for _ in range(diverse)]
    gaps = draw(st.sampled_from([[], [], [0, 3], list(range(0, n, 2))]))
    values = [[-1 if i in gaps else value for i, value in enumerate(column)] for column in values]
    least = draw(st.lists(st.integers(2, 3), min_size=diverse, max_size=diverse))
    share = draw(st.sampled_from([0.5, 0.5, 1.0, 0.7]))
    rows = Columns(
        np.array(codes, np.int32).reshape(n, len(attributes)).T.copy(),
        np.array(dense(draw(who)), np.int32),
        np.array(values, np.int32).reshape(diverse, n),
    )
    asked = tuple(draw(spreads()) for _ in range(diverse)) if draw(st.booleans()) else ()
    implied = [max(two, *_implied(one)) for two, one in zip(least, asked, strict=True)] if asked else least
    return Table(attributes, _MODELS[chosen], rows, Criteria(k, share, np.array(implied, np.int64), asked))


def _implied(asked: Spread) -> tuple[int, int]:
    return ceil(asked.entropy_l), asked.l if asked.c < inf else 0


def spreads() -> st.SearchStrategy[Spread]:
    """Random criteria of frequencies, most of them none."""
    return st.builds(
        Spread,
        entropy_l=st.sampled_from([1.0, 1.0, 1.5, 2.0]),
        c=st.sampled_from([inf, inf, 1.0, 2.0]),
        l=st.sampled_from([2, 3]),
        t=st.sampled_from([1.0, 1.0, 0.2, 0.5]),
        ordered=st.booleans(),
        alpha=st.sampled_from([1.0, 1.0, 0.5, 0.8]),
        delta=st.sampled_from([inf, inf, inf, 0.5, 1.5]),
        beta=st.sampled_from([inf, inf, inf, 0.5, 2.0]),
    )


def is_legal(
    rows: Columns, members: Sequence[int], criteria: Criteria, released: Iterable[int] | None = None
) -> bool:
    """Return whether the rows `members` may be one class of those released, all if not said, counted by hand."""
    people = Counter(int(rows.individuals[i]) for i in members)
    if len(people) < criteria.k or max(people.values()) > criteria.max_share * len(members):
        return False
    for least, spread, column in zip(criteria.distinct_l.tolist(), criteria.asked, rows.sensitive, strict=True):
        if diverse_values([(int(rows.individuals[i]), int(column[i])) for i in members]) < least:
            return False
        pairs = [(int(person), int(value)) for person, value in zip(rows.individuals, column, strict=True)]
        of_class = [pairs[i] for i in members]
        of_window = pairs if released is None else [pairs[i] for i in released]
        if not (is_spread(of_class, of_window, spread) and is_spread(set(of_class), set(of_window), spread)):
            return False
    return True


def is_spread(of_class: Iterable[tuple[int, int]], of_window: Iterable[tuple[int, int]], asked: Spread) -> bool:
    """Return whether (person, value) pairs meet the criteria, by the papers' formulas."""
    held, base = ([value for _, value in pairs] for pairs in (of_class, of_window))
    shown, known = ([value for value in values if value >= 0] for values in (held, base))
    heights = sorted(Counter(shown).values(), reverse=True)
    n = len(shown)
    if asked.entropy_l > 1 and -sum(h / n * log(h / n) for h in heights) < log(asked.entropy_l) - 1e-9:
        return False
    if asked.c < inf and not (heights and heights[0] < asked.c * sum(heights[asked.l - 1 :])):
        return False
    if asked.alpha < 1 and n and heights[0] / n > asked.alpha + 1e-9:
        return False
    if not _is_like(shown, known, asked, set(known)):
        return False
    if not _is_like(
        [value < 0 for value in held], [value < 0 for value in base], asked, {True} & {v < 0 for v in base}
    ):
        return False
    if asked.t >= 1:
        return True
    distance = 0.0
    if shown:
        order = sorted(set(known))
        gaps = [shown.count(value) / n - known.count(value) / len(known) for value in order]
        distance = (
            sum(map(abs, accumulate(gaps))) / max(len(order) - 1, 1) if asked.ordered else sum(map(abs, gaps)) / 2
        )
    missing = abs((len(held) - n) / len(held) - (len(base) - len(known)) / len(base))
    return max(distance, missing) <= asked.t + 1e-9


def _is_like(held: Sequence[int], base: Sequence[int], asked: Spread, values: Iterable[int]) -> bool:
    """Return whether delta and beta hold of these values, by the papers' formulas."""
    for value in values:
        q, p = held.count(value) / max(len(held), 1), base.count(value) / len(base)
        if asked.delta < inf and not (q > 0 and abs(log(q / p)) < asked.delta - 1e-9):
            return False
        if q > p and (q - p) / p > asked.beta + 1e-9:
            return False
    return True


def diversity_of(least: int, asked: Spread) -> Diversity:
    """Return the setting that asks for so many values and for that spread."""
    distance = Distance.ORDERED if asked.ordered else Distance.EQUAL
    return Diversity(
        least,
        asked.entropy_l if asked.entropy_l > 1 else None,
        Recursion(asked.c, asked.l) if asked.c < inf else None,
        Closeness(asked.t, distance) if asked.t < 1 else None,
        alpha=asked.alpha if asked.alpha < 1 else None,
        delta_disclosure=asked.delta if asked.delta < inf else None,
        beta_likeness=asked.beta if asked.beta < inf else None,
    )


def diverse_values(pairs: Sequence[tuple[int, int]]) -> int:
    """Return how many values are held by as many different people, by trying every choice."""
    by_value: dict[int, set[int]] = {}
    for person, value in pairs:
        if value >= 0:
            by_value.setdefault(value, set()).add(person)
    holders = list(by_value.values())
    found = {frozenset[int]()}
    for people in holders:
        found |= {chosen | {person} for chosen in found for person in people if person not in chosen}
    return max(map(len, found))


def classes_of(answer: Sequence[int]) -> set[frozenset[int]]:
    """Return the classes as sets of rows, those without one left out."""
    members: dict[int, set[int]] = {}
    for row, number in enumerate(answer):
        if number >= 0:
            members.setdefault(int(number), set()).add(row)
    return {frozenset(rows) for rows in members.values()}


def renumbered(rows: Columns) -> Columns:
    """Return rows with people and values renumbered from 0, as after a revoked partition."""
    sensitive = rows.sensitive.copy()
    for column in sensitive:
        column[column >= 0] = dense(column[column >= 0].tolist())
    return Columns(rows.codes, np.array(dense(rows.individuals.tolist()), np.int32), sensitive)
