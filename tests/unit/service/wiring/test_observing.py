import io
import json
import math
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from stream_anon.adapters.logs import open_log
from stream_anon.adapters.prometheus.declaring import OTHER
from stream_anon.adapters.prometheus.exposition import exposition
from stream_anon.measures.window_leakage.before import least_told
from stream_anon.ports.schema_news import SchemaChange, UnknownSchemas
from stream_anon.service import events as e
from stream_anon.service.status.status_board import LAST_WINDOWS, StatusBoard
from stream_anon.service.wiring.log_listener import into_log
from stream_anon.service.wiring.metrics.partitions import STOPS
from stream_anon.service.wiring.metrics.work import BUSY
from stream_anon.service.wiring.observing import into_metrics, tell_all
from tests.support.classes import made_up_classes
from tests.support.told_events import EVERY_KIND, PUBLISHED, STARTED


class Observed:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.stream = io.StringIO()
        self.now = 1030.0
        log = open_log(lambda: 0.0, "json", "debug", self.stream)
        self.board = StatusBoard(lambda: self.now)
        self.tell = tell_all(into_metrics(self.registry), into_log(log, lambda: self.now), self.board)

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"stream_anon_{name}", labels)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    @property
    def page(self) -> dict[str, Any]:
        page: dict[str, Any] = json.loads(json.dumps(self.board.status()))
        return page


@pytest.fixture
def observed() -> Observed:
    return Observed()


def test_every_kind_of_event_is_in_these_tests() -> None:
    kinds = {kind.__name__ for kind in e.Event.__subclasses__()}
    assert {type(event).__name__ for event in EVERY_KIND} == kinds == set(e.__all__) & kinds


def test_every_kind_of_event_shows_somewhere(observed: Observed) -> None:
    for event in EVERY_KIND:
        before = observed.stream.getvalue(), exposition(observed.registry), observed.board.status()
        observed.tell(event)
        assert before != (observed.stream.getvalue(), exposition(observed.registry), observed.board.status()), event


def test_every_label_of_the_events_is_known_to_the_metrics(observed: Observed) -> None:
    for reason in STOPS:
        observed.tell(e.PartitionStopped(("people", 3), reason, ""))
        assert observed.value("partitions_stopped_total", reason=reason) == 1
    for event in EVERY_KIND:
        observed.tell(event)

    assert all(
        sample.value == 0
        for family in observed.registry.collect()
        for sample in family.samples
        if OTHER in sample.labels.values() and not sample.name.endswith("_created")
    )


def test_the_delay_counts_from_arrival(observed: Observed) -> None:
    observed.tell(STARTED)
    observed.tell(PUBLISHED)

    assert observed.value("delay_seconds_sum") == 60 * 30.0 + 30 * 20.0
    assert observed.value("delay_seconds_count") == 90
    assert observed.value("end_to_end_delay_seconds_sum") == 50.0
    assert observed.value("close_duration_seconds_sum") == 0.02
    assert observed.value("publish_duration_seconds_sum") == 0.04
    assert observed.value("commit_duration_seconds_sum") == 0.03
    assert observed.value("gate_duration_seconds_count") == 1
    assert observed.value("attribute_information_loss_total", attribute="city") == 50  # 80 at a half, 10 suppressed
    assert observed.value("windows_overdue_total") == 0
    assert observed.value("records_suppressed_total", reason="unplaced") == 10


def test_every_stage_counts_the_seconds_that_it_took(observed: Observed) -> None:
    observed.tell(e.RecordsConsumed(10, 0.25, 0.125))
    observed.tell(e.RecordsConsumed(10, 0.25, 0.125))
    observed.tell(replace(PUBLISHED, durations=e.Durations(0.5, 0.25, 2.0, 0.5, gate=0.125)))
    observed.tell(e.WindowAudited("00ff", "passed", (), 0.0625))
    observed.tell(e.WindowAudited("00ff", "skipped"))
    observed.tell(e.WindowMeasured((("city", 0.31, 0.12),), 0.03125))
    observed.tell(e.WindowStudied(0.015625))

    busy = {stage: observed.value("busy_seconds_total", stage=stage) for stage in BUSY}
    assert busy == {
        "decode": 0.5,
        "window": 0.25,
        "partition": 0.375,
        "gate": 0.125,
        "encode": 0.25,
        "publish": 2.0,
        "audit": 0.0625,
        "leakage": 0.03125,
        "study": 0.015625,
    }


def test_how_full_a_window_was_counts_admitted_records_only(observed: Observed) -> None:
    observed.tell(replace(STARTED, max_records=200))
    observed.tell(PUBLISHED)  # 80 released, 10 suppressed, 10 rejected
    assert observed.value("window_fill_ratio_sum") == 0.45

    # What exceeds a person's limit takes no room in the window, however much it is.
    observed.tell(replace(PUBLISHED, suppressed={"unplaced": 10, "over-limit": 5000}))
    assert observed.value("window_fill_ratio_sum") == 0.9
    assert observed.value("window_fill_ratio_count") == 2


def test_a_policy_that_holds_windows_says_so(observed: Observed) -> None:
    observed.tell(STARTED)
    assert observed.value("policy_holds") == 0
    observed.tell(replace(STARTED, holds=True))
    assert observed.value("policy_holds") == 1


def test_missing_values_are_shown_by_attribute(observed: Observed) -> None:
    observed.tell(STARTED)
    observed.tell(PUBLISHED)

    assert observed.value("records_missing_total", attribute="note") == 45
    assert observed.value("records_missing_total", attribute="city") == 0
    assert observed.page["records"]["missing"] == {"note": 45}


def test_a_window_of_dead_letters_only_is_told(observed: Observed) -> None:
    event = replace(
        PUBLISHED,
        released=0,
        suppressed={},
        classes=made_up_classes([]),
        achieved_k=None,
        gcp=None,
        arrivals=(),
        readings=e.Readings(),
    )
    observed.tell(event)

    assert observed.value("delay_seconds_count") == 0
    assert observed.lines[0]["achieved_k"] is None
    assert observed.page["last_windows"][0]["gcp"] is None


def test_a_window_makes_one_line(observed: Observed) -> None:
    for _ in range(50):
        observed.tell(e.RecordsConsumed(2))
        observed.tell(e.WindowProgress(2, 1.0, 2.0, False, False, None))
    observed.tell(e.TransactionEnded(e.Outcome.COMMITTED))
    observed.tell(PUBLISHED)

    (line,) = observed.lines
    assert line["event"] == "window-published"
    assert (line["records_in"], line["released"], line["suppressed"]) == (100, 80, {"unplaced": 10})
    assert (line["achieved_k"], line["loss"], line["classes"], line["age"]) == (11, 0.25, 2, 29.0)
    assert "achieved_shields" not in line


def test_the_line_of_a_window_says_what_shields_reached(observed: Observed) -> None:
    observed.tell(replace(PUBLISHED, achieved_shields=(50, 61)))
    assert observed.lines[0]["achieved_shields"] == [50, 61]


def test_a_gate_violation_is_an_error_a_warning_and_a_count(observed: Observed) -> None:
    observed.tell(replace(PUBLISHED, gate_violations=3))

    assert [line["level"] for line in observed.lines] == ["info", "error"]
    assert any("3 classes" in warning for warning in observed.page["warnings"])
    assert observed.value("gate_violations_total") == 3


def test_a_window_that_suppresses_more_than_is_allowed_is_counted_and_told_with_its_reasons(
    observed: Observed,
) -> None:
    observed.tell(PUBLISHED)
    assert observed.value("windows_above_max_suppressed_total") == 0
    observed.tell(replace(PUBLISHED, above_max_suppressed=True))

    assert observed.value("windows_above_max_suppressed_total") == 1
    line = observed.lines[-1]
    assert (line["event"], line["level"]) == ("suppressed-too-many", "warning")
    assert (line["batch"], line["suppressed"]) == (PUBLISHED.batch, {"unplaced": 10})


def test_what_a_window_leaks_is_shown_by_attribute_before_and_after_its_release(observed: Observed) -> None:
    observed.tell(replace(STARTED, attributes=("age", "city")))
    assert observed.value("information_leakage_ratio", attribute="city", stage="after") is None
    assert observed.page["leakage"] == {}
    service = observed.page["service"]
    assert isinstance(service, dict)
    assert service["leakage_needs"] == least_told(2, STARTED.max_records), "the page says so while it is not told"
    observed.tell(e.WindowMeasured((("age", None, 0.1), ("city", None, 0.12)), 0.01))
    assert observed.value("information_leakage_ratio", attribute="city", stage="before") is None
    assert observed.value("information_leakage_ratio", attribute="city", stage="after") == 0.12
    assert list(observed.page["leakage"].items()) == [
        ("city", {"before": None, "after": 0.12}),
        ("age", {"before": None, "after": 0.1}),
    ]
    observed.tell(e.WindowMeasured((("age", 0.38, 0.1), ("city", 0.31, 0.12)), 0.01))

    assert observed.value("information_leakage_ratio", attribute="city", stage="before") == 0.31
    assert observed.value("information_leakage_ratio", attribute="city", stage="after") == 0.12
    assert list(observed.page["leakage"].items()) == [
        ("city", {"before": 0.31, "after": 0.12}),
        ("age", {"before": 0.38, "after": 0.1}),
    ]
    assert {line["event"] for line in observed.lines} == {"started", "at-least-once"}, "no line a measurement"


def test_a_measurement_that_broke_off_is_an_error_and_leaves_the_last_figures(observed: Observed) -> None:
    observed.tell(replace(STARTED, attributes=("city",)))
    observed.tell(e.WindowMeasured((("city", 0.31, 0.12),), 0.01))
    observed.tell(e.WindowMeasured((), 0.01))

    assert observed.lines[-1]["event"] == "leakage-unmeasured"
    assert observed.page["leakage"] == {"city": {"before": 0.31, "after": 0.12}}
    assert observed.value("information_leakage_ratio", attribute="city", stage="after") == 0.12


def test_a_thousand_partitions_make_a_short_line(observed: Observed) -> None:
    places = tuple(("people", i) for i in range(1000))
    observed.tell(e.TakeoverStarted(places))
    observed.tell(e.TakeoverDone(tuple((t, p, 0) for t, p in places), 1, 0, 0, 0, places, (), 1000, 1, 1.0))

    assert all(len(json.dumps(line)) < 600 for line in observed.lines)
    assert observed.lines[0]["partitions"] == 1000


def test_readiness_is_told_when_the_worker_is_ready(observed: Observed) -> None:
    assert observed.board.readiness() == (False, "starting")
    observed.tell(e.KernelsCompiling())
    assert observed.board.readiness() == (False, "compiling kernels; this takes a minute or two")
    observed.tell(e.KernelsCompiled(85.0))
    assert observed.board.readiness() == (False, "starting")
    observed.tell(e.ReadinessChanged(True))
    assert observed.board.readiness() == (True, "")
    observed.tell(e.ReadinessChanged(False, "the broker is away"))
    assert observed.board.readiness() == (False, "the broker is away")
    observed.tell(e.ReadinessChanged(True))
    observed.tell(e.WorkerStopping("SIGTERM"))
    assert observed.board.readiness() == (False, "stopping")
    assert observed.value("ready") == 0


def test_records_dated_ahead_of_our_clock_are_told_until_a_window_has_none(observed: Observed) -> None:
    observed.tell(replace(PUBLISHED, wall=1_700_000_004.0))
    assert observed.value("input_ahead_seconds") == 6.0
    observed.tell(PUBLISHED)
    assert observed.value("input_ahead_seconds") == 0.0
    observed.tell(replace(PUBLISHED, readings=e.Readings()))
    assert observed.value("input_ahead_seconds") == 0.0


def test_each_direction_in_which_a_clock_was_set_has_a_line_and_a_count(observed: Observed) -> None:
    observed.tell(e.ClockSet(7200.0))
    observed.tell(e.ClockSet(-7199.5))

    told = [(line["event"], line["level"], line["seconds"]) for line in observed.lines]
    assert told == [("clock-set-ahead", "warning", 7200.0), ("clock-set-back", "warning", 7199.5)]
    assert [observed.value("clock_steps_total", direction=way) for way in ("ahead", "back")] == [1, 1]


def test_records_whose_times_are_refused_are_an_outage_of_their_own(observed: Observed) -> None:
    observed.tell(e.BrokerAway(e.Away.DATING, "people.out: the clock"))

    assert observed.value("broker_outages_total", activity="dating") == 1
    assert observed.value("broker_outages_total", activity="publishing") == 0


def test_a_pause_is_told_with_its_end_and_a_stop_that_forgets_it_is_told_too(observed: Observed) -> None:
    observed.tell(e.ReadinessChanged(True, ""))
    observed.tell(e.ReadingOrdered(True, 1_700_000_000.9))
    assert observed.value("paused") == 1
    assert observed.board.readiness() == (
        True,
        "PAUSED by an operator: nothing more is read until 2023-11-14 22:13:20 UTC",
    )
    observed.tell(e.ReadingOrdered(False, expired=True))
    assert (observed.value("paused"), observed.board.readiness()) == (0, (True, ""))
    observed.tell(e.ReadingOrdered(True))
    assert observed.page["warnings"] == ["PAUSED by an operator: nothing more is read until `stream-anon resume`"]
    observed.tell(e.WorkerStopping("asked to", forgets_pause=True))

    told = [(line["event"], line.get("until", line.get("by"))) for line in observed.lines[1:]]
    assert told == [
        ("paused", "2023-11-14 22:13:20 UTC"),
        ("resumed", "time"),
        ("paused", "`stream-anon resume`"),
        ("stopping", None),
        ("pause-forgotten", None),
    ]


def test_the_page_is_complete_before_anything_happened(observed: Observed) -> None:
    assert observed.page["service"] is None
    assert observed.page["open_window"] is None
    assert observed.page["warnings"] == []


def test_the_page_shows_count_and_age_only_of_an_open_window(observed: Observed) -> None:
    observed.tell(e.WindowProgress(90, 1000.0, 1002.0, False, True, 12))

    assert observed.page["open_window"] == {
        "records": 90,
        "age_seconds": 30.0,
        "another_is_closing": False,
        "reading_is_paused": True,
    }
    assert observed.page["records"]["not_read_yet"] == 12


def test_another_cause_is_told_and_counts_as_the_same_outage(observed: Observed) -> None:
    observed.tell(e.BrokerAway(e.Away.STARTING, "KafkaConnectionError"))
    observed.tell(e.BrokerAway(e.Away.CONSUMING, "no answer"))
    observed.tell(e.BrokerAway(e.Away.STARTING, "people.out: does not exist", again=True))

    assert observed.value("broker_outages_total", activity="starting") == 1
    assert [line["error"] for line in observed.lines][-1] == "people.out: does not exist"
    observed.tell(e.BrokerBack(e.Away.CONSUMING, 1.0, 1))
    (warning,) = observed.page["warnings"]
    assert warning.endswith("people.out: does not exist")


def test_offsets_without_a_ledger_are_an_error_and_a_warning(observed: Observed) -> None:
    taken = e.TakeoverDone((("people", 0, 5),), 3, 0, 0, 0, (), (), 1, 1, 0.1, (("people", 0),))
    observed.tell(taken)

    assert [line["level"] for line in observed.lines] == ["info", "error"]
    assert observed.lines[1]["event"] == "ledger-entry-missing"
    assert observed.lines[1]["places"] == ["people-0"]
    assert any("the ledger does not know" in warning for warning in observed.page["warnings"])
    assert observed.value("partitions_without_entry_total") == 1


def test_the_page_names_the_attribute_at_fault_of_dead_letters(observed: Observed) -> None:
    observed.tell(replace(STARTED, declared=("person", "city")))
    faults = {("missing", 1): 4, ("missing", 0): 1, ("malformed", -1): 5}
    observed.tell(replace(PUBLISHED, faults=faults))
    observed.tell(replace(PUBLISHED, faults=faults))

    assert observed.page["records"]["rejected_by_attribute"] == {
        "missing (city)": 8,
        "missing (person)": 2,
        "malformed": 10,
    }


def test_ignored_records_are_told_by_reason_and_are_no_dead_letters(observed: Observed) -> None:
    observed.tell(STARTED)
    observed.tell(replace(PUBLISHED, records_in=103, ignored={"deleted": 2, "tombstone": 1}))
    observed.tell(PUBLISHED)

    assert observed.value("records_ignored_total", reason="deleted") == 2
    assert observed.value("records_ignored_total", reason="heartbeat") == 0
    assert observed.value("dead_letters_total", reason="missing") == 20
    assert observed.value("dead_letters_total", reason="other") == 0
    published = [line for line in observed.lines if line["event"] == "window-published"]
    assert [line.get("ignored") for line in published] == [{"deleted": 2, "tombstone": 1}, None]
    assert observed.page["records"]["ignored"] == {"deleted": 2, "tombstone": 1}
    assert observed.page["records"]["rejected"] == {"missing": 20}


def test_the_time_that_one_record_took_to_read_does_not_show(observed: Observed) -> None:
    """It would tell the record's length, and how it was read."""
    for stage in ("decode", "window"):
        assert observed.value("busy_seconds_total", stage=stage) == 0
    seen = []
    for seconds in (0.0001, 0.02):
        observed.tell(e.RecordsConsumed(1, seconds, seconds))
        seen.append([observed.value("busy_seconds_total", stage=stage) for stage in ("decode", "window")])
    assert seen == [[0, 0], [0, 0]]
    for _ in range(1000):
        observed.tell(e.RecordsConsumed(1, 0.001, 0.002))
    assert observed.value("busy_seconds_total", stage="decode") == 1.0
    assert observed.value("busy_seconds_total", stage="window") == 2.0


def test_the_page_says_how_many_records_were_read_again_or_moved_away(observed: Observed) -> None:
    observed.tell(e.PartitionsRevoked((("people", 1),), 7, 2))
    observed.tell(e.TakeoverDone((("people", 0, 5),), 3, 0, 12, 30, (), (), 1, 1, 0.1))

    records = observed.page["records"]
    assert (records["moved_away"], records["read_again"]) == (7, 30)


def test_the_page_keeps_the_last_minute_of_the_flow_and_no_more(observed: Observed) -> None:
    for second in range(1000):
        observed.now = 2000.0 + second
        observed.tell(e.RecordsConsumed(second))
        observed.tell(e.RecordsConsumed(1))
    observed.tell(PUBLISHED)
    assert observed.page["flow"] == {"read": [second + 1 for second in range(939, 999)], "released": [0] * 60}

    observed.now += 1.5
    assert observed.page["flow"]["read"][-2:] == [999, 1000]
    assert observed.page["flow"]["released"][-2:] == [0, 80]
    observed.now += 59
    assert observed.page["flow"]["read"] == [1000] + [0] * 59
    observed.now += 1000
    assert sum(observed.page["flow"]["read"]) == 0


def test_half_empty_windows_give_a_hint_and_full_ones_do_not(observed: Observed) -> None:
    observed.tell(replace(STARTED, max_records=300))
    for _ in range(4):
        observed.tell(PUBLISHED)
    assert observed.page["hints"] == [], "too few to judge"
    observed.tell(PUBLISHED)
    assert observed.page["hints"] == [
        "windows close at 30% of max_records: fewer workers or a longer max_delay lose less information"
    ]
    for _ in range(LAST_WINDOWS):
        observed.tell(replace(PUBLISHED, released=250))
    assert observed.page["hints"] == []


def test_the_loss_of_each_attribute_counts_suppressed_records_in_full(observed: Observed) -> None:
    observed.tell(STARTED)
    observed.tell(PUBLISHED)  # 80 released at a half, 10 suppressed
    assert observed.page["last_release"]["attribute_losses"] == {"city": round(50 / 90, 4)}


def test_the_page_keeps_track_of_partitions(observed: Observed) -> None:
    observed.tell(e.TakeoverDone((("people", 10, 5), ("people", 2, 9)), 3, 0, 0, 0, (), (), 2, 1, 0.1))
    observed.tell(e.PartitionStopped(("people", 3), "rewound", "why"))
    assert observed.page["partitions"] == {
        "owned": 3,
        "places": ["people-2", "people-3", "people-10"],
        "stopped": [{"place": "people-3", "reason": "rewound", "explanation": "why"}],
    }

    observed.tell(e.PartitionsRevoked((("people", 3), ("people", 10)), 0, 1))
    assert observed.page["partitions"] == {"owned": 1, "places": ["people-2"], "stopped": []}


def test_the_page_counts_every_window_and_keeps_the_last_ones(observed: Observed) -> None:
    for i in range(50):
        observed.tell(replace(PUBLISHED, batch=str(i)))

    page = observed.page
    assert [window["batch"] for window in page["last_windows"]] == [str(49 - i) for i in range(LAST_WINDOWS)]
    assert page["windows"] == 50
    assert page["records"]["released"] == 4000
    assert page["last_windows"][0]["published"] == "2023-11-14T22:13:50Z"


def test_a_warning_comes_and_goes_with_its_cause(observed: Observed) -> None:
    observed.tell(STARTED)
    assert [w.split(":")[0] for w in observed.page["warnings"]] == ["delivery is at-least-once"]

    observed.tell(e.BrokerAway(e.Away.CONSUMING, "x"))
    observed.tell(e.WindowProgress(1, 900.0, 1000.0, False, False, None))
    words = " ".join(observed.page["warnings"])
    assert "broker cannot be reached or refuses (while consuming): x" in words
    assert "older than max_delay" in words

    observed.tell(e.BrokerBack(e.Away.CONSUMING, 1.0, 1))
    observed.tell(e.WindowProgress(0, None, 1000.0, False, False, None))
    assert len(observed.page["warnings"]) == 1


def test_a_stranger_in_the_group_is_logged_and_warned_of_while_it_is_there(observed: Observed) -> None:
    observed.tell(e.GroupSeen({"people": 4}, shared=False))
    assert observed.lines == []
    observed.tell(e.GroupSeen({"people": 4}, shared=True))
    assert [(line["event"], line["level"]) for line in observed.lines] == [("group-shared", "warning")]
    assert "no worker is a member" in " ".join(observed.page["warnings"])
    observed.tell(e.GroupSeen({"people": 4}, shared=False))
    assert observed.page["warnings"] == []


def test_who_reads_and_who_stands_by_is_logged_and_shown(observed: Observed) -> None:
    assert observed.page["load"] == {"members": 0, "carriers": 0, "busy": None}
    observed.tell(e.GroupPacked(3, 1))
    observed.tell(e.WindowProgress(0, None, 1000.0, False, False, None, busy=0.25))
    assert [(line["event"], line["members"], line["carriers"]) for line in observed.lines] == [("packed", 3, 1)]
    assert (observed.value("workers_with_partitions"), observed.value("busy_ratio")) == (1, 0.25)
    assert observed.page["load"] == {"members": 3, "carriers": 1, "busy": 0.25}
    observed.tell(e.GroupPacked(0, 0))
    assert observed.lines[-1]["event"] == "spread"
    assert observed.value("workers_with_partitions") == 0


def test_what_was_lost_is_logged_when_it_is_met_and_counted_with_its_window(observed: Observed) -> None:
    observed.tell(e.InputSkipped(("people", 0), 10, 25))
    assert [(line["event"], line["start"], line["end"]) for line in observed.lines] == [("input-lost", 10, 25)]
    assert (observed.value("input_lost_records_total"), observed.page["records"]["lost_before_reading"]) == (0, 0)
    observed.tell(replace(PUBLISHED, lost=(("people", 0, 10, 25), ("people", 1, 3, 4))))
    assert (observed.value("input_lost_records_total"), observed.page["records"]["lost_before_reading"]) == (16, 16)


def test_a_group_that_cannot_be_watched_is_logged_once_and_warned_of(observed: Observed) -> None:
    for partitions in (4, 5):
        observed.tell(e.GroupSeen({"people": partitions}, shared=False, unwatched=True))
    assert [(line["event"], line["level"]) for line in observed.lines] == [("group-unwatched", "warning")]
    assert "may not ask who the members" in " ".join(observed.page["warnings"])
    observed.tell(e.GroupSeen({"people": 5}, shared=False))
    assert observed.page["warnings"] == []


def test_records_that_are_read_one_by_one_are_counted_and_named_at_the_start(observed: Observed) -> None:
    observed.tell(e.ReadingSlowly(("a.b.c",)))
    observed.tell(replace(PUBLISHED, readings=e.Readings(singly=3, coerced=7)))
    observed.tell(replace(PUBLISHED, readings=e.Readings(singly=1)))

    assert observed.value("records_read_singly_total") == 4
    assert observed.value("values_coerced_total") == 7
    line = observed.lines[0]
    assert (line["event"], line["level"], line["attributes"]) == ("slow-reading", "warning", ["a.b.c"])


def test_of_many_schemas_that_changed_ten_a_minute_are_told_and_the_rest_is_counted() -> None:
    seen = Observed()
    for number in range(30):
        seen.tell(e.SchemaSeen(SchemaChange(str(number), lacking=("city",))))
    assert [line["schema"] for line in seen.lines] == [str(number) for number in range(10)]
    seen.now += 60
    seen.tell(e.SchemaSeen(SchemaChange("30", lacking=("city",))))
    assert (seen.lines[-1]["schema"], seen.lines[-1]["untold"]) == ("30", 20)
    assert seen.value("schema_changes_total", change="lacking") == 31


def test_of_many_reading_faults_ten_a_minute_are_told_and_all_are_counted() -> None:
    seen = Observed()
    for offset in range(30):
        seen.tell(e.ReadingFault(("people", 1), offset))
    assert [line["start"] for line in seen.lines] == [*range(10)]
    seen.now += 60
    seen.tell(e.ReadingFault(("people", 1), 30))
    line = seen.lines[-1]
    assert (line["event"], line["level"], line["partition"], line["untold"]) == ("reading-fault", "error", 1, 20)
    assert seen.value("reading_faults_total") == 31


def test_unknown_schemas_are_told_by_their_ids() -> None:
    seen = Observed()
    seen.tell(e.SchemasUnknown(UnknownSchemas(("8", "9"), 3, 4)))
    line = seen.lines[-1]
    assert (line["event"], line["schemas"], line["others"], line["unasked"]) == ("schema-unknown", ["8", "9"], 3, 4)


def test_a_field_that_vanishes_in_mid_stream_is_logged_once_and_when_it_is_back(observed: Observed) -> None:
    observed.tell(replace(STARTED, published=("city", "note", "extra"), accept_missing=("extra",)))
    for missing in ({}, {"note": 90, "extra": 90}, {"note": 90}, {"note": 89}, {}):
        observed.tell(replace(PUBLISHED, missing=missing))
    told = [line for line in observed.lines if line["event"].startswith("attribute-")]
    assert [(line["event"], line["level"], line["attributes"]) for line in told] == [
        ("attribute-vanished", "warning", ["note"]),
        ("attribute-back", "info", ["note"]),
    ]


def test_sizes_that_were_learned_are_shown_beside_the_target(observed: Observed) -> None:
    names = ("window_target_records", "window_delay_records", "window_limit_records", "policy_target_loss_ratio")
    observed.tell(replace(STARTED, target_loss=0.1))
    assert [observed.value(name) for name in names] == [0, 0, 100, 0.1]
    observed.tell(e.SizesLearned(3163, 20_000, 3163, 10_000))
    assert [observed.value(name) for name in names] == [3163, 20_000, 3163, 0.1]
    assert observed.board.status()["hints"] == [
        "a window needs 3,163 records for a loss of 10%, 20,000 come within max_delay, and windows close at 3,163"
    ]
    observed.tell(e.SizesLearned(30_000, 20_000, 100, 100))
    (hint,) = observed.board.status()["hints"]
    assert hint.endswith("a longer max_delay, fewer workers or a higher target_loss would do")


def test_the_end_of_a_release_is_a_metric_and_infinite_where_none_is_stated(observed: Observed) -> None:
    name, label = "release_end_timestamp_seconds", STARTED.policy
    # A worker that has not started, and a shadow, would hide that another one's release has expired.
    assert observed.value(name, policy=label) is None
    observed.tell(replace(STARTED, delivery="shadow"))
    assert observed.value(name, policy=label) is None
    observed.tell(replace(STARTED, release_ends=1_806_537_600.0))
    assert observed.value(name, policy=label) == 1_806_537_600.0
    observed.tell(STARTED)
    assert observed.value(name, policy=label) == math.inf
