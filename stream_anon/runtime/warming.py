"""Warm up all that lies between the bytes that come and those that leave: no record waits for a compiler."""

from __future__ import annotations

from stream_anon.adapters.json_codec.codec import JsonCodec
from stream_anon.adapters.kafka import draining, packed_batch
from stream_anon.engine import warming
from stream_anon.microdata.policy import Policy


def warm_up(policy: Policy) -> None:
    """Compile every kernel that a service with this policy will call."""
    warming.warm_up(policy)
    JsonCodec(policy).warm_up()
    draining.warm_up()
    packed_batch.warm_up()
