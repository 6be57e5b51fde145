from __future__ import annotations

import string

import pytest

from stream_anon.errors import Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

ZIP = PrefixDomain(5, "0123456789", 5)
PLACES = CategoricalDomain(
    Hierarchy.from_tree({"north": ["Kiel", "Rostock"], "south": ["Ulm"], "7": None, "true": None})
)


def _reason(domain: CategoricalDomain | PrefixDomain, value: object) -> Reason:
    with pytest.raises(Unfit) as caught:
        domain.code(value)
    return Reason(caught.value.reason)


def test_a_hundred_thousand_postal_codes_need_no_table() -> None:
    assert ZIP.size == 100_000
    codes = [ZIP.code(text) for text in ("02138", "02139", "02141")]
    assert codes == [2138, 2139, 2141]
    assert ZIP.publish(*ZIP.node(2138, 2138)) == "02138"
    assert ZIP.publish(*ZIP.node(2138, 2139)) == "0213*"
    assert ZIP.publish(*ZIP.node(2138, 2141)) == "021**"
    assert ZIP.publish(*ZIP.node(2138, 92139)) == "*"
    assert [ZIP.ncp(*ZIP.node(2138, high)) for high in (2138, 2139, 2141, 2999, 99_999)] == [0, 0.2, 0.4, 0.6, 1]
    assert [ZIP.level(2138, high) for high in (2138, 2139, 2141, 2999, 99_999)] == [0, 1, 2, 3, 5]


def test_a_number_gets_its_leading_zeros_back_where_the_policy_says_so() -> None:
    padded = PrefixDomain(5, "0123456789", 5, pad=True)
    assert padded.code(2138) == padded.code(2138.0) == padded.code("02138")
    assert padded.code(0) == 0
    assert _reason(padded, "2138") is Reason.UNKNOWN_VALUE


def test_a_number_is_the_text_of_its_digits() -> None:
    assert ZIP.code(12138) == ZIP.code(12138.0) == ZIP.code("12138")
    assert _reason(ZIP, 2138) is Reason.UNKNOWN_VALUE


POST = PrefixDomain(7, string.digits + string.ascii_uppercase, 5, shorter=True)


def test_texts_of_several_lengths_are_published_without_their_length() -> None:
    codes = [POST.code(text) for text in ("SW1A", "SW1A2AA", "SW1", "E1")]
    for low, high, published in ((0, 1, "SW1A*"), (0, 2, "SW1*"), (0, 3, "*"), (1, 1, "SW1A2*"), (2, 2, "SW1")):
        bounds = POST.node(*sorted((codes[low], codes[high])))
        assert POST.publish(*bounds) == published
        assert POST.read(published) == bounds
    assert [POST.level(*sorted((codes[0], codes[other]))) for other in (0, 1, 2, 3)] == [2, 3, 4, 7]


@pytest.mark.parametrize("value", ["", "SW1A2AAX", "sw1", "SW 1", 12345678])
def test_a_text_that_is_too_long_or_of_other_letters_is_rejected(value: object) -> None:
    assert _reason(POST, value) is Reason.UNKNOWN_VALUE


def test_the_node_above_a_shorter_text_is_a_beginning_of_it() -> None:
    attribute = QuasiIdentifier("post", POST)
    short = attribute.code("SW1A")
    above = attribute.above(*attribute.node(short, short))
    assert attribute.publish(*above) == "SW1A*"
    assert attribute.publish(*attribute.above(*above)) == "SW1*"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("2138", Reason.UNKNOWN_VALUE),
        ("021389", Reason.UNKNOWN_VALUE),
        ("0213x", Reason.UNKNOWN_VALUE),
        ("٠٢١٣٨", Reason.UNKNOWN_VALUE),
        (123456, Reason.UNKNOWN_VALUE),
        (-2138, Reason.WRONG_TYPE),
        (2138.5, Reason.WRONG_TYPE),
        (True, Reason.WRONG_TYPE),
        (None, Reason.WRONG_TYPE),
        (["02138"], Reason.WRONG_TYPE),
        (float("nan"), Reason.WRONG_TYPE),
        (float("inf"), Reason.WRONG_TYPE),
    ],
)
def test_a_value_that_is_no_postal_code_is_rejected(value: object, reason: Reason) -> None:
    assert _reason(ZIP, value) is reason


def test_characters_beyond_the_code_are_not_published() -> None:
    cut = PrefixDomain(8, "ABCDEFGH", 3)
    assert cut.size == 512
    code = cut.code("CADEEEEE")
    assert code == cut.code("CADAAAAA")
    assert cut.publish(*cut.node(code, code)) == "CAD*****"
    assert (cut.level(code, code), cut.ncp(code, code)) == (5, 5 / 8)
    assert cut.publish(*cut.node(0, 511)) == "*"
    assert _reason(cut, "CADEEEEZ") is Reason.UNKNOWN_VALUE


@pytest.mark.parametrize(("value", "label"), [("Ulm", "Ulm"), (7, "7"), (7.0, "7"), ("7", "7"), (True, "true")])
def test_numbers_and_truth_values_find_their_labels(value: object, label: str) -> None:
    assert PLACES.code(value) == PLACES.hierarchy.code_of[label]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("Bonn", Reason.UNKNOWN_VALUE),
        ("north", Reason.UNKNOWN_VALUE),  # a group is no value
        ("*", Reason.UNKNOWN_VALUE),
        ("True", Reason.UNKNOWN_VALUE),
        (8, Reason.UNKNOWN_VALUE),
        (1, Reason.UNKNOWN_VALUE),
        (7.5, Reason.WRONG_TYPE),
        ({"a": 1}, Reason.WRONG_TYPE),
        (float("-inf"), Reason.WRONG_TYPE),
        pytest.param(10**5000, Reason.UNKNOWN_VALUE, id="5000 digits"),
    ],
)
def test_a_value_that_is_no_category_is_rejected(value: object, reason: Reason) -> None:
    assert _reason(PLACES, value) is reason


def test_the_top_is_published_as_the_star_whatever_its_own_name() -> None:
    own = CategoricalDomain(Hierarchy.from_rows([["a", "everything"], ["b", "everything"]]))
    assert own.publish(*own.node(0, 1)) == "*"
    assert own.ncp(0, 1) == 1
    assert own.level(0, 1) == own.height == 1
