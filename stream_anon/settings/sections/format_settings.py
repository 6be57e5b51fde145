"""Settings of the formats of records, and of the schema registry that some of them need."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import Field, SecretStr, field_validator, model_validator

from stream_anon.formats.registry.framing import Framing
from stream_anon.settings.sections.section import Duration, Section

FormatName = Literal["json", "json-schema", "avro", "protobuf"]
# Without encryption a secret would travel in the open, so only to this very machine.
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MOST_ID = (1 << 63) - 1


class FormatSettings(Section):
    """The formats of the input and of the output, each for itself."""

    explanation = (
        """Instead of one name for both. All but `json` need a registry: [registry.md](../guides/registry.md)."""
    )

    input: FormatName = "json"
    """Format of the events."""
    output: FormatName = "json"
    """Format of the released records; certificates and dead letters are JSON in any case."""


class RegistrySettings(Section):
    """The schema registry, by Confluent's REST interface."""

    explanation = """\
For every `kafka.format` but `json`; [registry.md](../guides/registry.md) says how records are framed and
what the service waits for. Give `username` and a password, or a token, or neither. A secret may be in a file of
its own, which is read again for each request. Secrets need an https address, except on this machine."""

    url: str = Field(pattern=r"^https?://[^\s/@?#]+(/[^\s?#]*)?$")
    """Address of the interface; of Apicurio it ends in `/apis/ccompat/v7`."""
    framing: Framing = Framing.CONFLUENT
    """How a record that is read names its schema: confluent has 4 bytes of an id, or 16 bytes of a GUID in the
    record or in its header `__value_schema_id`; apicurio-global and apicurio-content have 8 bytes in the record or
    in Apicurio's headers; glue has a UUID of AWS Glue, whose schemas stand in `schemas`. What is written is framed
    as confluent in any case."""
    schemas: dict[str, Path] = {}
    """Files of schemas by their ids, numbers or UUIDs, which the registry is not asked for."""
    subject: str = ""
    """Subject of the released records' schema; OUTPUT-value if empty."""
    register_schema: bool = True
    """Whether the schema of the output is registered; if not, it is looked up and must be there."""
    username: str | None = Field(default=None, min_length=1)
    """Name to log in with."""
    password: SecretStr | None = None
    """Password to log in with."""
    password_file: Path | None = None
    """File that holds the password."""
    token: SecretStr | None = None
    """Bearer token to log in with."""
    token_file: Path | None = None
    """File that holds the token."""
    ca_file: Path | None = None
    """Certificates to trust, PEM; by default those of the system."""
    certificate_file: Path | None = None
    """The client's certificate, PEM."""
    key_file: Path | None = None
    """The client's key, PEM."""
    timeout: Duration = Field(default=5.0, gt=0, le=60)
    """How long an answer may take."""

    @field_validator("schemas", mode="before")
    @classmethod
    def _by_ids(cls, given: object) -> object:
        return {_id_of(key): file for key, file in given.items()} if isinstance(given, Mapping) else given

    @model_validator(mode="after")
    def _complete(self) -> RegistrySettings:
        secrets = (self.password, self.password_file, self.token, self.token_file)
        given = [secret for secret in secrets if secret is not None]
        if len(given) > 1:
            raise ValueError("give one of password, password_file, token and token_file")
        if (self.username is None) != (self.password is None and self.password_file is None):
            raise ValueError("username goes with password or password_file")
        parts = urlsplit(self.url)
        try:
            sound = parts.port != 0
        except ValueError:
            sound = False
        if not sound:
            raise ValueError("the port of url must be 1 to 65535")
        if given and parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            raise ValueError("a password or a token needs an https url")
        if self.key_file and not self.certificate_file:
            raise ValueError("key_file is for a certificate_file")
        if self.framing.is_apicurio and "/apis/ccompat/" not in self.url:
            raise ValueError("framing apicurio needs the url of Apicurio's /apis/ccompat/v7")
        if self.framing is Framing.GLUE and not self.schemas:
            raise ValueError("framing glue needs schemas: AWS Glue's own interface is not spoken")
        return self


def _id_of(key: object) -> str:
    """Return a schema's id as frames name it. Raises ValueError."""
    text = str(key)
    if text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= _MOST_ID:
        return str(int(text))
    try:
        return str(UUID(text))
    except ValueError:
        raise ValueError(f"schemas: {text[:40]} is neither a number nor a UUID") from None
