"""Measure the whole path without a broker for each format of records, by turns: in and out in the same format.

    python benchmarks/formats.py [--records N] [--window N] [--repeats N] [--json FILE]

The policy and the records are those of `path.py`, on one core; output is typed. Bodies of registry formats come
without their framing of a few bytes. The table shows the median and the spread of the runs, and the ratio to JSON
of the same turn.
"""

from __future__ import annotations

import argparse
import dataclasses
import io
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
from google.protobuf.message_factory import GetMessageClass
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks import path
from benchmarks.adult import DATA, adult_events, adult_policy
from benchmarks.report import in_words, machine, on_one_core, write_json
from stream_anon.engine.warming import warm_up
from stream_anon.formats.avro.avro_reader import AvroReader
from stream_anon.formats.avro.encoding import AvroEncoder
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.protobuf.encoding import ProtobufEncoder
from stream_anon.formats.protobuf.message_reader import MessageReader
from stream_anon.formats.protobuf.proto_files import message_of
from stream_anon.formats.unwrapping import UnwrappingCodec
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.microdata.texts import Texts
from stream_anon.ports import Codec

MOST_BYTES = 1_048_576
Prepared = tuple[list[bytes], Callable[[], Codec]]


class BodyCodec(UnwrappingCodec):
    """Reads and writes bodies of one schema."""

    def __init__(self, policy: Policy, reader: Any, encoder: Any) -> None:
        super().__init__([reader], JsonCodec(policy))
        self._encoder = encoder

    def decode(self, values: Sequence[bytes | None], source: int, offsets: NDArray[np.int64]) -> CodedBatch:
        """Return the coded records that can be written."""
        admitted: CodedBatch = self._encoder.admitted(super().decode(values, source, offsets))
        return admitted

    def encode_in_bulk(self, release: Release) -> Texts:
        """Return one body for each released row."""
        written: Texts = self._encoder.encode(release)
        return written

    def warm_up(self) -> None:
        """Compile every kernel."""
        super().warm_up()
        self._encoder.warm_up()


def json_of(policy: Policy, events: list[bytes]) -> Prepared:
    return events, lambda: JsonCodec(policy)


def avro_of(policy: Policy, events: list[bytes]) -> Prepared:
    records = list(map(json.loads, events))
    fields = [
        {"name": name.replace("-", "_"), "type": ["null", "int" if isinstance(value, int) else "string"]}
        for name, value in records[0].items()
    ]
    schema = {"type": "record", "name": "event", "fields": fields}
    parsed = fastavro.parse_schema(schema)
    bodies = []
    for record in records:
        file = io.BytesIO()
        fastavro.schemaless_writer(file, parsed, {name.replace("-", "_"): value for name, value in record.items()})
        bodies.append(file.getvalue())
    paths = [attribute.path for attribute in policy.attributes]
    return bodies, lambda: BodyCodec(policy, AvroReader(json.dumps(schema), paths, MOST_BYTES), AvroEncoder(policy))


def protobuf_of(policy: Policy, events: list[bytes]) -> Prepared:
    records = list(map(json.loads, events))
    fields = [
        f"optional {'int32' if isinstance(value, int) else 'string'} {name} = {number};"
        for number, (name, value) in enumerate(records[0].items(), start=1)
    ]
    schema = f'syntax = "proto3"; message Event {{ {" ".join(fields)} }}'
    message = message_of(schema, [0], {})
    kind = GetMessageClass(message)
    bodies = [
        kind(**{name: value for name, value in record.items() if value is not None}).SerializeToString()
        for record in records
    ]
    paths = [attribute.path for attribute in policy.attributes]
    reader = MessageReader(message, paths, MOST_BYTES)
    return bodies, lambda: BodyCodec(policy, reader, ProtobufEncoder(policy))


FORMATS: Mapping[str, Callable[[Policy, list[bytes]], Prepared]] = {
    "json": json_of,
    "avro": avro_of,
    "protobuf": protobuf_of,
}


def plain_named(policy: Policy) -> Policy:
    """Return the policy, typed and with names that every format knows."""
    attributes = [dataclasses.replace(a, keys=(a.name.replace("-", "_"),)) for a in policy.attributes]
    return dataclasses.replace(policy, attributes=tuple(attributes), shape=Shape.TYPED)


def plain_event(event: bytes) -> bytes:
    return json.dumps({name.replace("-", "_"): value for name, value in json.loads(event).items()}).encode()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--window", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of adult.csv and its hierarchies")
    parser.add_argument("--json", type=Path, help="write the results here as well")
    parser.add_argument(
        "--clock", choices=path.CLOCKS, default="wall", help="cpu leaves out what other processes took"
    )
    given = parser.parse_args()
    path.clock = path.CLOCKS[given.clock]
    if not (given.data / "adult.csv").exists():
        print("formats.py needs adult.csv and its hierarchies: --data FOLDER", file=sys.stderr)
        return 2
    on_one_core()
    about = machine()
    print(in_words(about), f"- one core, {given.clock} time")
    policy = plain_named(adult_policy(given.data, given.window))
    events = list(map(plain_event, adult_events(given.data, given.records)))
    prepared = {name: prepare(policy, events) for name, prepare in FORMATS.items()}
    warm_up(policy)
    for values, codec in prepared.values():
        warm = codec()
        warm.warm_up()
        path.Run(policy, 0, codec=warm).through(values[: 2 * given.window])
    results: dict[str, dict[str, list[float]]] = {
        name: {step: [] for step in (*path.STEPS, "whole path", "of json")} for name in FORMATS
    }
    sizes: dict[str, tuple[float, float]] = {}
    for seed in range(given.repeats):
        for name, (values, codec) in prepared.items():
            run = path.Run(policy, seed, codec=codec())
            seconds, _ = run.through(values)
            found = results[name]
            found["whole path"].append(len(values) / seconds)
            found["of json"].append(found["whole path"][-1] / results["json"]["whole path"][-1])
            for step, spent in run.spent.items():
                found[step].append(len(values) / spent)
            sizes[name] = (sum(map(len, values)) / len(values), run.bytes_out / max(run.released, 1))
    for name, found in results.items():
        print(f"\n{name}: {sizes[name][0]:.1f} bytes in, {sizes[name][1]:.1f} out, windows of {given.window}")
        for step, rates in found.items():
            digits = 2 if step == "of json" else 0
            least, middle, most = min(rates), statistics.median(rates), max(rates)
            print(f"{step:22}{middle:>12,.{digits}f}   {least:,.{digits}f}..{most:,.{digits}f}")
    write_json(given.json, {"machine": about, "clock": given.clock, "window": given.window, "results": results})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
