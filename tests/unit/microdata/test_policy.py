from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Identifier, Insensitive, Sensitive
from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.diversity import Closeness, Distance, Diversity, Recursion
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

SEX = QuasiIdentifier("sex", CategoricalDomain(Hierarchy.flat(["f", "m"])))
NAME, ILL, NOTE = Identifier("name"), Sensitive("ill"), Insensitive("note")


def _policy(**changes: Any) -> Policy:
    given: dict[str, Any] = {"attributes": (NAME, SEX, ILL, NOTE), "k": 3, "individual": "name"}
    return Policy(**(given | changes))


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"k": 1}, "privacy.k"),
        ({"k": 1_000_001}, "privacy.k"),
        ({"max_share": 0}, "privacy.max_share"),
        ({"max_share": 1.1}, "privacy.max_share"),
        ({"max_share": 0.3}, "privacy.max_share"),  # three people cannot each have less than a third
        ({"max_share": float("nan")}, "privacy.max_share"),
        ({"k": 20, "window": WindowLimits(max_records=19)}, "window.max_records"),
        ({"individual": "who"}, "privacy.individual"),
        ({"individual": "sex"}, "privacy.individual"),
        ({"individual": "note"}, "privacy.individual"),
        ({"attributes": (NAME, ILL)}, "attributes"),
        ({"diversity": {"sex": Diversity(2)}}, "privacy.sensitive.sex"),
        ({"diversity": {"what": Diversity(2)}}, "privacy.sensitive.what"),
        ({"attributes": (NAME, SEX, Insensitive("a..b"))}, "attributes.a..b"),
        ({"attributes": (NAME, SEX, Insensitive("a"), Insensitive("a.b"))}, "attributes.a"),
        ({"attributes": (NAME, SEX, Insensitive("sex"))}, "attributes.sex"),
    ],
)
def test_an_impossible_policy_is_refused(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        _policy(**changes)
    assert caught.value.key == key


@pytest.mark.parametrize(
    ("limits", "key"),
    [
        ({"max_records": 1}, "window.max_records"),
        ({"max_records": 10_000_001}, "window.max_records"),
        ({"max_delay": 0.01}, "window.max_delay"),
        ({"max_delay": float("nan")}, "window.max_delay"),
        ({"max_records_per_individual": 0}, "window.max_records_per_individual"),
    ],
)
def test_limits_that_never_close_a_window_are_refused(limits: dict[str, Any], key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        WindowLimits(**limits)
    assert caught.value.key == key


def test_one_value_does_not_count_as_diverse() -> None:
    with pytest.raises(SettingsError, match="between 2"):
        Diversity(1)


@pytest.mark.parametrize(
    ("make", "key", "allowed"),
    [
        (lambda: Diversity(p_sensitive=1), "p_sensitive", "between 2 and"),
        (lambda: Diversity(entropy_l=1.0), "entropy_l", "above 1"),
        (lambda: Diversity(entropy_l=float("nan")), "entropy_l", "above 1"),
        (lambda: Diversity(alpha=1.0), "alpha", "below 1"),
        (lambda: Diversity(delta_disclosure=0.0), "delta_disclosure", "above 0"),
        (lambda: Diversity(delta_disclosure=101), "delta_disclosure", "at most 100"),
        (lambda: Diversity(beta_likeness=float("nan")), "beta_likeness", "above 0"),
        (lambda: Recursion(0, 2), "recursive_cl.c", "above 0"),
        (lambda: Recursion(1, 1), "recursive_cl.l", "between 2"),
        (lambda: Closeness(0.0), "t_closeness.t", "above 0"),
        (Diversity, "", "at least one of distinct_l, entropy_l"),
    ],
)
def test_a_criterion_that_asks_for_nothing_is_refused(make: Callable[[], object], key: str, allowed: str) -> None:
    with pytest.raises(SettingsError, match=allowed) as caught:
        make()
    assert caught.value.key == key


def test_an_ordered_distance_between_words_is_refused() -> None:
    ordered = {"ill": Diversity(t_closeness=Closeness(0.1, Distance.ORDERED))}
    with pytest.raises(SettingsError, match="type: integer or type: number") as caught:
        _policy(diversity=ordered)
    assert caught.value.key == "privacy.sensitive.ill.t_closeness.distance"


def test_values_that_another_criterion_implies_are_asked_for() -> None:
    assert Diversity(entropy_l=2.5).values == 3
    assert Diversity(2, entropy_l=2.0).values == 2
    assert Diversity(p_sensitive=4).values == 4
    assert Diversity(2, recursive_cl=Recursion(1, 5)).values == 5
    assert Diversity(t_closeness=Closeness(0.2)).values == 0
    assert [Diversity(alpha=alpha).values for alpha in (0.9, 0.5, 0.4, 1 / 3, 0.3)] == [2, 2, 3, 3, 4]


def test_identifiers_are_not_published_and_columns_keep_their_order() -> None:
    policy = _policy(diversity={"ill": Diversity(2)})
    assert [a.name for a in policy.published] == ["sex", "ill", "note"]
    assert [a.name for a in policy.quasi_identifiers] == ["sex"]
    assert [a.name for a in policy.passed] == ["ill", "note"]
    assert [a.name for a in policy.diverse] == ["ill"]
    assert policy.attribute("ill") is ILL
    assert not _policy().diverse
    assert _policy(individual=EVERY_RECORD).individual == EVERY_RECORD
