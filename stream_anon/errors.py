"""The exceptions of stream_anon.

::

    StreamAnonError
    ├── SettingsError        a setting or a policy is wrong; names the key and what is allowed
    │   └── HierarchyError   a generalization hierarchy is not a tree over its leaves
    ├── InputError           a file or a stream cannot be read; names the place
    │   └── CertificateError a certificate or a policy document is not one, or its parts do not fit together
    │       └── LaterVersionError  it was made by a later release
    ├── Refused              a command is refused in the present state; nothing was changed
    ├── Unfit                a value does not fit its attribute; names the reason, never the value
    └── BrokerError          Kafka is away, refuses, or holds what must not be there
        ├── UnreadableRecords  a batch of a topic is damaged, or was made so that nobody can read it
        ├── RegistryError    the schema registry is away, refuses, or answers what nobody can read
        ├── TopicError       a topic is missing or not set up as it must be
        │   ├── LedgerMissing  the ledger was deleted: it must be made anew
        │   ├── BatchRefused a batch is larger than its topic takes
        │   └── TimeRefused  the times of records are too far from the broker's clock for their topic
        ├── OwnershipLost    another worker owns the partitions now: nothing was published
        ├── OutcomeUnknown   a transaction broke off; the stable offsets tell how it ended
        ├── Overtaken        the ledger says that somebody else released the same records
        └── Recreated        an input topic was deleted and created anew while records of it waited

No message holds a person's value: errors say where (topic, partition, offset, attribute), never who or what.
"""

from __future__ import annotations

from enum import StrEnum

LEAST_LIMIT = 16 * 1024
"""Bytes of a batch that any sound topic takes. Where one takes less, the topic is at fault and not the record."""


class StreamAnonError(Exception):
    """The root of every error this package raises on purpose."""


class SettingsError(StreamAnonError):
    """A setting is wrong.

    Parameters
    ----------
    key
        Dotted name of the setting, as in the settings file.
    message
        What is wrong and what is allowed.
    place
        The file that holds it, where known.
    """

    def __init__(self, key: str, message: str, place: str | None = None) -> None:
        self.key = key
        self.message = message
        self.place = place
        super().__init__(f"{place}: {key}: {message}" if place else f"{key}: {message}")


class HierarchyError(SettingsError):
    """A generalization hierarchy is not a tree over distinct leaves."""


class InputError(StreamAnonError):
    """A file or stream cannot be read."""


class CertificateError(InputError):
    """A certificate or a policy document has not the shape of one, or its parts do not fit together."""


class LaterVersionError(CertificateError):
    """A document names a version of its format that a later release writes."""


class Refused(StreamAnonError):  # noqa: N818 - named after what happened
    """A command is refused in the present state, or nobody agreed to it. Nothing was changed."""


class Unfit(StreamAnonError):  # noqa: N818 - it is an answer about a value more than an error
    """A value does not fit its attribute.

    Parameters
    ----------
    reason
        One of `stream_anon.microdata.batch.Reason`, as an integer.
    """

    def __init__(self, reason: int) -> None:
        self.reason = reason
        super().__init__("the value does not fit the attribute")


class Cause(StrEnum):
    """What keeps a worker from working, as a label of metrics and alerts."""

    UNREACHABLE = "unreachable"  # no answer in time, no way there, or connections are closed unanswered
    CREDENTIALS = "credentials"  # the brokers refuse our certificate, password or token, or we refuse theirs
    PERMISSION = "permission"
    TOPIC = "topic"  # it is missing, or not set up as it must be
    TOO_LARGE = "too-large"  # a topic or the brokers take no batch of this size
    UNREADABLE = "unreadable"  # records that nobody can read stand in the way
    OPEN_TRANSACTION = "open-transaction"
    CLOCK = "clock"  # the brokers refuse the times of our records
    REGISTRY = "registry"
    BROKER = "broker"  # the brokers answer with another error


class BrokerError(StreamAnonError):
    """Kafka is away, refuses a request, or holds what must not be there.

    Parameters
    ----------
    cause
        What is wrong; None for what the class usually means.

    Attributes
    ----------
    least_pause, longest_pause
        Bounds on the seconds until the next try; None leaves the longest one to whoever tries.
    """

    cause = Cause.BROKER
    least_pause: float = 0.0
    longest_pause: float | None = None

    def __init__(self, message: str = "", cause: Cause | None = None) -> None:
        super().__init__(message)
        if cause is not None:
            self.cause = cause


class RegistryError(BrokerError):
    """The schema registry is away, refuses a request, or answers what nobody can read: it is waited for.

    Parameters
    ----------
    least_pause, longest_pause
        See `BrokerError`; the registry may name them.
    """

    cause = Cause.REGISTRY

    def __init__(self, message: str, least_pause: float = 0.0, longest_pause: float | None = None) -> None:
        self.least_pause, self.longest_pause = least_pause, longest_pause
        super().__init__(message)


class UnreadableRecords(BrokerError):  # noqa: N818 - named after what happened
    """A batch of a topic is damaged, or was made so that nobody can read it.

    Parameters
    ----------
    offset
        The first one that cannot be read.
    after
        The one behind the batch.
    """

    cause = Cause.UNREADABLE

    def __init__(self, topic: str, partition: int, offset: int, after: int) -> None:
        self.topic, self.partition, self.offset, self.after = topic, partition, offset, after
        super().__init__(
            f"{topic}-{partition}: the batch of records from offset {offset} on cannot be read. It is damaged, or "
            f"its producer made it so. The next batch begins at offset {after}"
        )


class TopicError(BrokerError):
    """A topic is missing or not set up as it must be."""

    cause = Cause.TOPIC


class LedgerMissing(TopicError):  # noqa: N818 - named after what happened
    """The ledger was deleted, and perhaps created again by somebody else: it must be created again or examined."""


class BatchRefused(TopicError):  # noqa: N818 - named after what happened
    """A batch is larger than its topic or the brokers take.

    Parameters
    ----------
    records
        How many it held; of more than one, smaller batches may be taken.
    size
        Its bytes.
    """

    cause = Cause.TOO_LARGE

    def __init__(self, topic: str, records: int, size: int) -> None:
        self.topic = topic
        self.size = size
        self.divisible = records > 1
        what = f"a batch of {records} records" if self.divisible else "a single record"
        super().__init__(
            f"{topic}: {what} ({size} bytes) is more than max.message.bytes allows"
            + ("; smaller batches follow" if self.divisible else "; raise it, the worker goes on by itself then")
        )

    def never_fits(self, topic: str) -> bool:
        """Return whether a record is at fault that a topic refused: no smaller batch nor a sound topic takes it."""
        return self.topic == topic and not self.divisible and self.size > LEAST_LIMIT


class TimeRefused(TopicError):  # noqa: N818 - named after what happened
    """A topic takes no records of these times: our clock or the broker's is wrong. Nothing was published."""

    cause = Cause.CLOCK
    least_pause = 5.0  # nobody sets a clock within seconds

    def __init__(self, topic: str) -> None:
        super().__init__(
            f"{topic}: the broker refuses the times of our records. The clock of this machine or of the broker is "
            "wrong by more than message.timestamp.after.max.ms (before.max.ms) of the topic allows. Set the clock; "
            "the worker goes on by itself then"
        )


class OwnershipLost(BrokerError):  # noqa: N818 - named after what happened
    """The group has moved on: this worker may not publish what it holds. Nothing was published."""


class OutcomeUnknown(BrokerError):  # noqa: N818 - named after what happened
    """A transaction broke off between its begin and its commit; only the stable offsets tell its end."""


class Overtaken(BrokerError):  # noqa: N818 - named after what happened
    """Another group on the same output has released what this window holds. Nothing was published."""


class Recreated(BrokerError):  # noqa: N818 - named after what happened
    """An input topic was deleted and created anew: this window's records are gone. Nothing was published."""


class SuppressionWarning(UserWarning):
    """Many rows of a frame are left out of its release."""
