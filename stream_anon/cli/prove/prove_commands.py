"""Sub-commands that check what was released, with their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream_anon.cli.app import (
    Config,
    OverriddenEngine,
    OverriddenK,
    OverriddenMaxRecords,
    OverriddenSeed,
    app,
    overridden,
)
from stream_anon.errors import SettingsError

FormerInput = Annotated[
    list[str] | None,
    typer.Option(metavar="TOPIC", help="A topic that the service no longer reads; may be given more than once."),
]
DigestKeys = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE", help="A key of digests, besides output.digest_key_file; may be given more than once."
    ),
]
PublicKeys = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Public keys, PEM: whatever none of them signed is a violation; may be given more than once.",
    ),
]


@app.command("audit", rich_help_panel="Prove")
def audit_release(
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            metavar="FILE",
            help="Settings file; its output topic is audited, or files.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Released records to audit, CSV, JSON Lines or Parquet.")
    ] = None,
    certificates: Annotated[Path | None, typer.Option(metavar="FILE", help="Their certificates.")] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Only windows closed since: 2024-05-13T08:30:00Z, a day, or 90m, 36h, 7d ago."
        ),
    ] = None,
    batch: Annotated[str | None, typer.Option(metavar="ID", help="Only the window with this batch id.")] = None,
    former_input: FormerInput = None,
    digest_key: DigestKeys = None,
    public_key: PublicKeys = None,
    k: OverriddenK = None,
    max_records: OverriddenMaxRecords = None,
    engine: OverriddenEngine = None,
    seed: OverriddenSeed = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    metrics: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write figures for node_exporter's textfile collector.")
    ] = None,
) -> None:
    """Check released records against their certificates, without any code of the engine.

    Each window is judged under its own policy. The settings, with the options that override them, are what it is
    compared with: give `audit` the options that `anonymize` had. With --k it fails too if a class has fewer
    individuals than that.
    """
    from stream_anon.cli.prove.audit import audit
    from stream_anon.operations.audit.auditing import WantedAudit

    files = None if output is None or certificates is None else (output, certificates)
    if config is None or (files is None and output is not certificates):
        missing = "--config" if config is None else "--output" if output is None else "--certificates"
        raise SettingsError("audit", f"give {missing} as well; files need --config, --output and --certificates")
    former, keys, public_keys = frozenset(former_input or ()), tuple(digest_key or ()), tuple(public_key or ())
    overrides = overridden(k, max_records, engine, seed)
    wanted = WantedAudit(former=former, overrides=overrides, keys=keys, public_keys=public_keys)
    raise typer.Exit(audit(config, files, wanted, since=since, batch=batch, as_json=as_json, metrics=metrics))


@app.command("report", rich_help_panel="Prove")
def report_release(
    config: Config,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Released records; without it the topics of the settings.")
    ] = None,
    certificates: Annotated[Path | None, typer.Option(metavar="FILE", help="Their certificates.")] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Only windows that closed at this time or later: a time, a day, or 7d ago.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="TIME", help="Only windows that closed before this time: a time, a day, or 1h ago."
        ),
    ] = None,
    original: Annotated[
        str | None, typer.Option(metavar="FILE", help="A sample of the input: what the risk was before.")
    ] = None,
    attacks: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What stream-anon attack --json printed.")
    ] = None,
    population: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="How many people have which quasi-identifiers, as for privacy.presence."),
    ] = None,
    max_risk: Annotated[
        float | None,
        typer.Option(help="Highest acceptable risk of any person; by default that of the policy.", min=0, max=1),
    ] = None,
    former_input: FormerInput = None,
    digest_key: DigestKeys = None,
    public_key: PublicKeys = None,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write it as JSON.")] = None,
    html_file: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write it as a page.")] = None,
    pdf_file: Annotated[Path | None, typer.Option("--pdf", metavar="FILE", help="Write it as a PDF.")] = None,
    dpia_file: Annotated[
        Path | None,
        typer.Option("--dpia", metavar="FILE", help="Write a template of an impact assessment, with its figures."),
    ] = None,
    sign_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Sign what is written: FILE.sig beside each file.")
    ] = None,
) -> None:
    """Report what was released in a period, the risks, and what is not promised, for those who sign it off.

    It audits the period first. It ends with 1 if the audit finds something, or a risk is above the threshold.
    """
    from stream_anon.cli.prove.report import ReportOptions, write_report
    from stream_anon.operations.report.reporting import ReportSubject

    if (output is None) is not (certificates is None):
        raise SettingsError("report", "files need both --output and --certificates")
    subject = ReportSubject(config, output, certificates, original, attacks, population, max_risk)
    read = tuple(former_input or ()), tuple(digest_key or ()), tuple(public_key or ())
    options = ReportOptions(since, until, *read, json_file, html_file, pdf_file, dpia_file, sign_key)
    raise typer.Exit(write_report(subject, options))


@app.command("verify", rich_help_panel="Prove")
def verify_signature(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file with FILE.sig beside it, as report writes.")],
    public_key: Annotated[list[Path], typer.Option(metavar="FILE", help="Public keys, PEM.")],
) -> None:
    """Say who signed a file; exit with 1 if it was none of the given keys."""
    from stream_anon.cli.prove.report import verify_file

    raise typer.Exit(verify_file(file, public_key))


@app.command("signing-key", rich_help_panel="Prove")
def print_public_key(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The private key, as certificates.sign.key_file names it.")
    ],
    new: Annotated[bool, typer.Option("--new", help="Make the key first; FILE must not exist.")] = False,
) -> None:
    """Print the public key of a signing key, for `audit --public-key`; with --new, create both first."""
    from stream_anon.cli.prove.signing_key import signing_key

    raise typer.Exit(signing_key(file, new=new))


@app.command("attack", rich_help_panel="Prove")
def attack_own_release(
    config: Config,
    original: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Original records, CSV, JSON Lines or Parquet; - for standard input. Without it the output "
            "topic is attacked, and these are the records of the input topics.",
        ),
    ] = None,
    released: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What was released of them; without it half of the people are released in memory, and attacked.",
        ),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="With --released or topics: original records of people who are not in the release."
        ),
    ] = None,
    certificates: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --released: its certificates, which tell its windows."),
    ] = None,
    by_arrival: Annotated[
        bool,
        typer.Option("--by-arrival", help="Without --released: release windows as records come, not one table."),
    ] = False,
    targets: Annotated[int, typer.Option(help="How many people of each group are attacked.", min=1)] = 1_000,
    guesses: Annotated[
        int, typer.Option(help="How many descriptions are tried to single people out.", min=1)
    ] = 1_000,
    replays: Annotated[
        int,
        typer.Option(help="Run the engine so often for each value that may be somebody's, to find theirs.", min=0),
    ] = 0,
    planted: Annotated[
        int, typer.Option(help="Let somebody write so many made-up people beside each who is attacked.", min=0)
    ] = 0,
    fail_above: Annotated[
        float | None, typer.Option(metavar="RISK", help="End with 1 if a risk is above this.", min=0, max=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything that is drawn.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Attack a release as somebody who knows people would; say how often it succeeds, and what lowers the risk."""
    from stream_anon.cli.prove.attack import AttackedRelease, attack_release
    from stream_anon.operations.attack.attacking import AttackRequest

    asked = AttackRequest(targets, guesses, seed, fail_above, replays, planted)
    attacked = AttackedRelease(original, released, control, certificates, by_arrival)
    raise typer.Exit(attack_release(config, attacked, asked, as_json=as_json))
