"""The sink: windows go to Kafka by steps 4 to 9 of a closing."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.ledger.no_ledger import NoLedger
from stream_anon.adapters.kafka.writing.packed_batch import most_bytes_of_value
from stream_anon.adapters.kafka.writing.window_producer import WindowProducer
from stream_anon.errors import Recreated
from stream_anon.ports import Membership, Parcel, Place, Publication, Steps, Targets, TopicIds
from stream_anon.ports.publication import ANY_BATCH, header_of

MOST_AROUND = 256
"""Bytes of a batch beside the one part of a certificate that it holds, at the most."""


class KafkaSink:
    """Publishes windows by a producer, fenced by the group and by the ledger; see `ports.Sink`.

    Parameters
    ----------
    inputs
        Topics that must exist.
    outputs
        Topics for records, certificates and dead letters.
    """

    def __init__(
        self,
        producer: WindowProducer,
        ledger: KafkaLedger | NoLedger,
        inputs: Collection[str],
        outputs: tuple[str, str, str],
    ) -> None:
        self._producer = producer
        self._ledger = ledger
        self._inputs = inputs
        self._outputs = outputs
        self._entries: tuple[tuple[str, int, Mapping[Place, int]], Parcel | None] = ("", 0, {}), None  # sent last

    @property
    def delivery(self) -> str:
        """See `ports.Sink`."""
        return self._producer.delivery

    async def open(self) -> None:
        """See `ports.Sink`."""
        await self._producer.open()

    async def topic_ids(self, topics: Collection[str]) -> TopicIds:
        """See `ports.Sink`."""
        return await self._producer.topic_ids(topics)

    async def stable_offsets(self, places: Collection[Place]) -> dict[Place, int | None]:
        """See `ports.Sink`."""
        return await self._producer.stable_offsets(places)

    async def pin_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """See `ports.Sink`."""
        await self._producer.pin_offsets(offsets, membership)

    async def discard(self) -> None:
        """See `ports.Sink`."""
        await self._producer.discard()

    async def targets(self) -> Targets:
        """See `ports.Sink`."""
        # For a missing input the client would join the group all the same, and wait silently.
        for topic in self._inputs:
            await self._producer.partitions(topic)
        partitions = {topic: await self._producer.partitions(topic) for topic in self._outputs}
        largest = await self._producer.largest_batches(self._outputs)
        output, certificates, _ = self._outputs
        return Targets(
            *self._outputs,
            partitions,
            most_bytes_of_value(largest[output], header_of(ANY_BATCH)) if output in largest else None,
            largest[certificates] - MOST_AROUND if certificates in largest else None,
        )

    async def publish(self, publication: Publication, membership: Membership, steps: Steps) -> None:
        """See `ports.Sink`.

        The producer gives each of its calls a deadline; together they are shorter than a transaction may take.
        """
        # If a topic was created anew, the offsets that were read stand for other records.
        async with steps.step(4, "begin, if the input topics are still those that were taken over"):
            await self._refuse_recreated(publication)
            await self._producer.begin()
        async with steps.step(5, "send released records, certificate, dead letters and ledger entries"):
            await self._producer.send(self._with_entries(publication))
        # Every batch is awaited, since a commit succeeds even if a batch was refused.
        async with steps.step(6, "await every batch"):
            sent = await self._producer.settle()
        async with steps.step(7, "add the group's offsets to the transaction"):
            await self._producer.add_offsets()
        # This is the fence within the group. The fence between groups is the ledger: of two windows over the same
        # records, the one whose entries come first wins.
        async with steps.step(8, "commit the offsets as the member that took the records"):
            await self._producer.commit_offsets(publication.ends, membership)
            await self._ledger.uncontested(publication.starts, sent)
        async with steps.step(9, "commit"):
            await self._producer.commit()

    async def _refuse_recreated(self, publication: Publication) -> None:
        known = publication.topic_ids
        wanted = {topic: known[topic] for topic, _ in publication.starts if topic in known}
        now = await self._producer.topic_ids(wanted.keys())
        for topic in sorted(now.differ_from(wanted)):
            raise Recreated(f"{topic} was deleted and created anew: what was read of it is not published")

    def _with_entries(self, publication: Publication) -> tuple[Parcel, ...]:
        p = publication
        sent, entries = self._entries
        # Attempts send the same bytes, whatever the ledger has learned since, unless one is dated anew.
        if sent != (p.batch, p.time, p.ends):
            entries = self._ledger.entries(p.ends, p.batch, p.topic_ids, p.time)
            self._entries = (p.batch, p.time, p.ends), entries
        return p.parcels if entries is None else (*p.parcels, entries)
