"""Turn what happens to a worker into metrics.

The worker says what happened (`service/events`), and several listeners hear of it: the log is in `log_listener.py`,
the status page in `service/status/status_board.py`.
"""

from __future__ import annotations

from typing import assert_never

import numpy as np

from stream_anon.adapters.prometheus.metrics import Metrics
from stream_anon.service import events as e


def tell_all(*listeners: e.Listener) -> e.Listener:
    """Return a listener that passes each event to all `listeners` in order."""

    def tell(event: e.Event) -> None:
        for listener in listeners:
            listener(event)

    return tell


def into_metrics(metrics: Metrics) -> e.Listener:  # noqa: C901, PLR0915 - a table: one case a kind of event
    """Return a listener that turns events into metrics."""

    def count(event: e.Event) -> None:  # noqa: C901, PLR0912, PLR0915
        match event:
            case e.WorkerStarted():
                _count_start(metrics, event)
            case e.CertificatesRead():
                metrics.certificates(event.ends)
            case e.ClockSet():
                metrics.clock_set(event.seconds)
            case e.Throttled():
                metrics.throttled(event.by.value, event.seconds)
            case e.LedgerHeld():
                metrics.ledger_held(event.seconds)
            case e.ReadinessChanged():
                metrics.readiness(event.ready)
            case e.SchemaSeen(change=change):
                counts = {kind: len(names) for kind, names in change.fields.items()}
                metrics.schema_seen(counts | {"unreadable": int(not change.readable)})
            case e.SchemasUnknown():
                pass  # their records are counted as dead letters
            case e.BrokerAway():
                metrics.broker_away(event.doing.value, event.cause.value, again=event.again)
            case e.BrokerBack():
                metrics.broker_back(event.doing.value, event.seconds)
            case e.PartitionsRevoked():
                metrics.revoked(event.dropped, event.owned)
            case e.TakeoverStarted():
                metrics.assigned()
            case e.TakeoverDone():
                _count_takeover(metrics, event)
            case e.GroupSeen():
                metrics.input_seen(event.partitions)
            case e.PartitionStopped():
                metrics.partition_stopped(event.reason)
            case e.ReadingOrdered():
                metrics.reading_ordered(event.paused)
            case e.ReadingFault():
                metrics.reading_fault()
            case e.RecordsConsumed():
                metrics.consumed(event.records)
                metrics.reading_took({"decode": event.decoding, "window": event.adding})
            case e.WindowProgress():
                _show_progress(metrics, event)
            case e.WindowPublished():
                _count_window(metrics, event)
            case e.WindowAudited():
                metrics.window_audited(event.result, event.seconds)
                metrics.worked({"audit": event.seconds or 0.0})
            case e.WindowMeasured():
                metrics.leakage(event.shares)
                metrics.worked({"leakage": event.seconds})
            case e.WindowAbandoned():
                metrics.window_abandoned(event.reason)
            case e.WindowWithheld():
                metrics.window_abandoned("missing-field")
            case e.OrderAdopted():
                metrics.order_adopted(event.version)
            case e.TransactionBroken():
                metrics.transaction_broken()
            case e.TransactionEnded():
                metrics.transaction_ended(event.outcome.value)
            case e.WorkerStopping() | e.WorkerStopped():
                metrics.readiness(False, "stopping")
            case e.KernelsCompiling() | e.KernelsCompiled() | e.LedgerCreated() | e.StandingBy() | e.Superseded():
                pass  # a first run creates a ledger too; the gauges of partitions show the other cases
            case e.InputSkipped():
                pass  # counted when it is certain, with its window
            case e.ReadingSlowly():
                pass  # the records themselves are counted
            case _:
                assert_never(event)

    return count


def _count_start(metrics: Metrics, event: e.WorkerStarted) -> None:
    metrics.started(event.software, event.policy, event.engine, event.delivery, event.revision)
    metrics.limits(event.k, event.max_delay, event.max_records, holds=event.holds)
    metrics.shields([(", ".join(shield.attributes), shield.k) for shield in event.shields])
    metrics.attributes(event.attributes)
    metrics.published_attributes(event.published, event.accept_missing)


def _count_takeover(metrics: Metrics, event: e.TakeoverDone) -> None:
    metrics.taken_over(event.dropped, event.read_again, len(event.skipped), event.owned, event.seconds)
    metrics.unprotected(len(event.unprotected))


def _show_progress(metrics: Metrics, event: e.WindowProgress) -> None:
    age = 0.0 if event.opened is None else event.at - event.opened
    metrics.window_progress(event.records, age, event.closing, event.paused)
    metrics.unread(event.lag, event.stopped, event.left)
    metrics.held(event.held, event.held_seconds)


def _count_window(metrics: Metrics, event: e.WindowPublished) -> None:
    metrics.window_filled(event.admitted)
    metrics.records_settled(event.records_in, event.released, event.suppressed, event.rejected)
    metrics.ignored(event.ignored)
    metrics.records_read(event.readings.singly, event.readings.coerced)
    metrics.missing(event.missing)
    metrics.input_lost(sum(end - start for *_, start, end in event.lost))
    if event.above_max_suppressed:
        metrics.suppressed_too_many()
    metrics.classes_published(
        event.class_sizes, event.achieved_k, event.gcp, event.gate_violations, event.achieved_shields
    )
    lost = event.classes.ncp @ event.classes.records + sum(event.suppressed.values())
    metrics.attribute_losses(lost.tolist())
    arrivals = np.array(event.arrivals, np.float64).reshape(-1, 2)
    metrics.delays(event.at - arrivals[:, 0], arrivals[:, 1], event.wall - event.broker_times)
    took = event.durations
    metrics.durations(
        {
            "close": took.release,
            "gate": took.gate,
            "encode": took.encode,
            "publish": took.publish,
            "commit": took.commit,
        }
    )
    metrics.worked(
        {
            "partition": took.release - took.gate,
            "gate": took.gate,
            "encode": took.encode,
            "publish": took.publish,
        }
    )
    metrics.window_published(event.closed_at - event.opened_at, event.wall)
