"""The ports: protocols between the service and its adapters, and the values that pass between them.

A client library with its own transactions and group fencing fits behind the same protocols.
"""

from stream_anon.ports.clock import Clock
from stream_anon.ports.codec import MOST_RECORD_BYTES, Codec
from stream_anon.ports.polled_records import Chunk, Held, Lost, Parcel, Place, Polled
from stream_anon.ports.publication import Publication, Targets
from stream_anon.ports.release_ledger import LedgerEntry, ReleaseLedger, newest_revision
from stream_anon.ports.sink import Sink
from stream_anon.ports.source import DeadClient, GroupView, Membership, Source
from stream_anon.ports.steps import At, Steps
from stream_anon.ports.topic_ids import TopicIds

__all__ = [
    "MOST_RECORD_BYTES",
    "At",
    "Chunk",
    "Clock",
    "Codec",
    "DeadClient",
    "GroupView",
    "Held",
    "LedgerEntry",
    "Lost",
    "Membership",
    "Parcel",
    "Place",
    "Polled",
    "Publication",
    "ReleaseLedger",
    "Sink",
    "Source",
    "Steps",
    "Targets",
    "TopicIds",
    "newest_revision",
]
