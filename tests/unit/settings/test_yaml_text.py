"""What YAML's readers make of plain words, and documents without an end."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.errors import SettingsError
from stream_anon.settings.loading import load_settings
from stream_anon.settings.yaml_text import MOST_REPEATED, read_yaml
from tests.support.traced import traced


@pytest.mark.parametrize(
    "text", ["NO", "no", "yes", "On", "off", "y", "trueish", "01067", "1_000", "0x1F", "0b1", "1:30", "2025-02-28"]
)
def test_words_and_codes_stay_texts(text: str) -> None:
    assert read_yaml(f"[{text}, {{{text}: 1}}]") == [text, {text: 1}]


def test_numbers_truth_values_and_null_are_read_as_such() -> None:
    assert read_yaml("[0, -12, +7, 1.5, -0.5e+3, true, False, null, ~, ]") == [
        *(0, -12, 7, 1.5, -500.0),
        *(True, False, None, None),
    ]


@pytest.mark.parametrize(
    "text", ["a: &a {b: *a}", "a: [", "2025-02-29: !!timestamp 2025-02-29", "? [1]\n: 2", "a: \t"]
)
def test_an_invalid_document_is_refused_with_its_name(text: str) -> None:
    with pytest.raises(SettingsError, match="is not valid YAML") as caught:
        read_yaml(text, "policy.yaml")
    assert "policy.yaml" in str(caught.value)


def test_a_key_that_stands_twice_is_refused() -> None:
    with pytest.raises(SettingsError, match="stands twice in line 3"):
        read_yaml("a: 1\nb: 2\na: 3")


def test_a_part_may_be_used_twice() -> None:
    assert read_yaml("a: &a {b: [1]}\nc: *a\nd: {<<: *a, e: 2}") == {
        "a": {"b": [1]},
        "c": {"b": [1]},
        "d": {"b": [1], "e": 2},
    }


def _bomb(levels: int = 9, *, merged: bool = False) -> str:
    """Return a few hundred bytes that expand to nine to the power of `levels` items."""
    lines = ["a0: &a0 {" + ", ".join(f"k{n}: lol" for n in range(9)) + "}"]
    for level in range(1, levels):
        again = ", ".join([f"*a{level - 1}"] * 9)
        lines.append(f"a{level}: &a{level} " + (f"{{<<: [{again}]}}" if merged else f"[{again}]"))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("merged", [False, True], ids=["aliases", "merged-keys"])
def test_a_small_document_that_expands_to_gigabytes_is_refused_before_it_does(tmp_path: Path, merged: bool) -> None:
    text = _bomb(merged=merged)
    assert len(text) < 800
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    with traced() as memory:
        with pytest.raises(SettingsError, match=r"policy\.yaml.*repeats more than 1,000,000 characters by aliases"):
            load_settings(file)
        assert memory()[1] < 20 * 2**20


def test_repetition_by_aliases_is_bounded_in_characters() -> None:
    half = "x" * (MOST_REPEATED // 2)
    assert read_yaml(f"a: &a {half}\nb: *a") == {"a": half, "b": half}
    with pytest.raises(SettingsError, match="by aliases"):
        read_yaml(f"a: &a {half}\nb: [*a, *a, *a]")


def test_a_document_without_aliases_may_be_long() -> None:
    items = ["x" * 50] * 40_000
    assert read_yaml("- " + "\n- ".join(items)) == items


def test_a_document_that_is_nested_too_deeply_is_refused_with_a_reason() -> None:
    with pytest.raises(SettingsError, match="nested too deeply"):
        read_yaml("[" * 100_000)
