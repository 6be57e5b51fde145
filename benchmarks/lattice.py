"""The lattice of Adult: time, memory and the ratio per node to a plain group-by.

    python benchmarks/lattice.py [--data FOLDER] [--nodes 40] [--anjana PYTHON] [--json FILE]

Built from the file's eight quasi-identifiers under ARX's hierarchies, 6,480 nodes, every record a person; with l
over the salary class. Beside it, on some nodes: pandas grouping the raw table, already recoded, by its columns of
text, and pycanon computing the k of it. anjana pins other versions of numpy and pandas: `--anjana` names the
interpreter of an environment that has it; it walks a greedy path to k = 10, and its time is divided by the tables
that it looked at.

Everything runs on one core; times are those of the CPU.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.adult import DATA
from benchmarks.report import in_words, machine, on_one_core, write_json
from stream_anon.formats.tables.small_texts import read_table
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.recoding.lattice.attribute_levels import levels_of
from stream_anon.recoding.lattice.lattice import Lattice
from stream_anon.recoding.lattice.rows import Rows

EIGHT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
_ANJANA = """
import csv, json, sys, time
import numpy as np, pandas as pd, pycanon.anonymity, anjana.anonymity
folder, names = sys.argv[1], sys.argv[2:]
frame = pd.read_csv(folder + "/adult.csv", sep=";", dtype=str)[names]
hierarchies = {}
for name in names:
    with open(f"{folder}/hierarchies/adult_hierarchy_{name}.csv") as file:
        rows = list(csv.reader(file, delimiter=";"))
    hierarchies[name] = {level: np.array(column) for level, column in enumerate(zip(*rows))}
looked, plain = [0], pycanon.anonymity.k_anonymity
def counting(*given):
    looked[0] += 1
    return plain(*given)
pycanon.anonymity.k_anonymity = counting
begun = time.process_time()
found = anjana.anonymity.k_anonymity(frame, [], list(names), 10, 0.5, hierarchies)
print(json.dumps({"seconds": time.process_time() - begun, "tables": looked[0], "released": len(found)}))
"""


def adult_rows(data: Path, names: Sequence[str], sensitive: Sequence[str]) -> tuple[list[QuasiIdentifier], Rows]:
    """Return quasi-identifiers under ARX's hierarchies, and the file's rows."""
    with (data / "adult.csv").open(encoding="utf-8", newline="") as file:
        people = list(csv.DictReader(file, delimiter=";"))
    attributes = []
    for name in names:
        rows = read_table(data / "hierarchies" / f"adult_hierarchy_{name}.csv")
        attributes.append(QuasiIdentifier(name, CategoricalDomain(Hierarchy.from_rows(rows, name))))
    codes = [[attribute.code(person[attribute.name]) for person in people] for attribute in attributes]
    values = [np.unique([person[name] for person in people], return_inverse=True)[1] for name in sensitive]
    shape = (len(sensitive), len(people))
    return attributes, Rows(
        np.array(codes, np.int32), np.arange(len(people)), np.array(values, np.int64).reshape(shape)
    )


def _arrays(given: object) -> list[np.ndarray[Any, Any]]:
    return [part for part in vars(given).values() if isinstance(part, np.ndarray)]


def built(attributes: Sequence[QuasiIdentifier], rows: Rows) -> Lattice:
    """Return the lattice over rows."""
    return Lattice([levels_of(own, codes) for own, codes in zip(attributes, rows.codes, strict=True)], rows)


def seconds(work: Callable[[], object], repeats: int = 1) -> float:
    """Return the least CPU seconds that some work took."""
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def whole_lattice(data: Path, repeats: int) -> list[dict[str, Any]]:
    """Return time and memory of the lattice over eight attributes, for k and for k with l."""
    found = []
    for sensitive in ((), ("salary-class",)):
        attributes, rows = adult_rows(data, EIGHT, sensitive)
        taken = seconds(lambda given=(attributes, rows): built(*given), repeats)  # type: ignore[misc]
        tracemalloc.start()
        lattice = built(attributes, rows)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        found.append(
            {
                "counts": "k and l" if sensitive else "k",
                "nodes": lattice.shape.nodes,
                "seconds": taken,
                "milliseconds a node": 1000 * taken / lattice.shape.nodes,
                "MB of histograms": sum(part.nbytes for part in _arrays(lattice.histograms)) / 1e6,
                "MB at the most": peak / 1e6,
            }
        )
    return found


def beside(data: Path, nodes: int, anjana: str | None) -> list[dict[str, Any]]:
    """Return milliseconds a node of others that count the same groups."""
    attributes, rows = adult_rows(data, EIGHT, ())
    lattice = built(attributes, rows)
    chosen = np.random.default_rng(0).choice(lattice.shape.nodes, nodes, replace=False)
    found: list[dict[str, Any]] = []
    try:
        import pandas as pd
    except ImportError:
        print("pandas is not installed: left out", file=sys.stderr)
        return found
    columns = list(EIGHT)
    tables = [_recoded(rows, lattice, int(node)) for node in chosen]
    frames = [pd.DataFrame(dict(zip(EIGHT, table, strict=True))) for table in tables]

    def grouped() -> None:
        for node, frame in zip(chosen, frames, strict=True):
            sizes = frame.groupby(columns, sort=False, observed=True).size()
            assert int(sizes[sizes < 3].sum()) == int(lattice.suppressed(np.array([node]), 3)[0])

    found.append({"what": "pandas group-by", "milliseconds a node": 1000 * seconds(grouped) / nodes})
    try:
        from pycanon.anonymity import k_anonymity
    except ImportError:
        print("pycanon is not installed: left out", file=sys.stderr)
    else:
        few = frames[: max(1, nodes // 10)]
        taken = seconds(lambda: [k_anonymity(frame, columns) for frame in few])
        found.append({"what": "pycanon k_anonymity", "milliseconds a node": 1000 * taken / len(few)})
    if anjana:
        run = subprocess.run([anjana, "-c", _ANJANA, str(data), *EIGHT], check=True, capture_output=True, text=True)
        walk = json.loads(run.stdout.splitlines()[-1])
        each = 1000 * walk["seconds"] / walk["tables"]
        found.append({"what": f"anjana k_anonymity, {walk['tables']} tables", "milliseconds a node": each})
    return found


def _recoded(rows: Rows, lattice: Lattice, node: int) -> list[np.ndarray[Any, Any]]:
    """Return the table of a node as columns of text."""
    columns = []
    for own, level, codes in zip(lattice.levels, lattice.shape.levels(node), rows.codes, strict=True):
        columns.append(np.array([f"{own.name} {number}" for number in own.nodes[level]], object)[own.places(codes)])
    return columns


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print rows as a table."""
    if not rows:
        return
    print("| " + " | ".join(rows[0]) + " |")
    print("| " + " | ".join("---" for _ in rows[0]) + " |")
    for row in rows:
        print("| " + " | ".join(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()) + " |")
    print()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--nodes", type=int, default=40, help="nodes on which others are timed")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--anjana", metavar="PYTHON", help="an interpreter that has anjana")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if not (given.data / "adult.csv").exists():
        print(f"{given.data}: no such table", file=sys.stderr)
        return 1
    on_one_core()
    about = machine()
    print(in_words(about), end="\n\n")
    whole = whole_lattice(given.data, given.repeats)
    show(whole)
    others = beside(given.data, given.nodes, given.anjana)
    for each in others:
        each["ratio"] = each["milliseconds a node"] / whole[0]["milliseconds a node"]
    show(others)
    write_json(given.json, {"machine": about, "lattice": whole, "beside": others})
    return 0


if __name__ == "__main__":
    sys.exit(main())
