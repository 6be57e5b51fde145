"""`stream-anon utility`: what releases keep and lose, beside each other. No value is printed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console

from stream_anon.adapters.clock import SystemClock
from stream_anon.cli.printing import print_figures, print_remarks
from stream_anon.cli.progress_bars import counting
from stream_anon.errors import SettingsError
from stream_anon.extras import require
from stream_anon.formats.tables.new_files import write_whole
from stream_anon.operations.samples import SampleSource
from stream_anon.operations.studied_records import LabelBook, OriginalTable, Released, read_released, read_table
from stream_anon.operations.utility.classifier_scores import LearningReport, study_learning
from stream_anon.operations.utility.classifiers import CLASSIFIERS, SEARCH, Effort
from stream_anon.operations.utility.release_risks import RiskRequest, study_risks
from stream_anon.operations.utility.utility_page import utility_page
from stream_anon.operations.utility.utility_report import UtilityReport
from stream_anon.operations.utility.utility_study import study_utility
from stream_anon.settings.policy_file import load_policy


@dataclass(frozen=True, slots=True)
class ClassifierTask:
    """What classifiers shall learn.

    Parameters
    ----------
    label
        The attribute that they shall say.
    test
        A file of original records that are in no other; None for the original ones themselves.
    seconds
        For the training of each.
    search
        Whether settings of classifiers are searched too, in the same time.
    """

    label: str
    test: str | None = None
    seconds: float = 10.0
    search: bool = False

    @property
    def classifiers(self) -> list[str]:
        """Return the names of the classifiers."""
        return [*CLASSIFIERS, *([SEARCH] if self.search else [])]


@dataclass(frozen=True, slots=True)
class UtilityRequest:
    """What is asked of the releases, and how the report is shown.

    Parameters
    ----------
    seed
        Seed of everything that is drawn.
    lesson
        None where classifiers shall learn nothing.
    collapse_levels
        Whether distances and Prec count levels that part the original values alike as one.
    as_json, page
        As JSON instead of tables, and as a page too.
    """

    seed: int
    risk: RiskRequest
    lesson: ClassifierTask | None
    collapse_levels: bool
    as_json: bool
    page: Path | None


def utility(config: Path, original: str, released: Sequence[Path], asked: UtilityRequest) -> int:
    """Print what releases of a file keep and lose, their risks, and how well classifiers learn from them; return 0.

    Raises
    ------
    SettingsError, InputError
        If policy, options or files are wrong, or scikit-learn is needed and not installed (exit code 2).
    """
    lesson, seed = asked.lesson, asked.seed
    if lesson is not None:
        require("--label", "sklearn")  # before files are read, which takes a while
    policy = load_policy(config, {"engine": {"order": None}})
    book = None if lesson is None else LabelBook(policy, lesson.label)
    table = read_table(policy, SampleSource(original, config), book)
    # What is released later than the original is read has no label of its own.
    releases = [read_released(policy, path, book) for path in released]
    test = None
    if lesson is not None and lesson.test is not None:
        test = read_table(policy, SampleSource(lesson.test, config), book)
    collapse = asked.collapse_levels
    found = tuple(study_utility(table, each, seed, collapse_levels=collapse) for each in releases)
    risk = study_risks(table, releases, asked.risk)
    learning = None if lesson is None else _learning(table, releases, test, lesson, seed)
    report = UtilityReport(table.source, table.population.rows, policy.k, seed, found, risk, learning, collapse)
    if asked.page is not None:
        write_whole(asked.page, utility_page(report).encode())
    if asked.as_json:
        typer.echo(json.dumps(report.document(), indent=2, ensure_ascii=False))
    else:
        show(report, Console(highlight=False, markup=False))
    return 0


def lesson_of(label: str | None, test: str | None, seconds: float, *, search: bool) -> ClassifierTask | None:
    """Return what classifiers shall learn, None without a label; SettingsError if an option needs one."""
    if label is None:
        if test is not None or search:
            raise SettingsError("--test" if test is not None else "--search", "needs --label NAME")
        return None
    if search:
        require("--search", "flaml", "lightgbm", "xgboost")
    return ClassifierTask(label, test, seconds, search)


def _learning(
    table: OriginalTable,
    releases: Sequence[Released],
    test: OriginalTable | None,
    lesson: ClassifierTask,
    seed: int,
) -> LearningReport:
    effort = Effort(lesson.seconds, seed, SystemClock())
    console = Console(stderr=True, highlight=False, markup=False)
    with counting("training", len(lesson.classifiers) * (1 + len(releases)), console) as progress:
        return study_learning(table, releases, test, lesson.classifiers, lesson.label, effort, progress)


def show(report: UtilityReport, console: Console) -> None:
    """Print a report: a table of measures, one of risks, of attributes, of pairs, and of classifiers."""
    print_figures(console, ["measure", *report.names], report.measures())
    print_remarks(console, report.measure_remarks())
    print_figures(console, ["risk", "original", *report.names], report.risks())
    print_remarks(console, report.risk_remarks())
    print_figures(console, ["information kept of", *report.names], report.attributes())
    print_figures(console, ["information / dependence kept of", *report.names], report.pairs())
    if report.learning is not None:
        print_figures(
            console, [f"accuracy for {report.learning.label}", "original", *report.names], report.learned()
        )
        print_remarks(console, report.remarks(), end="")
