"""`stream-anon negotiate`: which levels meet a request, and what would have to give way if none do."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

import typer
from rich.console import Console
from rich.text import Text

from stream_anon.adapters.clock import SystemClock
from stream_anon.cli.compiling import saying_when_compiling
from stream_anon.cli.printing import console_of, ruled_table
from stream_anon.errors import Refused, SettingsError
from stream_anon.formats.tables.new_files import write_whole
from stream_anon.operations.negotiate import negotiating
from stream_anon.operations.negotiate.negotiated_policy import negotiated_text
from stream_anon.operations.negotiate.negotiating import Negotiation, NegotiationRequest
from stream_anon.operations.negotiate.negotiation_page import negotiation_page
from stream_anon.operations.policy_text import check_output
from stream_anon.operations.samples import SampleSource
from stream_anon.recoding.negotiation import Scheme
from stream_anon.settings.policy_file import load_policy
from stream_anon.settings.yaml_text import read_yaml

WIDTH = 100


class Relaxation(StrEnum):
    """What gives way where a request has no exact answer."""

    SUPPRESSION = "suppression"
    HEIGHT = "height"
    PRIVACY = "privacy"


@dataclass(frozen=True)
class Output:
    """Where the answer goes.

    Parameters
    ----------
    policy
        Write the answer into a copy of the policy.
    relaxation
        Which one is written there if there is no exact answer.
    page
        Write a page with a slider for each request, which shows the answers.
    """

    as_json: bool = False
    policy: Path | None = None
    relaxation: Relaxation | None = None
    page: Path | None = None


def asked_of(k: int | None, l: int | None, max_levels: Sequence[str], max_suppressed: str) -> NegotiationRequest:  # noqa: E741
    """Return what the options ask for; SettingsError if they cannot be read."""
    limits = {}
    for text in max_levels:
        name, mark, number = text.rpartition("=")
        if not mark or not number.strip().isascii() or not number.strip().isdigit():
            raise SettingsError("--max-level", "must be an attribute and a level, such as age=1")
        limits[name.strip()] = int(number)
    return NegotiationRequest(k, l, limits, negotiating.parse_bound(max_suppressed))


def negotiate(config: Path, source: SampleSource, asked: NegotiationRequest, output: Output) -> int:
    """Print the answer to a request; return the exit code.

    Raises
    ------
    SettingsError, InputError
        If policy, options or files are wrong, or nothing can answer (exit code 2).
    BrokerError
        If no broker answers (exit code 3).
    Refused
        If there is no exact answer to write into a policy, and no relaxation was chosen (exit code 1).
    """
    clock = SystemClock()
    policy = load_policy(config)
    counted = negotiating.counted_policy(policy, negotiating.wanted_l(policy, asked.l))
    text = config.read_text(encoding="utf-8")
    if output.policy is not None:
        check_output(output.policy, config, cast("dict[str, Any]", read_yaml(text, str(config))), source.config)
    with saying_when_compiling():
        sample = source.read(counted)
    waiting = Console(stderr=True, highlight=False, markup=False)
    with waiting.status("building the lattice ...") if waiting.is_terminal else nullcontext():
        found = negotiating.negotiate_over(policy, sample, asked, clock)
    if output.as_json:
        sys.stdout.write(json.dumps(found.document(), indent=2) + "\n")
    else:
        show(found, console_of(WIDTH))
    if output.page is not None:
        _write(output.page, negotiation_page(found))
    if output.policy is not None:
        _write(output.policy, _written(found, text, config, output.relaxation, distinct=asked.l is not None))
    return 0


def _written(found: Negotiation, text: str, config: Path, relaxation: Relaxation | None, *, distinct: bool) -> str:
    """Return the policy's text with the answer, or with the relaxation that was chosen, in it."""
    request, answer = found.request, found.answer
    k, l, scheme = request.k, request.l, answer.exact  # noqa: E741
    if scheme is None and answer.relaxations is not None:
        if relaxation is None:
            names = ", ".join(Relaxation)
            raise Refused(
                f"--output: nothing was written, since no levels are exact: choose --relax, one of {names}"
            )
        if relaxation is Relaxation.PRIVACY and answer.relaxations.privacy is not None:
            weaker = answer.relaxations.privacy
            k, l, scheme = weaker.k, weaker.l, Scheme(request.limits, weaker.suppressed)  # noqa: E741
        elif relaxation is Relaxation.HEIGHT:
            scheme = answer.relaxations.height
        elif relaxation is Relaxation.SUPPRESSION:
            scheme = answer.relaxations.suppression
    if scheme is None:
        raise Refused(f"--output: nothing was written: there is no relaxation of {relaxation}")
    least = dict.fromkeys(found.sensitive, l) if l > 1 and (distinct or l != request.l) else {}
    return negotiated_text(text, found.named(scheme.levels), k, least, str(config))


def _write(path: Path, text: str) -> None:
    write_whole(path, text.encode())
    typer.echo(f"stream-anon: wrote {path}", err=True)


def show(found: Negotiation, console: Console) -> None:
    """Print an answer."""
    request, answer = found.request, found.answer
    console.print(Text("Asked", style="bold underline"))
    console.print(Text(f"  {_criteria(found, request.k, request.l)} in every group"))
    most = request.most_suppressed
    share = f"{most / found.records:.2%}"
    console.print(Text(f"  at most {most:,} of {found.records:,} records suppressed ({share})"))
    limited = [
        f"{name} {level}"
        for (name, level), own, top in zip(
            found.named(request.limits).items(), found.levels, request.limits, strict=True
        )
        if top < own.height
    ]
    console.print(Text(f"  levels at most: {', '.join(limited) or 'the roots'}"))
    if found.rejected:
        many = (
            "record does not fit the policy and is"
            if found.rejected == 1
            else "records do not fit the policy and are"
        )
        console.print(Text(f"  {found.rejected:,} {many} left out", style="yellow"))
    console.print()
    if answer.exact is not None:
        console.print(Text(f"Exact: {_suppressed(found, answer.exact.suppressed)}", style="bold green"))
        _show_schemes(console, found, {"level": answer.exact})
    else:
        _show_relaxations(console, found)
    for own in found.shields:
        kept = f"{own.records:,} record{'' if own.records == 1 else 's'}"
        text = f"Shield on {own.shield.in_words}: {kept} more fall short of it"
        console.print(Text(text, style="yellow" if own.records else ""))
    console.print()
    nodes = f"Looked at {answer.visited:,} of {found.nodes:,} nodes in {found.milliseconds:.2f} ms."
    console.print(Text(nodes, style="dim"))
    if found.subset:
        text = f"The best of a chosen subset: all levels would make {found.nodes_in_all:,} nodes."
        console.print(Text(text, style="yellow"))


def _show_relaxations(console: Console, found: Negotiation) -> None:
    relaxations = found.answer.relaxations
    if relaxations is None:
        return
    console.print(Text("No levels meet all of it. One of these would do:", style="bold yellow"))
    suppression, height, weaker = relaxations.suppression, relaxations.height, relaxations.privacy
    lines = {
        "suppression": f"within the levels, {_suppressed(found, suppression.suppressed)}",
        "height": "none: not even the roots"
        if height is None
        else f"levels of height {sum(height.levels)}, {_suppressed(found, height.suppressed)}",
        "privacy": "none: not even 2"
        if weaker is None
        else f"{_criteria(found, weaker.k, weaker.l)}, {_suppressed(found, weaker.suppressed)}",
    }
    for name, line in lines.items():
        console.print(Text.assemble((f"  {name:<12}", "bold"), line))
    schemes = {"suppression": suppression, **({"height": height} if height is not None else {})}
    _show_schemes(console, found, schemes)


def _show_schemes(console: Console, found: Negotiation, schemes: dict[str, Scheme]) -> None:
    table = ruled_table()
    table.add_column("  attribute")
    for name in (*schemes, "at most", "of"):
        table.add_column(name, justify="right")
    asked = found.named(found.request.limits)
    named = [found.named(scheme.levels) for scheme in schemes.values()]
    for own in found.levels:
        cells = [*(str(levels[own.name]) for levels in named), str(asked[own.name]), str(own.numbers[-1])]
        table.add_row(*map(Text, (f"  {own.name}", *cells)))
    console.print(table)


def _criteria(found: Negotiation, k: int, l: int) -> str:  # noqa: E741
    values = f" and {l} values of {' and of '.join(found.sensitive)}" if l > 1 else ""
    return f"{k} individuals{values}"


def _suppressed(found: Negotiation, records: int) -> str:
    return f"{records:,} record{'' if records == 1 else 's'} suppressed ({records / found.records:.2%})"
