"""Tell which published record an event became, as only somebody who holds the input can.

A published record came from an event of its window that its class covers and whose other fields are equal. Where
exactly as many events fit as such records were published, each of these events is one of these records: nothing
is guessed. Where more fit than were published, nobody can tell, and no pair is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.formats.codecs import codec_of
from stream_anon.microdata.attributes import pass_value
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.coding import find
from stream_anon.microdata.output.output_members import members_of
from stream_anon.microdata.output.typed import ENDS, read_typed
from stream_anon.microdata.policy import Policy

_MOST_CLASSES = 500  # tried per window; each is one pass over the window's columns


@dataclass(frozen=True, slots=True)
class BeforeAndAfter:
    """One event before and after, by dotted names.

    Parameters
    ----------
    before
        All fields of the event, those that the policy does not declare too.
    after
        The published fields.
    company
        Records that were published with the same quasi-identifiers.
    """

    before: Mapping[str, object]
    after: Mapping[str, object]
    company: int


def pairs(policy: Policy, events: Sequence[bytes], released: Sequence[bytes]) -> Iterator[BeforeAndAfter]:
    """Yield an event of each class that generalizes something, in the order in which classes come up.

    Parameters
    ----------
    policy
        The policy of the run.
    events
        All raw events of one window.
    released
        All records that were published of it.
    """
    batch = codec_of(policy).decode(events, 0, np.arange(len(events), dtype=np.int64))
    records = [natural_record(policy, msgspec.json.decode(record)) for record in released]
    members: dict[bytes, list[dict[str, object]]] = {}
    for record in records:
        members.setdefault(_quasi_identifiers(policy, record), []).append(record)
    for number, members_of_class in enumerate(members.values()):
        if number == _MOST_CLASSES:
            return
        pair = _pair(policy, events, batch, members_of_class)
        if pair is not None:
            yield pair


def natural_record(policy: Policy, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the natural record that says the same as a record that was released under a policy.

    A number that passes may be written as a decimal still: `3.0` for `3`.
    """
    natural: dict[str, Any] = {}
    for member in members_of(policy.published, policy.shape):
        *above, last = member.attribute.path
        inner = natural
        for key in above:
            inner = inner.setdefault(key, {})
        value: Any = find(record, member.path)
        if member.end == ENDS[1]:
            value = {ENDS[0]: inner[last], ENDS[1]: value}
        first = member.end == ENDS[0]  # the other end is still to come
        inner[last] = value if member.form is None or first else read_typed(member.form, value)
    return natural


def _pair(
    policy: Policy, events: Sequence[bytes], batch: CodedBatch, members: list[dict[str, object]]
) -> BeforeAndAfter | None:
    covered = _covered(policy, batch, members[0])
    if covered is None:
        return None
    rows: dict[object, list[int]] = {}
    for row in covered.tolist():
        rows.setdefault(batch.payload[row], []).append(row)
    passed = [_passed(policy, member) for member in members]
    published = Counter(passed)
    for member, fields in zip(members, passed, strict=True):
        fitting = rows.get(fields, [])
        if len(fitting) == published[fields]:
            before = msgspec.json.decode(events[int(batch.offsets[fitting[0]])])
            return BeforeAndAfter(
                {a.name: find(before, a.path) for a in policy.attributes} | dict(_leaves(before)),
                {a.name: find(member, a.path) for a in policy.published},
                len(members),
            )
    return None


def _covered(policy: Policy, batch: CodedBatch, member: Mapping[str, object]) -> NDArray[np.intp] | None:
    """Return the rows that a class covers, None if it generalizes nothing."""
    mask = np.ones(len(batch), np.bool_)
    general = False
    for column, attribute in zip(batch.codes, policy.quasi_identifiers, strict=True):
        published = find(member, attribute.path)
        codes = attribute.read(published)
        if codes is None:
            return None
        if isinstance(published, list):
            mask &= np.isin(column, codes)
        else:
            mask &= (column >= codes[0]) & (column <= codes[1])
        general |= isinstance(published, list) or codes[0] < codes[1]
    return np.flatnonzero(mask) if general else None


def _quasi_identifiers(policy: Policy, record: Mapping[str, object]) -> bytes:
    return msgspec.json.encode([find(record, a.path) for a in policy.quasi_identifiers])


def _passed(policy: Policy, record: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(pass_value(a, find(record, a.path)) for a in policy.passed)


def _leaves(record: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    """Yield all fields by their dotted names."""
    for key, value in record.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value
