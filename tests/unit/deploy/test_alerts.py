"""Each alert fires where it must and is silent right beside that; `promtool test rules` judges."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from stream_anon.adapters.prometheus.audit_file import AuditFigures, write_audit_file
from stream_anon.adapters.prometheus.exposition import exposition
from stream_anon.adapters.prometheus.fleet_metrics import FleetMetrics
from stream_anon.service.wiring.metrics.records import REJECTIONS, SUPPRESSIONS
from stream_anon.service.wiring.metrics.worker import NOT_READY
from stream_anon.service.wiring.observing import into_metrics
from tests.support.alert_cases import ALERTS, RULES, Case, judge
from tests.support.data import ROOT
from tests.support.promtool import run_promtool
from tests.support.told_events import EVERY_KIND

FOLDER = RULES.parent
HEADINGS = ("What it means", "Look at", "Do", "Do not")


NIGHT = 180  # minutes
RESTARTS = "kube_pod_container_status_restarts_total"


def _morning(delay: int) -> dict[str, str]:
    """Return the series of a service to which nothing comes for a night, and much after; `delay` is in minutes."""
    day = range(120)
    series = {
        "windows_published_total": [5] * NIGHT + [5 + minute // delay for minute in day],
        "records_consumed_total": [1000] * NIGHT + [1000 + 500 * minute for minute in day],
        "consumer_lag_records": [0] * NIGHT + [3 for minute in day],
        "window_oldest_age_seconds": [0] * NIGHT + [minute % delay * 60 for minute in day],
        "window_closing": [0] * NIGHT + [int(minute % delay == 0) for minute in day],
        "policy_max_delay_seconds": [delay * 60] * (NIGHT + 120),
        "policy_delay_budget_seconds": [delay * 75] * (NIGHT + 120),
    }
    return {f'{name}{{job="{delay}"}}': " ".join(map(str, values)) for name, values in series.items()}


def _rolling(job: str, overlap: int) -> dict[str, str]:
    """Return the series of 20 workers with a partition each, of which one is replaced each minute from 10 on.

    The next one shows the partition with the last sample of the one before (1), with its end (0) or later (-1).
    """
    series = {f'input_partitions{{job="{job}", instance="n0", topic="t"}}': "_x10 20x60"}
    for number in range(20):
        ends, begins = 10 + number, 11 + number - overlap
        for name, values in ((f"o{number}", f"1x{ends} stale"), (f"n{number}", f"_x{begins} 1x60")):
            labels = f'{{job="{job}", instance="{name}"}}'
            series |= {f"partitions_owned{labels}": values, f"ready{labels}": values}
    return series


def _group(
    job: str, *, paused: str, standby: str = "0x90", carriers: str = "1x90", ready: str = "1x90"
) -> dict[str, str]:
    """Return the series of a worker that reads, and of one that stands by."""
    reads, stands_by = (f'{{job="{job}", instance="{job}-{name}"}}' for name in "ab")
    return {
        f"consumer_paused{reads}": paused * 90,
        f"consumer_paused{stands_by}": "0x90",
        f"partitions_owned{reads}": "4x90",
        f"partitions_owned{stands_by}": standby,
        f"workers_with_partitions{stands_by}": carriers,
        f"ready{stands_by}": ready,
    }


CASES = (
    Case(
        "StreamAnonGateViolation",
        {
            'gate_violations_total{instance="grows"}': "0x10 1x120",
            'gate_violations_total{instance="sound"}': "0x130",
            'gate_violations_total{instance="born-so"}': "_x5 2x125",
            # It is published, and has an alert of its own that does not say "nothing was".
            'windows_below_k_total{instance="below"}': "0x10 1x120",
        },
        {"4m": (), "12m": ("born-so", "grows"), "90m": ()},
        by="instance",
    ),
    Case(
        "StreamAnonWindowBelowK",
        {
            'windows_below_k_total{instance="grows"}': "0x10 1x120",
            'windows_below_k_total{instance="sound"}': "0x130",
            'windows_below_k_total{instance="born-so"}': "_x5 2x125",
            'gate_violations_total{instance="kept-back"}': "0x10 1x120",
        },
        {"4m": (), "12m": ("born-so", "grows"), "90m": ()},
        by="instance",
    ),
    Case(
        "StreamAnonMaxSuppressed",
        {
            'windows_above_max_suppressed_total{instance="grows"}': "0x10 1x120",
            'windows_above_max_suppressed_total{instance="sound"}': "0x130",
            'windows_above_max_suppressed_total{instance="born-so"}': "_x5 2x125",
            # Suppression alone is no breach of a bound.
            'records_suppressed_total{instance="other", reason="unplaced"}': "0+9x130",
        },
        {"4m": (), "12m": ("born-so", "grows"), "90m": ()},
        by="instance",
    ),
    Case(
        "StreamAnonLeakageHigh",
        {
            'information_leakage_ratio{job="much", instance="a", attribute="zip", stage="after"}': "_x5 0.55x90",
            'information_leakage_ratio{job="much", instance="b", attribute="zip", stage="after"}': "0.2x95",
            'information_leakage_ratio{job="half", attribute="zip", stage="after"}': "0.5x95",
            # What the true values leak is what the release is for.
            'information_leakage_ratio{job="before", attribute="zip", stage="before"}': "0.9x95",
            # Noise, and a window that was out of the ordinary.
            'information_leakage_ratio{job="noisy", attribute="zip", stage="after"}': "0.49 0.47 0.52x2 0.4"
            + " 0.52 0.45x2" * 30,
            'information_leakage_ratio{job="once", attribute="zip", stage="after"}': "0.2x30 0.9 0.2x60",
        },
        {"19m": (), "22m": ("much",), "60m": ("much",), "90m": ("much",)},
    ),
    Case(
        "StreamAnonAuditFailed",
        {
            'windows_audited_total{instance="a", result="failed"}': "0x10 1x120",
            'windows_audited_total{instance="b", result="failed"}': "_x10 1x120",
            'windows_audited_total{instance="c", result="passed"}': "0+9x130",
        },
        {"9m": (), "13m": ("a", "b"), "120m": ()},
        by="instance",
    ),
    Case(
        "StreamAnonDailyAuditFailed",
        {
            'audit_success{job="node", instance="a", subject="bad"}': "1x10 0x20",
            'audit_last_run_timestamp_seconds{job="node", instance="a", subject="bad"}': "0x10 600x20",
            'audit_success{job="node", instance="a", subject="good"}': "1x30",
            'audit_last_run_timestamp_seconds{job="node", instance="a", subject="good"}': "0x30",
            # It failed on one node, and the audit that came after it, on another node, did not.
            'audit_success{job="node", instance="a", subject="mended"}': "0x30",
            'audit_last_run_timestamp_seconds{job="node", instance="a", subject="mended"}': "0x30",
            'audit_success{job="node", instance="b", subject="mended"}': "_x12 1x18",
            'audit_last_run_timestamp_seconds{job="node", instance="b", subject="mended"}': "_x12 720x18",
            # The other way round.
            'audit_success{job="node", instance="a", subject="broken"}': "1x30",
            'audit_last_run_timestamp_seconds{job="node", instance="a", subject="broken"}': "0x30",
            'audit_success{job="node", instance="b", subject="broken"}': "_x12 0x18",
            'audit_last_run_timestamp_seconds{job="node", instance="b", subject="broken"}': "_x12 720x18",
            # A namesake in another namespace does not excuse it.
            'audit_success{namespace="x", job="node", instance="c", subject="namesake"}': "0x30",
            'audit_last_run_timestamp_seconds{namespace="x", job="node", instance="c", subject="namesake"}': "0x30",
            'audit_success{namespace="y", job="node", instance="d", subject="namesake"}': "1x30",
            'audit_last_run_timestamp_seconds{namespace="y", job="node", instance="d", subject="namesake"}': "9x30",
        },
        {"9m": ("mended", "namesake"), "20m": ("bad", "broken", "namesake")},
        by="subject",
    ),
    Case(
        "StreamAnonDailyAuditStale",  # a test's time begins at 0; a day has 288 values
        {
            'audit_last_run_timestamp_seconds{instance="a", subject="daily"}': "0x288 86400x288 172800x288",
            'audit_last_run_timestamp_seconds{instance="a", subject="ended"}': "0x1000",
            # From node to node: one file grows old beside a fresh one.
            'audit_last_run_timestamp_seconds{instance="a", subject="moves"}': "0x1000",
            'audit_last_run_timestamp_seconds{instance="b", subject="moves"}': "_x288 86400x288 172800x288",
            # Its node is gone with the file, or it was given up: it ends by itself.
            'audit_last_run_timestamp_seconds{instance="c", subject="gone"}': "0x12 _x1200",
            # A service that nobody has ever audited.
            'ready{job="never", instance="d"}': "1x1200",
        },
        {
            "30m": (),
            "2870m": (),
            "2920m": ("ended", "gone"),
            "4300m": ("ended", "gone"),
            "5900m": ("daily", "ended", "moves"),
        },
        by="subject",
        seconds=300,  # five days by the minute take a hundred times as long
    ),
    Case(
        "StreamAnonSuppressionHigh",
        {
            'records_suppressed_total{job="six", reason="unplaced"}': "0+4x60",
            'records_suppressed_total{job="six", reason="shortfall"}': "0+2x60",
            'records_released_total{job="six"}': "0+94x60",
            'records_suppressed_total{job="four", reason="unplaced"}': "0+4x60",
            'records_released_total{job="four"}': "0+96x60",
        },
        {"10m": (), "50m": ("six",)},
    ),
    Case(
        "StreamAnonAttributeMissing",
        {
            'records_missing_total{job="most", attribute="age"}': "0+60x60",
            'records_missing_total{job="most", attribute="zip"}': "0+1x60",
            'records_released_total{job="most"}': "0+80x60",
            'records_suppressed_total{job="most", reason="gate"}': "0+20x60",
            'records_missing_total{job="half", attribute="age"}': "0+50x60",
            'records_released_total{job="half"}': "0+100x60",
            'records_suppressed_total{job="half", reason="gate"}': "0x60",
            'records_missing_total{job="accepted", attribute="age"}': "0+90x60",
            'policy_accepts_missing{job="accepted", attribute="age"}': "1x60",
            'records_released_total{job="accepted"}': "0+100x60",
            'records_suppressed_total{job="accepted", reason="gate"}': "0x60",
            'records_missing_total{job="rests", attribute="age"}': "90x60",
            'records_released_total{job="rests"}': "100x60",
            'records_suppressed_total{job="rests", reason="gate"}': "0x60",
        },
        {"10m": (), "40m": ("most",)},
    ),
    Case(
        "StreamAnonAttributeAbsent",
        {
            'records_missing_total{job="all", attribute="age"}': "0+100x60",
            'policy_accepts_missing{job="all", attribute="age"}': "0x60",
            'records_released_total{job="all"}': "0+90x60",
            'records_suppressed_total{job="all", reason="gate"}': "0+10x60",
            'records_missing_total{job="nearly", attribute="age"}': "0+99x60",
            'records_released_total{job="nearly"}': "0+100x60",
            'records_suppressed_total{job="nearly", reason="gate"}': "0x60",
            'records_missing_total{job="accepted", attribute="age"}': "0+100x60",
            'policy_accepts_missing{job="accepted", attribute="age"}': "1x60",
            'records_released_total{job="accepted"}': "0+100x60",
            'records_suppressed_total{job="accepted", reason="gate"}': "0x60",
        },
        {"4m": (), "20m": ("all",)},
    ),
    Case(
        "StreamAnonAtLeastOnce",
        {
            'policy_info{job="j", delivery="at-least-once"}': "1x20",
            'policy_info{job="k", delivery="exactly-once"}': "1x20",
        },
        {"3m": (), "10m": ("j",)},
    ),
    Case(  # a fifth is late; 15 % is not enough where it ended, nor 10 % where it lasts
        "StreamAnonDelayBudgetFastBurn",
        {
            'records_over_delay_budget_total{job="burns"}': "0+20x90",
            'delay_seconds_count{job="burns"}': "0+100x90",
            'process_start_time_seconds{job="burns"}': "0x90",
            'records_over_delay_budget_total{job="ended"}': "0+50x60 3000x30",
            'delay_seconds_count{job="ended"}': "0+100x90",
            'process_start_time_seconds{job="ended"}': "0x90",
            'records_over_delay_budget_total{job="less"}': "0+10x90",
            'delay_seconds_count{job="less"}': "0+100x90",
            'process_start_time_seconds{job="less"}': "0x90",
            # A cold start: the first window is late, those after it are not.
            'records_over_delay_budget_total{job="cold"}': "_x60 0x4 300x25",
            'delay_seconds_count{job="cold"}': "_x60 0x4 300x3 300+300x21",
            'process_start_time_seconds{job="cold"}': "_x60 3600x30",
        },
        {"66m": ("burns",), "68m": ("burns",), "70m": ("burns",), "75m": ("burns",), "80m": ("burns",)},
    ),
    Case(
        "StreamAnonDelayBudgetSlowBurn",
        {
            'records_over_delay_budget_total{job="burns"}': "0+8x420",
            'delay_seconds_count{job="burns"}': "0+100x420",
            'process_start_time_seconds{job="burns"}': "0x420",
            'records_over_delay_budget_total{job="within"}': "0+5x420",
            'delay_seconds_count{job="within"}': "0+100x420",
            'process_start_time_seconds{job="within"}': "0x420",
        },
        {"400m": ("burns",)},
    ),
    Case(  # a window a quarter of an hour, the first one late; `asks for it` never was a cold start's
        "StreamAnonDelayBudgetSlowBurn",
        {
            'records_over_delay_budget_total{job="cold"}': "0x15 100x105",
            'delay_seconds_count{job="cold"}': "0x15 100x14 200x14 300x14 400x60",
            'process_start_time_seconds{job="cold"}': "0x120",
        },
        {f"{minute}m": () for minute in range(10, 120, 5)},
        pending=True,
    ),
    Case(
        "StreamAnonEndToEndDelayFastBurn",
        {
            'records_over_end_to_end_budget_total{job="burns"}': "0+20x90",
            'end_to_end_delay_seconds_count{job="burns"}': "0+100x90",
            'records_over_end_to_end_budget_total{job="ended"}': "0+50x60 3000x30",
            'end_to_end_delay_seconds_count{job="ended"}': "0+100x90",
            'records_over_end_to_end_budget_total{job="less"}': "0+10x90",
            'end_to_end_delay_seconds_count{job="less"}': "0+100x90",
        },
        {"66m": ("burns",), "75m": ("burns",), "90m": ("burns",)},
    ),
    Case(  # years of good records do not hide an hour of late ones
        "StreamAnonEndToEndDelayFastBurn",
        {
            'records_over_end_to_end_budget_total{job="burns"}': "0x100 0+100x70",
            'end_to_end_delay_seconds_count{job="burns"}': "1000000+100x171",
        },
        {"90m": (), "165m": ("burns",)},
    ),
    Case(
        "StreamAnonEndToEndDelaySlowBurn",
        {
            'records_over_end_to_end_budget_total{job="burns"}': "0+8x420",
            'end_to_end_delay_seconds_count{job="burns"}': "0+100x420",
            'records_over_end_to_end_budget_total{job="within"}': "0+5x420",
            'end_to_end_delay_seconds_count{job="within"}': "0+100x420",
        },
        {"400m": ("burns",)},
    ),
    Case(
        "StreamAnonStalled",
        {
            # It reads, and its windows do not get old: they are dropped and read again.
            'windows_published_total{job="circle"}': "0+1x20 20x60",
            'records_consumed_total{job="circle"}': "0+50x80",
            'window_oldest_age_seconds{job="circle"}': "5x80",
            'policy_max_delay_seconds{job="circle"}': "30x80",
            'policy_delay_budget_seconds{job="circle"}': "37.5x80",
            # The window that is open gets old, for the one before it does not get out.
            'window_oldest_age_seconds{job="old"}': "20x30 20+60x50",
            'policy_delay_budget_seconds{job="old"}': "37.5x80",
            # Nothing more arrives, and what was sealed last does not get out.
            'window_closing{job="closing"}': "0 1 0x28 1x50",
            'windows_published_total{job="closing"}': "0+1x30 30x50",
            # Busy: there is always one being closed.
            'window_closing{job="busy"}': "1x80",
            'windows_published_total{job="busy"}': "0+9x80",
            # Reads nothing, and something waits.
            'consumer_lag_records{job="stuck"}': "5x80",
            'records_consumed_total{job="stuck"}': "0+50x20 1000x60",
            # The same, and an alert of its own tells why.
            'consumer_lag_records{job="stopped"}': "5x80",
            'records_consumed_total{job="stopped"}': "0+50x20 1000x60",
            'partitions_not_read{job="stopped"}': "1x80",
            'consumer_lag_records{job="paused"}': "5x80",
            'records_consumed_total{job="paused"}': "0+50x20 1000x60",
            'paused{job="paused"}': "0x20 1x10 _ 1x48",
            'windows_published_total{job="quiet"}': "0+1x20 20x60",
            'records_consumed_total{job="quiet"}': "0+50x20 1000x60",
            'consumer_lag_records{job="quiet"}': "0x80",
            'window_oldest_age_seconds{job="quiet"}': "0x80",
            'policy_max_delay_seconds{job="quiet"}': "30x80",
            # Few people come, and the policy says to wait for more.
            'windows_published_total{job="holds"}': "0+1x20 20x60",
            'records_consumed_total{job="holds"}': "0+50x20 1000+1x60",
            'window_oldest_age_seconds{job="holds"}': "0x20 0+60x60",
            'policy_max_delay_seconds{job="holds"}': "30x80",
            'policy_delay_budget_seconds{job="holds"}': "37.5x80",
            'policy_holds{job="holds"}': "1x80",
        },
        {"20m": (), "30m": (), "38m": ("old", "stuck"), "50m": ("circle", "closing", "old", "stuck")},
    ),
    Case(
        "StreamAnonStalled",
        {name: values for minutes in (4, 15, 50) for name, values in _morning(minutes).items()},
        {f"{minute}m": () for minute in (100, *range(NIGHT, NIGHT + 110, 2))},
        pending=True,
    ),
    Case(
        "StreamAnonStalled",
        {
            'windows_published_total{job="slow"}': "0+1x60 60x240",
            'records_consumed_total{job="slow"}': "0+50x300",
            'policy_max_delay_seconds{job="slow"}': "900x300",
            'policy_delay_budget_seconds{job="slow"}': "1125x300",
            'window_oldest_age_seconds{job="slow"}': "5x300",
            # One window an hour is what its policy says.
            'windows_published_total{job="hour"}': "0x60 1x60 2x60 3x60 4x60",
            'records_consumed_total{job="hour"}': "0+50x300",
            'policy_max_delay_seconds{job="hour"}': "3500x300",
            'policy_delay_budget_seconds{job="hour"}': "4375x300",
            'window_oldest_age_seconds{job="hour"}': " ".join(["0+60x58"] * 5),
        },
        {"100m": (), "200m": (), "250m": ("slow",)},
    ),
    Case(
        "StreamAnonDeadLettersHigh",
        {
            'dead_letters_total{job="j", reason="malformed"}': "0+1x60",
            'dead_letters_total{job="j", reason="missing"}': "0+1x60",
            'records_consumed_total{job="j"}': "0+100x60",
            'dead_letters_total{job="k", reason="malformed"}': "0+1x60",
            'records_consumed_total{job="k"}': "0+200x60",
        },
        {"40m": ("j",)},
    ),
    Case(
        "StreamAnonReadingFault",
        {
            'reading_faults_total{instance="one"}': "0x20 1x100",
            'reading_faults_total{instance="started"}': "_x20 1x100",
            'reading_faults_total{instance="none"}': "0x120",
        },
        {"15m": (), "30m": ("one", "started"), "110m": ()},
        by="instance",
    ),
    Case(
        "StreamAnonUnknownSchemas",
        {
            'dead_letters_total{job="emptied", reason="unknown-schema"}': "0+30x60",
            'dead_letters_total{job="emptied", reason="unasked-schema"}': "0+30x60",
            'records_consumed_total{job="emptied"}': "0+100x60",
            'dead_letters_total{job="some", reason="unknown-schema"}': "0+40x60",
            'records_consumed_total{job="some"}': "0+100x60",
            'dead_letters_total{job="others", reason="malformed"}': "0+60x60",
            'records_consumed_total{job="others"}': "0+100x60",
        },
        {"40m": ("emptied",)},
    ),
    Case(
        "StreamAnonSchemaChanged",
        {
            'schema_changes_total{job="lacks", change="lacking"}': "0x20 2x100",
            'schema_changes_total{job="types", change="retyped"}': "0x20 1x100",
            'schema_changes_total{job="grows", change="appeared"}': "0x20 1x100",
            'schema_changes_total{job="born-so", change="retyped"}': "_x20 1x100",
        },
        {"15m": (), "30m": ("born-so", "lacks", "types"), "110m": ()},
    ),
    Case(
        "StreamAnonLagGrowing",
        {
            'consumer_lag_records{job="grows"}': "0+1000x90",
            'policy_max_records{job="grows"}': "10000x90",
            'partitions_owned{job="grows"}': "4x90",
            # A worker that stands by knows of no lag.
            'consumer_lag_records{job="grows", instance="idle"}': " ".join(["NaN"] * 91),
            'consumer_lag_records{job="shrinks"}': "90000-900x90",
            'policy_max_records{job="shrinks"}': "10000x90",
            'partitions_owned{job="shrinks"}': "4x90",
            'consumer_lag_records{job="small"}': "0+10x90",
            'policy_max_records{job="small"}': "10000x90",
            'partitions_owned{job="small"}': "4x90",
            # Six workers of which one reads: two windows of at most 10,000 records are 20,000, not 1,200,000.
            'consumer_lag_records{job="packed", instance="a"}': "0+1000x90",
            **{f'policy_max_records{{job="packed", instance="{n}"}}': "1000000x90" for n in "abcdef"},
            **{f'partitions_owned{{job="packed", instance="{n}"}}': "0x90" for n in "bcdef"},
            'partitions_owned{job="packed", instance="a"}': "4x90",
            # Two that read may have twice as much waiting.
            **{f'consumer_lag_records{{job="two", instance="{n}"}}': "0+300x90" for n in "ab"},
            **{f'policy_max_records{{job="two", instance="{n}"}}': "10000x90" for n in "ab"},
            **{f'partitions_owned{{job="two", instance="{n}"}}': "2x90" for n in "ab"},
        },
        {"15m": (), "60m": ("grows", "packed"), "85m": ("grows", "packed", "two")},
    ),
    Case(
        "StreamAnonStandbyIdle",
        {
            **_group("stuck", paused="1 1 1 0 "),
            **_group("copes", paused="0 0 0 1 "),
            # It has shared them by now.
            **_group("shared", paused="1 ", standby="0x20 2x70"),
            **_group("spreads", paused="1 ", carriers="0x90"),
            **_group("away", paused="1 ", ready="0x90"),
            # Nobody stands by.
            'consumer_paused{job="alone", instance="alone-a"}': "1x90",
            'partitions_owned{job="alone", instance="alone-a"}': "4x90",
        },
        {"14m": (), "40m": ("stuck-a",), "80m": ("stuck-a",)},
        by="instance",
    ),
    Case(
        "StreamAnonIdleWorker",
        {
            'ready{instance="idle"}': "1x60",
            'partitions_owned{instance="idle"}': "0x60",
            'ready{instance="works"}': "1x60",
            'partitions_owned{instance="works"}': "2x60",
            'ready{instance="away"}': "0x60",
            'partitions_owned{instance="away"}': "0x60",
            'ready{instance="packed"}': "1x60",
            'partitions_owned{instance="packed"}': "0x60",
            'workers_with_partitions{instance="packed"}': "1x60",
            'workers_with_partitions{instance="idle"}': "0x60",
        },
        {"20m": (), "40m": ("idle",)},
        by="instance",
    ),
    Case(
        "StreamAnonPartitionsUnowned",
        {
            'input_partitions{job="taken", instance="a", topic="t"}': "4x60",
            'input_partitions{job="taken", instance="b", topic="t"}': "4x60",
            'partitions_owned{job="taken", instance="a"}': "2x60",
            'partitions_owned{job="taken", instance="b"}': "2x10 1x50",
            # Two of a topic are added and stay without an owner; another topic hides nothing.
            'input_partitions{job="added", instance="a", topic="t"}': "4x10 6x50",
            'input_partitions{job="added", instance="a", topic="u"}': "2x60",
            'partitions_owned{job="added", instance="a"}': "6x60",
            'input_partitions{job="sound", instance="a", topic="t"}': "4x10 6x50",
            'partitions_owned{job="sound", instance="a"}': "4x11 6x49",
            # The broker is away, the service was taken away, or it is of a version that does not count the input's.
            'partitions_owned{job="older", instance="a"}': "4x60",
            'input_partitions{job="over", instance="a", topic="t"}': "4x10",
            'partitions_owned{job="over", instance="a"}': "2x10",
            # Nobody knows what a worker owns that cannot be scraped.
            'up{job="unscraped", instance="b"}': "1x10 0x50",
            'input_partitions{job="unscraped", instance="a", topic="t"}': "4x60",
            'partitions_owned{job="unscraped", instance="a"}': "2x60",
            'partitions_owned{job="unscraped", instance="b"}': "2x10 _x50",
            # But others do not lose theirs by it, and what it owned is somebody else's after an hour.
            'up{job="meanwhile", instance="b"}': "1x10 0x50",
            'input_partitions{job="meanwhile", instance="a", topic="t"}': "4x60",
            'partitions_owned{job="meanwhile", instance="a"}': "2x10 1x50",
            'partitions_owned{job="meanwhile", instance="b"}': "2x10 _x50",
            'up{job="dead", instance="b"}': "1x10 0x100",
            'input_partitions{job="dead", instance="a", topic="t"}': "4x110",
            'partitions_owned{job="dead", instance="a"}': "2x110",
            'partitions_owned{job="dead", instance="b"}': "2x10 _x100",
            # A shadow's partitions are not released, and the topics that it reads alone are not the service's.
            'input_partitions{job="shadowed", instance="a", topic="t"}': "4x60",
            'input_partitions{job="shadowed", instance="b", topic="t"}': "4x60",
            'partitions_owned{job="shadowed", instance="a"}': "4x10 2x50",
            'partitions_owned{job="shadowed", instance="b"}': "4x60",
            'policy_info{job="shadowed", instance="b", delivery="shadow"}': "1x60",
            'input_partitions{job="tried", instance="a", topic="t"}': "4x60",
            'input_partitions{job="tried", instance="b", topic="u"}': "2x60",
            'partitions_owned{job="tried", instance="a"}': "4x60",
            'partitions_owned{job="tried", instance="b"}': "2x60",
            'policy_info{job="tried", instance="b", delivery="shadow"}': "1x60",
            **_rolling("rolling", -1),
        },
        {
            "20m": (),
            "24m": ("added",),
            "29m": ("added", "meanwhile", "shadowed", "taken"),
            "55m": ("added", "meanwhile", "shadowed", "taken"),
            "85m": ("dead",),
        },
    ),
    Case(
        "StreamAnonPartitionsOwnedTwice",
        {
            'input_partitions{job="groups", instance="a", topic="t"}': "4x60",
            **{
                f'{name}{{job="groups", instance="{instance}"}}': f"_x5 {value}x60"
                for instance in "ab"
                for name, value in (("partitions_owned", 4), ("ready", 1))
            },
            'input_partitions{job="shadowed", instance="a", topic="t"}': "4x60",
            **{
                f'{name}{{job="shadowed", instance="{instance}"}}': f"{value}x60"
                for instance in "ab"
                for name, value in (("partitions_owned", 4), ("ready", 1))
            },
            'policy_info{job="shadowed", instance="b", delivery="shadow"}': "1x60",
            # Nor do the topics of a shadow count.
            'input_partitions{job="tried", instance="a", topic="t"}': "4x60",
            'input_partitions{job="tried", instance="c", topic="u"}': "4x60",
            **{
                f'{name}{{job="tried", instance="{instance}"}}': f"{value}x60"
                for instance in "ab"
                for name, value in (("partitions_owned", 4), ("ready", 1))
            },
            'policy_info{job="tried", instance="c", delivery="shadow"}': "1x60",
            # One has lost its broker, and the other one has taken over.
            'input_partitions{job="away", instance="a", topic="t"}': "4x60",
            'partitions_owned{job="away", instance="a"}': "2x10 4x50",
            'partitions_owned{job="away", instance="b"}': "2x60",
            'ready{job="away", instance="a"}': "1x60",
            'ready{job="away", instance="b"}': "1x10 0x50",
            # A partition moves between two, and who has given it away is always scraped late.
            'input_partitions{job="moving", instance="a", topic="t"}': "4x60",
            'partitions_owned{job="moving", instance="a"}': " ".join(["2 3"] * 30),
            'partitions_owned{job="moving", instance="b"}': " ".join(["3 2"] * 30),
            'ready{job="moving", instance="a"}': "1x60",
            'ready{job="moving", instance="b"}': "1x60",
            **_rolling("rolling", 1),
        },
        {"14m": (), "19m": ("tried",), "25m": ("groups", "tried"), "55m": ("groups", "tried")},
    ),
    Case(
        "StreamAnonCertificateEnds",  # a test's time begins at 0
        {
            'certificate_end_timestamp_seconds{instance="soon", certificate="a.ca_file"}': f"{13 * 86_400}x60",
            'certificate_end_timestamp_seconds{instance="later", certificate="b.ca_file"}': f"{15 * 86_400}x60",
        },
        {"5m": (), "20m": ("soon",)},
        by="instance",
    ),
    Case(
        "StreamAnonReleaseExpires",
        {
            'release_end_timestamp_seconds{job="soon", instance="a"}': f"{29 * 86_400}x60",
            'release_end_timestamp_seconds{job="later", instance="a"}': f"{31 * 86_400}x60",
            # It has ten minutes left, and the other alert follows.
            'release_end_timestamp_seconds{job="over", instance="a"}': "600x60",
            # The worker of the old policy is gone, and one of a policy that names a later day is there.
            'release_end_timestamp_seconds{job="renewed", instance="a"}': "600x4 _x56",
            'release_end_timestamp_seconds{job="renewed", instance="b"}': f"_x5 {99 * 86_400}x55",
        },
        {"5m": (), "20m": ("soon",), "55m": ("soon",)},
    ),
    Case(
        "StreamAnonReleaseExpired",
        {
            'release_end_timestamp_seconds{job="soon", instance="a"}': f"{86_400}x60",
            'release_end_timestamp_seconds{job="over", instance="a"}': "600x60",
            # It ended at its first window after the day, and no start lasts until a scrape.
            'release_end_timestamp_seconds{job="ended", instance="a"}': "600x11 _x49",
            'release_end_timestamp_seconds{job="renewed", instance="a"}': "600x4 _x56",
            'release_end_timestamp_seconds{job="renewed", instance="b"}': f"_x5 {99 * 86_400}x55",
        },
        {"5m": (), "9m": (), "20m": ("ended", "over"), "55m": ("ended", "over")},
    ),
    Case(
        "StreamAnonPolicySplit",
        {
            # Rolled out within some minutes.
            'policy_info{job="rolled", instance="a", policy="p", revision="1", delivery="e"}': "1x8 _x30",
            'policy_info{job="rolled", instance="b", policy="q", revision="2", delivery="e"}': "_x4 1x30",
            # Two policies, and nobody ends it.
            'policy_info{job="split", instance="a", policy="p", revision="1", delivery="e"}': "1x40",
            'policy_info{job="split", instance="b", policy="q", revision="2", delivery="e"}': "_x4 1x36",
            # The same policy under two revisions is a split too, a shadow beside its service is none.
            'policy_info{job="half", instance="a", policy="p", revision="1", delivery="e"}': "1x40",
            'policy_info{job="half", instance="b", policy="p", revision="2", delivery="e"}': "1x40",
            'policy_info{job="shadowed", instance="a", policy="p", revision="1", delivery="e"}': "1x40",
            'policy_info{job="shadowed", instance="b", policy="q", revision="2", delivery="shadow"}': "1x40",
            # All workers have the lower revision: nobody releases anything.
            'policy_info{job="undone", instance="a", policy="p", revision="1", delivery="e"}': "1x40",
            'partitions_superseded{job="undone", instance="a"}': "2x40",
            'partitions_superseded{job="rolled", instance="a"}': "0x5 2x3 _x30",
        },
        {"9m": (), "30m": ("half", "split", "undone")},
        by="job",
    ),
    Case(
        "StreamAnonPartitionStopped",
        {'partitions_not_read{instance="a"}': "0x5 1x15", 'partitions_not_read{instance="b"}': "0x20"},
        {"4m": (), "10m": ("a",)},
        by="instance",
    ),
    Case(
        "StreamAnonInputLost",
        {
            'input_lost_records_total{instance="a"}': "0x5 70x60",
            'input_lost_records_total{instance="b"}': "_x5 70x60",
            'input_lost_records_total{instance="c"}': "0x65",
        },
        {"4m": (), "10m": ("a", "b")},
        by="instance",
    ),
    Case(
        "StreamAnonInputHeldByTransaction",
        {
            'input_held_seconds{instance="a"}': "0x4 60+60x20",
            'input_held_seconds{instance="b"}': "0+5x4 0+5x20",
        },
        {"4m": (), "12m": ("a",)},
        by="instance",
    ),
    Case(
        "StreamAnonLedgerHeldByTransaction",
        {
            'ledger_held_seconds{instance="a"}': "0x4 60+60x20",
            'ledger_held_seconds{instance="b"}': "0+9x4 0+9x4 0+9x12",
        },
        {"4m": (), "12m": ("a",)},
        by="instance",
    ),
    Case(
        "StreamAnonThrottled",
        {
            'throttled_seconds_total{instance="quota", by="broker"}': "0x10 0+12x60",
            'throttled_seconds_total{instance="limit", by="processor"}': "0x10 0+30x60",
            # It catches up after an outage; a little all the time does no harm.
            'throttled_seconds_total{instance="catches-up", by="broker"}': "0x10 0+30x7 210x53",
            'throttled_seconds_total{instance="a-little", by="processor"}': "0+3x70",
        },
        {"15m": (), "50m": ("limit", "quota")},
        by="instance",
    ),
    Case(
        "StreamAnonOffsetsUnprotected",
        {
            'partitions_without_entry_total{instance="a"}': "0x5 1x60",
            'partitions_without_entry_total{instance="b"}': "_x5 1x60",
            'partitions_without_entry_total{instance="c"}': "0x65",
        },
        {"4m": (), "10m": ("a", "b")},
        by="instance",
    ),
    Case(
        "StreamAnonNotReady",
        {
            'ready{instance="a"}': "1x5 0x15",
            'ready{instance="b"}': "1x3 0x3 1x14",
            'ready{instance="c"}': "1x5 0x15",
            'not_ready{instance="c", reason="topic"}': "0x5 1x15",
            'not_ready{instance="c", reason="broker"}': "0x20",
        },
        {"8m": (), "15m": ("a", "c")},
        by="instance",
    ),
    Case(
        "StreamAnonCrashLoop",
        {
            # It ends before anybody has asked it anything, beside one that is well.
            'up{job="fast", instance="ends"}': "1x20 0x60",
            'ready{job="fast", instance="ends"}': "1x20 _x60",
            'up{job="fast", instance="well"}': "1x80",
            'ready{job="fast", instance="well"}': "1x80",
            # The same, and a new worker is not up for a moment.
            'up{job="rollout", instance="new"}': "_x20 0x3 1x57",
            'ready{job="rollout", instance="new"}': "_x23 1x57",
            'ready{job="rollout", instance="old"}': "1x80",
            # Every two minutes; every second life is asked once.
            'process_start_time_seconds{job="two-minutes"}': "0x20 1200 _ 1320 _ _ _ 1560 _ 1680 _ _ 1800x47",
            'build_info{job="two-minutes"}': "1x20 1 _ 1 _ _ _ 1 _ 1 _ _ 1x47",
            'ready{job="two-minutes"}': "1x20 0 _ 0 _ _ _ 0 _ 0 _ _ 1x47",
            # Neither away for five minutes nor ever well; it has not restarted.
            'ready{job="flaps"}': "1x20 " + "0 0 1 1 1 " * 8 + "1x20",
            # Too little memory: it takes ten minutes until it is full.
            'process_start_time_seconds{job="memory"}': " ".join(f"{600 * n}x9" for n in range(5)) + " 3000x30",
            'build_info{job="memory"}': "1x80",
            'process_start_time_seconds{job="deployed"}': "0x20 1200x20 2400x40",
            'build_info{job="deployed"}': "1x80",
            # Processes of others are none of our business.
            'process_start_time_seconds{job="stranger"}': "0+600x80",
            'worker_restarts_total{job="fleet"}': "0x20 1 2 3 4x57",
            # kube-state-metrics tells of a pod that Prometheus has never reached.
            f'{RESTARTS}{{job="ksm", pod="p", container="stream-anon"}}': "0x20 0+1x6 6x54",
            f'{RESTARTS}{{job="ksm-2", pod="p", container="other"}}': "0x20 0+1x60",
        },
        {
            "20m": (),
            "24m": ("fleet", "ksm"),
            "32m": ("fleet", "ksm", "memory", "two-minutes"),
            "37m": ("fast", "fleet", "ksm", "memory", "two-minutes"),
            "79m": ("fast",),
        },
    ),
    Case(
        "StreamAnonFlapping",
        {
            'ready{instance="flaps"}': "1x20 " + "0 0 1 1 1 " * 12 + "1x20",
            'process_start_time_seconds{instance="flaps"}': "0x100",
            'ready{instance="broker-upgrade"}': "1x20 0 0 1 1 1 0 0 1x73",
            'process_start_time_seconds{instance="broker-upgrade"}': "0x100",
        },
        {"44m": (), "60m": ("flaps",), "99m": ()},
        by="instance",
    ),
    Case(
        "StreamAnonAbsent",
        {
            'ready{job="gone", instance="a"}': "1x90 _x1600",
            'ready{job="gone", instance="b"}': "0x90 _x1600",
            'ready{job="young"}': "_x80 1x10 _x1600",
            'ready{job="replaced", instance="a"}': "1x90 _x1600",
            'ready{job="replaced", instance="b"}': "_x92 1x1600",
            'ready{job="back"}': "1x90 _x20 1x1600",
            'ready{job="cannot-work"}': "0x1690",
        },
        # For a day: long enough to wake somebody, and it ends where a service was taken away on purpose.
        {"80m": (), "94m": (), "105m": ("back", "gone", "young"), "20h": ("gone", "young"), "27h": ()},
    ),
    Case(
        "StreamAnonClockWrong",
        {
            'clock_steps_total{instance="back", direction="back"}': "0x5 1x100",
            'clock_steps_total{instance="ahead", direction="ahead"}': "0x5 1x100",
            'clock_steps_total{instance="well", direction="ahead"}': "0x105",
            'broker_outages_total{instance="refused", activity="dating"}': "0x5 1x100",
            'broker_outages_total{instance="away", activity="publishing"}': "0x5 1x100",
            # Before their first scrape.
            'clock_steps_total{instance="booted", direction="ahead"}': "_x5 1x100",
            'broker_outages_total{instance="dated", activity="dating"}': "_x5 1x100",
        },
        {"4m": (), "10m": ("ahead", "back", "booted", "dated", "refused"), "80m": ()},
        by="instance",
    ),
    Case(
        "StreamAnonPaused",
        {
            'paused{job="on", instance="a"}': "0x10 1x80",
            'paused{job="on", instance="b"}': "0x90",
            'paused{job="missed"}': "0x10 1x10 _ 1x69",
            'paused{job="for-30m"}': "0x10 1x29 0x50",
            'paused{job="resumed"}': "0x10 1x38 0x41",
        },
        {"40m": (), "44m": ("missed", "on", "resumed"), "50m": ("missed", "on")},
    ),
)
# What looks at a whole service is asked again with services of one name, each in a namespace of its own.
NAMESAKES = tuple(
    Case(
        case.alert,
        {name.replace('job="', 'job="people", namespace="'): values for name, values in case.series.items()},
        case.fires,
        by="namespace",
        pending=case.pending,
        seconds=case.seconds,
    )
    for case in CASES
    if case.by == "job"
)


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_fires_where_it_must_and_nowhere_else(tmp_path: Path, alert: str) -> None:
    """Services, and services of one name in other namespaces; without the other rules, which cost minutes."""
    judge(tmp_path, [ALERTS[alert]], [case for case in (*CASES, *NAMESAKES) if case.alert == alert])


def test_no_case_that_fires_passes_without_its_alert(tmp_path: Path) -> None:
    """Without rules every case that fires must fail, or the test above shows nothing."""
    with pytest.raises(AssertionError, match="FAILED"):
        judge(tmp_path, [], [CASES[0]])


def test_every_alert_has_a_case_in_which_it_fires() -> None:
    assert {case.alert for case in CASES} == set(ALERTS)
    assert {case.alert for case in CASES if any(case.fires.values())} == set(ALERTS)


def test_a_message_names_the_namespace_where_there_is_one() -> None:
    """Without a namespace, as under Compose, it says the job and nothing else."""
    for alert, rule in ALERTS.items():
        assert ("by (" in rule["expr"]) == ("{{ $labels.job }}" in rule["annotations"]["description"]), alert
        if "by (" in rule["expr"]:
            # A count of what differs within a job counts by that first; an alert on attributes names them.
            compared = {"namespace, job, policy", "namespace, job, revision", "namespace, job, topic"}
            grouped = set(re.findall(r"by \((.*?)\)", rule["expr"])) - compared
            allowed = {"namespace, job", "namespace, job, attribute", "namespace, job, subject"}
            assert grouped, alert
            assert grouped <= allowed, alert
            # Each attribute's leakage is compared with a constant, and audits are of no service.
            assert "namespace, job" in grouped or re.search("audit|leakage", rule["expr"]), alert
            assert (
                "{{ with $labels.namespace }}{{ . }}/{{ end }}{{ $labels.job }}"
                in (rule["annotations"]["description"])
            ), alert


def test_promtool_finds_no_fault_with_the_files() -> None:
    run_promtool("check", "rules", RULES)
    run_promtool("check", "config", FOLDER / "prometheus.yml")


def test_every_metric_and_label_of_an_alert_exists(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    tell = into_metrics(registry)
    for event in EVERY_KIND:
        tell(event)
    FleetMetrics(registry, 2)
    write_audit_file(tmp_path / "audit.prom", AuditFigures("out", {"too-small": 0}, 1, 0, 1, 0, 1.0, 1.0))
    text = exposition(registry).decode() + (tmp_path / "audit.prom").read_text()
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    for alert, rule in ALERTS.items():
        asked = rule["expr"] + rule["annotations"]["description"]
        for name in re.findall(r"stream_anon_\w+", asked):
            assert name in names or name.removesuffix("_count") in names, (alert, name)
        for name, labels in re.findall(r"(stream_anon_\w+)\{(.*?)\}", rule["expr"]):
            for label in re.findall(r"(\w+)=", labels):
                assert re.search(rf"^{name}\{{[^}}]*{label}=", text, re.MULTILINE), (alert, label)


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_has_a_severity_and_a_runbook_with_all_headings(alert: str) -> None:
    rule = ALERTS[alert]
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    name = rule["annotations"]["runbook_url"].rpartition("/")[2]
    page = (ROOT / "docs" / "runbooks" / name).read_text()
    assert alert in page, "the page must name the alert it is for"
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == list(HEADINGS)


def test_every_runbook_belongs_to_an_alert() -> None:
    named = {rule["annotations"]["runbook_url"].rpartition("/")[2] for rule in ALERTS.values()}
    assert {path.name for path in (ROOT / "docs" / "runbooks").glob("*.md")} == named


def test_every_reason_is_explained_in_its_runbook() -> None:
    letters = (ROOT / "docs" / "runbooks" / "dead-letters-high.md").read_text()
    assert [label for label in REJECTIONS if f"`{label}`" not in letters] == []
    suppression = (ROOT / "docs" / "runbooks" / "suppression-high.md").read_text()
    assert [label for label in SUPPRESSIONS if f"`{label}`" not in suppression] == []
    not_ready = (ROOT / "docs" / "runbooks" / "not-ready.md").read_text()
    assert [label for label in NOT_READY if f"| `{label}` |" not in not_ready] == []


def test_every_alert_is_on_the_page_for_operators() -> None:
    page = (ROOT / "docs" / "guides" / "operations.md").read_text()
    for alert, rule in ALERTS.items():
        name = rule["annotations"]["runbook_url"].rpartition("/")[2]
        row = f"| {alert.removeprefix('StreamAnon')}: {rule['annotations']['summary']} |"
        assert f"{row} {rule['labels']['severity']} | [{name[:-3]}](../runbooks/{name}) |" in page
