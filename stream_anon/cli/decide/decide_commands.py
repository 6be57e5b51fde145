"""Sub-commands for choosing a policy and preparing a run, with their options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stream_anon.cli.app import (
    Accepted,
    Config,
    PolicyFile,
    SampledConfig,
    SampleFile,
    StandardFormat,
    WrittenPolicy,
    app,
)
from stream_anon.errors import SettingsError
from stream_anon.formats.tables.format_names import Format

if TYPE_CHECKING:
    from stream_anon.operations.samples import SampleSource


def sampled(
    command: str, policy: Path | None, config: Path | None, file: str | None, standard: Format
) -> tuple[Path, SampleSource]:
    """Return the file with the policy, and where the sample comes from."""
    from stream_anon.operations.samples import SampleSource

    chosen = policy or config
    if chosen is None or (config is None and file is None):
        raise SettingsError(command, "give --config FILE, and --input FILE unless its topic is to be sampled")
    return chosen, SampleSource(file, config or chosen, standard)


@app.command("check", rich_help_panel="Decide")
def check_settings(
    config: Config,
    file: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="FILE",
            help="Check a release of this file instead, - for standard input; no broker is asked.",
        ),
    ] = None,
    accept_risk: Accepted = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    standard: StandardFormat = Format.JSONL,
) -> None:
    """Validate settings, topics and permissions, decode a sample, and say what a run would do; or check a file."""
    from stream_anon.cli.decide.check import check

    accepted = tuple(accept_risk or ())
    raise typer.Exit(check(config, accepted, file=file, standard=standard, as_json=as_json))


@app.command("topics", rich_help_panel="Decide")
def show_topics(
    config: Config,
    create: Annotated[bool, typer.Option("--create", help="Create what is missing, but not the input.")] = False,
    inputs: Annotated[bool, typer.Option("--input", help="With --create: the input too.")] = False,
    commands: Annotated[
        bool, typer.Option("--print", help="Print the commands that create what is missing instead.")
    ] = False,
    partitions: Annotated[
        int | None, typer.Option(help="Partitions of input and output; by default as many as the input has.", min=1)
    ] = None,
) -> None:
    """Show which topics the service needs and which exist; create the others."""
    from stream_anon.cli.decide.topics import topics

    if commands and create:
        raise SettingsError("topics", "give --create or --print, not both")
    raise typer.Exit(topics(config, create=create, inputs=inputs, commands=commands, partitions=partitions))


@app.command("leakage", rich_help_panel="Decide")
def rank_leakage(
    policy: PolicyFile = None,
    config: SampledConfig = None,
    sample: SampleFile = None,
    released: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The records that were released from the input; shows what they leak too."
        ),
    ] = None,
    disclosed: Annotated[
        str, typer.Option(metavar="NAMES", help="Attributes that the attacker knows already, joined by commas.")
    ] = "",
    sets: Annotated[int, typer.Option(help="Rank sets of up to this many attributes.", min=1, max=16)] = 3,
    most: Annotated[int, typer.Option(help="Examine at most this many sets.", min=1, max=1_000_000)] = 2_000,
    threshold: Annotated[
        float | None, typer.Option(help="Fail if a set leaks more than this share.", min=0, max=1)
    ] = None,
    singled_out: Annotated[
        float | None, typer.Option(help="Fail if a set singles out more than this share of people.", min=0, max=1)
    ] = None,
    suggest: Annotated[
        bool, typer.Option("--suggest", help="Print the policy with levels at which no set exceeds --threshold.")
    ] = False,
    output: WrittenPolicy = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the report as a page too.")
    ] = None,
    standard: StandardFormat = Format.JSONL,
) -> None:
    """Rank attributes and sets of them by what they reveal about people, before and after a release."""
    from stream_anon.cli.decide.leakage import Presentation, leakage
    from stream_anon.operations.leakage.leakage_study import LeakageRequest

    chosen, source = sampled("leakage", policy, config, sample, standard)
    if released is not None and sample is None:
        raise SettingsError("--released", "needs --input FILE, the records that it was made of")
    if suggest and (threshold is None or released is not None):
        raise SettingsError("--suggest", "needs --threshold, and looks at records before a release")
    if suggest and singled_out is not None:
        raise SettingsError("--singled-out", "is not for --suggest, which finds levels for --threshold")
    if output is not None and not suggest:
        raise SettingsError("--output", "needs --suggest")
    known = tuple(name for name in (part.strip() for part in disclosed.split(",")) if name)
    asked = LeakageRequest(known, sets, most, threshold, singled_out)
    told = Presentation(as_json, page, suggest, output)
    raise typer.Exit(leakage(chosen, source, released, asked, told))


@app.command("propose", rich_help_panel="Decide")
def propose_policy(
    sample: Annotated[Path, typer.Option("--input", metavar="FILE", help="CSV or JSON Lines sample.")],
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write; by default standard output.")
    ] = None,
    max_risk: Annotated[
        float | None, typer.Option(help="The risk to propose; by default 0.09.", min=1e-6, max=0.5)
    ] = None,
    k: Annotated[int | None, typer.Option(help="The k to propose, in place of a risk.", min=2)] = None,
    equal_frequency: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=COUNT",
            help="Publish a number in COUNT ranges with about equally many records; may be given more than once.",
        ),
    ] = None,
) -> None:
    """Write a first policy from a sample; you decide what it marks with DECIDE."""
    from stream_anon.cli.decide.propose import propose

    if k is not None and max_risk is not None:
        raise SettingsError("--k", "says the same as --max-risk: leave one of them out")
    raise typer.Exit(propose(sample, output, k, equal_frequency or (), max_risk))


@app.command("negotiate", rich_help_panel="Decide")
def negotiate_levels(
    policy: PolicyFile = None,
    config: SampledConfig = None,
    sample: SampleFile = None,
    k: Annotated[
        int | None, typer.Option(help="Least number of individuals in a group; by default the policy's.", min=2)
    ] = None,
    l: Annotated[  # noqa: E741
        int | None,
        typer.Option(
            help="Least number of distinct sensitive values; by default the policy's, 1 asks for none.", min=1
        ),
    ] = None,
    max_level: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LEVEL", help="Highest level of an attribute; may be given more than once."),
    ] = None,
    max_suppressed: Annotated[
        str, typer.Option(metavar="RECORDS", help="Records that may be suppressed (40), or a share (0.5%).")
    ] = "0",
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
    output: WrittenPolicy = None,
    relax: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With --output: what to relax if there is no exact answer: suppression, height or privacy.",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="Write a page with a slider for each request, which shows the answers."
        ),
    ] = None,
    standard: StandardFormat = Format.JSONL,
) -> None:
    """Say at which levels of its attributes a sample reaches k, or what would have to be relaxed."""
    from stream_anon.cli.decide.negotiate import Output, Relaxation, asked_of, negotiate

    chosen, source = sampled("negotiate", policy, config, sample, standard)
    if relax is not None and relax not in list(Relaxation):
        raise SettingsError("--relax", f"must be one of {', '.join(Relaxation)}")
    asked = asked_of(k, l, max_level or (), max_suppressed)
    out = Output(as_json, output, Relaxation(relax) if relax else None, page)
    raise typer.Exit(negotiate(chosen, source, asked, out))


@app.command("plan", rich_help_panel="Decide")
def plan_settings(
    policy: PolicyFile = None,
    config: SampledConfig = None,
    sample: SampleFile = None,
    rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Arrival rate (500/s, 30/min); for a topic its timestamps by default."),
    ] = None,
    record_bytes: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Length of a record (1.5KB); for a topic the mean of its sample by default."
        ),
    ] = None,
    k: Annotated[str, typer.Option(metavar="K,...", help="Values to try; by default the policy's.")] = "",
    l: Annotated[  # noqa: E741
        str, typer.Option(metavar="L,...", help="Numbers of distinct sensitive values to try; 1 asks for none.")
    ] = "",
    engine: Annotated[str, typer.Option(metavar="NAME,...", help="Values to try; by default the policy's.")] = "",
    records: Annotated[
        str,
        typer.Option(
            metavar="N,...",
            help="Values of window.max_records to try; by default the policy's and fractions of it.",
        ),
    ] = "",
    window_delay: Annotated[
        str,
        typer.Option(
            metavar="TIME,...", help="Values of window.max_delay to try (5s,30s); by default the policy's."
        ),
    ] = "",
    max_delay: Annotated[
        str | None, typer.Option(metavar="TIME", help="Ask for a delay of at most this, such as 10s.")
    ] = None,
    max_loss: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Ask for an information loss of at most this, such as 20%.")
    ] = None,
    max_suppressed: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Ask for at most this share of suppressed records, such as 1%."),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of the engine's draws: the same seed gives the same plan.", min=0)
    ] = 0,
    document: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the plan as JSON.")] = None,
    picture: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw loss against delay; needs matplotlib.")
    ] = None,
    standard: StandardFormat = Format.JSONL,
) -> None:
    """Say what k, l, the window and the engine cost in delay, suppression and loss; from a sample and a rate."""
    from stream_anon.cli.decide.plan import PlanOutput, choices_of, limits_of, show_plan
    from stream_anon.operations.plan.arrivals import Load, bytes_of, rate_of

    chosen, source = sampled("plan", policy, config, sample, standard)
    choices = choices_of(k, l, engine, records, window_delay)
    limits = limits_of(max_delay, max_suppressed, max_loss)
    length = None if record_bytes is None else bytes_of(record_bytes)
    load = Load(None if rate is None else rate_of(rate), length)
    if load.rate is None and sample is not None:
        raise SettingsError("--rate", "a file has no times of arrival: say how many records come, such as 500/s")
    raise typer.Exit(show_plan(chosen, source, load, choices, limits, seed, PlanOutput(document, picture)))
