"""A Kafka with a listener for each kind of security, and an authorizer that denies what nobody allowed.

Tests themselves speak to it without security: who does not say a name may do everything. `User:service` may do only
what `allow` gave it.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest

from stream_anon.adapters.kafka.topics.permissions import Acl
from tests.support.apache_kafka.certificates import Authority
from tests.support.apache_kafka.launcher import ApacheKafka
from tests.support.ports import free_port

USER = "service"
PASSWORD = "pa$$-Zyxwvut-word"  # noqa: S105 - of a broker that lives for a test
_ALLOW = 3
_LISTENERS = {
    "SASL": "SASL_SSL",  # PLAIN, SCRAM and tokens
    "MUTUAL": "SSL",  # asks for a certificate of the client
    "EXPIRED": "SSL",
    "ELSEWHERE": "SSL",  # the certificate of another host
}


class SecuredKafka(ApacheKafka):
    """One node, six listeners, all on loopback.

    Parameters
    ----------
    authority, identity
        What the brokers of a cluster have in common; by default, of its own.
    """

    def __init__(
        self,
        folder: Path,
        properties: dict[str, str] | None = None,
        authority: Authority | None = None,
        identity: uuid.UUID | None = None,
    ) -> None:
        self.authority = authority or Authority(folder / "certificates", "authority")
        self.stranger = Authority(folder / "certificates", "stranger")
        self._ports = {name: free_port() for name in _LISTENERS}
        scram = [
            f"--add-scram={kind}=[name={USER},password={PASSWORD}]" for kind in ("SCRAM-SHA-256", "SCRAM-SHA-512")
        ]
        super().__init__(folder, None, scram, identity)
        self._properties = {
            **self._listeners(),
            **self._stores(),
            **_SASL,
            **_STRICT,
            **_FORGETFUL,
            **(properties or {}),
        }

    def at(self, listener: str) -> str:
        """Return host and port of a listener."""
        return f"127.0.0.1:{self._ports[listener]}"

    def _listeners(self) -> dict[str, str]:
        own = {name: f"{name}://{self.at(name)}" for name in _LISTENERS}
        public = ",".join([f"PLAINTEXT://127.0.0.1:{self.port}", *own.values()])
        kinds = {**_LISTENERS, "PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
        return {
            "listeners": f"{public},CONTROLLER://127.0.0.1:{self.controller}",
            "advertised.listeners": public,
            "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in kinds.items()),
            "inter.broker.listener.name": "PLAINTEXT",
        }

    def _stores(self) -> dict[str, str]:
        issue = self.authority.issue
        certificates = {
            "SASL": issue("sasl", "127.0.0.1"),
            "MUTUAL": issue("mutual", "127.0.0.1"),
            "EXPIRED": issue("expired", "127.0.0.1", days=0),
            "ELSEWHERE": issue("elsewhere", "elsewhere.example"),
        }
        lines = {}
        for name, certificate in certificates.items():
            prefix = f"listener.name.{name.lower()}."
            lines |= {
                f"{prefix}ssl.keystore.type": "PEM",
                f"{prefix}ssl.keystore.location": str(certificate.both),
                f"{prefix}ssl.truststore.type": "PEM",
                f"{prefix}ssl.truststore.location": str(self.authority.certificate),
                f"{prefix}ssl.client.auth": "required" if name == "MUTUAL" else "none",
            }
        lines["listener.name.mutual.ssl.principal.mapping.rules"] = "RULE:^CN=(.*)$/$1/"
        return lines

    async def allow(self, acls: Iterable[Acl], user: str = USER) -> None:
        """Give a user rights, and wait until the broker knows them."""
        async with self._anybody() as client:
            for acl in acls:
                request = CreateAclsRequest(*_numbers(acl, f"User:{user}"))
                answer: Any = await client.send(client.get_random_node(), request)
                assert answer.creation_responses[0][0] == 0, answer.creation_responses

    async def forbid(self, acls: Iterable[Acl], user: str = USER) -> None:
        """Take rights of a user away again."""
        async with self._anybody() as client:
            for acl in acls:
                request = DeleteAclsRequest(*_numbers(acl, f"User:{user}"))
                answer: Any = await client.send(client.get_random_node(), request)
                ((code, _, matches),) = answer.filter_responses
                assert code == 0, code
                assert len(matches) == 1, f"{acl} was not there"

    async def set_password(self, user: str, password: str) -> None:
        """Give a user another password for SCRAM-SHA-256, with Kafka's own tool."""
        settings = f"SCRAM-SHA-256=[password={password}]"
        await self.tool(
            "kafka.admin.ConfigCommand",
            *("--alter", "--add-config", settings, "--entity-type", "users", "--entity-name", user),
        )

    @asynccontextmanager
    async def _anybody(self) -> AsyncIterator[AIOKafkaClient]:
        client = AIOKafkaClient(bootstrap_servers=self.address)
        try:
            await client.bootstrap()
            yield client
        finally:
            await client.close()


def _numbers(acl: Acl, principal: str) -> tuple[int, str, int, str, str, int, int]:
    return acl.resource, acl.name, acl.pattern, principal, "*", acl.operation, _ALLOW


_MODULE = "org.apache.kafka.common.security"
_SASL = {
    "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    "listener.name.sasl.plain.sasl.jaas.config": (
        f'{_MODULE}.plain.PlainLoginModule required user_{USER}="{PASSWORD}" user_other="{PASSWORD}-other";'
    ),
    "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{_MODULE}.scram.ScramLoginModule required;",
    "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{_MODULE}.scram.ScramLoginModule required;",
    "listener.name.sasl.oauthbearer.sasl.jaas.config": (
        f'{_MODULE}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
    ),
    "listener.name.sasl.scram-sha-256.connections.max.reauth.ms": "3000",
    # A connection ends with its token: who does not fetch a new one is turned away.
    "listener.name.sasl.oauthbearer.connections.max.reauth.ms": "3000",
}
_FORGETFUL = {  # of producers at rest, which otherwise takes a day, and of transactional ids, a week
    "producer.id.expiration.ms": "5000",
    "producer.id.expiration.check.interval.ms": "500",
    "transactional.id.expiration.ms": "5000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
}
_STRICT = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "false",
}
