"""What a person should know of a proposal as a whole: how much it will cost, and whether the sample suffices."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stream_anon.microdata.bounds import k_of_risk
from stream_anon.microdata.policy import EVERY_RECORD
from stream_anon.operations.propose.roles import is_personal
from stream_anon.operations.propose.sensitive import ProposedField
from stream_anon.operations.propose.support import FEWEST
from stream_anon.operations.yaml_lines import scalar

USUAL_RISK = 0.09
THRESHOLDS = (
    (USUAL_RISK, "public releases of clinical data: EMA policy 0070, Health Canada PRCI"),
    (0.075, "a medium invasion of privacy, if somebody is found: Ontario IPC"),
    (0.05, "a high invasion of privacy, if somebody is found: Ontario IPC"),
)
"""Risks in use, and who is said to ask for them: summaries of their guidelines, not the guidelines, were read."""
MANY = 12  # quasi-identifiers; beyond these, classes of k people agree in little
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed quasi-identifier and the number of its values in the sample."""

    name: str
    values: int


def thresholds() -> Iterator[str]:
    """Return the thresholds in use, each with its k and its source, for a person to choose from."""
    yield "  # DECIDE: how likely a guess may be right that a record of a class is somebody's. Thresholds in use,"
    yield "  # as summaries of the guidelines have them (look them up before you sign):"
    yield from (f"  #   {risk:<5} (k = {k_of_risk(risk)}): {source}" for risk, source in THRESHOLDS)


def few_people(individuals: int, k: int) -> Iterator[str]:
    """Return what is to be said of a sample that holds too few people for classes of k."""
    if individuals < k:
        yield f"# DECIDE: the sample holds {individuals:,} people: classes of k = {k:,} cannot be formed of them."
    elif individuals < 10 * k:
        yield f"# DECIDE: the sample holds {individuals:,} people, at most {individuals // k} classes of k = {k:,}:"
        yield "# what is published of so few says little. Choose a smaller k, or expect more people."


def many_columns(candidates: Sequence[Candidate]) -> Iterator[str]:
    """Return what is to be said of many quasi-identifiers: the more there are, the less is left of each."""
    if len(candidates) <= MANY:
        return
    yield f"# DECIDE: {len(candidates)} quasi-identifiers are many. Hardly anybody shares all of them with others,"
    yield "# so most values are published as ranges or '*': a table of 60 columns lost 0.86 of 1. Keep about ten."
    first = sorted(candidates, key=lambda each: (is_personal(each.name), -each.values))
    named = [each.name for each in first[: min(len(candidates) - MANY + 2, _MOST_NAMED)]]
    yield "# Leave out first what nobody needs of these, which have many values or describe no person:"
    yield from (f"#   {json.dumps(name)}" for name in named)


def individual_lines(individual: str) -> Iterator[str]:
    """Yield who counts as a person, below what has to be decided about it."""
    if individual == EVERY_RECORD:
        yield "  # DECIDE: no field seems to tell people apart, so every record counts as a person of its own."
        yield "  # A person with k records would fill a class alone: name an identifier if there is one."
    else:
        yield "  # DECIDE: is this the field that tells people (not events) apart?"
    yield f"  individual: {scalar(individual)}"


def left_out(fields: list[ProposedField], unnamed: int) -> Iterator[str]:
    """Yield which fields are not declared, and why not."""
    if fields or unnamed:
        yield from ("", "# Not declared, and so never published:")
    for field in fields:
        yield f"#   {scalar(field.name)}: {field.remarks[0]}"
    if unnamed:
        yield f"#   {unnamed} fields that fewer than {FEWEST} individuals have; their names may be values"
