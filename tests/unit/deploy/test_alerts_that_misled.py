"""Alerts that once woke people for nothing: real `for:` times, a scrape every 15 s, series that end."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from tests.support.alert_cases import ALERTS, Case, judge

STALE = " stale _x240"  # what Prometheus writes when a target goes, and an hour after it
each_15s = partial(Case, seconds=15)


def _never(last: int) -> dict[str, tuple[str, ...]]:
    """Return that nobody fires in any minute up to the last."""
    return {f"{minute}m": () for minute in range(last + 1)}


def _missing(job: str, accepted: int) -> dict[str, str]:
    """Return twenty minutes of a worker whose records all lack an attribute."""
    series = {
        "records_missing_total": ("0+500x80", ', attribute="age"'),
        "policy_accepts_missing": (f"{accepted}x80", ', attribute="age"'),
        "records_released_total": ("0+500x80", ""),
        "records_suppressed_total": ("0x80", ', reason="gate"'),
    }
    return {f'{name}{{job="{job}"{more}}}': values + STALE for name, (values, more) in series.items()}


@pytest.mark.parametrize("alert", ["StreamAnonAttributeAbsent", "StreamAnonAttributeMissing"])
def test_an_attribute_that_may_be_absent_pages_nobody_when_the_last_worker_ends(tmp_path: Path, alert: str) -> None:
    exempt, both = _missing("accepted", 1), _missing("accepted", 1) | _missing("not", 0)
    cases = [each_15s(alert, both, {"19m": ("not",)}), each_15s(alert, exempt, _never(79), pending=True)]
    judge(tmp_path, [ALERTS[alert]], cases)


def test_a_stopped_partition_does_not_stall_a_worker_that_has_ended(tmp_path: Path) -> None:
    told = {
        'consumer_lag_records{job="stopped"}': "5x120" + STALE,
        'records_consumed_total{job="stopped"}': "1000x120" + STALE,
        'partitions_not_read{job="stopped"}': "1x120" + STALE,
    }
    case = each_15s("StreamAnonStalled", told, _never(80), pending=True)
    judge(tmp_path, [ALERTS["StreamAnonStalled"]], [case])


READY = {
    # The broker is away for four minutes, and twice for a moment before that.
    "outage": "1x120 0 0 1x20 0 0 1x20 0x16 1x240",
    # A quota holds its answers back.
    "quota": "1x120 0 1 0 1 0 1 0 1 1x240",
    "young": "_x120 0 1 0 1 0 0 1 0 1x240",
    "flaps": "1x120 " + "0 0 1 1 1 " * 60,
}


def test_a_worker_that_is_not_ready_in_turns_has_not_restarted(tmp_path: Path) -> None:
    """What lasts is a ticket of its own."""
    ready = {f'ready{{job="{job}"}}': values for job, values in READY.items()}
    started = {f'process_start_time_seconds{{job="{job}"}}': f"{1800 * (job == 'young')}x400" for job in READY}
    restarts = {
        'process_start_time_seconds{job="restarts"}': "0x120 1800x20 2100x20 2400x20 2700x240",
        'build_info{job="restarts"}': "1x420",
    }
    told = ready | started | restarts
    loops = each_15s("StreamAnonCrashLoop", told, _never(40) | {"41m": ("restarts",), "60m": ("restarts",)})
    flaps = each_15s("StreamAnonFlapping", told, _never(45) | {"60m": ("flaps",), "90m": ("flaps",)})
    judge(tmp_path, [ALERTS["StreamAnonCrashLoop"]], [loops])
    judge(tmp_path, [ALERTS["StreamAnonFlapping"]], [flaps])


def test_an_upgrade_from_a_version_without_revisions_is_no_split(tmp_path: Path) -> None:
    told = {
        'policy_info{job="upgraded", instance="a", policy="p", delivery="e"}': "1x200" + STALE,
        'policy_info{job="upgraded", instance="b", policy="p", revision="0", delivery="e"}': "_x40 1x400",
        'policy_info{job="changed", instance="a", policy="p", delivery="e"}': "1x200" + STALE,
        'policy_info{job="changed", instance="b", policy="q", revision="0", delivery="e"}': "_x40 1x400",
    }
    case = each_15s("StreamAnonPolicySplit", told, {"19m": (), "25m": ("changed",), "49m": ("changed",), "56m": ()})
    judge(tmp_path, [ALERTS["StreamAnonPolicySplit"]], [case])


def _counts(labels: str, late: str, published: str) -> dict[str, str]:
    return {
        f"records_over_end_to_end_budget_total{{{labels}}}": late,
        f"end_to_end_delay_seconds_count{{{labels}}}": published,
    }


def _interrupted(job: str, minutes: int, late: int, *, new: bool) -> dict[str, str]:
    """Return a service that publishes 100 records a second, and after an hour nothing for some minutes.

    Parameters
    ----------
    late
        How many of the records that waited count as late; they all come out at once.
    new
        Whether another worker goes on; its first scrape shows the records that waited.
    """
    back, published, waited = 240 + 4 * minutes, 1500 * 240, 6000 * minutes
    if not new:
        told = f"0+1500x240 {published}x{4 * minutes - 1} {published + waited}+1500x400"
        return _counts(f'job="{job}"', f"0x{back} {late}x400", told)
    old = _counts(f'job="{job}", instance="a"', "0x240 stale", "0+1500x240 stale")
    old[f'process_start_time_seconds{{job="{job}", instance="b"}}'] = f"_x{back} {15 * back}x400"
    return old | _counts(f'job="{job}", instance="b"', f"_x{back} {late}x400", f"_x{back} {waited}+1500x400")


def test_an_outage_burns_the_objective_when_its_records_come_out(tmp_path: Path) -> None:
    """Whether the worker that publishes them is new or not; some late records of a roll-out are no outage."""
    fast, slow = "StreamAnonEndToEndDelayFastBurn", "StreamAnonEndToEndDelaySlowBurn"
    quarter = _interrupted("alive", 15, 90_000, new=False) | _interrupted("replaced", 15, 90_000, new=True)
    quarter |= _interrupted("rolled", 1, 960, new=True)
    hour = _interrupted("alive", 60, 360_000, new=False) | _interrupted("replaced", 60, 360_000, new=True)
    fires = ("alive", "replaced")
    judge(tmp_path, [ALERTS[fast]], [each_15s(fast, quarter, _never(75) | {"79m": fires, "85m": ()})])
    judge(tmp_path, [ALERTS[slow]], [each_15s(slow, hour, _never(119) | {"140m": fires})])


@pytest.mark.parametrize("burn", ["Fast", "Slow"])
def test_a_late_past_is_no_burn_where_prometheus_sees_a_worker_for_the_first_time_or_again(
    tmp_path: Path, burn: str
) -> None:
    """A worker that once read a backlog, and has been well since; Prometheus is new, or was away for long."""
    alert = f"StreamAnonEndToEndDelay{burn}Burn"
    told = _counts('job="new"', "1000000x1600", "4000000+1500x1600")
    told |= _counts('job="away"', "1000000x20 _x400 1000000x1180", "4000000+1500x20 _x400 4630000+1500x1180")
    told |= {f'process_start_time_seconds{{job="{job}"}}': "-900000x1600" for job in ("new", "away")}
    judge(tmp_path, [ALERTS[alert]], [each_15s(alert, told, _never(390))])


@pytest.mark.parametrize(("burn", "minutes", "fires"), [("Fast", 15, 79), ("Slow", 60, 140)])
def test_late_records_burn_also_where_the_worker_that_published_them_ended_at_once(
    tmp_path: Path, burn: str, minutes: int, fires: int
) -> None:
    """What another process at the same address counted long ago is no part of it."""
    alert, back = f"StreamAnonEndToEndDelay{burn}Burn", 240 + 4 * minutes
    waited, start = 6000 * minutes, 15 * back
    told = _counts('job="ended", instance="a"', "0x240 stale", "0+1500x240 stale")
    told |= _counts('job="ended", instance="b"', f"_x{back} {waited} stale", f"_x{back} {waited} stale")
    told |= _counts('job="ended", instance="c"', f"_x{back} 0x400", f"_x{back} 0+10x400")
    told |= _counts('job="again", instance="d"', f"{waited}x{back - 1} 0x400", f"0+1500x{back - 1} 0+1500x400")
    told |= {
        'process_start_time_seconds{job="ended", instance="b"}': f"_x{back} {start} stale",
        'process_start_time_seconds{job="ended", instance="c"}': f"_x{back} {start}x400",
        'process_start_time_seconds{job="again", instance="d"}': f"-90000x{back - 1} {start}x400",
    }
    case = each_15s(alert, told, {f"{back // 4}m": (), f"{fires}m": ("ended",)})
    judge(tmp_path, [ALERTS[alert]], [case])


def test_input_that_waits_while_nothing_is_published_is_told_during_the_outage(tmp_path: Path) -> None:
    told = {
        'consumer_lag_records{job="out"}': "0x240 7x200",
        'records_consumed_total{job="out"}': "0+1500x240 360000x200",
        'windows_published_total{job="out"}': "0+1x240 240x200",
    }
    case = each_15s("StreamAnonStalled", told, _never(74) | {"77m": ("out",), "100m": ("out",)})
    judge(tmp_path, [ALERTS["StreamAnonStalled"]], [case])


def test_a_worker_that_is_not_ready_has_one_alert_whose_words_follow_the_reason(tmp_path: Path) -> None:
    told = {
        # Its reason changes at 18 minutes. A scrape is missed at 16:30.
        'ready{instance="a"}': "1x40 0x24 stale 0x50",
        'not_ready{instance="a", reason="unreachable"}': "0x40 1x24 stale 1x5 0x50",
        'not_ready{instance="a", reason="permission"}': "0x40 0x24 stale 0x5 1x50",
        'not_ready{namespace="elsewhere", instance="a", reason="topic"}': "1x120",
        'ready{instance="well"}': "1x120",
        'not_ready{instance="well", reason="permission"}': "0x120",
        'ready{instance="ended"}': "1x40 0x12" + STALE,
        'not_ready{instance="ended", reason="topic"}': "0x40 1x12" + STALE,
        'ready{instance="younger"}': "_x40 0x8 1x70",
        'not_ready{instance="younger", reason="starting"}': "_x40 1x8 0x70",
        'ready{instance="older"}': "0x120",
    }
    alert = "StreamAnonNotReady"
    words = "{} is not ready for five minutes{}. The runbook says what each reason asks for."
    older = {"older": words.format("older", "")}
    fires = _never(4) | {f"{15 * scrape}s": ("a", "older") for scrape in range(62, 112)}
    said = {
        "16m30s": older | {"a": words.format("a", ", reason: unreachable")},
        "20m": older | {"a": words.format("a", ", reason: permission")},
    }
    judge(tmp_path, [ALERTS[alert]], [each_15s(alert, told, fires, by="instance", words=said)])


def _series(counter: str, labels: str) -> str:
    """Return a series with these labels that a selector such as `stream_anon_x{label=~"a|b"}` finds."""
    name, _, asked = counter.removeprefix("stream_anon_").removesuffix("}").partition("{")
    own = re.sub('=~?"(\\w+)[^"]*"', r'="\1", ', asked)  # of several values the first
    return f"{name}{{{own}{labels}}}"


_NEW = re.compile(r"increase\((stream_anon_\w+(?:\{[^}]*\})?)\[1h\]\) > 0")
COUNTS = [(alert, counter) for alert, rule in ALERTS.items() for counter in _NEW.findall(rule["expr"])]


def _is_new(counter: str) -> str:
    """Return the expression for what a counter has counted within an hour, as the head of the rules explains it."""
    return f"""
        last_over_time({counter}[1h]) - (
          last_over_time({counter}[1d] offset 1h)
            unless on (namespace, job, instance)
              last_over_time(process_start_time_seconds[1h])
                != last_over_time(process_start_time_seconds[1d] offset 1h)
          or 0 * last_over_time({counter}[1h])
        ) > 0
        or increase({counter}[1h]) > 0
    """


def test_all_alerts_on_a_count_ask_in_the_same_way() -> None:
    assert len(COUNTS) == 10
    for alert, counter in COUNTS:
        assert " ".join(_is_new(counter).split()) in " ".join(ALERTS[alert]["expr"].split()), alert


@pytest.mark.parametrize(("alert", "counter"), COUNTS)
def test_a_count_fires_for_an_hour_once_prometheus_knows_of_it_and_never_again(
    tmp_path: Path, alert: str, counter: str
) -> None:
    """Prometheus is away from 2:00 to 3:40. What may have happened then is told, what it knew is not."""
    counts = {
        "old": ("1x120 _x100 1x140", "-9000x360"),
        "rose": ("1x120 _x100 2x140", "-9000x360"),
        "restarted-meanwhile": ("1x120 _x100 1x140", "-9000x120 _x100 7300x140"),
        "restarted": ("1x360", "-9000x220 13260x140"),
        "ended": ("0x219 1 stale _x140", "-9000x220 stale _x140"),
        "first-seen": ("_x220 1x140", "_x220 -9000x140"),
    }
    series = {}
    for job, (values, started) in counts.items():
        series[_series(counter, f'job="{job}"')] = values
        series[f'process_start_time_seconds{{job="{job}"}}'] = started
    new = tuple(sorted(set(counts) - {"old"}))
    fires = {"119m": (), "219m": (), "222m": new, "278m": new, **{f"{minute}m": () for minute in range(283, 360)}}
    judge(tmp_path, [ALERTS[alert]], [Case(alert, series, fires)])
