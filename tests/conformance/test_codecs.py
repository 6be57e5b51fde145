"""The one suite for all codecs: what the port promises, whatever the bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_anon.formats.codecs import FORMATS as SHIPPED
from stream_anon.formats.envelopes.wrapping import EnvelopeKind
from stream_anon.microdata.attributes import Missing, Unknown
from stream_anon.microdata.batch import CodedBatch, Reason, Rejects
from stream_anon.microdata.coding import CodedRecord
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.payload import joined, missing_values, taken
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import SUPPRESSED, Classes, Release
from stream_anon.microdata.texts import Texts
from stream_anon.ports import Codec
from tests.conformance.formats import FORMATS
from tests.support import hostile
from tests.support.effort import examples
from tests.support.object_coder import ObjectCoder
from tests.support.shapes import shaped_record

POLICIES = [
    hostile.plain_policy(Missing.LEAF, Unknown.REJECT),
    hostile.broad_policy(Missing.REJECT, Unknown.ROOT),
    hostile.null_policy(hostile.plain_policy(Missing.LEAF, Unknown.ROOT)),
    hostile.families_policy(hostile.plain_policy(Missing.LEAF, Unknown.ROOT)),
    *(hostile.shaped_policy(shape) for shape in Shape if shape is not Shape.NATURAL),
]
NAMES = list(hostile.FITTING)
MOST = 8000
SOURCE = 3

formats = pytest.mark.parametrize("name", FORMATS)
chosen = st.integers(0, len(POLICIES) - 1)
slowly = settings(examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
records = st.lists(hostile.objects(NAMES), max_size=8)


@cache
def codec_of(name: str, which: int) -> Codec:
    return FORMATS[name].make(POLICIES[which], max_record_bytes=MOST)


@st.composite
def values(draw: st.DrawFn, name: str) -> list[bytes | None]:
    """Draw what a topic may hold: records, records with some bytes changed, scraps, anything."""
    form, found = FORMATS[name], list[bytes | None]()
    for record in draw(records):
        text = form.write(record) or b""
        fate = draw(st.integers(0, 5))
        if fate == 0:
            at = draw(st.integers(0, len(text)))
            text = text[:at] + draw(st.binary(max_size=3)) + text[at + draw(st.integers(0, 3)) :]
        found.append(text)
    scraps = st.sampled_from([None, b"", b" ", b"\x00", b"x" * (MOST + 1), *form.scraps]) | st.binary(max_size=40)
    return draw(st.permutations([*found, *draw(st.lists(scraps, max_size=4))]))


def decode(codec: Codec, given_values: Sequence[bytes | None], first: int = 0) -> CodedBatch:
    return codec.decode(given_values, SOURCE, np.arange(first, first + len(given_values)))


def rows_of(*batches: CodedBatch) -> list[tuple[Any, ...]]:
    """Return all that batches say of each record, by offset."""
    found: list[tuple[Any, ...]] = []
    for batch in batches:
        columns = (batch.codes.T.tolist(), batch.sensitive.T.tolist(), batch.individuals.tolist())
        rows = zip(batch.offsets.tolist(), *columns, map(repr, batch.payload), strict=True)
        found += [(*row, None) for row in rows]
        rejects = zip(
            batch.rejects.offsets.tolist(),
            batch.rejects.reasons.tolist(),
            batch.rejects.attributes.tolist(),
            strict=True,
        )
        found += [(offset, reason, attribute) for offset, reason, attribute in rejects]
    return sorted(found, key=lambda row: row[0])


def release_of(policy: Policy, batch: CodedBatch, seed: int) -> Release:
    """Return a release of the batch's rows in three classes, some of them suppressed, in a drawn order."""
    draws = np.random.default_rng(seed)
    class_of_row = draws.integers(-1, 3, len(batch)).astype(np.int32)
    low, high, published = [], [], []
    for qi, codes in zip(policy.quasi_identifiers, batch.codes, strict=True):
        held = [codes[class_of_row == own].tolist() or [0] for own in range(3)]
        bounds = [qi.node(min(one), max(one)) for one in held]
        low.append([one[0] for one in bounds])
        high.append([one[1] for one in bounds])
        published.append([qi.publish(*one) for one in bounds])
    counts = np.array([np.count_nonzero(class_of_row == own) for own in range(3)], np.int64)
    classes = Classes(
        np.array(low, np.int32), np.array(high, np.int32), published, counts, counts, np.zeros((len(low), 3))
    )
    return Release(
        classes=classes,
        class_of_row=class_of_row,
        order=draws.permutation(np.flatnonzero(class_of_row != SUPPRESSED)),
        payload=batch.payload,
        suppressed={},
        rejects=Rejects.of([]),
        ranges=(),
        arrivals=(),
        opened_at=0.0,
        closed_at=1.0,
        achieved_k=None,
        achieved_l={},
        gcp=None,
    )


def fitting(name: str, turn: int, **changes: Any) -> bytes:
    """Return a record whose values fit every policy, other ones at each turn."""
    tree: dict[str, Any] = {}
    record = {key: choices[turn % len(choices)] for key, choices in FIT.items()} | changes
    for key, value in record.items():
        *parents, last = hostile.KEYS[key]
        place = tree
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    text = FORMATS[name].write(tree)
    assert text is not None
    return text


FIT = {name: choices[:2] for name, choices in hostile.FITTING.items()} | {
    "id": ["x", 8],
    "when": ["03.02.2024"],
    "result": ["poor", 'q"\\\n'],
    "note": ["a", None, "\u00fc"],
    "post": ["A0"],
}


def test_every_format_that_is_shipped_is_tested() -> None:
    assert set(SHIPPED) | {kind for kind in EnvelopeKind if kind is not EnvelopeKind.NONE} <= set(FORMATS)


@formats
@slowly
@given(data=st.data(), which=chosen)
def test_every_record_is_a_row_or_a_reject_whatever_its_bytes(name: str, data: st.DataObject, which: int) -> None:
    policy, codec = POLICIES[which], codec_of(name, which)
    given_values = data.draw(values(name))
    batch = decode(codec, given_values, 5)
    rejects = batch.rejects
    assert rejects.offsets.dtype == np.int64
    assert sorted([*batch.offsets.tolist(), *rejects.offsets.tolist()]) == list(range(5, 5 + len(given_values)))
    for offsets in (batch.offsets, rejects.offsets):
        assert (np.diff(offsets) > 0).all()
    assert set(batch.sources.tolist()) | set(rejects.sources.tolist()) <= {SOURCE}
    assert batch.codes.shape == (len(policy.quasi_identifiers), len(batch))
    assert batch.sensitive.shape == (len(policy.diverse), len(batch))
    assert [column.dtype for column in (batch.codes, batch.sensitive, batch.individuals, batch.offsets)] == [
        np.int32,
        np.int64,
        np.int64,
        np.int64,
    ]
    for qi, codes in zip(policy.quasi_identifiers, batch.codes, strict=True):
        assert ((codes >= 0) & (codes < qi.size)).all()
    assert {Reason(reason) for reason in rejects.reasons.tolist()} <= set(Reason)
    assert codec.read_singly >= 0


@formats
@slowly
@given(data=st.data(), which=chosen)
def test_records_are_judged_each_by_itself(name: str, data: st.DataObject, which: int) -> None:
    """In pieces, one by one, at once, and from one room: always the same."""
    codec, given_values = codec_of(name, which), data.draw(values(name))
    whole = rows_of(decode(codec, given_values))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(given_values)), max_size=3)))
    pieces = pairwise([0, *cuts, len(given_values)])
    assert rows_of(*(decode(codec, given_values[a:b], a) for a, b in pieces)) == whole
    assert rows_of(*(decode(codec, [value], i) for i, value in enumerate(given_values))) == whole
    assert rows_of(decode(codec, Texts.of(given_values))) == whole


@formats
@slowly
@given(given_records=records, which=chosen)
def test_a_record_that_can_be_read_means_what_the_policy_says(
    name: str, given_records: list[dict[str, Any]], which: int
) -> None:
    form, coder = FORMATS[name], ObjectCoder(POLICIES[which])
    texts = [form.write(record) for record in given_records]
    expected = []
    for text in texts:
        try:
            record = form.meaning(text or b"")
        except ValueError:
            record = None
        result = coder.code_object(record) if isinstance(record, dict) else None
        expected.append(result if isinstance(result, CodedRecord) else None)
    batch = decode(codec_of(name, which), texts)
    for row, offset in enumerate(batch.offsets.tolist()):
        wanted = expected[offset]
        assert wanted is not None
        assert tuple(batch.codes[:, row].tolist()) == wanted.codes
        assert tuple(batch.sensitive[:, row].tolist()) == wanted.sensitive
        assert int(batch.individuals[row]) == wanted.individual
        assert repr(batch.payload[row]) == repr(wanted.passed)  # and nothing else of the record is kept


@formats
@pytest.mark.parametrize("which", range(len(POLICIES)))
def test_a_record_that_fits_is_no_reject(name: str, which: int) -> None:
    batch = decode(codec_of(name, which), [fitting(name, turn) for turn in range(6)])
    assert len(batch) == 6


@formats
def test_empty_and_too_large_records_are_rejected_as_such(name: str) -> None:
    good = fitting(name, 0)
    batch = decode(codec_of(name, 0), [None, good, b"", fitting(name, 0, note="x" * MOST), good])
    assert batch.offsets.tolist() == [1, 4]
    assert batch.rejects.offsets.tolist() == [0, 2, 3]
    assert batch.rejects.reasons.tolist() == [FORMATS[name].null, Reason.EMPTY, Reason.TOO_LARGE]


@formats
@pytest.mark.parametrize("which", range(len(POLICIES)))
def test_no_records_are_an_empty_batch(name: str, which: int) -> None:
    batch = decode(codec_of(name, which), [])
    assert (len(batch), len(batch.rejects), len(batch.payload)) == (0, 0, 0)


@formats
def test_a_number_and_its_digits_are_one_individual(name: str) -> None:
    ids = ["1", 1, 1.0, "2", 2, "01"]
    found = decode(codec_of(name, 0), [fitting(name, 0, id=one) for one in ids]).individuals.tolist()
    assert len(set(found[:3])) == 1
    assert len(set(found[3:5])) == 1
    assert len(set(found)) == 3


@formats
def test_where_every_record_is_an_individual_no_two_are_one(name: str) -> None:
    codec = FORMATS[name].make(hostile.every_record_policy(), max_record_bytes=MOST)
    text = FORMATS[name].write({"id": "same", "age": 1})
    batches = [decode(codec, [text, None, text], 3 * turn) for turn in range(3)]
    assert len({key for batch in batches for key in batch.individuals.tolist()}) == 6


@formats
@slowly
@given(data=st.data(), which=chosen)
def test_the_kept_fields_of_records_survive_taking_and_joining(name: str, data: st.DataObject, which: int) -> None:
    policy = POLICIES[which]
    payload = decode(
        codec_of(name, which), [*data.draw(values(name)), *(fitting(name, i) for i in range(4))]
    ).payload
    kept = [repr(row) for row in payload]
    rows = np.array(data.draw(st.lists(st.integers(0, len(kept) - 1), max_size=12)), np.intp)
    assert [repr(row) for row in taken(payload, rows)] == [kept[row] for row in rows.tolist()]
    cut = data.draw(st.integers(0, len(kept)))
    parts = [taken(payload, slice(cut, None)), taken(payload, slice(0, cut)), taken(payload, rows)]
    assert [repr(row) for row in joined(parts)] == [*kept[cut:], *kept[:cut], *(kept[row] for row in rows.tolist())]
    absent = [sum(row[i] is None for row in payload) for i in range(len(policy.passed))]
    assert missing_values(payload, slice(0, len(kept)), len(policy.passed)).tolist() == absent


@formats
@slowly
@given(data=st.data(), which=chosen, seed=st.integers(0, 2**16))
def test_released_records_say_what_their_class_and_their_row_say(
    name: str, data: st.DataObject, which: int, seed: int
) -> None:
    policy, codec = POLICIES[which], codec_of(name, which)
    batch = decode(codec, [*data.draw(values(name)), *(fitting(name, i) for i in range(4))])
    release = release_of(policy, batch, seed)
    written = codec.encode(release)
    assert list(codec.encode_in_bulk(release)) == written
    assert len(written) == len(release.order)
    for row, text in zip(release.order.tolist(), written, strict=True):
        own = int(release.class_of_row[row])
        natural = {
            attribute.name: release.classes.values[policy.quasi_identifiers.index(attribute)][own]
            if isinstance(attribute, QuasiIdentifier)
            else batch.payload[row][policy.passed.index(attribute)]
            for attribute in policy.published
        }
        assert repr(FORMATS[name].read(text)) == repr(shaped_record(policy, natural))


@formats
@slowly
@given(data=st.data(), which=chosen)
def test_a_value_stands_for_no_more_text_than_its_bytes_account_for(
    name: str, data: st.DataObject, which: int
) -> None:
    """Escapes, keys and numbers of JSON stay as they are, and what stands around a record is left out."""
    read = [*data.draw(values(name)), *(fitting(name, i) for i in range(2))]
    for value, text in zip(read, codec_of(name, which).inner(read), strict=True):
        assert len(text or b"") <= FORMATS[name].most_text(len(value or b""))


@formats
@slowly
@given(data=st.data(), which=chosen, seed=st.integers(0, 2**16))
def test_bounds_on_what_is_written_are_true(name: str, data: st.DataObject, which: int, seed: int) -> None:
    codec = codec_of(name, which)
    read = [*data.draw(values(name)), *(fitting(name, i) for i in range(4))]
    batch = decode(codec, read)
    release = release_of(POLICIES[which], batch, seed)
    sizes = dict(zip(release.order.tolist(), map(len, codec.encode(release)), strict=True))
    for most in {0, 10_000, *sizes.values(), *(size - 1 for size in sizes.values())}:
        expected = [row for row in release.order.tolist() if sizes[row] > most]
        assert codec.larger_than(release, most).tolist() == expected
    for row, size in sizes.items():
        assert size <= codec.most_released(len(read[int(batch.offsets[row])] or b""))


@formats
def test_a_codec_that_is_warm_reads_as_before(name: str) -> None:
    codec = FORMATS[name].make(POLICIES[0], max_record_bytes=MOST)
    codec.warm_up()
    assert rows_of(decode(codec, [fitting(name, 0), None])) == rows_of(
        decode(codec_of(name, 0), [fitting(name, 0), None])
    )
    assert codec.slow_attributes == ()
