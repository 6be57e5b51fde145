"""What `check` says about offsets without a ledger entry, and about users who may write to the ledger."""

from __future__ import annotations

import pytest

from stream_anon.adapters.kafka.topics.writers import EVERYBODY
from stream_anon.judging.findings import Severity
from stream_anon.operations.starting.ledger_findings import strangers, unknown_offsets
from stream_anon.ports import LedgerEntry

P, Q = ("people", 0), ("people", 1)


def test_offsets_without_a_ledger_forbid_a_run_where_anything_was_released() -> None:
    (finding,) = unknown_offsets("out.ledger", {P, Q}, None, released=True)
    assert finding.severity is Severity.FORBIDS
    for part in ("people-0, people-1", "the ledger does not exist", "released twice"):
        assert part in finding.text
    assert unknown_offsets("out.ledger", {P, Q}, None, released=False) == []


def test_offsets_without_an_entry_forbid_a_run_and_are_named() -> None:
    (finding,) = unknown_offsets("out.ledger", {P, Q}, {P: LedgerEntry(5)}, released=True)
    assert "people-1" in finding.text
    assert "people-0" not in finding.text
    assert unknown_offsets("out.ledger", {P}, {P: LedgerEntry(5)}, released=True) == []
    many = {("people", n) for n in range(20)}
    assert "and 12 more" in unknown_offsets("out.ledger", many, {}, released=True)[0].text


@pytest.mark.parametrize(
    ("writers", "words"),
    [
        (None, "may not see who can write"),
        (frozenset({EVERYBODY, "User:service"}), "everybody may write"),
        (frozenset({"User:service", "User:other"}), "User:other, User:service"),
    ],
)
def test_strangers_who_may_write_are_warned_of(writers: frozenset[str] | None, words: str) -> None:
    (finding,) = strangers("out.ledger", writers)
    assert finding.severity is Severity.WARNS
    assert words in finding.text


def test_the_service_alone_is_nothing_to_warn_of() -> None:
    assert strangers("out.ledger", frozenset({"User:service"})) == []
    assert strangers("out.ledger", frozenset()) == [], "a super user needs no rule"
