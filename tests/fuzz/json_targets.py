"""The codec of JSON, and envelopes of JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

from stream_anon.formats.codecs import codec_of
from stream_anon.formats.unwrapping import looks_framed
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.coding import UNREADABLE
from tests.fuzz import json_inputs, reading
from tests.fuzz.cases import Case, Limits
from tests.unit.formats.envelopes.test_envelopes import MOST as MOST_OF_EVENT
from tests.unit.formats.envelopes.test_envelopes import WRAPPINGS, meaning

MOST = 8_000
CHECKED = 2
"""One record of so many is compared with the reference, which takes longer than all else."""
_DEPTH, _MOST_DIGITS = 64, 4_300
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def json_value(value: bytes | None) -> Any:
    """Return what a JSON text says, by Python's own reader; raises `NoRecord`."""
    if not value or len(value) > MOST:
        raise reading.NoRecord
    try:
        return json.loads(
            value.decode(), parse_constant=_refused, parse_int=_whole if len(value) > _MOST_DIGITS else None
        )
    except (ValueError, RecursionError):
        raise reading.NoRecord from None


def _whole(text: str) -> Any:
    """Return a number; of one with more digits than Python converts, what no attribute takes."""
    return int(text) if len(text.lstrip("-")) <= _MOST_DIGITS else UNREADABLE


def _refused(text: str) -> None:
    raise ValueError(text)


def may_differ(reason: Reason | None, value: bytes | None) -> bool:
    """Return whether we may reject what Python reads.

    Deep nesting is refused beyond 64 levels, and half of a surrogate pair is no text wherever it stands. What
    begins as a frame of a registry does is told so, and not that it is no JSON.
    """
    text = value or b""
    if reason is Reason.REGISTRY_FRAMED:
        return looks_framed(text)
    if reason is Reason.TOO_DEEP:
        return text.count(b"[") + text.count(b"{") > _DEPTH
    return reason is Reason.MALFORMED and _SURROGATE.search(text) is not None


class JsonTarget:
    """Records of several policies; the setting is the policy's number."""

    def draw(self, draws: Random, count: int) -> Case:
        number = draws.randrange(len(json_inputs.policies()))
        return Case(b"%d" % number, tuple(json_inputs.records(json_inputs.policies()[number], draws, count)))

    def check(self, case: Case, limits: Limits) -> None:
        reading.check(_reader(int(case.setting)), case.records, limits)


class EnvelopeTarget:
    """The same records within one kind of envelope."""

    def __init__(self, name: str) -> None:
        self._name = name

    def draw(self, draws: Random, count: int) -> Case:
        number = draws.randrange(len(json_inputs.policies()))
        policy = json_inputs.policies()[number]
        return Case(b"%d" % number, tuple(json_inputs.events(self._name, policy, draws, count)))

    def check(self, case: Case, limits: Limits) -> None:
        reading.check(_reader_of_events(self._name, int(case.setting)), case.records, limits)


@cache
def _reader(number: int) -> reading.Reader:
    policy = json_inputs.policies()[number]
    codec = codec_of(policy, MOST)
    codec.warm_up()
    return reading.Reader(codec, policy, json_value, may_differ, checked=CHECKED)


@cache
def _reader_of_events(name: str, number: int) -> reading.Reader:
    wrapping, policy = WRAPPINGS[name], json_inputs.policies()[number]
    codec = codec_of(policy, MOST_OF_EVENT, wrapping=wrapping)
    codec.warm_up()
    read = replace(policy, null_values=policy.null_values | wrapping.null_values)
    return reading.Reader(codec, read, lambda value: meaning(name, value), may_differ, checked=CHECKED)
