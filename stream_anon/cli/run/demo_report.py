"""What the demo prints: a headline, the flow, events before and after, the audit, and what is not promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stream_anon.cli.printing import ruled_table
from stream_anon.demo.pairing import BeforeAndAfter
from stream_anon.demo.session import DemoOutcome
from stream_anon.microdata.attributes import Identifier
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.operations.attack.attack_report import AttackReport
from stream_anon.operations.report.figures.risks import in_words, risk_in_percent
from stream_anon.operations.report.limits.residual_risks import residual_risks

WIDTH = 100
_MOST_ROWS = 14
_NAME_WIDTH = 20
_MOST_VIOLATIONS = 10


def show_headline(console: Console, source: str, events: int, policy: Policy) -> None:
    """Say what will happen."""
    who = "records" if policy.individual == EVERY_RECORD else "people"
    console.print()
    headline = "makes events about people k-anonymous on their way between two Kafka topics."
    console.print(Text("stream_anon", style="bold"), headline)
    console.print(
        Text(
            f"{events:,} events ({source}) flow in. Within about {policy.window.max_delay:g} s each flows out, "
            f"looking like those of at least {policy.crowd - 1} other {who}."
        )
    )
    console.print(
        Text(
            "The broker of this demo lives in memory and knows no transactions, so delivery is at-least-once here; "
            "on Apache Kafka it is exactly-once.",
            style="dim",
        )
    )
    console.print()


def show_outcome(console: Console, policy: Policy, outcome: DemoOutcome) -> None:
    """Show what happened."""
    _show_flow(console, policy, outcome)
    _show_pairs(console, policy, outcome.pairs)
    _show_verdict(console, outcome)
    _show_risk(console, policy, outcome)
    _show_attacks(console, outcome.attacks)
    _show_limits(console)


def _show_flow(console: Console, policy: Policy, outcome: DemoOutcome) -> None:
    tally = outcome.tally
    rows = [
        ("events in", f"{tally.records_in:,}", f"in {outcome.seconds:.1f} s, with compiling and joining the group"),
        ("released", f"{tally.released:,}", f"in {tally.classes:,} classes of {len(tally.windows):,} windows"),
        ("suppressed", f"{tally.suppressed.total():,}", _reasons(tally.suppressed) or "nothing had to be withheld"),
        ("rejected", f"{tally.rejected.total():,}", _reasons(tally.rejected) or "every event fitted the policy"),
        (
            "achieved k",
            "none" if tally.achieved_k is None else str(tally.achieved_k),
            f"individuals in the smallest published class; asked for {policy.k}",
        ),
        (
            "information loss",
            "none" if tally.gcp is None else f"{tally.gcp:.1%}",
            "GCP: 0 % is every value exact, 100 % is every value gone",
        ),
        ("delay", _delays(tally.delay(0.5), tally.delay(0.99)), "median and p99, from arrival to publication"),
    ]
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    for name, value, meaning in rows:
        table.add_row(Text(name), Text(value), Text(meaning))
    console.print(Text("What flowed", style="bold underline"))
    console.print(table)
    if tally.records_in != outcome.sent:
        console.print(Text(f"{outcome.sent:,} events were produced: some came twice or not at all", style="red"))
    console.print()


def _reasons(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in sorted(counts.items()))


def _delays(median: float | None, late: float | None) -> str:
    return "none" if median is None or late is None else f"{median:.2f} s, {late:.2f} s"


# -- before and after ------------------------------------------------------------------------------------------


def _show_pairs(console: Console, policy: Policy, shown: Sequence[BeforeAndAfter]) -> None:
    arrow = "\u2192" if "utf" in console.encoding.lower() else "->"
    console.print(Text(f"{len(shown) or 'No'} events, each before {arrow} after", style="bold underline"))
    if not shown:
        console.print("  No event was generalized in such a way that it is certain which published record it is.")
        console.print()
        return
    table = ruled_table(gap=1)
    names = _names(policy, shown)
    name_width = min(max(map(len, names)), _NAME_WIDTH)
    table.add_column("", style="bold", overflow="fold", width=name_width)
    width = (console.width - name_width - 1) // len(shown) - 1
    for pair in shown:
        table.add_column(Text(f"one of {pair.company}", style="bold"), overflow="fold", width=max(width, 8))
    for name in names[:_MOST_ROWS]:
        table.add_row(Text(name), *(_cell(name, pair, arrow) for pair in shown))
    console.print(table)
    left_out = len(names) - _MOST_ROWS
    company = "`one of n`: n records of its window left with the same generalized values."
    more = f" {left_out} more fields are not shown." if left_out > 0 else ""
    console.print(Text(company + more, style="dim"))
    console.print()


def _names(policy: Policy, shown: Sequence[BeforeAndAfter]) -> list[str]:
    """Return the fields to show: who it is, what is undeclared, what is generalized, then what passes."""
    undeclared = {name: None for pair in shown for name in pair.before if name not in policy.index}
    identifiers = [a.name for a in policy.attributes if isinstance(a, Identifier)]
    generalized = [a.name for a in policy.quasi_identifiers]
    return [*identifiers, *undeclared, *generalized, *(a.name for a in policy.passed)]


def _cell(name: str, pair: BeforeAndAfter, arrow: str) -> Text:
    before = _text(pair.before.get(name))
    if name not in pair.after:
        return Text.assemble(before, f" {arrow} ", ("gone", "italic red"))
    after = _text(pair.after[name])
    if before == after:
        return Text(before, style="dim")
    return Text.assemble(before, f" {arrow} ", (after, "bold yellow"))


def _text(value: object) -> str:
    if value is None:
        return "missing"
    if isinstance(value, dict) and value.keys() == {"min", "max"}:
        return f"{value['min']} to {value['max']}"
    if isinstance(value, list):
        return " or ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


# -- the audit and the limits ----------------------------------------------------------------------------------


def _show_verdict(console: Console, outcome: DemoOutcome) -> None:
    verdict = outcome.verdict
    counts = verdict.counts
    console.print(Text("Audit of the output topic", style="bold underline"))
    what = f"{counts.records:,} records of {counts.windows:,} windows in {counts.classes:,} classes"
    if verdict.clean and outcome.sound:
        console.print(Text("PASSED", style="bold green"), Text(f"{what} re-checked against certificates."))
    else:
        console.print(Text("FAILED", style="bold red"), Text(what))
    for violation in verdict.violations[:_MOST_VIOLATIONS]:
        place = " ".join(
            part
            for part in (
                f"window {violation.batch}" if violation.batch else "",
                f"class {violation.number}" if violation.number is not None else "",
                violation.attribute or "",
            )
            if part
        )
        console.print(Text(f"  {place}: {violation.kind} ({violation.count})"))
    more = len(verdict.violations) - _MOST_VIOLATIONS + verdict.more
    if more > 0:
        console.print(Text(f"  and {more:,} more"))
    console.print()


def _show_risk(console: Console, policy: Policy, outcome: DemoOutcome) -> None:
    """Show a report in three lines."""
    sizes, left = outcome.evidence.sizes, residual_risks(policy, outcome.evidence)
    found = sizes.risks()
    console.print(Text("Report for who must sign", style="bold underline"))
    if found:
        shown = [risk_in_percent(risk, sizes.threshold) for risk in (found[0].highest, found[0].average)]
        text = f"Who knows that somebody is in a class names their record with {shown[0]} at the most, {shown[1]} "
        console.print(Text(f"{text}on average; the policy allows {in_words(sizes.threshold)}."))
    told = f"{len(left)} things are not promised under this policy: `stream-anon report` lists each, "
    console.print(Text(f"{told}with what lowers it."))
    console.print()


def _show_attacks(console: Console, report: AttackReport | None) -> None:
    """Show what attacks found in three lines."""
    if report is None:
        return
    console.print(Text("Attacks on a release of half of these people", style="bold underline"))
    tried = sorted((one for one in report.findings if not one.accepted), key=lambda one: -one.found.risk.value)
    proven = [one for one in tried if one in report.proven]
    verb = "tells" if len(proven) == 1 else "tell"
    told = f"{len(proven) or 'None'} of {len(tried)} attacks {verb} more of people in the release than of others"
    if proven:
        success, _, control, *_ = proven[0].cells()
        others = "" if control == "-" else f", and in {control} of those on others"
        told += f"; most of all {proven[0].name}, which succeeds in {success} of attempts{others}"
    console.print(Text(f"{told}. `stream-anon attack` lists each, with what lowers it and what that costs."))
    for one in report.proven:
        if one.accepted:
            told = f"Whoever knows {one.found.secret}, as the policy accepts that nobody does,"
            console.print(Text(f"{told} finds {one.cells()[0]} of these people."))
    console.print()


def _show_limits(console: Console) -> None:
    console.print(
        Text(
            "What k-anonymity does not promise: if all who share a class share a diagnosis, it is known of each of "
            "them (ask for distinct_l), and somebody who comes back in many windows can be narrowed down."
        )
    )
    console.print(
        Text(
            "How to go on: `stream-anon propose --input FILE` drafts a policy for your data, `stream-anon check` "
            "says what a run would do, `stream-anon run` serves between two topics of your Kafka."
        )
    )
