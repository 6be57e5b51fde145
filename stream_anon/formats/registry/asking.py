"""What formats ask of a schema registry; `adapters.registry` asks a real one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from stream_anon.formats.registry.framing import Framing
from stream_anon.formats.registry.registered import RegisteredSchema

WAY_OUT = "Change the subject's compatibility or kafka.registry.subject"
TELLABLE = "[0-9]{1,6}"
"""Ids that may stand in a log. They are counted from one: one that is large, or a GUID, could be bytes of a record
that only looks framed."""


def may_be_told(number: int | str) -> bool:
    """Return whether an id may stand in a log."""
    return re.fullmatch(TELLABLE, str(number)) is not None


class RegistrySession(Protocol):
    """Some requests to a registry. Each raises RegistryError if it is away, refuses, or answers anything else."""

    async def schema(self, key: int | str, *, alone: bool = False) -> RegisteredSchema | None:
        """Return the schema of an id or a GUID; None where the registry lacks it or what it refers to.

        Parameters
        ----------
        alone
            Whether it is wanted without what it refers to.
        """

    async def raise_if_away(self) -> None:
        """Ask for something that any registry answers, or says not to have."""

    async def newest(self, subject: str) -> RegisteredSchema | None:
        """Return the newest schema of a subject by itself; None where it has none."""

    async def looked_up(self, subject: str, schema: str, kind: str) -> int | None:
        """Return the id of a schema under a subject; None where it is not registered."""

    async def register(self, subject: str, schema: str, kind: str) -> int:
        """Register a schema, or find it registered; return its id. Raises Refused if it takes none like it."""

    async def takes(self, subject: str, schema: str, kind: str) -> bool:
        """Return whether a subject would take a schema, as far as the registry tells; nothing is registered.

        Raises Refused if the registry takes none like it.
        """


class SchemaRegistry(Protocol):
    """A registry, and schemas that stand in files instead."""

    @property
    def framing(self) -> Framing:
        """Return how a record that is read names its schema."""

    @property
    def schemas(self) -> Mapping[str, Path]:
        """Return the files of schemas by their ids; the registry is not asked for these."""

    def schema(self, key: str) -> str:
        """Return the text of a schema that stands in a file. Raises SettingsError."""

    def session(self, framing: Framing | None = None) -> AbstractAsyncContextManager[RegistrySession]:
        """Connect for some requests. Raises RegistryError.

        Parameters
        ----------
        framing
            Says whose ids are asked for, where not by `self.framing`.
        """
