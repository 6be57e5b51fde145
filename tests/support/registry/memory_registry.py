"""A schema registry in memory behind a real HTTP port: Confluent's interface, with faults at will."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import Any, Self
from urllib.parse import unquote

from aiohttp import web


class MemoryRegistry:
    """Remembers schemas. What is asked of it is in `asked`; `fault` answers in its place, `faults` for single ids.

    `unknown` answers in place of it where nothing is there.

    Parameters
    ----------
    login
        The Authorization header that it demands.
    """

    def __init__(self, login: str | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.schemas: dict[int, dict[str, Any]] = {}
        self.guids: dict[str, int] = {}
        self.subjects: dict[str, list[int]] = {}
        self.asked: list[str] = []
        self.fault: web.Response | None = None
        self.faults: dict[int, web.Response] = {}
        self.unknown: web.Response | None = None
        self.tells_kinds = True  # by Apicurio's own ids
        self.references: web.Response | None = None  # answers what Apicurio says that schemas refer to
        self.refuses = False  # every new schema
        self.judges = {"versions", "latest"}  # the ways by which it says beforehand what it would refuse
        self.verdict: web.Response | None = None  # what it says then, in place of it
        self.conflicts = 0  # so many registrations are told that another is under way
        self.speaking = asyncio.Event()  # while it is not set, nothing is answered
        self.speaking.set()
        self.port = 0
        self._login, self._tls = login, tls
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def add(
        self,
        schema: Any,
        number: int | None = None,
        kind: str = "AVRO",
        subject: str = "people-value",
        references: list[dict[str, Any]] | None = None,
        guid: str | None = None,
    ) -> int:
        """Register a schema; return its id."""
        number = max(self.schemas, default=0) + 1 if number is None else number
        text = schema if isinstance(schema, str) else json.dumps(schema)
        self.schemas[number] = {"schema": text, "schemaType": kind, "references": references or []}
        self.subjects.setdefault(subject, []).append(number)
        if guid:
            self.guids[guid] = number
        return number

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        app = web.Application()
        app.router.add_route("*", "/{way:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self._tls)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _answer(self, request: web.Request) -> web.StreamResponse:  # noqa: C901, PLR0912 - a table of ways
        self.asked.append(f"{request.method} {request.path}")
        await self.speaking.wait()
        if self.fault is not None:
            return _copy(self.fault)
        if self._login is not None and request.headers.get("Authorization") != self._login:
            return web.json_response({"error_code": 401, "message": "no"}, status=401)
        match request.method, [unquote(part) for part in request.rel_url.raw_path.strip("/").split("/")]:
            case "GET", ["schemas", "ids", number]:
                return self._schema(int(number) if number.lstrip("-").isdigit() else 0)
            case "GET", ["schemas", "types"]:
                return web.json_response(["AVRO", "JSON", "PROTOBUF"])
            case "GET", ["schemas", "guids", guid]:
                return self._schema(self.guids.get(guid, 0))
            case "GET", ["apis", "registry", "v2", "ids", "globalIds" | "contentIds", number, *rest]:
                return self._artifact(int(number), rest)
            case "GET", ["apis", "registry", "v2", "groups", group, "artifacts", name, "versions", version, *rest]:
                known = self.subjects.get(name if group == "default" else f"{group}/{name}", [])
                return self._artifact(known[int(version) - 1] if known else 0, rest)
            case "GET", ["subjects", subject, "versions", version]:
                known = self.subjects.get(subject, [])
                if not known:
                    return self._nothing(40401)
                number = known[-1 if version == "latest" else int(version) - 1]
                return web.json_response({"subject": subject, "id": number, **self.schemas[number]})
            case "POST", ["subjects", subject]:
                return self._looked_up(subject, await request.json())
            case "POST", ["compatibility", "subjects", subject, "versions", *rest] if {*rest} <= {"latest"}:
                if (rest or ["versions"])[0] not in self.judges:
                    return web.Response(status=405, text="<html>no such way</html>")
                if subject not in self.subjects:
                    return self._nothing(40401)
                if self.verdict is not None:
                    return _copy(self.verdict)
                return web.json_response({"is_compatible": not self.refuses})
            case "POST", ["subjects", subject, "versions"]:
                document = await request.json()
                found = self._looked_up(subject, document)
                if found.status == 200:
                    return found
                if self.refuses or self.conflicts:
                    self.conflicts = max(self.conflicts - 1, 0)
                    return web.json_response({"error_code": 409, "message": "incompatible"}, status=409)
                return web.json_response({"id": self.add(document["schema"], None, self._kind(document), subject)})
            case _:
                return web.Response(status=404, text="<html>no such page</html>")

    def _artifact(self, number: int, rest: list[str]) -> web.Response:
        """Answer as Apicurio does by its own ids; `rest` asks for what a schema refers to, not for the schema."""
        found = self.schemas.get(number)
        if found is None:
            return self._nothing(404)
        if rest == ["references"] and self.references is not None:
            return _copy(self.references)
        if rest == ["references"]:
            return web.json_response([_reference_of_apicurio(one) for one in found["references"]])
        kind = {"X-Registry-ArtifactType": found["schemaType"]} if self.tells_kinds else {}
        return web.Response(text=found["schema"], headers=kind)

    def _kind(self, document: dict[str, Any]) -> str:
        return str(document.get("schemaType", "AVRO"))

    def _looked_up(self, subject: str, document: dict[str, Any]) -> web.Response:
        for number in self.subjects.get(subject, []):
            known = self.schemas[number]
            if known["schema"] == document["schema"] and known["schemaType"] == self._kind(document):
                return web.json_response({"subject": subject, "id": number, **known})
        return self._nothing(40403 if subject in self.subjects else 40401)

    def _schema(self, number: int) -> web.Response:
        if number in self.faults:
            return _copy(self.faults[number])
        found = self.schemas.get(number)
        return self._nothing(40403) if found is None else web.json_response(found)

    def _nothing(self, code: int) -> web.Response:
        if self.unknown is not None:
            return _copy(self.unknown)
        return web.json_response({"error_code": code, "message": "not found"}, status=404)


def _reference_of_apicurio(reference: dict[str, Any]) -> dict[str, Any]:
    """Return a reference as Apicurio tells it; `group/name` is a subject outside of the default group."""
    group, _, artifact = str(reference["subject"]).rpartition("/")
    told = {"name": reference["name"], "artifactId": artifact, "version": str(reference["version"])}
    return told | ({"groupId": group} if group else {})


def _copy(answer: web.Response) -> web.Response:
    """Return the same answer anew: each can be sent once."""
    return web.Response(status=answer.status, body=answer.body, headers=dict(answer.headers))
