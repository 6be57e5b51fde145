"""The `stream-anon` command: every sub-command, its options, and what its exit code means.

Exit codes: 0 done, 1 a check or an audit found something (or the service gave up), 2 settings, files or options
are wrong, 3 the broker is away or refuses.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stream_anon.errors import BrokerError, InputError, SettingsError, StreamAnonError
from stream_anon.version import __version__

app = typer.Typer(
    name="stream-anon",
    help="k-anonymity where the data flows: Kafka in, k-anonymous Kafka out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_Config = Annotated[Path, typer.Option("--config", "-c", help="Settings file (YAML).", metavar="FILE")]


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
) -> None:
    """Serve between two topics until stopped; SIGTERM leaves within 10 s and loses nothing."""
    from stream_anon.cli.run import run

    raise typer.Exit(run(config, workers))


@app.command("anonymize")
def anonymize_file(
    policy: Annotated[Path, typer.Argument(help="Settings file; only its privacy side is needed.")],
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="CSV or JSON Lines file; - for lines from standard input.")
    ],
    target: Annotated[
        str, typer.Argument(metavar="OUTPUT", help="CSV or JSON Lines file; - for lines to standard output.")
    ],
    k: Annotated[int | None, typer.Option(help="Override privacy.k.")] = None,
    max_records: Annotated[int | None, typer.Option(help="Override window.max_records.")] = None,
    engine: Annotated[str | None, typer.Option(help="Override engine.name.")] = None,
    seed: Annotated[int | None, typer.Option(help="Override engine.seed.")] = None,
    certificates: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write one certificate a line, in output order.")
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write what happened as JSON.")] = None,
) -> None:
    """Put a file through the engine, window after window."""
    from stream_anon.cli.anonymize import anonymize

    overrides: dict[str, dict[str, object]] = {
        "privacy": {"k": k} if k is not None else {},
        "window": {"max_records": max_records} if max_records is not None else {},
        "engine": {
            **({"name": engine} if engine is not None else {}),
            **({"seed": seed} if seed is not None else {}),
        },
    }
    raise typer.Exit(anonymize(policy, source, target, overrides, certificates, report))


@app.command("audit")
def audit_release(
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", metavar="FILE", help="Audit the output topic of these settings."),
    ] = None,
    policy: Annotated[Path | None, typer.Option(metavar="FILE", help="Policy of the audited files.")] = None,
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
        list[str] | None, typer.Option(metavar="TOPIC", help="An input topic of old; may be given again.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    metrics: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write figures for node_exporter's textfile collector.")
    ] = None,
) -> None:
    """Check released records against their certificates, without any code of the engine."""
    from stream_anon.cli import audit

    options = audit.Options(since, batch, tuple(former_input or ()), as_json, metrics)
    if config is not None and policy is output is certificates is None:
        raise typer.Exit(audit.audit_topic(config, options))
    if config is None and policy is not None and output is not None and certificates is not None:
        raise typer.Exit(audit.audit_files(policy, output, certificates, options))
    raise SettingsError("audit", "give either --config, or --policy with --output and --certificates")


@app.command("forget")
def forget_released(
    config: _Config,
    partition: Annotated[
        list[str] | None,
        typer.Option(metavar="TOPIC:N", help="Forget this partition; may be given again. Else all that stopped."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; this was decided.")] = False,
) -> None:
    """Let records be released again whose offsets were set back; shows what is at stake, and asks."""
    from stream_anon.cli.forget import forget

    raise typer.Exit(forget(config, partition or [], yes=yes))


@app.command("check")
def check_settings(config: _Config) -> None:
    """Validate settings, topics and permissions, decode a sample, and say what a run would do."""
    from stream_anon.cli.check import check

    raise typer.Exit(check(config))


@app.command("propose")
def propose_policy(
    sample: Annotated[Path, typer.Option("--input", metavar="FILE", help="CSV or JSON Lines sample.")],
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write; else standard output.")
    ] = None,
    k: Annotated[int, typer.Option(help="The k to propose.", min=2)] = 10,
) -> None:
    """Write a first policy from a sample; a person must decide what it marks."""
    from stream_anon.cli.propose import propose

    raise typer.Exit(propose(sample, output, k))


@app.command("learn")
def learn_from_sample(
    sample: Annotated[str, typer.Argument(help="CSV or JSON Lines file; - for lines from standard input.")],
    settings: Annotated[Path, typer.Option("--settings", metavar="FILE", help="Settings file.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the order.")],
) -> None:
    """Learn the forest's order from a sample, for engine.order; it holds no value of anybody."""
    from stream_anon.cli.learn import learn

    raise typer.Exit(learn(sample, settings, output))


@app.command("schema")
def released_schema(policy: Annotated[Path, typer.Argument(help="Settings file.")]) -> None:
    """Print the JSON Schema of the records that a policy releases."""
    from stream_anon.cli.schema import schema

    raise typer.Exit(schema(policy))


@app.command("logs-explain")
def explain_line(code: Annotated[str, typer.Argument(help="The `event` of a log line.")]) -> None:
    """Say what a log line means and what to do about it."""
    from stream_anon.runtime.logs_page import explain

    typer.echo(explain(code))


@app.command("demo")
def run_demo(
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Stream this CSV instead of clinic visits.")
    ] = None,
    policy: Annotated[Path | None, typer.Option(metavar="FILE", help="The policy for it.")] = None,
    events: Annotated[int, typer.Option(help="How many events at the most.", min=1, max=10_000_000)] = 60_000,
    k: Annotated[int | None, typer.Option(help="Override privacy.k.", min=2)] = None,
) -> None:
    """Stream events through the service with an embedded broker, and audit what came out."""
    from stream_anon.cli.demo import demo

    raise typer.Exit(demo(csv, policy, events, k))


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
