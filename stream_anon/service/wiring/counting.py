"""Put together what counts how often people are released."""

from __future__ import annotations

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.returns import KafkaReturns
from stream_anon.engine.returning import Returns
from stream_anon.microdata.bounds import ReturnBound
from stream_anon.microdata.keys import key_for_good
from stream_anon.ports import Clock
from stream_anon.service.counting import Counting
from stream_anon.service.events import CountsPassedOver, Listener
from stream_anon.settings.loading import kafka_of
from stream_anon.settings.model import Settings
from stream_anon.settings.service_keys import returns_key_of


def counting_of(settings: Settings, connection: Connection, clock: Clock, tell: Listener) -> Counting | None:
    """Return how releases are counted; None if nobody asks for it. Raises SettingsError as `returns_key_of` does.

    From then on this process keys people's ids by the key, so that all workers mean the same people.
    """
    bound, key, topic = settings.privacy.returning, returns_key_of(settings), kafka_of(settings).returns
    if bound is None or key is None:
        return None
    key_for_good(key.of_ids)
    returns = Returns(ReturnBound(bound.most, bound.period), key, clock.wall)
    history = KafkaReturns(connection, topic, key.name, lambda entries: tell(CountsPassedOver(topic, entries)))
    return Counting(returns, history, topic, key.name, clock, tell)
