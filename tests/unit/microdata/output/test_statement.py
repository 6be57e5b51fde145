"""What is stated of a release: one line a text, and days that count to their end in UTC."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import SettingsError
from stream_anon.microdata.output.statement import DAY, MOST_LETTERS, Statement, end_of

WORDS = ("recipient", "purpose", "legal_basis", "means", "owner")


@given(st.dates(dt.date(1970, 1, 1)))
def test_a_day_ends_where_the_next_one_begins_in_utc(day: dt.date) -> None:
    begins = dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC).timestamp()
    assert end_of(day) == begins + DAY
    assert Statement(valid_until=day).ends == begins + DAY


def test_a_statement_without_a_last_day_never_ends() -> None:
    assert Statement(owner="dpo@example.org", review_by=dt.date(2027, 1, 1)).ends is None


@pytest.mark.parametrize("key", WORDS)
@pytest.mark.parametrize(
    "text", ["two\nlines", "a\tb", "\x1b[31mred", "\u202egnihtyna", "a\u2028b", "\x00", "\ud800"]
)
def test_a_text_of_several_lines_or_with_a_control_character_is_refused_without_quoting_it(
    key: str, text: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        Statement(**{key: text})
    assert caught.value.key == f"release.{key}"
    assert text not in str(caught.value)


@pytest.mark.parametrize("key", WORDS)
def test_a_text_may_be_long_and_of_any_language_up_to_a_bound(key: str) -> None:
    for text in (
        "x" * MOST_LETTERS,
        "Ärztekammer, § 75 SGB X",
        "پژوهش‌های پزشکی",
        "研究のため",
        "GDPR 6(1)(e): “public”",
    ):
        assert Statement(**{key: text}).told == {key: text}
    with pytest.raises(SettingsError, match="at most 1,000 characters"):
        Statement(**{key: "x" * (MOST_LETTERS + 1)})


def test_a_review_after_the_last_day_is_refused() -> None:
    last = dt.date(2027, 3, 31)
    Statement(valid_until=last, review_by=last)
    with pytest.raises(SettingsError, match=r"release\.review_by: must not be after valid_until"):
        Statement(valid_until=last, review_by=last + dt.timedelta(days=1))


def test_reports_are_told_what_is_stated_and_nothing_else() -> None:
    assert Statement().told == {}
    assert Statement(owner="us", valid_until=dt.date(2027, 3, 31)).told == {
        "owner": "us",
        "valid_until": "2027-03-31",
    }
