"""How long brokers throttle this client, as their answers say."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any


@dataclass
class Throttling:
    """Adds up throttling by quotas: each answer says for how long its connection is not served (KIP-219).

    Parameters
    ----------
    seconds
        Of all connections of the clients that are listened to, since the start.
    """

    seconds: float = 0.0

    def listen(self, client: Any) -> None:
        """Hear each answer that an aiokafka client gets; a test on a real broker pins that."""
        # No reference to the client is held, so that dropping the client drops its connections.
        itself, kind = weakref.ref(client), type(client)

        async def send(*arguments: Any, **options: Any) -> Any:
            answer = await kind.send(itself(), *arguments, **options)
            self.seconds += max(getattr(answer, "throttle_time_ms", 0) or 0, 0) / 1000
            return answer

        client.send = send
