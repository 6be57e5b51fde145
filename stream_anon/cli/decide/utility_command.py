"""The sub-command `utility`, with its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream_anon.cli.app import Config, app


@app.command("utility", rich_help_panel="Decide")
def compare_utility(
    original: Annotated[str, typer.Argument(help="The records, CSV, JSON Lines or Parquet.")],
    released: Annotated[
        list[Path], typer.Argument(help="Files that were released from them; several are compared.")
    ],
    config: Config,
    label: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Train classifiers that predict this attribute; needs scikit-learn."),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="With --label: original records that were not released, to test on."),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            help="With --label: how many seconds the training of one classifier may take.", min=0.01, max=3600
        ),
    ] = 10.0,
    search: Annotated[
        bool, typer.Option("--search", help="With --label: let FLAML search for the best too, in the same time.")
    ] = False,
    risk_threshold: Annotated[
        float, typer.Option(help="Count the people whose risk of being found again is above this.", min=0, max=1)
    ] = 0.2,
    population: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Size of the population of which the people in the records are a sample.", min=1
        ),
    ] = None,
    collapse_levels: Annotated[
        bool,
        typer.Option(
            "--collapse-levels",
            help="For distances and Prec, count levels that group the original values in the same way as one.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of everything that is drawn.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    page: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page too.")] = None,
) -> None:
    """Say what releases of a file keep and lose, how likely people are found again, and what classifiers learn."""
    from stream_anon.cli.decide.utility import UtilityRequest, lesson_of, utility
    from stream_anon.operations.utility.release_risks import RiskRequest

    lesson = lesson_of(label, test, seconds, search=search)
    risk = RiskRequest(risk_threshold, population)
    asked = UtilityRequest(seed, risk, lesson, collapse_levels, as_json, page)
    raise typer.Exit(utility(config, original, released, asked))
