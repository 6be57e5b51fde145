"""The digests of classes: what they tell apart, and what makes no difference."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from stream_anon.formats.tables.passed_columns import PassedColumns
from stream_anon.formats.writing.passed_texts import PassedTexts
from stream_anon.microdata.attributes import Insensitive, ScalarType, Sensitive
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.output.digest_key import DigestKey
from stream_anon.microdata.payload import Payload
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import SUPPRESSED, Classes, Release, release_without_window
from stream_anon.privacy import content_digests
from stream_anon.privacy.content_digests import class_digests
from stream_anon.privacy.policy_document import PolicyDocument

BATCH, PROMISES = "ab" * 16, "sha256:" + "cd" * 32
SECRET = b"a secret of the controller"
HASHED = hashlib.blake2b(SECRET, person=b"digests").digest()
POLICY = Policy(
    (
        QuasiIdentifier("city", CategoricalDomain(Hierarchy.flat(["a", "b"]))),
        Sensitive("illness", ScalarType.STRING),
        Insensitive("dose", ScalarType.NUMBER),
        Insensitive("tags", ScalarType.STRING, many=True),
    ),
    2,
    "every-record",
    digest_key=DigestKey(SECRET),
)
Row = tuple[Any, ...]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
DOSES = st.one_of(
    st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x % 1)
)
ROWS = st.tuples(
    st.none() | TEXTS.filter(bool),
    st.none() | DOSES,
    st.none() | st.lists(TEXTS, min_size=1, max_size=3).map(tuple),
)


def _release(rows: Sequence[Row], own: Sequence[int], payload: Payload | None = None) -> Release:
    class_of_row = np.array(own, np.int32)
    order = np.flatnonzero(class_of_row != SUPPRESSED)[::-1].astype(np.int64)
    count = int(class_of_row.max(initial=SUPPRESSED)) + 1
    sizes, bounds = np.bincount(class_of_row[order], minlength=count), np.zeros((1, count), np.int32)
    classes = Classes(bounds, bounds, [[f"class {i}" for i in range(count)]], sizes, sizes, np.zeros((1, count)))
    return release_without_window(classes, class_of_row, list(rows) if payload is None else payload, order)


def _plain(batch: str, published: str, rows: Sequence[Row], key: bytes = HASHED) -> str:
    lines = sorted(json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() for row in rows)
    head = [f"stream_anon digest 1 {batch} {PROMISES}".encode(), json.dumps([published]).encode()]
    return hashlib.blake2b(b"".join(line + b"\n" for line in (*head, *lines)), digest_size=32, key=key).hexdigest()


@given(
    st.lists(
        st.tuples(
            st.sampled_from([("flu", 1, ("x",)), ("flu", 1, ("x", "y")), ("cold", 2.5, None)]), st.integers(-1, 3)
        )
    )
)
def test_a_digest_is_the_hash_of_the_sorted_lines_of_a_class(drawn: list[tuple[Row, int]]) -> None:
    rows, own = [row for row, _ in drawn], [number for _, number in drawn]
    expected = [
        _plain(BATCH, f"class {number}", [row for row, of in drawn if of == number])
        for number in range(max(own, default=-1) + 1)
    ]
    assert class_digests(_release(rows, own), POLICY, BATCH, PROMISES) == expected


@pytest.mark.parametrize("alike", range(18))
def test_lines_are_sorted_by_their_bytes_wherever_they_begin_to_differ(alike: int) -> None:
    endings = ["", "a", "b", "ba", "~", "\x7f", "é", "ê", "€", "\U00010348", "\U0010fffd", *"acegikmoqsuwy"]
    endings += ["`é", "a!"]  # the lower first byte stands before the higher second one
    rows = [("x" * alike + ending, None, None) for ending in endings]
    # Before it stands a class of one record, so that lines do not begin at the start.
    first = ("flu", 1, None)
    expected = [_plain(BATCH, "class 0", [first]), _plain(BATCH, "class 1", [row for row in rows if row[0]])]
    for turned in (rows, rows[::-1], rows[::2] + rows[1::2]):
        kept = [row for row in turned if row[0]]
        own = [0, *[1] * len(kept)]
        assert class_digests(_release([first, *kept], own), POLICY, BATCH, PROMISES) == expected


@given(st.lists(ROWS, min_size=1, max_size=9), st.randoms())
def test_neither_order_nor_the_keeping_of_values_makes_a_difference(rows: list[Row], draws: Any) -> None:
    own = [0] * len(rows)
    expected = class_digests(_release(rows, own), POLICY, BATCH, PROMISES)
    shuffled = draws.sample(rows, len(rows))
    assert class_digests(_release(shuffled, own), POLICY, BATCH, PROMISES) == expected
    texts = PassedTexts.of(shuffled, 3)
    columns = PassedColumns.of([(column, np.arange(len(rows))) for column in zip(*rows, strict=True)], len(rows))
    for payload in (texts, columns, columns.take(np.arange(len(rows))[::-1])):
        assert class_digests(_release(rows, own, payload), POLICY, BATCH, PROMISES) == expected


@given(st.lists(ROWS, min_size=1, max_size=5), ROWS, st.integers(0, 4))
def test_another_multiset_of_records_has_another_digest(rows: list[Row], other: Row, place: int) -> None:
    place %= len(rows)
    (before,) = class_digests(_release(rows, [0] * len(rows)), POLICY, BATCH, PROMISES)
    for changed in ([*rows, rows[place]], [*rows, other], [*rows[:place], other, *rows[place + 1 :]]):
        (after,) = class_digests(_release(changed, [0] * len(changed)), POLICY, BATCH, PROMISES)
        assert (after == before) is (sorted(map(repr, changed)) == sorted(map(repr, rows)))


def test_a_window_without_a_class_meets_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor waits for the compiler: arrays of one word have another type than those of longer texts."""
    monkeypatch.setattr(content_digests, "_class_lines", lambda *_: pytest.fail("it lays lines"))
    assert class_digests(_release([("flu", 1, None)], [SUPPRESSED]), POLICY, BATCH, PROMISES) == []


def test_what_is_suppressed_has_no_part_in_a_digest() -> None:
    rows = [("flu", 1, None), ("cold", 2, None)]
    digests = {
        tuple(class_digests(_release([*rows, secret], [0, 0, SUPPRESSED]), POLICY, BATCH, PROMISES))
        for secret in [("flu", 1, None), ("gout", 2**70, ("x",))]
    }
    assert digests == {tuple(class_digests(_release(rows, [0, 0]), POLICY, BATCH, PROMISES))}


def test_a_digest_is_of_one_window_and_one_tuple() -> None:
    rows = [("flu", 1, None)] * 4
    release = _release(rows, [0, 0, 1, 1])
    digests = [*class_digests(release, POLICY, BATCH, PROMISES), *class_digests(release, POLICY, "cd", PROMISES)]
    assert len(set(digests)) == 4


@pytest.mark.parametrize(
    ("spellings", "count"),
    [
        ([2**53, 2**53 + 1], 1),  # which has no double of its own
        ([2**53 + 2, float(2**53 + 2)], 1),
        ([10**20, 1e20], 1),
        ([10**400, 10**400 + 1], 2),
        ([0.1234567890123456, 0.1234567890123457], 2),
    ],
)
def test_whole_numbers_beyond_doubles_are_hashed_as_doubles(spellings: list[Any], count: int) -> None:
    for payload in (None, PassedTexts):
        rows = [[("flu", value, None)] for value in spellings]
        digests = {
            class_digests(
                _release(one, [0], None if payload is None else payload.of(one, 3)), POLICY, BATCH, PROMISES
            )[0]
            for one in rows
        }
        assert len(digests) == count


def test_only_numbers_of_more_than_15_digits_before_their_point_are_read_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Reading takes a microsecond a number, and fractions may have as many digits as they like."""
    read: list[object] = []
    monkeypatch.setattr(content_digests, "_as_double", lambda value: read.append(value) or value)
    fields = (Insensitive("dose", ScalarType.NUMBER), Insensitive("doses", ScalarType.NUMBER, many=True))
    policy = replace(POLICY, attributes=(POLICY.attributes[0], *fields))
    short = [999999999999999, -999999999999999, 0.12345678901234567, -12345.678901234567, 1.5e300, None]
    lists = [tuple(short), (1.5,) * 9, (12345678,) * 9, (1, 0.12345678901234567, 999999999999999)]
    long: list[Any] = [1000000000000000, -1000000000000000, [0.5, 1000000000000000], [1000000000000000, 0.5]]
    rows = [(one, None) for one in short + long[:2]] + [(None, one) for one in [*lists, *map(tuple, long[2:])]]
    class_digests(_release(rows, [0] * len(rows)), policy, BATCH, PROMISES)
    assert sorted(read, key=repr) == sorted(long, key=repr)


def test_an_empty_text_or_list_is_hashed_as_a_missing_value() -> None:
    nothing, empty = class_digests(_release([(None,) * 3], [0]), POLICY, BATCH, PROMISES), ("", None, ())
    assert class_digests(_release([empty], [0]), POLICY, BATCH, PROMISES) == nothing


def test_a_key_makes_other_digests_and_is_not_shown() -> None:
    rows = [("flu", 1, None), ("cold", 2, None)]
    other = replace(POLICY, digest_key=DigestKey(b"a secret of somebody else"))
    release = _release(rows, [0, 0])
    assert class_digests(release, other, BATCH, PROMISES) != class_digests(release, POLICY, BATCH, PROMISES)
    assert "secret" not in repr(POLICY) + repr(POLICY.digest_key)
    assert PolicyDocument.of(other) == PolicyDocument.of(POLICY)


def test_without_a_key_there_is_no_digest_that_guesses_could_be_checked_by() -> None:
    policy = replace(POLICY, digest_key=None)
    assert class_digests(_release([("flu", 1, None)] * 2, [0, 1]), policy, BATCH, PROMISES) == [UNSET] * 2


def test_another_policy_has_another_digest() -> None:
    release = _release([("flu", 1, None)], [0])
    assert class_digests(release, POLICY, BATCH, PROMISES) != class_digests(release, POLICY, BATCH, "other")


def test_one_secret_makes_two_keys_for_digests_and_for_draws() -> None:
    assert DigestKey(SECRET).hashed != hashlib.blake2b(SECRET, digest_size=64).digest()  # as `DrawsKey` does


@pytest.mark.parametrize("length", [0, 15, 64 * 1024 + 1])
def test_a_key_that_is_too_short_or_too_long_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        DigestKey(b"x" * length)


@pytest.mark.parametrize("records", [1, 2, 3, 1000])
def test_large_classes_and_policies_without_passing_fields_are_hashed_too(records: int) -> None:
    rows: list[Row] = [(f"{i % 7}", i, None) for i in range(records)]
    assert class_digests(_release(rows, [0] * records), POLICY, BATCH, PROMISES) == [_plain(BATCH, "class 0", rows)]
    bare = replace(POLICY, attributes=POLICY.quasi_identifiers)
    assert class_digests(_release([()] * records, [0] * records), bare, BATCH, PROMISES) == [
        _plain(BATCH, "class 0", [()] * records)
    ]


def test_numbers_of_every_record_and_list_are_hashed_as_doubles_and_integers_are_not() -> None:
    fields = (Insensitive("serial", ScalarType.INTEGER), Insensitive("doses", ScalarType.NUMBER, many=True))
    policy = replace(POLICY, attributes=(POLICY.attributes[0], *fields))
    large, near = 2**53 + 1, 2**53
    rows = [(1, (2, 2.5)), (large, (1, large)), (-large, (-large, 0.5)), (large, (10**22,))]
    lines = [
        b"[1,[2,2.5]]",
        b"[%d,[1,%d]]" % (large, near),
        b"[%d,[%d,0.5]]" % (-large, -near),
        b"[%d,[1e22]]" % large,
    ]
    text = [f"stream_anon digest 1 {BATCH} {PROMISES}".encode(), b'["class 0"]', *sorted(lines), b""]
    expected = hashlib.blake2b(b"\n".join(text), digest_size=32, key=HASHED).hexdigest()
    assert class_digests(_release(rows, [0] * 4), policy, BATCH, PROMISES) == [expected]
