"""`stream-anon check`: what a run would do, and what forbids it. No value of a person is printed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.logs import silenced_libraries
from stream_anon.cli.compiling import saying_when_compiling
from stream_anon.cli.printing import console_of, ruled_table
from stream_anon.conditions import Condition
from stream_anon.formats.tables.format_names import Format
from stream_anon.judging.findings import Severity
from stream_anon.judging.forecasting.forecast import Forecast
from stream_anon.judging.one_table import becomes_one
from stream_anon.judging.sample_study import Study
from stream_anon.judging.tally import MOST_LINKABLE, RareValues
from stream_anon.microdata.bounds import k_in_words
from stream_anon.microdata.diversity import Disclosure
from stream_anon.microdata.policy import EVERY_RECORD, Policy, WindowLimits
from stream_anon.operations.check.checking import CheckReport, examine_deployment, examine_file
from stream_anon.rounding import exactly, in_percent

WIDTH = 100
_MARKS = {
    Severity.FORBIDS: ("  FORBIDS  ", "bold red"),
    Severity.ACCEPTED: ("  accepted ", "yellow"),
    Severity.WARNS: ("  warns    ", "yellow"),
    Severity.NOTES: ("  notes    ", "dim"),
}


def check(
    config: Path,
    accepted: tuple[Condition, ...] = (),
    *,
    file: str | None = None,
    standard: Format = Format.JSONL,
    as_json: bool = False,
) -> int:
    """Check a deployment or a file; return 0 if it may run or be released, 1 if something forbids it.

    Parameters
    ----------
    accepted
        Conditions that are accepted beside those of the settings.
    file
        Checked instead of the deployment; `-` is standard input, which holds `standard`.
    as_json
        Print the report as one JSON object.

    Raises
    ------
    SettingsError
        If the settings or the policy are wrong (exit code 2).
    InputError
        If the file cannot be read (exit code 2).
    BrokerError
        If no broker answers (exit code 3).
    """
    clock = SystemClock()
    with silenced_libraries(clock), saying_when_compiling():
        report = (
            asyncio.run(examine_deployment(config, accepted))
            if file is None
            else examine_file(config, file, accepted, standard)
        )
    if as_json:
        sys.stdout.write(json.dumps(report.document(), indent=2) + "\n")
    else:
        show(report, console_of(WIDTH))
    return 1 if report.forbids else 0


def show(report: CheckReport, console: Console) -> None:
    """Print a report."""
    _heading(console, "Policy")
    _show_policy(console, report.policy)
    table = ruled_table()
    for name in ("attribute", "role", "values", "what they are", "published"):
        table.add_column(name, justify="right" if name == "values" else "left", overflow="fold")
    for facts in report.attributes:
        size = "" if facts.size is None else f"{facts.size:,}"
        table.add_row(*map(Text, (facts.name, facts.role, size, facts.domain, facts.published)))
    console.print(table)
    if report.seen:
        _heading(console, "Broker")
    for line in report.seen:
        console.print(Text(f"  {line}"))
    if report.study is not None:
        _heading(console, report.source if report.study.whole else f"Sample of {report.source}")
        _show_study(console, report.study, report.policy, report.complete)
    _show_findings(console, report)


def _heading(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold underline"))


def _show_policy(console: Console, policy: Policy) -> None:
    who = "record" if policy.individual == EVERY_RECORD else policy.individual
    who = ", ".join([who, *policy.normalize])
    window = policy.window
    diversity = "".join(f", {' and '.join(each.in_words)} of {name}" for name, each in policy.diversity.items())
    crowd = "individuals" if policy.counterfeits is None else "records, half of which may be counterfeits"
    console.print(Text(f"  each class: {k_in_words(policy.k)} {crowd} (told apart by {who}){diversity}"))
    for shield in policy.shields:
        console.print(Text(f"  each shield: {shield.k} individuals share {', '.join(shield.attributes)}"))
    for key, text in policy.release.told.items():
        console.print(Text(f"  release.{key}: {text}"))
    console.print(
        Text(
            f"  each window: {_limits(window)}, "
            + (f"sooner at a loss of {exactly(window.target_loss)}, " if window.target_loss else "")
            + f"{window.max_records_per_individual:,} records of one individual, shortfall: {window.shortfall}"
        )
    )


def _limits(window: WindowLimits) -> str:
    if not window.auto:
        return f"{window.max_records:,} records or {window.max_delay:g} s"
    return f"what comes in {window.max_delay:g} s, {window.max_records:,} records at the most or what memory takes"


def _window_by_rate(study: Study, window: WindowLimits) -> dict[str, str]:
    """Return what a window will hold, where the rate and its delay decide."""
    if not window.auto or study.whole or not study.seconds:
        return {}
    rate = study.records / study.seconds
    most = min(round(rate * window.max_delay), window.max_records)
    return {"a window": f"about {most:,} records: {rate:,.4g} a second come"}


def _show_study(console: Console, study: Study, policy: Policy, complete: bool) -> None:
    rows = {
        "records": f"{study.records:,}"
        + ("" if study.whole else f" over {study.seconds:,.1f} s")
        + ("" if complete else ", cut short by time"),
        "fit the policy": f"{study.fit:,}, of {study.individuals:,} individuals",
        "rejected": f"{study.rejected_share:.2%}",
    }
    rows |= _window_by_rate(study, policy.window)
    if study.ignored:
        rows["ignored"] = f"{study.ignored:,} more, which hold no row"
    _grid(console, rows)
    for alike in study.spellings:
        if alike.asked:
            text = f"    {alike.alike:,} of {alike.ids:,} ids share a spelling by {alike.normalization}"
            console.print(Text(text))
    for each in study.rejects:
        where = f" in {each.attribute}" if each.attribute else ""
        console.print(Text(f"    {each.records:,} {each.reason}{where}"))
    if study.missing:
        _heading(console, "Published attributes without a value")
        for absent in study.missing:
            accepted = ", accepted by accept_missing" if absent.accepted else ""
            console.print(Text(f"  {absent.attribute}: {absent.share:.2%} of the records{accepted}"))
    if study.forecast is not None:
        _heading(console, "What would be released" if study.whole else "What one worker would publish")
        _show_forecast(console, study, study.forecast, policy)
    if study.given_away:
        _heading(console, "What its classes would give away of sensitive attributes")
        for name, found in study.given_away.items():
            console.print(Text(f"  {name}: {_given_away(found)}"))
    if study.rare:
        _heading(console, f"Fields that pass: values held by fewer than {policy.crowd} individuals")
        for field in study.rare:
            console.print(Text(f"  {field.attribute}: {_rare(field)}"))


def _show_forecast(console: Console, study: Study, forecast: Forecast, policy: Policy) -> None:
    windows = f"{forecast.windows:,} filled by the sample, {forecast.individuals:,} individuals in the median one"
    if not forecast.whole:
        windows = f"none whole: the sample ends before one is full; it has {forecast.individuals:,} individuals"
    if study.whole and becomes_one(policy):
        tried = "all records"
        if forecast.records < study.fit:
            tried = f"the first {forecast.records:,} of {study.fit:,} records were tried, and all of them lose less"
        windows = f"one, the whole table: {tried}"
    fill = f"{forecast.windows - forecast.short:,} of {forecast.windows:,} windows"
    whole = f"hold {policy.crowd} individuals" if policy.k is None else f"fill a class of {policy.k}"
    rows = {
        "windows": windows,
        whole: fill if forecast.whole else ("no" if forecast.short else "yes"),
        "released": f"{1 - forecast.suppressed_share:.2%}",
        "suppressed": f"{forecast.suppressed_share:.2%}"
        + "".join(f", {reason} {count:,}" for reason, count in sorted(forecast.suppressed.items())),
        "over their limit": f"{forecast.over_limit:.2%}",
        "information loss": "none" if forecast.gcp is None else f"{forecast.gcp:.1%} (GCP)",
    }
    if study.by_delay is not None:
        rows["by rate and delay"] = str(study.by_delay)
    _grid(console, rows)


def _given_away(found: Disclosure) -> str:
    told = f"{found.told:.2f} of {found.prior:.2f} bits ({found.share:.0%})"
    if found.worst is None:
        return told
    surest = f"a value is {found.worst.share:.0%} sure in the worst class, of {found.worst.records:,} records"
    return f"{told}; {surest}, and {found.guess:.0%} sure without a class"


def _rare(field: RareValues) -> str:
    accepted = ", accepted by accept_linkable" if field.accepted else ""
    within = field.share_in_windows
    told = "no" if within is None else in_percent(within, 2, MOST_LINKABLE)
    windows = "no window publishes any" if within is None else f"{told} within their window"
    share = f"{in_percent(field.share, 2, MOST_LINKABLE)} of its records ({windows})"
    return f"{share}, {field.rare:,} of {field.values:,} distinct values{accepted}"


def _grid(console: Console, rows: Mapping[str, str]) -> None:
    table = Table.grid(padding=(0, 2))
    for name, value in rows.items():
        table.add_row(Text(f"  {name}", style="bold"), Text(value))
    console.print(table)


def _show_findings(console: Console, report: CheckReport) -> None:
    _heading(console, "Findings")
    for finding in report.findings:
        mark = Text(*_MARKS[finding.severity])
        named = f" ({finding.condition})" if finding.condition else ""
        table = Table.grid()
        table.add_row(mark, Text(f"{finding.place}: {finding.text}{named}"))
        console.print(table)
        for command in finding.commands:
            console.print(Text(f"             {command}"), soft_wrap=True)
    of_file = report.study is not None and report.study.whole
    if report.forbids:
        console.print(Text("It must not be released." if of_file else "A run must not start.", style="bold red"))
        if any(each.condition for each in report.findings if each.severity is Severity.FORBIDS):
            command, does = ("anonymize", "releases it") if of_file else ("run", "starts")
            console.print(
                Text(
                    f"`{command} --accept-risk NAME` {does} all the same: NAME stands in brackets above, and "
                    "certificates will state it."
                )
            )
    else:
        console.print(Text(f"Nothing prevents a {'release' if of_file else 'run'}.", style="bold green"))
