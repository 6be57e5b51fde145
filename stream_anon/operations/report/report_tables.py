"""The tables of a report's page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stream_anon.operations.disclosures import COLUMNS, cells, from_document
from stream_anon.operations.report.figures.evidence import DECEIVED
from stream_anon.operations.report.figures.risks import risk_in_percent
from stream_anon.operations.report.frameworks import SECTIONS
from stream_anon.operations.report.limits.cautions import name_of
from stream_anon.pages.tables import PageTable, Row
from stream_anon.rounding import exactly, in_percent

_MOST_VIOLATIONS = 100
_ASKED = {
    "recursive_c": "recursive_cl",
    "t": "t_closeness",
    "delta": "delta_disclosure",
    "beta": "beta_likeness",
}
"""What a figure that was achieved is called where it is asked, if otherwise."""
_DECEIVED = f"{DECEIVED}: a prosecutor who takes the counterfeits of a class for people."
_BEFORE = (
    "before: all people of the sample as one table, by their exact values. A window has fewer people, among whom "
    "more would stand alone."
)


def tables_of(told: Mapping[str, Any]) -> dict[str, PageTable | None]:
    """Return the tables of a report by the names that its template has for them; None for one that it lacks."""
    return {
        "fields": _fields(told),
        "reasons": _reasons(told),
        "sizes": _sizes(told),
        "risks": _risks(told),
        "criteria": _criteria(told),
        "disclosed": _disclosed(told),
        "releases": _releases(told),
        "losses": _losses(told),
        "uses": _uses(told),
        "policies": _policies(told),
        "violations": _violations(told),
        "attacks": _attacks(told),
        "frameworks": _frameworks(told),
    }


def _fields(told: Mapping[str, Any]) -> PageTable:
    rows = [
        Row((one["name"], one["role"], "; under another policy ".join((one["technique"], *one["formerly"]))))
        for one in told["fields"]
    ]
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
    rows = [Row((_steps(one["from"]), f"{one['classes']:,}"), after=one["classes"] / whole) for one in sizes]
    return PageTable(SECTIONS["classes"], ("people in a class", "classes"), rows)


def _steps(low: int) -> str:
    """Return the sizes from one of 1, 2, 5, 10, 20 and so on up to the next one."""
    return "1" if low == 1 else f"{low:,} to {low * (5 if str(low)[0] == '2' else 4) // 2 - 1:,}"


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
                percent(one["above"]),
            ),
            loud=when == "after" and bound is not None and (one["highest"] or 0) > bound,
        )
        for when in ("before", "after")
        for one in risks[when] or ()
    ]
    deceived = any(one["attacker"] == DECEIVED for one in risks["after"])
    remark = (
        "prosecutor: knows that somebody is in the release. journalist: knows that they are in the population. "
        "marketer: names somebody for every record; the share that is right. All are by quasi-identifiers, in one "
        "window each: what sensitive values or several windows tell comes on top."
    )
    headings = ("release", "attacker", "highest", "average", "people above the threshold")
    remarks = [remark, *([_DECEIVED] if deceived else []), *([_BEFORE] if risks["before"] is not None else [])]
    return PageTable(SECTIONS["risks"], headings, rows, texts=2, remarks=remarks)


def _criteria(told: Mapping[str, Any]) -> PageTable:
    rows = [Row(cells) for cells in _rows_of_criteria(told)]
    remark = "asked: by the settings. reached: by the worst class of the windows that state it."
    return PageTable(SECTIONS["sensitive"], ("what", "asked", "reached"), rows, remarks=[remark])


def _rows_of_criteria(told: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield each criterion of a report, what is asked, and what the worst class of the period reached."""
    smallest, windows = told["classes"]["smallest"], told["classes"]["windows"]

    def reached(text: str, stating: int) -> str:
        return text if text == "-" or stating == windows else f"{text} (in {stating:,} of {windows:,} windows)"

    what = "records" if told["classes"]["windows_counting_records"] else "people"
    yield f"k: {what} in a class", _or_none(told["policy"]["k"]), _or_none(smallest)
    for one in told["shields"]:
        text = reached(_or_none(one["achieved"]), one["windows"])
        yield "shield on " + ", ".join(one["attributes"]), _or_none(one["asked"]), text
    for one in told["sensitive"]:
        name, distinct, spread = one["attribute"], one["distinct_l"], one["spread"]
        if distinct["asked"] is not None:
            text = reached(_or_none(distinct["achieved"]), distinct["windows"])
            yield f"{name}: distinct values (l)", _or_none(distinct["asked"]), text
        for figure, value in spread["achieved"].items():
            asked = spread["asked"].get(_ASKED.get(figure, figure))
            yield f"{name}: {figure}", _asked(asked), reached(f"{value:.3g}", spread["windows"][figure])
        if one["families"]:
            yield f"{name}: values in a family", f"{one['families']:,} families", f"{one['least_family']} or more"
    presence, returning = told["presence"], told["returning"]
    if presence is not None:
        most = presence["achieved"]
        share = "-" if most is None else in_percent(most, bound=presence["asked"])
        yield (
            f"presence, of {presence['people']:,} people",
            exactly(presence["asked"]),
            reached(share, presence["windows"]),
        )
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


def _releases(told: Mapping[str, Any]) -> PageTable | None:
    """Return how often people were released; None where nothing is told of it."""
    returning = told["returning"]
    if returning is None or returning["releases"] is None:
        return None
    found, rows = returning["releases"], []
    for period in found["periods"]:
        whole = sum(one["people"] for one in period["people"])
        for one in period["people"]:
            cells = (f"{period['from']} to {period['to']}", f"{one['releases']:,}", f"{one['people']:,}")
            rows.append(Row(cells, after=one["people"] / whole, loud=one["releases"] > returning["most"]))
    remarks = ["People by the number of windows that released them, up to now. Each is counted by a keyed hash."]
    if any(period["keys"] > 1 for period in found["periods"]):
        remarks.append("The key changed: whoever was released under two keys counts as two people.")
    if found["unread"] is not None:
        remarks = [f"Not known: {found['unread']}"]
    return PageTable("People who return", ("period", "releases", "people"), rows, remarks=remarks)


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
    audit = told["audit"]
    hidden = max(0, len(audit["violations"]) - _MOST_VIOLATIONS) + audit["more"]
    remarks = [f"and {hidden:,} more: stream-anon audit lists them"] if hidden else []
    return PageTable("Violations", ("window", "what", "times"), rows, texts=2, remarks=remarks)


def _attacks(told: Mapping[str, Any]) -> PageTable | None:
    if told["attacks"] is None:
        return None
    rows = []
    for one in told["attacks"]["attacks"]:
        success, control, risk = one.get("success"), one.get("control"), one["risk"]
        cells = (
            name_of(one),
            percent(success and success["value"]),
            percent(control and control["value"]),
            percent(risk["value"]),
            f"{percent(risk['low'])} to {percent(risk['high'])}",
            one.get("answer") or "-",
        )
        bound = told["risks"]["threshold"]
        rows.append(Row(cells, loud=bound is not None and risk["value"] > bound))
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


def percent(share: float | None) -> str:
    """Return a share in percent, which is never shown as none where it is small."""
    return "-" if share is None else in_percent(share, bound=0.0)


def _or_none(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _asked(asked: Any) -> str:
    if isinstance(asked, dict):
        return ", ".join(f"{key} {value}" for key, value in asked.items())
    return "-" if asked is None else str(asked)
