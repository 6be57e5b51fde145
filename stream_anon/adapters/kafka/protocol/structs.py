"""What requests are declared with that aiokafka does not ship; it ships no types to subclass either."""

from __future__ import annotations

from typing import TypeVar

from aiokafka.protocol.api import Request, RequestStruct
from aiokafka.protocol.types import AbstractType, CompactArray, CompactString, TaggedFields

TEXT = CompactString("utf-8")
TAGS = ("tags", TaggedFields)
Field = tuple[str, AbstractType]

Struct = TypeVar("Struct", bound=RequestStruct)


def tagged(*fields: Field) -> CompactArray:
    """Return a list of structs, each of which ends with tags."""
    return CompactArray(*fields, TAGS)


def by_topic(partitions: CompactArray) -> Field:
    """Return a list of topics with something of their partitions."""
    return "topics", tagged(("topic", TEXT), ("partitions", partitions))


class FilledRequest(Request[Struct]):  # type: ignore[misc]
    """A request of one version, given the fields of its struct in order."""

    API_KEY = -1  # of no request: each has that of its struct

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.API_KEY = cls._CLASSES[0].API_KEY

    def __init__(self, *fields: object) -> None:
        self._fields = fields

    def build(self, request_struct_class: type[Struct]) -> Struct:
        """Return the struct."""
        struct: Struct = request_struct_class(*self._fields)
        return struct
