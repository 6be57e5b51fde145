"""Options of all Kafka clients, from the settings."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiokafka.errors import KafkaError

from stream_anon.errors import BrokerError, SettingsError


@dataclass(frozen=True)
class Security:
    """How the connection is secured; fields as in the settings file."""

    protocol: str = "PLAINTEXT"
    mechanism: str | None = None
    username: str | None = None
    password: str | None = None
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None


@dataclass(frozen=True)
class Connection:
    """Where the brokers are and how to reach them.

    Parameters
    ----------
    servers
        Host and port of some brokers, comma-separated.
    group
        The consumer group, also the beginning of client and transactional ids.
    session_timeout, transaction_timeout
        Seconds.
    """

    servers: str
    group: str
    security: Security = Security()
    session_timeout: float = 10.0
    transaction_timeout: float = 10.0

    def options(self, purpose: str) -> dict[str, Any]:
        """Return the keyword arguments that every aiokafka client takes.

        Raises
        ------
        SettingsError
            If a certificate or key cannot be loaded.
        """
        options: dict[str, Any] = {
            "bootstrap_servers": self.servers,
            "client_id": f"{self.group}-{purpose}",
            "security_protocol": self.security.protocol,
            "request_timeout_ms": self.request_timeout_ms,
        }
        if "SSL" in self.security.protocol:
            options["ssl_context"] = self._ssl_context()
        if self.security.protocol.startswith("SASL"):
            options["sasl_mechanism"] = self.security.mechanism
            options["sasl_plain_username"] = self.security.username
            options["sasl_plain_password"] = self.security.password
        return options

    @property
    def request_timeout_ms(self) -> int:
        """Return how long a request may take: half a transaction, so that one lost answer can be made up for."""
        return max(int(self.transaction_timeout * 500), 500)

    def _ssl_context(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.security.ca_file)
            if self.security.certificate_file is not None:
                context.load_cert_chain(self.security.certificate_file, self.security.key_file)
        except (OSError, ssl.SSLError):
            raise SettingsError(
                "kafka.security", "ca_file, certificate_file or key_file cannot be loaded"
            ) from None
        return context


def broker_error(doing: str, error: BaseException) -> BrokerError:
    """Return an error that names what was done and the kind of failure.

    The library's message is left out: it may quote records.
    """
    name = type(error).__name__
    retriable = isinstance(error, KafkaError) and bool(error.retriable)
    return BrokerError(f"{doing}: {name}" + (" (temporary)" if retriable else ""))
