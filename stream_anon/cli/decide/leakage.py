"""`stream-anon leakage`: what attributes tell of people, before and after a release. No value is printed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stream_anon.adapters.tables.format_names import Format
from stream_anon.adapters.tables.new_files import NewFile
from stream_anon.cli.compiling import saying_when_compiling
from stream_anon.operations.leakage.page import leakage_page
from stream_anon.operations.leakage.study import LeakageReport, LeakageRequest, SetLeakage, study_leakage
from stream_anon.operations.leakage.tables import read_released, read_table, read_topic_sample
from stream_anon.settings.policy_file import load_policy

SHOWN = 10  # sets of a size that are printed
WIDTH = 100
BAR = 24
LEAST_NAMES, MOST_NAMES = 16, 44  # characters of the column of names


@dataclass(frozen=True, slots=True)
class Presentation:
    """How the report is told: as JSON instead of tables, and as a page in a file."""

    as_json: bool = False
    page: Path | None = None


def leakage(
    config: Path,
    source: str | None,
    released: Path | None,
    asked: LeakageRequest,
    standard: Format,
    told: Presentation,
) -> int:
    """Print what sets of attributes leak; return 1 if one leaks more than the threshold allows, else 0.

    Parameters
    ----------
    source
        A file of records; None for a sample of the input topics.
    released
        A file of what was released of it.
    """
    with saying_when_compiling():
        if source is None:
            table = read_topic_sample(config)
        else:
            table = read_table(load_policy(config, {"engine": {"order": None}}), source, standard)
        report = study_leakage(table, asked, None if released is None else read_released(table.policy, released))
    if told.page is not None:
        with NewFile(str(told.page)) as new:
            new.file.write(leakage_page(report).encode())
            new.publish()
    if told.as_json:
        typer.echo(json.dumps(report.document(), indent=2, ensure_ascii=False))
    else:
        console = Console(highlight=False, markup=False)
        show(report, Console(highlight=False, markup=False, width=WIDTH if not console.is_terminal else None))
    return 1 if report.above else 0


def show(report: LeakageReport, console: Console) -> None:
    """Print a report: a table for each size of sets, the leakiest first."""
    console.print(Text(_heading(report), style="bold"))
    for text in _remarks(report):
        console.print(Text(f"  {text}"))
    tables = {size: list(sets) for size, sets in groupby(report.sets, key=lambda each: len(each.attributes))}
    longest = max((len(_named(each)) for sets in tables.values() for each in sets[:SHOWN]), default=0)
    for size, sets in tables.items():
        _show_sets(size, sets, min(max(longest, LEAST_NAMES), MOST_NAMES), console)
    if report.left:
        text = f"Not looked at: {report.left:,} sets, since --most {report.asked.most} was reached."
        console.print(Text(text, style="yellow"))
    if report.asked.threshold is not None:
        _show_verdict(report, report.asked.threshold, console)


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


def _show_sets(size: int, sets: list[SetLeakage], width: int, console: Console) -> None:
    names = {1: "attribute", 2: "two attributes", 3: "three attributes"}
    shown = sets if size == 1 else sets[:SHOWN]
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold", width=width)
    after = shown[0].after is not None
    headings = ["bits", "leaked", *(["after"] if after else []), "singled out"]
    for _ in headings:
        table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, width=BAR)
    table.add_row(*(Text(text, style="bold") for text in (names.get(size, f"{size} attributes"), *headings, "")))
    for each in shown:
        figures = [f"{each.bits:.2f}", f"{each.normalized:.1%}"]
        figures += [f"{each.after[1]:.1%}"] if each.after is not None else []
        cells = (_named(each), *figures, f"{each.unique:.1%}", _bar(each))
        table.add_row(*map(Text, cells))
    console.print()
    console.print(table)
    if len(sets) > len(shown):
        console.print(Text(f"and {len(sets) - len(shown):,} more sets of {size}: --json lists them", style="dim"))


def _bar(each: SetLeakage) -> str:
    """Return what leaks as a bar; what a release holds back of it is drawn light."""
    before = round(each.normalized * BAR)
    if each.after is None:
        return "█" * before
    after = round(each.after[1] * BAR)
    return "█" * after + "░" * max(0, before - after)


def _show_verdict(report: LeakageReport, threshold: float, console: Console) -> None:
    if not report.above:
        console.print(Text(f"No set leaks more than {threshold:.1%}.", style="bold green"))
        return
    where = "" if report.released is None else " after the release"
    smallest = min(report.above, key=lambda each: (len(each.attributes), -each.judged))
    many = len(report.above) > 1
    sets = f"{len(report.above):,} sets leak" if many else "One set leaks"
    text = f"{sets} more than {threshold:.1%}{where}{', first of all' if many else ''}: {_named(smallest)}."
    console.print(Text(text, style="bold red"))
