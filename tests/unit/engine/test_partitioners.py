"""What an engine draws: costs anew for each window, from a seed or from a generator."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.engine.partitioners import partitioners
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.criteria import Criteria
from stream_anon.settings.model import EngineSettings
from tests.attacks.town import town_policy, townspeople

ENGINES: tuple[str, ...] = get_args(EngineSettings.model_fields["name"].annotation)
PEOPLE = townspeople(400)


def policy_of(name: str) -> Policy:
    """Return a policy whose engine asks what a class costs: Mondrian's median cuts hardly do."""
    policy = town_policy(engine=name)
    return replace(policy, engine=replace(policy.engine, least_loss=name == "mondrian"))


def _windows(policy: Policy, draws: int) -> list[NDArray[np.int32]]:
    """Return the classes of the same window twice, one after the other."""
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
def test_without_a_seed_another_generator_gives_other_classes_and_the_same_one_the_same(name: str) -> None:
    one, again, other = (_windows(policy_of(name), draws) for draws in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(one, again, strict=True))
    assert (_pairs(one[0]) != _pairs(other[0])).any()


@pytest.mark.parametrize("name", ENGINES)
def test_with_a_seed_the_generator_has_no_part_in_the_classes(name: str) -> None:
    def seeded(seed: int, draws: int) -> list[NDArray[np.int32]]:
        policy = policy_of(name)
        return _windows(replace(policy, engine=replace(policy.engine, seed=seed)), draws)

    one, other, third = seeded(7, 1), seeded(7, 2), seeded(8, 1)
    assert all((a == b).all() for a, b in zip(one, other, strict=True))
    assert (_pairs(one[0]) != _pairs(third[0])).any()
