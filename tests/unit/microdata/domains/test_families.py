"""Families: which may be declared, and how they are published."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import SettingsError, Unfit
from stream_anon.microdata.attributes import ScalarType, Sensitive, pass_value
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.families import MOST_LABEL, MOST_VALUES, Family, folded, label_of, labels_of

VALUES = st.none() | st.text(st.characters(codec="utf-8", exclude_characters="|"), max_size=6).filter(
    lambda text: text != "null" and folded(text) != ""
)
FAMILIES = st.lists(VALUES, min_size=4, max_size=12, unique_by=folded).flatmap(
    lambda values: st.integers(2, len(values) - 2).map(lambda cut: (tuple(values[:cut]), tuple(values[cut:])))
)


@given(FAMILIES)
def test_whoever_sees_what_is_published_knows_the_family_and_no_more(families: tuple[Family, Family]) -> None:
    attribute = Sensitive("illness", families=families)
    shown = [{pass_value(attribute, value) for value in family} for family in families]
    assert [len(one) for one in shown] == [1, 1]
    assert shown[0] != shown[1]
    for family, (label,) in zip(families, shown, strict=True):
        assert isinstance(label, str)
        assert {None if text == "null" else text for text in label.split("|")} == set(family)


@given(FAMILIES)
def test_the_order_of_values_does_not_show(families: tuple[Family, Family]) -> None:
    assert [label_of(family) for family in families] == [label_of(family[::-1]) for family in families]


@pytest.mark.parametrize(
    ("families", "why"),
    [
        ((("a",),), "at least two"),
        ((("a", "b"), ("b", "c")), "twice"),
        ((("a", "a"),), "twice"),
        ((("a", "b|c"),), "stands between"),
        ((("null", "b"),), "missing"),
        ((("a" * MOST_LABEL, "b"),), "letters"),
        ((tuple(map(str, range(MOST_VALUES + 1))),), "values in all"),
        ((("a", "b"), ("c", "")), "empty text .* family 2 has"),
        (((" \t", "b"), ("c", "d")), "of blanks, as family 1 has"),
        ((("\u200b\u3000", "b"),), "of blanks, as family 1 has"),
        ((("a", "b"), ("c", "A")), r"only in case.* \(family 1 and family 2\)"),
        ((("a", " a\u00a0"),), r"blanks around.* \(family 1\)"),
        ((("c", "d"), ("\u00e9", "e\u0301")), r"Unicode form.* \(family 2\)"),
        ((("\uff21", "b"), ("c", "d"), ("a", "e")), r"\(family 1 and family 3\)"),
        ((("Stra\u00dfe", "b"), ("STRASSE", "c")), r"\(family 1 and family 2\)"),
        ((("Null", "b"), ("c", None)), r"\(family 1 and family 2\)"),
    ],
    ids=[
        *("alone", "in-two", "repeated", "bar", "null", "long", "many", "empty", "blank", "no-letter"),
        *("case", "blanks", "form", "wide", "sharp-s", "null-in-capitals"),
    ],
)
def test_families_that_could_be_mistaken_are_refused_by_the_place_of_the_setting(
    families: tuple[Family, ...], why: str
) -> None:
    with pytest.raises(SettingsError, match=why):
        labels_of(families)
    with pytest.raises(SettingsError, match=rf"privacy\.sensitive\.illness\.families: .*{why}"):
        Sensitive("illness", families=families)


def test_no_value_is_named_where_two_are_alike() -> None:
    """A sample may have brought them."""
    with pytest.raises(SettingsError) as raised:
        labels_of((("secret", "b"), ("SECRET ", "c")))
    assert "secret" not in str(raised.value).lower()


def test_long_values_are_compared_as_they_are_written() -> None:
    assert len(labels_of((("a" * 600, "b"), ("A" * 600, "c")))) == 4


def test_the_order_of_families_and_of_their_values_makes_no_other_attribute() -> None:
    first = Sensitive("illness", families=(("b", None, "a"), ("d", "c")))
    assert first == Sensitive("illness", families=(("c", "d"), ("a", "b", None)))
    assert first.families == (("a", "b", None), ("c", "d"))


@pytest.mark.parametrize("changes", [{"type": ScalarType.INTEGER}, {"many": True}], ids=["number", "list"])
def test_families_are_for_single_texts(changes: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="type: string"):
        Sensitive("illness", families=(("1", "2"),), **changes)


@pytest.mark.parametrize(("value", "reason"), [("other", 10), (None, 7), (1, 8), ("a|b", 10)])
def test_what_is_in_no_family_is_rejected_with_its_reason(value: object, reason: int) -> None:
    with pytest.raises(Unfit) as raised:
        pass_value(Sensitive("illness", families=(("a", "b"),)), value)
    assert raised.value.reason == reason


@pytest.mark.parametrize("value", ["other", "c", "A", "a|b", "null", "", None])
def test_what_no_family_lists_is_published_as_the_rest(value: object) -> None:
    attribute = Sensitive("illness", families=(("a", "b"),), rest="other")
    assert pass_value(attribute, value) == "other"
    assert pass_value(attribute, "a") == "a|b"
    assert attribute.labels == ("a|b", "other")


def test_a_missing_value_that_a_family_lists_is_not_in_the_rest() -> None:
    assert pass_value(Sensitive("illness", families=(("a", None),), rest="other"), None) == "a|null"


def test_a_value_of_another_type_is_rejected_beside_a_rest_too() -> None:
    with pytest.raises(Unfit) as unfit:
        pass_value(Sensitive("illness", families=(("a", "b"),), rest="other"), 1)
    assert unfit.value.reason == Reason.WRONG_TYPE


@pytest.mark.parametrize(
    ("families", "rest", "why"),
    [
        ((), "other", "needs families"),
        ((("a", "b"),), "", "must be a name"),
        ((("a", "b"),), " ", "must be a name"),
        ((("a", "b"),), "c|d", "must be a name"),
        ((("a", "b"),), "B ", "no value of a family"),
        ((("a", "b"),), "Null", "no value of a family, and not null"),
        ((("a", "b"),), "x" * (MOST_LABEL + 1), "1,000 letters"),
    ],
    ids=["no-families", "empty", "blank", "as-a-family", "a-value", "missing", "long"],
)
def test_a_rest_that_could_be_mistaken_is_refused(families: tuple[Family, ...], rest: str, why: str) -> None:
    with pytest.raises(SettingsError, match=rf"privacy\.sensitive\.illness\.rest: .*{why}"):
        Sensitive("illness", families=families, rest=rest)
