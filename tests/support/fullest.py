"""Each page of the product with the longest labels and the largest numbers that the model lets it show."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np

from stream_anon.adapters.clock import SystemClock
from stream_anon.audit.verdict import Kind
from stream_anon.measures.boxes import boxes_of
from stream_anon.measures.leakage import Population
from stream_anon.measures.risk import Risk
from stream_anon.measures.uniqueness import Uniqueness
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.bounds import RecordBound, ReturnBound, Shield
from stream_anon.microdata.choices.window_limits import MOST_RECORDS
from stream_anon.microdata.diversity import Closeness, Distance, Diversity, Recursion
from stream_anon.microdata.output.statement import Statement
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.population.presence_bound import PresenceBound
from stream_anon.microdata.release import Suppression
from stream_anon.operations.audit.auditing import WantedAudit
from stream_anon.operations.leakage.leakage_page import leakage_page
from stream_anon.operations.leakage.leakage_study import LeakageRequest, study_leakage
from stream_anon.operations.leakage.presence_shares import PresenceLeakage, PresenceShares
from stream_anon.operations.leakage.suggestion import suggest_levels
from stream_anon.operations.negotiate.negotiating import NegotiationRequest, negotiate_over
from stream_anon.operations.negotiate.negotiation_page import negotiation_page
from stream_anon.operations.report.figures.evidence import DECEIVED
from stream_anon.operations.report.report_document import document_of
from stream_anon.operations.report.report_page import report_page
from stream_anon.operations.report.reporting import ReportSubject, report
from stream_anon.operations.samples import sample_of_file
from stream_anon.operations.studied_records import OriginalTable, Released
from stream_anon.operations.utility.classifier_scores import ClassifierReport, LearningReport, Score
from stream_anon.operations.utility.release_risks import RiskFound, RiskReport
from stream_anon.operations.utility.utility_page import utility_page
from stream_anon.operations.utility.utility_report import UtilityReport
from stream_anon.operations.utility.utility_study import AttributeKept, LabelKept, PairKept, Utility
from stream_anon.service import events as e
from stream_anon.service.status.criteria_in_words import in_words
from stream_anon.service.status.status_board import REMARKS, StatusBoard
from stream_anon.service.wiring.metrics.partitions import STOPS
from stream_anon.settings.policy_file import load_policy
from stream_anon.settings.sections.engine_settings import EngineSettings
from stream_anon.version import SOFTWARE
from tests.support.audited_files import Files
from tests.support.classes import made_up_classes
from tests.support.policies import people, write_document, write_json_lines
from tests.support.told_events import PUBLISHED

CLASSES = 24  # fewer than are drawn, or the page would be long and slow to measure, and no wider
MANY = 987_654_321_098
TOPIC = ("customers_of_all_countries_with_their_addresses_and_visits_" * 5)[:249]
DOTTED = ("people.of-all_countries.by-region." * 8)[:238] + ".anonymous"
NAMES = (
    "residential_municipality_code_of_the_household_head_at_census",
    "highest education completed (international standard classification)",
    "age",
    "<b>place of birth</b>",
)
LABEL = "Manufacture of basic pharmaceutical products and pharmaceutical preparations"
ERROR = (
    "no broker answers at kafka-bootstrap.production.svc.cluster.local:9093, "
    "kafka-bootstrap.production.svc.cluster.local:9094; the certificate of the first one ended on 2026-11-01"
)
DIVERSITY = Diversity(
    200, 123.456, Recursion(1.25, 150), Closeness(0.123456, Distance.EQUAL), None, 0.123456, 1.23456, 12.3456
)


def board(monotonic: Callable[[], float], delivery: str = "shadow") -> StatusBoard:
    """Return the status of a worker to which everything has happened that the page can show."""
    found = StatusBoard(monotonic)
    for event in _events(delivery, monotonic()):
        found(event)
    return found


def workers(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the status of a fleet, some of whose workers are not ready."""
    silent = {"number": 1, "ready": False, "reason": ERROR, "partitions_owned": MANY}
    again = {**silent, "number": 123, "reason": f"starting again: the one before ended with {ERROR}"}
    return {**status, "workers": [{**silent, "number": 0, "ready": True, "reason": ""}, silent, again]}


def _policy(folder: Path) -> Policy:
    quasi = {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99, "levels": [5, 10, 50]}}
    attributes = {
        "person": {"role": "identifier"},
        **{name: {**quasi, "path": [name]} for name in NAMES},
        LABEL: {"role": "sensitive", "accept_linkable": True, "path": ["illness"]},
    }
    privacy = {"k": 3, "individual": "person", "sensitive": {LABEL: {"distinct_l": 2}}}
    return load_policy(write_document(folder, {"privacy": privacy, "attributes": attributes}))


def _asked() -> tuple[str, ...]:
    policy = SimpleNamespace(
        k=10_000,
        individual=NAMES[0],
        release=Statement(valid_until=dt.date(9999, 12, 31)),
        max_share=0.123456,
        diversity={NAMES[0]: DIVERSITY, LABEL: DIVERSITY},
        passed=(Sensitive(LABEL, families=(tuple(map(str, range(200))),), rest=NAMES[0]),),
        shields=(Shield(NAMES, 12_345), Shield(NAMES[:2], MANY)),
        returning=ReturnBound(65_535, 366 * 86_400.0),
        presence=PresenceBound(0.123456, "", MANY),
    )
    return in_words(policy)  # type: ignore[arg-type]


def _events(delivery: str, now: float) -> list[e.Event]:
    engine = max(get_args(EngineSettings.model_fields["name"].annotation), key=len)
    started = e.WorkerStarted(
        f"{SOFTWARE}+local.build.20261124",
        f"sha256:{'0123456789abcdef' * 4}",
        TOPIC,
        f"{TOPIC}, {DOTTED}",
        DOTTED,
        delivery,
        engine,
        10_000,
        86_400.0,
        MOST_RECORDS,
        NAMES,
        declared=("person", *NAMES, LABEL),
        asked=_asked(),
    )
    assert delivery in (*REMARKS, "exactly-once")
    places = tuple((TOPIC, 100 + i) for i in range(20))
    return [
        started,
        e.ReadinessChanged(True),
        e.TakeoverDone(
            tuple((*place, MANY) for place in places), 3, 0, MANY, MANY, places, places, 20, 1, 0.1, places
        ),
        e.PartitionsRevoked((), MANY, 20),
        e.RecordsConsumed(MANY),
        *(e.PartitionStopped((TOPIC, 10_000 + i), STOPS[i % len(STOPS)], ERROR) for i in range(9)),
        *(e.BrokerAway(doing, ERROR) for doing in e.Away),
        *(e.Throttled(by, 59.9, 60.0) for by in e.Throttle),
        e.LedgerHeld(f"{DOTTED}.ledger"[-249:], 86_400.0, True),
        e.GroupSeen({TOPIC: MANY}, shared=True, unwatched=True),
        e.GroupPacked(65_535, 12_345),
        e.Superseded(MANY, 1, 20),
        *(_window(f"{i:064x}") for i in range(10)),
        *(
            e.WindowAudited(f"{i:064x}", result, (ERROR,))
            for i, result in enumerate(("passed", "failed", "skipped"))
        ),
        e.WindowMeasured(tuple((name, 0.98765, 0.12345) for name in NAMES), 0.01),
        e.WindowProgress(MOST_RECORDS, now - 86_399.0, now, True, True, MANY, 9, 12_345, MANY, 86_400.0, 1.0),
        e.SizesLearned(MOST_RECORDS, MANY, MOST_RECORDS, 10),
        e.ReadingOrdered(True),
    ]


def _window(batch: str) -> e.WindowPublished:
    """Return a window as full as it can be, in which somebody sent far more records than one may."""
    count, largest = CLASSES, MOST_RECORDS // CLASSES
    columns = (
        [[{"min": -MANY, "max": MANY}, None, "*"][i % 3] for i in range(count)],
        [[LABEL, [LABEL, NAMES[1], None], "*"][i % 3] for i in range(count)],
        [str(i // 10) for i in range(count)],
        ["2026-11-24T23:59:59Z" for _ in range(count)],
    )
    reasons = list(Reason)
    return replace(
        PUBLISHED,
        batch=batch,
        ranges=((TOPIC, 0, 5, MANY),),
        records_in=MANY,
        released=MOST_RECORDS - 7,
        suppressed=dict.fromkeys(Suppression, 1) | {Suppression.OVER_LIMIT: 5_865_432},
        rejected={reason.label: MOST_RECORDS for reason in reasons if not reason.is_ignored},
        classes=made_up_classes([largest - i % 13 for i in range(count)], columns),
        achieved_k=MOST_RECORDS,
        achieved_l={},
        gcp=0.98765,
        gate_violations=3,
        arrivals=((1000.0, 640),),
        readings=e.Readings(),
        faults={(reason.label, i % 6): MOST_RECORDS for i, reason in enumerate(reasons) if not reason.is_ignored},
        ignored={reason.label: MOST_RECORDS for reason in reasons if reason.is_ignored},
        lost=((TOPIC, 1, 0, MANY),),
        missing={name: MOST_RECORDS - i for i, name in enumerate((*NAMES, LABEL))},
    )


def utility(folder: Path, long: str = "released_visits_of_all_countries_k_1000_without_minors.parquet") -> str:
    """Return the page of three releases, with every figure and every remark; the name of one may be long."""
    pairs = tuple(PairKept(pair, 0.123456, None if "age" in pair else 1.0) for pair in combinations(NAMES, 2))
    attributes = tuple(AttributeKept(name, 0.98765) for name in NAMES)
    figures = (1234.5678, 0.123456, 0.123456, 0.98765, 1e12, MANY, 12_345.678, 0.98765, 12.3456, 0.123456)
    one = Utility(
        "folder/out10.csv", MANY, MANY, MANY, *figures, attributes, pairs, LabelKept(0.98765, 0.98765, 0.98765)
    )
    releases = (one, replace(one, source=long), replace(one, source="k 100 & more.csv"))
    tiny = Uniqueness(0.00002, None, 0.98765, 0.00002)
    risk = RiskFound(MANY, False, Risk(1.0, 0.98765, 0.00001), 0.98765, Risk(1.0, 0.98765, 0.00001), tiny)
    learned = Score(0.98765, 12_345, 54_321)
    names = ("multi-layer perceptron with two hidden layers", "decision tree")
    classifiers = tuple(ClassifierReport(name, learned, (learned, learned, learned)) for name in names)
    learning = LearningReport(LABEL, 100, None, MANY, MANY, 0.612345, 12.5, classifiers)
    every = RiskReport(0.123456, MANY, True, risk, (risk, risk, risk))
    return utility_page(
        UtilityReport(f"{folder / 'visits of 2026.csv'}", MANY, 10_000, 7, releases, every, learning)
    )


def leakage(folder: Path, *, released: bool = False) -> str:
    """Return the page on sets of attributes: with suggested levels, or with what a release leaks."""
    policy = _policy(folder)
    draws = np.random.default_rng(0)
    people = Population(np.stack([draws.integers(0, 100, 500) for _ in NAMES]).astype(np.int32))
    asked = LeakageRequest((NAMES[1],), 3, 6, 0.30001, 0.123456)
    source = "residents_with_all_their_addresses_and_visits_of_2026.parquet"
    if released:
        boxes = boxes_of(policy.quasi_identifiers, [("*",) * 4, ({"min": 0, "max": 49},) * 4], [300, 150])
        table = OriginalTable(source, policy, people, 0, whole=True)
        shares = PresenceShares(MANY, 0.12345678, 0.1234, MANY)
        presence = PresenceLeakage(0.123456, MANY, shares, shares)
        report = study_leakage(table, asked, Released("out.csv", boxes))
        return leakage_page(replace(report, presence=presence))
    table = OriginalTable(source, policy, people, MANY, whole=False)
    report = study_leakage(table, replace(asked, disclosed=(), most=2_000, threshold=0.6))
    return leakage_page(report, suggest_levels(table, report), suggests=True)


def negotiation(folder: Path, most: float = 0.0) -> str:
    """Return the page of a request that no levels meet, or one that some meet if many may be suppressed."""
    policy = _policy(folder)
    records = [
        {**record, **{name: record["age"] * (i + 1) % 100 for i, name in enumerate(NAMES)}}
        for record in people(600, seed=3, each=2)
    ]
    table = sample_of_file(policy, str(write_json_lines(folder / "sample.jsonl", records)))
    asked = NegotiationRequest(30, 2, {NAMES[0]: 1}, RecordBound(most))
    return negotiation_page(negotiate_over(policy, table, asked, SystemClock()))


def evidence(folder: Path) -> str:
    """Return the page of a report, each of whose tables has the longest rows that it can have."""
    return report_page(full_report(folder))


def full_report(folder: Path) -> dict[str, Any]:
    """Return the document of a real report whose counts, texts and rows were made as long as they can be."""
    quasi = {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99, "levels": [5, 10, 50]}}
    stated = {name: f"{ERROR}: {name}" for name in ("recipient", "purpose", "legal_basis", "means", "owner")}
    settings = {
        "privacy": {"k": 3, "individual": "person", "sensitive": {LABEL: {"distinct_l": 2, "alpha": 0.9}}},
        "window": {"max_records": 100},
        "release": stated,
        "attributes": {
            "person": {"role": "identifier"},
            **{name: {**quasi, "path": [name]} for name in NAMES},
            LABEL: {"role": "sensitive", "accept_linkable": True, "path": ["illness"]},
            "free": {"role": "insensitive", "accept_linkable": True},
        },
    }
    records = [
        {**record, "free": "text", **{name: record["age"] * (i + 1) % 100 for i, name in enumerate(NAMES)}}
        for record in people(600, seed=3, each=2)
    ]
    files = Files(folder, settings, records)
    (folder / "s.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    subject = ReportSubject(files.policy_path, files.output, files.certificates, str(folder / "s.jsonl"))
    told = document_of(report(subject, WantedAudit(), SystemClock()))
    told["subject"] = DOTTED
    told["risks"] |= {"sample": DOTTED, "sample_people": MANY, "sample_left_out": MANY, "holds": False}
    told["holds"] = told["audit"]["clean"] = False
    counts = {str(reason): MANY for reason in Suppression}
    rejected = {reason.label: MANY for reason in Reason}
    told["records"] |= {"in": MANY, "suppressed": MANY, "counterfeits": MANY, "suppressed_by_reason": counts}
    told["records"] |= {"rejected_by_reason": rejected}
    told["classes"] |= {"windows": MANY}
    told["shields"] = [{"attributes": list(NAMES), "asked": MANY, "achieved": MANY, "windows": MANY - 1}]
    told["presence"] = {"asked": 0.123456, "achieved": 0.123456, "people": MANY, "windows": MANY - 1}
    told["risks"]["after"].append(told["risks"]["after"][0] | {"attacker": DECEIVED})
    told["cautions"] = [ERROR, DOTTED]
    told["returning"] = {"most": 65_535, "period": 366 * 86_400.0, "suppressed": MANY}
    often = [{"releases": MANY - 1, "people": MANY}, {"releases": MANY, "people": MANY}]
    period = {"from": "2026-10-01T00:00:00Z", "to": "2027-10-02T00:00:00Z", "keys": 2, "people": often}
    told["returning"]["releases"] = {"periods": [period, period], "unread": None}
    told["fields"][-1]["formerly"] = ["quasi-identifier: generalized to ranges that occur, from level 1"] * 3
    found = told["loss"]["over_time"][0]
    first = dt.datetime(2026, 10, 1, tzinfo=dt.UTC)
    told["loss"]["over_time"] = [
        found | {"from": (first + dt.timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ"), "gcp": day % 9 / 8}
        for day in range(90)
    ]
    told["loss"]["stretch_seconds"] = 86_400
    period = told["audit"]["policies"][0]
    change = {"weaker": [ERROR, ERROR], "stronger": [LABEL]}
    told["audit"]["policies"] = [period, period | {"change": change}]
    violation = {"batch": "f" * 64, "text": max((kind.value for kind in Kind), key=len), "count": MANY}
    told["audit"]["violations"] = [violation, violation]
    told["audit"]["accepted"] = {"attribute-missing": MANY}
    told["audit"]["counts"] |= {"lost": MANY, "signed": MANY}
    told["audit"]["removed"] |= {"records": MANY, "uncertified": MANY, "gaps": MANY, "chains": MANY}
    told["audit"]["more"] = MANY
    told["audit"]["signers"] = [{"key": "sha256:" + "f" * 64, "first": "-", "last": "-", "windows": MANY}]
    share = {"value": 0.123456, "low": 0.1, "high": 0.2}
    attack = {"attack": "homogeneity", "secret": LABEL, "success": share, "control": share, "risk": share}
    told["attacks"] = {"source": DOTTED, "released": MANY, "attacks": [attack | {"answer": ERROR}] * 2}
    return told
