"""Ask a schema registry, by Confluent's REST interface; every answer is bounded, and no redirect is followed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

import aiohttp
import msgspec

from stream_anon.adapters.registry.access import MOST_SCHEMA, RegistryAccess
from stream_anon.adapters.registry.framing import Framing
from stream_anon.errors import Refused, RegistryError

UNREADABLE = "unreadable"
UNTOLD = ""
"""The kind of a schema of which the registry does not tell it, as Apicurio by its own ids."""
WAY_OUT = "Change the subject's compatibility or kafka.registry.subject"
_MOST_REFERENCES, _MOST_NESTED = 64, 8
_JSON = "application/vnd.schemaregistry.v1+json"
_OK, _NOT_FOUND, _NOT_ALLOWED, _CONFLICT, _UNPROCESSABLE = 200, 404, 405, 409, 422
# Where two workers register at once, a registry may tell one a conflict. Asked again, it knows the schema.
_PAUSES = (0.1, 0.3, 1.0)
_GONE = frozenset({40401, 40402, 40403, 40404})  # codes by which a registry says that something is not there


class _Reference(msgspec.Struct):
    name: str
    subject: str
    version: int


class _Schema(msgspec.Struct, rename="camel"):
    schema: str
    schema_type: str = "AVRO"
    references: list[_Reference] = []
    id: int | None = None


class _Number(msgspec.Struct):
    id: int


class _Verdict(msgspec.Struct):
    is_compatible: bool


class _Fault(msgspec.Struct):
    error_code: int


_Answer = TypeVar("_Answer", _Schema, _Number, _Verdict)


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as a registry gives it.

    Parameters
    ----------
    kind
        AVRO, JSON, PROTOBUF, `UNTOLD`, or `UNREADABLE` for a schema that refers to others without bounds, or to
        none.
    references
        Other schemas that it names, those that they name before them, by name.
    """

    text: str
    kind: str
    references: tuple[tuple[str, str], ...] = ()
    id: int | None = None


class _Conflict(Refused):
    """The schema does not go with the subject's others, or another worker registers it at this moment."""


class RegistryClient:
    """Asks one registry; nothing is kept between two calls."""

    def __init__(self, access: RegistryAccess) -> None:
        self._access = access
        self._base = access.url.rstrip("/")
        # Apicurio's own ids are not those of its Confluent interface.
        self._own = self._base.partition("/apis/ccompat/")[0] + "/apis/registry/v2/ids"

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """Connect for some requests. Raises RegistryError."""
        headers, trust = await asyncio.to_thread(lambda: (self._access.headers(), self._access.trust()))
        timeout = aiohttp.ClientTimeout(total=self._access.timeout)
        connector = aiohttp.TCPConnector(ssl=trust, limit=8)
        async with aiohttp.ClientSession(headers=headers, timeout=timeout, connector=connector) as http:
            yield Session(http, self._base, self._own, self._access.framing)


class Session:
    """Some requests to a registry over the same connections."""

    def __init__(self, http: aiohttp.ClientSession, base: str, own: str, framing: Framing) -> None:
        self._http, self._base, self._own, self._framing = http, base, own, framing

    async def schema(self, key: int | str) -> RegisteredSchema | None:
        """Return the schema of an id or a GUID with all that it refers to; None where the registry has none.

        Raises
        ------
        RegistryError
            If the registry is away or refuses, or answers anything else.
        """
        if isinstance(key, int) and self._framing.is_apicurio:
            return await self._of_apicurio(key)
        way = f"/schemas/ids/{key}" if isinstance(key, int) else f"/schemas/guids/{key}"
        return await self._resolved(await self._get(way, _Schema))

    async def newest(self, subject: str) -> RegisteredSchema | None:
        """Return the newest schema of a subject; None where it has none. Raises RegistryError."""
        return await self._resolved(await self._get(f"/subjects/{_quoted(subject)}/versions/latest", _Schema))

    async def looked_up(self, subject: str, schema: str, kind: str) -> int | None:
        """Return the id of a schema under a subject; None where it is not registered. Raises RegistryError."""
        answer = await self._ask("POST", f"/subjects/{_quoted(subject)}", _Number, _document(schema, kind))
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
            except _Conflict:
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
            status, answer, _ = await self._exchange("POST", way, _document(schema, kind))
            if status == _OK:
                return _decoded(answer, _Verdict).is_compatible
            if status not in (_NOT_FOUND, _NOT_ALLOWED):
                raise _refusal(status, _code(answer), posted=True)
        return True

    async def _registered(self, way: str, document: bytes) -> int:
        answer = await self._ask("POST", way, _Number, document)
        if answer is None:
            raise RegistryError("registry: answered a registration with status 404")
        return answer.id

    async def _get(self, way: str, kind: type[_Answer]) -> _Answer | None:
        return await self._ask("GET", way, kind)

    async def _ask(self, method: str, way: str, kind: type[_Answer], body: bytes | None = None) -> _Answer | None:
        status, answer, _ = await self._exchange(method, self._base + way, body)
        if status == _OK:
            return _decoded(answer, kind)
        code = _code(answer)
        if status == _NOT_FOUND and (code in _GONE or await self._lacks(code, way)):
            return None
        raise _refusal(status, code, posted=body is not None)

    async def _lacks(self, code: int | None, way: str) -> bool:
        """Return whether a 404 without a code of its own is about what was asked for. Raises RegistryError.

        It may also say that the url is not that of the interface. Then no schema is known to be missing, and
        records that name one must wait. A registry that knows no GUIDs has none of that name either.
        """
        if code != _NOT_FOUND and (code is None or not way.startswith("/schemas/guids/")):
            return False
        status, _, _ = await self._exchange("GET", self._base + "/schemas/types")
        if status != _OK:
            raise RegistryError("registry: nothing of the interface is at kafka.registry.url (status 404)")
        return True

    async def _exchange(self, method: str, url: str, body: bytes | None = None) -> tuple[int, bytes, str]:
        """Return status, body and kind of artifact of an answer. Raises RegistryError."""
        headers = {"Content-Type": _JSON} if body is not None else {}
        try:
            # A redirect would carry the secret to somebody else.
            async with self._http.request(method, url, data=body, headers=headers, allow_redirects=False) as answer:
                read = b""
                async for piece in answer.content.iter_chunked(64 * 1024):
                    read += piece
                    if len(read) > MOST_SCHEMA:
                        raise RegistryError(f"registry: answered with more than {MOST_SCHEMA} bytes")
                return answer.status, read, answer.headers.get("X-Registry-ArtifactType", UNTOLD)
        except TimeoutError:
            raise RegistryError("registry: took too long to answer") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise RegistryError(f"registry: cannot be reached ({type(error).__name__})") from None

    async def _resolved(self, found: _Schema | None) -> RegisteredSchema | None:
        if found is None:
            return None
        texts: dict[str, str] = {}
        if not await self._collect(found, texts, set(), 0):
            return RegisteredSchema("", UNREADABLE)
        return RegisteredSchema(found.schema, found.schema_type, tuple(texts.items()), found.id)

    async def _collect(self, found: _Schema, texts: dict[str, str], seen: set[tuple[str, int]], depth: int) -> bool:
        """Add what a schema refers to, the innermost first; return whether all of it is there and within bounds."""
        for reference in found.references:
            place = (reference.subject, reference.version)
            if place in seen:
                continue
            seen.add(place)
            if depth >= _MOST_NESTED or len(seen) > _MOST_REFERENCES:
                return False
            way = f"/subjects/{_quoted(reference.subject)}/versions/{reference.version}"
            inner = await self._get(way, _Schema)
            if inner is None or not await self._collect(inner, texts, seen, depth + 1):
                return False
            texts[reference.name] = inner.schema
            if sum(map(len, texts.values())) > MOST_SCHEMA:
                return False
        return True

    async def _of_apicurio(self, key: int) -> RegisteredSchema | None:
        """Return a schema by Apicurio's own ids, without what it refers to."""
        which = "globalIds" if self._framing is Framing.APICURIO_GLOBAL else "contentIds"
        status, answer, kind = await self._exchange("GET", f"{self._own}/{which}/{key}")
        if status == _NOT_FOUND and _code(answer) in {_NOT_FOUND, *_GONE}:
            return None
        if status != _OK:
            raise RegistryError(f"registry: answered with status {status}")
        try:
            return RegisteredSchema(answer.decode("utf-8"), kind)
        except UnicodeDecodeError:
            raise RegistryError("registry: the answer is not that of a schema registry") from None


def _decoded(answer: bytes, kind: type[_Answer]) -> _Answer:
    try:
        return msgspec.json.decode(answer, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise RegistryError("registry: the answer is not that of a schema registry") from None


def _refusal(status: int, code: int | None, *, posted: bool) -> Exception:
    """Return the error for an answer without what was asked for; `posted` tells whether a schema was sent."""
    if posted and status in (_CONFLICT, _UNPROCESSABLE) and code is not None:
        return (_Conflict if status == _CONFLICT else Refused)(
            f"the registry refuses the output's schema (status {status}, code {code}): it does not go with the "
            f"subject's schemas, or is of a kind that the registry does not take. {WAY_OUT}"
        )
    hint = ": is kafka.registry.url the address of the interface?" if status == _NOT_FOUND else ""
    return RegistryError(f"registry: answered with status {status}{hint}")


def _document(schema: str, kind: str) -> bytes:
    return msgspec.json.encode({"schema": schema} | ({} if kind == "AVRO" else {"schemaType": kind}))


def _quoted(name: str) -> str:
    return quote(name, safe="")


def _code(answer: bytes) -> int | None:
    """Return the code by which a registry says what is wrong; None where it does not answer as one."""
    try:
        return msgspec.json.decode(answer, type=_Fault).error_code
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
