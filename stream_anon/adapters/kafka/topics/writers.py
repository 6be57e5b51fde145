"""Who may write to a topic, as far as the brokers say."""

from __future__ import annotations

from typing import Any

from aiokafka.errors import IncompatibleBrokerVersion
from aiokafka.protocol.admin import DescribeAclsRequest

from stream_anon.adapters.kafka.client.administering import asking
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.topics.permissions import Operation, Resource

EVERYBODY = "User:*"
_MATCHING = 2  # literal, prefixed and wildcard patterns that hold for the name
_ANY, _ALL, _ALLOWED = 1, 2, 3
_NO_AUTHORIZER = 54


async def writers_of(connection: Connection, topic: str) -> frozenset[str] | None:
    """Return the principals that rules allow to write to a topic; None if this user may not see rules.

    Without an authorizer, everybody is. Super users and denying rules are not considered.

    Raises
    ------
    BrokerError
        If no broker answers.
    """
    request = DescribeAclsRequest(Resource.TOPIC, topic, _MATCHING, None, None, _ANY, _ALLOWED)
    async with asking(connection, "permissions", "asking who may write") as client:
        try:
            answer: Any = await client.send(client.get_random_node(), request)
        except (IncompatibleBrokerVersion, NotImplementedError):
            return None
    if answer.error_code == _NO_AUTHORIZER:
        return frozenset({EVERYBODY})
    if answer.error_code:
        return None
    return frozenset(
        principal
        for *_, rules in answer.resources
        for principal, _, operation, _ in rules
        if operation in (_ALL, Operation.WRITE)
    )
