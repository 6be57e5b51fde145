"""Metrics of records: how they were read, and what became of them."""

from __future__ import annotations

from stream_anon.adapters.prometheus.declaring import Declaring
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.release import Suppression
from stream_anon.service import events as e

SUPPRESSIONS = tuple(reason.value for reason in Suppression)
REJECTIONS = tuple(reason.label for reason in Reason if not reason.is_ignored)
IGNORED = tuple(reason.label for reason in Reason if reason.is_ignored)
SCHEMA_CHANGES = ("lacking", "vanished", "appeared", "retyped", "unreadable")


class RecordMetrics:
    """Counts records. What tells of their values is counted when their window is published."""

    def __init__(self, declare: Declaring) -> None:
        # Their bytes are not counted: on a quiet topic they are the length of one record.
        self._consumed = declare.counter("records_consumed", "Records read from the input topic.")
        self._singly = declare.counter(
            "records_read_singly",
            "Records that were read one by one, which is slow, also rejected ones; counted with their window.",
        )
        self._coerced = declare.counter(
            "values_coerced",
            "Texts that counted as numbers or truth values, because their attributes say coerce; counted with "
            "their window.",
        )
        self._faults = declare.counter(
            "reading_faults", "Stretches of records that made a kernel leave its bounds: a bug, perhaps an attack."
        )
        self._lost = declare.counter("input_lost_records", "Records that the broker deleted before they were read.")
        self._schema_changes = declare.family(
            "schema_changes",
            "Declared fields that a schema lacks, has no more, has anew or has with another type, when records "
            "name it for the first time; and schemas that cannot be read.",
            "change",
            SCHEMA_CHANGES,
        )
        self._released = declare.counter("records_released", "Records published k-anonymous.")
        self._suppressed = declare.family(
            "records_suppressed", "Records kept back, by reason.", "reason", SUPPRESSIONS
        )
        self._rejected = declare.family(
            "dead_letters", "Records that do not fit the policy, by reason.", "reason", REJECTIONS
        )
        self._ignored = declare.family(
            "records_ignored", "Records that hold no row of a table and are no dead letters.", "reason", IGNORED
        )
        self._missing = declare.counter(
            "records_missing",
            "Released and suppressed records without a value, by published attribute.",
            ("attribute",),
        )
        self._accepts_missing = declare.gauge(
            "policy_accepts_missing", "1 for attributes that may be absent from every record.", ("attribute",)
        )
        self._published: frozenset[str] = frozenset()

    def __call__(self, event: e.Event) -> None:
        """Count what an event says of records."""
        match event:
            case e.WorkerStarted():
                self._published = frozenset(event.published)
                for name in event.published:
                    self._missing.labels(name)
                    self._accepts_missing.labels(name).set(name in event.accept_missing)
            case e.RecordsConsumed():
                self._consumed.inc(event.records)
            case e.ReadingFault():
                self._faults.inc()
            case e.SchemaSeen(change=change):
                for kind, names in change.fields.items():
                    self._schema_changes.add(kind, len(names))
                self._schema_changes.add("unreadable", int(not change.readable))
            case e.WindowPublished():
                self._settle(event)

    def _settle(self, event: e.WindowPublished) -> None:
        self._singly.inc(event.readings.singly)
        self._coerced.inc(event.readings.coerced)
        self._lost.inc(sum(end - start for *_, start, end in event.lost))
        self._released.inc(event.released)
        for family, counts in (
            (self._suppressed, event.suppressed),
            (self._rejected, event.rejected),
            (self._ignored, event.ignored),
        ):
            for reason, count in counts.items():
                family.add(reason, count)
        for name in self._published.intersection(event.missing):  # no other name becomes a label
            self._missing.labels(name).inc(event.missing[name])
