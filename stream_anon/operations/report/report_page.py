"""The report as a page that stands alone, as a PDF of it, and as the figures of an impact assessment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stream_anon.errors import SettingsError
from stream_anon.extras import require
from stream_anon.operations.disclosures import COLUMNS, cells, from_document
from stream_anon.operations.report.frameworks import OF_RELEASE, SECTIONS
from stream_anon.operations.report.loss_curve import loss_curve
from stream_anon.operations.report.risks import in_words, risk_in_percent
from stream_anon.pages.tables import PageTable, Row
from stream_anon.pages.templates import rendered
from stream_anon.rounding import exactly, in_percent

_MOST_VIOLATIONS = 100
_ASKED = {
    "recursive_c": "recursive_cl",
    "t": "t_closeness",
    "delta": "delta_disclosure",
    "beta": "beta_likeness",
}
"""What a figure that was achieved is called where it is asked, if otherwise."""


def report_page(document: Mapping[str, Any]) -> str:
    """Return the page of a report; see `report_document.document_of`."""
    return rendered(
        "operations/report/report_page.html.j2",
        told=document,
        titles=SECTIONS,
        of_release=OF_RELEASE,
        threshold=in_words(document["risks"]["threshold"]),
        fields=_fields(document),
        reasons=_reasons(document),
        sizes=_sizes(document),
        risks=_risks(document),
        criteria=_criteria(document),
        disclosed=_disclosed(document),
        losses=_losses(document),
        curve=loss_curve(document["loss"]["over_time"], document["loss"]["stretch_seconds"]),
        uses=_uses(document),
        policies=_policies(document),
        violations=_violations(document),
        attacks=_attacks(document),
        frameworks=_frameworks(document),
    )


def assessment(document: Mapping[str, Any]) -> str:
    """Return a data protection impact assessment in Markdown, filled in as far as figures go."""
    threshold = in_words(document["risks"]["threshold"])
    text = rendered("operations/report/dpia.md.j2", told=document, threshold=threshold)
    return text.replace("&#39;", "'").replace("&#34;", '"')  # which need no escape in Markdown


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


def _fields(told: Mapping[str, Any]) -> PageTable:
    rows = [Row((one["name"], one["role"], one["technique"])) for one in told["fields"]]
    return PageTable(SECTIONS["fields"], ("field", "role", "what is done to it"), rows, texts=3)


def _reasons(told: Mapping[str, Any]) -> PageTable:
    records = told["records"]
    rows = [
        Row((kind, reason, f"{count:,}"))
        for kind, counts in (
            ("suppressed", records["suppressed_by_reason"]),
            ("rejected", records["rejected_by_reason"]),
            ("ignored", records["ignored"]),
        )
        for reason, count in counts.items()
    ]
    return PageTable("Records that were not published", ("what became of them", "reason", "records"), rows, texts=2)


def _sizes(told: Mapping[str, Any]) -> PageTable:
    sizes, whole = told["classes"]["sizes"], max(1, told["classes"]["classes"])
    rows = [Row((f"{one['from']:,} or more", f"{one['classes']:,}"), after=one["classes"] / whole) for one in sizes]
    return PageTable(SECTIONS["classes"], ("people in a class", "classes"), rows)


def _risks(told: Mapping[str, Any]) -> PageTable:
    risks = told["risks"]
    bound = risks["threshold"]
    rows = [
        Row(
            (
                when,
                one["attacker"],
                risk_in_percent(one["highest"], bound),
                risk_in_percent(one["average"], bound),
                _share(one["above"]),
            ),
            loud=when == "after" and bound is not None and (one["highest"] or 0) > bound,
        )
        for when in ("before", "after")
        for one in risks[when] or ()
    ]
    remark = (
        "prosecutor: knows that somebody is in the release. journalist: knows that they are in the population. "
        "marketer: names somebody for every record; the share that is right."
    )
    headings = ("release", "attacker", "highest", "average", "people above the threshold")
    return PageTable(SECTIONS["risks"], headings, rows, texts=2, remarks=[remark])


def _criteria(told: Mapping[str, Any]) -> PageTable:
    rows = [Row(cells) for cells in criteria(told)]
    return PageTable(SECTIONS["sensitive"], ("what", "asked", "reached"), rows)


def criteria(told: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield each criterion of a report, what is asked, and what the worst class of the period reached."""
    smallest = told["classes"]["smallest"]
    yield "k: people in a class", _or_none(told["policy"]["k"]), _or_none(smallest)
    for one in told["shields"]:
        yield "shield on " + ", ".join(one["attributes"]), _or_none(one["asked"]), _or_none(one["achieved"])
    for one in told["sensitive"]:
        name, distinct, spread = one["attribute"], one["distinct_l"], one["spread"]
        if distinct["asked"] is not None:
            yield f"{name}: distinct values (l)", _or_none(distinct["asked"]), _or_none(distinct["achieved"])
        for figure, value in spread["achieved"].items():
            asked = spread["asked"].get(_ASKED.get(figure, figure))
            yield f"{name}: {figure}", _asked(asked), f"{value:.3g}"
        if one["families"]:
            yield f"{name}: values in a family", f"{one['families']:,} families", f"{one['least_family']} or more"
    presence, returning = told["presence"], told["returning"]
    if presence is not None:
        reached = "-" if presence["achieved"] is None else in_percent(presence["achieved"])
        yield f"presence, of {presence['people']:,} people", exactly(presence["asked"]), reached
    if returning is not None:
        days = returning["period"] / 86_400
        yield (
            "releases of one person",
            f"{returning['most']} in {days:g} days",
            f"{returning['suppressed']:,} records suppressed beyond",
        )


def _disclosed(told: Mapping[str, Any]) -> PageTable:
    rows = []
    for one in told["audit"]["sensitive"]:
        found = from_document(one)
        rows.append(Row((one["attribute"], *cells(found)), loud=found.alike > 0))
    remark = (
        "bits: what is unknown of a value; told: what its class tells of that. all alike: records of classes with "
        "a single value, which is known of everybody in them."
    )
    return PageTable("What classes give away of sensitive values", ("field", *COLUMNS), rows, remarks=[remark])


def _losses(told: Mapping[str, Any]) -> PageTable:
    found = told["loss"]["attributes"]
    rows = [Row((name, in_percent(loss)), after=loss) for name, loss in found.items()]
    remark = "0 % is the value as it came, 100 % is nothing left (NCP); a suppressed record counts 100 %."
    return PageTable(SECTIONS["loss"], ("field", "loss"), rows, remarks=[remark])


def _uses(told: Mapping[str, Any]) -> PageTable:
    rows = [
        Row((kind, one["name"], one["first"], one["last"], f"{one['windows']:,}"))
        for kind, used in told["history"].items()
        for one in used
    ]
    headings = ("what", "which", "first window", "last window", "windows")
    return PageTable("What changed: software, engines, deliveries", headings, rows, texts=4)


def _policies(told: Mapping[str, Any]) -> PageTable:
    rows = []
    for period in told["audit"]["policies"]:
        change = period["change"] or {"weaker": (), "stronger": ()}
        weaker = "; ".join(change["weaker"]) or "-"
        stronger = "; ".join(change["stronger"]) or "-"
        cells = (str(period["revision"]), _or_none(period["k"]), period["first"], period["last"], weaker, stronger)
        rows.append(Row(cells, loud=bool(change["weaker"])))
    headings = ("revision", "k", "first window", "last window", "weaker than before in", "stronger in")
    return PageTable(SECTIONS["history"], headings, rows, texts=6)


def _violations(told: Mapping[str, Any]) -> PageTable:
    rows = [
        Row((one["batch"] or "-", one["text"], f"{one['count']:,}"), loud=True)
        for one in told["audit"]["violations"][:_MOST_VIOLATIONS]
    ]
    return PageTable("Violations", ("window", "what", "times"), rows, texts=2)


def _attacks(told: Mapping[str, Any]) -> PageTable | None:
    if told["attacks"] is None:
        return None
    rows = []
    for one in told["attacks"]["attacks"]:
        name = one["attack"] + (f" of {one['secret']}" if one.get("secret") else "")
        success, control, risk = one.get("success"), one.get("control"), one["risk"]
        cells = (
            name,
            _share(success and success["value"]),
            _share(control and control["value"]),
            _share(risk["value"]),
            f"{_share(risk['low'])} to {_share(risk['high'])}",
            one.get("answer") or "-",
        )
        rows.append(Row(cells))
    headings = ("attack", "success", "control", "risk", "95 %", "what lowers it")
    return PageTable(SECTIONS["attacks"], headings, rows)


def _frameworks(told: Mapping[str, Any]) -> PageTable:
    rows = [
        Row(
            (
                one["framework"],
                one["text"],
                ", ".join(SECTIONS[name] for name in one["sections"]) or "-",
                one["left"] or "-",
            )
        )
        for one in told["frameworks"]
    ]
    headings = ("framework", "heading", "answered under", "left to people")
    return PageTable("Where frameworks are answered", headings, rows, texts=4)


def _share(share: float | None) -> str:
    return "-" if share is None else in_percent(share)


def _or_none(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _asked(asked: Any) -> str:
    if isinstance(asked, dict):
        return ", ".join(f"{key} {value}" for key, value in asked.items())
    return "-" if asked is None else str(asked)
