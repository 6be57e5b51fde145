"""JSON records that are wrong in many ways, and envelopes around them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

from stream_anon.microdata.attributes import Attribute, Identifier, Missing, Unknown
from stream_anon.microdata.ids import Normalization
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from tests.fuzz.mutations import mutated
from tests.support import hostile
from tests.unit.formats.envelopes.test_envelopes import EVENTS, SPOILT

_GROUPS = 4
WORDS = (
    b'"id"', b'"id":', b"null", b"true", b"false", b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b'\\"',
    b"\\u0000", b"\\ud800", b"\\udc00", b"\\u00e9", b"1e999", b"-0", b"-0.0", b"1E+5", b"0.1", b"1.0",
    b"9" * 20, b"1" * 400, b"NaN", b"Infinity", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff", b"\xc3",
    b"\xf0\x9f\x98\x80", b"\x00", b"\x1f", b"\n", b"\t", b"  ", b'{"a":1}', b"[[[[[[[[", b"]]]]]]]]",
    b'"\\u0069d"', b'{"":{}}', b"/**/", b'"*"', b"e", b"E", b"+", b".",
)  # fmt: skip
EVENT_WORDS = (
    *WORDS, b'"op":"c",', b'"op":"d",', b'"op"', b'"after":', b'"before":null,', b'"payload":', b'"schema":{},',
    b'"specversion":"1.0",', b'"data":', b'"data_base64":"e30=",', b'"source":{"connector":"x"},', b'"ts_ms":1',
)  # fmt: skip
_RAW = (
    "1e999", "-1e400", "NaN", "Infinity", "1" * 400, "1" * 4_301, "01", "-", "1.", ".5", "1e", "{", "]", '"',
    "nul", "-0", "-0.0", "1e-400", '"\\ud800"', '"\\u0041"', "[" * 70 + "]" * 70, '{"a":' * 70 + "1" + "}" * 70,
    "0.1e1", "1E2",
)  # fmt: skip
_BARE = (None, b"", b" ", b"null", b"[]", b"{}", b"{", b"\xef\xbb\xbf{}", b"0" * 9_000, b"\0\0\0\0\1{}")


@cache
def policies() -> tuple[Policy, ...]:
    """Return policies of a few attributes each, which have all kinds of attributes between them."""
    broad = hostile.broad_policy(Missing.LEAF, Unknown.ROOT)
    others = [attribute for attribute in broad.attributes if attribute.name != "id"]
    found = [_policy(broad, others[group::_GROUPS]) for group in range(_GROUPS)]
    strict = [replace(a, missing=Missing.REJECT, unknown=Unknown.REJECT) if isinstance(a, QuasiIdentifier) else a
              for a in others[::3]]  # fmt: skip
    found.append(_policy(broad, strict))
    found.append(hostile.null_policy(found[1]))
    found.append(hostile.coercing_policy(_policy(broad, others[1::3])))
    steps = (
        Normalization.NFKC,
        Normalization.CASEFOLD,
        Normalization.STRIP,
        Normalization.UUID,
        Normalization.DIGITS,
    )
    found.append(hostile.spelled_policy(found[0], *steps))
    return tuple(found)


def _policy(broad: Policy, attributes: Sequence[Attribute]) -> Policy:
    names = {attribute.name for attribute in attributes}
    diversity = {name: what for name, what in broad.diversity.items() if name in names}
    return Policy((Identifier("id"), *attributes), k=2, individual="id", diversity=diversity)


def tree(policy: Policy, draws: Random) -> dict[str, Any]:
    """Return a record in which most fields fit."""
    record: dict[str, Any] = {}
    for attribute in policy.attributes:
        fate = draws.random()
        if fate < 0.02:
            continue
        value = draws.choice(hostile.TRICKY if fate < 0.08 else hostile.FITTING[attribute.name])
        *parents, last = attribute.path
        place = record
        for key in parents:
            inner = place.setdefault(key, {})
            place = inner if isinstance(inner, dict) else {}
        place[last] = value
    for _ in range(draws.choice((0, 0, 1, 2))):
        record[draws.choice(("other", "", "i", "id ", "patient", "ü", "a" * 9))] = draws.choice(hostile.TRICKY)
    return record


def text(record: dict[str, Any], draws: Random) -> bytes:
    """Return a record as one of several producers writes it, sometimes with what no writer of JSON writes."""
    fate = draws.random()
    if fate < 0.5:
        return json.dumps(record, separators=(",", ":")).encode()
    if fate < 0.9:
        return json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")
    whole = json.dumps(record, indent=1)
    raw = draws.choice(_RAW)
    key = json.dumps(draws.choice(("z", *record)))  # sometimes the key again
    return (whole[:-1].rstrip() + (", " if record else "") + key + ":" + raw + "}").encode()


def records(policy: Policy, draws: Random, count: int) -> list[bytes | None]:
    """Return records, half of them changed."""
    found: list[bytes | None] = []
    sound = [text(tree(policy, draws), draws) for _ in range(8)]
    for _ in range(count):
        own = text(tree(policy, draws), draws)
        fate = draws.random()
        if fate < 0.01:
            found.append(draws.choice(_BARE))
        else:
            found.append(mutated(own, draws, sound, WORDS) if fate < 0.5 else own)
    return found


def event(name: str, record: bytes, draws: Random) -> bytes:
    """Return a record within an envelope, sometimes one that is nearly right."""
    if draws.random() < 0.1:
        return json.dumps(draws.choice([*EVENTS.values(), *SPOILT])).encode()
    member = {"cloudevents": "data", "connect": "payload"}.get(name, "after")
    parts = {
        "cloudevents": [b'"specversion":"1.0"', b'"id":"a"', b'"type":"t"', b'"source":"/s"'],
        "connect": [b'"schema":{"type":"struct","fields":[]}'],
    }.get(name) or [
        b'"op":"' + draws.choice((b"c", b"c", b"r", b"u", b"d", b"t", b"m", b"x", b"", b"\\u0063")) + b'"',
        b'"before":' + draws.choice((b"null", record, b"{}", b"[]")),
        b'"source":' + draws.choice((b'{"connector":"mysql"}', b"{}", b'{"connector":7}')),
    ]
    if draws.random() < 0.05:
        parts.pop(draws.randrange(len(parts)))
    parts += [b'"%b":%b' % (member.encode(), draws.choice((record, record, record, record, b"null", b"[]", b'""')))]
    draws.shuffle(parts)
    whole = b"{" + b",".join(parts) + b"}"
    if name in ("debezium", "inserts") and draws.random() < 0.3:
        return b'{"schema":{},"payload":' + whole + b"}"
    return whole


def events(name: str, policy: Policy, draws: Random, count: int) -> list[bytes | None]:
    """Return records within envelopes, half of them changed."""
    found: list[bytes | None] = []
    sound = [event(name, text(tree(policy, draws), draws), draws) for _ in range(8)]
    for _ in range(count):
        own = event(name, text(tree(policy, draws), draws), draws)
        fate = draws.random()
        if fate < 0.01:
            found.append(draws.choice(_BARE))
        else:
            found.append(mutated(own, draws, sound, EVENT_WORDS) if fate < 0.5 else own)
    return found
