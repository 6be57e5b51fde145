"""`stream-anon leakage`: what attributes tell of people, before and after a release. No value is printed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stream_anon.cli.compiling import saying_when_compiling
from stream_anon.cli.printing import console_of
from stream_anon.formats.tables.new_files import write_whole
from stream_anon.microdata.policy import Policy
from stream_anon.operations.disclosures import COLUMNS, cells, warnings
from stream_anon.operations.leakage.leakage_page import leakage_page
from stream_anon.operations.leakage.leakage_study import LeakageReport, LeakageRequest, SetLeakage, study_leakage
from stream_anon.operations.leakage.presence_shares import COLUMNS as PRESENCE_COLUMNS
from stream_anon.operations.leakage.presence_shares import PresenceLeakage
from stream_anon.operations.leakage.suggestion import Suggestion, suggest_levels
from stream_anon.operations.policy_text import check_output, with_lowest_levels
from stream_anon.operations.samples import SampleSource
from stream_anon.operations.studied_records import read_released, read_table
from stream_anon.rounding import exactly
from stream_anon.settings.policy_file import load_policy
from stream_anon.settings.yaml_text import read_yaml

SHOWN = 10  # sets of a size that are printed
WIDTH = 100
BAR = 24
LEAST_NAMES, MOST_NAMES = 16, 44  # characters of the column of names
GAP = 2  # blanks between columns


@dataclass(frozen=True, slots=True)
class Presentation:
    """How the report is shown.

    Parameters
    ----------
    as_json
        As JSON instead of tables.
    page
        A file for a page.
    suggest
        Whether lowest levels are suggested.
    output
        A file for the policy with these levels; None for the standard output.
    """

    as_json: bool = False
    page: Path | None = None
    suggest: bool = False
    output: Path | None = None


def leakage(
    config: Path,
    source: SampleSource,
    released: Path | None,
    asked: LeakageRequest,
    told: Presentation,
) -> int:
    """Print what sets of attributes leak; return 1 if one leaks or singles out more than is allowed, else 0.

    Where levels are to be suggested, return 1 if none suffice, else 0.

    Parameters
    ----------
    config
        A settings file with the policy.
    released
        A file of what was released of the source.
    """
    original = config.read_text(encoding="utf-8") if told.suggest else ""
    if told.output is not None:
        check_output(told.output, config, cast("dict[str, Any]", read_yaml(original, str(config))), source.config)
    with saying_when_compiling():
        table = read_table(load_policy(config, {"engine": {"order": None}}), source)
        report = study_leakage(table, asked, None if released is None else read_released(table.policy, released))
        suggestion = suggest_levels(table, report) if told.suggest else None
    text = None
    if suggestion is not None:
        text = with_lowest_levels(original, suggestion.levels, str(config))
    if told.page is not None:
        write_whole(told.page, leakage_page(report, suggestion, suggests=told.suggest).encode())
    if told.output is not None and text is not None:
        write_whole(told.output, text.encode())
    if told.as_json:
        found = report.document()
        if told.suggest:
            found["suggestion"] = None if suggestion is None else suggestion.document()
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        console = console_of(WIDTH, bounded=False)
        show(report, console)
        if told.suggest:
            show_suggestion(table.policy, report, suggestion, console)
        if text is not None and told.output is None:
            typer.echo("\n" + text, nl=False)
    if told.suggest:
        return 0 if suggestion is not None else 1
    return 0 if report.judged_well else 1


def show(report: LeakageReport, console: Console) -> None:
    """Print a report: a table for each size of sets, the leakiest first."""
    console.print(Text(_heading(report), style="bold"))
    for text in _remarks(report):
        console.print(Text(f"  {text}"))
    tables = {size: list(sets) for size, sets in groupby(report.sets, key=lambda each: len(each.attributes))}
    longest = max((len(_named(each)) for sets in tables.values() for each in sets[:SHOWN]), default=0)
    for size, sets in tables.items():
        _show_sets(size, sets, report.asked, min(max(longest, LEAST_NAMES), MOST_NAMES), console)
    _show_sensitive(report, console)
    if report.presence is not None:
        _show_presence(report.presence, console)
    if report.left:
        text = f"Not looked at: {report.left:,} sets, since --most {report.asked.most} was reached."
        console.print(Text(text, style="yellow"))
    if report.asked.threshold is not None:
        where = "" if report.released is None else " after the release"
        worst = sorted(report.above, key=lambda each: (len(each.attributes), -each.judged))
        _show_verdict(worst, ("leaks", "leak"), f"more than {exactly(report.asked.threshold)}", where, console)
    if report.asked.singled_out is not None:
        where = "" if report.released is None else " before the release"
        worst = sorted(report.singling_out, key=lambda each: (len(each.attributes), -each.unique))
        most = f"more than {exactly(report.asked.singled_out)} of the individuals"
        _show_verdict(worst, ("singles out", "single out"), most, where, console)


def _heading(report: LeakageReport) -> str:
    part = "" if report.whole else " (a sample)"
    return (
        f"{report.source}: {report.individuals:,} individuals in {report.records:,} records{part}; "
        f"{report.uncertainty:.2f} bits tell one from all others"
    )


def _remarks(report: LeakageReport) -> list[str]:
    found = []
    if report.rejected:
        found.append(f"{report.rejected:,} records do not fit the policy and are left out")
    if report.released is not None:
        found.append(f"released: {report.released:,} records, {report.suppressed:,} suppressed")
    if report.asked.disclosed:
        found.append(f"known already: {', '.join(report.asked.disclosed)}; what follows is told beyond that")
    return found


def _named(each: SetLeakage) -> str:
    return ", ".join(each.attributes)


def _show_sets(size: int, sets: list[SetLeakage], asked: LeakageRequest, width: int, console: Console) -> None:
    names = {1: "attribute", 2: "two attributes", 3: "three attributes"}
    shown = sets if size == 1 else sets[:SHOWN]
    after = shown[0].after is not None
    headings = ["bits", "leaked", *(["after"] if after else []), "singled out"]
    rows = [[f"{each.bits:.2f}", *each.shares(asked)] for each in shown]
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    # A table that is too wide would lose digits of its figures: names give way, which can be folded.
    room = console.width - sum(widths) - BAR - GAP * (len(widths) + 1)
    table = Table.grid(padding=(0, GAP))
    table.add_column(overflow="fold", width=max(min(width, room), LEAST_NAMES))
    for figures in widths:
        table.add_column(justify="right", no_wrap=True, min_width=figures)
    table.add_column(no_wrap=True, width=BAR)
    table.add_row(*(Text(text, style="bold") for text in (names.get(size, f"{size} attributes"), *headings, "")))
    for each, row in zip(shown, rows, strict=True):
        table.add_row(*map(Text, (_named(each), *row, _bar(each))))
    console.print()
    console.print(table)
    if len(sets) > len(shown):
        console.print(Text(f"and {len(sets) - len(shown):,} more sets of {size}: --json lists them", style="dim"))


def _show_sensitive(report: LeakageReport, console: Console) -> None:
    """Print what is given away of sensitive attributes: by the true values, and by classes of the release."""
    rows = [(f"{each.attribute}, before", *cells(each.before)) for each in report.sensitive]
    rows += [(f"{name}, after", *cells(found)) for name, found in report.disclosed.items()]
    if not rows:
        return
    _show_rows(("sensitive attribute", *COLUMNS), rows, console)
    for text in warnings(report.disclosed):
        console.print(Text(f"warning: {text}", style="yellow"))


def _show_presence(found: PresenceLeakage, console: Console) -> None:
    """Print how many of those of the population who fit a class are in it."""
    _show_rows(("presence", *PRESENCE_COLUMNS), found.rows, console)
    console.print(Text(found.in_words, style="yellow" if found.too_many else ""))


def _show_rows(headings: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    table = Table.grid(padding=(0, GAP))
    table.add_column(overflow="fold", min_width=LEAST_NAMES)
    for figures in zip(headings[1:], *(row[1:] for row in rows), strict=True):
        table.add_column(justify="right", no_wrap=True, min_width=max(map(len, figures)))
    table.add_row(*(Text(text, style="bold") for text in headings))
    for row in rows:
        table.add_row(*map(Text, row))
    console.print()
    console.print(table)


def _bar(each: SetLeakage) -> str:
    """Return what leaks as a bar; the part that a release holds back is drawn light."""
    before = round(each.normalized * BAR)
    if each.after is None:
        return "█" * before
    after = round(each.after[1] * BAR)
    return "█" * after + "░" * max(0, before - after)


def _show_verdict(worst: list[SetLeakage], verb: tuple[str, str], bound: str, where: str, console: Console) -> None:
    """Print how many sets are above a bound, and the worst of them, which comes first."""
    one, several = verb
    if not worst:
        console.print(Text(f"No set {one} {bound}{where}.", style="bold green"))
        return
    many = len(worst) > 1
    sets = f"{len(worst):,} sets {several}" if many else f"One set {one}"
    text = f"{sets} {bound}{where}{', first of all' if many else ''}: {_named(worst[0])}."
    console.print(Text(text, style="bold red"))


def show_suggestion(policy: Policy, report: LeakageReport, found: Suggestion | None, console: Console) -> None:
    """Print which lowest levels suffice and what they cost."""
    console.print()
    if found is None:
        console.print(Text("No levels suffice: some set leaks too much at the highest allowed levels.", "bold red"))
        fixed = [attribute.name for attribute in policy.quasi_identifiers if not attribute.publishes_nodes]
        if fixed:
            console.print(Text(f"  not raised, since no nodes are published: {', '.join(fixed)}"))
        return
    if not found.levels:
        console.print(Text("Suggested: nothing has to be raised.", style="bold green"))
        return
    console.print(Text("Suggested", style="bold"))
    for name, level in found.levels.items():
        text = f"  {name}: min_level {level} of {found.heights[name]} instead of {found.before[name]}"
        console.print(Text(text))
    if found.highest is not None:
        threshold = exactly(report.asked.threshold or 0.0)
        text = f"  then no ranked set leaks more than {threshold}, at most {found.most(report)}"
        console.print(Text(text))
    console.print(Text(f"  least loss (mean NCP): {found.loss:.4f} instead of {found.loss_before:.4f}"))
    if not found.optimal:
        console.print(Text("  the search was cut short: other levels may lose less", style="yellow"))
