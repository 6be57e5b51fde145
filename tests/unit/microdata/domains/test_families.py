"""Families: which may be declared, and how they are published."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import SettingsError, Unfit
from stream_anon.microdata.attributes import ScalarType, Sensitive, pass_value
from stream_anon.microdata.domains.families import MOST_LABEL, MOST_VALUES, Family, label_of, labels_of

VALUES = st.none() | st.text(st.characters(codec="utf-8", exclude_characters="|"), max_size=6).filter(
    lambda text: text != "null"
)
FAMILIES = st.lists(VALUES, min_size=4, max_size=12, unique=True).flatmap(
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
    ],
    ids=["alone", "in-two", "repeated", "bar", "null", "long", "many"],
)
def test_families_that_could_be_mistaken_are_refused_by_the_place_of_the_setting(
    families: tuple[Family, ...], why: str
) -> None:
    with pytest.raises(SettingsError, match=why):
        labels_of(families)
    with pytest.raises(SettingsError, match=rf"privacy\.sensitive\.illness\.families: .*{why}"):
        Sensitive("illness", families=families)


@pytest.mark.parametrize("changes", [{"type": ScalarType.INTEGER}, {"many": True}], ids=["number", "list"])
def test_families_are_for_single_texts(changes: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="type: string"):
        Sensitive("illness", families=(("1", "2"),), **changes)


@pytest.mark.parametrize(("value", "reason"), [("other", 10), (None, 7), (1, 8), ("a|b", 10)])
def test_what_is_in_no_family_is_rejected_with_its_reason(value: object, reason: int) -> None:
    with pytest.raises(Unfit) as raised:
        pass_value(Sensitive("illness", families=(("a", "b"),)), value)
    assert raised.value.reason == reason
