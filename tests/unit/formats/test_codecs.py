"""The table of formats: one that is added to it is read and written by services too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from stream_anon.errors import SettingsError
from stream_anon.formats import codecs
from stream_anon.formats.codecs import RecordFormats, check_formats, topic_codec
from stream_anon.microdata.policy import Policy
from stream_anon.settings.policy_file import load_policy
from tests.support.msgpack_codec import MsgpackCodec
from tests.support.policies import write_policy

RECORD = {"person": "a", "age": 30, "city": "Oslo"}


def _msgpack(policy: Policy, *, max_record_bytes: int, around: tuple[bytes, bytes]) -> MsgpackCodec:
    assert around == (b"", b"")
    return MsgpackCodec(policy, max_record_bytes=max_record_bytes)


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Policy:
    monkeypatch.setattr(codecs, "FORMATS", {**codecs.FORMATS, "msgpack": _msgpack})
    return load_policy(write_policy(tmp_path))


@pytest.mark.parametrize(("name", "encode"), [("msgpack", msgspec.msgpack.encode), ("json", msgspec.json.encode)])
def test_the_codec_of_a_service_reads_a_format_of_the_table_that_names_no_schemas(
    policy: Policy, name: str, encode: Any
) -> None:
    formats = RecordFormats(name, name)
    check_formats(policy, formats)
    codec = topic_codec(policy, formats=formats)
    batch = codec.decode([encode(RECORD), b"\xff" + json.dumps(RECORD).encode()], 0, np.array([5, 6]))
    assert (len(batch), batch.rejects.offsets.tolist()) == (1, [6])


@pytest.mark.parametrize("formats", [RecordFormats("msgpack"), RecordFormats("avro", "msgpack")])
def test_a_format_beside_json_without_schemas_is_that_of_input_and_output(
    policy: Policy, formats: RecordFormats
) -> None:
    with pytest.raises(SettingsError, match="msgpack must be the format of both input and output"):
        check_formats(policy, formats)


def test_a_format_that_is_in_no_table_is_refused(policy: Policy) -> None:
    with pytest.raises(SettingsError, match="cbor is not supported"):
        check_formats(policy, RecordFormats("cbor", "cbor"))
