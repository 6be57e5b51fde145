"""What it costs to take records out of their envelopes, beside records without one.

    python benchmarks/envelopes.py [--records 20000] [--repeats 15] [--json FILE]

Rows of the Adult census as the tools write them: Debezium's events with and without the JSON converter's schema,
CloudEvents, and pairs of Kafka Connect. Prints bytes a record, and processor nanoseconds of decoding a record; the
least of the repeats, kinds by turns, on one core.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.adult import DATA, adult_events, adult_policy
from benchmarks.report import in_words, machine, on_one_core, write_json
from stream_anon.formats.codecs import codec_of
from stream_anon.formats.envelopes.wrapping import EnvelopeKind, Wrapping
from stream_anon.microdata.texts import Texts

_encode = msgspec.json.Encoder().encode
SOURCE: dict[str, Any] = {
    "version": "3.3.1.Final",
    "connector": "postgresql",
    "name": "db",
    "ts_ms": 1_700_000_000_000,
    "snapshot": "false",
    "db": "postgres",
    "sequence": '["24023128","24023128"]',
    "ts_us": 1_700_000_000_000_000,
    "ts_ns": 1_700_000_000_000_000_000,
    "schema": "public",
    "table": "people",
    "txId": 571,
    "lsn": 24_023_128,
    "xmin": None,
}
CLOUD_EVENT = {"specversion": "1.0", "id": "9aeb0fdf", "source": "/census", "type": "person", "time": None}


def wrapped(rows: list[dict[str, Any]]) -> Mapping[str, tuple[Wrapping, list[bytes | None]]]:
    """Return the rows in each envelope, and how it is taken off."""
    columns = [{"type": "string", "optional": True, "field": name} for name in rows[0]]
    row = {"type": "struct", "fields": columns, "optional": True, "name": "db.public.people.Value"}
    source = {"type": "struct", "fields": [{"type": "string", "field": name} for name in SOURCE], "field": "source"}
    schema = {"type": "struct", "fields": [row | {"field": "before"}, row | {"field": "after"}, source]}

    def change(number: int, op: str = "c") -> dict[str, Any]:
        told = {"op": op, "ts_ms": 1_700_000_000_000 + number, "transaction": None}
        before, after = (rows[number], None) if op == "d" else (None, rows[number])
        return {"before": before, "after": after, "source": SOURCE | {"lsn": number}} | told

    everyone = range(len(rows))
    debezium = Wrapping(EnvelopeKind.DEBEZIUM)
    return {
        "none": (Wrapping(), [_encode(each) for each in rows]),
        "debezium": (debezium, [_encode(change(number)) for number in everyone]),
        "debezium, schemas": (
            debezium,
            [_encode({"schema": schema, "payload": change(number)}) for number in everyone],
        ),
        "debezium, deletions and tombstones": (
            debezium,
            [None if number % 2 else _encode(change(number, "d")) for number in everyone],
        ),
        "cloudevents": (
            Wrapping(EnvelopeKind.CLOUDEVENTS),
            [_encode(CLOUD_EVENT | {"data": each}) for each in rows],
        ),
        "connect": (
            Wrapping(EnvelopeKind.CONNECT),
            [_encode({"schema": row, "payload": each}) for each in rows],
        ),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    on_one_core()
    policy = adult_policy(DATA, given.records)
    offsets = np.arange(given.records)
    kinds = wrapped([msgspec.json.decode(event) for event in adult_events(DATA, given.records)])
    codecs = {name: codec_of(policy, wrapping=wrapping) for name, (wrapping, _) in kinds.items()}
    texts = {name: Texts.of(values) for name, (_, values) in kinds.items()}
    took: dict[str, list[int]] = {name: [] for name in kinds}
    for turn in range(given.repeats + 1):
        for name, codec in codecs.items():
            begun = time.process_time_ns()
            codec.decode(texts[name], 0, offsets)
            if turn:  # the first one compiles
                took[name].append(time.process_time_ns() - begun)
    rows: dict[str, Any] = {
        name: {
            "bytes": round(texts[name].size / given.records),
            "nanoseconds": round(min(times) / given.records),
            "read_singly": codecs[name].read_singly,
        }
        for name, times in took.items()
    }
    print(f"{'envelope':36} {'bytes':>7} {'ns':>7}")
    for name, row in rows.items():
        print(f"{name:36} {row['bytes']:7} {row['nanoseconds']:7}")
    write_json(given.json, {"records": given.records, "machine": machine(), "envelopes": rows})
    print(in_words(machine()))


if __name__ == "__main__":
    main()
