"""The command itself, what its exit codes mean, and the options that several sub-commands share."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from stream_anon.conditions import Condition
from stream_anon.formats.tables.format_names import Format
from stream_anon.version import SOFTWARE

EXIT_CODES: Mapping[int, str] = {
    0: "done; a check or an audit found nothing",
    1: "a check or an audit found something; `leakage`, `attack` or `report` measured more than its threshold; "
    "none of the given keys has signed a file; no planned setting meets the limits; too many records were "
    "rejected; a run or a release was refused; `audit --k` asked for more than the records have; or the service "
    "gave up",
    2: "settings, files or options are wrong",
    3: "the broker, the schema registry or the service to which an order was sent cannot be reached, or refuses",
    130: "interrupted by Ctrl-C, or `anonymize` by SIGTERM; `run` ends with 0, because it was asked to stop",
}
"""What they mean; docs/reference/commands.md shows the same table."""

app = typer.Typer(
    name="stream-anon",
    help="k-anonymity where the data flows: Kafka in, k-anonymous Kafka out.",
    no_args_is_help=True,
    epilog="Exit codes\n\n" + "\n\n".join(f"{code}  {meaning}" for code, meaning in EXIT_CODES.items()),
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Accepted = Annotated[
    list[Condition] | None,
    typer.Option(
        "--accept-risk",
        metavar="NAME",
        help="Run in spite of this condition; may be given more than once. Every certificate names it.",
    ),
]
AcceptedOfFile = Annotated[
    list[Condition] | None,
    typer.Option(
        "--accept-risk",
        metavar="NAME",
        help="Release in spite of this condition; may be given more than once. Certificates name it.",
    ),
]
Config = Annotated[Path, typer.Option("--config", "-c", help="Settings file (YAML).", metavar="FILE")]
OverriddenK = Annotated[int | None, typer.Option("--k", metavar="K", help="Override privacy.k, or max_risk.")]
OverriddenMaxRecords = Annotated[
    int | None, typer.Option("--max-records", metavar="N", help="Override window.max_records.")
]
OverriddenEngine = Annotated[str | None, typer.Option("--engine", metavar="NAME", help="Override engine.name.")]
OverriddenSeed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Override engine.seed.")]
StandardFormat = Annotated[
    Format,
    typer.Option("--format", help="Format of standard input and output (-); a file shows it by its suffix."),
]

# Of commands that look at a sample: a file under a policy, or the input topics of a settings file.
PolicyFile = Annotated[
    Path | None, typer.Argument(metavar="[POLICY]", help="The policy; by default that of --config.")
]
SampledConfig = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help="Settings file; without --input its topic is sampled."),
]
SampleFile = Annotated[
    str | None,
    typer.Option("--input", metavar="FILE", help="CSV, JSON Lines or Parquet records; - for standard input."),
]
WrittenPolicy = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the policy with the answer in it.")
]


class SchemaKind(StrEnum):
    """As what the schema of released records may be printed."""

    JSON_SCHEMA = "json-schema"
    AVRO = "avro"
    PROTOBUF = "protobuf"
    SQL = "sql"
    ODCS = "odcs"


def overridden(
    k: int | None, max_records: int | None, engine: str | None, seed: int | None
) -> dict[str, dict[str, Any]]:
    """Return the settings that were typed, by section and key; they win over the environment and the file."""
    given: dict[str, dict[str, Any]] = {
        "privacy": {"k": k},
        "window": {"max_records": max_records},
        "engine": {"name": engine, "seed": seed},
    }
    typed = {
        section: {key: value for key, value in values.items() if value is not None}
        for section, values in given.items()
    }
    return {section: values for section, values in typed.items() if values}


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(SOFTWARE)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """k-anonymity where the data flows: Kafka in, k-anonymous Kafka out."""
