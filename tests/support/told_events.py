"""An event of each kind, as a worker may tell it."""

from __future__ import annotations

import numpy as np

from stream_anon.microdata.bounds import Shield
from stream_anon.ports.schema_news import SchemaChange, UnknownSchemas
from stream_anon.service import events as e
from tests.support.classes import made_up_classes

STARTED = e.WorkerStarted(
    "stream_anon 0.1.0",
    "sha256:ab",
    "anonymizer",
    "people",
    "people.anonymous",
    "at-least-once",
    "mondrian",
    10,
    30.0,
    100,
    ("city",),
    published=("city", "note"),
    shields=(Shield(("age", "zip"), 20),),
)
PUBLISHED = e.WindowPublished(
    batch="00ff",
    ranges=(("people", 0, 5, 105),),
    records_in=100,
    released=80,
    suppressed={"unplaced": 10, "gate": 0},
    rejected={"missing": 10},
    classes=made_up_classes([30, 50]),
    achieved_k=11,
    achieved_l={"diagnosis": 2},
    gcp=0.25,
    gate_violations=0,
    arrivals=((1000.0, 60), (1010.0, 30)),
    broker_times=np.array([1_700_000_000.0, 1_700_000_010.0]),
    opened_at=1000.0,
    closed_at=1029.0,
    at=1030.0,
    wall=1_700_000_030.0,
    durations=e.Durations(0.02, 0.01, 0.04, 0.03),
    outcome=e.Outcome.COMMITTED,
    missing={"note": 45},
)
EVERY_KIND: tuple[e.Event, ...] = (
    STARTED,
    e.CertificatesRead({"kafka.registry.ca_file": 1.7e9}, ("kafka.registry.ca_file",), 1.7e9),
    e.ClockSet(-7200.0),
    e.Throttled(e.Throttle.BROKER, 12.5, 60.0),
    e.LedgerHeld("out.ledger", 31.0, True),
    e.KernelsCompiling(),
    e.KernelsCompiled(85.0),
    e.ReadinessChanged(True),
    e.BrokerAway(e.Away.PUBLISHING, "NodeNotReadyError"),
    e.BrokerBack(e.Away.PUBLISHING, 2.5, 4),
    e.SchemasUnknown(UnknownSchemas(("8", "9"), 3)),
    e.SchemaSeen(SchemaChange("7", lacking=("city",), vanished=("city",), retyped=("note",))),
    e.LedgerCreated("out.ledger"),
    e.OrderAdopted(2, 0.013, drifted=True),
    e.StandingBy(),
    e.GroupSeen({"people": 4}, shared=True),
    e.Superseded(2, 1, 4),
    e.ReadingOrdered(True),
    e.PartitionsRevoked((("people", 1),), 7, 2),
    e.TakeoverStarted((("people", 1),)),
    e.TakeoverDone((("people", 0, 5), ("people", 1, 9)), 3, 1, 2, 4, (("people", 1),), (), 2, 1, 0.25),
    e.PartitionStopped(("people", 3), "rewound", "the committed offset 5 lies below the ledger's 9"),
    e.InputSkipped(("people", 0), 10, 25),
    e.ReadingSlowly(("a.b.c",)),
    e.ReadingFault(("people", 1), 9),
    e.RecordsConsumed(100),
    e.WindowProgress(90, 1000.0, 1002.0, False, True, 12),
    PUBLISHED,
    e.WindowAudited("00ff", "failed", ("a class has fewer than k records",), 0.01),
    e.WindowMeasured((("city", 0.31, 0.12),), 0.01),
    e.SizesLearned(3163, 20_000, 3163, 10_000),
    e.WindowStudied(0.01),
    e.WindowAbandoned(12, "stopping"),
    e.WindowWithheld(12, ("age",)),
    e.TransactionBroken("commit", "ConnectionError"),
    e.TransactionEnded(e.Outcome.FENCED),
    e.WorkerStopping("SIGTERM"),
    e.WorkerStopped(0.5),
)
