"""Oracles of a codec: what must hold of records that are read together, whatever their bytes are."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_anon.formats.writing.passed_texts import Spans
from stream_anon.microdata.batch import CodedBatch, Reason
from stream_anon.microdata.coding import CodedRecord, Misfit
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.ports import Codec
from tests.conformance.test_codecs import release_of
from tests.fuzz.cases import Fault, Kind, Limits
from tests.fuzz.poison import FILLS, poisoned
from tests.support.object_coder import ObjectCoder
from tests.support.shapes import shaped_record

SOURCE = 3
_ALONE = 6  # records of a case that are read by themselves
_WRITTEN = 40  # rows of a case that are written
_FEW = 50  # records of which each is compared with the reference
Values = Sequence[bytes | None]


class NoRecord(Exception):  # noqa: N818 - it is an answer
    """Bytes are no record of the format."""


def _nothing_more(_reason: Reason | None, _value: bytes | None) -> bool:
    return False


@dataclass(frozen=True)
class Reader:
    """A codec, and what is known of what it should say.

    Parameters
    ----------
    means
        Returns what a value says; a `Reason` where it says that there is no row. Raises NoRecord. None where there
        is no reference.
    may_differ
        Whether a record may be rejected for a reason though the reference reads it, or may be a row (without a
        reason) though the reference does not read it; each format lists these with why.
    read_back
        Returns what a released record says, as the JSON of its shape.
    same_reasons
        Whether a record that both reject must be rejected for the same reason.
    checked
        Of so many records one is compared with the reference.
    """

    codec: Codec
    policy: Policy
    means: Callable[[bytes | None], Any] | None
    may_differ: Callable[[Reason | None, bytes | None], bool] = _nothing_more
    read_back: Callable[[bytes], Any] = json.loads
    same_reasons: bool = True
    checked: int = 1


def check(reader: Reader, values: Values, limits: Limits) -> None:
    """Read values in several ways and raise Fault where an oracle fails."""
    draws = Random(len(values))
    fill, other = draws.sample(FILLS, 2)
    faults = _faults(reader.codec)
    begun = time.process_time()
    batch = _decoded(reader.codec, values, np.arange(len(values)), fill)
    if time.process_time() - begun > limits.seconds + limits.seconds_a_record * len(values):
        raise Fault(Kind.TIME)
    _check_columns(reader.policy, batch, len(values))
    order = draws.sample(range(len(values)), len(values))
    _check_texts(reader.codec, values, order, (fill, other), limits)
    _check_arrangement(reader.codec, values, batch, order, (fill, other))
    _check_alone(reader.codec, values, batch, draws, other)
    if reader.means is not None:
        _check_meaning(reader, values, batch)
    _check_written(reader, batch)
    if _faults(reader.codec) != faults:
        raise Fault(Kind.EXCEPTION, "a kernel left its bounds, and the codec caught it")


def _faults(codec: Codec) -> int:
    """Return how often a codec has caught an error of a kernel, if it counts them."""
    return getattr(codec, "faults", 0)


def _decoded(
    codec: Codec, values: Values, order: NDArray[np.int64], fill: int, cuts: Iterable[int] = ()
) -> CodedBatch:
    """Return what values mean that are read in another order and in pieces, by their own places."""
    shuffled = [values[place] for place in order.tolist()]
    offsets = np.arange(len(values))
    parts = []
    for begin, end in pairwise([0, *cuts, len(values)]):
        with poisoned(fill):
            parts.append(codec.decode(shuffled[begin:end], SOURCE, offsets[begin:end]))
    batch = CodedBatch.concatenate(parts)
    found = batch.take(np.argsort(order[batch.offsets]))
    rejects = batch.rejects
    rejects = replace(rejects, offsets=order[rejects.offsets]).take(np.argsort(order[rejects.offsets]))
    return replace(found, offsets=order[found.offsets], rejects=rejects)


def _check_columns(policy: Policy, batch: CodedBatch, count: int) -> None:
    if sorted([*batch.offsets.tolist(), *batch.rejects.offsets.tolist()]) != list(range(count)):
        raise Fault(Kind.LOST)
    if {*batch.sources.tolist(), *batch.rejects.sources.tolist()} - {SOURCE}:
        raise Fault(Kind.RANGE, "sources")
    for qi, codes in zip(policy.quasi_identifiers, batch.codes, strict=True):
        if not ((codes >= 0) & (codes < qi.size)).all():
            raise Fault(Kind.RANGE, f"codes of {qi.name}")
    if set(batch.rejects.reasons.tolist()) - set(Reason):
        raise Fault(Kind.RANGE, "reasons")


def _check_texts(
    codec: Codec, values: Values, order: Sequence[int], fills: tuple[int, int], limits: Limits
) -> None:
    """Look at the texts that records mean, also at parts that no attribute reads."""
    with poisoned(fills[0]):
        found = codec.inner(values)
    if found is values:
        return
    texts = list(found)
    for value, text in zip(values, texts, strict=True):
        if len(text or b"") > limits.text + limits.text_a_byte * len(value or b""):
            raise Fault(Kind.TEXT, f"{len(text or b'')} bytes of {len(value or b'')}")
    with poisoned(fills[1]):
        again = list(codec.inner(values))
        shuffled = list(codec.inner([values[place] for place in order]))
    if again != texts:
        raise Fault(Kind.GARBAGE, "the text that a record means")
    if shuffled != [texts[place] for place in order]:
        raise Fault(Kind.NEIGHBOURS, "the text that a record means")


def difference(one: CodedBatch, other: CodedBatch) -> str:
    """Return in what two batches differ; empty if they do not."""
    for name, a, b in (
        ("rows", one.offsets, other.offsets),
        ("rejects", one.rejects.offsets, other.rejects.offsets),
        ("reasons", one.rejects.reasons, other.rejects.reasons),
        ("attributes", one.rejects.attributes, other.rejects.attributes),
        ("codes", one.codes, other.codes),
        ("sensitive keys", one.sensitive, other.sensitive),
        ("individuals", one.individuals, other.individuals),
    ):
        if not np.array_equal(a, b):
            return name
    return "" if _are_alike(one.payload, other.payload) else "values that pass"


def _are_alike(one: Any, other: Any) -> bool:
    packed = isinstance(one, Spans) and isinstance(other, Spans)
    if packed and np.array_equal(one.text, other.text) and np.array_equal(one.ends, other.ends):
        return True  # the same bytes are the same values
    return list(map(repr, one)) == list(map(repr, other))


def _check_arrangement(
    codec: Codec, values: Values, batch: CodedBatch, order: Sequence[int], fills: tuple[int, int]
) -> None:
    cut = order[0] if order else 0
    differs = difference(batch, _decoded(codec, values, np.array(order, np.int64), fills[1], [cut]))
    if differs:
        same_order = difference(batch, _decoded(codec, values, np.arange(len(values)), fills[1]))
        raise Fault(Kind.GARBAGE if same_order else Kind.NEIGHBOURS, same_order or differs)


def _check_alone(codec: Codec, values: Values, batch: CodedBatch, draws: Random, fill: int) -> None:
    for row in draws.sample(range(len(values)), min(_ALONE, len(values))):
        alone = _decoded(codec, [values[row]], np.zeros(1, np.int64), fill)
        together = _only(batch, row)
        alone = replace(
            alone, offsets=alone.offsets + row, rejects=replace(alone.rejects, offsets=alone.rejects.offsets + row)
        )
        differs = difference(alone, together)
        if differs:
            raise Fault(Kind.NEIGHBOURS, f"alone: {differs}")


def _only(batch: CodedBatch, row: int) -> CodedBatch:
    chosen = batch.take(np.flatnonzero(batch.offsets == row))
    return replace(chosen, rejects=batch.rejects.take(batch.rejects.offsets == row))


def _check_meaning(reader: Reader, values: Values, batch: CodedBatch) -> None:
    """Compare what records mean with the reference, coded one by one."""
    assert reader.means is not None
    coder = ObjectCoder(reader.policy)
    row_of = {offset: row for row, offset in enumerate(batch.offsets.tolist())}
    reasons = dict(zip(batch.rejects.offsets.tolist(), batch.rejects.reasons.tolist(), strict=True))
    at_fault = dict(zip(batch.rejects.offsets.tolist(), batch.rejects.attributes.tolist(), strict=True))
    passed = list(batch.payload)
    columns = batch.codes.T.tolist(), batch.sensitive.T.tolist(), batch.individuals.tolist()
    for place, value in enumerate(values):
        # By its bytes, so that it is checked again where others are taken away.
        if len(values) > _FEW and zlib.crc32(value or b"") % reader.checked:
            continue
        row = row_of.get(place)
        wanted = _wanted(coder, reader.means, value)
        if row is not None:
            if not isinstance(wanted, CodedRecord):
                if not reader.may_differ(None, value):
                    raise Fault(Kind.REFERENCE, f"a row, where the reference has {_named(reader.policy, wanted)}")
                continue
            own = [column[row] for column in columns] + [repr(passed[row])]
            of_reference = [list(wanted.codes), list(wanted.sensitive), wanted.individual, repr(wanted.passed)]
            if own != of_reference:
                parts = ("codes", "sensitive keys", "individual", "values that pass")
                raise Fault(
                    Kind.REFERENCE,
                    next(name for name, a, b in zip(parts, own, of_reference, strict=True) if a != b),
                )
            continue
        reason = Reason(reasons[place])
        same = isinstance(wanted, Misfit) and (
            not reader.same_reasons or (wanted.reason, wanted.attribute) == (reason, at_fault[place])
        )
        if not (same or wanted is None or wanted is reason or reader.may_differ(reason, value)):
            told = f"{reason.label} of {_attribute(reader.policy, at_fault[place])}"
            raise Fault(Kind.REFERENCE, f"{told}, where the reference has {_named(reader.policy, wanted)}")


def _wanted(
    coder: ObjectCoder, means: Callable[[bytes | None], Any], value: bytes | None
) -> CodedRecord | Misfit | Reason | None:
    """Return what the reference says of a value; None if it is no record, or none that is an object."""
    try:
        meant = means(value)
    except NoRecord:
        return None
    if isinstance(meant, dict):
        return coder.code_object(meant)
    return meant if isinstance(meant, Reason) else None


def _attribute(policy: Policy, place: int) -> str:
    return policy.attributes[place].name if place >= 0 else "no attribute"


def _named(policy: Policy, wanted: Any) -> str:
    if isinstance(wanted, Misfit):
        return f"{wanted.reason.label} of {_attribute(policy, wanted.attribute)}"
    return (
        wanted.label if isinstance(wanted, Reason) else "a row" if isinstance(wanted, CodedRecord) else "no record"
    )


def _check_written(reader: Reader, batch: CodedBatch) -> None:
    """Write some rows, and read what the output says by somebody else's reader."""
    policy = reader.policy
    some = batch.take(np.arange(min(len(batch), _WRITTEN)))
    if not len(some):
        return
    release = release_of(policy, some, len(some))
    payload = [[list(one) if isinstance(one, tuple) else one for one in row] for row in some.payload]
    written = reader.codec.encode(release)
    if len(written) != len(release.order):
        raise Fault(Kind.UNDECLARED, "another number of records")
    for row, text in zip(release.order.tolist(), written, strict=True):
        own = int(release.class_of_row[row])
        natural = {
            attribute.name: release.classes.values[policy.quasi_identifiers.index(attribute)][own]
            if isinstance(attribute, QuasiIdentifier)
            else payload[row][policy.passed.index(attribute)]
            for attribute in policy.published
        }
        if repr(reader.read_back(text)) != repr(shaped_record(policy, natural)):
            raise Fault(Kind.UNDECLARED)
