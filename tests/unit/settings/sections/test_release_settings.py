"""The section `release` of the settings."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from stream_anon.errors import SettingsError
from stream_anon.microdata.output.statement import Statement
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_policy

WHOLE = """
release:
  recipient: University of Oslo
  purpose: >
    research into how often
    people see a doctor
  legal_basis: GDPR 6(1)(e)
  means: telephone book, register of voters
  valid_until: 2027-03-31
  review_by: 2027-01-31
  owner: dpo@example.org
"""


def test_all_of_it_is_read_and_a_folded_text_is_one_line(tmp_path: Path) -> None:
    file = write_policy(tmp_path)
    file.write_text(file.read_text() + WHOLE)
    assert load_policy(file).release == Statement(
        "University of Oslo",
        "research into how often people see a doctor",
        "GDPR 6(1)(e)",
        "telephone book, register of voters",
        dt.date(2027, 3, 31),
        dt.date(2027, 1, 31),
        "dpo@example.org",
    )
    assert load_policy(write_policy(tmp_path)).release == Statement()


@pytest.mark.parametrize(
    ("release", "key", "complaint"),
    [
        ({"valid_until": "31.03.2027"}, "release.valid_until", "must be a day such as 2027-03-31"),
        ({"valid_until": "2027-02-30"}, "release.valid_until", ""),
        ({"valid_until": "2027-03-31T00:00:00"}, "release.valid_until", "must be a day"),
        ({"valid_until": 20270331}, "release.valid_until", "must be a day"),
        ({"review_by": True}, "release.review_by", "must be a day"),
        ({"owner": ["me"]}, "release.owner", ""),
        ({"owner": "x" * 1001}, "release.owner", "1000 characters"),
        ({"purpose": "one\ntwo"}, "release.purpose", "one line"),
        ({"valid_until": "2027-03-31", "review_by": "2027-04-01"}, "release.review_by", "must not be after"),
        ({"until": "2027-03-31"}, "release.until", "unknown key; allowed: recipient, purpose"),
    ],
)
def test_what_is_no_day_or_no_line_is_refused_by_its_key(
    tmp_path: Path, release: dict[str, Any], key: str, complaint: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load_policy(write_policy(tmp_path, release=release))
    assert caught.value.key == key
    assert complaint in str(caught.value)


def test_the_environment_may_name_the_last_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAM_ANON__RELEASE__VALID_UNTIL", "2028-01-01")
    policy = load_policy(write_policy(tmp_path, release={"valid_until": "2027-03-31"}))
    assert policy.release.valid_until == dt.date(2028, 1, 1)
