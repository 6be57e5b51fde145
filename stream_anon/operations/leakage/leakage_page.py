"""The report of `stream-anon leakage` as a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from stream_anon.operations.disclosures import COLUMNS, cells, warnings
from stream_anon.operations.leakage.leakage_study import LeakageReport, SetLeakage
from stream_anon.operations.leakage.presence_shares import COLUMNS as PRESENCE_COLUMNS
from stream_anon.operations.leakage.presence_shares import PresenceLeakage
from stream_anon.operations.leakage.suggestion import Lowered, Suggestion
from stream_anon.pages.tables import PageTable, Row
from stream_anon.pages.templates import rendered
from stream_anon.rounding import exactly


def leakage_page(report: LeakageReport, suggestion: Suggestion | None = None, *, suggests: bool = False) -> str:
    """Return the page; it names what the policy declares and the source, and holds no value of anybody.

    Parameters
    ----------
    suggestion
        The lowest levels that suffice; None if none do, or if `suggests` says that none were looked for.
    """
    return rendered(
        "operations/leakage/leakage_page.html.j2",
        report=report,
        suggests=suggests,
        suggestion=suggestion,
        raised=suggestion and _raised(report, suggestion),
        lowered=suggestion and _lowered_sets(report, suggestion),
        sets=[_sets(report, *group) for group in groupby(report.sets, key=lambda each: len(each.attributes))],
        sensitive=_sensitive(report),
        warnings=warnings(report.disclosed),
        presence=report.presence and _presence(report.presence),
    )


def _raised(report: LeakageReport, found: Suggestion) -> PageTable:
    rows = [
        _lowered(report, each, [str(of[name]) for of in (found.levels, found.before, found.heights)])
        for each in found.raised
        for name in each.attributes
    ]
    return PageTable("Suggested levels", ["attribute", "min_level", "instead of", "highest", "bits", "then"], rows)


def _lowered_sets(report: LeakageReport, found: Suggestion) -> PageTable:
    rows = [_lowered(report, each) for each in found.sets]
    remark = (
        "bits: what the true values leak. then: what is left if nothing finer is published than the suggested "
        "levels. The strong part of a bar is what is left."
    )
    title = f"Sets that leaked more than {exactly(report.asked.threshold or 0.0)}"
    return PageTable(title, ["attributes", "bits", "then"], rows, remarks=[remark])


def _lowered(report: LeakageReport, each: Lowered, levels: Sequence[str] = ()) -> Row:
    scale = report.uncertainty or 1.0
    told = (", ".join(each.attributes), *levels, f"{each.before:.2f}", f"{each.after:.2f}")
    return Row(told, each.before / scale, each.after / scale)


def _sets(report: LeakageReport, size: int, found: Iterable[SetLeakage]) -> PageTable:
    title = "Single attributes" if size == 1 else f"Sets of {size}"
    after = ["after"] if report.released is not None else []
    headings = ["attributes", "bits", "leaked", *after, "singled out"]
    return PageTable(title, headings, [_row(report, each) for each in found])


def _row(report: LeakageReport, each: SetLeakage) -> Row:
    threshold = report.asked.threshold
    told = (", ".join(each.attributes), f"{each.bits:.2f}", *each.shares(report.asked))
    before = None if each.after is None else each.normalized
    return Row(told, before, each.judged, loud=threshold is not None and each.judged > threshold)


def _sensitive(report: LeakageReport) -> PageTable:
    """Return what is given away of sensitive attributes, before and after the release."""
    rows = [
        Row((each.attribute, when, *cells(found)))
        for each in report.sensitive
        for when, found in (("before", each.before), ("after", each.after))
        if found is not None
    ]
    return PageTable("Sensitive attributes", ("attribute", "release", *COLUMNS), rows, texts=2)


def _presence(found: PresenceLeakage) -> PageTable:
    """Return how many of those who fit a class are in it, before and after the release."""
    rows = [Row(cells) for cells in found.rows]
    return PageTable("Presence", ("release", *PRESENCE_COLUMNS), rows)
