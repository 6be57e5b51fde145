"""The report of `stream-anon leakage` as a page: one file without a script, that asks for nothing from anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from stream_anon.operations.disclosures import COLUMNS, cells, warnings
from stream_anon.operations.leakage.study import LeakageReport, SetLeakage
from stream_anon.operations.leakage.suggestion import Lowered, Suggestion
from stream_anon.pages.report import Row, closed, opened, table
from stream_anon.rounding import exactly

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
        yield f"<span{colour}>{len(report.above):,} sets leak more than {exactly(report.asked.threshold)}.</span>"
    if report.asked.singled_out is not None:
        colour = ' class="bad"' if report.singling_out else ""
        most = f"more than {exactly(report.asked.singled_out)} of the individuals"
        yield f"<span{colour}>{len(report.singling_out):,} sets single out {most}.</span>"


def _suggested(report: LeakageReport, found: Suggestion | None) -> Iterator[str]:
    threshold = exactly(report.asked.threshold or 0.0)
    yield '<section id="suggested">\n<h2>Suggested levels</h2>'
    if found is None:
        yield '<p class="bad">No levels suffice: some set leaks too much at the highest allowed ones.</p></section>'
        return
    if not found.levels:
        yield "<p>Nothing has to be raised.</p></section>"
        return
    yield (
        f"<p>With these lowest levels no ranked set leaks more than {threshold}, at most "
        f"{found.most(report)}. Least loss (mean NCP): {found.loss:.4f} instead of {found.loss_before:.4f}.</p>"
    )
    if not found.optimal:
        yield '<p class="bad">The search was cut short: other levels may lose less.</p>'
    raised = [
        _lowered(report, each, [str(of[name]) for of in (found.levels, found.before, found.heights)])
        for each in found.raised
        for name in each.attributes
    ]
    yield from table(["attribute", "min_level", "instead of", "highest", "bits", "then"], raised)
    yield f"<h2>Sets that leaked more than {threshold}</h2>"
    yield from table(["attributes", "bits", "then"], [_lowered(report, each) for each in found.sets[:SHOWN]])
    yield from _more(len(found.sets))
    yield (
        '<p class="faint">bits: what the true values leak. then: what is left if nothing finer is published than '
        "these levels. The dark part of a bar is what is left.</p></section>"
    )


def _lowered(report: LeakageReport, each: Lowered, levels: Sequence[str] = ()) -> Row:
    scale = report.uncertainty or 1.0
    told, parts = _bar(each.before / scale, each.after / scale, "on the suggested levels")
    return Row((", ".join(each.attributes), *levels, f"{each.before:.2f}", f"{each.after:.2f}"), parts, told)


def _more(sets: int) -> Iterator[str]:
    if sets > SHOWN:
        yield f'<p class="faint">and {sets - SHOWN:,} more; --json lists them</p>'


def _bar(before: float, after: float | None, where: str) -> tuple[str, list[tuple[str, float]]]:
    """Return a bar of what leaks, in words and parts; the dark one is what leaks after something was done."""
    told = f"{100 * before:.1f} % leaked"
    if after is None:
        return told, [("after", before)]
    return f"{told}, {100 * after:.1f} % {where}", [("before", before), ("after", after)]


def _section(report: LeakageReport, size: int, sets: list[SetLeakage]) -> Iterator[str]:
    yield f"<section>\n<h2>{'Single attributes' if size == 1 else f'Sets of {size}'}</h2>"
    after = ["after"] if report.released is not None else []
    headings = ["attributes", "bits", "leaked", *after, "singled out"]
    yield from table(headings, [_row(report, each) for each in sets[:SHOWN]])
    yield from _more(len(sets))
    yield "</section>"


def _sensitive(report: LeakageReport) -> Iterator[str]:
    """Yield what is given away of sensitive attributes, before and after the release."""
    if not report.sensitive:
        return
    rows = [
        Row((each.attribute, when, *cells(found)))
        for each in report.sensitive
        for when, found in (("before", each.before), ("after", each.after))
        if found is not None
    ]
    yield "<section>\n<h2>Sensitive attributes</h2>"
    yield from table(("attribute", "release", *COLUMNS), rows, texts=2)
    yield from (f'<p class="bad">{escape(text)}.</p>' for text in warnings(report.disclosed))
    yield "</section>"


def _row(report: LeakageReport, each: SetLeakage) -> Row:
    threshold = report.asked.threshold
    told, parts = _bar(each.normalized, None if each.after is None else each.after[1], "after the release")
    cells = (", ".join(each.attributes), f"{each.bits:.2f}", *each.shares(report.asked))
    return Row(cells, parts, told, loud=threshold is not None and each.judged > threshold)
