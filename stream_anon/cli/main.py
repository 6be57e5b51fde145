"""The `stream-anon` command: every sub-command and its options. `exit_codes.py` says what it leaves with.

Every command takes the policy as `--config FILE`; what some of them took before still works beside it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stream_anon.adapters.tables.format_names import Format
from stream_anon.cli.exit_codes import epilog
from stream_anon.conditions import Condition
from stream_anon.errors import BrokerError, InputError, SettingsError, StreamAnonError
from stream_anon.version import __version__

app = typer.Typer(
    name="stream-anon",
    help="k-anonymity where the data flows: Kafka in, k-anonymous Kafka out.",
    no_args_is_help=True,
    epilog=epilog(),
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_Accepted = Annotated[
    list[Condition] | None,
    typer.Option(
        "--accept-risk",
        metavar="NAME",
        help="Run though this condition forbids it; may be given again. Every certificate names it.",
    ),
]
_Config = Annotated[Path, typer.Option("--config", "-c", help="Settings file (YAML).", metavar="FILE")]
_StandardFormat = Annotated[
    Format, typer.Option("--format", help="What standard input and output (-) hold; files say it by their suffix.")
]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stream-anon {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """k-anonymity where the data flows: Kafka in, k-anonymous Kafka out."""


@app.command("run")
def run_service(
    config: _Config,
    workers: Annotated[int, typer.Option(help="Worker processes, as one service.", min=1, max=256)] = 1,
    accept_risk: _Accepted = None,
    shadow: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Publish nothing: add certificates to this file, beside the service."),
    ] = None,
    shadow_group: Annotated[str, typer.Option(help="Its consumer group; else GROUP.shadow.")] = "",
) -> None:
    """Serve between two topics until stopped; SIGTERM leaves within 10 s and loses nothing.

    What `check` forbids it refuses, unless --accept-risk names it.
    """
    from stream_anon.cli.run.run import run
    from stream_anon.service.shadow import Shadow

    if shadow is None and shadow_group:
        raise SettingsError("--shadow-group", "is for --shadow FILE")
    beside = None if shadow is None else Shadow(shadow, shadow_group)
    raise typer.Exit(run(config, workers, accept_risk or (), beside))


@app.command("pause")
def pause_service(config: _Config) -> None:
    """Let the service on this machine read nothing more; the open window is published at its deadline."""
    from stream_anon.cli.run.orders import order

    raise typer.Exit(order(config, "pause"))


@app.command("resume")
def resume_service(config: _Config) -> None:
    """Let a paused service read on."""
    from stream_anon.cli.run.orders import order

    raise typer.Exit(order(config, "resume"))


@app.command("drain")
def drain_service(
    config: _Config,
    within: Annotated[float, typer.Option(help="Seconds to wait for its end.", min=1)] = 90.0,
) -> None:
    """Let the service on this machine publish its open window and end; returns when it has."""
    from stream_anon.cli.run.orders import drain

    raise typer.Exit(drain(config, within))


@app.command("anonymize")
def anonymize_file(
    files: Annotated[
        list[str],
        typer.Argument(metavar="INPUT OUTPUT", help="CSV or JSON Lines files; - for standard input and output."),
    ],
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            metavar="FILE",
            help="Settings file, of which only the privacy side is needed; may also stand before INPUT.",
        ),
    ] = None,
    k: Annotated[int | None, typer.Option(help="Override privacy.k.")] = None,
    max_records: Annotated[int | None, typer.Option(help="Override window.max_records.")] = None,
    engine: Annotated[str | None, typer.Option(help="Override engine.name.")] = None,
    seed: Annotated[int | None, typer.Option(help="Override engine.seed.")] = None,
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
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write what happened as JSON.")] = None,
    standard: _StandardFormat = Format.JSONL,
) -> None:
    """Put a file through the engine, window after window."""
    from stream_anon.cli.run.anonymize import anonymize, file_job

    if config is None and len(files) == 3:
        config, files = Path(files[0]), files[1:]
    if config is None or len(files) != 2:
        raise SettingsError("anonymize", "give --config FILE, an input and an output")
    overrides: dict[str, dict[str, object]] = {
        "privacy": {"k": k} if k is not None else {},
        "window": {"max_records": max_records} if max_records is not None else {},
        "engine": {
            **({"name": engine} if engine is not None else {}),
            **({"seed": seed} if seed is not None else {}),
        },
    }
    job = file_job(config, overrides, files, certificates, rejects, max_rejected, standard)
    raise typer.Exit(anonymize(job, report))


@app.command("audit")
def audit_release(
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            "--policy",
            metavar="FILE",
            help="Settings file; its output topic is audited, or files.",
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Released records to audit.")] = None,
    certificates: Annotated[Path | None, typer.Option(metavar="FILE", help="Their certificates.")] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Only windows closed since: 2024-05-13T08:30:00Z, a day, or 90m, 36h, 7d ago."
        ),
    ] = None,
    batch: Annotated[str | None, typer.Option(metavar="ID", help="Only the window with this batch id.")] = None,
    former_input: Annotated[
        list[str] | None,
        typer.Option(metavar="TOPIC", help="A topic that the service no longer reads; may be given again."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    metrics: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write figures for node_exporter's textfile collector.")
    ] = None,
) -> None:
    """Check released records against their certificates, without any code of the engine."""
    from stream_anon.cli.prove import audit

    options = audit.AuditOptions(since, batch, tuple(former_input or ()), as_json, metrics)
    if config is not None and output is certificates is None:
        raise typer.Exit(audit.audit_topic(config, options))
    if config is not None and output is not None and certificates is not None:
        raise typer.Exit(audit.audit_files(config, output, certificates, options))
    raise SettingsError("audit", "give --config; for files --output and --certificates as well")


@app.command("forget")
def forget_released(
    config: _Config,
    partition: Annotated[
        list[str] | None,
        typer.Option(metavar="TOPIC:N", help="Forget this partition; may be given again. Else all that stopped."),
    ] = None,
    recreated: Annotated[
        bool, typer.Option("--recreated", help="Let partitions of a topic that was created anew begin anew.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; this was decided.")] = False,
) -> None:
    """Let records be released again whose offsets were set back; shows what is at stake, and asks."""
    from stream_anon.cli.run.forget import forget

    raise typer.Exit(forget(config, partition or [], yes=yes, recreated=recreated))


@app.command("realign")
def realign_mirrored(
    config: _Config,
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
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; this was decided.")] = False,
) -> None:
    """Let a service go on in the cluster that MirrorMaker 2 copied its topics to, and release nothing twice."""
    from stream_anon.cli.run.realign import realign
    from stream_anon.operations.ledger.mirror_reading import MirrorOptions

    if (offset_syncs is None) is not to_end:
        raise SettingsError("realign", "give either --offset-syncs or --to-end")
    raise typer.Exit(
        realign(config, MirrorOptions(offset_syncs, source_alias, exactly_once_mirror, to_end), yes=yes)
    )


@app.command("check")
def check_settings(
    config: _Config,
    accept_risk: _Accepted = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Validate settings, topics and permissions, decode a sample, and say what a run would do."""
    from stream_anon.cli.decide.check import check

    raise typer.Exit(check(config, tuple(accept_risk or ()), as_json=as_json))


@app.command("topics")
def show_topics(
    config: _Config,
    create: Annotated[bool, typer.Option("--create", help="Create what is missing, but not the input.")] = False,
    inputs: Annotated[bool, typer.Option("--input", help="With --create: the input too.")] = False,
    commands: Annotated[
        bool, typer.Option("--print", help="Print the commands that create what is missing instead.")
    ] = False,
    partitions: Annotated[
        int | None, typer.Option(help="Partitions of input and output; else as many as the input has.", min=1)
    ] = None,
) -> None:
    """Show which topics the service needs and which exist; create the others."""
    from stream_anon.cli.decide.topics import topics

    if commands and create:
        raise SettingsError("topics", "give --create or --print, not both")
    raise typer.Exit(topics(config, create=create, inputs=inputs, commands=commands, partitions=partitions))


@app.command("leakage")
def rank_leakage(
    policy: Annotated[Path | None, typer.Argument(metavar="[POLICY]", help="The same as --config.")] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", metavar="FILE", help="Settings file (YAML).")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--input", metavar="FILE", help="Records; - for standard input. Else a sample of the topic."),
    ] = None,
    released: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What was released of FILE: shows what it leaks too.")
    ] = None,
    disclosed: Annotated[
        str, typer.Option(metavar="NAMES", help="Attributes that are known already, joined by commas.")
    ] = "",
    sets: Annotated[int, typer.Option(help="Rank sets of up to so many attributes.", min=1, max=16)] = 3,
    most: Annotated[int, typer.Option(help="Look at so many sets at the most.", min=1, max=1_000_000)] = 2_000,
    threshold: Annotated[
        float | None, typer.Option(help="Fail if a set leaks more than this share.", min=0, max=1)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the report as a page too.")
    ] = None,
    standard: _StandardFormat = Format.JSONL,
) -> None:
    """Rank attributes and sets of them by what they tell of people, before and after a release."""
    from stream_anon.cli.decide.leakage import Presentation, leakage
    from stream_anon.operations.leakage.study import LeakageRequest

    chosen = config or policy
    if chosen is None or (config and policy):
        raise SettingsError("leakage", "give --config FILE")
    if released is not None and source is None:
        raise SettingsError("--released", "needs --input FILE, the records that it was made of")
    known = tuple(name for name in (part.strip() for part in disclosed.split(",")) if name)
    asked = LeakageRequest(known, sets, most, threshold)
    raise typer.Exit(leakage(chosen, source, released, asked, standard, Presentation(as_json, page)))


@app.command("propose")
def propose_policy(
    sample: Annotated[Path, typer.Option("--input", metavar="FILE", help="CSV or JSON Lines sample.")],
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write; else standard output.")
    ] = None,
    k: Annotated[int, typer.Option(help="The k to propose.", min=2)] = 10,
) -> None:
    """Write a first policy from a sample; a person must decide what it marks."""
    from stream_anon.cli.decide.propose import propose

    raise typer.Exit(propose(sample, output, k))


@app.command("negotiate")
def negotiate_levels(
    policy: Annotated[
        Path | None, typer.Argument(metavar="[POLICY]", help="The policy; else that of --config.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", metavar="FILE", help="Settings file; its input topic is sampled."),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option("--input", metavar="FILE", help="CSV or JSON Lines sample; - for standard input."),
    ] = None,
    k: Annotated[int | None, typer.Option(help="Least individuals in a group; else the policy's.", min=2)] = None,
    l: Annotated[  # noqa: E741
        int | None, typer.Option(help="Least distinct sensitive values; else the policy's, 1 for none.", min=1)
    ] = None,
    max_level: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LEVEL", help="Highest level of an attribute; may be given again."),
    ] = None,
    max_suppressed: Annotated[
        str, typer.Option(metavar="RECORDS", help="Records that may be suppressed (40), or a share (0.5%).")
    ] = "0",
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
    output: Annotated[
        Path | None, typer.Option("--policy", metavar="FILE", help="Write the policy with the answer in it.")
    ] = None,
    relax: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --policy, if nothing is exact: suppression, height or privacy."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page that answers as one drags its sliders."),
    ] = None,
    standard: _StandardFormat = Format.JSONL,
) -> None:
    """Say which levels of the attributes reach k, or what would have to give way; from a sample."""
    from stream_anon.cli.decide.negotiate import Output, Relaxation, SampleSource, asked_of, negotiate

    chosen = policy or config
    if chosen is None or (config is None and sample is None):
        raise SettingsError("negotiate", "give a policy and --input FILE, or --config FILE to sample its topic")
    if relax is not None and relax not in list(Relaxation):
        raise SettingsError("--relax", f"must be one of {', '.join(Relaxation)}")
    asked = asked_of(k, l, max_level or (), max_suppressed)
    out = Output(as_json, output, Relaxation(relax) if relax else None, page)
    raise typer.Exit(negotiate(chosen, SampleSource(sample, config or chosen, standard), asked, out))


@app.command("learn")
def learn_from_sample(
    sample: Annotated[str, typer.Argument(help="CSV or JSON Lines file; - for standard input.")],
    config: Annotated[
        Path, typer.Option("--config", "-c", "--settings", metavar="FILE", help="Settings file (YAML).")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the order.")],
    standard: _StandardFormat = Format.JSONL,
) -> None:
    """Learn the forest's order from a sample, for engine.order; it holds no value of anybody."""
    from stream_anon.cli.decide.learn import learn

    raise typer.Exit(learn(sample, config, output, standard))


@app.command("schema")
def released_schema(
    config: Annotated[
        Path | None, typer.Option("--config", "-c", metavar="FILE", help="Settings file (YAML).")
    ] = None,
    policy: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The same.", hidden=True)] = None,
) -> None:
    """Print the JSON Schema of the records that a policy releases."""
    from stream_anon.cli.decide.schema import schema

    chosen = config or policy
    if chosen is None or (config and policy):
        raise SettingsError("schema", "give --config FILE")
    raise typer.Exit(schema(chosen))


@app.command("logs-explain")
def explain_line(code: Annotated[str, typer.Argument(help="The `event` of a log line.")]) -> None:
    """Say what a log line means and what to do about it."""
    from stream_anon.operations.log_lines import explain

    typer.echo(explain(code))


@app.command("demo")
def run_demo(
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Stream this CSV instead of clinic visits.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", "--policy", metavar="FILE", help="The policy for it.")
    ] = None,
    events: Annotated[int, typer.Option(help="How many events at the most.", min=1, max=10_000_000)] = 60_000,
    k: Annotated[int | None, typer.Option(help="Override privacy.k.", min=2)] = None,
) -> None:
    """Stream events through the service with an embedded broker, and audit what came out."""
    from stream_anon.cli.run.demo import demo

    raise typer.Exit(demo(csv, config, events, k))


def main() -> None:
    """Run the command line; one message and an exit code instead of a traceback for what can go wrong."""
    try:
        app()
    except (SettingsError, InputError) as error:
        _fail(error, 2)
    except BrokerError as error:
        _fail(error, 3)
    except StreamAnonError as error:
        _fail(error, 1)
    except Exception as error:  # noqa: BLE001 - a bug; its message and its traceback may hold values
        from stream_anon.adapters.logs import describe

        _fail(f"{describe(error)}: a bug, please report it", 1)


def _fail(error: StreamAnonError | str, code: int) -> None:
    typer.echo(f"stream-anon: {error}", err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
