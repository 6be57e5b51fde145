from __future__ import annotations

from typing import Any

import pytest

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Identifier, Insensitive, QuasiIdentifier, Sensitive
from stream_anon.microdata.domains import CategoricalDomain
from stream_anon.microdata.hierarchy import Hierarchy
from stream_anon.microdata.policy import EVERY_RECORD, Diversity, Policy, WindowLimits

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
def test_a_policy_that_cannot_hold_is_taken(changes: dict[str, Any], key: str) -> None:
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
def test_limits_that_never_close_a_window_are_taken(limits: dict[str, Any], key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        WindowLimits(**limits)
    assert caught.value.key == key


def test_one_value_counts_as_diverse() -> None:
    with pytest.raises(SettingsError, match="between 2"):
        Diversity(1)


def test_identifiers_are_published_or_columns_change_their_order() -> None:
    policy = _policy(diversity={"ill": Diversity(2)})
    assert [a.name for a in policy.published] == ["sex", "ill", "note"]
    assert [a.name for a in policy.quasi_identifiers] == ["sex"]
    assert [a.name for a in policy.passed] == ["ill", "note"]
    assert [a.name for a in policy.diverse] == ["ill"]
    assert policy.attribute("ill") is ILL
    assert not _policy().diverse
    assert _policy(individual=EVERY_RECORD).individual == EVERY_RECORD
