"""Compile ahead, while the image is built, what the windows of any policy call.

A kernel is compiled for the types of its arguments. Which kernels these are depends on the engine and what it
minimises, on whether individuals are told apart, on whether there are sensitive criteria and on whether sets of
values are published; so each of these kinds is warmed up once.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, get_args

from stream_anon.errors import SettingsError
from stream_anon.formats.avro.avro_reader import AvroReader
from stream_anon.formats.avro.encoding import AvroEncoder
from stream_anon.formats.codecs import codec_of
from stream_anon.formats.envelopes.wrapping import EnvelopeKind, Wrapping
from stream_anon.formats.protobuf.encoding import ProtobufEncoder
from stream_anon.formats.protobuf.message_reader import MessageReader
from stream_anon.formats.protobuf.proto_files import message_of
from stream_anon.microdata.choices.engine_choice import FULL_DOMAIN
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.ports import MOST_RECORD_BYTES
from stream_anon.service.wiring.warming import warm_up
from stream_anon.settings.loading import parse_settings
from stream_anon.settings.policy_file import build_policy
from stream_anon.settings.sections.engine_settings import EngineSettings

ATTRIBUTES: dict[str, dict[str, Any]] = {
    "person": {"role": "identifier"},
    "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 110, "levels": [5, 10, 20]}},
    "height": {"role": "quasi-identifier", "numeric": {"min": 0.5, "max": 2.5, "decimals": 2, "publish": "tight"}},
    "sex": {"role": "quasi-identifier", "values": ["female", "male", "diverse"], "publish": "values"},
    "zip": {"role": "quasi-identifier", "prefix": {"length": 5}, "weight": 0.5},
    "day": {"role": "quasi-identifier", "date": {"min": "2024-01-01", "max": "2026-12-31"}},
    "job": {"role": "quasi-identifier", "hierarchy": {"ordered": list(range(40)), "arity": 3}, "unknown": "root"},
    "diagnosis": {"role": "sensitive"},
}
RECORDS = 2_000


def engines() -> list[dict[str, Any]]:
    """Return the settings of every engine in each of its ways.

    The loss `classification` calls what `prec` does, with weights that it learned from a sample.
    """
    names = get_args(EngineSettings.model_fields["name"].annotation)
    losses = [loss for loss in get_args(EngineSettings.model_fields["loss"].annotation) if loss != "classification"]
    searching = [name for name in names if name != FULL_DOMAIN]
    ways: list[dict[str, Any]] = [{"name": name, "loss": loss} for name in searching for loss in losses]
    ways.append({"name": FULL_DOMAIN, "levels": {"age": 3, "height": 4, "sex": 1, "zip": 4, "day": 3, "job": 2}})
    ways.append({"name": "forest", "rounds": 2})
    return [*ways, {"name": "mondrian", "relaxed": True}, {"name": "mondrian", "least_loss": True}]


def attributes(*, people: bool, sets: bool) -> dict[str, dict[str, Any]]:
    """Return the attributes, with or without an identifier and one of which sets of values are published."""
    chosen = {name: given for name, given in ATTRIBUTES.items() if people or name != "person"}
    return chosen if sets else chosen | {"sex": {**chosen["sex"], "publish": "nodes"}}


def policies() -> Iterator[Policy]:
    """Yield a policy of every kind; an engine that cannot minimise a loss is left out with it."""
    kinds = product(engines(), ("person", EVERY_RECORD), (False, True), (False, True))
    for engine, individual, sensitive, sets in kinds:
        document = {
            "privacy": {
                "k": 10,
                "individual": individual,
                "sensitive": {"diagnosis": {"distinct_l": 2}} if sensitive else {},
            },
            "window": {"max_records": RECORDS},
            "engine": engine,
            "input": {"null_values": ["NA"] if sensitive else []},
            "attributes": attributes(people=individual != EVERY_RECORD, sets=sets),
        }
        try:
            yield build_policy(parse_settings(document), Path("policy.yaml"))
        except SettingsError as error:
            if error.key != "engine.loss":
                raise


def formats(policy: Policy) -> None:
    """Warm up what reads and writes other formats than JSON; its kernels are the same for all policies."""
    AvroReader('"string"', [], MOST_RECORD_BYTES).warm_up()
    AvroEncoder(replace(policy, shape=Shape.FLAT)).warm_up()
    MessageReader(message_of('syntax = "proto3"; message Nothing {}', [0], {}), [], MOST_RECORD_BYTES).warm_up()
    ProtobufEncoder(replace(policy, shape=Shape.FLAT)).warm_up()


def main() -> None:
    """Warm up every kind of policy and envelope; the environment says for which processor and into which folder."""
    for policy in policies():
        warm_up(policy)
    formats(policy)
    for kind in EnvelopeKind:
        codec_of(policy, wrapping=Wrapping(kind)).warm_up()


if __name__ == "__main__":
    main()
