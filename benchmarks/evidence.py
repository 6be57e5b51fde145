"""Measure a report over a month of windows on a real Kafka: seconds, and memory; and memory a certificate.

    python benchmarks/evidence.py [--windows 10000] [--records 100] [--certificates 200000] [--json FILE]

Made-up visits are released in windows of so many records, of which one closed every four minutes and a half as
their certificates say, and written to two topics as the service writes them. `stream-anon report` of the month runs
in a process of its own, and writes JSON and a page. Then an audit with its evidence is fed certificates of windows
that released nothing. Its memory is taken at a half and at the end: so much does each further one need.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import numpy as np
from aiokafka import AIOKafkaProducer

from benchmarks.auditing import POLICY, SEXES, write_visits
from benchmarks.on_kafka import Results, measured_on_kafka, parser_of
from stream_anon.audit.audit import Audit
from stream_anon.files.anonymizing import SOURCE, Anonymization
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.operations.report.figures.evidence import Evidence
from stream_anon.privacy.certificate import certificate_digest
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from stream_anon.settings.policy_file import load_policy
from tests.support.apache_kafka import ApacheKafka
from tests.support.clock import FakeClock
from tests.support.releases import frame_of, release_of, ward_people, ward_policy

EVERY = 270  # seconds from window to window: 10,000 in a month
KAFKA = """\
kafka: {bootstrap_servers: "ADDRESS", group: evidence, input: visits, output: visits.anonymous}
"""
PROGRAM = """\
import resource, sys
from stream_anon.cli.main import command
try:
    command()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


async def _publish(kafka: ApacheKafka, folder: Path, windows: int, records: int) -> Path:
    """Release windows, and write them and their certificates to topics; return the settings file."""
    config = folder / "policy.yaml"
    config.write_text(KAFKA.replace("ADDRESS", kafka.address) + POLICY.replace("WINDOW", str(records)))
    (folder / "sex.csv").write_text(SEXES)
    policy = load_policy(config)
    source = folder / "visits.csv"
    write_visits(source, windows * records)
    codec, begun = JsonCodec(policy), time.time() - windows * EVERY
    clock = FakeClock(wall=begun)
    work = Anonymization(policy, clock)
    producer = AIOKafkaProducer(bootstrap_servers=kafka.address, linger_ms=50, max_batch_size=1 << 19)
    await producer.start()
    names: list[str] = []
    numbers = {"age", "weight", "cost"}
    offset, rows = 0, []
    for part in work.document.parts():
        await producer.send("visits.anonymous.certificates", part, timestamp_ms=int(begun) * 1000)
    for line in source.read_text().splitlines():
        if not names:
            names = line.split(",")
            continue
        row: dict[str, Any] = dict(zip(names, line.split(","), strict=True))
        rows.append(json.dumps(row | {name: json.loads(row[name]) for name in numbers}).encode())
        if len(rows) < records:
            continue
        batch = codec.decode(rows, SOURCE, np.arange(offset, offset + len(rows)))
        offset, rows = offset + len(rows), []
        for certified in work.add(batch):
            name = json.loads(certified.certificate[0])["batch"].encode()
            stamp = int(clock.wall()) * 1000
            for value in codec.encode(certified.release):
                await producer.send("visits.anonymous", value, headers=[("batch", name)], timestamp_ms=stamp)
            for part in certified.certificate:
                topic = "visits.anonymous.certificates"
                await producer.send(topic, part, headers=[("batch", name)], timestamp_ms=stamp)
        clock.advance(EVERY)
    await producer.stop()
    return config


def _reported(config: Path, folder: Path) -> dict[str, Any]:
    """Return what a report takes, and check that it found nothing wrong."""
    begun = time.perf_counter()
    options = ("report", "-c", config, "--from", "40d", "--json", folder / "r.json", "--html", folder / "r.html")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, options)], capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - begun
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads((folder / "r.json").read_text())
    return {
        "windows": told["records"]["windows"],
        "released": told["records"]["released"],
        "classes": told["classes"]["classes"],
        "seconds": round(seconds, 1),
        "memory_mib": round(int(done.stderr.splitlines()[-1]) / 1024),
    }


def bytes_a_certificate(certificates: int) -> int:
    """Return how many bytes each further certificate takes, of windows that released nothing."""
    policy = ward_policy()
    document = PolicyDocument.of(policy)
    evidence = Evidence(policy, 0.1)
    audit = Audit(policy, observer=evidence.add)
    for part in document.parts():
        audit.add_part(part)
    release = release_of(policy, [], unplaced=ward_people(1))
    (part,) = certificate_parts(release, policy, frame_of(release, promises=document.promises))
    certificate, held = json.loads(part), 0
    tracemalloc.start()
    for number in range(certificates):
        if number == certificates // 2:
            held = tracemalloc.get_traced_memory()[0]
        place = certificate["inputs"][0] | {"start": number, "end": number + 1}
        told = json.dumps(
            certificate | {"batch": f"{number:032x}", "inputs": [place]}, separators=(",", ":")
        ).encode()
        audit.add_part(told)
        certificate["previous"] = certificate_digest([told])
    grown = tracemalloc.get_traced_memory()[0] - held
    tracemalloc.stop()
    assert evidence.windows == certificates
    return round(grown / (certificates - certificates // 2))


async def run(given: argparse.Namespace, folder: Path) -> Results:
    kafka = ApacheKafka(folder / "kafka")
    await asyncio.to_thread(kafka.__enter__)
    try:
        for topic in ("visits", "visits.anonymous", "visits.anonymous.certificates"):
            await kafka.create_topic(topic, 1)
        config = await _publish(kafka, folder, given.windows, given.records)
        found = await asyncio.to_thread(_reported, config, folder)
    finally:
        await asyncio.to_thread(kafka.kill)
    print(json.dumps(found), flush=True)
    grown = {
        "certificates": given.certificates,
        "bytes_a_certificate": bytes_a_certificate(given.certificates),
    }
    print(json.dumps(grown), flush=True)
    return [found, grown]


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--windows", type=int, default=10_000)
    parser.add_argument("--records", type=int, default=100, help="of a window")
    parser.add_argument("--certificates", type=int, default=200_000)
    return measured_on_kafka(parser, run)


if __name__ == "__main__":
    raise SystemExit(main())
