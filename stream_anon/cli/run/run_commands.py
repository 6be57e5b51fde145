"""Sub-commands that run the service or change what it does, with their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream_anon.cli.app import (
    Accepted,
    AcceptedOfFile,
    Config,
    OverriddenEngine,
    OverriddenK,
    OverriddenSeed,
    StandardFormat,
    app,
    overridden,
)
from stream_anon.errors import SettingsError
from stream_anon.formats.tables.format_names import Format


@app.command("run", rich_help_panel="Run")
def run_service(
    config: Config,
    workers: Annotated[int, typer.Option(help="Worker processes, as one service.", min=1, max=256)] = 1,
    accept_risk: Accepted = None,
    shadow: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Run beside the service, publish nothing, and append certificates to this file."
        ),
    ] = None,
    shadow_group: Annotated[str, typer.Option(help="The shadow's consumer group; by default GROUP.shadow.")] = "",
) -> None:
    """Anonymize from topic to topic until stopped; SIGTERM ends it within 10 s, and nothing is lost.

    A condition that `check` reports forbids the start, unless --accept-risk names it.
    """
    from stream_anon.cli.run.run import run
    from stream_anon.service.shadow import Shadow

    if shadow is None and shadow_group:
        raise SettingsError("--shadow-group", "is for --shadow FILE")
    beside = None if shadow is None else Shadow(shadow, shadow_group)
    raise typer.Exit(run(config, workers, accept_risk or (), beside))


@app.command("pause", rich_help_panel="Run")
def pause_service(
    config: Config,
    lasting: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="Resume automatically after this time, such as 30m."),
    ] = None,
) -> None:
    """Stop the service on this machine from reading; the open window is published at its deadline."""
    from stream_anon.cli.run.orders import order

    raise typer.Exit(order(config, "pause", lasting))


@app.command("resume", rich_help_panel="Run")
def resume_service(config: Config) -> None:
    """Make a paused service read again."""
    from stream_anon.cli.run.orders import order

    raise typer.Exit(order(config, "resume"))


@app.command("drain", rich_help_panel="Run")
def drain_service(
    config: Config,
    within: Annotated[float, typer.Option(help="Seconds to wait until it has stopped.", min=1)] = 90.0,
) -> None:
    """Make the service on this machine publish its open window and stop; wait until it has."""
    from stream_anon.cli.run.orders import drain

    raise typer.Exit(drain(config, within))


@app.command("anonymize", rich_help_panel="Run")
def anonymize_file(
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="CSV, JSON Lines or Parquet file; - for standard input.")
    ],
    target: Annotated[
        str, typer.Argument(metavar="OUTPUT", help="CSV, JSON Lines or Parquet file; - for standard output.")
    ],
    config: Config,
    k: OverriddenK = None,
    by_arrival: Annotated[
        bool,
        typer.Option(
            "--by-arrival",
            help="Take windows of window.max_records in the order of the input, as a stream does: this loses more.",
        ),
    ] = False,
    max_records: Annotated[
        int | None, typer.Option("--max-records", metavar="N", help="As --by-arrival, with windows of N records.")
    ] = None,
    engine: OverriddenEngine = None,
    seed: OverriddenSeed = None,
    method: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Recode the file as one table, by a method of docs/explain/recoders.md."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="An option of the method, as in the settings; may be given more than once."
        ),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print how the method came to its answer.")] = False,
    all_steps: Annotated[
        bool, typer.Option("--all", help="Print every step, such as all minimal nodes and distortions.")
    ] = False,
    choose: Annotated[
        bool, typer.Option("--choose", help="For mu-argus: ask at the terminal what is generalized, and how far.")
    ] = False,
    sensitive_table: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="For anatomy: the second table; by default OUTPUT with .sensitive in its name."
        ),
    ] = None,
    series: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Make the next release of the series whose key and state FOLDER keeps, or the first one.",
        ),
    ] = None,
    certificates: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the policy document, then certificates in output order, one part a line."
        ),
    ] = None,
    rejects: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the line, reason and attribute of each reject as JSON Lines."),
    ] = None,
    max_rejected: Annotated[
        str, typer.Option(metavar="SHARE", help="Fail above this share (5%) or number (100) of rejects.")
    ] = "5%",
    accept_risk: AcceptedOfFile = None,
    draws_key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The key that draws follow from; by default engine.draws_key_file, or CONFIG.draws-key.",
        ),
    ] = None,
    fresh_draws: Annotated[
        bool,
        typer.Option(
            "--fresh-draws", help="Draw anew, so that another run on the same records gives another release."
        ),
    ] = False,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write what happened as JSON.")] = None,
    standard: StandardFormat = Format.JSONL,
) -> None:
    """Release a file as one table of any size; what does not fit in memory is kept on disk.

    A condition that `check --input` reports forbids it, unless --accept-risk names the condition.
    """
    from stream_anon.cli.run.anonymize import Explain, FileNames, anonymize, file_job, method_options

    overrides = {**overridden(k, max_records, engine, seed), "method": method_options(method, option or [])}
    if series is not None and draws_key is not None:
        raise SettingsError("--draws-key", "is not for --series, whose releases are all drawn anew")
    if draws_key is not None:
        overrides["engine"] = {**overrides.get("engine", {}), "draws_key_file": str(draws_key.absolute())}
    windows = by_arrival or max_records is not None
    names = FileNames(source, target, certificates, rejects, sensitive_table, windows, series)
    job = file_job(config, overrides, names, max_rejected, standard, accept_risk or (), fresh=fresh_draws)
    told = Explain.ALL if all_steps else Explain.SHORT if explain else None
    if told is not None and job.policy.method is None:
        raise SettingsError("--explain", "is for a method: name one with --method")
    raise typer.Exit(anonymize(job, report, told, choose=choose))


@app.command("forget", rich_help_panel="Run")
def forget_released(
    config: Config,
    partition: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPIC:N",
            help="Forget this partition, by default all that stopped; may be given more than once.",
        ),
    ] = None,
    recreated: Annotated[
        bool,
        typer.Option(
            "--recreated", help="Let partitions of a topic that was deleted and created again begin at their start."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Allow a second release of records whose offsets were set back; shows what is at stake, and asks."""
    from stream_anon.cli.run.forget import forget

    raise typer.Exit(forget(config, partition or [], yes=yes, recreated=recreated))


@app.command("realign", rich_help_panel="Run")
def realign_mirrored(
    config: Config,
    offset_syncs: Annotated[
        str | None,
        typer.Option(metavar="TOPIC", help="MirrorMaker's offset syncs here, such as mm2-offset-syncs.A.internal."),
    ] = None,
    source_alias: Annotated[
        str | None,
        typer.Option(metavar="A", help="The old cluster's alias, where mirrored topics are called A.people."),
    ] = None,
    exactly_once_mirror: Annotated[
        bool, typer.Option("--exactly-once-mirror", help="MirrorMaker ran with exactly.once.source.support.")
    ] = False,
    to_end: Annotated[
        bool, typer.Option("--to-end", help="Withhold all that was mirrored; needs neither syncs nor certificates.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Continue a service in the cluster to which MirrorMaker 2 copied its topics; nothing is released twice."""
    from stream_anon.cli.run.realign import realign
    from stream_anon.operations.ledger.mirror_reading import MirrorOptions

    if (offset_syncs is None) is not to_end:
        raise SettingsError("realign", "give either --offset-syncs or --to-end")
    raise typer.Exit(
        realign(config, MirrorOptions(offset_syncs, source_alias, exactly_once_mirror, to_end), yes=yes)
    )


@app.command("logs-explain", rich_help_panel="Explain")
def explain_line(code: Annotated[str, typer.Argument(help="The `event` of a log line.")]) -> None:
    """Say what a log line means and what to do about it."""
    from stream_anon.operations.log_lines import explain

    typer.echo(explain(code))


@app.command("demo", rich_help_panel="Run")
def run_demo(
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Stream this CSV instead of clinic visits.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", metavar="FILE", help="The policy for it.")
    ] = None,
    events: Annotated[int, typer.Option(help="The most events to stream.", min=1, max=10_000_000)] = 60_000,
    k: Annotated[int | None, typer.Option(help="Override privacy.k.", min=2)] = None,
) -> None:
    """Stream events through the service with an embedded broker, and audit what came out."""
    from stream_anon.cli.run.demo import demo

    raise typer.Exit(demo(csv, config, events, k))
