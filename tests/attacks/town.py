"""A town for attackers: everybody's quasi-identifiers are known, only the illness is not.

An attacker who knows all quasi-identifiers and the engine can compute who is in which class (that is an attack of
its own, tests/attacks/test_minimality.py). So attacks here are simply told each row's class: it is the most that
an attacker can know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, get_args

import numpy as np

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.microdata.attributes import Identifier, PublishedForm, Sensitive
from stream_anon.microdata.choices.engine_choice import FULL_DOMAIN, EngineChoice
from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.coding import BatchBuilder
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Release
from stream_anon.settings.sections.engine_settings import EngineSettings
from tests.support.object_coder import ObjectCoder

QUARTERS = {
    "north": {"hill": ["h1", "h2", "h3"], "lake": ["l1", "l2"]},
    "south": {"mill": ["m1", "m2", "m3", "m4"], "port": ["p1", "p2"]},
}
HOMES = ("h1", "h2", "h3", "l1", "l2", "m1", "m2", "m3", "m4", "p1", "p2")
ENGINES: tuple[str, ...] = get_args(EngineSettings.model_fields["name"].annotation)
SEARCHING = [engine for engine in ENGINES if engine != FULL_DOMAIN]
"""Engines that look for the least nodes over a class: on fixed levels there is nothing to look for, and to draw."""
LEVELS = {"age": 5, "home": 1, "sex": 0}  # of the engine of fixed levels
ILLNESSES = tuple(f"illness {i}" for i in range(20))

Person = Mapping[str, Any]


def town_policy(
    k: int = 5,
    *,
    distinct_l: int | None = None,
    diversity: Diversity | None = None,
    max_records: int = 1000,
    engine: str = "forest",
    tight: bool = False,
    publication: PublishedForm = PublishedForm.NODES,
    **changes: Any,
) -> Policy:
    """Return a policy of three quasi-identifiers and an illness; `distinct_l` is short for that diversity.

    Ages may be `tight`, the other two be published otherwise than as nodes.
    """
    asked = Diversity(distinct_l) if distinct_l else diversity
    quasi = [
        QuasiIdentifier("age", NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0, tight=tight)),
        QuasiIdentifier("home", CategoricalDomain(Hierarchy.from_tree(QUARTERS)), publication=publication),
        QuasiIdentifier(
            "sex", CategoricalDomain(Hierarchy.flat(["female", "male", "diverse"])), publication=publication
        ),
    ]
    if engine == FULL_DOMAIN:
        quasi = [attribute.at_level(LEVELS[attribute.name]) for attribute in quasi]
    return Policy(
        (Identifier("person"), *quasi, Sensitive("illness")),
        k,
        "person",
        diversity={} if asked is None else {"illness": asked},
        window=WindowLimits(max_records=max_records, max_delay=10.0),
        engine=EngineChoice(engine),
        **changes,
    )


def townspeople(count: int, seed: int = 0) -> list[Person]:
    """Return people, the second most frequent illness half as frequent as the first, and so on."""
    draws = np.random.default_rng(seed)
    weight = 1 / np.arange(1, len(ILLNESSES) + 1)
    ages, homes = draws.integers(0, 100, count), draws.integers(0, len(HOMES), count)
    sexes = draws.choice(3, count, p=[0.49, 0.49, 0.02])
    ill = draws.choice(len(ILLNESSES), count, p=weight / weight.sum())
    return [
        {
            "person": f"{seed}-{i}",
            "age": int(ages[i]),
            "home": HOMES[homes[i]],
            "sex": ("female", "male", "diverse")[sexes[i]],
            "illness": ILLNESSES[ill[i]],
        }
        for i in range(count)
    ]


class Service:
    """The real engine from records to releases."""

    def __init__(self, policy: Policy, seed: int = 0) -> None:
        self.policy = policy
        self._coder = ObjectCoder(policy)
        self._engine = Engine(policy, draws=np.random.default_rng(seed))
        self._engine.open(0, 0)
        self._closer = Closer(policy)
        self._shuffle = np.random.default_rng(seed)
        self._next = 0
        self._now = 0.0

    def release(self, records: Sequence[Person]) -> Release:
        """Return what becomes of records that make up one window; row i is the i-th of them."""
        builder = BatchBuilder(self.policy, 0)
        numbers = self._next if self.policy.individual == EVERY_RECORD else None
        for record in records:
            builder.add(self._coder.code_object(record), self._next)
            self._next += 1
        windows = self._engine.add(builder.build(numbers), 0.0)
        rest = self._engine.seal(0.0)
        (window,) = [*windows, *([rest] if rest else [])]
        return self._closer.release(window, self._shuffle)

    def release_as_they_come(self, records: Sequence[Person], rate: float, poll: int = 10) -> Release:
        """Return what becomes of a full window whose records come at a rate, a few at once.

        All preparation is done as soon as it is due.
        """
        windows: list[SealedWindow] = []
        for first in range(0, len(records), poll):
            builder = BatchBuilder(self.policy, 0)
            for record in records[first : first + poll]:
                builder.add(self._coder.code_object(record), self._next)
                self._next += 1
            self._now += poll / rate
            windows += self._engine.add(builder.build(None), self._now)
            while (work := self._engine.preparation(self._now)) is not None:
                work()
        (window,) = windows
        assert window.partitioner.arrival_matters, "nothing was prepared"
        return self._closer.release(window, self._shuffle)


def classes_of(release: Release) -> list[list[int]]:
    """Return the rows of each published class."""
    members: list[list[int]] = [[] for _ in range(len(release.classes))]
    for row, number in enumerate(release.class_of_row.tolist()):
        if number >= 0:
            members[number].append(row)
    return members


def crowds_of(release: Release, records: Sequence[Person]) -> set[tuple[tuple[object, ...], ...]]:
    """Return for each published class the quasi-identifiers of its people: all that an attacker can compute of it.

    Which of several equal people is in which class is not for him to know.
    """
    return set(ordered_crowds(release, records))


def ordered_crowds(release: Release, records: Sequence[Person]) -> list[tuple[tuple[object, ...], ...]]:
    """Return the same class by class."""
    names = ("age", "home", "sex")
    return [
        tuple(sorted(tuple(records[row][name] for name in names) for row in rows)) for rows in classes_of(release)
    ]


def values_of(release: Release, records: Sequence[Person]) -> list[Counter[str]]:
    """Return for each class how often each illness occurs: what a reader of the output sees of it."""
    return [Counter(records[row]["illness"] for row in rows) for rows in classes_of(release)]


def share(part: int, whole: int) -> str:
    """Return a share in per cent."""
    return f"{100 * part / max(whole, 1):.1f} %"
