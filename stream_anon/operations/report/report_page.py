"""The report as a page that stands alone, as a PDF of it, and as the figures of an impact assessment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_anon.errors import SettingsError
from stream_anon.extras import require
from stream_anon.operations.report.figures.risks import in_words, risk_in_percent
from stream_anon.operations.report.frameworks import OF_RELEASE, SECTIONS
from stream_anon.operations.report.loss_curve import loss_curve
from stream_anon.operations.report.report_tables import percent, tables_of
from stream_anon.pages.templates import rendered


def report_page(document: Mapping[str, Any]) -> str:
    """Return the page of a report; see `report_document.document_of`."""
    return rendered(
        "operations/report/report_page.html.j2",
        told=document,
        titles=SECTIONS,
        of_release=OF_RELEASE,
        threshold=in_words(document["risks"]["threshold"]),
        percent=percent,
        statement=statement(document),
        curve=loss_curve(document["loss"]["over_time"], document["loss"]["stretch_seconds"]),
        **tables_of(document),
    )


def assessment(document: Mapping[str, Any]) -> str:
    """Return a data protection impact assessment in Markdown, filled in as far as figures go."""
    threshold = in_words(document["risks"]["threshold"])
    text = rendered(
        "operations/report/dpia.md.j2",
        told=document,
        threshold=threshold,
        percent=percent,
        risk=lambda share: risk_in_percent(share, document["risks"]["threshold"]),
        statement=statement(document),
    )
    return text.replace("&#39;", "'").replace("&#34;", '"')  # which need no escape in Markdown


def statement(document: Mapping[str, Any]) -> str:
    """Return what a report comes to, in words that promise no more than was found."""
    risks, audit = document["risks"], document["audit"]
    threshold = in_words(risks["threshold"])
    if not document["records"]["windows"]:
        return "No window closed in this period."
    whose = "record" if document["classes"]["windows_counting_records"] else "person"
    found = "The audit found no violation." if audit["clean"] else "The audit found violations."
    if _too_often(document):
        found += " Somebody was released more often than privacy.returning allows."
    if risks["threshold"] is None:
        return f"{found} No risk was bounded: nothing is asked of all quasi-identifiers together."
    if not risks["holds"]:
        return f"{found} The risk that a {whose} is found by quasi-identifiers is above {threshold}."
    whole = f"{found} In no window is the risk that a {whose} is found by quasi-identifiers above {threshold}"
    told = max((one["highest"] or 0.0 for one in risks["after"]), default=0.0)
    if told > risks["threshold"]:  # of who tells counterfeits from people
        shown = risk_in_percent(told, risks["threshold"])
        return f"{whole} by whoever takes counterfeits for people. By who tells these it is up to {shown}."
    return f"{whole}."


def _too_often(document: Mapping[str, Any]) -> bool:
    returning = document["returning"]
    periods = [] if returning is None or returning["releases"] is None else returning["releases"]["periods"]
    return any(one["releases"] > returning["most"] for period in periods for one in period["people"])


def require_pdf() -> None:
    """Raise `SettingsError` if weasyprint or what it needs is missing: better before an audit than after it."""
    require("--pdf", "weasyprint")
    try:
        from weasyprint import HTML  # noqa: F401 - what matters is whether it can be loaded
    except OSError:
        raise SettingsError(
            "--pdf", "needs Pango, which weasyprint draws texts with: apt-get install libpangoft2-1.0-0"
        ) from None


def report_pdf(page: str) -> bytes:
    """Return a page as a PDF.

    Raises
    ------
    SettingsError
        As `require_pdf` does.
    """
    require_pdf()
    from weasyprint import HTML
    from weasyprint.urls import URLFetcher

    # The page asks for nothing from anywhere: were there something, it would be an error, and not be fetched.
    nothing = URLFetcher(allowed_protocols=(), fail_on_errors=True)
    drawn: bytes = HTML(string=page, url_fetcher=nothing).write_pdf()
    return drawn
