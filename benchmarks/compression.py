"""What each choice of `kafka.compression` costs and saves, on released records in batches as the sink sends them.

    python benchmarks/compression.py [--window 10000] [--windows 4] [--repeats 9] [--json FILE]

Windows of the Adult census are released by the forest at k = 10, and packed into batches of 512 KiB at most.
Prints bytes on the wire, and processor nanoseconds of packing and compressing, a record; the least of the repeats,
kinds by turns, on one core.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.adult import DATA, adult_events, adult_policy
from benchmarks.report import in_words, machine, on_one_core, write_json
from stream_anon.adapters.kafka.writing.packed_batch import PackedBatch
from stream_anon.adapters.kafka.writing.packing import PACKERS
from stream_anon.adapters.kafka.writing.producers import BATCH_BYTES
from stream_anon.files.anonymizing import Anonymization
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.microdata.texts import Texts

HEADERS = (("batch", b"0" * 32),)


def released(window: int, windows: int) -> list[Texts]:
    """Return the records that each window publishes."""
    policy = adult_policy(DATA, window)
    codec, anonymization = JsonCodec(policy), Anonymization(policy)
    batch = codec.decode(adult_events(DATA, window * windows), 0, np.arange(window * windows))
    return [codec.encode_in_bulk(certified.release) for certified in anonymization.add(batch)]


def pack(windows: list[Texts], compression: str) -> tuple[int, int]:
    """Return the bytes of all batches, and the nanoseconds that they took."""
    size, begun = 0, time.process_time_ns()
    for texts in windows:
        taken = 0
        while taken < len(texts):
            batch = PackedBatch(BATCH_BYTES, transactional=True, compression=compression)
            taken += batch.extend(texts, taken, 1_700_000_000_000, HEADERS)
            batch._set_producer_state(7, 3, 12)  # noqa: SLF001 - as the sender does
            size += len(batch._build())  # noqa: SLF001
    return size, time.process_time_ns() - begun


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", type=int, default=10_000)
    parser.add_argument("--windows", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    on_one_core()
    windows = released(given.window, given.windows)
    records = sum(map(len, windows))
    found: dict[str, list[tuple[int, int]]] = {name: [] for name in PACKERS}
    for _ in range(given.repeats):
        for name, results in found.items():
            results.append(pack(windows, name))
    rows: dict[str, Any] = {
        name: {
            "bytes a record": round(results[0][0] / records, 1),
            "ns a record": round(min(spent for _, spent in results) / records),
        }
        for name, results in found.items()
    }
    about = machine()
    print(in_words(about))
    for name, row in rows.items():
        print(f"{name:8}", *(f"{key} {value:>7}" for key, value in row.items()))
    write_json(given.json, {"machine": about, "records": records, "compression": rows})


if __name__ == "__main__":
    main()
