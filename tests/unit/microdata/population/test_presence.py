from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from stream_anon.errors import SettingsError
from stream_anon.microdata.method import MethodChoice
from stream_anon.microdata.policy import ANATOMY, IAB
from stream_anon.microdata.population.presence import AskedPresence, PresenceBound
from tests.attacks.town import town_policy
from tests.support.populations import DIGEST, bounded, population

KNOWN = population([(0, 0, 0), (0, 0, 0), (3, 1, 1)])


def test_a_bound_is_compared_without_rounding() -> None:
    bound = PresenceBound(0.3, DIGEST, 3)
    individuals, people = np.array([3, 30, 31, 3, 1]), np.array([10, 100, 100, 9, 0])
    assert bound.holds(individuals, people).tolist() == [True, True, False, False, False]
    # The product of floats is a little less than 29 and 7.
    assert PresenceBound(0.29, DIGEST, 3).holds(np.array([29]), np.array([100])).all()
    assert PresenceBound(0.07, DIGEST, 3).holds(np.array([7 * 10**9]), np.array([10**11])).all()


def test_people_are_summed_and_a_bound_is_told_in_words() -> None:
    assert KNOWN.people == 3
    bound = bounded(0.25, KNOWN)["presence"]
    assert bound.in_words == "of 3 people at most 0.25 of those who fit a class are in it"
    assert AskedPresence.of(bound) == AskedPresence(0.25, DIGEST, 3)
    assert AskedPresence.of(None) is msgspec.UNSET


@pytest.mark.parametrize("most", [0.0, 1.0, 1.5, -0.1, float("nan")])
def test_a_share_lies_between_none_and_all(most: float) -> None:
    with pytest.raises(SettingsError, match=r"presence\.most: must be above 0"):
        town_policy(**bounded(most, KNOWN))


def test_a_population_is_the_one_that_its_bound_names_and_is_neither_shown_nor_compared() -> None:
    with pytest.raises(SettingsError, match="not the one that its bound names"):
        town_policy(presence=PresenceBound(0.3, "sha256:" + "8" * 64, 3), population=KNOWN)
    policy = town_policy(**bounded(0.3, KNOWN))
    assert replace(policy, population=None) == policy
    assert "PopulationCounts" not in repr(policy)


@pytest.mark.parametrize("method", [ANATOMY, IAB])
def test_methods_that_cannot_keep_it_refuse_it(method: str) -> None:
    options = {"target": "illness"} if method == ANATOMY else {}
    with pytest.raises(SettingsError, match=f"is not for method: {method}"):
        town_policy(method=MethodChoice(method, options), **bounded(0.3, KNOWN))
    town_policy(method=MethodChoice("samarati"), **bounded(0.3, KNOWN))
