"""The report of `stream-anon utility` as a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from stream_anon.operations.pages import bar, closed, opened
from stream_anon.operations.utility.learning import LearningReport
from stream_anon.operations.utility.report import SHORT, UtilityReport, percent

Rows = Iterable[tuple[str, list[str]]]
Bar = tuple[tuple[str, ...], list[tuple[str, float]]]
"""The cells of a row, and the parts of its bar."""


def utility_page(report: UtilityReport) -> str:
    """Return the page; it names what the policy declares and the files, and holds no value of anybody."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: UtilityReport) -> Iterator[str]:
    yield from opened(f"Utility of releases of {report.source}", f"What releases of {report.source} keep and lose")
    yield f"<p>{report.records:,} records; the policy asks for k = {report.k}.</p>"
    yield from _kept(report)
    yield from _risk(report)
    if report.learning is not None:
        yield from _learning(report, report.learning)
    yield from _table("Measures", ["measure", *report.names], report.measures())
    yield from _remarks(report.measure_remarks())
    yield from _table("Information kept of each attribute", ["attribute", *report.names], report.attributes())
    yield from _table(
        "Information and dependence kept of pairs that lose most", ["pair", *report.names], report.pairs()
    )
    yield from closed()


def _table(title: str, headings: list[str], rows: Rows) -> Iterator[str]:
    rows = list(rows)
    if not rows:
        return
    yield f"<section>\n<h2>{escape(title)}</h2>\n<table>"
    yield "<tr>" + "".join(f"<th>{escape(heading)}</th>" for heading in headings) + "</tr>"
    for name, cells in rows:
        yield f"<tr><td>{escape(name)}</td>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    yield "</table>\n</section>"


def _remarks(remarks: Iterable[str]) -> Iterator[str]:
    yield from (f'<p class="faint">{escape(remark)}</p>' for remark in remarks)


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
    yield from _table("Risk", ["risk", "original", *report.names], report.risks())
    yield from _remarks(report.risk_remarks())
    yield from _bars(
        "Risk before and after",
        ("risk", "release", "before", "after"),
        (
            ((risk, name, percent(before), percent(share)), [("before", before), *_after(share)])
            for risk, (before, *after) in report.dangers()
            for name, share in zip(report.names, after, strict=True)
        ),
    )
    yield '<p class="faint">Light: the risk before the release. Dark: the risk after it.</p>'


def _learning(report: UtilityReport, learning: LearningReport) -> Iterator[str]:
    title = f"Accuracy of classifiers for {learning.label}"
    yield from _table(title, ["classifier", "original", *report.names], report.learned())
    yield from _remarks(report.remarks())
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


def _bars(title: str, headings: Sequence[str], rows: Iterable[Bar]) -> Iterator[str]:
    """Yield a table whose last column has bars; without a part there is nothing to draw."""
    yield f'<section>\n<h2>{escape(title)}</h2>\n<table class="bars">'
    yield "<tr>" + "".join(f"<th>{escape(heading)}</th>" for heading in headings) + "<th></th></tr>"
    for cells, parts in rows:
        told = ", ".join(f"{heading}: {cell}" for heading, cell in zip(headings, cells, strict=True))
        drawn = bar(told, parts) if parts else ""
        yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + f"<td>{drawn}</td></tr>"
    yield "</table>\n</section>"
