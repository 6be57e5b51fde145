"""Propose a first policy from a sample of records.

What is proposed errs on the closed side: nothing is declared insensitive, what cannot be generalized is left
undeclared, and so never published. No value is written that fewer than ten individuals share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from stream_anon.errors import InputError, SettingsError, Unfit
from stream_anon.formats.tables.csv_cells import parse
from stream_anon.formats.tables.undeclared_samples import FieldSample, SampledField, read_sample
from stream_anon.judging.disguises.resembling import in_words
from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.microdata.bounds import k_of_risk
from stream_anon.microdata.coding import code_value
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.operations.propose.advice import (
    USUAL_RISK,
    Candidate,
    few_people,
    individual_lines,
    left_out,
    many_columns,
    thresholds,
)
from stream_anon.operations.propose.cuts import with_cuts
from stream_anon.operations.propose.first_line import holds_names
from stream_anon.operations.propose.guess import label
from stream_anon.operations.propose.mixed import of_one_kind
from stream_anon.operations.propose.proposed_domains import guess
from stream_anon.operations.propose.recognised import recognised
from stream_anon.operations.propose.roles import (
    STRONG,
    FieldKind,
    disguised,
    is_measure,
    is_personal,
    kind_of,
    person_score,
)
from stream_anon.operations.propose.sensitive import ProposedField, sensitive_field, sensitive_list
from stream_anon.operations.propose.support import FEWEST, People, read
from stream_anon.operations.yaml_lines import block, scalar
from stream_anon.settings.loading import parse_settings
from stream_anon.settings.policy_file import build_policy
from stream_anon.settings.yaml_text import read_yaml


def propose(
    path: Path, k: int | None = None, ranges: Mapping[str, int] | None = None, max_risk: float = USUAL_RISK
) -> str:
    """Return the text of a settings file for the records in a CSV or JSON Lines file.

    Parameters
    ----------
    k
        The k to propose, in place of a risk.
    max_risk
        The risk to propose, see `k_of_risk`.
    ranges
        By numeric field, how many ranges of about as many values each it shall have; see `cuts`.

    Raises
    ------
    InputError
        If the file cannot be read, or holds too little to propose anything.
    SettingsError
        If `ranges` names a field that the file does not have.
    """
    sample, ranges = read_sample(path), ranges or {}
    asked, k = (f"max_risk: {max_risk}", k_of_risk(max_risk)) if k is None else (f"k: {k}", k)
    for name in ranges.keys() - sample.columns.keys():
        raise SettingsError("--equal-frequency", f"{name}: the sample has no such field")
    whole = sample
    sample, mixed = of_one_kind(whole)
    names = [name for name, column in sample.columns.items() if column.values or sample.texts]
    kinds = {name: _kind(name, sample.columns[name], sample.records) for name in names}
    identifiers = [name for name in names if kinds[name] is FieldKind.IDENTIFIER]
    individual = _individual(sample, identifiers)
    people = _people(sample, identifiers, individual)
    count = people.proposed(range(sample.records))
    if count < FEWEST:
        raise InputError(
            f"{path}: holds fewer than {FEWEST} individuals; every proposed value would be one of theirs"
        )
    if sample.texts and not holds_names(sample):
        raise InputError(
            f"{path}: the first line must hold the names of the columns, and nothing tells it from a record: name "
            "two columns in usual words, such as age and city, or most of them in small letters"
        )
    fields, unnamed = [], 0
    for name in (*names, *mixed.left_out):
        if not sample.texts and people.number(whole.columns[name].rows) < FEWEST:
            unnamed += 1  # the name itself may be a value, where keys are made from data
        elif name in mixed.left_out:
            fields.append(ProposedField(name, {}, (mixed.left_out[name],)))
        else:
            column = sample.columns[name]
            found = _field(name, kinds[name], column, people, sample.texts, _Asked(ranges.get(name), k))
            fields.append(_addressed(mixed.told(found, individual), column))
    fields = _without_nesting(fields)
    if not any(field.settings.get("role") == "quasi-identifier" for field in fields):
        raise InputError(
            f"{path}: no field looks like a quasi-identifier that {FEWEST} individuals share values of"
        )
    advice = [*few_people(count, k), *many_columns(_candidates(sample, fields))]

    def written(proposed: list[ProposedField]) -> str:
        return "\n".join(_lines(sample, proposed, unnamed, individual, asked, advice)) + "\n"

    text = written(fields)
    policy = build_policy(parse_settings(cast("dict[str, Any]", read_yaml(text))), path)
    return text if sample.more else written([_closed(field, sample, policy) for field in fields])


def _kind(name: str, column: SampledField, records: int) -> FieldKind:
    return FieldKind.PLAIN if recognised(column) is not None else kind_of(name, column.values, records)


def _candidates(sample: FieldSample, fields: list[ProposedField]) -> list[Candidate]:
    chosen = [field.name for field in fields if field.settings.get("role") == "quasi-identifier"]
    return [Candidate(name, len(sample.columns[name].distinct)) for name in chosen]


def _closed(field: ProposedField, sample: FieldSample, policy: Policy) -> ProposedField:
    """Let a field reject other values if the sample, which was read whole, holds none."""
    if field.settings.get("unknown") != "root":
        return field
    attribute = policy.attribute(field.name)
    if not isinstance(attribute, QuasiIdentifier):
        return field
    try:
        for value in sample.columns[field.name].distinct:
            given = parse(attribute, str(value)) if sample.texts else value
            if code_value(attribute, given) == attribute.unknown_code:
                return field
    except Unfit:
        return field
    return replace(field, settings={**field.settings, "unknown": "reject"})


def _score(sample: FieldSample, name: str) -> int:
    column = sample.columns[name]
    return person_score(name, len(column.distinct), len(column.values))


def _individual(sample: FieldSample, identifiers: list[str]) -> str:
    """Return the identifier that most likely tells people apart."""
    best = max(identifiers, key=partial(_score, sample), default=None)
    return best if best is not None and _score(sample, best) > 0 else EVERY_RECORD


def _people(sample: FieldSample, identifiers: list[str], individual: str) -> People:
    """Return the individual of each row, by all identifiers that may tell people apart; `1` and `"1"` are one.

    Beside one that plainly does only others that plainly do count: not the number of a ward.
    """
    if individual == EVERY_RECORD:
        return People()
    least = STRONG if _score(sample, individual) >= STRONG else 1
    others = [
        name
        for name in identifiers
        if name != individual
        and len(sample.columns[name].values) >= 0.5 * sample.records
        and _score(sample, name) >= least
    ]
    return People.of([read(sample.columns[name], label) for name in (individual, *others)], sample.records)


_LEFT_OUT = (
    FieldKind.NESTED,
    FieldKind.LIST,
    FieldKind.IDENTIFYING_LIST,
    FieldKind.TEXT,
    FieldKind.CONTACT,
)


class _Asked(NamedTuple):
    """What was asked for: so many ranges of a field, if any, and k."""

    parts: int | None
    k: int


def _field(
    name: str, kind: FieldKind, column: SampledField, people: People, texts: bool, asked: _Asked
) -> ProposedField:
    if not column.values:
        return ProposedField(name, {}, ("no value in the sample",))
    if kind in _LEFT_OUT:
        return ProposedField(name, {}, (kind.value,))
    if kind is FieldKind.SENSITIVE_LIST:
        return sensitive_list(name, column, people)
    if kind is FieldKind.IDENTIFIER:
        disguise = disguised(name, column.distinct)
        return ProposedField(name, {"role": "identifier"}, () if disguise is None else (in_words(disguise),))
    found = guess(name, column, people, texts)
    remarks: tuple[str, ...] = ()
    if kind is FieldKind.SENSITIVE and not (found is not None and found.is_time):
        sensitive = sensitive_field(name, column, people, texts, asked.k)
        if isinstance(sensitive, ProposedField):
            return sensitive
        found = sensitive
    elif found is not None:
        remarks = _remarks(name)
    if found is None:
        return ProposedField(name, {}, (f"too many different values, or too few that {FEWEST} individuals share",))
    if not found.settings:
        return ProposedField(name, {}, found.remarks)
    if asked.parts is not None:
        found = with_cuts(found, column, people, asked.parts, asked.k)
    return ProposedField(name, {"role": "quasi-identifier", **found.settings}, (*remarks, *found.remarks))


def _addressed(field: ProposedField, column: SampledField) -> ProposedField:
    """Return a field with its path, where one of its keys has a dot in it."""
    if not field.settings or not column.keys or column.keys == tuple(field.name.split(".")):
        return field
    return replace(field, settings={**field.settings, "path": list(column.keys)})


def _remarks(name: str) -> tuple[str, ...]:
    if is_measure(name):
        return ("DECIDE: published as ranges; sensitive or insensitive instead, if nobody else knows it?",)
    if not is_personal(name):
        return ("DECIDE: can somebody be recognised by it? leave it out if nobody needs it",)
    return ()


def _without_nesting(fields: list[ProposedField]) -> list[ProposedField]:
    """Leave out a field that is a value here and a parent of values there."""
    paths = [field.path for field in fields if field.settings]
    parents = {path[:depth] for path in paths for depth in range(1, len(path))}
    kept = []
    for field in fields:
        if field.settings and not all(field.path):
            field = ProposedField(field.name, {}, ("its name cannot be written as a path",))  # noqa: PLW2901
        elif field.settings and field.path in parents:
            field = ProposedField(field.name, {}, ("sometimes a value, sometimes a parent of values",))  # noqa: PLW2901
        kept.append(field)
    return kept


def _lines(
    sample: FieldSample, fields: list[ProposedField], unnamed: int, individual: str, asked: str, advice: list[str]
) -> Iterator[str]:
    more = "the first " if sample.more else ""
    yield f"# A first policy, proposed from {more}{sample.records} records. A person must decide what DECIDE marks."
    yield f"# Values that fewer than {FEWEST} individuals share are not written here; they are published as '*'."
    for name in sample.own_names:
        yield f"# DECIDE: {scalar(name)} is a value of its own column too. Does the first line hold names?"
    if sample.malformed:
        yield f"# {sample.malformed} lines were no records and were passed over."
    if sample.index:
        yield "# The first column has no name and counts rows: it is left out."
    if any(field.settings.get("unknown") == "reject" for field in fields):
        yield "# The sample was read to its end: `unknown: reject` rejects what never occurs in it."
    yield from advice
    yield from (
        "",
        "# To serve between two topics, add:",
        "# kafka:",
        '#   bootstrap_servers: "127.0.0.1:9092"',
        "#   group: anonymizer",
        "#   input: people",
        "#   output: people.anonymous",
        "",
        "privacy:",
        *thresholds(),
        f"  {asked}",
    )
    yield from individual_lines(individual)
    diverse = [field.name for field in fields if field.diverse]
    if diverse:
        yield "  # DECIDE: so many different values every class must show, so that it tells nobody's."
        yield "  sensitive:"
        yield from (f"    {scalar(name)}: {{distinct_l: 2}}" for name in diverse)
    yield from ("", "# DECIDE: how long a record may wait. Longer windows are larger and lose less information.")
    yield "window: {max_delay: 30s}"
    yield from ("", "attributes:")
    for field in fields:
        if field.settings:
            yield from (f"  # {remark}" for remark in field.remarks)
            yield from block(field.name, field.settings, "  ")
    yield from left_out([field for field in fields if not field.settings], unnamed)
