"""The report of `stream-anon utility` as a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stream_anon.microdata.bounds import k_in_words
from stream_anon.operations.utility.classifier_scores import LearningReport
from stream_anon.operations.utility.utility_report import SHORT, UtilityReport, percent
from stream_anon.pages.tables import PageTable, Row
from stream_anon.pages.templates import rendered


def utility_page(report: UtilityReport) -> str:
    """Return the page; it names what the policy declares and the files, and holds no value of anybody."""
    return rendered(
        "operations/utility/utility_page.html.j2",
        report=report,
        k=k_in_words(report.k),
        tables=[table for table in _tables(report) if table.rows],
    )


def _tables(report: UtilityReport) -> Iterator[PageTable]:
    names, learning = report.names, report.learning
    yield PageTable("Kept", ["measure", "release", "kept"], list(_kept(report)), texts=2)
    yield _figures("Risk", ["risk", "original", *names], report.risks(), report.risk_remarks())
    remark = "Faint: the risk before the release. Strong: the risk after it."
    headings = ["risk", "release", "before", "after"]
    yield PageTable("Risk before and after", headings, list(_risks(report)), texts=2, remarks=[remark])
    if learning is not None:
        title = f"Accuracy of classifiers for {learning.label}"
        yield _figures(title, ["classifier", "original", *names], report.learned(), report.remarks())
        headings = ["classifier", "trained on", "kept"]
        yield PageTable("Accuracy kept", headings, list(_accuracies(report, learning)), texts=2)
    yield _figures("Measures", ["measure", *names], report.measures(), report.measure_remarks())
    yield _figures("Information kept of each attribute", ["attribute", *names], report.attributes())
    title = "Information and dependence kept of pairs that lose most"
    yield _figures(title, ["pair", *names], report.pairs())


def _figures(
    title: str, headings: list[str], figures: Iterable[tuple[str, list[str]]], remarks: Iterable[str] = ()
) -> PageTable:
    return PageTable(title, headings, [Row((name, *cells)) for name, cells in figures], remarks=list(remarks))


def _kept(report: UtilityReport) -> Iterator[Row]:
    for measure, shares in report.kept():
        for name, share in zip(report.names, shares, strict=True):
            yield Row((measure, name, "-" if share is None else f"{share:.1%}"), after=share)


def _risks(report: UtilityReport) -> Iterator[Row]:
    for risk, (before, *after) in report.dangers():
        for name, share in zip(report.names, after, strict=True):
            yield Row((risk, name, percent(before), percent(share)), before, share)


def _accuracies(report: UtilityReport, learning: LearningReport) -> Iterator[Row]:
    for each in learning.classifiers:
        for name, own in zip(report.names, each.releases, strict=True):
            kept = learning.kept(own, each.baseline)
            told = "-" if kept is None else f"{kept:.0%}"
            if own.short or each.baseline.short:
                yield Row((each.name, name, told + SHORT), before=kept)
            else:
                yield Row((each.name, name, told), after=kept)
