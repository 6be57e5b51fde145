"""What the policy alone tells of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream_anon.judging.findings import Severity, policy_findings
from stream_anon.settings.policy_file import load_policy
from tests.support import completed
from tests.support.policies import write_document

FAMILIES = {"invariant": 2, "families": [["flu", "cold"], ["gout", None]]}
AGE: dict[str, Any] = {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99, "levels": [10, 20]}}


def _places(folder: Path, publish: str, engine: dict[str, Any], age: dict[str, Any]) -> list[str]:
    document = {
        "privacy": {
            "k": 2,
            "individual": "person",
            "sensitive": {"illness": {**FAMILIES, "publish": publish}},
        },
        "engine": engine,
        "attributes": {
            "person": {"role": "identifier"},
            "age": {**AGE, **age},
            "illness": {"role": "sensitive"},
        },
    }
    found = policy_findings(load_policy(write_document(folder, document)))
    return [one.place for one in found if one.severity is Severity.WARNS and "families" in one.text]


@pytest.mark.parametrize(
    ("engine", "age", "warned"),
    [
        ({"name": "full-domain", "levels": {"age": 1}}, {}, True),
        ({"name": "forest"}, {"max_level": 1}, True),
        ({"name": "forest"}, {"min_level": 1}, False),
        ({"name": "forest"}, {}, False),
    ],
)
def test_levels_at_which_whole_families_are_often_short_are_warned_of(
    tmp_path: Path, engine: dict[str, Any], age: dict[str, Any], warned: bool
) -> None:
    assert _places(tmp_path, "value", engine, age) == ["privacy.sensitive.illness.publish"] * warned
    assert _places(tmp_path, "family", engine, age) == []


def test_counterfeits_are_warned_of_with_the_people_that_a_class_may_have(tmp_path: Path) -> None:
    for privacy, told in (({"k": 11}, ["6 people"]), ({"counterfeits": None}, [])):
        policy = load_policy(write_document(tmp_path, completed.policy_with(**privacy)))
        found = [one for one in policy_findings(policy) if one.place == "privacy.counterfeits"]
        assert [one.severity for one in found] == [Severity.WARNS] * len(told)
        assert all(words in one.text for one, words in zip(found, told, strict=True))
