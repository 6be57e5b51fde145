"""Signed certificates on a real Kafka: a topic that holds passes, and what strangers write there is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.ports.publication import SIGNATURE, header_of
from stream_anon.privacy.signing.signature import read_signature
from tests.integration.kafka.test_audit import _audit, _send
from tests.integration.kafka.test_keys import _report
from tests.support.service import Stage, WorkerProcess, check_published, make_records, produce, wait_until_accounted
from tests.support.signing import key_of, public_of, secret_of

pytestmark = pytest.mark.kafka

COUNT = 1_500
MEDDLED = {"replayed", "unsigned", "forged", "unknown-signer", "signer-changed", "reordered"}


async def test_a_signed_topic_holds_over_a_rotation_and_what_a_stranger_writes_is_named(
    stage: Stage, tmp_path: Path
) -> None:
    for number in (1, 2, 3):
        (tmp_path / f"{number}.key").write_bytes(secret_of(number))
    both = tmp_path / "public.pem"
    both.write_bytes(key_of(1).public + key_of(2).public)
    # The second key signs what is released from the restart on.
    for number in (1, 2):
        config = stage.config(certificates={"sign": {"key_file": f"{number}.key"}})
        await produce(stage, make_records(COUNT, number, first=(number - 1) * COUNT))
        with WorkerProcess(config):
            published = await wait_until_accounted(stage, number * COUNT)
    check_published(published, 2 * COUNT)
    for number in (1, 2, 3):  # the audit has no secret
        (tmp_path / f"{number}.key").unlink()

    report = await _report(config, "--public-key", both)
    windows = report["counts"]["windows"]
    assert report["counts"]["signed"] == windows == len(published.certificates) > 1
    assert [signer["key"] for signer in report["signers"]] == [key_of(1).name, key_of(2).name]
    assert sum(signer["windows"] for signer in report["signers"]) == windows
    _, text = await _audit(config)
    assert "they are signed, and no public key was given" in text

    # Whoever may write to the topic repeats a part, takes a signature away, and signs with a key of their own.
    certificates = f"{stage.output}.certificates"
    records = await stage.kafka.read_to_end(certificates)
    parts = [record for record in records if "batch" in dict(record.headers)]
    first = parts[0]
    headers, value = dict(first.headers), first.value
    assert value is not None
    assert public_of(1, 2).holds(value, read_signature(headers[SIGNATURE]))
    # In another partition it may be read before the original, and behind the certificate that follows it.
    await _send(stage, certificates, value, *first.headers, partition=first.partition)
    forged = [value.replace(headers["batch"], f"{n:032x}".encode()) for n in (1, 2, 3)]
    signatures = [None, headers[SIGNATURE], key_of(3).sign(forged[2])]
    for number, (part, signature) in enumerate(zip(forged, signatures, strict=True), 1):
        named = header_of(f"{number:032x}")
        await _send(stage, certificates, part, *named, *([] if signature is None else [(SIGNATURE, signature)]))
    report = await _report(config, "--public-key", both, code=1)
    found = {one["kind"]: one["batch"] for one in report["violations"] if one["kind"] in MEDDLED}
    assert found == {
        "replayed": headers["batch"].decode(),
        "unsigned": f"{1:032x}",
        "forged": f"{2:032x}",
        "unknown-signer": f"{3:032x}",
    }
