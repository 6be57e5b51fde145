"""The report of `stream-anon leakage` as a page: one file without a script, that asks for nothing from anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby

from stream_anon.operations.leakage.study import LeakageReport, SetLeakage
from stream_anon.operations.pages import bar, closed, opened

SHOWN = 100  # sets of a size


def leakage_page(report: LeakageReport) -> str:
    """Return the page; it names what the policy declares and the source, and holds no value of anybody."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: LeakageReport) -> Iterator[str]:
    yield from opened(f"Leakage of {report.source}", f"What attributes of {report.source} tell of people")
    part = "" if report.whole else " (a sample)"
    yield (
        f"<p>{report.individuals:,} individuals in {report.records:,} records{part}; "
        f"{report.uncertainty:.2f} bits tell one from all others.</p>"
    )
    yield from (f"<p>{text}</p>" for text in _remarks(report))
    for size, sets in groupby(report.sets, key=lambda each: len(each.attributes)):
        yield from _section(report, size, list(sets))
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


def _section(report: LeakageReport, size: int, sets: list[SetLeakage]) -> Iterator[str]:
    title = "Single attributes" if size == 1 else f"Sets of {size}"
    yield f'<section>\n<h2>{title}</h2>\n<table class="bars">'
    after = "<th>after</th>" if report.released is not None else ""
    yield f"<tr><th>attributes</th><th>bits</th><th>leaked</th>{after}<th>singled out</th><th></th></tr>"
    yield from (_row(report, each) for each in sets[:SHOWN])
    yield "</table>"
    if len(sets) > SHOWN:
        yield f'<p class="faint">and {len(sets) - SHOWN:,} more; --json lists them</p>'
    yield "</section>"


def _row(report: LeakageReport, each: SetLeakage) -> str:
    threshold = report.asked.threshold
    loud = ' class="bad"' if threshold is not None and each.judged > threshold else ""
    told = f"{100 * each.normalized:.1f} % leaked"
    if each.after is None:
        after, drawn = "", bar(told, [("after", each.normalized)])
    else:
        after = f"<td>{each.after[1]:.1%}</td>"
        told += f", {100 * each.after[1]:.1f} % after the release"
        drawn = bar(told, [("before", each.normalized), ("after", each.after[1])])
    return (
        f"<tr{loud}><td>{escape(', '.join(each.attributes))}</td><td>{each.bits:.2f}</td>"
        f"<td>{each.normalized:.1%}</td>{after}<td>{each.unique:.1%}</td><td>{drawn}</td></tr>"
    )
