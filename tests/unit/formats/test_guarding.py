"""A record that makes a kernel leave its bounds is rejected by itself, whatever stands around it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.formats.avro.avro_reader import AvroReader
from stream_anon.formats.codecs import RecordFormats, codec_of, topic_codec
from stream_anon.formats.guarding import GuardedCodec
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.json.scanner import spans
from stream_anon.formats.unwrapping import UnwrappingCodec
from stream_anon.microdata.batch import CodedBatch, Reason
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.texts import Texts
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_policy

BAD = b'{"person": "poison"}'


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return load_policy(write_policy(tmp_path))


@pytest.fixture
def _faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the kernel that reads JSON leave its bounds at records that hold `poison`."""
    find = spans.find_members

    def faulty(text: Any, *others: Any) -> None:
        if b"poison" in text.tobytes():
            raise IndexError("index is out of bounds")
        find(text, *others)

    monkeypatch.setattr(spans, "find_members", faulty)


def _person(number: int) -> bytes:
    return json.dumps({"person": number, "age": number, "home": {"city": "Oslo"}, "visits": 1}).encode()


def _decoded(codec: GuardedCodec | JsonCodec, values: list[bytes | None]) -> CodedBatch:
    return codec.decode(Texts.of(values), 3, np.arange(100, 100 + len(values)))


@pytest.mark.usefixtures("_faulty")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kinds=st.lists(st.sampled_from(["good", "bad", "none", "broken"]), max_size=20))
def test_only_the_records_that_make_a_kernel_leave_its_bounds_are_rejected(
    kinds: list[str], policy: Policy
) -> None:
    of_kind: dict[str, bytes | None] = {"bad": BAD, "none": None, "broken": b"{"}
    values = [of_kind.get(kind, _person(place)) for place, kind in enumerate(kinds)]
    codec = GuardedCodec(policy, JsonCodec(policy))
    found = _decoded(codec, values)
    wanted = _decoded(JsonCodec(policy), [b"{" if value is BAD else value for value in values])
    assert (found.codes == wanted.codes).all()
    assert (found.individuals == wanted.individuals).all()
    assert found.offsets.tolist() == wanted.offsets.tolist()
    assert [*found.payload] == [*wanted.payload]
    for column in ("reasons", "attributes", "sources", "offsets"):
        assert getattr(found.rejects, column).tolist() == getattr(wanted.rejects, column).tolist()
    assert codec.faults == ("bad" in kinds)


@pytest.mark.usefixtures("_faulty")
def test_a_flood_of_such_records_takes_two_calls_for_each(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, calls = JsonCodec(policy), 0
    decode = inside.decode

    def counted(*given: Any) -> CodedBatch:
        nonlocal calls
        calls += 1
        return decode(*given)

    monkeypatch.setattr(inside, "decode", counted)
    codec = GuardedCodec(policy, inside)
    batch = _decoded(codec, [BAD] * 64)
    assert batch.rejects.counts() == {Reason.MALFORMED: 64}
    assert calls == 2 * 64 - 1
    assert codec.faults == 1


def test_the_text_of_a_record_that_makes_a_kernel_leave_its_bounds_is_none(policy: Policy) -> None:
    class Faulty:
        def unwrap(self, values: Texts) -> Any:
            if BAD in list(values):
                raise IndexError
            return type("Found", (), {"texts": values, "outcomes": np.full(len(values), -1), "singly": 0})

    codec = GuardedCodec(policy, UnwrappingCodec([Faulty()], JsonCodec(policy)))  # type: ignore[list-item]
    assert list(codec.inner([b"a", BAD, None, BAD, b"b"])) == [b"a", None, None, None, b"b"]


def test_another_error_is_not_taken_for_such_a_fault(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError

    monkeypatch.setattr(spans, "find_members", broken)
    with pytest.raises(KeyError):
        _decoded(GuardedCodec(policy, JsonCodec(policy)), [b"{}"])


def test_a_program_that_leads_out_of_its_arrays_rejects_the_records_that_it_reads(policy: Policy) -> None:
    """As one that the verifier let pass."""
    reader = AvroReader('{"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}]}', [("a",)], 99)
    reader._program.steps[0, :] = 2**40
    codec = GuardedCodec(policy, UnwrappingCodec([reader], JsonCodec(policy)))
    batch = _decoded(codec, [b"\x02", b"\x04"])
    assert batch.rejects.counts() == {Reason.MALFORMED: 2}
    assert codec.faults == 1


def test_every_codec_of_files_and_topics_is_guarded(policy: Policy) -> None:
    avro = RecordFormats("avro", "json", RegistryAccess("http://127.0.0.1:1"))
    assert all(isinstance(codec, GuardedCodec) for codec in (codec_of(policy), topic_codec(policy, formats=avro)))
