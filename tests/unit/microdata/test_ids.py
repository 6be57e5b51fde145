from __future__ import annotations

import sys
import unicodedata
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.coding import individual_key
from stream_anon.microdata.ids import MOST_LETTERS, Normalization, in_order, normalized

ALL = tuple(Normalization)
UUID = "0fab37c1-22d0-4b4e-9d0c-5a1f0e6c7d88"

# Each step with pairs that it alone makes alike, and pairs that it leaves apart.
PAIRS: dict[Normalization, tuple[list[tuple[str, str]], list[tuple[str, str]]]] = {
    Normalization.NFKC: (
        [("Jos\u00e9", "Jose\u0301"), ("\uff11\uff12", "12"), ("\ufb01n", "fin"), ("\u212b", "\u00c5")],
        [("a", "A"), ("1", "01"), ("a", " a"), ("e", "\u00e9")],
    ),
    Normalization.CASEFOLD: (
        [("Anna", "aNNA"), ("Stra\u00dfe", "STRASSE"), ("\u03a3", "\u03c2"), ("\u00c9", "\u00e9")],
        [("\u00e9", "e\u0301"), ("a", "a "), ("1", "01")],
    ),
    Normalization.STRIP: (
        [("a", " a"), ("a b", "a b\t"), ("a", "\ufeffa"), ("a", "a\u200b\u00a0"), ("a", "\x7fa\x00")],
        [("a b", "ab"), ("a", "A"), ("1", "01")],
    ),
    Normalization.UUID: (
        [(UUID, UUID.upper()), (UUID, f"{{{UUID}}}"), (UUID, UUID.replace("-", "")), (UUID, f"URN:uuid:{UUID}")],
        [(UUID, f"{{{UUID}"), (UUID, UUID[:-1]), (UUID, f"x{UUID}"), (UUID, UUID.replace("-", "", 1))],
    ),
    Normalization.DIGITS: (
        [("1", "01"), ("0", "000"), ("12", "\u0661\u0662"), ("12", "\uff11\uff12")],
        [("1", "10"), ("-1", "-01"), ("a1", "a01"), ("1.0", "1"), ("\u00b2", "2"), ("", "0")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("step", Normalization)
def test_each_step_makes_its_spellings_alike_and_no_others(step: Normalization) -> None:
    alike, apart = PAIRS[step]
    for one, other in alike:
        assert one != other
        assert normalized(one, ()) != normalized(other, ())
        assert normalized(one, (step,)) == normalized(other, (step,))
        assert normalized(one, ALL) == normalized(other, ALL)
    for one, other in apart:
        assert normalized(one, (step,)) != normalized(other, (step,))


def test_ten_spellings_are_one_person() -> None:
    spellings = [" JOS\u00c9-01 ", "jose\u0301-01", "Jos\u00e9-\uff10\uff11", "\ufeffJOSE\u0301-01"]
    assert len({individual_key(spelling, ALL) for spelling in spellings}) == 1
    assert len({individual_key(spelling) for spelling in spellings}) == len(spellings)
    numbers = [7, 7.0, "7", "07", " 007", "\uff17", "\u0667", "0\u0667\u00a0"]
    assert len({individual_key(number, ALL) for number in numbers}) == 1


texts = st.text(max_size=12) | st.text(
    "aA\u00df\u0130i\u0307\u0345\u03b1\u1fb3\u03f4\u212b 0\u0661\uff10{-}", max_size=12
)


@given(texts, st.sets(st.sampled_from(ALL)))
def test_normalizing_an_id_twice_changes_nothing_more(text: str, steps: set[Normalization]) -> None:
    once = normalized(text, steps)
    assert normalized(once, steps) == once


@given(texts, texts)
def test_more_steps_never_tell_apart_ids_that_fewer_steps_make_alike(one: str, other: str) -> None:
    few = "0" * 31 + "7"
    for text, twin in ((one, other), (one, one.upper()), (one, f" {one}"), (one, f"0{one}"), (few, "7")):
        for size in range(len(ALL)):
            for steps in combinations(ALL, size):
                if normalized(text, steps) == normalized(twin, steps):
                    assert normalized(text, ALL) == normalized(twin, ALL)


def test_every_letter_folds_as_the_unicode_standard_says() -> None:
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        if letter.isascii() or unicodedata.category(letter) in ("Cs", "Cn", "Co"):
            continue
        first = unicodedata.normalize("NFKD", unicodedata.normalize("NFD", letter).casefold()).casefold()
        expected = unicodedata.normalize("NFKC", first)  # D146
        assert normalized(letter, (Normalization.NFKC, Normalization.CASEFOLD)) == expected, hex(code)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\u1fb3\u0323", "\u0391\u0323\u0399"),
        ("\u1f80\u0313", "\u1f00\u0313\u03b9"),
        ("\u0345\u0323", "\u0323\u0399"),
    ],
)
def test_marks_are_folded_before_they_are_ordered(one: str, other: str) -> None:
    steps = (Normalization.NFKC, Normalization.CASEFOLD)
    assert normalized(one, steps) == normalized(other, steps)


@pytest.mark.parametrize("blank", ["", "   ", "\u200b", "\t\ufeff"])
def test_an_id_of_blanks_is_rejected_where_blanks_are_stripped(blank: str) -> None:
    with pytest.raises(Unfit) as caught:
        individual_key(blank, ALL)
    assert caught.value.reason == Reason.NO_INDIVIDUAL


def test_an_id_that_would_take_long_to_normalize_is_rejected() -> None:
    """The normal form of so many marks would take 22 seconds."""
    for text in ("e" + "\u0300\u0323" * 100_000, "1" * (MOST_LETTERS + 1), int("1" * (MOST_LETTERS + 1))):
        with pytest.raises(Unfit) as caught:
            individual_key(text, (Normalization.NFKC,))
        assert caught.value.reason == Reason.WRONG_TYPE
        individual_key(text)
    individual_key("e" + "\u0300" * (MOST_LETTERS - 1), ALL)


def test_steps_have_one_order_however_they_are_listed() -> None:
    assert in_order(["digits", "nfkc", "digits"]) == (Normalization.NFKC, Normalization.DIGITS)  # type: ignore[list-item]
    assert in_order(set(ALL)) == ALL
