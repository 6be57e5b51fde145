"""Write what happens to a worker as log lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

from stream_anon.adapters.log_lines import Line
from stream_anon.adapters.logs import Log
from stream_anon.ports.schema_news import SchemaChange
from stream_anon.service import events as e
from stream_anon.service.events.brokers import LEAST_THROTTLED
from stream_anon.service.orders import end_in_words
from stream_anon.service.wiring.few_lines import FewLines
from stream_anon.service.wiring.group_lines import GroupLines
from stream_anon.service.wiring.vanishing import Vanishing, write_changed

UNPROTECTED = (
    "the ledger does not know some committed offsets: it was deleted, emptied or made to forget. If the "
    "offsets were set back, records are released a second time: compare `starts` with the last certificates"
)
THROTTLING = {
    e.Throttle.BROKER: "a quota of the brokers holds this client or user back (producer_byte_rate, "
    "consumer_byte_rate, request_percentage)",
    e.Throttle.PROCESSOR: "the limit on processor time of the pod or service is used up within its periods",
}
LEDGER_IS_HELD = (
    "a transaction is open there for longer than any worker's: windows of the same partitions are not published "
    "and takeovers wait until it ends"
)
MOST_PLACES = 8  # places named in one line; a topic can have thousands


def into_log(log: Log, monotonic: Callable[[], float]) -> e.Listener:  # noqa: C901, PLR0915 - a table: one case a kind of event
    """Return a listener that writes log lines: one a window, none a record."""
    vanishing, group_lines = Vanishing(), GroupLines(log)
    few_schemas, few_faults = FewLines(monotonic), FewLines(monotonic)

    def write(event: e.Event) -> None:  # noqa: C901, PLR0912, PLR0915
        match event:
            case e.WorkerStarted():
                vanishing.follow([name for name in event.published if name not in event.accept_missing])
                _write_start(log, event)
            case e.KernelsCompiling():
                log.info(Line.COMPILING)
            case e.KernelsCompiled():
                log.info(Line.COMPILED, seconds=_short(event.seconds))
            case e.CertificatesRead():
                _write_certificates(log, event)
            case e.ClockSet():
                _write_clock(log, event.seconds)
            case e.Throttled():
                _write_throttling(log, event)
            case e.LedgerHeld():
                _write_ledger_held(log, event)
            case e.ReadinessChanged():
                _write_readiness(log, event)
            case e.SchemaSeen(change=change):
                _write_schema(log, change, few_schemas.untold())
            case e.SchemasUnknown(unknown=unknown):
                log.warning(
                    Line.SCHEMA_UNKNOWN,
                    schemas=list(unknown.schemas),
                    others=unknown.others,
                    unasked=unknown.unasked,
                )
            case e.BrokerAway():
                log.warning(Line.BROKER_AWAY, doing=event.doing.value, error=event.error)
            case e.BrokerBack():
                log.info(
                    Line.BROKER_BACK,
                    doing=event.doing.value,
                    seconds=_short(event.seconds),
                    attempts=event.attempts,
                )
            case e.PartitionsRevoked():
                log.info(Line.REVOKED, **_places(event.places), dropped=event.dropped, owned=event.owned)
            case e.OrderAdopted():
                log.info(Line.ORDER_ADOPTED, version=event.version, gain=_short(event.gain), drifted=event.drifted)
            case e.LedgerCreated():
                log.info(Line.LEDGER_CREATED, topic=event.topic)
            case e.TakeoverStarted():
                log.info(Line.ASSIGNED, **_places(event.places))
            case e.TakeoverDone():
                _write_takeover(log, event)
            case e.StandingBy():
                log.info(Line.STANDING_BY)
            case e.GroupSeen():
                group_lines.take(event)
            case e.Superseded():
                log.warning(Line.SUPERSEDED, by=event.by, own=event.own, partitions=event.partitions)
            case e.PartitionStopped():
                _write_stopped(log, event)
            case e.ReadingOrdered():
                _write_pause(log, event)
            case e.InputSkipped():
                log.warning(
                    Line.INPUT_LOST,
                    topic=event.place[0],
                    partition=event.place[1],
                    start=event.start,
                    end=event.end,
                )
            case e.ReadingFault():
                _write_fault(log, event, few_faults.untold())
            case e.WindowPublished():
                _write_window(log, event)
                write_changed(log, vanishing.take(event.released + sum(event.suppressed.values()), event.missing))
            case e.WindowAudited():
                _write_audit(log, event)
            case e.WindowMeasured():
                if not event.shares:
                    log.error(Line.LEAKAGE_UNMEASURED)
            case e.WindowAbandoned():
                write_it = log.info if event.reason == "stopping" else log.warning
                write_it(Line.WINDOW_ABANDONED, records=event.records, reason=event.reason)
            case e.WindowWithheld():
                log.error(Line.WINDOW_WITHHELD, records=event.records, attributes=list(event.attributes))
            case e.TransactionBroken():
                log.warning(Line.COMMIT_UNCERTAIN, step=event.step, error=event.error)
            case e.TransactionEnded():
                _write_outcome(log, event.outcome)
            case e.WorkerStopping():
                log.info(Line.STOPPING, reason=event.reason)
                if event.forgets_pause:
                    log.warning(Line.PAUSE_FORGOTTEN)
            case e.WorkerStopped():
                log.info(Line.STOPPED, seconds=_short(event.seconds))
            case e.ReadingSlowly():
                log.warning(Line.SLOW_READING, attributes=list(event.attributes))
            case e.RecordsConsumed() | e.WindowProgress():
                pass
            case _:
                assert_never(event)

    return write


def _write_schema(log: Log, change: SchemaChange, untold: int | None) -> None:
    if untold is None:
        return
    told: dict[str, object] = {kind: list(names) for kind, names in change.fields.items() if names}
    if untold:
        told["untold"] = untold
    log.warning(Line.SCHEMA_CHANGED, schema=change.schema, readable=change.readable, **told)


def _write_fault(log: Log, event: e.ReadingFault, untold: int | None) -> None:
    if untold is None:
        return
    topic, partition = event.place
    told = {"untold": untold} if untold else {}
    log.error(Line.READING_FAULT, topic=topic, partition=partition, start=event.start, **told)


def _write_stopped(log: Log, event: e.PartitionStopped) -> None:
    topic, partition = event.place
    log.error(
        Line.PARTITION_STOPPED,
        topic=topic,
        partition=partition,
        reason=event.reason,
        explanation=event.explanation,
    )


def _write_readiness(log: Log, event: e.ReadinessChanged) -> None:
    if event.ready:
        log.info(Line.READY)
    else:
        log.warning(Line.NOT_READY, reason=event.reason)


def _write_pause(log: Log, event: e.ReadingOrdered) -> None:
    if event.paused:
        log.warning(Line.PAUSED, until=end_in_words(event.until))
    else:
        log.warning(Line.RESUMED, by="time" if event.expired else "order")


def _write_certificates(log: Log, event: e.CertificatesRead) -> None:
    for key in event.soon:
        days = (event.ends[key] - event.wall) / 86_400
        log.warning(Line.CERTIFICATE_ENDS, key=key, days=round(days, 1))


def _write_clock(log: Log, seconds: float) -> None:
    if seconds < 0:
        log.warning(Line.CLOCK_SET_BACK, seconds=_short(-seconds))
    else:
        log.warning(Line.CLOCK_SET_AHEAD, seconds=_short(seconds))


def _write_throttling(log: Log, event: e.Throttled) -> None:
    if event.seconds >= LEAST_THROTTLED:
        log.warning(
            Line.THROTTLED,
            by=event.by.value,
            seconds=_short(event.seconds),
            within=_short(event.within),
            explanation=THROTTLING[event.by],
        )


def _write_ledger_held(log: Log, event: e.LedgerHeld) -> None:
    if event.warns:
        log.error(Line.LEDGER_HELD, topic=event.topic, seconds=_short(event.seconds), explanation=LEDGER_IS_HELD)


def _write_start(log: Log, event: e.WorkerStarted) -> None:
    log.info(
        Line.STARTED,
        software=event.software,
        policy=event.policy,
        revision=event.revision,
        group=event.group,
        input=event.topic,
        output=event.output,
        delivery=event.delivery,
        engine=event.engine,
        k=event.k,
        max_delay=event.max_delay,
        max_records=event.max_records,
    )
    if event.delivery == "at-least-once":
        log.warning(Line.AT_LEAST_ONCE)
    elif event.delivery == "shadow":
        log.warning(Line.SHADOW)


def _write_takeover(log: Log, event: e.TakeoverDone) -> None:
    log.info(
        Line.TAKEN_OVER,
        partitions=len(event.starts),
        starts=[f"{topic}-{partition}@{start}" for topic, partition, start in event.starts[:MOST_PLACES]],
        generation=event.generation,
        kept=event.kept,
        dropped=event.dropped,
        read_again=event.read_again,
        from_ledger=len(event.from_ledger),
        owned=event.owned,
        attempts=event.attempts,
        seconds=_short(event.seconds),
    )
    if event.skipped:
        log.warning(Line.OFFSET_SKIPPED, **_places(event.skipped))
    if event.unprotected:
        log.error(Line.LEDGER_ENTRY_MISSING, **_places(event.unprotected), explanation=UNPROTECTED)


def _write_window(log: Log, event: e.WindowPublished) -> None:
    log.info(
        Line.WINDOW_PUBLISHED,
        batch=event.batch,
        records_in=event.records_in,
        released=event.released,
        suppressed=_reasons(event.suppressed),
        rejected=_reasons(event.rejected),
        **({"ignored": _reasons(event.ignored)} if event.ignored else {}),
        classes=len(event.class_sizes),
        achieved_k=event.achieved_k,
        **({"achieved_shields": list(event.achieved_shields)} if event.achieved_shields else {}),
        loss=None if event.gcp is None else _short(event.gcp),
        age=_short(event.closed_at - event.opened_at),
        close_seconds=_short(event.durations.release + event.durations.encode),
        publish_seconds=_short(event.durations.publish),
    )
    if event.above_max_suppressed:
        log.warning(Line.SUPPRESSED_TOO_MANY, batch=event.batch, suppressed=_reasons(event.suppressed))
    if event.gate_violations:
        log.error(Line.GATE_VIOLATION, batch=event.batch, classes=event.gate_violations)


def _write_audit(log: Log, event: e.WindowAudited) -> None:
    if event.result == "failed":
        log.error(Line.AUDIT_FAILED, batch=event.batch, violations=list(event.violations[:MOST_PLACES]))


def _write_outcome(log: Log, outcome: e.Outcome) -> None:
    if outcome is e.Outcome.FENCED:
        log.warning(Line.COMMIT_FENCED)
    elif outcome is not e.Outcome.COMMITTED:
        log.warning(Line.COMMIT_SETTLED, outcome=outcome.value)


def _reasons(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts that are not 0."""
    return {str(reason): count for reason, count in counts.items() if count}


def _places(places: tuple[tuple[str, int], ...]) -> dict[str, object]:
    named = [f"{topic}-{partition}" for topic, partition in places[:MOST_PLACES]]
    return {"partitions": len(places), "places": named}


def _short(number: float) -> float:
    return round(float(number), 4)
