"""The report of `stream-anon utility` as a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from stream_anon.microdata.bounds import k_in_words
from stream_anon.operations.utility.learning import LearningReport
from stream_anon.operations.utility.report import SHORT, UtilityReport, percent
from stream_anon.pages.report import Row, closed, flowing, opened, table

Rows = Iterable[tuple[str, list[str]]]
Bar = tuple[tuple[str, ...], list[tuple[str, float]]]
"""The cells of a row, and the parts of its bar."""


def utility_page(report: UtilityReport) -> str:
    """Return the page; it names what the policy declares and the files, and holds no value of anybody."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: UtilityReport) -> Iterator[str]:
    yield from opened(f"Utility of releases of {report.source}", f"What releases of {report.source} keep and lose")
    yield f"<p>{report.records:,} records; the policy asks for k = {k_in_words(report.k)}.</p>"
    yield from _kept(report)
    yield from _risk(report)
    if report.learning is not None:
        yield from _learning(report, report.learning)
    yield from _table("Measures", ["measure", *report.names], report.measures(), report.measure_remarks())
    yield from _table("Information kept of each attribute", ["attribute", *report.names], report.attributes())
    yield from _table(
        "Information and dependence kept of pairs that lose most", ["pair", *report.names], report.pairs()
    )
    yield from closed()


def _table(title: str, headings: list[str], rows: Rows, remarks: Iterable[str] = ()) -> Iterator[str]:
    found = [Row((name, *cells)) for name, cells in rows]
    if found:
        yield from _section(title, table(headings, found), remarks)


def _section(title: str, lines: Iterable[str], remarks: Iterable[str]) -> Iterator[str]:
    yield f"<section>\n<h2>{escape(title)}</h2>"
    yield from lines
    yield from (f'<p class="faint">{flowing(remark)}</p>' for remark in remarks)
    yield "</section>"


def _kept(report: UtilityReport) -> Iterator[str]:
    yield from _bars(
        "Kept",
        ("measure", "release", "kept"),
        (
            ((measure, name, "-" if share is None else f"{share:.1%}"), _after(share))
            for measure, shares in report.kept()
            for name, share in zip(report.names, shares, strict=True)
        ),
    )


def _risk(report: UtilityReport) -> Iterator[str]:
    yield from _table("Risk", ["risk", "original", *report.names], report.risks(), report.risk_remarks())
    yield from _bars(
        "Risk before and after",
        ("risk", "release", "before", "after"),
        (
            ((risk, name, percent(before), percent(share)), [("before", before), *_after(share)])
            for risk, (before, *after) in report.dangers()
            for name, share in zip(report.names, after, strict=True)
        ),
        ["Light: the risk before the release. Dark: the risk after it."],
    )


def _learning(report: UtilityReport, learning: LearningReport) -> Iterator[str]:
    title = f"Accuracy of classifiers for {learning.label}"
    yield from _table(title, ["classifier", "original", *report.names], report.learned(), report.remarks())
    yield from _bars(
        "Accuracy kept",
        ("classifier", "trained on", "kept"),
        (
            _accuracy(each.name, name, learning.kept(own, each.baseline), short=own.short or each.baseline.short)
            for each in learning.classifiers
            for name, own in zip(report.names, each.releases, strict=True)
        ),
    )


def _accuracy(classifier: str, name: str, kept: float | None, *, short: bool) -> Bar:
    told = "-" if kept is None else f"{kept:.0%}"
    return (classifier, name, told + (SHORT if short else "")), _after(kept, "before" if short else "after")


def _after(share: float | None, kind: str = "after") -> list[tuple[str, float]]:
    return [] if share is None else [(kind, min(max(share, 0.0), 1.0))]


def _bars(title: str, headings: Sequence[str], rows: Iterable[Bar], remarks: Iterable[str] = ()) -> Iterator[str]:
    """Yield a table of what, of which release, and figures, whose last column has bars."""
    found = [
        Row(cells, parts, ", ".join(f"{heading}: {cell}" for heading, cell in zip(headings, cells, strict=True)))
        for cells, parts in rows
    ]
    yield from _section(title, table(headings, found, texts=2), remarks)
