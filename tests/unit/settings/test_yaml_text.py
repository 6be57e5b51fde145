"""What YAML's readers make of plain words, and documents without an end."""

from __future__ import annotations

import pytest

from stream_anon.errors import SettingsError
from stream_anon.settings.yaml_text import read_yaml


@pytest.mark.parametrize(
    "text", ["NO", "no", "yes", "On", "off", "y", "trueish", "01067", "1_000", "0x1F", "0b1", "1:30", "2025-02-28"]
)
def test_a_word_or_a_code_becomes_something_else(text: str) -> None:
    assert read_yaml(f"[{text}, {{{text}: 1}}]") == [text, {text: 1}]


def test_numbers_true_false_and_nothing_are_texts() -> None:
    assert read_yaml("[0, -12, +7, 1.5, -0.5e+3, true, False, null, ~, ]") == [
        *(0, -12, 7, 1.5, -500.0),
        *(True, False, None, None),
    ]


@pytest.mark.parametrize(
    "text", ["a: &a {b: *a}", "a: [", "2025-02-29: !!timestamp 2025-02-29", "? [1]\n: 2", "a: \t"]
)
def test_a_document_without_sense_or_end_gives_a_traceback(text: str) -> None:
    with pytest.raises(SettingsError, match="is not valid YAML") as caught:
        read_yaml(text, "policy.yaml")
    assert "policy.yaml" in str(caught.value)


def test_a_key_stands_twice() -> None:
    with pytest.raises(SettingsError, match="stands twice in line 3"):
        read_yaml("a: 1\nb: 2\na: 3")


def test_a_part_that_is_used_twice_is_refused() -> None:
    assert read_yaml("a: &a {b: [1]}\nc: *a\nd: {<<: *a, e: 2}") == {
        "a": {"b": [1]},
        "c": {"b": [1]},
        "d": {"b": [1], "e": 2},
    }
