"""Sub-commands that make something for a policy: an order, families, a schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream_anon.cli.app import Config, PolicyFile, SampledConfig, SampleFile, SchemaKind, StandardFormat, app
from stream_anon.cli.decide.decide_commands import sampled
from stream_anon.formats.tables.format_names import Format
from stream_anon.microdata.domains.families import ShownAs


@app.command("learn", rich_help_panel="Decide")
def learn_from_sample(
    sample: Annotated[str, typer.Argument(help="CSV, JSON Lines or Parquet file; - for standard input.")],
    config: Config,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the order.")],
    standard: StandardFormat = Format.JSONL,
) -> None:
    """Learn an order for the forest from a sample, for engine.order; the file holds nobody's values."""
    from stream_anon.cli.decide.learn import learn

    raise typer.Exit(learn(sample, config, output, standard))


@app.command("families", rich_help_panel="Decide")
def deal_families(
    policy: PolicyFile = None,
    config: SampledConfig = None,
    sample: SampleFile = None,
    attribute: Annotated[
        str | None, typer.Option(metavar="NAME", help="A sensitive attribute; by default the only one.")
    ] = None,
    invariant: Annotated[int, typer.Option(help="Least number of values of a family.", min=2, max=1000)] = 3,
    publish: Annotated[
        ShownAs | None,
        typer.Option(help="What records show: the family, or the value, in classes that keep families whole."),
    ] = None,
    standard: StandardFormat = Format.JSONL,
) -> None:
    """Group the values of a sensitive attribute into families, to protect people who appear in many windows."""
    from stream_anon.cli.decide.families import families

    chosen, source = sampled("families", policy, config, sample, standard)
    raise typer.Exit(families(chosen, source, attribute, invariant, publish))


@app.command("schema", rich_help_panel="Decide")
def released_schema(
    config: Config,
    kind: Annotated[
        SchemaKind, typer.Option("--format", help="What to print; all but json-schema need output.shape.")
    ] = SchemaKind.JSON_SCHEMA,
) -> None:
    """Print a schema of the records that a policy releases: JSON Schema, Avro, Protobuf, SQL or ODCS."""
    from stream_anon.cli.decide.schema import schema

    raise typer.Exit(schema(config, kind))
