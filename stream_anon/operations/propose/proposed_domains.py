"""Guess the domain of a quasi-identifier: a range, dates, prefixes, or categories.

Every number and every label in an answer is shared by `FEWEST` individuals, or is no value of the sample at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from stream_anon.errors import HierarchyError
from stream_anon.formats.tables.undeclared_samples import SampledField
from stream_anon.microdata.domains import automatic
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.operations.propose.guess import Guess, Setting, fits, label, misfits, percent
from stream_anon.operations.propose.proposed_moments import dates
from stream_anon.operations.propose.proposed_numbers import numeric
from stream_anon.operations.propose.recognised import fitting, recognised
from stream_anon.operations.propose.roles import is_amount, is_id, is_moment, is_postal
from stream_anon.operations.propose.support import FEWEST, People, read

FLAT = 12  # categories up to which no hierarchy is proposed
ARITY = 4
COVERED = 0.5  # share of the records that the common categories must cover
MONTH = re.compile(r"\d{4}([/-])\d{2}")
_DIGITS = re.compile(r"\d{3,10}")
_Attempt = Callable[[str, SampledField, People, bool], Guess | None]


def guess(name: str, column: SampledField, people: People, texts: bool) -> Guess | None:
    """Return the domain that fits a field, None if the values are too many or too rare for any."""
    attempts: list[_Attempt] = [_recognised, _prefix, _months, dates]
    for attempt in attempts if is_id(name) else [*attempts, numeric]:
        found = attempt(name, column, people, texts)
        if found is not None:
            return found
    return _categories(column, people)


def _recognised(name: str, column: SampledField, people: People, texts: bool) -> Guess | None:  # noqa: ARG001
    settings = recognised(column)
    if settings is None:
        return None
    return Guess({**settings, "unknown": "root"}, misfits(column, len(fitting(settings, column))))


def _prefix(name: str, column: SampledField, people: People, texts: bool) -> Guess | None:
    if is_moment(name) and not is_postal(name):
        return None
    digits = [
        (text, count)
        for value, count in zip(column.distinct, column.counts, strict=True)
        if not isinstance(value, bool | float | tuple) and _DIGITS.fullmatch(text := str(value))
    ]
    many = sum(count for _, count in digits)
    if not fits(many, column):
        return None
    as_text = not texts and not is_amount(name) and all(isinstance(value, str) for value in column.distinct)
    if not (is_postal(name) or as_text or any(text.startswith("0") for text, _ in digits)):
        return None
    lengths = read(column, lambda value: len(str(value)))
    shared = dict(zip(lengths.meanings, people.sharing(lengths).tolist(), strict=True))
    length = max(shared, key=shared.__getitem__)
    same = sum(count for text, count in digits if len(text) == length)
    if shared[length] < FEWEST or not 3 <= length <= 10 or same < 0.9 * many:
        return None
    padded = not texts and any(isinstance(v, int) and len(str(v)) < length for v in column.distinct)
    settings: dict[str, Setting] = {"prefix": {"length": length} | ({"pad": "zeros"} if padded else {})}
    remarks = ("numbers lose zeros in front: a shorter one gets them back",) * padded
    return Guess({**settings, "unknown": "root"}, (*misfits(column, many), *remarks))


def _months(name: str, column: SampledField, people: People, texts: bool) -> Guess | None:  # noqa: ARG001 - one signature
    """Return prefixes for months: they have no day, which a date must have."""
    marks = read(
        column, lambda value: found[1] if isinstance(value, str) and (found := MONTH.fullmatch(value)) else None
    )
    if not len(marks):
        return None
    mark, count = marks.meanings[0], int(marks.counts[0])
    if not fits(count, column):
        return None
    prefix = {"length": 7, "alphabet": f"0123456789{mark}"}
    remarks = ("months are published as beginnings: of the month, the year, the decade",)
    return Guess({"prefix": prefix, "unknown": "root"}, (*misfits(column, count), *remarks), is_time=True)


def _categories(column: SampledField, people: People) -> Guess | None:
    labels = read(column, label)
    values = sorted(str(value) for value in people.common(labels) if value not in ("", ROOT_LABEL))
    covered = set(values)
    counts = zip(labels.meanings, labels.counts.tolist(), strict=True)
    kept = sum(count for value, count in counts if value in covered)
    if not values or kept < COVERED * len(column.values):
        return None
    rest = len(column.values) - kept
    remarks: tuple[str, ...] = ()
    if rest:
        remarks = (f"values that fewer than {FEWEST} share ({percent(rest, len(column.values))}) become '*'",)
    settings: dict[str, Setting] = {"unknown": "root"}
    if all(isinstance(value, bool) for value in column.distinct):
        settings = {"values": [value == "true" for value in values], "type": "boolean", **settings}
    elif len(values) > FLAT and _grows_a_tree(values):
        settings = {"hierarchy": {"ordered": values, "arity": ARITY}, **settings}
        remarks += (
            f"DECIDE: the groups are alphabetical, {ARITY} neighbours each, and mean nothing: put values that",
            "belong together side by side, write a hierarchy file, or declare them as `values` without groups",
        )
    else:
        settings = {"values": values, **settings}
    return Guess(settings, remarks)


def _grows_a_tree(values: list[str]) -> bool:
    """Return whether the labels of the groups differ from all values."""
    try:
        automatic.balanced(values, ARITY)
    except HierarchyError:
        return False
    return True
