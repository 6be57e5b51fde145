"""Programs of Avro and Protobuf in which numbers were changed: what is admitted must keep the kernel in bounds."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

import numpy as np
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from numpy.typing import NDArray

from stream_anon.errors import InputError
from stream_anon.formats.avro import verifying as avro
from stream_anon.formats.avro.avro_reader import AvroReader
from stream_anon.formats.avro.avro_schemas import parsed
from stream_anon.formats.avro.program import program_of as avro_program
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.protobuf import verifying as protobuf
from stream_anon.formats.protobuf.message_reader import MessageReader
from stream_anon.formats.protobuf.program import program_of as protobuf_program
from stream_anon.formats.protobuf.proto_files import message_of
from stream_anon.formats.unwrapping import Unwrapper, UnwrappingCodec
from tests.fuzz import avro_inputs, protobuf_inputs, reading, schema_policy
from tests.fuzz.avro_targets import DRAWN
from tests.fuzz.cases import Case, Limits
from tests.fuzz.mutations import mutated
from tests.support.avro_records import named_types
from tests.unit.formats.avro.test_verifying import NODE, READ
from tests.unit.formats.protobuf.test_verifying import BROAD, PATHS

_TRIES = 50
Changes = Sequence[tuple[int, int, int]]
"""Part of a program, place in it, and the number that stands there."""


class ProgramTarget:
    """Bodies that a changed program reads; the setting holds the changes."""

    _words: Sequence[bytes]
    _names: Sequence[str]
    """The parts of a program that hold numbers."""

    @abstractmethod
    def _bodies(self, draws: Random, count: int) -> list[bytes]:
        """Return sound bodies of the unchanged program."""

    @abstractmethod
    def _program(self) -> Any:
        """Return the unchanged program."""

    @abstractmethod
    def reader(self, changes: Changes) -> Unwrapper:
        """Return what reads by the changed program; raises InputError if the verifier refuses it."""

    def draw(self, draws: Random, count: int) -> Case:
        for _ in range(_TRIES):
            changes = _changes(draws, [getattr(self._program(), name) for name in self._names])
            try:
                self.reader(changes)
            except InputError:
                continue
            break
        else:
            changes = []
        sound = self._bodies(draws, count // DRAWN + 1)
        rest = (mutated(draws.choice(sound), draws, sound, self._words) for _ in range(count - len(sound)))
        return Case(json.dumps(changes).encode(), (*sound, *rest))

    def check(self, case: Case, limits: Limits) -> None:
        try:
            reader = self.reader(json.loads(case.setting))
        except InputError:
            return
        policy = schema_policy.policy()
        codec = UnwrappingCodec([reader], JsonCodec(policy, max_record_bytes=schema_policy.MOST))
        reading.check(reading.Reader(codec, policy, None), case.records, limits)


def _changes(draws: Random, parts: list[NDArray[np.int64]]) -> list[tuple[int, int, int]]:
    found = []
    for _ in range(draws.choice((1, 1, 2, 3))):
        part = draws.choice([number for number, one in enumerate(parts) if one.size])
        place = draws.randrange(parts[part].size)
        before = int(parts[part].reshape(-1)[place])
        others = (before + 1, before - 1, draws.randrange(60), draws.choice((-1, 2**31, 2**62, -(2**63))))
        found.append((part, place, draws.choice(others)))
    return found


def _changed(program: Any, names: Sequence[str], changes: Changes) -> Any:
    """Return a program with other numbers."""
    parts = {name: getattr(program, name).copy() for name in names}
    for part, place, number in changes:
        parts[names[part]].reshape(-1)[place] = number
    return program._replace(**parts)


class AvroPrograms(ProgramTarget):
    """See `ProgramTarget`."""

    _words, _names = avro_inputs.WORDS, ("steps", "tables")

    def _bodies(self, draws: Random, count: int) -> list[bytes]:
        bodies = avro_inputs.Bodies(draws, named_types(NODE), odd=3)
        return [bodies.body(NODE) for _ in range(count)]

    def _program(self) -> Any:
        return _avro()

    def reader(self, changes: Changes) -> Unwrapper:
        program = _changed(_avro(), self._names, changes)
        avro.verify(program)
        reader = AvroReader(json.dumps(NODE), [(name,) for name in READ], schema_policy.MOST)
        reader._program = program
        return reader


class ProtobufPrograms(ProgramTarget):
    """See `ProgramTarget`."""

    _words, _names = protobuf_inputs.WORDS, ("messages", "fields", "tables")

    def _bodies(self, draws: Random, count: int) -> list[bytes]:
        file = FileDescriptorProto()
        _message().file.CopyToProto(file)
        bodies = protobuf_inputs.Bodies(draws, file, odd=3)
        return [bodies.body(".Broad") for _ in range(count)]

    def _program(self) -> Any:
        return _protobuf()

    def reader(self, changes: Changes) -> Unwrapper:
        program = _changed(_protobuf(), self._names, changes)
        protobuf.verify(program)
        reader = MessageReader(_message(), PATHS, schema_policy.MOST)
        reader._program = program
        return reader


@cache
def _avro() -> Any:
    return avro_program(parsed(json.dumps(NODE), {}), [(name,) for name in READ])


@cache
def _message() -> Any:
    return message_of(BROAD, [0], {})


@cache
def _protobuf() -> Any:
    return protobuf_program(_message(), PATHS)
