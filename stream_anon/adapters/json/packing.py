"""Code all tabled quasi-identifiers of a record in one generated expression.

Each attribute's table holds its codes shifted to bits of their own, so that the sum of one look-up an
attribute is the record's whole tuple; numpy takes it apart again. One comprehension for all attributes runs
several times as fast as a look-up column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.json.column_tables import Table
from stream_anon.microdata.attributes import QuasiIdentifier

MOST_BITS = 62

_Member = tuple[int, QuasiIdentifier, Table, str]

Rows = Sequence[msgspec.Struct]
Pick = Callable[[Rows], list[Any]]


def picker(place: str) -> Pick:
    """Return a function that lists the values at `place` of all rows."""
    return _compiled(f"r.{place}", {})


def _compiled(expression: str, names: dict[str, object]) -> Pick:
    """Compile a comprehension over rows; both sides are made of numbered names only."""
    arguments = ", ".join(names)
    scope: dict[str, Any] = {}
    text = f"def make({arguments}):\n    return lambda rows: [{expression} for r in rows]\n"
    exec(compile(text, "<packing>", "exec"), scope)  # noqa: S102 - no text of the policy is in it
    made: Pick = scope["make"](**names)
    return made


class _Group:
    """Attributes whose codes fit one integer together."""

    def __init__(self, members: list[_Member]) -> None:
        self._rows: list[tuple[int, int, int]] = []
        strict, lenient = [], []
        names: dict[str, object] = {}
        open_names: dict[str, object] = {}
        shift = 0
        for n, (row, attribute, table, place) in enumerate(members):
            codes = {value: code << shift for value, code in table.codes.items()}
            default = attribute.size if table.default is None else table.default
            names[f"t{n}"] = codes
            open_names |= {f"g{n}": codes.get, f"d{n}": default << shift}
            strict.append(f"t{n}[r.{place}]")
            lenient.append(f"g{n}(r.{place}, d{n})")
            self._rows.append((row, shift, (1 << _bits(attribute)) - 1))
            shift += _bits(attribute)
        self._strict = _compiled(" + ".join(strict), names)
        self._lenient = _compiled(" + ".join(lenient), open_names)

    def codes(self, rows: Rows, out: NDArray[np.int32]) -> None:
        """Write the members' codes into their rows of `out`."""
        try:
            sums = self._strict(rows)
        except KeyError:
            sums = self._lenient(rows)
        packed = np.array(sums, np.int64)
        for row, shift, mask in self._rows:
            out[row] = (packed >> shift) & mask


def _bits(attribute: QuasiIdentifier) -> int:
    """Return the bits that hold every code and one value more, which says that no table knows the value."""
    return attribute.size.bit_length()


class Packer:
    """Code the attributes that have a table.

    Parameters
    ----------
    members
        (row of the coded batch, attribute, its table, its place in a record).
    """

    def __init__(self, members: list[_Member]) -> None:
        self._groups: list[_Group] = []
        group: list[_Member] = []
        bits = 0
        for member in members:
            more = _bits(member[1])
            if group and bits + more > MOST_BITS:
                self._groups.append(_Group(group))
                group, bits = [], 0
            group.append(member)
            bits += more
        if group:
            self._groups.append(_Group(group))

    def codes(self, rows: Rows, out: NDArray[np.int32]) -> None:
        """Write codes into their rows of `out`; the size of an attribute marks what no table tells.

        Raises
        ------
        AttributeError
            If a parent of a field is null: see `RecordShape.repair`.
        """
        for group in self._groups:
            group.codes(rows, out)
