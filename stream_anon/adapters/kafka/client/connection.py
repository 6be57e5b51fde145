"""Options of all Kafka clients, from the settings, and why brokers refuse a client."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

from aiokafka import AIOKafkaConsumer
from aiokafka.abc import AbstractTokenProvider
from aiokafka.conn import AIOKafkaConnection, collect_hosts
from aiokafka.errors import (
    KafkaConnectionError,
    NodeNotReadyError,
    SaslAuthenticationFailed,
)
from aiokafka.protocol.metadata import MetadataRequest

from stream_anon.adapters.kafka.bulk.bounded_consumer import BoundedConsumer
from stream_anon.adapters.kafka.client.connection_errors import (
    LET_IN_BUT_NO_ANSWER,
    cause_of,
    chain,
    in_words,
    what_failed,
)
from stream_anon.adapters.kafka.client.iam import IamToken
from stream_anon.adapters.kafka.client.oidc import EndpointToken
from stream_anon.adapters.kafka.client.security import Security
from stream_anon.adapters.kafka.client.throttling import Throttling
from stream_anon.adapters.kafka.client.tokens import CommandToken, FileToken, TokenError
from stream_anon.adapters.kafka.client.topic_metadata import creating_nothing
from stream_anon.errors import BrokerError, Cause, SettingsError
from stream_anon.secret_files import SecretError, secret_of

_KNOCK_WITHIN = 3.0
# A line tells less than those above it, whose errors are also of its kind.
_ABSENCES = (
    (socket.gaierror, "no such host name"),
    (ConnectionRefusedError, "connection refused"),
    (TimeoutError, "no answer in time"),
    (OSError, "no way there"),
)
_C = TypeVar("_C")


def _secret(key: str, given: str | None, file: Path | None) -> str | None:
    """Return a secret, from its file if it has one. Raises SettingsError if that cannot be read."""
    try:
        return secret_of(given, file)
    except SecretError as error:
        raise SettingsError(f"kafka.security.{key}", str(error)) from None


@dataclass(frozen=True)
class Door:
    """What a knock at a broker found: why it refuses us, or how it is absent; both are empty if it lets us in.

    A broker that closes connections refuses us too; only the `cause` says whether our credentials are the reason.
    """

    refused: str = ""
    absent: str = ""
    cause: Cause = Cause.CREDENTIALS


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
    compression
        Of what is written, by the name that Kafka's clients give it, or `none`.
    checked
        Whether certificate, key and secrets could be loaded when the service started. If one cannot be loaded later
        on, it is being renewed, and clients wait for it as they wait for a broker.
    """

    servers: str
    group: str
    security: Security = field(default_factory=Security)
    session_timeout: float = 10.0
    transaction_timeout: float = 10.0
    compression: str = "none"
    checked: bool = False

    def options(self, purpose: str) -> dict[str, Any]:
        """Return the keyword arguments that every aiokafka client takes.

        Certificates and secrets in files are read anew each time, so that a client that is made later uses the
        renewed ones.

        Raises
        ------
        SettingsError
            If a certificate, a key or a secret's file cannot be loaded.
        BrokerError
            Instead of `SettingsError`, if the connection is `checked`.
        """
        try:
            security = self._security_options()
        except SettingsError as error:
            if self.checked:
                raise BrokerError(str(error)) from None
            raise
        return {
            "bootstrap_servers": self.servers,
            "client_id": self.client_id(purpose),
            "request_timeout_ms": self.request_timeout_ms,
            **security,
        }

    def client_id(self, purpose: str) -> str:
        """Return the id by which brokers know the clients of one purpose; all workers of a group have the same."""
        return f"{self.group}-{purpose}"

    def client(self, kind: Callable[..., _C], purpose: str, **more: Any) -> _C:
        """Return a new client of aiokafka; every client is made here.

        No question that it asks creates a topic, and what a consumer reads is unpacked in bounded memory.

        Parameters
        ----------
        kind
            `AIOKafkaConsumer`, `AIOKafkaProducer`, `AIOKafkaAdminClient` or `AIOKafkaClient`.
        more
            Keyword arguments beside `options`, or instead of them. Raises as `options` does.
        """
        bounded = BoundedConsumer if kind is AIOKafkaConsumer else kind
        made: _C = bounded(**self.options(purpose) | more)
        creating_nothing(made)
        return made

    def _security_options(self) -> dict[str, Any]:
        security = self.security
        options: dict[str, Any] = {"security_protocol": security.protocol}
        if "SSL" in security.protocol:
            options["ssl_context"] = self._ssl_context()
        if security.protocol.startswith("SASL"):
            options["sasl_mechanism"] = security.mechanism
            if security.by_token:
                options["sasl_mechanism"] = "OAUTHBEARER"
                options["sasl_oauth_token_provider"] = self._tokens
            else:
                options["sasl_plain_username"] = security.username
                password = _secret("password_file", security.password, security.password_file)
                options["sasl_plain_password"] = password
                for client in self._clients:
                    client._sasl_plain_password = password  # noqa: SLF001 - see `keep_up`
        return options

    def keep_up(self, client: Any) -> None:
        """Let a long-lived client log in with a changed password: it would try the old one for ever.

        Parameters
        ----------
        client
            An aiokafka client. It takes its password anew for each connection; a test on a real broker pins that.
        """
        self._clients.add(client)
        self.throttling.listen(client)

    @cached_property
    def throttling(self) -> Throttling:
        """How long brokers have held back the long-lived clients."""
        return Throttling()

    @cached_property
    def _clients(self) -> WeakSet[Any]:
        return WeakSet()

    @property
    def request_timeout_ms(self) -> int:
        """Return how long a request may take: half a transaction, so that there is time to repeat one."""
        return max(int(self.transaction_timeout * 500), 500)

    @cached_property
    def _tokens(self) -> AbstractTokenProvider:
        """Return the one provider of all clients, so that they share the runs of a command."""
        if self.security.token_file is not None:
            return FileToken(self.security.token_file)
        given = self.security
        if given.aws_region:
            return IamToken(given.aws_region)
        if given.token_endpoint is not None:
            return EndpointToken(
                given.token_endpoint, given.client_id, self._client_secret, given.scope, given.token_ca_file
            )
        return CommandToken(self.security.token_command)

    def _client_secret(self) -> str:
        try:
            return (
                _secret("client_secret_file", self.security.client_secret, self.security.client_secret_file) or ""
            )
        except SettingsError as error:  # it is being renewed: another try comes
            raise TokenError(str(error)) from None

    def _ssl_context(self) -> ssl.SSLContext:
        security = self.security
        key_password = _secret("key_password_file", security.key_password, security.key_password_file)
        try:
            context = ssl.create_default_context(cafile=security.ca_file)
            if security.certificate_file is not None:
                # Without a password OpenSSL would ask the terminal for one.
                context.load_cert_chain(security.certificate_file, security.key_file, lambda: key_password or "")
        except (OSError, ssl.SSLError, ValueError):
            raise SettingsError(
                "kafka.security", "ca_file, certificate_file or key_file cannot be loaded, or key_password is wrong"
            ) from None
        return context

    async def knock(self) -> Door:
        """Return the best answer of the brokers: one lets us in, else one is absent, else all refuse.

        Of refusals one that names a reason comes first. aiokafka writes the reason to its log only, so this knocks
        once at each broker of the settings.
        """
        hosts = collect_hosts(self.servers, randomize=False)
        doors = await asyncio.gather(*(self._knock(host, port) for host, port, _ in hosts))
        return min(doors, key=lambda it: (bool(it.refused), bool(it.absent), it.cause is Cause.UNREACHABLE))

    async def _knock(self, host: str, port: int) -> Door:
        try:
            options = self._security_options()
        except SettingsError as error:
            return Door(refused=str(error))
        conn = AIOKafkaConnection(
            host, port, client_id=f"{self.group}-knock", request_timeout_ms=int(_KNOCK_WITHIN * 1000), **options
        )
        tokens, welcomed = self.security.by_token, False
        refusal: BaseException | None
        try:
            await conn.connect()
            welcomed = True
            answer = await conn.send(MetadataRequest([]))
            # aiokafka takes a refused token for a welcome. Only an answer without brokers shows it.
            refusal = SaslAuthenticationFailed() if tokens and not answer.brokers else None
        except Exception as error:  # noqa: BLE001 - ssl, aiokafka and the system each raise their own
            refusal = error
        finally:
            closed = conn.close()
        if not isinstance(refusal, OSError):  # after an OSError there may be no connection to wait for
            await asyncio.wait([closed], timeout=_KNOCK_WITHIN)
        if refusal is None:
            return Door()
        refused = in_words(refusal, self.security)
        if tokens and welcomed and isinstance(refusal, KafkaConnectionError):
            refused = "the broker closes the connection after the login: it is stopping, or refuses our token"
        cause = Cause.UNREACHABLE if cause_of(refusal) is Cause.UNREACHABLE else Cause.CREDENTIALS
        return Door(refused, "" if refused else _absence(refusal), cause)


def _absence(error: BaseException) -> str:
    """Return in words how a broker is absent; empty if the error does not tell."""
    return next((text for each in chain(error) for kind, text in _ABSENCES if isinstance(each, kind)), "")


async def connection_error(connection: Connection, doing: str, error: BaseException) -> BrokerError:
    """Return an error that names what was done, and why the broker refuses us if that is the reason."""
    if isinstance(error, KafkaConnectionError | NodeNotReadyError | TimeoutError | AssertionError | ValueError):
        try:
            async with asyncio.timeout(2 * _KNOCK_WITHIN):
                door = await connection.knock()
        except TimeoutError:
            return broker_error(doing, error)
        if door.refused:
            return BrokerError(f"{doing}: {door.refused}", door.cause)
        if door.absent:
            nobody = f"nothing answers at kafka.bootstrap_servers ({door.absent})"
            return BrokerError(f"{doing}: {nobody}", Cause.UNREACHABLE)
        if isinstance(error, TimeoutError):
            return BrokerError(f"{doing}: {LET_IN_BUT_NO_ANSWER}", Cause.UNREACHABLE)
    return broker_error(doing, error)


def broker_error(doing: str, error: BaseException) -> BrokerError:
    """Return an error that names what was done and the kind of failure.

    The library's message is left out: it may quote records.
    """
    return BrokerError(f"{doing}: {what_failed(error)}", cause_of(error))
