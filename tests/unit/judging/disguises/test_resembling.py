"""Identifiers are found by form and name, and what only looks like one is not."""

from __future__ import annotations

from string import ascii_uppercase
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.formats.tables.undeclared_samples import read_sample
from stream_anon.judging.disguises import forms
from stream_anon.judging.disguises.identifying import NOT_LOOKED_FOR, Identifying
from stream_anon.judging.disguises.resembling import FEWEST, MOST, SOME, in_words, looks_like, resemblance
from stream_anon.microdata.attributes import Insensitive
from tests.support.data import ROOT, shared_data
from tests.support.identifiers import NAMES, OF_PEOPLE, OF_THINGS

DRAWS = np.random.default_rng(5)
WHOLE = DRAWS.integers(0, 10**6, 300).tolist()
AMOUNTS = (DRAWS.integers(0, 10**6, 300) / 100).tolist()

# Numbers that count are of all sizes: as many of them have one digit as six.
COUNTS = [int(10 ** (7.5 * i / 300)) for i in range(300)]
FAMILIES = [
    "Felidae", "Canidae", "Ursidae", "Mustelidae", "Cervidae", "Bovidae", "Equidae", "Suidae", "Muridae",
    "Rosaceae", "Poaceae", "Fabaceae", "Asteraceae", "Brassicaceae", "Solanaceae", "Compositae", "Palmae",
]  # fmt: skip

QUIET: list[tuple[str, list[Any]]] = [
    ("zip", [f"{number % 100_000:05d}" for number in WHOLE]),
    ("postcode", [f"{number % 100_000:05d}-{number % 10_000:04d}" for number in WHOLE]),
    ("postcode", [f"K{number % 10}A {number % 9}B{number % 7}" for number in WHOLE]),
    ("area", [f"{number % 100:02d}-{number % 1000:03d}" for number in WHOLE]),
    ("amount", AMOUNTS),
    ("amount", [f"+{amount}" for amount in AMOUNTS]),
    ("balance", [amount / 1000 for amount in AMOUNTS]),
    ("lat", [float(round(amount) % 90) for amount in AMOUNTS]),
    ("change", [f"{amount:.2f} {amount / 7:.2f}" for amount in AMOUNTS]),
    ("position", list(range(300))),
    ("day", [f"2024-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(300)]),
    ("day", [f"{i % 12 + 1:02d}/{i % 9 + 1:02d}/2024" for i in range(300)]),
    ("day", [f"0{i % 9 + 1}.0{i % 8 + 1}.2024" for i in range(300)]),
    ("phone_date", [f"0{i % 9 + 1}-{i % 28 + 10}-2024" for i in range(300)]),
    ("at", [f"2024-05-{i % 28 + 1:02d}T{i % 24:02d}:30:00Z" for i in range(300)]),
    ("at", [1_700_000_000_000 + 86_399 * i for i in range(300)]),
    ("at", [20240101000000 + 101 * i for i in range(300)]),
    ("login", [f"2024-05-{i % 28 + 1:02d}T{i % 24:02d}:30:00Z" for i in range(300)]),
    ("time", [f"{i % 24:02d}:{i % 60:02d}:{i % 59:02d}" for i in range(300)]),
    ("icd10", [f"{ascii_uppercase[i % 26]}{i % 90 + 10}.{i % 10}" for i in range(300)]),
    ("zone", [f"Upper {side} {part}" for side in ("East", "West", "Old") for part in ("Town", "Hill", "End")]),
    ("product_name", ["Green Tea", "Red Wine", *NAMES[:8], *(f"Old {letter}" for letter in "ABCDEFGHIJKL")]),
    ("patient.drug_name", ["Aspirin", "Beta Blocker", *(f"Drug {letter}" for letter in "ABCDEFGHIJKL")]),
    ("drug.full_name", ["Aspirin", "Beta Blocker", *(f"Drug {letter}" for letter in "ABCDEFGHIJKL")]),
    ("login_country", [f"Land{letter}" for letter in "abcdefghijklm"]),
    ("cell_count", [1_000_000 + number for number in WHOLE]),
    ("phone_calls", [1_000_000 + number for number in WHOLE]),
    ("family_name", FAMILIES),
    ("family_name", [family.upper() for family in FAMILIES]),
    ("familyName", [family for family in FAMILIES if family.endswith("dae")]),
    ("plate", [f"PL{number % 1000:04d}" for number in WHOLE]),
    ("plate_number", [f"Plate {number % 1000}" for number in WHOLE]),
    ("plate_id", [f"{number % 100}-well" for number in WHOLE]),
    ("login", COUNTS),
    ("login", [f"{count}x" for count in COUNTS]),
    ("logins.login", [f"{count / 1000:.1f}k" for count in COUNTS]),
    ("login", [1e16 * count for count in COUNTS]),
    ("login_number", [f"{i}th" for i in range(4, 300)]),
    ("mobile", COUNTS),
    ("mobile", [str(count) for count in COUNTS]),
    ("mobile", [1_000_000 + number for number in WHOLE]),
    ("visits.mobile", [100_000 + number for number in WHOLE]),
    ("telephone_number", COUNTS),
    ("repository", [f"git@example.org:team/part{number}.git" for number in WHOLE]),
    ("name", ["gold", "silver", "bronze", *(f"tier {letter}" for letter in "abcdefghijklm")]),
    ("customer", ["Gold", "Silver", "Bronze", *(f"Tier{letter}" for letter in "abcdefghijklm")]),
    ("version", [f"{i % 7}.{i % 40}.{i % 13}" for i in range(300)]),
    ("phone", [True, False]),
    ("email", ["yes", "no", "unknown"]),
    ("address", ["home", "work", "other", *(f"site {letter}" for letter in "abcdefghijklm")]),
    ("answer", [f"{number % 7} @ {amount}" for number, amount in zip(WHOLE, AMOUNTS, strict=True)]),
    ("software", [f"left-pad@{i % 9}.{i % 40}.{i % 13}" for i in range(300)]),
    ("ratio", [f"{i % 60}:{i % 45}" for i in range(300)]),
    ("score", WHOLE),
    ("ean", [f"{number:06d}" for number in WHOLE]),
    ("account", ["savings", "current", *(f"type {letter}" for letter in "abcdefghijklm")]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "values"), OF_PEOPLE)
def test_an_identifier_of_people_is_found(name: str, kind: Identifying, values: list[Any]) -> None:
    found = resemblance(name, values)
    assert found is not None
    assert (found.kind, found.of_people) == (kind, True)


@pytest.mark.parametrize(("name", "kind", "values"), OF_THINGS)
def test_what_things_have_too_is_found_and_names_nobody_by_itself(
    name: str, kind: Identifying, values: list[Any]
) -> None:
    found = resemblance(name, values)
    assert found is not None
    assert (found.kind, found.of_people) == (kind, False)


@pytest.mark.parametrize(("name", "values"), QUIET)
def test_what_only_looks_like_an_identifier_is_none(name: str, values: list[Any]) -> None:
    assert resemblance(name, values) is None


def test_the_forms_of_values_are_read_once_where_the_records_name_a_field_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []

    def shape(text: str) -> str:
        read.append(text)
        return ""

    monkeypatch.setattr(forms, "shape", shape)
    values = [f"AB-{i}" for i in range(300)]
    assert looks_like(Insensitive("reference", keys=("ref",)), values) is None
    assert sorted(read) == sorted(values)


@pytest.mark.parametrize(("name", "column"), [("phone", "p"), ("p", "phone"), ("phone", "mobile")])
def test_either_name_of_a_field_tells_what_its_values_are(name: str, column: str) -> None:
    found = looks_like(Insensitive(name, keys=(column,)), [10**9 + number for number in WHOLE])
    assert found is not None
    assert (found.kind, found.of_people) == (Identifying.PHONES, True)


def test_of_two_names_one_that_is_of_no_thing_is_enough_to_name_a_person() -> None:
    mails = [f"u{i}@example.org" for i in range(40)]
    for name, column, of_people in (("store", "contact", True), ("store", "shop", False)):
        found = looks_like(Insensitive(name, keys=(column,)), mails)
        assert found is not None
        assert found.of_people is of_people


def test_books_and_goods_with_check_digits_name_nobody() -> None:
    books = [text for number in range(3_000) if (text := f"3540{number:06d}") and _isbn(text)]
    goods = [text for number in range(3_000) if (text := f"400638{number:07d}") and _ean(text)]
    assert min(len(books), len(goods)) > 200
    for values in (books, goods):
        found = resemblance("article", values)
        assert found is None or not found.of_people


def _isbn(text: str) -> bool:
    return sum(weight * int(digit) for weight, digit in zip(range(10, 0, -1), text, strict=True)) % 11 == 0


def _ean(text: str) -> bool:
    return sum((1 + 2 * (place % 2)) * int(digit) for place, digit in enumerate(text)) % 10 == 0


@pytest.mark.parametrize("name", ["adult", "taxis", "students", "receipts", "drugs"])
def test_real_data_without_identifiers_raises_no_alarm(name: str) -> None:
    path = {
        "adult": ("arx-adult", "adult.csv"),
        "taxis": ("nyc-taxi", "taxis.csv"),
        "students": ("pycanon", "StudentsMath_Score.csv"),
        "receipts": ("receipts", "receipt.csv"),
        "drugs": ("pycanon", "drugs_k5.csv"),
    }[name]
    columns = read_sample(shared_data(*path)).columns
    assert columns
    found = {
        field: what.kind
        for field, column in columns.items()
        if (what := resemblance(field, column.distinct[:1_000])) is not None
    }
    codes = {"rid": Identifying.CODES, "iid": Identifying.CODES}  # of receipts and of people
    assert found == (codes if name == "receipts" else {})


@given(st.integers(0, 200), st.integers(1, 200))
def test_e_mail_is_told_from_a_share_and_a_number_on(mails: int, others: int) -> None:
    values = [*(f"u{i}@example.org" for i in range(mails)), *(f"plain{i}" for i in range(others))]
    found = resemblance("field", values)
    if mails >= max(FEWEST, SOME * (mails + others)):
        assert found is not None
        assert (found.kind, found.share) == (Identifying.EMAILS, mails / (mails + others))
    else:
        assert found is None


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_form_that_other_values_have_too_takes_most_values(phones: int, others: int) -> None:
    values = [*(f"030 {1000000 + i}" for i in range(phones)), *("x" * i for i in range(1, others + 1))]
    found = resemblance("phone", values)
    assert (found is not None) is (phones >= max(FEWEST, MOST * (phones + others)))


FIELDS = st.sampled_from([*OF_PEOPLE, *OF_THINGS])


@given(FIELDS, st.randoms(use_true_random=False), st.integers(1, 3))
def test_neither_order_nor_repeats_nor_lists_change_what_is_found(
    field: tuple[str, Identifying, list[Any]], random: Any, times: int
) -> None:
    name, _, values = field
    mixed = [*values] * times
    random.shuffle(mixed)
    assert resemblance(name, mixed) == resemblance(name, values)
    assert resemblance(name, [None, tuple(mixed), (None,)]) == resemblance(name, values)


@pytest.mark.parametrize(("name", "kind", "values"), [*OF_PEOPLE, *OF_THINGS])
def test_words_hold_a_share_and_a_kind_and_no_value(name: str, kind: Identifying, values: list[Any]) -> None:
    found = resemblance(name, values)
    assert found is not None
    text = in_words(found)
    assert str(kind) in text
    assert "% of its different values look like" in text
    assert not [value for value in values if len(str(value)) > 3 and str(value) in text]


TEXTS = st.one_of(
    st.text(max_size=80),
    st.text(alphabet="0123456789+-./:@ ABCabcxyz,()", max_size=80),
    st.sampled_from(["@" * 400, "a@" * 200, "1" * 500, "1-" * 250, "a." * 250, "+" + "1 " * 240, "x" * 499 + "@"]),
)
PREDICATES = [
    form for name, form in vars(forms).items() if name.startswith(("is_", "may_be_")) and name != "ip_address"
]


@given(TEXTS)
def test_every_form_says_yes_or_no_of_any_text(text: str) -> None:
    assert all(predicate(text[: forms.MOST_READ]) in (True, False) for predicate in PREDICATES)


@given(
    st.lists(st.one_of(TEXTS, st.integers(), st.floats(), st.booleans(), st.none()), max_size=40),
    st.text(max_size=20),
)
def test_any_values_and_any_name_can_be_judged(values: list[Any], name: str) -> None:
    found = resemblance(name, values)
    assert found is None or SOME <= found.share <= 1


def test_fewer_than_ten_values_say_nothing_unless_few_are_enough() -> None:
    values = [f"u{i}@example.org" for i in range(FEWEST - 1)]
    assert resemblance("contact", values) is None
    assert resemblance("contact", values, few=True) is not None
    assert resemblance("contact", [*values, *"abc"], few=True) is None


def test_every_letter_of_the_regulation_is_looked_for_or_says_why_not() -> None:
    looked_for = {letter for kind in Identifying for letter in kind.letters}
    assert looked_for.isdisjoint(NOT_LOOKED_FOR)
    assert looked_for | NOT_LOOKED_FOR.keys() == set("ABCDEFGHIJKLMNOPQR")
    page = (ROOT / "docs/guides/choosing-a-policy.md").read_text()
    rows = page.partition("| letter | looked for |")[2].partition("\n\n")[0].splitlines()[2:]
    told = {letter.strip(): row for row in rows for letter in row.split("|")[1].split(",")}
    assert told.keys() - {""} == set("ABCDEFGHIJKLMNOPQR")
    assert {letter for letter, row in told.items() if "| not looked for |" in row} == NOT_LOOKED_FOR.keys()
    assert all(kind.letters for kind in Identifying if kind is not Identifying.FREE_TEXT)
