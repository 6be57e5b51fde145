"""Negotiation over two tables: how long answers take, what they visit, and how many there are.

    python benchmarks/negotiation.py [--data FOLDER] [--rows 30162] [--repeats 9] [--json FILE]

28 requests a table, as in Pilalidou and Vassiliadis (SSDBM 2012): 3 to 6 quasi-identifiers, k 3, 10, 50 and
l 3, 6, 9 with limits at half the heights, k 10 also with limits right below the roots; at most 0.5 % of the records
suppressed. Then the same requests with other MaxSupp, and with other limits h: one level, a third, half of each
height, and the roots. The tables are Adult under ARX's hierarchies (l counts occupations) and rides of taxis (l
counts distances).

Everything runs on one core; times are those of the CPU, of a request the least of the repeats.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.adult import DATA
from benchmarks.lattice import adult_rows, built, seconds, show
from benchmarks.report import in_words, machine, on_one_core, write_json
from benchmarks.tables import taxi
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.recoding.lattice.lattice import Lattice
from stream_anon.recoding.lattice.rows import Rows
from stream_anon.recoding.negotiation import Request, negotiate

Part = tuple[Sequence[QuasiIdentifier], Rows]
_ADULT = ("age", "workclass", "education", "marital-status", "native-country", "race")
_TAXI = ("pickup_zone", "day", "hour", "dropoff_zone", "passengers", "color")
_COUNTED = "distance"
SIZES = (3, 4, 5, 6)
CRITERIA = ((3, 1), (10, 1), (50, 1), (1, 3), (1, 6), (1, 9))
SHARES = (0.0, 0.001, 0.005, 0.02)
"""MaxSupp, as shares of the records."""
USUAL_SHARE, USUAL_LIMITS = 0.005, "half"
LIMITS: Mapping[str, Callable[[int], int]] = {
    "one level": lambda top: min(1, top),
    "a third": lambda top: -(-top // 3),
    "half": lambda top: (top + 1) // 2,
    "roots": lambda top: top,
}
"""h, by the height of an attribute."""


@dataclass(frozen=True)
class Asked:
    """A request in words, before it is asked of a lattice."""

    k: int
    values: int
    limits: str
    share: float

    def of(self, lattice: Lattice) -> Request:
        """Return the request for a lattice."""
        tops = lattice.shape.tops
        below = tuple(max(top - 1, 1) for top in tops)
        vector = below if self.limits == "below roots" else tuple(map(LIMITS[self.limits], tops))
        return Request(self.k, vector, int(self.share * lattice.records), self.values)


def asked_of_a_size(share: float = USUAL_SHARE, limits: str = USUAL_LIMITS) -> list[Asked]:
    """Return seven of the 28 requests: those about one number of quasi-identifiers."""
    return [
        *(Asked(k, values, limits, share) for k, values in CRITERIA),
        Asked(10, 1, "below roots" if limits == USUAL_LIMITS else limits, share),
    ]


def adult(data: Path, most: int) -> Iterator[Part]:
    """Yield Adult with ever more quasi-identifiers."""
    for size in SIZES:
        attributes, rows = adult_rows(data, _ADULT[:size], ("occupation",))
        yield attributes, rows.take(slice(0, most))


def rides(data: Path, most: int) -> Iterator[Part]:
    """Yield the rides of taxis with ever more quasi-identifiers."""
    table = taxi(data.parent)
    names = [attribute.name for attribute in table.attributes]
    counted = table.rows.codes[names.index(_COUNTED)].astype(np.int64)[None]
    for size in SIZES:
        chosen = [names.index(name) for name in _TAXI[:size]]
        rows = Rows(table.rows.codes[chosen], table.rows.individuals.astype(np.int64), counted)
        yield [table.attributes[place] for place in chosen], rows.take(slice(0, most))


def answers(parts: Iterator[Part], repeats: int) -> list[dict[str, Any]]:
    """Return how each request was answered: the 28, then those with other MaxSupp and with other limits."""
    found = []
    for attributes, rows in parts:
        lattice = built(attributes, rows)
        usual = [("the 28", one) for one in asked_of_a_size()]
        varied = [(f"MaxSupp {share:.1%}", one) for share in SHARES for one in asked_of_a_size(share)]
        varied += [(f"h {limits}", one) for limits in LIMITS for one in asked_of_a_size(limits=limits)[:-1]]
        for group, one in [*usual, *varied]:
            request = one.of(lattice)
            answer = negotiate(lattice, request)
            milliseconds = 1000 * seconds(lambda own=lattice, what=request: negotiate(own, what), repeats)  # type: ignore[misc]
            found.append(
                {
                    "requests": group,
                    "attributes": len(attributes),
                    "nodes": lattice.shape.nodes,
                    "asked": f"k {one.k}" if one.values == 1 else f"l {one.values}",
                    "limits": one.limits,
                    "exact": answer.exact is not None,
                    "height": sum(answer.within_limits.levels),
                    "visited": answer.visited,
                    "milliseconds": milliseconds,
                }
            )
    return found


def figures(found: Sequence[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    """Return answers summed up by what they have in common."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for one in found:
        groups[tuple(one[key] for key in keys)].append(one)
    return [
        {
            **dict(zip(keys, common, strict=True)),
            "answers": len(own),
            "exact": sum(one["exact"] for one in own),
            "mean height": statistics.mean(one["height"] for one in own),
            "visited": statistics.median(one["visited"] for one in own),
            "at most": max(one["visited"] for one in own),
            "milliseconds": statistics.median(one["milliseconds"] for one in own),
            "at the most": max(one["milliseconds"] for one in own),
        }
        for common, own in groups.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rows", type=int, default=1_000_000, help="records of each table at the most")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if not (given.data / "adult.csv").exists():
        print(f"{given.data}: no such table", file=sys.stderr)
        return 1
    on_one_core()
    about = machine()
    print(in_words(about), end="\n\n")
    by_table: dict[str, list[dict[str, Any]]] = {}
    for name, parts in (("Adult", adult(given.data, given.rows)), ("taxi rides", rides(given.data, given.rows))):
        found = by_table[name] = answers(parts, given.repeats)
        print(f"{name}, the 28 requests by the number of attributes", end="\n\n")
        show(figures([one for one in found if one["requests"] == "the 28"], "attributes", "nodes"))
        print(f"{name}, with MaxSupp and h varied", end="\n\n")
        show(figures(found, "requests"))
    write_json(given.json, {"machine": about, "tables": by_table})
    return 0


if __name__ == "__main__":
    sys.exit(main())
