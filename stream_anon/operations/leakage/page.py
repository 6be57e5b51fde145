"""The report of `stream-anon leakage` as a page: one file without a script, that asks for nothing from anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby

from stream_anon.operations.disclosures import COLUMNS, cells, warnings
from stream_anon.operations.leakage.study import LeakageReport, SetLeakage
from stream_anon.operations.leakage.suggestion import Lowered, Suggestion
from stream_anon.operations.pages import bar, closed, opened

SHOWN = 100  # sets of a size


def leakage_page(report: LeakageReport, suggestion: Suggestion | None = None, *, suggests: bool = False) -> str:
    """Return the page; it names what the policy declares and the source, and holds no value of anybody.

    Parameters
    ----------
    suggestion
        The lowest levels that suffice; None if none do, or if `suggests` says that none were looked for.
    """
    return "\n".join(_lines(report, suggestion, suggests=suggests)) + "\n"


def _lines(report: LeakageReport, suggestion: Suggestion | None, *, suggests: bool) -> Iterator[str]:
    yield from opened(f"Leakage of {report.source}", f"What attributes of {report.source} tell of people")
    part = "" if report.whole else " (a sample)"
    yield (
        f"<p>{report.individuals:,} individuals in {report.records:,} records{part}; "
        f"{report.uncertainty:.2f} bits tell one from all others.</p>"
    )
    yield from (f"<p>{text}</p>" for text in _remarks(report))
    if suggests:
        yield from _suggested(report, suggestion)
    for size, sets in groupby(report.sets, key=lambda each: len(each.attributes)):
        yield from _section(report, size, list(sets))
    yield from _sensitive(report)
    yield '<p class="faint">leaked: the share of these bits that an attacker gains who knows the attributes. '
    yield "singled out: individuals with values that no other person has, in the records before a release.</p>"
    yield from closed()


def _remarks(report: LeakageReport) -> Iterator[str]:
    if report.asked.disclosed:
        yield f"Known already: {escape(', '.join(report.asked.disclosed))}. All figures are beyond that."
    if report.rejected:
        yield f"{report.rejected:,} records do not fit the policy and are left out."
    if report.released is not None:
        yield (
            f"Released: {report.released:,} records, {report.suppressed:,} suppressed. The dark part of a bar is "
            "what leaks after the release, the light part what it holds back."
        )
    if report.left:
        yield f"{report.left:,} sets were not looked at: the bound of {report.asked.most:,} was reached."
    if report.asked.threshold is not None:
        colour = ' class="bad"' if report.above else ""
        yield f"<span{colour}>{len(report.above):,} sets leak more than {report.asked.threshold:.1%}.</span>"
    if report.asked.singled_out is not None:
        colour = ' class="bad"' if report.singling_out else ""
        most = f"more than {report.asked.singled_out:.1%} of the individuals"
        yield f"<span{colour}>{len(report.singling_out):,} sets single out {most}.</span>"


def _suggested(report: LeakageReport, found: Suggestion | None) -> Iterator[str]:
    yield '<section id="suggested">\n<h2>Suggested levels</h2>'
    if found is None:
        yield '<p class="bad">No levels suffice: some set leaks too much at the highest allowed ones.</p></section>'
        return
    if not found.levels:
        yield "<p>Nothing has to be raised.</p></section>"
        return
    yield (
        f"<p>With these lowest levels no ranked set leaks more than {report.asked.threshold:.1%}, at most "
        f"{found.highest:.1%}. Least loss (mean NCP): {found.loss:.4f} instead of {found.loss_before:.4f}.</p>"
    )
    if not found.optimal:
        yield '<p class="bad">The search was cut short: other levels may lose less.</p>'
    yield "<table>\n<tr><th>attribute</th><th>min_level</th><th>instead of</th><th>highest</th>"
    yield "<th>bits</th><th>then</th><th></th></tr>"
    for each in found.raised:
        (name,) = each.attributes
        levels = "".join(f"<td>{of[name]}</td>" for of in (found.levels, found.before, found.heights))
        yield _lowered(report, each, levels)
    yield "</table>"
    yield f"<h2>Sets that leaked more than {report.asked.threshold:.1%}</h2>"
    yield "<table>\n<tr><th>attributes</th><th>bits</th><th>then</th><th></th></tr>"
    yield from (_lowered(report, each) for each in found.sets[:SHOWN])
    yield "</table>"
    yield from _more(len(found.sets))
    yield (
        '<p class="faint">bits: what the true values leak. then: what is left if nothing finer is published than '
        "these levels. The dark part of a bar is what is left.</p></section>"
    )


def _lowered(report: LeakageReport, each: Lowered, more: str = "") -> str:
    scale = report.uncertainty or 1.0
    drawn = _bar(each.before / scale, each.after / scale, "on the suggested levels")
    return (
        f"<tr><td>{escape(', '.join(each.attributes))}</td>{more}<td>{each.before:.2f}</td>"
        f"<td>{each.after:.2f}</td><td>{drawn}</td></tr>"
    )


def _more(sets: int) -> Iterator[str]:
    if sets > SHOWN:
        yield f'<p class="faint">and {sets - SHOWN:,} more; --json lists them</p>'


def _bar(before: float, after: float | None, where: str) -> str:
    """Return a bar of what leaks of all; its dark part is what still leaks after something was done."""
    told = f"{100 * before:.1f} % leaked"
    if after is None:
        return bar(told, [("after", before)])
    return bar(f"{told}, {100 * after:.1f} % {where}", [("before", before), ("after", after)])


def _section(report: LeakageReport, size: int, sets: list[SetLeakage]) -> Iterator[str]:
    title = "Single attributes" if size == 1 else f"Sets of {size}"
    yield f'<section>\n<h2>{title}</h2>\n<table class="bars">'
    after = "<th>after</th>" if report.released is not None else ""
    yield f"<tr><th>attributes</th><th>bits</th><th>leaked</th>{after}<th>singled out</th><th></th></tr>"
    yield from (_row(report, each) for each in sets[:SHOWN])
    yield "</table>"
    yield from _more(len(sets))
    yield "</section>"


def _sensitive(report: LeakageReport) -> Iterator[str]:
    """Yield what is given away of sensitive attributes, before and after the release."""
    if not report.sensitive:
        return
    yield "<section>\n<h2>Sensitive attributes</h2>\n<table>"
    headings = "".join(f"<th>{heading}</th>" for heading in ("attribute", "release", *COLUMNS))
    yield f"<tr>{headings}</tr>"
    for each in report.sensitive:
        for when, found in (("before", each.before), ("after", each.after)):
            if found is not None:
                written = "".join(f"<td>{escape(cell)}</td>" for cell in (each.attribute, when, *cells(found)))
                yield f"<tr>{written}</tr>"
    yield "</table>"
    yield from (f'<p class="bad">{escape(text)}.</p>' for text in warnings(report.disclosed))
    yield "</section>"


def _row(report: LeakageReport, each: SetLeakage) -> str:
    threshold = report.asked.threshold
    loud = ' class="bad"' if threshold is not None and each.judged > threshold else ""
    after = "" if each.after is None else f"<td>{each.after[1]:.1%}</td>"
    drawn = _bar(each.normalized, None if each.after is None else each.after[1], "after the release")
    return (
        f"<tr{loud}><td>{escape(', '.join(each.attributes))}</td><td>{each.bits:.2f}</td>"
        f"<td>{each.normalized:.1%}</td>{after}<td>{each.unique:.1%}</td><td>{drawn}</td></tr>"
    )
