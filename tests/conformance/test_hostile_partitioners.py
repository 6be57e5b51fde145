"""Whatever a partitioner answers, the release keeps every promise, as judged by an oracle that knows the people.

Each lie is told under each policy. The oracle is plain Python: it groups clusters by what they would be published
as, recomputes every promise from people and values, takes away what breaks one, and begins again with the rest.
What the closing publishes must be that and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.engine.closing import Closer, dealt
from stream_anon.microdata.attributes import Identifier, PublishedForm, ScalarType, Sensitive
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Release, Suppression
from stream_anon.privacy.criteria import Criteria, Spread
from tests.support.lying import Liar, Lie, sealed
from tests.support.tables import diversity_of, is_legal

TREE = {"north": {"coast": ["a", "b"], "inland": ["c", "d", "e"]}, "south": ["f", "g"], "island": None}
PLACES = ["a", "b", "c", "d", "e", "f", "g", "island"]  # in the order of the tree, as codes are
GROUPS = {"coast": "ab", "inland": "cde", "north": "abcde", "south": "fg"}
PLANS = ["p", "q", "r", "s"]
ROWS = 48

Published = tuple[str, ...]


@dataclass(frozen=True)
class Promise:
    """The criteria of the two sensitive attributes; None for one without a criterion."""

    k: int = 3
    max_share: float = 0.5
    illness: Spread | None = None
    income: Spread | None = None
    values: int = 2
    sets: bool = True
    extra_levels: int = 0
    shields: tuple[Shield, ...] = ()

    @property
    def asked(self) -> dict[str, Spread]:
        pairs = {"illness": self.illness, "income": self.income}
        return {name: asked for name, asked in pairs.items() if asked is not None}

    @property
    def policy(self) -> Policy:
        sets = PublishedForm.VALUES if self.sets else PublishedForm.NODES
        return Policy(
            (
                Identifier("person"),
                QuasiIdentifier("place", CategoricalDomain(Hierarchy.from_tree(TREE))),
                QuasiIdentifier("plan", CategoricalDomain(Hierarchy.flat(PLANS)), publication=sets),
                Sensitive("illness"),
                Sensitive("income", ScalarType.NUMBER),
            ),
            self.k,
            "person",
            max_share=self.max_share,
            diversity={name: diversity_of(self.values, asked) for name, asked in self.asked.items()},
            extra_levels=self.extra_levels,
            shields=self.shields,
        )

    @property
    def criteria(self) -> Criteria:
        """Return what the judge asks for, written down here and not read from the policy."""
        least = [
            max(self.values, ceil(asked.entropy_l), asked.l if asked.c < inf else 0, ceil(1 / asked.alpha - 1e-9))
            for asked in self.asked.values()
        ]
        return Criteria(self.k, self.max_share, np.array(least, np.int64), tuple(self.asked.values()))


PROMISES = {
    "k 2": Promise(2),
    "k 5": Promise(5),
    "a large share": Promise(2, 1.0),
    "two values": Promise(illness=Spread(), income=Spread()),
    "three values of the second": Promise(income=Spread(), values=3),
    "entropy": Promise(illness=Spread(entropy_l=1.8), income=Spread(entropy_l=2.2)),
    "recursion": Promise(illness=Spread(c=2, l=2), income=Spread(c=2.5, l=3)),
    "closeness": Promise(illness=Spread(t=0.25), income=Spread(t=0.3)),
    "ordered closeness": Promise(illness=Spread(), income=Spread(t=0.15, ordered=True)),
    "share of a value": Promise(illness=Spread(alpha=0.6), income=Spread(alpha=0.5)),
    "delta-disclosure": Promise(illness=Spread(delta=1.2), income=Spread(delta=0.9)),
    "beta-likeness": Promise(illness=Spread(beta=0.6), income=Spread(beta=1.0)),
    "different criteria": Promise(2, illness=Spread(alpha=0.7), income=Spread(t=0.2, ordered=True)),
    "all criteria": Promise(
        2,
        0.6,
        Spread(entropy_l=1.5, c=3, t=0.4, alpha=0.8, delta=1.5),
        Spread(entropy_l=1.5, c=3, t=0.3, ordered=True, beta=1.5),
    ),
    "nodes": Promise(illness=Spread(), income=Spread(t=0.4), sets=False),
    "shields": Promise(shields=(Shield(("place",), 9), Shield(("plan",), 12))),
    "shields and criteria": Promise(
        2,
        illness=Spread(alpha=0.7),
        income=Spread(t=0.3),
        sets=False,
        shields=(Shield(("place", "plan"), 6), Shield(("place",), 10)),
    ),
    "extra levels": Promise(illness=Spread(alpha=0.7), income=Spread(), sets=False, extra_levels=2),
}


def _chunks(size: int, order: NDArray[Any] | None = None) -> NDArray[np.int32]:
    answer = np.empty(ROWS, np.int32)
    answer[np.arange(ROWS) if order is None else order] = np.arange(ROWS) // size
    return answer


def _by_codes(rows: Columns) -> NDArray[np.int64]:
    return np.lexsort(rows.codes[::-1])


def _lies(draws: np.random.Generator) -> dict[str, Lie]:
    """Return the answers; values and people are as the closing shows them to the partitioner."""
    return {
        "all rows are one class": lambda rows, asked: np.zeros(ROWS, np.int32),
        "each row is a class": lambda rows, asked: _chunks(1),
        "classes of one less than k": lambda rows, asked: _chunks(asked.k - 1, _by_codes(rows)),
        "classes of k records": lambda rows, asked: _chunks(asked.k, _by_codes(rows)),
        "classes of 2 k by arrival": lambda rows, asked: _chunks(2 * asked.k),
        "classes by chance": lambda rows, asked: draws.integers(-1, 6, ROWS).astype(np.int32),
        "a class a person": lambda rows, asked: rows.individuals % 12,
        "a class an illness": lambda rows, asked: _a_value_each(rows, 0),
        "a class an income": lambda rows, asked: _a_value_each(rows, -1),
        "half is unplaced": lambda rows, asked: np.where(
            draws.random(ROWS) < 0.5, -1, _chunks(12, _by_codes(rows))
        ),
        "numbers with gaps": lambda rows, asked: _chunks(8, _by_codes(rows)) * 7 + 3,
        "classes by place": lambda rows, asked: rows.codes[0].astype(np.int32),
    }


def _a_value_each(rows: Columns, attribute: int) -> NDArray[np.int32]:
    if not len(rows.sensitive):
        return _chunks(6, np.argsort(rows.individuals))
    return (rows.sensitive[attribute] + 1) * 2 + (rows.codes[0] > 3)


LIES = list(_lies(np.random.default_rng(0)))


def _rows(draws: np.random.Generator, promise: Promise) -> Columns:
    """Draw a window in which some come often and some values are missing."""
    often = draws.integers(0, 40, ROWS)
    people = np.unique(np.where(draws.random(ROWS) < 0.1, 0, often), return_inverse=True)[1]
    values = [draws.integers(-1 if draws.random() < 0.3 else 0, 4, ROWS) for _ in promise.asked]
    dense = [np.where(column < 0, -1, np.unique(column[column >= 0]).searchsorted(column)) for column in values]
    codes = np.array([draws.integers(0, len(PLACES), ROWS), draws.integers(0, len(PLANS), ROWS)], np.int32)
    return Columns(codes, people.astype(np.int32), np.array(dense, np.int32).reshape(len(dense), ROWS))


def _least(rows: Columns, members: Sequence[int], sets: bool) -> Published:
    """Return what is published for these rows, worked out from labels."""
    places = {PLACES[rows.codes[0, i]] for i in members}
    plans = sorted({PLANS[rows.codes[1, i]] for i in members})
    if len(places) == 1:
        place = places.pop()
    else:
        fitting = [name for name, leaves in GROUPS.items() if places <= set(leaves)]
        place = min(fitting, key=lambda name: len(GROUPS[name]), default="*")
    plan: Any = plans[0] if len(plans) == 1 else plans if sets and plans != PLANS else "*"
    return json.dumps(place), json.dumps(plan)


def _legal_groups(rows: Columns, clusters: Sequence[int], promise: Promise) -> dict[Published, list[int]]:
    """Return what may be published of a partitioner's answer."""
    members: dict[int, list[int]] = {}
    for row, cluster in enumerate(clusters):
        if cluster >= 0:
            members.setdefault(cluster, []).append(row)
    groups: dict[Published, list[int]] = {}
    for own in members.values():
        groups.setdefault(_least(rows, own, promise.sets), []).extend(own)
    while True:
        released = [row for own in groups.values() for row in own]
        legal = {t: own for t, own in groups.items() if is_legal(rows, own, promise.criteria, released)}
        if len(legal) == len(groups):
            return {published: sorted(own) for published, own in legal.items()}
        groups = legal


def _groups(release: Release) -> dict[Published, list[int]]:
    """Return the released rows by what is published for them."""
    groups: dict[Published, list[int]] = {}
    for row in sorted(release.order.tolist()):
        number = release.class_of_row[row]
        texts = tuple(json.dumps(values[number]) for values in release.classes.values)
        groups.setdefault(texts, []).append(row)
    return groups


def _covers(published: Published, place: str, plan: str) -> bool:
    """Return whether a row lies under what is published for it."""
    shown_place, shown_plan = map(json.loads, published)
    under = shown_place in {"*", place} or (len(place) == 1 and place in GROUPS.get(shown_place, ""))
    return under and (shown_plan in ("*", plan) or (isinstance(shown_plan, list) and plan in shown_plan))


def _tell(promise: Promise, lie: str, seed: int) -> None:
    draws = np.random.default_rng([seed, LIES.index(lie)])
    rows = _rows(draws, promise)
    # Equal rows change places before the partitioner sees them; row i stands where order[i] did.
    order = dealt(rows.codes, np.random.default_rng(seed))
    clusters = np.full(ROWS, -1, np.int32)

    def answer(shown: Columns, asked: Criteria) -> NDArray[np.int32]:
        clusters[order] = _lies(draws)[lie](shown, asked)
        return clusters[order]

    window = sealed(promise.policy, rows, Liar(answer))
    release = Closer(promise.policy).release(window, np.random.default_rng(seed))
    groups = _groups(release)
    released = release.order.tolist()
    assert len(set(released)) == len(released) == ROWS - sum(release.suppressed.values())
    assert len(groups) == len(release.classes)
    for published, members in groups.items():
        assert is_legal(rows, members, promise.criteria, released)
        assert all(_covers(published, PLACES[p], PLANS[q]) for p, q in rows.codes[:, members].T.tolist())
        number = int(release.class_of_row[members[0]])
        assert release.classes.records[number] == len(members)
        assert release.classes.individuals[number] == len(set(rows.individuals[members].tolist()))
    for shield in promise.shields:
        shared: dict[Published, set[int]] = {}
        for published, members in groups.items():
            key = tuple(
                text for text, name in zip(published, ("place", "plan"), strict=True) if name in shield.attributes
            )
            shared.setdefault(key, set()).update(rows.individuals[members].tolist())
        assert all(len(people) >= shield.k for people in shared.values())
    if Suppression.SHORTFALL in release.suppressed:
        crowd = max((shield.k for shield in promise.shields), default=0)
        assert not released
        assert not is_legal(rows, range(ROWS), promise.criteria) or len(set(rows.individuals.tolist())) < crowd
    elif not promise.extra_levels and not promise.shields:
        assert groups == _legal_groups(rows, clusters.tolist(), promise)


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("promise", PROMISES.values(), ids=PROMISES)
def test_exactly_what_keeps_every_promise_is_published(promise: Promise, lie: str) -> None:
    for seed in range(2):
        _tell(promise, lie, seed)


@pytest.mark.soak
@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("promise", PROMISES.values(), ids=PROMISES)
def test_exactly_what_keeps_every_promise_is_published_of_many_windows(promise: Promise, lie: str) -> None:
    for seed in range(2, 40):
        _tell(promise, lie, seed)
