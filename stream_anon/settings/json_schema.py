"""The JSON Schema of a settings file, generated from the model that validates it.

`python -m stream_anon.settings.json_schema FILE` writes it; a test compares the committed file with the model.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from stream_anon.microdata.diversity import CRITERIA
from stream_anon.microdata.schema import DIALECT
from stream_anon.settings.model import Duration, Settings

_DURATION = {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*(ms|s|m|h)?\s*$"}
_SECONDS = get_args(Duration)[1]  # what marks a field as a duration

# What the sections' own docstrings leave to say, by section and key.
_DESCRIPTIONS = {
    "Settings": {
        "kafka": "Topics and brokers; not needed to anonymize files.",
        "privacy": "What must hold of every published class.",
        "window": "When a window closes.",
        "engine": "Which partitioner forms the classes.",
        "input": "How records are read, from topics and from files.",
        "attributes": "Every declared field by dotted name, in the order in which published ones are written.",
        "http": "Where health, metrics and status are served.",
        "logs": "How log lines look.",
    },
    "KafkaSettings": {
        "bootstrap_servers": "Host and port of some brokers, comma-separated.",
        "group": "Consumer group of all workers, and the beginning of their transactional ids.",
        "input": "Topic of the events, a list of topics, or a pattern.",
        "output": "Topic of the released records.",
        "certificates": "Topic of the certificates; OUTPUT.certificates if empty.",
        "dead_letters": "Topic of the dead letters; OUTPUT.dead-letters if empty.",
        "ledger": "Compacted topic of released offsets; OUTPUT.ledger if empty.",
        "start": "Where to begin on a partition without an offset and without an entry in the ledger.",
        "lost_input": "What to do if records were deleted before they were read, or are damaged.",
        "delivery": "at-least-once is for brokers without transactions and may publish a record twice.",
        "development": "Allow topics with fewer than 3 replicas.",
        "max_record_bytes": "Larger records are rejected unread. What is released is bounded by the output's "
        "max.message.bytes.",
        "session_timeout": "After how long a silent worker's partitions go to others.",
        "transaction_timeout": "After how long the broker aborts a transaction.",
        "accept_risks": "Conditions that forbid a run and that somebody accepts; certificates name them.",
        "security": "How the connection is secured.",
    },
    "InputSettings": {"pattern": "Regular expression that fits whole names of topics."},
    "SecuritySettings": {
        "protocol": "Encryption and login.",
        "sasl_mechanism": "How to log in, for SASL protocols.",
        "username": "Name to log in with.",
        "password": "Password to log in with.",
        "password_file": "File that holds the password.",
        "token_file": "For OAUTHBEARER: file that holds the token; read anew for each connection.",
        "token_command": "For OAUTHBEARER: program and arguments; it prints a token. Run without a shell.",
        "ca_file": "Certificates to trust, PEM.",
        "certificate_file": "The client's certificate, PEM.",
        "key_file": "The client's key, PEM.",
        "key_password": "Password of the client's key, where it has one.",
        "key_password_file": "File that holds the key's password.",
    },
    "PrivacySettings": {
        "k": "Least number of distinct individuals in a published class.",
        "individual": "Attribute that tells individuals apart, or every-record; or a mapping that also says which "
        "spellings of an id are one individual's.",
        "max_share": "Largest part of a class's records that may belong to one individual.",
        "sensitive": "Criteria by name of the sensitive attribute.",
        "accept_weaker": "Hash of this policy, where it may promise less than the one before it; a run says it.",
        "revision": "Raise it with every change of the policy; a lower one never takes over from a higher one.",
        "extra_levels": "Raise each published node at random by up to so many levels; needs publish: nodes.",
    },
    "IndividualSettings": {
        "field": "Attribute that tells individuals apart.",
        "normalize": "Differences that do not count: Unicode's form, case, blanks around, UUIDs, zeros in front.",
    },
    "DiversitySettings": {criterion.name: criterion.meaning for criterion in CRITERIA},
    "RecursionSettings": {
        "c": "What the most frequent value's count must stay below, times that of the rest.",
        "l": "Rank of the value with which the rest begins.",
    },
    "ClosenessSettings": {
        "t": "Largest distance.",
        "distance": "Any two values are equally far apart, or numbers as far as they stand apart in their order.",
    },
    "WindowSettings": {
        "max_records": "Records after which a window closes.",
        "max_delay": "Age of its oldest record at which a window closes.",
        "shortfall": "What happens to a window that cannot be made anonymous at its deadline.",
        "max_records_per_individual": "Records of one individual beyond which further ones are suppressed.",
    },
    "EngineSettings": {
        "name": "The partitioner.",
        "seed": "Gives the same classes for the same windows, in tests and comparisons; without it an engine draws "
        "its costs from the system's entropy. Who knows seed, policy and all other rows can replay a window.",
        "relaxed": "Of mondrian: equal values may lie on both sides of a cut.",
        "least_loss": "Of mondrian: every cut is the one of least loss instead of a median.",
        "loss": "What the engine minimises; what is reported stays the unweighted NCP.",
        "target": "For classification: the sensitive or insensitive attribute that readers want to predict.",
        "sample": "For classification: a file of records like the input, CSV or JSON Lines, to learn from.",
        "order": "Of forest: a file that `stream-anon learn` wrote, relative to this one; without it the order is "
        "learned from the first window.",
        "rounds": "Of forest: how often and how widely classes are refined. 2 lose about 2 % less than 1, at a "
        "third of the speed.",
    },
    "AttributeSettings": {
        "role": "What the field is; identifiers are never published.",
        "type": "Type of a field that passes, or in which exact categories are written.",
        "hierarchy": "File with rows from leaf to root, a nested mapping, or an ordered list to balance.",
        "values": "Categories without groups: kept or suppressed.",
        "numeric": "A grid of numbers.",
        "prefix": "Texts of which a prefix may be published, such as postal codes.",
        "date": "Days, published as day, month, quarter or year.",
        "publish": "Hierarchy nodes, or the set of values that occur.",
        "weight": "How much the engine minds loss here; the reported loss leaves it out.",
        "missing": "A missing value is a leaf of its own, or the record is rejected.",
        "unknown": "A value outside is a dead letter, or becomes the root.",
        "path": "The keys from the record's top to the value, where the name split at its dots is not that: "
        '["after.age"] is one key with a dot in it.',
        "accept_missing": "Of a published field: somebody knows that it may be absent from every record.",
        "accept_linkable": "Of a field that passes: somebody has weighed that its rare values can identify.",
    },
    "RecordSettings": {
        "null_values": "Texts that mean a missing value, in every declared field, such as NA or an empty text.",
    },
    "NumericSettings": {
        "min": "Least value.",
        "max": "Greatest value.",
        "step": "Width of a cell; 1 by default.",
        "decimals": "Most decimals of a value; without it and without whole bounds, values are continuous.",
        "levels": "Widths of the intervals, narrow first; without them the range is halved.",
        "publish": "Nodes of the grid, or the range from the least to the greatest value.",
    },
    "PrefixSettings": {
        "length": "Characters of a value.",
        "alphabet": "digits, letters, alphanumeric, or the characters themselves.",
        "pad": "zeros: whole numbers get back the zeros in front that they lost; without it 2138 does not fit 5.",
        "shorter": "Values of fewer characters fit too, as postal codes of Britain do; SW1A* tells no length.",
    },
    "DateSettings": {
        "format": "How the input writes a day, as in strptime.",
        "min": "First day, such as 2024-01-01.",
        "max": "Last day.",
    },
    "BalancedSettings": {"ordered": "The values in order.", "arity": "Neighbours under one node."},
    "HttpSettings": {
        "host": "Address for health and metrics.",
        "port": "Port for health and metrics.",
        "admin_host": "Address for everything else.",
        "admin_port": "Port for everything else.",
    },
    "LogSettings": {
        "format": "For a terminal or for machines; auto looks.",
        "level": "Least level that is written.",
    },
}


def settings_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a settings file."""
    generated = Settings.model_json_schema()
    definitions = generated.pop("$defs")
    for name, model in _models(Settings, {}):
        target = generated if model is Settings else definitions[name]
        for key, field in model.model_fields.items():
            target["properties"][key] = _property(name, key, field, target["properties"][key])
    head = {
        "$schema": DIALECT,
        "$id": "urn:stream-anon:schema:settings:1",
        "title": "stream-anon settings",
        "description": "One YAML file; all but attributes can be overridden by STREAM_ANON__SECTION__KEY.",
    }
    generated = {key: value for key, value in generated.items() if key not in head}
    return {**head, **_untitled(generated), "$defs": _untitled(definitions)}


def _models(model: type[BaseModel], seen: dict[str, type[BaseModel]]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield a model and all that its fields hold, by the names of their definitions."""
    if model.__name__ in seen:
        return
    seen[model.__name__] = model
    yield model.__name__, model
    for field in model.model_fields.values():
        for inner in _held(field.annotation):
            yield from _models(inner, seen)


def _held(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _held(argument)


def _property(section: str, key: str, field: FieldInfo, schema: dict[str, Any]) -> dict[str, Any]:
    described = dict(schema)
    if is_duration(field):
        outside = {name: described.pop(name) for name in ("default",) if name in described}
        described.pop("title", None)
        described = {"anyOf": [described | {"description": "seconds"}, _DURATION], **outside}
    text = field.description or _DESCRIPTIONS.get(section, {}).get(key)
    return described | ({"description": text} if text else {})


def is_duration(field: FieldInfo) -> bool:
    """Return whether a setting is a duration, in seconds or as a text such as `30s`."""
    return _SECONDS in field.metadata


def meaning(model: type[BaseModel], key: str, field: FieldInfo) -> str:
    """Return what a setting means; KeyError if nobody wrote it down."""
    return field.description or _DESCRIPTIONS[model.__name__][key]


def _untitled(schema: Any) -> Any:
    """Drop the titles that repeat a key; a field of that name stays."""
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _untitled(inner) for name, inner in value.items()} if key == "properties" else _untitled(value)
        for key, value in schema.items()
        if key != "title"
    }


def as_text(schema: dict[str, Any]) -> str:
    """Return a schema as it stands in its file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(as_text(settings_schema()), encoding="utf-8")
