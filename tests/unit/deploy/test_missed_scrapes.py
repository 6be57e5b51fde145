"""Alerts where scrapes fail and series end; Prometheus marks both as stale."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.alert_cases import ALERTS, Case, judge
from tests.unit.deploy.test_alerts import CASES

SCRAPES = 4  # a minute
LONG = 400  # values; a series that is longer is scraped once for each


def _values(notation: str) -> list[str]:
    """Return the values of a series one by one; the notation is promtool's, such as `1x2`, `0+5x9` and `_x3`."""
    found = []
    for piece in notation.split():
        parts = re.fullmatch(r"([\d.]+|NaN|_|stale)([+-][\d.]+)?(?:x(\d+))?", piece)
        assert parts, piece
        value, step, count = parts[1], float(parts[2] or 0), int(parts[3] or 0)
        if value in ("_", "stale"):
            found += [value] * max(count, 1)
        else:
            found += [f"{float(value) + number * step:g}" for number in range(count + 1)]
    return found


def _with_failing_scrapes(notation: str, scrapes: int) -> str:
    """Return a series as so many scrapes for each of its values, of which each fourth fails."""
    scraped = [value for value in _values(notation) for _ in range(scrapes)]
    scraped[1::4] = ["_" if value == "_" else "stale" for value in scraped[1::4]]
    return " ".join(scraped)


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_fires_as_ever_where_each_fourth_scrape_fails(tmp_path: Path, alert: str) -> None:
    """Prometheus itself makes `up`, so it never lacks a value."""
    for case in (one for one in CASES if one.alert == alert):
        longest = max(len(_values(values)) for values in case.series.values())
        scrapes = SCRAPES if longest < LONG else 1
        series = {
            name: " ".join(value for value in _values(values) for _ in range(scrapes))
            if name.startswith("up{")
            else _with_failing_scrapes(values, scrapes)
            for name, values in case.series.items()
        }
        seconds = case.seconds // scrapes
        fires = {f"{at}{seconds}s": values for at, values in case.fires.items()}  # when a scrape has just failed
        judge(tmp_path, [ALERTS[alert]], [Case(alert, series, fires, case.by, case.pending, seconds=seconds)])


def test_every_worker_is_told_where_all_brokers_are_down_and_each_fourth_scrape_fails(tmp_path: Path) -> None:
    workers = [f"{number:02}" for number in range(11)]
    outage = ["1"] * 20 + ["0"] * 44 + ["1"] * 20  # eleven minutes
    series = {}
    for number, worker in enumerate(workers):
        scraped = list(outage)
        scraped[number % 4 :: 4] = ["stale"] * len(scraped[number % 4 :: 4])
        series[f'ready{{instance="{worker}"}}'] = " ".join(scraped)
    fires = {"9m": (), "11m": workers, "15m45s": workers, "17m": ()}
    case = Case("StreamAnonNotReady", series, fires, "instance", seconds=15)
    judge(tmp_path, [ALERTS["StreamAnonNotReady"]], [case])


# States of which a single value tells: by alert, the series that show it.
STATES = {
    "StreamAnonAtLeastOnce": {'policy_info{job="j", delivery="at-least-once"}': 1},
    "StreamAnonIdleWorker": {'ready{job="j"}': 1, 'partitions_owned{job="j"}': 0},
    "StreamAnonCertificateEnds": {'certificate_end_timestamp_seconds{job="j", certificate="a"}': 0},
    "StreamAnonPolicySplit": {'partitions_superseded{job="j"}': 1},
    "StreamAnonPartitionStopped": {'partitions_not_read{job="j"}': 1},
    "StreamAnonInputHeldByTransaction": {'input_held_seconds{job="j"}': 200},
    "StreamAnonLedgerHeldByTransaction": {'ledger_held_seconds{job="j"}': 200},
    "StreamAnonNotReady": {'ready{job="j"}': 0},
    "StreamAnonStalled": {'window_oldest_age_seconds{job="j"}': 900, 'policy_delay_budget_seconds{job="j"}': 40},
}


@pytest.mark.parametrize("alert", STATES)
def test_a_worker_that_ends_takes_its_alerts_along(tmp_path: Path, alert: str) -> None:
    """Its last value alone fires nothing, and what fires ends within two minutes of it."""
    once = {name: f"_x8 {value} stale _x400" for name, value in STATES[alert].items()}
    never = {f"{2 + scrape // 4}m{scrape % 4 * 15}s": () for scrape in range(150)}
    lasts = {name: f"{value}x160 stale _x100" for name, value in STATES[alert].items()}
    fires = {"39m": ("j",), "42m15s": ()}
    judge(tmp_path, [ALERTS[alert]], [Case(alert, once, never, seconds=15), Case(alert, lasts, fires, seconds=15)])
