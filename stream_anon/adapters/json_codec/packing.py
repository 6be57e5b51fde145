"""Code all tabled quasi-identifiers of a record in one generated expression.

Each attribute's table holds its codes multiplied by the place value of a mixed radix, so that the sum of one
look-up an attribute is the record's whole tuple; numpy takes it apart again. One comprehension for all
attributes runs four times as fast as a look-up column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.json_codec.tables import Table
from stream_anon.microdata.attributes import QuasiIdentifier

MOST_PACKED = 2**62

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

    def __init__(self, members: list[tuple[int, QuasiIdentifier, Table, str]]) -> None:
        self.rows = [row for row, *_ in members]
        self._radixes = [attribute.size + 1 for _, attribute, _, _ in members]
        strict, lenient = [], []
        names: dict[str, object] = {}
        open_names: dict[str, object] = {}
        stride = 1
        for n, (_, attribute, table, place) in enumerate(members):
            codes = {value: code * stride for value, code in table.codes.items()}
            default = attribute.size if table.default is None else table.default
            names[f"t{n}"] = codes
            open_names |= {f"g{n}": codes.get, f"d{n}": default * stride}
            strict.append(f"t{n}[r.{place}]")
            lenient.append(f"g{n}(r.{place}, d{n})")
            stride *= attribute.size + 1
        self._strict = _compiled(" + ".join(strict), names)
        self._lenient = _compiled(" + ".join(lenient), open_names)

    def codes(self, rows: Rows, out: NDArray[np.int64]) -> None:
        """Write the members' codes into their rows of `out`."""
        try:
            packed = self._strict(rows)
        except KeyError:
            packed = self._lenient(rows)
        rest = np.array(packed, np.int64)
        for row, radix in zip(self.rows[:-1], self._radixes, strict=False):
            rest, out[row] = np.divmod(rest, radix)
        out[self.rows[-1]] = rest


class Packer:
    """Code the attributes that have a table.

    Parameters
    ----------
    members
        (row of the coded batch, attribute, its table, its place in a record).
    """

    def __init__(self, members: list[tuple[int, QuasiIdentifier, Table, str]]) -> None:
        self._groups: list[_Group] = []
        group: list[tuple[int, QuasiIdentifier, Table, str]] = []
        product = 1
        for member in members:
            radix = member[1].size + 1
            if group and product * radix > MOST_PACKED:
                self._groups.append(_Group(group))
                group, product = [], 1
            group.append(member)
            product *= radix
        if group:
            self._groups.append(_Group(group))

    def codes(self, rows: Rows, out: NDArray[np.int64]) -> None:
        """Write codes into their rows of `out`; the size of an attribute marks what no table tells.

        Raises
        ------
        AttributeError
            If a parent of a field is null: see `RecordShape.repair`.
        """
        for group in self._groups:
            group.codes(rows, out)
