"""Audit files and topics: read what was released and what was certified, and hand both to the audit."""

from __future__ import annotations

import asyncio
import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from math import inf, isinf
from pathlib import Path
from typing import Any, TypeVar

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.kafka.reading.topic_reader import CommittedRecord, committed_records
from stream_anon.adapters.logs import silenced_libraries
from stream_anon.audit.audit import Audit, Observer, TopicTest, audit_in_order
from stream_anon.audit.digests.comparing import DigestMeans
from stream_anon.audit.digests.kept_lines import KeptLines
from stream_anon.audit.scope import SLACK, AuditScope, Horizon
from stream_anon.audit.verdict import Verdict
from stream_anon.errors import InputError, SettingsError, UnreadableRecords
from stream_anon.formats.tables.format_names import Format, as_written, released_format
from stream_anon.formats.tables.opening import open_records
from stream_anon.microdata.output.digest_key import DigestKey
from stream_anon.microdata.policy import Policy
from stream_anon.operations.audit.audit_settings import AuditSettings
from stream_anon.operations.audit.output_records import OutputDecoder, batch_of, header_of
from stream_anon.operations.audit.public_key_files import read_public_keys
from stream_anon.operations.audit.released_files import bare_lines, released_rows
from stream_anon.operations.audit.temporary_lines import TemporaryLines
from stream_anon.ports import Clock
from stream_anon.ports.publication import SIGNATURE
from stream_anon.privacy.policy_document import PolicyDocument
from stream_anon.privacy.signing.public_keys import PublicKeys
from stream_anon.secret_files import read_key
from stream_anon.service.wiring.clients import connection_of, formats_of
from stream_anon.settings.kafka import KafkaSettings
from stream_anon.settings.loading import kafka_of

LEAD = 7_200.0 + SLACK
"""Seconds before `--since` from which topics are read: a policy document goes out every hour."""

_TOLD_EVERY = 1_000
PATIENCE = 15.0  # seconds for a transaction to end whose worker died: its timeout is 10 by default

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Wanted:
    """What is to be audited.

    Parameters
    ----------
    stretch
        Which windows.
    former
        Topics that the service read once and reads no longer.
    overrides
        Values by section and key that win over those of the settings file.
    keys
        Files with keys of digests, besides that of the settings.
    public_keys
        Files with public keys; without any, signatures are not checked.
    progress
        Called with how many records and certificate parts were read further.
    observer
        Told of each window that is judged.
    """

    stretch: AuditScope = field(default_factory=AuditScope)
    former: frozenset[str] = frozenset()
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    keys: Sequence[Path] = ()
    public_keys: Sequence[Path] = ()
    progress: Callable[[int], None] = lambda _: None
    observer: Observer | None = None

    def digest_keys(self) -> list[DigestKey]:
        """Return the further keys. Raise SettingsError if a file holds none."""
        return [read_key(DigestKey, file) for file in self.keys]

    def signers(self) -> PublicKeys | None:
        """Return who may have signed; None without a file. Raise SettingsError if one holds something else."""
        return read_public_keys(self.public_keys) if self.public_keys else None

    def reads(self, kafka: KafkaSettings | None) -> TopicTest | None:
        """Return the test of whether a topic is or was an input; None without settings of Kafka."""
        if kafka is None:
            return None
        return lambda topic: topic in self.former or kafka.inputs.holds(topic)


@dataclass(frozen=True)
class AuditReport:
    """An audit's verdict, and of what it is.

    Parameters
    ----------
    subject
        Output topic or file.
    settings
        The settings file.
    policy, promises
        What it says now, with what `wanted` overrides, and the hash of its document.
    begun, ended
        Seconds since the epoch.
    absent_key
        The file of `output.digest_key_file` if it is not there.
    """

    verdict: Verdict
    subject: str
    settings: Path
    policy: Policy
    promises: str
    wanted: Wanted
    begun: float
    ended: float
    absent_key: Path | None = None


def moment_of(option: str, text: str, now: float) -> float:
    """Return the seconds since the epoch that an option names: a time, a day, or how long ago (90m, 36h, 7d)."""
    ago = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    try:
        if ago:
            length = dt.timedelta(seconds=int(ago[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86_400}[ago[2]])
            return (dt.datetime.fromtimestamp(now, dt.UTC) - length).timestamp()
        time = dt.datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=dt.UTC)).astimezone(dt.UTC).timestamp()
    except (ValueError, OverflowError):  # the latter of a day before the first year, or after the last one
        raise SettingsError(
            option, "must be a time such as 2024-05-13T08:30:00Z, a day, or how long ago: 90m, 36h, 7d"
        ) from None


def audit_files(
    config: Path | AuditSettings,
    output: Path,
    certificates: Path,
    wanted: Wanted | None = None,
    clock: Clock | None = None,
) -> AuditReport:
    """Audit released records in a CSV, JSON Lines or Parquet file, one window in memory at a time.

    Parameters
    ----------
    config
        Settings file of the policy, or what was read of it.
    output
        Released records; CSV or Parquet if its name ends so, else JSON Lines.
    certificates
        A policy document or a part of a certificate a line, windows in the order of `output`.

    Raises
    ------
    InputError
        If a file cannot be read, or holds no certificate of the batch that is wanted.
    """
    wanted, clock = wanted or Wanted(), clock or SystemClock()
    begun = clock.wall()
    given = _read_settings(config, wanted)
    policy = as_written(given.policy, released_format(output))
    with ExitStack() as stack:
        proof = stack.enter_context(open_records(str(certificates), Format.JSONL))
        parts = _counted(bare_lines(proof, certificates), wanted)
        rows, series = stack.enter_context(released_rows(output, policy))
        verdict = audit_in_order(
            policy,
            parts,
            _counted(rows, wanted),
            series,
            reads=wanted.reads(given.settings.kafka),
            stretch=wanted.stretch,
            digests=DigestMeans(wanted.digest_keys(), KeptLines(stack.enter_context(TemporaryLines()))),
            public_keys=wanted.signers(),
            observer=wanted.observer,
        )
    return _report(verdict, str(output), replace(given, policy=policy), wanted, (begun, clock.wall()))


def audit_topic(config: Path | AuditSettings, wanted: Wanted, clock: Clock) -> AuditReport:
    """Audit the output topic of a settings file, or of what was read of it, with its certificates to their ends.

    Where the service still writes, it reads on until all that was begun is there.

    Raises
    ------
    SettingsError, BrokerError
        If the settings are wrong, or the topics cannot be read.
    InputError
        If there is no certificate of the batch that is wanted.
    """
    begun = clock.wall()
    given = _read_settings(config, wanted)
    kafka = kafka_of(given.settings)
    with silenced_libraries(clock):
        verdict = asyncio.run(audit_committed(kafka, given.policy, wanted))
    return _report(verdict, kafka.output, given, wanted, (begun, clock.wall()))


def _read_settings(config: Path | AuditSettings, wanted: Wanted) -> AuditSettings:
    return config if isinstance(config, AuditSettings) else AuditSettings.load(config, wanted.overrides)


async def audit_committed(kafka: KafkaSettings, policy: Policy, wanted: Wanted | None = None) -> Verdict:
    """Return the verdict on what readers of committed records see of an output topic; see `audit_topic`."""
    wanted = wanted or Wanted()
    reads, keys, signers = wanted.reads(kafka), wanted.digest_keys(), wanted.signers()
    with TemporaryLines() as spill:
        digests = DigestMeans(keys, KeptLines(spill))
        stretch, told = wanted.stretch, wanted.observer
        audit = Audit(policy, reads=reads, stretch=stretch, digests=digests, public_keys=signers, observer=told)
        return await _read(audit, kafka, wanted)


class _TopicStarts:
    """Knows which partitions have lost their start, and the time of the oldest record that is left of each."""

    def __init__(self) -> None:
        self._oldest: dict[tuple[str, int], float | None] = {}

    def lacks(self, topic: str, partition: int, empty: bool) -> None:
        """Note a partition that does not begin at offset 0; where nothing is left, anything may have been there."""
        self._oldest[topic, partition] = inf if empty else None

    def see(self, record: CommittedRecord) -> None:
        """Note the first record of such a partition."""
        place = (record.topic, record.partition)
        if self._oldest.get(place, inf) is None:
            self._oldest[place] = inf if record.time is None else record.time / 1000

    def oldest(self, topic: str) -> float:
        """Return the latest of these times in a topic; minus infinity where all partitions are whole."""
        times = [inf if time is None else time for place, time in self._oldest.items() if place[0] == topic]
        return max(times, default=-inf)


async def _read(audit: Audit, kafka: KafkaSettings, wanted: Wanted) -> Verdict:
    """Return the verdict of an audit on the topics."""
    topics = (kafka.output, kafka.certificates)
    starts = _TopicStarts()
    since = None if isinf(wanted.stretch.since) else wanted.stretch.since - LEAD

    def unreadable(error: UnreadableRecords) -> None:
        audit.add_unreadable(f"{error.topic}/{error.partition}", max(error.after - error.offset, 1))

    def horizon() -> Horizon:
        return Horizon.of(starts.oldest(kafka.output), starts.oldest(kafka.certificates))

    read = committed_records(
        connection_of(kafka),
        topics,
        lambda: audit.at_rest(horizon()),
        PATIENCE,
        unreadable,
        since=since,
        trimmed=starts.lacks,
    )
    decoder = OutputDecoder(formats_of(kafka))
    async for records in read:
        wanted.progress(len(records))
        await decoder.learn(record.value for record in records if record.topic == kafka.output)
        for record in records:
            starts.see(record)
            if record.topic == kafka.certificates:
                signature = header_of(record, SIGNATURE)
                audit.add_part(record.value, batch_of(record) or "", signature, record.partition, record.time)
            else:
                bare = not record.keyed and len(record.headers) == 1
                audit.add_record(batch_of(record), decoder.decode(record.value), record.time, bare=bare)
    return audit.finish(horizon())


def _report(
    verdict: Verdict, subject: str, given: AuditSettings, wanted: Wanted, times: tuple[float, float]
) -> AuditReport:
    if wanted.stretch.batch is not None and not verdict.counts.windows and verdict.clean:
        raise InputError(f"{subject}: no certificate is of the batch that --batch names")
    promises = PolicyDocument.of(given.policy).promises
    return AuditReport(verdict, subject, given.path, given.policy, promises, wanted, *times, given.absent_key)


def _counted(items: Iterable[_Item], wanted: Wanted) -> Iterator[_Item]:
    """Yield all items, and tell the progress."""
    for number, item in enumerate(items, start=1):
        if not number % _TOLD_EVERY:
            wanted.progress(_TOLD_EVERY)
        yield item
