"""`stream-anon propose`: a first policy from a sample."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from stream_anon.errors import InputError
from stream_anon.operations.propose.advice import USUAL_RISK
from stream_anon.operations.propose.cuts import wanted_ranges
from stream_anon.operations.propose.proposing import propose as propose_text


def propose(
    sample: Path, output: Path | None, k: int | None, equal_frequency: Sequence[str], max_risk: float | None = None
) -> int:
    """Write a first policy to `output`, or to standard output; return the exit code."""
    text = propose_text(sample, k, wanted_ranges(equal_frequency), max_risk or USUAL_RISK)
    if output is None:
        typer.echo(text, nl=False)
        return 0
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{output}: cannot be written ({error.strerror})") from None
    marks = text.count("DECIDE:")
    typer.echo(f"Wrote {output}. A person must decide {marks} things in it: look for DECIDE.")
    return 0
