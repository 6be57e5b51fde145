"""Whether a consumer group has members that are no workers of ours."""

from __future__ import annotations

from aiokafka.client import AIOKafkaClient, CoordinationType
from aiokafka.errors import for_code
from aiokafka.protocol.admin import DescribeGroupsRequest

# What this request answers for a group that the coordinator leads by the new protocol (KIP-848).
_NOT_CLASSIC = "Dead"


async def has_strangers(client: AIOKafkaClient, group: str, client_id: str) -> bool:
    """Ask the coordinator of `group`, of which we are a member, whether somebody else is one too.

    A consumer of the new protocol turns the group, in which workers use the classic one, into one of its own kind.

    Parameters
    ----------
    client_id
        The client id of every worker of the group.

    Raises
    ------
    KafkaError
        If the coordinator does not answer, or refuses.
    """
    node = await client.coordinator_lookup(CoordinationType.GROUP, group)
    answer = await client.send(node, DescribeGroupsRequest([group]))
    [(code, _, state, _, _, members)] = answer.groups
    if code:
        raise for_code(code)
    return state == _NOT_CLASSIC or any(member_client != client_id for _, member_client, *_ in members)
