"""Read one record at a time: slowly, and as the reference for the scanner."""

from __future__ import annotations

import re

import msgspec
import numpy as np

from stream_anon.formats.unwrapping import looks_framed
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.coding import UNREADABLE, CodedRecord, Misfit, RecordCoder
from stream_anon.microdata.policy import Policy

MOST_LEVELS = 64

# Every match ends with its string or with the text, so that no input takes quadratic time.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.?)*+(?:"|\Z)', re.DOTALL)
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1

_check = msgspec.json.Decoder(msgspec.Raw).decode
_split = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_value = msgspec.json.Decoder().decode
_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

Tree = dict[str, "Tree | int"]


def too_deep(value: bytes) -> bool:
    """Return whether arrays and objects are nested more than `MOST_LEVELS` deep in a JSON text."""
    if value.count(b"[") + value.count(b"{") <= MOST_LEVELS:
        return False
    steps = _STEPS[np.frombuffer(_STRING.sub(b"", value), np.uint8)]
    return int(np.cumsum(steps, dtype=np.int64).max(initial=0)) > MOST_LEVELS


def members_of_object(value: bytes | None, most: int) -> dict[str, msgspec.Raw] | Reason:
    """Return the members of a JSON object of at most `most` bytes, or why it is none; never raises."""
    if not value:
        return Reason.EMPTY
    if len(value) > most:
        return Reason.TOO_LARGE
    if looks_framed(value):  # no JSON text begins so
        return Reason.REGISTRY_FRAMED
    try:
        value.decode()
    except UnicodeDecodeError:
        return Reason.NOT_UTF8
    if too_deep(value):
        return Reason.TOO_DEEP
    try:
        _check(value)
        return _split(value)
    except msgspec.ValidationError:
        return Reason.NOT_AN_OBJECT
    except _ERRORS:
        return Reason.MALFORMED


class SingleReader:
    """Decodes and codes single records.

    Parameters
    ----------
    policy
        What a record must look like. Only declared fields are decoded.
    max_record_bytes
        Larger records are rejected unread.
    """

    def __init__(self, policy: Policy, max_record_bytes: int) -> None:
        self._coder = RecordCoder(policy)
        self._most = max_record_bytes
        self._count = len(policy.attributes)
        self._tree: Tree = {}
        for i, attribute in enumerate(policy.attributes):
            branch: Tree = self._tree
            for key in attribute.path[:-1]:
                branch = branch.setdefault(key, {})  # type: ignore[assignment]
            branch[attribute.path[-1]] = i

    @property
    def coerced(self) -> int:
        """Return how many texts counted as another type because their attributes say so."""
        return self._coder.coerced

    def read(self, value: bytes | None) -> CodedRecord | Misfit:
        """Return the coded record, or why it does not fit; never raises, whatever the bytes."""
        fields = members_of_object(value, self._most)
        if isinstance(fields, Reason):
            return Misfit(fields)
        values: list[object] = [None] * self._count
        self._fill(values, fields, self._tree)
        return self._coder.code(values)

    def _fill(self, values: list[object], fields: dict[str, msgspec.Raw], tree: Tree) -> None:
        for key, below in tree.items():
            if key not in fields:
                continue
            try:
                if isinstance(below, int):
                    values[below] = _value(fields[key])
                elif bytes(fields[key]) != b"null":
                    self._fill(values, _split(fields[key]), below)
            except _ERRORS:  # beyond the range of a float or an integer, or no object where one is declared
                for i in _leaves(below):
                    values[i] = UNREADABLE


def _leaves(tree: Tree | int) -> list[int]:
    return [tree] if isinstance(tree, int) else [i for below in tree.values() for i in _leaves(below)]
