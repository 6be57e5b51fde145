"""Scanning must be reading one by one, whatever the bytes."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.json.scanner.scanner import Scanner
from stream_anon.formats.json.scanner.tables import scan_tables
from stream_anon.formats.json.single_reading import SingleReader
from stream_anon.formats.writing.passed_texts import PassedTexts
from stream_anon.microdata.attributes import Missing, Unknown
from stream_anon.microdata.batch import CodedBatch, Reason
from stream_anon.microdata.coding import BatchBuilder, CodedRecord, Misfit
from stream_anon.microdata.diversity import Closeness, Distance, Diversity
from stream_anon.microdata.ids import Normalization
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.texts import Texts
from tests.support import hostile
from tests.support.effort import examples
from tests.support.object_coder import ObjectCoder

BROAD = [hostile.broad_policy(missing, unknown) for missing in Missing for unknown in Unknown]
PLAIN = [hostile.plain_policy(missing, unknown) for missing in Missing for unknown in Unknown]
NULLED = [hostile.null_policy(policy) for policy in (BROAD[0], BROAD[-1], PLAIN[0], PLAIN[-1])]
SPELLED = [
    hostile.spelled_policy(BROAD[0], *Normalization),
    hostile.spelled_policy(PLAIN[0], *Normalization),
    *(hostile.spelled_policy(PLAIN[0], step) for step in Normalization),
    hostile.spelled_policy(NULLED[-1], Normalization.STRIP, Normalization.DIGITS),
]
COERCING = [hostile.coercing_policy(policy) for policy in (BROAD[0], BROAD[-1], PLAIN[0], NULLED[-1])]
POLICIES = [*BROAD, *PLAIN, *NULLED, *SPELLED, *COERCING]
NAMES = list(hostile.FITTING)

chosen = st.integers(0, len(POLICIES) - 1)
slowly = settings(examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@cache
def codecs() -> list[JsonCodec]:
    """Return a codec for each policy; their tables take a second to make, which no other process shall spend."""
    return [JsonCodec(policy, max_record_bytes=8000) for policy in POLICIES]


def plain_codec() -> JsonCodec:
    return codecs()[len(BROAD)]


def one_by_one(policy: Policy, values: list[bytes | None], offsets: np.ndarray) -> CodedBatch:
    reader, builder = SingleReader(policy, 8000), BatchBuilder(policy, 3)
    for value, offset in zip(values, offsets.tolist(), strict=True):
        builder.add(reader.read(value), offset)
    return builder.build()


def assert_same(batch: CodedBatch, expected: CodedBatch) -> None:
    for name in ("codes", "sensitive", "individuals", "sources", "offsets"):
        column, wanted = getattr(batch, name), getattr(expected, name)
        assert column.dtype == wanted.dtype, name
        assert column.shape == wanted.shape, name
        assert (column == wanted).all(), name
    assert [repr(p) for p in batch.payload] == [repr(p) for p in expected.payload]
    # What passes is what the encoder writes for the decoded values, byte for byte.
    assert isinstance(batch.payload, PassedTexts)
    anew = PassedTexts.of(expected.payload, batch.payload.ends.shape[1])
    assert batch.payload.text.tobytes() == anew.text.tobytes()
    assert (batch.payload.ends == anew.ends).all()
    for name in ("reasons", "attributes", "sources", "offsets"):
        assert getattr(batch.rejects, name).tolist() == getattr(expected.rejects, name).tolist(), name


@slowly
@given(chosen, st.lists(hostile.values(NAMES), max_size=12))
def test_the_scanner_says_what_a_single_look_says(which: int, values: list[bytes | None]) -> None:
    offsets = np.arange(100, 100 + 2 * len(values), 2)
    assert_same(codecs()[which].decode(values, 3, offsets), one_by_one(POLICIES[which], values, offsets))


@slowly
@given(chosen, st.lists(hostile.objects(NAMES), min_size=1, max_size=6))
def test_no_record_fools_the_scanner_among_good_ones(which: int, records: list[dict[str, Any]]) -> None:
    good = {name: choices[0] for name, choices in hostile.FITTING.items()}
    values: list[bytes | None] = [nested(good), *map(hostile.text_of, records), nested(good)]
    offsets = np.arange(len(values))
    batch = codecs()[which].decode(values, 3, offsets)
    assert {0, len(values) - 1} <= set(batch.offsets.tolist())
    assert_same(batch, one_by_one(POLICIES[which], values, offsets))


@pytest.mark.parametrize("name", NAMES)
def test_no_field_fools_the_scanner(name: str) -> None:
    tries = _tricky(name)
    offsets = np.arange(len(tries))
    for codec, policy in zip(codecs(), POLICIES, strict=True):
        assert_same(codec.decode(tries, 3, offsets), one_by_one(policy, tries, offsets))


# A record alone takes long to decode: most policies are left to `make soak`.
@pytest.mark.parametrize(
    "which", [pytest.param(which, marks=[pytest.mark.soak] if which else []) for which in range(len(POLICIES))]
)
@pytest.mark.parametrize("name", NAMES)
def test_no_field_of_a_record_alone_fools_the_scanner(name: str, which: int) -> None:
    offsets = np.arange(1)
    for value in _tricky(name):
        decoded = codecs()[which].decode([value], 3, offsets)
        assert_same(decoded, one_by_one(POLICIES[which], [value], offsets))


def _tricky(name: str) -> list[bytes | None]:
    good = {name: choices[0] for name, choices in hostile.FITTING.items()}
    return [nested(good | {name: value}) for value in hostile.TRICKY]


def test_every_reader_takes_each_spelling_of_an_id_for_the_same_person() -> None:
    """With escapes and without, alone and all at once."""
    good = {name: choices[0] for name, choices in hostile.FITTING.items()}
    tries = [nested(good | {"id": value}) for value in [*hostile.FITTING["id"], *hostile.TRICKY]]
    tries += [hostile.text_of(json.loads(value)) for value in tries if b"\\ud8" not in value]
    offsets = np.arange(len(tries))
    for policy in SPELLED:
        codec = codecs()[POLICIES.index(policy)]
        expected = one_by_one(policy, [*tries], offsets)
        assert_same(codec.decode(tries, 3, offsets), expected)
        for value in tries:
            assert_same(codec.decode([value], 3, offsets[:1]), one_by_one(policy, [value], offsets[:1]))


def test_ascii_ids_in_any_spelling_stay_with_the_scanner() -> None:
    policy = SPELLED[1]
    tables = scan_tables(policy)
    assert tables is not None
    scanner = Scanner(policy, tables, 8000)
    good = {name: choices[0] for name, choices in hostile.FITTING.items()}
    ids = [" P7 ", hostile.UUID.upper(), "007", 7, "\u00e9", "E\u0301", "\uff10\uff17"]
    values = [hostile.text_of(json.loads(nested(good | {"id": one}))) for one in ids]
    batch, left = scanner.scan(Texts.of(values), 0, np.arange(len(values)))
    assert not len(left)
    assert len(set(batch.individuals.tolist())) == 4  # p7, the UUID, 7 and an e with an accent


def nested(record: dict[str, Any]) -> bytes:
    tree: dict[str, Any] = {}
    for name, value in record.items():
        *parents, last = hostile.KEYS.get(name, (name,))
        place = tree
        for key in parents:
            place = place.setdefault(key, {})
        place[last] = value
    return json.dumps(tree).encode()


@slowly
@given(chosen, hostile.objects(NAMES))
def test_a_single_look_reads_json_as_the_standard_library_does(which: int, record: dict[str, Any]) -> None:
    text = hostile.text_of(record)
    result = SingleReader(POLICIES[which], 100_000).read(text)
    try:
        plain = json.loads(text.decode())  # fails on what is no text and on integers without end
    except ValueError:
        assert isinstance(result, Misfit)
        return
    if _has_what_json_forbids(plain):
        assert isinstance(result, Misfit)
    else:
        assert repr(result) == repr(ObjectCoder(POLICIES[which]).code_object(plain))


def _has_what_json_forbids(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_what_json_forbids, [*value, *value.values()]))
    if isinstance(value, list):
        return any(map(_has_what_json_forbids, value))
    return isinstance(value, float) and not math.isfinite(value)


@slowly
@given(st.lists(st.sampled_from([b'{"age":1}', b'{"age":null}', b'{"age":true}', b"{}", None]), max_size=8))
def test_without_ids_every_record_is_an_individual_of_its_own(values: list[bytes | None]) -> None:
    codec = JsonCodec(hostile.every_record_policy())
    batches = [codec.decode(values, 0, np.arange(len(values))) for _ in range(2)]
    individuals = np.concatenate([batch.individuals for batch in batches])
    assert len(set(individuals.tolist())) == len(individuals)
    assert len(individuals) == 2 * sum(value in (b'{"age":1}', b'{"age":null}', b"{}") for value in values)


@slowly
@given(st.binary(max_size=200))
def test_no_bytes_make_a_single_look_raise(value: bytes) -> None:
    result = SingleReader(POLICIES[0], 100).read(value)
    assert isinstance(result, CodedRecord | Misfit)
    if len(value) > 100:
        assert result == Misfit(Reason.TOO_LARGE)


GOOD = {name: choices[0] for name, choices in hostile.FITTING.items()}
# What fits whatever a policy says of missing values, texts that mean them, and spellings.
FIT = {name: choices[:1] for name, choices in hostile.FITTING.items()} | {
    "id": ["q", 7, 7.0, 10**30, "\u00e9", "q\\"],
    "visit.ward": ["A", "B%s"],
    "when": ["03.02.2024"],
    "result": ["poor", "so \u00fc"],
    "note": ["a\nb", "\U0001f600", "c"],
    "score": hostile.FITTING["score"],
    "count": hostile.FITTING["count"],
    "height": hostile.FITTING["height"],
}


# A declared text with an escape in it is not for the scanner.
GOOD = {name: choices[0] for name, choices in hostile.FITTING.items()} | {"patient.home.code": "AAAA"}
PLAIN_TEXT = nested(GOOD | {"score": -12.375, "flag": False, "other": {"a": [1, "b", {}], "c": None}})


@pytest.mark.parametrize(
    "record",
    [
        PLAIN_TEXT,
        b" \t\r\n" + json.dumps(json.loads(PLAIN_TEXT), indent=2).encode() + b"\n",
        json.dumps(json.loads(PLAIN_TEXT), separators=(",", ":"), ensure_ascii=False).encode(),
        nested(
            GOOD | {"note": None, "x": 'a "quoted" one\n', "y": [], "z": -1e300, "a": [[True, [False]], "\u00e9"]}
        ),
        b'{"id":"p","patient":null,"visit":{}}',
    ],
)
def test_plain_records_stay_with_the_scanner(record: bytes) -> None:
    assert plain_codec()._scanner is not None
    batch, left = plain_codec()._scanner.scan(Texts.of([record, record]), 3, np.arange(2))
    assert (len(batch), len(left)) == (2, 0)
    assert_same(batch, one_by_one(PLAIN[0], [record, record], np.arange(2)))


def test_texts_that_mean_a_missing_value_leave_the_records_to_the_scanner() -> None:
    codec, policy = codecs()[POLICIES.index(NULLED[-2])], NULLED[-2]
    assert codec._scanner is not None
    texts = ("NA", "", "fine", "ü\u2028", "fines", "N", "NAA", None)
    values: list[bytes | None] = [
        json.dumps(json.loads(nested(GOOD | {"note": text, "result": text})), ensure_ascii=False).encode()
        for text in texts
    ]
    batch, left = codec._scanner.scan(Texts.of(values), 3, np.arange(len(values)))
    assert len(left) == 0
    assert_same(batch, one_by_one(policy, values, np.arange(len(values))))
    place = [attribute.name for attribute in policy.passed].index("note")
    assert [row[place] for row in batch.payload] == [None] * 4 + ["fines", "N", "NAA", None]


def test_texts_count_as_numbers_only_where_the_policy_says_so_and_are_counted() -> None:
    given = {
        "patient.age": ["25", "\\u0032\\u0035", 25, " 25 ", "25.0", "25,0"],
        "score": ["1.5", "1,5", 1.5, " +1.50", "15e-1", "0.15E1"],
        "count": ["2", "2.0", 2, "2e0", "+2", "002"],
        "flag": ["true", "TRUE", True, " True ", "tRuE", "\\u0074rue"],
    }
    rows = [dict(zip(given, row, strict=True)) for row in zip(*given.values(), strict=True)]
    values: list[bytes | None] = [nested(GOOD | row).replace(b"\\\\u", b"\\u") for row in rows]
    refused = one_by_one(PLAIN[0], values, np.arange(6))
    assert refused.offsets.tolist() == [2]
    assert set(refused.rejects.reasons.tolist()) == {Reason.WRONG_TYPE}

    codec, policy = JsonCodec(COERCING[2], max_record_bytes=8000), COERCING[2]
    batch = codec.decode(values, 3, np.arange(6))
    assert_same(batch, one_by_one(policy, values, np.arange(6)))
    assert codec.read_singly == 0
    assert codec.coerced == 5 * len(given)
    reader = SingleReader(policy, 8000)
    assert all(isinstance(reader.read(value), CodedRecord) for value in values)
    assert reader.coerced == codec.coerced
    assert len({tuple(row) for row in batch.codes.T.tolist()}) == 1
    names = [attribute.name for attribute in policy.passed]
    for name, wanted in (("score", 1.5), ("count", 2), ("flag", True)):
        assert {repr(row[names.index(name)]) for row in batch.payload} == {repr(wanted)}
    assert {one.tobytes() for one in batch.sensitive.T} == {batch.sensitive[:, 2].tobytes()}


@pytest.mark.parametrize(
    "text", ["", "x", "1,2,3", "1.234,5", "1,234.5", "0x10", "1_000", "NaN", "1e999", "٣", "yes"]
)
def test_a_text_that_stands_for_no_number_stays_of_a_wrong_type(text: str) -> None:
    codec = JsonCodec(COERCING[2], max_record_bytes=8000)
    for name in ("patient.age", "score", "count", "flag"):
        batch = codec.decode([nested(GOOD | {name: text})], 3, np.arange(1))
        assert batch.rejects.reasons.tolist() == [Reason.WRONG_TYPE]
    assert codec.coerced == 0


@pytest.mark.parametrize("which", range(len(POLICIES)))
def test_the_scanner_reads_records_that_fit_under_every_policy(which: int) -> None:
    codec = codecs()[which]
    values = [nested({name: choices[i % len(choices)] for name, choices in FIT.items()}) for i in range(12)]
    before = codec.read_singly
    batch = codec.decode(values, 3, np.arange(len(values)))
    assert len(batch) == len(values)
    assert codec.read_singly == before


@pytest.mark.parametrize(
    "record",
    [
        json.dumps(
            {"id": "J\u00f6rg \U0001f600", "n\u00f6te": "\u00e9", "gr\u00f6\u00dfe": ["\U0001f600", 1e-7]}
        ).encode(),
        b'{"id":1e3,"score":1.50e2,"count":1E+2,"note":"a \\"b\\"\\nline \\u00fc\\/","patient":{"age":25.000}}',
        b'{"id":12345678901234567890123,"score":0.30000000000000004,"count":-0.0,"weight":1e1,"height":1.7e0}',
        b'{"id":"\\u0070","\\u006eote":"x","patient":{"a\\u0067e":7},"\\n":1,"result":"\\u0066ine","score":0.0001}',
        b'{"id":"p","meters":-8.0e3,"far":1e15,"grams":0.0,"odd":1.0,"level":"\\u0030\\u0035","count":1e22}',
    ],
)
def test_odd_values_stay_with_the_scanner(record: bytes) -> None:
    values: list[bytes | None] = [PLAIN_TEXT, record, PLAIN_TEXT, record]
    for codec, policy in zip(codecs(), POLICIES, strict=True):
        expected = one_by_one(policy, values, np.arange(4))
        before = codec.read_singly
        assert_same(codec.decode(values, 3, np.arange(4)), expected)
        assert codec.read_singly - before == len(expected.rejects)


def test_a_record_that_is_no_text_leaves_the_others_to_the_scanner() -> None:
    good = json.dumps(json.loads(PLAIN_TEXT) | {"note": "\u00fc"}, ensure_ascii=False).encode()
    codec = plain_codec()
    before = codec.read_singly
    codec.decode([good, good.replace(b"fine", b"fi\xff"), good], 3, np.arange(3))
    assert codec.read_singly - before == 1


def test_ordered_numbers_have_keys_in_their_order_and_stay_with_the_scanner() -> None:
    policy = replace(
        PLAIN[0], diversity=PLAIN[0].diversity | {"score": Diversity(t_closeness=Closeness(0.3, Distance.ORDERED))}
    )
    codec = JsonCodec(policy, max_record_bytes=8000)
    scores = [-2.5, -1, 0, 0.0001, 1, 1.0, 2.50, 1e300, None]
    values: list[bytes | None] = [nested(GOOD | {"score": score}) for score in scores]
    batch = codec.decode(values, 3, np.arange(len(values)))
    assert_same(batch, one_by_one(policy, values, np.arange(len(values))))
    keys = batch.sensitive[[a.name for a in policy.diverse].index("score")][:-1].tolist()
    assert keys == sorted(keys)
    assert codec.read_singly == 0


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Return a plain record with some bytes changed, lost, doubled or moved."""
    text = bytearray(draw(st.sampled_from([PLAIN_TEXT, *NUMBERED])))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        match draw(st.integers(0, 3)):
            case 0:
                text[at : at + 1] = draw(
                    st.sampled_from([b"\\", b'"', b"0", b"-", b".", b"e", b"{", b"}", b",", b"\x00"])
                )
            case 1:
                text[at : at + draw(st.integers(1, 40))] = b""
            case 2:
                text[at:at] = text[at : at + draw(st.integers(1, 40))]
            case _:
                text[at:at] = draw(st.binary(min_size=1, max_size=3))
    return bytes(text)


NUMBERED = [nested(GOOD | {"score": score, "count": count}) for score, count in ((0.001, 0), (1e15, 10**17))]


@settings(slowly, max_examples=examples(250).max_examples)
@given(st.integers(0, len(PLAIN) - 1), st.lists(mutated(), min_size=1, max_size=8))
def test_changed_bytes_do_not_lead_the_scanner_astray(which: int, values: list[bytes]) -> None:
    policy, codec = PLAIN[which], codecs()[len(BROAD) + which]
    offsets = np.arange(len(values))
    assert_same(codec.decode(values, 3, offsets), one_by_one(policy, list(values), offsets))


NUMBERS = (
    "0 -0 -1 01 -01 1. .5 - 1e2 1E+2 1e 12.50 12.5 -12.5 0.001 0.0009 -0.001 -0.0005 -0.0015 0.0 -0.0 1.0 "
    "999999999999999 9999999999999.99 99999999999999.99 123456789012345678 1234567890123456789 0.123456789012345 "
    "0.12345678901234 99.5 100 2.5 2.500 2.50000000000001 0.7 0.69999999999999 70.25 8000 -8000 8000.0 16000 "
    "999999999999901 1000000000000000 1000000000000001 true nul tru falsey"
)


@pytest.mark.parametrize(
    "name",
    [
        "patient.age",
        "weight",
        "height",
        "meters",
        "far",
        "score",
        "count",
        "patient.home.zip",
        "patient.home.plz",
        "post",
        "id",
    ],
)
def test_a_number_is_read_and_written_as_by_a_single_look(name: str) -> None:
    marked = nested(GOOD | {name: "@"})
    values: list[bytes | None] = [marked.replace(b'"@"', number.encode()) for number in NUMBERS.split()]
    offsets = np.arange(len(values))
    for codec, policy in zip(codecs()[len(BROAD) :], POLICIES[len(BROAD) :], strict=True):
        assert_same(codec.decode(values, 3, offsets), one_by_one(policy, values, offsets))


@slowly
@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False) | st.decimals(-999, 999, places=3).map(float), max_size=20
    )
)
def test_a_decimal_passes_in_the_form_that_the_encoder_writes(numbers: list[float]) -> None:
    values: list[bytes | None] = [nested(GOOD | {"score": number}) for number in numbers]
    offsets = np.arange(len(values))
    assert_same(plain_codec().decode(values, 3, offsets), one_by_one(PLAIN[0], values, offsets))


def test_bytes_that_are_no_text_do_not_pass_among_records_that_are() -> None:
    good = json.dumps(json.loads(PLAIN_TEXT), ensure_ascii=False).encode()
    values: list[bytes | None] = [good, good.replace(b"fine", b"fi\xffe"), good.replace(b"fine", "fü".encode())]
    for chosen_values in (values, values[::2]):
        offsets = np.arange(len(chosen_values))
        assert_same(plain_codec().decode(chosen_values, 3, offsets), one_by_one(PLAIN[0], chosen_values, offsets))


@pytest.mark.parametrize("which", range(len(POLICIES)))
def test_an_empty_batch_is_decoded_as_an_empty_batch(which: int) -> None:
    assert len(codecs()[which].decode([], 0, np.arange(0))) == 0
