"""`stream-anon utility`: what releases keep and lose, beside each other. No value is printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stream_anon.operations.leakage.tables import read_released, read_table
from stream_anon.operations.samples import SampleSource
from stream_anon.operations.utility.study import Utility, study_utility
from stream_anon.settings.policy_file import load_policy

_ROWS: tuple[tuple[str, Callable[[Utility], float | None], str], ...] = (
    ("records released", lambda found: found.records, ","),
    ("records suppressed", lambda found: found.suppressed, ","),
    ("classes", lambda found: found.classes, ","),
    ("GCP (mean NCP)", lambda found: found.gcp, ".4f"),
    ("Prec", lambda found: found.prec, ".4f"),
    ("absolute distance", lambda found: found.absolute, ".3f"),
    ("relative distance", lambda found: found.relative, ".3f"),
    ("conditional entropy (bits)", lambda found: found.conditional_entropy, ",.0f"),
    ("discernibility", lambda found: found.discernibility, ","),
    ("average class size / k", lambda found: found.class_size, ".2f"),
    ("dependence kept", lambda found: found.dependence, ".1%"),
    ("error of range counts", lambda found: found.query_error, ".1%"),
)


def utility(config: Path, original: str, released: Sequence[Path], seed: int, *, as_json: bool) -> int:
    """Print what releases of a file keep and lose; return 0."""
    policy = load_policy(config, {"engine": {"order": None}})
    table = read_table(policy, SampleSource(original, config))
    found = [study_utility(table, read_released(policy, path), seed) for path in released]
    if as_json:
        document = {"records": table.population.rows, "k": policy.k, "seed": seed}
        typer.echo(json.dumps(document | {"releases": [each.document() for each in found]}, indent=2))
        return 0
    console = Console(highlight=False, markup=False)
    shown = Table.grid(padding=(0, 2))
    shown.add_column(no_wrap=True)
    for _ in found:
        shown.add_column(justify="right", overflow="fold")
    shown.add_row(Text("measure", "bold"), *(Text(Path(each.source).name, "bold") for each in found))
    for name, figure, form in _ROWS:
        cells = [figure(each) for each in found]
        shown.add_row(Text(name), *(Text("-" if cell is None else format(cell, form)) for cell in cells))
    console.print(shown)
    return 0
