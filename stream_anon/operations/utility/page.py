"""The report of `stream-anon utility` as a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from stream_anon.operations.pages import bar, closed, opened
from stream_anon.operations.utility.learning import ClassifierReport, LearningReport
from stream_anon.operations.utility.report import UtilityReport

Rows = Iterable[tuple[str, list[str]]]


def utility_page(report: UtilityReport) -> str:
    """Return the page; it names what the policy declares and the files, and holds no value of anybody."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: UtilityReport) -> Iterator[str]:
    yield from opened(f"Utility of releases of {report.source}", f"What releases of {report.source} keep and lose")
    yield f"<p>{report.records:,} records; the policy asks for k = {report.k}.</p>"
    if report.learning is not None:
        yield from _learning(report, report.learning)
    yield from _table("Measures", ["measure", *report.names], report.measures())
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


def _learning(report: UtilityReport, learning: LearningReport) -> Iterator[str]:
    title = f"Accuracy of classifiers for {learning.label}"
    yield from _table(title, ["classifier", "original", *report.names], report.learned())
    yield from (f'<p class="faint">{escape(remark)}</p>' for remark in report.remarks())
    yield '<section>\n<h2>Accuracy kept</h2>\n<table class="bars">'
    yield "<tr><th>classifier</th><th>trained on</th><th>kept</th><th></th></tr>"
    for each in learning.classifiers:
        yield from _bars(each, report.names, learning)
    yield "</table>\n</section>"


def _bars(each: ClassifierReport, names: list[str], learning: LearningReport) -> Iterator[str]:
    for name, own in zip(names, each.releases, strict=True):
        kept = learning.kept(own, each.baseline)
        told = "-" if kept is None else f"{kept:.0%}"
        drawn = "" if kept is None else bar(f"{told} kept", [("after", min(max(kept, 0.0), 1.0))])
        yield f"<tr><td>{escape(each.name)}</td><td>{escape(name)}</td><td>{told}</td><td>{drawn}</td></tr>"
