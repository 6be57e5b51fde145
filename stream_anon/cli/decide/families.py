"""`stream-anon families`: the values of a sensitive attribute dealt into families, from a sample."""

from __future__ import annotations

from pathlib import Path

import typer

from stream_anon.cli.compiling import saying_when_compiling
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.operations.dealt_families import families_of, unfamilied
from stream_anon.operations.samples import SampleSource
from stream_anon.operations.studied_records import MOST_STUDIED
from stream_anon.settings.policy_file import load_policy


def families(config: Path, source: SampleSource, attribute: str | None, least: int, publish: ShownAs | None) -> int:
    """Print families of at least `least` values as a setting; return the exit code.

    What they are to show is what the policy's families show unless `publish` says it.
    """
    policy, declared = unfamilied(load_policy(config), attribute)
    with saying_when_compiling():
        sample = source.read(policy, MOST_STUDIED)
        sample.require_records()
        dealt = families_of(policy, declared, sample.batch, least, publish or declared.shown_as)
    typer.echo(
        f"# From {len(sample):,} records of {sample.source}. Look them through: they go under privacy.sensitive."
    )
    typer.echo(
        f"# Who takes the most frequent value of somebody's family is right for {dealt.guess:.0%} of the people, "
        "each counted for each of their values."
    )
    if dealt.cost is not None:
        people, loss, without = dealt.cost
        typer.echo(
            f"# A window of {people:,} records of the sample loses {loss:.4f} (GCP), and {without:.4f} where "
            "families are published. Nobody of a family is published in a window that lacks one of its values."
        )
    if dealt.known:
        typer.echo(
            f"# The families of the policy come first ({dealt.known:,}) and stay as they are; new values are among "
            "themselves."
        )
    if dealt.rare:
        typer.echo(
            f"# Values that fewer than {policy.crowd} people have are in families too ({dealt.rare:,}): who is "
            "known to be there and never shows has a value in no family."
        )
    if dealt.rest is not None and len(dealt.families) > dealt.known:
        typer.echo(
            "# The policy has a rest: new families make it weaker, since who was in the rest is then known to have "
            "one of their values."
        )
    for line in dealt.lines(least):
        typer.echo(line)
    return 0
