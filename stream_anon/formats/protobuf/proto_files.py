"""From the text of a .proto file to the descriptors of its messages.

protoc itself reads the text, in a process of its own and one at a time: what somebody wrote into a registry can
neither crash the service nor take its memory or its time. Nothing is written to a disk. A schema that is registered
as a descriptor is no text: Google's library reads it within the service.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from stream_anon.errors import InputError
from stream_anon.ports.schema_news import MOST_SCHEMA_BYTES

MOST_MESSAGES = 10_000
"""Of a schema, with those within others and without those that it imports."""

Places = tuple["Places | None", ...]
"""The places of messages: for each one, in order, those of the messages within it; None of an entry of a map."""

_SECONDS = 30
_ONE_AT_A_TIME = threading.Lock()  # several at once could take more memory than a pod has
_MEMORY = 1 << 28
_PROGRAM = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY}, {_MEMORY}))
resource.setrlimit(resource.RLIMIT_CPU, ({_SECONDS}, {_SECONDS}))
from grpc_tools import protoc
sys.exit(protoc.main(sys.argv))
"""
_NO_NAME = re.compile(r"[=:\x00]|^/|^$|(^|/)\.\.?(/|$)")  # what protoc reads as something else
_IMPORTED = re.compile(r"(google|confluent)/[a-z_/]{1,60}\.proto")
_PLACE = re.compile(r":(\d+):(\d+): (?!warning)")
# What any schema of Confluent's registry may import without a reference.
_CONFLUENT = {
    "confluent/type/decimal.proto": """
syntax = "proto3";
package confluent.type;
message Decimal {
  bytes value = 1;
  uint32 precision = 2;
  int32 scale = 3;
}
""",
    "confluent/meta.proto": """
syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta {
  string doc = 1;
  map<string, string> params = 2;
  repeated string tags = 3;
}
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
""",
}


class Messages:
    """The messages of a schema. O(a new process).

    Parameters
    ----------
    schema
        The text of a .proto file.
    references
        The texts of the files that it imports, by the names that it imports them by. Google's own types and those
        of Confluent's registry need not be among them.

    Raises
    ------
    InputError
        If protoc refuses the text, or there are too many messages.
    """

    def __init__(self, schema: str, references: Mapping[str, str]) -> None:
        files = _serialized(schema, references) or _compiled(schema, references)
        self._by_place = files.file[-1].message_type
        if _count(self._by_place) > MOST_MESSAGES:
            raise InputError(f"the Protobuf schema has more than {MOST_MESSAGES} messages")
        try:
            pool = DescriptorPool()
            for file in files.file:
                self._file: Any = pool.AddSerializedFile(file.SerializeToString())
        except (TypeError, ValueError, DecodeError):  # what the runtime refuses and protoc does not
            raise InputError("this is not a Protobuf schema that can be used") from None

    @property
    def places(self) -> Places:
        """Return where there are messages."""
        return _places(self._by_place)

    @property
    def by_name(self) -> dict[int | str, tuple[int, ...]]:
        """Return the places of messages that are not within others, by their names without the package."""
        return {one.name: (place,) for place, one in enumerate(self._by_place) if not _is_entry(one)}

    @property
    def by_number(self) -> dict[int | str, tuple[int, ...]]:
        """Return the places of all messages by numbers, which go by full names; entries of maps count too."""
        named = sorted(_named(self._by_place, "", ()))
        return {number: place for number, (_, place, is_entry) in enumerate(named) if not is_entry}

    def at(self, indexes: Sequence[int]) -> Any:
        """Return the descriptor of a message; it keeps what it belongs to alive.

        Parameters
        ----------
        indexes
            Which of the file's messages it is, which of that one's messages, and so on.

        Raises
        ------
        InputError
            If there is no such message, or it is but the entry of a map.
        """
        messages, by_place = self._file.message_types_by_name, self._by_place
        found: Any = None
        for index in indexes:
            if not 0 <= index < len(by_place) or _is_entry(by_place[index]):
                raise InputError("the Protobuf schema has no such message")
            found = messages[by_place[index].name]
            messages, by_place = found.nested_types_by_name, by_place[index].nested_type
        if found is None:
            raise InputError("no message of the Protobuf schema is named")
        return found


def message_of(schema: str, indexes: Sequence[int], references: Mapping[str, str]) -> Any:
    """Return the descriptor of a message of a schema; see `Messages`."""
    return Messages(schema, references).at(indexes)


def renumbered(older: Any, newer: Any) -> tuple[int, str, str] | None:
    """Return a number that stands for one field in a message and for another in a newer one, and both names.

    Whoever reads by the older message would take one for the other. None if there is no such number.

    Parameters
    ----------
    older, newer
        Descriptors; messages within the newer one, which never holds itself, are looked at where the older one has
        them too.
    """
    for field in newer.fields:
        before = older.fields_by_number.get(field.number)
        if before is None:
            continue
        if before.name != field.name:
            return field.number, before.name, field.name
        if before.message_type is not None and field.message_type is not None:
            within = renumbered(before.message_type, field.message_type)
            if within is not None:
                return within
    return None


def taken_wrongly(own: str, older: str, references: Mapping[str, str]) -> str | None:
    """Return why who reads by an older schema would take a field for another; None if nobody would."""
    try:
        found = renumbered(message_of(older, (0,), references), message_of(own, (0,), {}))
    except InputError:
        return None  # nobody reads by what is no schema
    return None if found is None else "the number {} stood for the field {} and would stand for {}".format(*found)


def _count(messages: Iterable[Any]) -> int:
    return sum(1 + _count(message.nested_type) for message in messages)


def _is_entry(message: Any) -> bool:
    """Return whether a message is one that protoc makes up for a map; no record is one."""
    return bool(message.options.map_entry)


def _places(messages: Iterable[Any]) -> Places:
    return tuple(None if _is_entry(message) else _places(message.nested_type) for message in messages)


def _named(
    messages: Iterable[Any], around: str, place: tuple[int, ...]
) -> Iterator[tuple[str, tuple[int, ...], bool]]:
    """Yield the name and the place of each message, and whether it is an entry."""
    for index, message in enumerate(messages):
        yield around + message.name, (*place, index), _is_entry(message)
        yield from _named(message.nested_type, f"{around}{message.name}.", (*place, index))


def _serialized(schema: str, references: Mapping[str, str]) -> FileDescriptorSet | None:
    """Return the descriptors of a text in base64, as some clients register it, and of its imports, or None."""
    files: dict[str, FileDescriptorProto] = {}
    begun: set[str] = set()  # files that import each other are none

    def add(name: str, text: str) -> bool:
        """Add a file behind those that it imports; return whether all of them are there."""
        begun.add(name)
        try:
            file = FileDescriptorProto.FromString(b64decode(text, validate=True))
            file.name = name
        except (ValueError, DecodeError):
            return False
        for each in file.dependency:
            if not isinstance(each, str):  # bytes that are not UTF-8
                return False
            if each not in files and (each in begun or not add_import(each)):
                return False
        files[name] = file
        return True

    def add_import(name: str) -> bool:
        if name in references:
            return add(name, references[name])
        if not _IMPORTED.fullmatch(name):
            return False
        for file in _compiled(f'syntax = "proto3"; import "{name}";', {}).file[:-1]:
            files.setdefault(file.name, file)
        return name in files

    if len(schema) > MOST_SCHEMA_BYTES or not schema or not add("schema.proto", schema):
        return None
    return FileDescriptorSet(file=files.values())


def _compiled(schema: str, references: Mapping[str, str]) -> FileDescriptorSet:
    """Return the descriptors of a file and of all that it imports, itself at the end."""
    own = "schema.proto"
    while own in references:
        own = f"_{own}"
    texts = {**_CONFLUENT, **references, own: schema}
    if any(_NO_NAME.search(name) for name in references):
        raise InputError("a file that the Protobuf schema imports has no sound name")
    try:
        sources = {name: text.encode() for name, text in texts.items()}
    except UnicodeEncodeError:
        raise InputError("this is not a Protobuf schema: it is not UTF-8") from None
    if sum(map(len, sources.values())) > MOST_SCHEMA_BYTES:
        raise InputError("this Protobuf schema is too large")
    with ExitStack() as held:
        opened = {name: _in_memory(source, held) for name, source in sources.items()}
        command = [sys.executable, "-I", "-c", _PROGRAM]
        command += [f"-I{name}=/dev/fd/{file}" for name, file in opened.items()]
        command += [f"-I{folder}" for folder in _folders()]
        command += ["--include_imports", "--descriptor_set_out=/dev/stdout", own]
        try:
            with _ONE_AT_A_TIME:
                done = subprocess.run(  # noqa: S603 - this interpreter, and a program of ours
                    command,
                    pass_fds=tuple(opened.values()),
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=_SECONDS,
                    check=False,
                )
        except subprocess.TimeoutExpired:
            raise InputError(f"protoc did not read the Protobuf schema within {_SECONDS} s") from None
        except OSError as error:  # such as too many references for a command
            raise InputError(f"protoc could not be started ({type(error).__name__})") from None
    if done.returncode != 0:
        at = _PLACE.search(done.stderr.decode(errors="replace"))
        place = f", line {at[1]}, column {at[2]}" if at else ""
        raise InputError(f"this is not a Protobuf schema: protoc refuses it{place}")
    return FileDescriptorSet.FromString(done.stdout)


def _in_memory(source: bytes, held: ExitStack) -> int:
    """Return the number of a file that is nowhere but in memory."""
    file = held.enter_context(os.fdopen(os.memfd_create("proto"), "wb"))
    file.write(source)
    file.flush()
    return file.fileno()


def _folders() -> list[Path]:
    """Return the folders of the files that any schema may import: Google's own."""
    found = []
    for module, parts in (("grpc_tools.protoc", ("_proto",)), ("google.type.date_pb2", ("..", ".."))):
        spec = find_spec(module)
        assert spec is not None and spec.origin is not None  # noqa: S101, PT018 - see `installed`
        found.append(Path(spec.origin).parent.joinpath(*parts).resolve())
    return found
