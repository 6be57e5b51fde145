from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import PublishedForm, Unknown
from stream_anon.microdata.choices.method_choice import ANATOMY, IAB, MethodChoice
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.population.presence_bound import AskedPresence, PresenceBound
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
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


@pytest.mark.parametrize("changes", [{"tight": True}, {"publication": PublishedForm.VALUES}])
def test_tight_ranges_and_sets_are_refused_since_each_end_is_somebodys(changes: dict[str, Any]) -> None:
    if "tight" in changes:
        one = town_policy(**changes).quasi_identifiers[0]
    else:
        one = QuasiIdentifier("city", CategoricalDomain(Hierarchy.flat(["a", "b"])), **changes)
    with pytest.raises(SettingsError, match=r"presence: needs publish: nodes .* is somebody's"):
        Policy((one,), 2, EVERY_RECORD, **bounded(0.3, population([(0,)])))


def test_unknown_values_at_the_root_are_refused_where_a_method_chooses_the_level() -> None:
    bare = town_policy()
    attributes = tuple(
        replace(a, unknown=Unknown.ROOT) if isinstance(a, QuasiIdentifier) else a for a in bare.attributes
    )
    replace(bare, attributes=attributes, **bounded(0.3, KNOWN))
    with pytest.raises(SettingsError, match="is not for a method and unknown: root"):
        replace(bare, attributes=attributes, method=MethodChoice("samarati"), **bounded(0.3, KNOWN))
