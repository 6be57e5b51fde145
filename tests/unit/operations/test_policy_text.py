"""Levels in a policy's text: comments stay, and what is read back is what was meant."""

from __future__ import annotations

import pytest
import yaml

from stream_anon.operations.policy_text import with_lowest_levels


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "attributes:\n  age: {role: x}  # years\n  zip: {role: y}\n",
            "attributes:\n  age: {min_level: 2, role: x}  # years\n  zip: {role: y}\n",
        ),
        (
            "attributes:\n  age: {min_level: 1, role: x}\nprivacy: {k: 3} # people\n",
            "attributes:\n  age: {min_level: 2, role: x}\nprivacy: {k: 3} # people\n",
        ),
        (
            "attributes:\n  # day\n  age:\n    role: x\n    numeric: {min: 0}\n  zip: {}\n",
            "attributes:\n  # day\n  age:\n    min_level: 2\n    role: x\n    numeric: {min: 0}\n  zip: {}\n",
        ),
        (
            "attributes:\n  zip:\n    min_level: 1\n  age:\n    role: x\n    min_level: 0  # all\n",
            "attributes:\n  zip:\n    min_level: 1\n  age:\n    role: x\n    min_level: 2  # all\n",
        ),
        ("attributes: {age: {role: x}}\n", None),
    ],
)
def test_a_level_is_written_where_its_attribute_is(before: str, after: str | None) -> None:
    found = with_lowest_levels(before, {"age": 2}, "policy.yaml")
    wanted = yaml.safe_load(before)
    wanted["attributes"]["age"]["min_level"] = 2
    assert yaml.safe_load(found) == wanted
    assert after is None or found == after


def test_a_policy_without_levels_to_write_stays_as_it_is() -> None:
    text = "# mine\nattributes:\n  age: {role: x}\n"
    assert with_lowest_levels(text, {}, "policy.yaml") == text
