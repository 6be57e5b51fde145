"""What the demo prints: a headline, the flow, events before and after, the audit, and what is not promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stream_anon.microdata.attributes import Attribute, Identifier, QuasiIdentifier
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.runtime.demo.pairing import Pair
from stream_anon.runtime.demo.session import Outcome

WIDTH = 100
_MOST_COLUMNS = 9
_MOST_VIOLATIONS = 10


def show_headline(console: Console, source: str, events: int, policy: Policy) -> None:
    """Say what will happen."""
    who = "records" if policy.individual == EVERY_RECORD else "people"
    console.print()
    console.print(Text("stream_anon", style="bold"), "makes events about people k-anonymous between two Kafka topics.")
    console.print(
        Text(
            f"{events:,} events ({source}) flow in; each leaves within {policy.window.max_delay:g} s looking like "
            f"those of at least {policy.k - 1} other {who}."
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


def show_outcome(console: Console, policy: Policy, outcome: Outcome) -> None:
    """Show what happened."""
    _show_flow(console, policy, outcome)
    _show_pairs(console, policy, outcome.pairs)
    _show_verdict(console, outcome)
    _show_limits(console)


def _show_flow(console: Console, policy: Policy, outcome: Outcome) -> None:
    tally = outcome.tally
    rows = [
        ("events in", f"{tally.records_in:,}", f"in {outcome.seconds:.1f} s, compiling and joining the group included"),
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


def _show_pairs(console: Console, policy: Policy, shown: Sequence[Pair]) -> None:
    console.print(Text("The same events before and after", style="bold underline"))
    if not shown:
        console.print("  no event was generalized in a way that only one published record fits")
        console.print()
        return
    attributes = _columns(policy)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("", style="dim", no_wrap=True)
    for attribute in attributes:
        table.add_column(Text(attribute.name), overflow="fold")
    for pair in shown:
        before = [Text(_text(pair.before[a.name])) for a in attributes]
        table.add_row("before", *before)
        table.add_row("after", *(_after(a, pair) for a in attributes), end_section=True)
    console.print(table)
    company = ", ".join(str(pair.company) for pair in shown)
    console.print(Text(f"Published alike in the same window: {company} records. Same people, top and bottom.", style="dim"))
    left_out = len(policy.attributes) - len(attributes)
    if left_out:
        console.print(Text(f"{left_out} more declared fields are not shown.", style="dim"))
    console.print()


def _columns(policy: Policy) -> list[Attribute]:
    """Return the attributes to show: who it is, what is generalized, then the rest as far as there is room."""
    first = [a for a in policy.attributes if a.name == policy.individual or isinstance(a, QuasiIdentifier)]
    rest = [a for a in policy.attributes if a not in first]
    chosen = {a.name for a in islice([*first, *rest], _MOST_COLUMNS)}
    return [a for a in policy.attributes if a.name in chosen]


def _after(attribute: Attribute, pair: Pair) -> Text:
    if isinstance(attribute, Identifier):
        return Text("gone", style="dim italic")
    before, after = pair.before[attribute.name], pair.after[attribute.name]
    return Text(_text(after), style="bold yellow" if before != after else "")


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict) and value.keys() == {"min", "max"}:
        return f"{value['min']} to {value['max']}"
    if isinstance(value, list):
        return " or ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


# -- the audit and the limits ----------------------------------------------------------------------------------


def _show_verdict(console: Console, outcome: Outcome) -> None:
    verdict = outcome.verdict
    counts = verdict.counts
    console.print(Text("Audit of the output topic", style="bold underline"))
    what = f"{counts.records:,} records of {counts.windows:,} windows in {counts.classes:,} classes"
    if verdict.clean and outcome.sound:
        console.print(Text("PASSED", style="bold green"), Text(f"{what}, each against its certificate, without engine code"))
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


def _show_limits(console: Console) -> None:
    console.print(
        Text(
            "What k-anonymity does not promise: if all who share a class share a diagnosis, it is known of each of "
            "them (ask for distinct_l), and somebody who comes back in many windows can be narrowed down."
        )
    )
    console.print(
        Text(
            "How to go on: `stream-anon propose --input FILE` drafts a policy for your data, `stream-anon check` says "
            "what a run would do, `stream-anon run` serves between two topics of your Kafka."
        )
    )
