"""What a user must be allowed to do, and which permissions the brokers say are missing; nothing is tried out.

`least_privileges` is the table: a service runs with exactly these, as docs/guides/kafka.md says in words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    KafkaError,
    TransactionalIdAuthorizationFailed,
)
from aiokafka.protocol.transaction import EndTxnRequest

from stream_anon.adapters.kafka.client.administering import asking
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.protocol.group_requests import GroupOperations
from stream_anon.adapters.kafka.protocol.topic_requests import TopicsOf
from stream_anon.adapters.kafka.topics.descriptions import Topics

_RETRY = 0.2
_NOT_TOLD = -(2**31)
_LOADING, _NOT_AVAILABLE, _NOT_COORDINATOR = 14, 15, 16
_REFUSED, _GROUP_REFUSED, _CLUSTER_REFUSED, _IDS_REFUSED = 29, 30, 31, 53
_NOBODY = -1


class Operation(IntEnum):
    """What can be allowed, numbered as Kafka numbers it."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DESCRIBE = 8
    DESCRIBE_CONFIGS = 10


class Resource(IntEnum):
    """On what, numbered as Kafka numbers it."""

    TOPIC = 2
    GROUP = 3
    TRANSACTIONAL_ID = 5


class Pattern(IntEnum):
    """How a name is matched, numbered as Kafka numbers it."""

    LITERAL = 3
    PREFIXED = 4


@dataclass(frozen=True, slots=True)
class Acl:
    """One operation on one resource, allowed."""

    resource: Resource
    name: str
    operation: Operation
    pattern: Pattern = Pattern.LITERAL

    @property
    def place(self) -> str:
        """Return the resource in words; a topic's are its name."""
        kind = {Resource.TOPIC: "", Resource.GROUP: "group ", Resource.TRANSACTIONAL_ID: "transactional ids "}
        return kind[self.resource] + self.name + ("*" if self.pattern is Pattern.PREFIXED else "")


def least_privileges(
    group: str, topics: Topics, inputs: Sequence[str], *, exactly_once: bool = True
) -> tuple[Acl, ...]:
    """Return all that a service needs to run, and nothing else. CREATE only matters while a topic is missing.

    Parameters
    ----------
    inputs
        The input topics that exist.
    """
    topic, needed = Resource.TOPIC, [Acl(Resource.GROUP, group, Operation.READ)]
    needed += [Acl(topic, each, Operation.READ) for each in inputs]
    needed += [Acl(topic, each, Operation.WRITE) for each in topics.written]
    needed.append(Acl(topic, topics.certificates, Operation.READ))  # what was promised before
    if exactly_once:
        needed += [Acl(topic, topics.ledger, each) for each in (Operation.READ, Operation.WRITE, Operation.CREATE)]
        if topics.returns is not None:
            counted = (Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DESCRIBE_CONFIGS)
            needed += [Acl(topic, topics.returns, each) for each in counted]
        needed.append(Acl(Resource.TRANSACTIONAL_ID, f"{group}-", Operation.WRITE, Pattern.PREFIXED))
    return tuple(needed)


@dataclass(frozen=True, slots=True)
class Permissions:
    """What the brokers say about a user's permissions.

    Parameters
    ----------
    told
        The permissions that the brokers answered for.
    missing
        Those of them that this user does not have.
    """

    told: tuple[Acl, ...]
    missing: tuple[Acl, ...]


async def permissions_of(connection: Connection, wanted: Sequence[Acl]) -> Permissions:
    """Return which of `wanted` this user has. Of a topic that does not exist, only CREATE can be told.

    Raises
    ------
    BrokerError
        If no broker answers.
    """
    async with asking(connection, "permissions", "asking for permissions") as client:
        try:
            allowed = await _ask(client, connection, wanted)
        except NotImplementedError:  # the brokers do not know these versions
            return Permissions((), ())
    return Permissions(tuple(allowed), tuple(acl for acl, may in allowed.items() if not may))


async def _ask(client: AIOKafkaClient, connection: Connection, wanted: Sequence[Acl]) -> dict[Acl, bool]:
    """Return the permissions that the brokers answered for, in the order of `wanted`."""
    topics = {acl.name for acl in wanted if acl.resource is Resource.TOPIC}
    masks = await _ask_topics(client, topics) if topics else {}
    told: dict[Acl, bool] = {}
    for acl in wanted:
        may: bool | None = None
        if acl.resource is Resource.GROUP:
            group = await _ask_group(client, acl.name)
            may = None if group is None else bool(group >> acl.operation & 1)
        elif acl.resource is Resource.TRANSACTIONAL_ID:
            may = await _ask_transactional_ids(client, acl.name)
        elif acl.operation is Operation.CREATE:
            if not masks.get(acl.name):  # else it is there, and nobody needs to create it
                may = await _may_create(connection, acl.name)
        elif acl.name in masks:
            may = bool(masks[acl.name] >> acl.operation & 1)
        if may is not None:
            told[acl] = may
    return told


async def _ask_topics(client: AIOKafkaClient, topics: Collection[str]) -> dict[str, int]:
    answer: Any = await client.send(client.get_random_node(), TopicsOf(topics, operations=True))
    return {
        name: 0 if code == _REFUSED else mask
        for code, name, _, _, _, mask, _ in answer.topics
        if code == _REFUSED or (code == 0 and mask != _NOT_TOLD)
    }


async def _may_create(connection: Connection, topic: str) -> bool:
    """Ask to create a topic, for validation only."""
    admin = connection.client(AIOKafkaAdminClient, "permissions")
    try:
        await admin.start()
        answer = await admin.create_topics([NewTopic(topic, 1, 1)], validate_only=True)
    finally:
        await admin.close()
    code = answer.topic_errors[0][1]
    return code not in (_REFUSED, _CLUSTER_REFUSED)


async def _ask_transactional_ids(client: AIOKafkaClient, prefix: str) -> bool:
    """Ask to end a transaction that does not exist: the broker checks the right to write before it looks for it."""
    name = f"{prefix}check"
    kind, request = CoordinationType.TRANSACTION, EndTxnRequest(name, _NOBODY, _NOBODY, False)
    told = await _coordinator_says(client, kind, name, request, lambda it: (it.error_code, 0))
    return told is not None and told[0] != _IDS_REFUSED


async def _ask_group(client: AIOKafkaClient, group: str) -> int | None:
    """Return the group's operations, or None if not told."""
    kind, request = CoordinationType.GROUP, GroupOperations(group)
    told = await _coordinator_says(client, kind, group, request, lambda it: (it.groups[0][0], it.groups[0][-1]))
    if told is None or told[0] == _GROUP_REFUSED:
        return 0
    code, mask = told
    return None if code or mask == _NOT_TOLD else mask


async def _coordinator_says(
    client: AIOKafkaClient, kind: int, name: str, request: Any, read: Callable[[Any], tuple[int, int]]
) -> tuple[int, int] | None:
    """Return the code and the number that a coordinator answers, None if it may not even be asked for.

    A new cluster must find a coordinator first.
    """
    while True:
        try:
            node = await client.coordinator_lookup(kind, name)
            told = read(await client.send(node, request, group=ConnectionGroup.COORDINATION))
        except (GroupAuthorizationFailedError, TransactionalIdAuthorizationFailed):
            return None
        except KafkaError as error:
            if not error.retriable:
                raise
        else:
            if told[0] not in (_LOADING, _NOT_AVAILABLE, _NOT_COORDINATOR):
                return told
        await asyncio.sleep(_RETRY)
