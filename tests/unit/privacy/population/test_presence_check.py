"""People of a population under published tuples, counted by the kernel and in plain Python."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.engine.chosen_classes import no_classes
from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Unknown
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.generalization import Generalizer, generalize
from stream_anon.privacy.policy_document import PolicyDocument
from stream_anon.privacy.population.presence_check import PresenceCheck
from tests.attacks.town import town_policy
from tests.support.effort import examples
from tests.support.populations import bounded, fitting, of_nodes, population
from tests.support.tables import Table, tables


@given(tables(), st.data())
@examples(200)
def test_people_under_a_tuple_are_those_whose_codes_fit_what_is_published(table: Table, data: Any) -> None:
    attributes = tuple(replace(a, unknown=Unknown.ROOT) for a in of_nodes(table.attributes))
    n = len(table.rows)
    if not n:
        return
    people = [tuple(codes) for codes in table.rows.codes.T.tolist()]
    people += data.draw(st.lists(st.tuples(*(st.integers(0, a.size - 1) for a in attributes)), max_size=20))
    known = population(people)
    policy = Policy(attributes, 2, EVERY_RECORD, **bounded(0.5, known))
    told = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    classes = np.unique(told, return_inverse=True)[1].astype(np.int32)
    generalizers = [Generalizer(attribute) for attribute in attributes]
    generalized = generalize(generalizers, attributes, table.rows.codes, classes, int(classes.max()) + 1)
    tuples = list(zip(*generalized.values, strict=True))
    found = PresenceCheck(policy).people(generalized.low, generalized.high)
    assert found.tolist() == [fitting(policy, values) for values in tuples]
    assert (found >= np.bincount(classes)).all()


def test_a_class_fails_if_more_than_its_share_are_in_it() -> None:
    x = QuasiIdentifier("x", town_policy().quasi_identifiers[0].domain)
    policy = Policy((x,), 2, EVERY_RECORD, **bounded(0.5, population([(0,)] * 4 + [(50,)] * 3 + [(99,)])))
    generalized = generalize(
        [Generalizer(x)], [x], np.array([[0, 50, 99]], np.int32), np.arange(3, dtype=np.int32), 3
    )
    check = PresenceCheck(policy)
    failing, largest = check.failing(np.array([2, 1, 1]), generalized)
    assert failing.tolist() == [False, False, True]
    assert largest == 0.5
    failing, largest = check.failing(np.array([3, 2, 1]), generalized)
    assert (failing.tolist(), largest) == ([True] * 3, None)


def test_without_presence_nothing_fails_and_a_document_alone_makes_no_release() -> None:
    bare = PresenceCheck(town_policy())
    failing, largest = bare.failing(np.array([5, 6]), None)  # type: ignore[arg-type] # it is not looked at
    assert (failing.tolist(), largest) == ([False, False], None)
    policy = town_policy(**bounded(0.3, population([(0, 0, 0)])))
    with pytest.raises(SettingsError, match="has its hash alone"):
        PresenceCheck(PolicyDocument.of(policy).policy())


NAMED = QuasiIdentifier("s", CategoricalDomain(balanced(list("abcdefgh"))))
MORE = replace(NAMED, name="more")
RANGED = QuasiIdentifier("x", NumericDomain(Decimal(0), Decimal(30), Decimal(1), 0))


@pytest.mark.parametrize("attributes", [(NAMED, RANGED, MORE), (RANGED, NAMED, MORE), (RANGED,), (NAMED,)])
def test_nodes_of_every_attribute_count(attributes: tuple[QuasiIdentifier, ...]) -> None:
    draws = np.random.default_rng(0)
    sizes = [attribute.size for attribute in attributes]
    known = population(draws.integers(0, sizes, (600, len(sizes))).tolist())
    policy = Policy(attributes, 2, EVERY_RECORD, **bounded(0.5, known))
    check = PresenceCheck(policy)
    seen = set()
    for _ in range(20):
        middles = draws.integers(0, np.array(sizes) - 6, (8, len(sizes)))
        rows = (middles.repeat(3, axis=0) + draws.integers(0, 5, (24, len(sizes)))).T.astype(np.int32)
        classes = np.arange(24, dtype=np.int32) // 3
        generalizers = [Generalizer(attribute) for attribute in attributes]
        generalized = generalize(generalizers, attributes, rows, classes, 8)
        found = check.people(generalized.low, generalized.high).tolist()
        assert found == [fitting(policy, values) for values in zip(*generalized.values, strict=True)]
        seen.update(found)
    assert len(seen) > 3


def test_no_class_has_no_share() -> None:
    policy = Policy((RANGED,), 2, EVERY_RECORD, **bounded(0.5, population([(0,)])))
    failing, largest = PresenceCheck(policy).failing(np.zeros(0, np.int64), no_classes(1))
    assert (failing.tolist(), largest) == ([], None)


@pytest.mark.parametrize(("most", "people"), [(None, 7), (0, 2), (1, 2)])
def test_only_who_has_an_unknown_value_fits_the_root_where_nobody_else_is_published_as_it(
    most: int | None, people: int
) -> None:
    x = replace(NAMED, unknown=Unknown.ROOT, max_level=most)
    known = population([(3,)] * 5 + [(x.unknown_code,)] * 2)
    policy = Policy((x,), 2, EVERY_RECORD, **bounded(0.5, known))
    codes = np.full((1, 2), x.unknown_code, np.int32)
    generalized = generalize([Generalizer(x)], [x], codes, np.zeros(2, np.int32), 1)
    assert PresenceCheck(policy).people(generalized.low, generalized.high).tolist() == [people]
