"""What an engine draws: new costs for each window, from a seed or from a generator."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.clustering.cell_partitioner import CellPartitioner
from stream_anon.engine.partitioners import partitioners
from stream_anon.microdata.choices.engine_choice import FULL_DOMAIN
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Suppression
from stream_anon.privacy.criteria import Criteria
from stream_anon.settings.sections.engine_settings import EngineSettings
from tests.attacks.town import Service, town_policy, townspeople

# With fixed levels there is nothing to draw.
ENGINES = [name for name in get_args(EngineSettings.model_fields["name"].annotation) if name != FULL_DOMAIN]
PEOPLE = townspeople(400)


def policy_of(name: str) -> Policy:
    """Return a policy whose engine asks what a class costs: Mondrian's median cuts hardly do."""
    policy = town_policy(engine=name)
    return replace(policy, engine=replace(policy.engine, least_loss=name == "mondrian"))


def _windows(policy: Policy, draws: int) -> list[NDArray[np.int32]]:
    """Return the classes of the same window, formed twice."""
    codes = np.array([[a.code(p[a.name]) for p in PEOPLE] for a in policy.quasi_identifiers], np.int32)
    rows = Columns(codes, np.arange(len(PEOPLE), dtype=np.int32), np.empty((0, len(PEOPLE)), np.int32))
    make = partitioners(policy, draws=np.random.default_rng(draws))
    answers = []
    for _ in range(2):
        partitioner = make()
        partitioner.add(rows)
        answers.append(partitioner.close(rows, Criteria.of(policy)))
    return answers


def _pairs(classes: NDArray[np.int32]) -> NDArray[np.bool_]:
    return classes[:, None] == classes


@pytest.mark.parametrize("name", ENGINES)
def test_each_window_is_formed_by_other_draws(name: str) -> None:
    first, second = _windows(policy_of(name), 1)
    assert (_pairs(first) != _pairs(second)).any()


@pytest.mark.parametrize("name", ENGINES)
def test_without_a_seed_the_generator_decides_the_classes(name: str) -> None:
    one, again, other = (_windows(policy_of(name), draws) for draws in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(one, again, strict=True))
    assert (_pairs(one[0]) != _pairs(other[0])).any()


@pytest.mark.parametrize("name", ENGINES)
def test_with_a_seed_the_seed_alone_decides_the_classes(name: str) -> None:
    def seeded(seed: int, draws: int) -> list[NDArray[np.int32]]:
        policy = policy_of(name)
        return _windows(replace(policy, engine=replace(policy.engine, seed=seed)), draws)

    one, other, third = seeded(7, 1), seeded(7, 2), seeded(8, 1)
    assert all((a == b).all() for a, b in zip(one, other, strict=True))
    assert (_pairs(one[0]) != _pairs(third[0])).any()


@pytest.mark.parametrize("name", ENGINES)
def test_without_limits_an_engine_is_what_it_was_and_with_limits_at_the_roots_it_forms_the_same_classes(
    name: str,
) -> None:
    policy = replace(policy_of(name), engine=replace(policy_of(name).engine, seed=7))
    assert not isinstance(partitioners(policy, draws=np.random.default_rng(1))(), CellPartitioner)
    limited = replace(
        policy,
        attributes=tuple(
            replace(a, max_level=a.domain.height) if isinstance(a, QuasiIdentifier) else a
            for a in policy.attributes
        ),
    )
    assert isinstance(partitioners(limited, draws=np.random.default_rng(1))(), CellPartitioner)
    pairs = zip(_windows(policy, 1), _windows(limited, 1), strict=True)
    assert all((one == other).all() for one, other in pairs)


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_with_limits_places_whoever_has_company_within_them_and_the_gate_finds_nothing(name: str) -> None:
    policy = policy_of(name)
    limits = {"age": 3, "home": 0}
    limited = replace(
        policy,
        attributes=tuple(
            replace(a, max_level=limits.get(a.name)) if isinstance(a, QuasiIdentifier) else a
            for a in policy.attributes
        ),
    )
    service = Service(limited)
    release = service.release(PEOPLE)
    assert release.suppressed.keys() == {Suppression.MAX_LEVEL}
    assert release.gate_violations == 0
    ages, homes, _ = limited.quasi_identifiers
    crowds: dict[tuple[object, ...], int] = {}
    for person in PEOPLE:
        nodes = tuple(a.node_at(a.code(person[a.name]), limits[a.name]) for a in (ages, homes))
        crowds[nodes] = crowds.get(nodes, 0) + 1
    assert sum(release.suppressed.values()) == sum(count for count in crowds.values() if count < limited.k)
