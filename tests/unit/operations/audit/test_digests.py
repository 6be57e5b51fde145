"""Digests hold in every format of files: values that formats spell otherwise, or hardly hold, are the same ones."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.verdict import Kind
from stream_anon.cli.prove.audit import show
from stream_anon.errors import SettingsError
from stream_anon.files.anonymizing import Anonymization
from stream_anon.files.job import FileJob
from stream_anon.formats.codecs import RecordFormats, topic_codec
from stream_anon.judging.refusing import Judging, When
from stream_anon.operations.audit.audit_report import as_json
from stream_anon.operations.audit.auditing import WantedAudit, audit_files
from stream_anon.operations.audit.output_records import OutputDecoder
from stream_anon.settings.policy_file import load_policy
from tests.support.registry.memory_registry import MemoryRegistry

SECRET = "not to be shown to anybody"  # noqa: S105 - a made-up one
POLICY = """
privacy: {k: 3, individual: person, sensitive: {illness: {distinct_l: 2}}}
window: {max_records: 100}
output: {digest_key_file: secret, shape: SHAPE}
attributes:
  person: {role: identifier}
  age: {role: quasi-identifier, numeric: {min: 0, max: 99, step: 1}}
  illness: {role: sensitive}
  dose: {role: insensitive, type: number}
  visits: {role: insensitive, type: integer}
  paid: {role: insensitive, type: boolean}
  note: {role: insensitive}
  tags: {role: insensitive, type: "string[]"}
  nums: {role: insensitive, type: "number[]"}
"""
VALUES = {
    "illness": ['"flu"', '"gout"', '"cold"'],
    "dose": ["3", "3.0", "2.50", "25e-1", "1e20", "1" + "0" * 20, "9007199254740993", "1e-7", "null", "-0.0"],
    "visits": ["3", "3.0", "-0", "12345678901234567", "null", "1e3"],
    "paid": ["true", "false", "null"],
    "note": [
        '""',
        '"caf\\u00e9"',
        '"a\\"b"',
        '"a,b;c"',
        '"\\u0001"',
        '" lead"',
        '"a\\rb"',
        "null",
        '"12"',
        '"*"',
        '"[1]"',
    ],
    "tags": ["[]", ' [ "a" , "b\\u00e9" ] ', "null", '["",null,"x"]'],
    "nums": ["[1,2.0, 2.50]", "[]", "null", "[1e20, 9007199254740993]", "[12345678901234567]"],
}


@pytest.fixture(params=["natural", "flat"])
def policy(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    draws, path = random.Random(1), tmp_path / "policy.yaml"
    path.write_text(POLICY.replace("SHAPE", request.param))
    (tmp_path / "secret").write_text(SECRET + "\n")
    with (tmp_path / "in.jsonl").open("w") as file:
        for person in range(200):
            members = [f'"{name}":{draws.choice(texts)}' for name, texts in VALUES.items()]
            file.write(f'{{"person":"{person}","age":{draws.randrange(100)},{",".join(members)}}}\n')
    return path


def _released(policy: Path, name: str) -> tuple[Path, Path]:
    folder = policy.parent
    output, certificates = folder / name, folder / "certificates.jsonl"
    judging = Judging((), When.NEVER)
    job = FileJob(
        load_policy(policy), str(folder / "in.jsonl"), str(output), certificates, judging=judging, by_arrival=True
    )
    assert job.run(lambda _: None).written
    return output, certificates


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.parquet", "out.tsv.gz"])
def test_a_release_in_any_format_has_the_digests_that_are_certified(name: str, policy: Path) -> None:
    verdict = audit_files(policy, *_released(policy, name)).verdict
    assert verdict.clean
    assert (verdict.counts.recounted, verdict.counts.windows) == (2, 2)


@pytest.mark.parametrize("form", ["avro", "json-schema", "protobuf"])
async def test_records_of_a_registry_have_the_digests_that_are_certified(form: str, policy: Path) -> None:
    if form == "protobuf":
        pytest.importorskip("grpc_tools", reason="needs the extra protobuf")
    asked = load_policy(policy, {"output": {"shape": "flat"}})
    lines = (policy.parent / "in.jsonl").read_bytes().splitlines()
    async with MemoryRegistry() as registry:
        formats = RecordFormats("json", form, RegistryAccess(registry.url, timeout=2.0), "out-value")
        codec, work = topic_codec(asked, formats=formats), Anonymization(asked)
        await codec.open()
        batch = codec.decode(lines, 0, np.arange(len(lines)))
        made = [*work.add(batch), *work.close()]
        records = [record for one in made for record in codec.encode(one.release)]
        decoder = OutputDecoder(formats)
        await decoder.learn(records)
    parts = [*work.document.parts(), *(part for one in made for part in one.certificate)]
    verdict = audit_in_order(Audit(asked), parts, map(decoder.decode, records))
    assert verdict.clean
    assert verdict.counts.recounted == 2


def test_who_has_no_key_compares_no_keyed_digest(policy: Path) -> None:
    output, certificates = _released(policy, "out.jsonl")
    records = [json.loads(line) for line in output.read_bytes().splitlines()]
    place = next(i for i, one in enumerate(records) if one["visits"] is not None)
    records[place]["visits"] += 1
    output.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert audit_files(policy, output, certificates).verdict.kinds == {Kind.WRONG_DIGEST: 1}
    (policy.parent / "secret").unlink()
    report = audit_files(policy, output, certificates)
    assert report.verdict.clean
    assert report.verdict.counts.recounted == 0
    assert report.absent_key == policy.parent / "secret"
    document = as_json(report)
    assert document["uncompared"] == {"no-key": 2}
    assert document["absent_key"] == str(policy.parent / "secret")
    console = Console(markup=False, highlight=False, width=60, file=io.StringIO())
    assert show(report, console) == 0
    told = console.file.getvalue()
    assert "contents were not compared with digests" in told
    assert "  - 2 windows: no key was given" in told
    assert f"  - output.digest_key_file is not there: {policy.parent / 'secret'}\n" in told
    # The key may be given by itself.
    key = policy.parent / "copy of the secret"
    key.write_text(SECRET)
    report = audit_files(policy, output, certificates, WantedAudit(keys=[key]))
    assert report.verdict.kinds == {Kind.WRONG_DIGEST: 1}
    assert report.verdict.uncompared == {}
    with pytest.raises(SettingsError, match="no such key"):
        audit_files(policy, output, certificates, WantedAudit(keys=[policy.parent / "no such key"]))


@pytest.mark.parametrize("secret", [None, "too short", "x" * (64 * 1024 + 1)])
def test_no_release_is_made_without_the_key_that_is_asked_for(secret: str | None, policy: Path) -> None:
    file = policy.parent / "secret"
    file.unlink() if secret is None else file.write_text(secret)
    with pytest.raises(SettingsError, match=r"output\.digest_key_file") as caught:
        load_policy(policy)
    assert secret is None or secret not in str(caught.value)
