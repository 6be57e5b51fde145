"""Where a registry is, how to log in, and a session with it."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from stream_anon.adapters.registry.client import Session
from stream_anon.errors import RegistryError, SettingsError
from stream_anon.formats.registry.framing import Framing
from stream_anon.ports.schema_news import MOST_SCHEMA_BYTES
from stream_anon.secret_files import SecretError, first_bytes, secret_of


@dataclass(frozen=True)
class RegistryAccess:
    """How to reach a registry; fields as in the settings file. No representation shows a secret.

    A file is read anew for each session, so that a changed secret or certificate is used without a restart. One
    that cannot be read is being renewed, and is waited for.
    """

    url: str
    framing: Framing = Framing.CONFLUENT
    schemas: Mapping[str, Path] = field(default_factory=dict)
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    password_file: Path | None = None
    token: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None
    timeout: float = 5.0

    @asynccontextmanager
    async def session(self, framing: Framing | None = None) -> AsyncIterator[Session]:
        """Connect for some requests; see `SchemaRegistry`. Raises RegistryError."""
        headers, trust = await asyncio.to_thread(lambda: (self.headers(), self.trust()))
        timeout, connector = aiohttp.ClientTimeout(total=self.timeout), aiohttp.TCPConnector(ssl=trust, limit=8)
        async with aiohttp.ClientSession(headers=headers, timeout=timeout, connector=connector) as http:
            yield Session(http, self.url, framing or self.framing)

    def headers(self) -> dict[str, str]:
        """Return what a request says of us. Raises RegistryError."""
        headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if self.username is not None:
            password = self._secret("password_file", self.password, self.password_file)
            login = base64.b64encode(f"{self.username}:{password}".encode()).decode("ascii")
            headers["Authorization"] = f"Basic {login}"
        elif self.token is not None or self.token_file is not None:
            token = self._secret("token_file", self.token, self.token_file)
            if not token.isascii() or not token.isprintable() or " " in token:
                raise RegistryError("kafka.registry.token_file: does not hold a token, which is one word")
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def trust(self) -> ssl.SSLContext | bool:
        """Return which authorities may vouch for the registry, and our own certificate. Raises RegistryError."""
        if not self.url.startswith("https:") or (self.ca_file is None and self.certificate_file is None):
            return True
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
            if self.certificate_file is not None:
                # Without a password OpenSSL would ask the terminal for one.
                context.load_cert_chain(self.certificate_file, self.key_file, lambda: "")
        except (OSError, ssl.SSLError, ValueError):
            text = "ca_file, certificate_file or key_file cannot be loaded"
            raise RegistryError(f"kafka.registry: {text}") from None
        return context

    def schema(self, key: str) -> str:
        """Return the text of a schema that stands in a file. Raises SettingsError."""
        try:
            content = first_bytes(self.schemas[key], MOST_SCHEMA_BYTES + 1)
            if len(content) <= MOST_SCHEMA_BYTES:
                return content.decode("utf-8")
        except (OSError, UnicodeDecodeError):
            pass
        raise SettingsError("kafka.registry.schemas", f"the file of {key} cannot be read, or is too large")

    def _secret(self, key: str, given: str | None, file: Path | None) -> str:
        try:
            return secret_of(given, file) or ""
        except SecretError:
            raise RegistryError(f"kafka.registry.{key}: cannot be read") from None
