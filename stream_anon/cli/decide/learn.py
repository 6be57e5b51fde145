"""`stream-anon learn`: an order for the forest, from a sample."""

from __future__ import annotations

from pathlib import Path

import typer

from stream_anon.cli.compiling import saying_when_compiling
from stream_anon.errors import InputError
from stream_anon.formats.tables.format_names import Format
from stream_anon.operations.learning import learn_from_file
from stream_anon.settings.learned_order import order_text
from stream_anon.settings.policy_file import load_policy


def learn(sample: str, config: Path, output: Path, standard: Format) -> int:
    """Write the order learned from `sample` to `output`; return the exit code."""
    policy = load_policy(config, {"engine": {"order": None}})
    with saying_when_compiling():
        order, records = learn_from_file(policy, sample, standard)
    try:
        output.write_text(order_text(order), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{output}: cannot be written ({error.strerror})") from None
    typer.echo(f"Learned from {records:,} records. Name the file in the settings: engine.order: {output}")
    return 0
