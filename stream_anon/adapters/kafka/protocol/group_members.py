"""Whether a consumer group has members that are no workers of ours."""

from __future__ import annotations

from aiokafka.client import AIOKafkaClient, CoordinationType
from aiokafka.errors import GroupAuthorizationFailedError, for_code
from aiokafka.protocol.admin import DescribeGroupsRequest

# What this request answers for a group that the coordinator leads by the new protocol (KIP-848).
_NOT_CLASSIC = "Dead"
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 300.0  # seconds


class GroupMembers:
    """Asks who the members are once for each assignment: whoever joins and takes partitions changes it.

    After a failure it asks again after growing pauses.

    Parameters
    ----------
    group, client_id
        See `has_strangers`.

    Attributes
    ----------
    strangers
        Whether somebody else was a member at the last answer.
    refused
        Whether the brokers do not let this user ask.
    """

    def __init__(self, group: str, client_id: str) -> None:
        self._group, self._client_id = group, client_id
        self.strangers = self.refused = False
        self._seen = -1  # the marks of the assignment for which an answer came
        self._again, self._pause = 0.0, FIRST_PAUSE

    async def look(self, client: AIOKafkaClient, marks: int, now: float) -> None:
        """Ask if it is due; `marks` number the assignments. Raises KafkaError, but not for a refusal."""
        if marks == self._seen or now < self._again:
            return
        self._again, self._pause = now + self._pause, min(2 * self._pause, LONGEST_PAUSE)
        try:
            self.strangers = await has_strangers(client, self._group, self._client_id)
        except GroupAuthorizationFailedError:
            self.refused = True
        else:
            self.refused, self._seen = False, marks
            self._again, self._pause = 0.0, FIRST_PAUSE


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
