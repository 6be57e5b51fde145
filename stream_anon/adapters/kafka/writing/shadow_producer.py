"""The sink of a shadow run: it publishes nothing, and moves the offsets of a group of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.writing.at_least_once_producer import AtLeastOnceProducer
from stream_anon.ports import Parcel, Place
from stream_anon.ports.publication import SIGNATURE


class ShadowProducer(AtLeastOnceProducer):
    """A producer that sends nothing, and the group's ordinary offsets; see `WindowProducer`.

    Parameters
    ----------
    certificates, outputs
        The topic whose parcels are kept, and all topics that a service publishes to. None of them need exist.
    keep
        Takes the lines of a window's certificate, parts and signatures, once the window's offsets are committed.
    """

    delivery = "shadow"

    def __init__(
        self,
        connection: Connection,
        certificates: str,
        outputs: Collection[str],
        keep: Callable[[Sequence[bytes]], None],
    ) -> None:
        super().__init__(connection)
        self._certificates = certificates
        self._outputs = frozenset(outputs)
        self._keep = keep
        self._parts: list[bytes] = []

    async def partitions(self, topic: str) -> int:
        """See `WindowProducer`. A topic that nothing is published to has one partition, existing or not."""
        return 1 if topic in self._outputs else await super().partitions(topic)

    async def send(self, parcels: Sequence[Parcel]) -> None:
        """Keep the certificate and let go of everything else."""
        self._parts = []
        for parcel in parcels:
            if parcel.topic == self._certificates:
                signatures = [value for name, value in parcel.headers if name == SIGNATURE]
                self._parts += [value for value in parcel.values if value is not None] + signatures

    async def settle(self) -> dict[Place, int]:
        """Return nothing: nothing was sent."""
        return {}

    async def commit(self) -> None:
        """Hand the certificate over."""
        parts, self._parts = self._parts, []
        self._keep(parts)
