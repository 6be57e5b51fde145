"""How entries of the ledger are written: a key for each input partition, and JSON."""

from __future__ import annotations

import json

from stream_anon.ports import LedgerEntry, Place

SCHEMA_VERSION = 2


def key_of(place: Place) -> bytes:
    """Return the key of a partition's entries."""
    return json.dumps(list(place), separators=(",", ":")).encode()


def place_of(key: bytes) -> Place:
    """Return the partition that a key names. Raises ValueError, TypeError or RecursionError if it is no key."""
    topic, partition = json.loads(key)
    if not isinstance(topic, str):
        raise TypeError("not a topic")
    return topic, _natural(partition)


def value_of(entry: LedgerEntry) -> bytes:
    """Return an entry as it is written; `LedgerEntry` explains its keys."""
    fields = {
        "schema": SCHEMA_VERSION,
        "next": entry.next,
        "batch": entry.batch,
        "topic_id": entry.topic_id,
        "revision": entry.revision,
        "cluster": entry.cluster,
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def entry_of(value: bytes) -> LedgerEntry:
    """Return what an entry says. Raises ValueError, KeyError or TypeError if it is no entry.

    Unknown keys are ignored, so that a later release may add keys.
    """
    entry = json.loads(value)
    if entry["schema"] != SCHEMA_VERSION or type(entry["schema"]) is not int:
        raise ValueError("the entry has another version")
    batch, topic_id, cluster = entry.get("batch"), entry.get("topic_id"), entry.get("cluster")
    if not all(text is None or isinstance(text, str) for text in (batch, topic_id, cluster)):
        raise TypeError("neither an id nor null")
    return LedgerEntry(_natural(entry["next"]), batch, topic_id, _natural(entry.get("revision", 0)), cluster)


def _natural(number: object) -> int:
    if type(number) is not int or number < 0:
        raise ValueError("neither an offset nor a number")
    return number
