"""The file that says how many people of a population have which quasi-identifiers."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from stream_anon.errors import InputError, SettingsError, Unfit
from stream_anon.formats.tables.csv_cells import parse
from stream_anon.formats.tables.small_texts import read_numbered_table
from stream_anon.microdata.attributes import Attribute
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.coding import code_value
from stream_anon.microdata.population.presence_bound import PopulationCounts
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

KEY = "privacy.presence.population"
COUNT = "count"
MOST_PEOPLE = 20_000_000_000  # of all lines together


def read_population(
    path: Path, attributes: Sequence[Attribute], nulls: frozenset[str] = frozenset()
) -> PopulationCounts:
    """Return the population of a file: a column for each quasi-identifier, and `count`.

    Lines of one combination are added up. Cells are read as those of records are: an empty one is a missing value.

    Parameters
    ----------
    attributes
        The policy's, of which the quasi-identifiers count.
    nulls
        Texts that mean a missing value.

    Raises
    ------
    SettingsError
        If the file cannot be read, lacks a column, or has a value that no record may have. The message names line
        and column, and nothing of the content.
    """
    try:
        rows = read_numbered_table(path)
    except InputError as error:
        raise SettingsError(KEY, str(error)) from None
    quasi = [attribute for attribute in attributes if isinstance(attribute, QuasiIdentifier)]
    wanted = [attribute.column for attribute in quasi]
    header = rows[0][1] if rows else []
    for column in (*wanted, COUNT):
        if header.count(column) != 1:
            raise SettingsError(KEY, f"{path}: must have one column {column}")
    if COUNT in wanted:
        raise SettingsError(KEY, f"{path}: {COUNT} cannot be a quasi-identifier too")
    if len(rows) < 2:
        raise SettingsError(KEY, f"{path}: has no line below its names")
    places = [header.index(column) for column in wanted]
    coded: Counter[tuple[int, ...]] = Counter()
    known: list[dict[str, int]] = [{} for _ in quasi]
    for line, row in rows[1:]:
        if len(row) != len(header):
            raise SettingsError(KEY, f"{path}: line {line} has another number of cells than the first")
        count = row[header.index(COUNT)]
        if not re.fullmatch("[0-9]{1,11}", count):
            raise SettingsError(KEY, f"{path}: line {line}, column {COUNT}: must be a whole number from 0 on")
        cells = tuple(row[place] for place in places)
        for attribute, cell, codes in zip(quasi, cells, known, strict=True):
            if cell not in codes:
                codes[cell] = _code(path, line, attribute, cell, nulls)
        coded[tuple(codes[cell] for codes, cell in zip(known, cells, strict=True))] += int(count)
    if coded.total() > MOST_PEOPLE:
        raise SettingsError(KEY, f"{path}: must have at most {MOST_PEOPLE:,} people")
    return PopulationCounts(
        np.array(list(coded), np.int32).reshape(len(coded), len(quasi)).T.copy(),
        np.array(list(coded.values()), np.int64),
        _digest(quasi, coded),
    )


def _code(path: Path, line: int, attribute: QuasiIdentifier, cell: str, nulls: frozenset[str]) -> int:
    try:
        return code_value(attribute, parse(attribute, cell, nulls))
    except Unfit as unfit:
        where = f"line {line}, column {attribute.column}"
        raise SettingsError(KEY, f"{path}: {where}: no record may have it ({Reason(unfit.reason).label})") from None


def _digest(quasi: Sequence[QuasiIdentifier], coded: Counter[tuple[int, ...]]) -> str:
    """Return the hash of a population, whatever its order and the spelling of its values."""
    order = sorted(range(len(quasi)), key=lambda place: quasi[place].column)
    shown = [
        {code: quasi[place].publish(code, code) for code in {codes[place] for codes in coded}} for place in order
    ]
    lines = sorted(
        json.dumps([*(own[codes[place]] for place, own in zip(order, shown, strict=True)), count])
        for codes, count in coded.items()
        if count
    )
    text = json.dumps([[quasi[place].column for place in order], *lines])
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
