"""How clients authenticate, and which authorities they trust."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Security:
    """How the connection is secured; fields as in the settings file. No representation shows a secret.

    A secret in a file is read anew for each client, so that a changed one is used without a restart.
    `Connection.keep_up` brings a changed password to long-lived clients.
    """

    protocol: str = "PLAINTEXT"
    mechanism: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    password_file: Path | None = None
    token_file: Path | None = None
    token_command: tuple[str, ...] = field(default=(), repr=False)
    token_endpoint: str | None = None
    token_ca_file: Path | None = None
    client_id: str = ""
    client_secret: str | None = field(default=None, repr=False)
    client_secret_file: Path | None = None
    scope: str = ""
    aws_region: str = ""
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None
    key_password: str | None = field(default=None, repr=False)
    key_password_file: Path | None = None

    @property
    def by_token(self) -> bool:
        """Return whether a token is the login; AWS_MSK_IAM is a kind of OAUTHBEARER, by which brokers know it."""
        return self.mechanism in ("OAUTHBEARER", "AWS_MSK_IAM")
