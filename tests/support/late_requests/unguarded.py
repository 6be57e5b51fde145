"""`stream-anon` whose requests of transactions are repeated, for the control run; every EndTxn is an old one.

`python -m tests.support.late_requests.unguarded run ...`. The product has no such switch.
"""

from __future__ import annotations

from aiokafka import AIOKafkaProducer

from stream_anon.adapters.kafka.protocol.sent_once import SentOnce
from stream_anon.cli.main import command
from tests.support.late_requests.one_by_one import one_by_one


def _do_nothing(self: SentOnce, _producer: AIOKafkaProducer) -> None:
    self.unanswered = ""


async def _ask_nothing(_self: SentOnce, _producer: AIOKafkaProducer) -> None:
    pass


if __name__ == "__main__":
    SentOnce.__init__ = _do_nothing  # type: ignore[method-assign]
    SentOnce.ask_level = _ask_nothing  # type: ignore[method-assign]
    one_by_one()
    command()
