"""Propose ranges of equal frequency: cuts in a sample that enough people share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from stream_anon.errors import SettingsError
from stream_anon.formats.tables.undeclared_samples import SampledField
from stream_anon.microdata.domains.automatic import equal_frequency
from stream_anon.operations.propose.guess import Guess
from stream_anon.operations.propose.proposed_numbers import number
from stream_anon.operations.propose.support import FEWEST, People, read

MOST_RANGES = 1000


def wanted_ranges(options: Sequence[str]) -> Mapping[str, int]:
    """Return the number of ranges by attribute, as options such as `age=8` say.

    Raises
    ------
    SettingsError
        If one is not of this form, or the number is not from 2 to 1,000.
    """
    wanted = {}
    for option in options:
        name, _, count = option.rpartition("=")
        if not name or not count.isdecimal() or not 2 <= int(count) <= MOST_RANGES:
            raise SettingsError("--equal-frequency", f"must be NAME=COUNT, COUNT from 2 to {MOST_RANGES:,}")
        wanted[name] = int(count)
    return wanted


def with_cuts(found: Guess, column: SampledField, people: People, parts: int, k: int) -> Guess:
    """Return a numeric guess with ranges that hold about equally many values of the sample.

    A range begins only with a cell of the grid in which at least k people stand, and at least 10. Where no cell has
    so many, the guess stays as it is and a remark says so.

    Parameters
    ----------
    parts
        How many ranges there should be.
    """
    numeric = found.settings.get("numeric")
    if not isinstance(numeric, Mapping):
        remark = "DECIDE: --equal-frequency is for numbers, and this is none"
        return replace(found, remarks=(*found.remarks, remark))
    low, high, step = (Decimal(str(numeric[key])) for key in ("min", "max", "step"))
    cells = read(column, number).then(lambda exact: int((exact - low) // step) if low <= exact <= high else None)
    size = int((high - low) / step) + 1
    counts, enough = [0] * size, [False] * size
    for cell, count, shared in zip(cells.meanings, cells.counts.tolist(), people.sharing(cells), strict=True):
        counts[cell], enough[cell] = count, bool(shared >= max(k, FEWEST))
    cuts = equal_frequency(counts, enough, parts)
    if not cuts:
        remark = f"DECIDE: no number is shared by {max(k, FEWEST)} individuals, so that a range could begin there"
        return replace(found, remarks=(*found.remarks, remark))
    kept = {key: value for key, value in numeric.items() if key != "levels"}
    starts = [low + cell * step for cell in cuts]
    values: Sequence[object] = [int(start) if start == start.to_integral_value() else start for start in starts]
    remark = "DECIDE: these cuts tell how the values of the sample are distributed, and policy documents hold them"
    return Guess(
        {**found.settings, "numeric": {**kept, "cuts": values}}, (*found.remarks, remark), is_time=found.is_time
    )
