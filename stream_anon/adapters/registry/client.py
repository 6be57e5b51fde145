"""Ask a schema registry, by Confluent's REST interface; every answer is bounded, and no redirect is followed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from typing import TypeVar
from urllib.parse import quote, urlsplit

import aiohttp
import msgspec

from stream_anon.adapters.registry.replies import (
    GONE,
    NOT_ALLOWED,
    NOT_FOUND,
    OK,
    ArtifactReferences,
    CompatibilityReply,
    Conflict,
    Reply,
    ReplyBody,
    SchemaIdReply,
    SchemaReply,
    TooLarge,
)
from stream_anon.errors import RegistryError
from stream_anon.formats.registry.asking import TELLABLE
from stream_anon.formats.registry.framing import Framing
from stream_anon.formats.registry.registered import (
    MOST_REFERENCES,
    UNREADABLE,
    UNTOLD,
    Entry,
    RegisteredSchema,
    with_references,
)
from stream_anon.ports.schema_news import MOST_SCHEMA_BYTES

_Reference = TypeVar("_Reference")
_UNTELLABLE = re.compile(rf"(?<=ids/)(?!{TELLABLE}(?:/references)?$|globalIds/|contentIds/).+", re.IGNORECASE)
_JSON = "application/vnd.schemaregistry.v1+json"
# Where two workers register at once, a registry may tell one a conflict. Asked again, it knows the schema.
_PAUSES = (0.1, 0.3, 1.0)


class Session:
    """Some requests to a registry over the same connections; see `RegistrySession`. Nothing is kept between two."""

    def __init__(self, http: aiohttp.ClientSession, url: str, framing: Framing) -> None:
        self._http, self._base, self._framing = http, url.rstrip("/"), framing
        # Apicurio's own ids are not those of its Confluent interface.
        self._own = self._base.partition("/apis/ccompat/")[0] + "/apis/registry/v2"

    async def schema(self, key: int | str, *, alone: bool = False) -> RegisteredSchema | None:
        """Return the schema of an id or a GUID; None where the registry lacks it or what it refers to.

        Parameters
        ----------
        alone
            Whether it is wanted without what it refers to.

        Raises
        ------
        RegistryError
            If the registry is away or refuses, or answers anything else.
        """
        try:
            if isinstance(key, int) and self._framing.is_apicurio:
                which = "globalIds" if self._framing is Framing.APICURIO_GLOBAL else "contentIds"
                return await with_references(f"/ids/{which}/{key}", partial(self._artifact, alone=alone))
            way = f"/schemas/ids/{key}" if isinstance(key, int) else f"/schemas/guids/{key}"
            return await with_references(way, partial(self._entry, alone=alone))
        except TooLarge:
            return RegisteredSchema("", UNREADABLE)

    async def raise_if_away(self) -> None:
        """Ask for something that any registry answers, or says not to have. Raises RegistryError."""
        reply = await self._exchange("GET", self._base + "/schemas/types")
        if reply.status not in (OK, NOT_FOUND):
            raise reply.refusal()

    async def newest(self, subject: str) -> RegisteredSchema | None:
        """Return the newest schema of a subject by itself; None where it has none. Raises RegistryError."""
        return await with_references(_version_of(subject, "latest"), partial(self._entry, alone=True))

    async def looked_up(self, subject: str, schema: str, kind: str) -> int | None:
        """Return the id of a schema under a subject; None where it is not registered. Raises RegistryError."""
        answer = await self._ask("POST", f"/subjects/{_quoted(subject)}", SchemaIdReply, _document(schema, kind))
        return None if answer is None else answer.id

    async def register(self, subject: str, schema: str, kind: str) -> int:
        """Register a schema, or find it registered; return its id.

        Raises
        ------
        Refused
            If the registry says that the schema does not go with those before it, or that it takes none like it.
        RegistryError
            If the registry is away, or refuses for another reason.
        """
        way, document = f"/subjects/{_quoted(subject)}/versions", _document(schema, kind)
        for pause in _PAUSES:
            try:
                return await self._registered(way, document)
            except Conflict:
                await asyncio.sleep(pause)
        return await self._registered(way, document)

    async def takes(self, subject: str, schema: str, kind: str) -> bool:
        """Return whether a subject would take a schema, as far as the registry tells; nothing is registered.

        A schema that it has is taken, also an old one, and so is the first one. Some registries cannot tell.

        Raises
        ------
        Refused
            If the registry takes none like it.
        RegistryError
            If the registry is away, or refuses for another reason.
        """
        if await self.looked_up(subject, schema, kind) is not None:
            return True
        # The first one judges as a registration does. Older registries compare with one version only.
        for versions in ("versions", "versions/latest"):
            way = f"{self._base}/compatibility/subjects/{_quoted(subject)}/{versions}"
            reply = await self._exchange("POST", way, _document(schema, kind))
            if reply.status == OK:
                return reply.decoded(CompatibilityReply).is_compatible
            if reply.status not in (NOT_FOUND, NOT_ALLOWED):
                raise reply.refusal(posted=True)
        return True

    async def _registered(self, way: str, document: bytes) -> int:
        answer = await self._ask("POST", way, SchemaIdReply, document)
        if answer is None:
            raise RegistryError("registry: answered a registration with status 404")
        return answer.id

    async def _ask(
        self, method: str, way: str, kind: type[ReplyBody], body: bytes | None = None
    ) -> ReplyBody | None:
        reply = await self._exchange(method, self._base + way, body)
        if reply.status == OK:
            return reply.decoded(kind)
        if reply.status == NOT_FOUND and (reply.code in GONE or await self._lacks(reply.code, way)):
            return None
        raise reply.refusal(posted=body is not None)

    async def _lacks(self, code: int | None, way: str) -> bool:
        """Return whether a 404 without a code of its own is about what was asked for. Raises RegistryError.

        It may also say that the url is not that of the interface. Then no schema is known to be missing, and
        records that name one must wait. A registry that knows no GUIDs has none of that name either.
        """
        if code != NOT_FOUND and (code is None or not way.startswith("/schemas/guids/")):
            return False
        reply = await self._exchange("GET", self._base + "/schemas/types")
        if reply.status == NOT_FOUND:
            raise RegistryError("registry: nothing of the interface is at kafka.registry.url (status 404)")
        if reply.status != OK:
            raise reply.refusal()
        return True

    async def _exchange(self, method: str, url: str, body: bytes | None = None) -> Reply:
        """Return the answer, whatever its status. Raises RegistryError."""
        asked = f"{method} {_UNTELLABLE.sub('...', urlsplit(url).path)}"
        kind = {"Content-Type": _JSON} if body is not None else {}
        try:
            # A redirect would carry the secret to somebody else.
            async with self._http.request(method, url, data=body, headers=kind, allow_redirects=False) as answer:
                read = b""
                async for piece in answer.content.iter_chunked(64 * 1024):
                    read += piece
                    if len(read) > MOST_SCHEMA_BYTES:
                        text = f"registry: {asked}: answered with more than {MOST_SCHEMA_BYTES} bytes"
                        raise (TooLarge if answer.status == OK else RegistryError)(text)
                headers = answer.headers
                artifact, after = headers.get("X-Registry-ArtifactType", UNTOLD), headers.get("Retry-After", "")
                return Reply(asked, answer.status, read, artifact, after)
        except TimeoutError:
            raise RegistryError(f"registry: {asked}: took too long to answer") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise RegistryError(f"registry: {asked}: cannot be reached ({type(error).__name__})") from None

    async def _entry(self, way: str, *, alone: bool = False) -> Entry | None:
        """Return the schema at a way of Confluent's interface. Raises RegistryError."""
        found = await self._ask("GET", way, SchemaReply)
        if found is None:
            return None
        told = _bounded(() if alone else found.references or ())
        references = tuple((one.name, _version_of(one.subject, one.version)) for one in told)
        return Entry(found.schema, found.schema_type or "AVRO", references, found.id)

    async def _artifact(self, way: str, *, alone: bool = False) -> Entry | None:
        """Return the schema at a way of Apicurio's own interface. Raises RegistryError."""
        schema = await self._of_apicurio(way)
        if schema is None:
            return None
        try:
            text = schema.body.decode("utf-8")
        except UnicodeDecodeError:
            raise schema.is_no_registry() from None
        # Older ones know no references, and say so as of a schema that they lack.
        answer = None if alone else await self._of_apicurio(way + "/references")
        told = _bounded(() if answer is None else answer.decoded(ArtifactReferences))
        return Entry(text, schema.artifact, tuple((one.name, one.way) for one in told))

    async def _of_apicurio(self, way: str) -> Reply | None:
        reply = await self._exchange("GET", self._own + way)
        if reply.status == NOT_FOUND and reply.code in {NOT_FOUND, *GONE}:
            return None
        if reply.status != OK:
            raise reply.refusal()
        return reply


def _bounded(references: Sequence[_Reference]) -> Sequence[_Reference]:
    """Return what a schema refers to. Raises TooLarge."""
    if len(references) > MOST_REFERENCES:
        raise TooLarge(f"registry: a schema refers to more than {MOST_REFERENCES} others")
    return references


def _document(schema: str, kind: str) -> bytes:
    return msgspec.json.encode({"schema": schema} | ({} if kind == "AVRO" else {"schemaType": kind}))


def _version_of(subject: str, version: int | str) -> str:
    return f"/subjects/{_quoted(subject)}/versions/{version}"


def _quoted(name: str) -> str:
    return quote(name, safe="")
