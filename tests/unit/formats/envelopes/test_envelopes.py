"""Envelopes: whatever the bytes, what kernels take out is what a plain reader of JSON takes out."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_anon.formats.envelopes.wrapping import EnvelopeKind, Updates, Wrapping
from stream_anon.formats.unwrapping import FITS, Unwrapped
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.texts import Texts
from tests.support.effort import examples

MOST = 3000
WRAPPINGS = {
    "debezium": Wrapping(EnvelopeKind.DEBEZIUM),
    "inserts": Wrapping(EnvelopeKind.DEBEZIUM, Updates.SKIP),
    "cloudevents": Wrapping(EnvelopeKind.CLOUDEVENTS),
    "connect": Wrapping(EnvelopeKind.CONNECT),
}
wrappings = pytest.mark.parametrize("name", WRAPPINGS)


def unwrap(name: str, values: list[bytes | None]) -> Unwrapped:
    (unwrapper,) = WRAPPINGS[name].unwrappers(MOST)
    return unwrapper.unwrap(Texts.of(values))


def outcomes(name: str, values: list[bytes | None]) -> list[Any]:
    """Return the decoded record of each value, or why there is none."""
    found = unwrap(name, values)
    return [
        Reason(outcome) if outcome != FITS else msgspec.json.decode(text or b"")
        for outcome, text in zip(found.outcomes.tolist(), found.texts, strict=True)
    ]


# As Debezium 3 writes them.
SOURCE = {"version": "3.3.1.Final", "connector": "postgresql", "name": "db", "lsn": 7, "xmin": None}
EVENTS: dict[str, dict[str, Any]] = {
    "deletion": {"op": "d", "before": {"id": 1}, "after": None, "source": SOURCE, "ts_ms": 5},
    "without-identity": {"op": "d", "before": None, "after": None, "source": SOURCE, "ts_ms": 5},
    "absent-before": {"op": "d", "after": None, "source": SOURCE, "ts_ms": 5, "transaction": None},
    "truncation": {"op": "t", "source": SOURCE, "ts_ms": 5},
    "truncation-of-a-row": {"op": "t", "before": None, "after": None, "source": SOURCE},
    "message": {"op": "m", "source": SOURCE, "ts_ms": 5, "message": {"prefix": "audit", "content": "Ymfy"}},
    "update": {"op": "u", "before": {"id": 1}, "after": {"id": 1}, "source": SOURCE},
    "update-without-identity": {"op": "u", "before": None, "after": {"id": 1}, "source": SOURCE},
}
SPOILT: list[dict[str, Any]] = [
    *({"op": op, "id": 1, "age": 30} for op in "dtmu"),  # rows of another kind with such a column
    *({"op": op, "id": 1, "source": "web", "after": None} for op in "dtm"),
    *(
        event | {"source": source}
        for event in EVENTS.values()
        for source in (None, {}, [], "mysql", {"name": "db"})
    ),
    *(event | {"source": {"connector": 7}} for event in EVENTS.values()),
    *(event | {"before": before} for event in EVENTS.values() for before in ("x", [], [{}], 0, False)),
    *(EVENTS[name] | {"before": {}} for name in ("truncation", "message")),
    *(event | {"after": "{}"} for event in EVENTS.values()),
    *(EVENTS[name] | {"after": {"id": 1}} for name in ("deletion", "without-identity", "truncation", "message")),
    *(EVENTS[name] | {"after": after} for name in ("update", "update-without-identity") for after in (None, [], 1)),
    *(EVENTS["message"] | {"message": message} for message in (None, "audit", {}, {"prefix": None}, ["prefix"])),
]


# The oracle: what a value means, said once more with the standard library. -----------------------------------


def meaning(name: str, value: bytes | None) -> Any:
    if value is None:
        return Reason.TOMBSTONE
    if not value:
        return Reason.EMPTY
    if len(value) > MOST:
        return Reason.TOO_LARGE
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return Reason.NOT_UTF8
    try:
        event = json.loads(text, parse_constant=_refuse)
    except ValueError:
        return Reason.MALFORMED
    except RecursionError:
        return Reason.TOO_DEEP
    if not isinstance(event, dict):
        return Reason.NOT_AN_OBJECT
    if name == "connect":
        return _payload(event)
    return _data(event) if name == "cloudevents" else _row(event, skips=name == "inserts")


def _refuse(text: str) -> None:
    raise ValueError(text)


def _payload(event: dict[str, Any]) -> Any:
    if "schema" not in event or "payload" not in event:
        return Reason.WRONG_ENVELOPE
    return Reason.TOMBSTONE if event["payload"] is None else event["payload"]


def _data(event: dict[str, Any]) -> Any:
    if "specversion" not in event:
        return event
    version = event["specversion"]
    known = isinstance(version, str) and version.startswith("1.")
    return event["data"] if known and "data" in event and "data_base64" not in event else Reason.WRONG_ENVELOPE


def _row(event: dict[str, Any], *, skips: bool) -> Any:
    if "op" not in event and {"schema", "payload"} <= set(event):
        if event["payload"] is None:
            return Reason.TOMBSTONE
        if not isinstance(event["payload"], dict):
            return Reason.WRONG_ENVELOPE
        event = event["payload"]
    if "op" in event:
        ignored = {"d": Reason.DELETED, "t": Reason.TRUNCATED, "m": Reason.MESSAGE} | (
            {"u": Reason.UPDATE} if skips else {}
        )
        op, after = event["op"], event.get("after")
        if isinstance(op, str) and op in ignored:
            return ignored[op] if _is_an_event(event, op) else Reason.WRONG_ENVELOPE
        return after if op in ("c", "r", "u") and isinstance(after, dict) else Reason.WRONG_ENVELOPE
    if set(event) == {"ts_ms"}:
        return Reason.HEARTBEAT
    keys = {"status", "id", "ts_ms", "event_count", "data_collections"}
    if {"status", "id"} <= set(event) <= keys and event["status"] in ("BEGIN", "END"):
        return Reason.TRANSACTION_MARKER
    return Reason.WRONG_ENVELOPE


def _is_an_event(event: dict[str, Any], op: str) -> bool:
    before, after, source, message = (event.get(key) for key in ("before", "after", "source", "message"))
    sound = before is None or (op in "du" and isinstance(before, dict))
    sound = sound and (isinstance(after, dict) if op == "u" else after is None)
    sound = sound and isinstance(source, dict) and isinstance(source.get("connector"), str)
    return sound and (op != "m" or (isinstance(message, dict) and isinstance(message.get("prefix"), str)))


# Events that are nearly right. --------------------------------------------------------------------------------

KEYS = [
    *("op", "after", "before", "payload", "schema", "specversion", "data", "data_base64"),
    *("ts_ms", "status", "id", "event_count", "source", "o", "äfter", 'a"b', "\n"),
    *("connector", "message", "prefix"),
]
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 2**40), st.text(max_size=4), st.floats(-1e3, 1e3, width=32)
)
telling = st.sampled_from(["c", "u", "r", "d", "t", "m", "x", "1.0", "1.", "2.0", "BEGIN", "END", "cc", ""])
trees = st.recursive(
    scalars | telling,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(KEYS), trees, max_size=6)
ops = st.sampled_from(["c", "u", "r", "d", "t", "m"])
sources = trees | st.fixed_dictionaries({"connector": scalars | st.just("mysql")}, optional={"id": trees})
messages = trees | st.fixed_dictionaries({"prefix": scalars | st.just("audit")})
events = st.fixed_dictionaries(
    {"op": ops},
    optional={"after": objects | st.none(), "before": trees, "source": sources, "message": messages},
)
schemas = st.sampled_from([{"type": "struct", "fields": [{"a": 1}] * n} for n in (0, 1, 1, 1, 2)])
likely = st.one_of(
    objects,
    events,
    st.fixed_dictionaries({"schema": trees | schemas, "payload": events | trees}),
    st.fixed_dictionaries({"specversion": st.just("1.0"), "data": trees}, optional={"data_base64": scalars}),
)


@st.composite
def texts(draw: st.DrawFn) -> bytes | None:
    """Draw a JSON text in one of its spellings, some of them broken, now and then two of them in one."""
    indent = draw(st.sampled_from([None, None, 1]))
    text = json.dumps(draw(likely), indent=indent, ensure_ascii=draw(st.booleans())).encode("utf-8", "replace")
    fate = draw(st.integers(0, 11))
    if fate == 0:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.binary(max_size=2)) + text[at + draw(st.integers(0, 3)) :]
    elif fate == 1:  # keys that stand twice: the last one counts
        text = text[:-1] + b"," + json.dumps(draw(likely)).encode()[1:]
    elif fate == 2:
        return draw(
            st.sampled_from([None, b"", b" ", b"null", b"[]", b"7", b"x" * (MOST + 1), b'{"op":"\\u0063"}'])
        )
    elif fate == 3:
        text = text.replace(b'"op"', b'"\\u006fp"').replace(b'"payload"', b'"p\\u0061yload"')
    return text


@wrappings
@settings(examples(300), deadline=None)
@given(values=st.lists(texts(), max_size=8))
def test_an_envelope_means_what_a_plain_reader_says(name: str, values: list[bytes | None]) -> None:
    found = outcomes(name, values)
    for value, own in zip(values, found, strict=True):
        expected = meaning(name, value)
        if isinstance(expected, Reason) or isinstance(own, Reason):
            # A text that standard readers take and ours does not, such as half a letter, is malformed in both.
            assert own is expected or own is Reason.MALFORMED
        else:
            assert json.dumps(own) == json.dumps(expected)


@wrappings
def test_plain_events_are_not_read_one_by_one(name: str) -> None:
    event: dict[str, Any] = {"op": "c", "before": None, "after": {"a": [1, {"b": "\n"}]}, "source": {"ts_ms": 5}}
    if name == "cloudevents":
        event = {"specversion": "1.0", "id": "1", "data": {"a": 1}}
    elif name == "connect":
        event = {"schema": {"type": "struct", "fields": [{"type": "int32"}]}, "payload": {"a": 1}}
    found = unwrap(name, [json.dumps(event).encode()] * 5)
    assert (found.singly, found.outcomes.tolist()) == (0, [FITS] * 5)


def test_a_schema_that_stands_in_each_event_is_compared_to_its_end() -> None:
    begun, schema = b'{"schema":{"name":"abcdefgh', b'{"schema":{"name":"abcdefghijklm"}'
    rest = b',"payload":{"a":%d}}'
    values = [schema + rest % 1, schema + rest % 2, begun + b'iiklm"}' + rest % 3, schema + b"}" + rest % 4]
    values += [schema[:-1] + rest % 5, schema + rest % 6, schema, schema[:-1], begun]
    assert outcomes("connect", [*values]) == [
        *({"a": 1}, {"a": 2}, {"a": 3}, Reason.MALFORMED, Reason.MALFORMED, {"a": 6}),
        *[Reason.MALFORMED] * 3,
    ]


def test_deletions_truncations_messages_and_updates_are_not_read_one_by_one() -> None:
    values = [json.dumps(event).encode() for event in EVENTS.values()]
    pairs = [b'{"schema":{"type":"struct"},"payload":%b}' % value for value in values]
    found = unwrap("inserts", [*values, None, *pairs])
    labels = ["deleted", "deleted", "deleted", "truncated", "truncated", "message", "update", "update"]
    assert [Reason(outcome).label for outcome in found.outcomes.tolist()] == [*labels, "tombstone", *labels]
    assert found.singly == 0


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize(("first", "singly"), [(b"", False), (b'"op":"x",', True), (b'"before":null,', None)])
def test_what_is_ignored_proves_to_be_an_event_whoever_reads_it(
    pair: bool, first: bytes, singly: bool | None
) -> None:
    def spelled(event: dict[str, Any]) -> bytes:
        text = b"{" + first + json.dumps(event).encode()[1:]  # kernels leave keys that stand twice
        return b'{"schema":null,"payload":%b}' % text if pair else text

    sound = [spelled(event) for event in EVENTS.values()]
    if singly is not None:
        assert unwrap("inserts", sound).singly == (len(sound) if singly else 0)
    assert [one.label for one in outcomes("inserts", sound)] == [
        *("deleted", "deleted", "deleted", "truncated", "truncated", "message", "update", "update"),
    ]
    others = [spelled({"op": op, "after": {"a": 1}}) for op in "cr"]
    assert outcomes("inserts", others) == [{"a": 1}] * 2
    assert outcomes("debezium", [spelled(EVENTS["update"])]) == [{"id": 1}]
    spoilt = [spelled(event) for event in SPOILT]
    assert outcomes("inserts", spoilt) == [Reason.WRONG_ENVELOPE] * len(spoilt)
    assert outcomes("inserts", [*sound, *spoilt]) == outcomes("inserts", sound) + outcomes("inserts", spoilt)


@pytest.mark.parametrize("first", [b"", b'"op":"x",'])
def test_an_event_with_an_operation_is_no_pair_whatever_stands_beside_it(first: bytes) -> None:
    inner = json.dumps(EVENTS["deletion"]).encode()
    event = b'{%b"op":"c","after":{"a":1},"schema":{},"payload":%b}' % (first, inner)
    assert outcomes("debezium", [event]) == [{"a": 1}]


def test_an_update_is_a_record_unless_updates_are_skipped() -> None:
    update = b'{"op":"u","before":{"a":1},"after":{"a":2},"source":{"connector":"mysql"}}'
    assert outcomes("debezium", [update]) == [{"a": 2}]
    assert outcomes("inserts", [update]) == [Reason.UPDATE]


def test_what_debezium_writes_beside_rows_is_ignored_by_name() -> None:
    values = [
        b'{"ts_ms":1700000000000}',
        b'{"schema":{},"payload":{"ts_ms":1700000000000}}',
        b'{"status":"BEGIN","id":"571:5","ts_ms":1,"event_count":null,"data_collections":null}',
        b'{"schema":{},"payload":{"status":"END","id":"571:5","event_count":2,"data_collections":[]}}',
        b'{"status":"BEGIN","id":"571:5"}',
        b'{"schema":{},"payload":null}',
    ]
    found = outcomes("debezium", values)
    assert found == [Reason.HEARTBEAT] * 2 + [Reason.TRANSACTION_MARKER] * 3 + [Reason.TOMBSTONE]
    assert all(reason.is_ignored for reason in found)


@pytest.mark.parametrize(
    "row",
    [
        b'{"id": 1, "age": 30}',  # a row that is not wrapped at all
        b'{"payload": {"op": "c", "after": {"id": 1}}}',  # half a pair
        b'{"op": "c", "after": "{\\"id\\": 1}"}',  # the text of an object, as MongoDB's connector writes
        b'{"op": "c", "after": null}',
        b'{"op": "c"}',
        b'{"ts_ms": 1, "id": 1}',
        b'{"status": "ILL", "id": "p1"}',  # a row with the keys of a marker
        b'{"status": "END", "id": "p1", "age": 30}',
    ],
)
def test_a_row_that_is_no_change_event_is_a_dead_letter_and_not_ignored(row: bytes) -> None:
    assert outcomes("debezium", [row]) == [Reason.WRONG_ENVELOPE]
    assert not Reason.WRONG_ENVELOPE.is_ignored


def test_data_with_a_column_named_specversion_are_never_taken_for_another_record() -> None:
    assert outcomes("cloudevents", [b'{"id": 1, "specversion": "1.0"}', b'{"id": 1}']) == [
        Reason.WRONG_ENVELOPE,
        {"id": 1},
    ]


@pytest.mark.parametrize("letter", [b"[", b'{"after":', b'{"payload":'])
@wrappings
def test_deep_large_and_truncated_events_are_rejected_in_little_time(name: str, letter: bytes) -> None:
    (unwrapper,) = WRAPPINGS[name].unwrappers(10**7)
    deep = letter * (10**6 // len(letter))
    cut = b'{"op":"c","schema":1,"specversion":"1.0","after":' + letter * 30
    texts_of_hostile = [
        deep,
        cut,
        b'{"op":"c","after":"' + b"\\" * 10**6,
        b'{"op":"c","after":{"a":"' + b"x" * 10**6,
    ]
    found = unwrapper.unwrap(Texts.of(texts_of_hostile))
    assert {Reason(one) for one in found.outcomes.tolist()} <= {Reason.MALFORMED, Reason.TOO_DEEP}
    assert np.diff(found.texts.stops).tolist() == [1] * 3


def test_records_without_an_envelope_have_no_unwrapper() -> None:
    assert Wrapping().unwrappers(MOST) == ()
    assert Wrapping().null_values == frozenset()
