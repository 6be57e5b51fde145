"""The Adult census as a stream of JSON events with a policy of eight quasi-identifiers.

As a program it writes the files that docs/explain/utility.md compares: a policy, 20,000 records to release, the
others to test on. The hierarchies stay where they are.

    .venv/bin/python benchmarks/adult.py adult
"""

from __future__ import annotations

import argparse
import csv
import json
from decimal import Decimal
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from stream_anon.formats.tables.small_texts import read_table
from stream_anon.microdata.attributes import Attribute, Identifier, PublishedForm, Sensitive
from stream_anon.microdata.choices.engine_choice import EngineChoice
from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "arx-adult"
CATEGORIES = ("sex", "race", "marital-status", "education", "native-country", "workclass", "occupation")
RELEASED = 20_000
SEED = 1  # of the split, and of the engine


def adult_policy(data: Path, window: int, k: int = 10, engine: str = "forest") -> Policy:
    """Return the policy; ages are published as tight ranges, all else as nodes of ARX's hierarchies."""
    ages = NumericDomain(Decimal(17), Decimal(90), Decimal(1), 0, tight=True)
    attributes: list[Attribute] = [
        Identifier("person_id"),
        QuasiIdentifier("age", ages, publication=PublishedForm.TIGHT),
    ]
    for name in CATEGORIES:
        rows = read_table(data / "hierarchies" / f"adult_hierarchy_{name}.csv")
        attributes.append(QuasiIdentifier(name, CategoricalDomain(Hierarchy.from_rows(rows, name))))
    attributes.append(Sensitive("salary-class"))
    return Policy(
        tuple(attributes), k, "person_id", window=WindowLimits(max_records=window), engine=EngineChoice(engine)
    )


def adult_events(data: Path, count: int) -> list[bytes]:
    """Return `count` events of about 270 bytes, the census again and again with new individuals."""
    events = []
    for number, person in enumerate(islice(cycle(_people(data)), count)):
        event = {"person_id": f"{number:016x}", **person, "age": int(person["age"]), "event": "visit"}
        events.append(json.dumps(event).encode())
    return events


def write_files(data: Path, folder: Path) -> None:
    """Write policy.yaml, train.csv and test.csv; the same data give the same files.

    The policy names the hierarchies by their place in `data`. Ages are published as themselves, or in steps of 5,
    10 or 20 years; every record is another person's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.yaml").write_text(yaml.safe_dump(_settings(data.resolve()), sort_keys=False))
    people = _people(data)
    order = np.random.default_rng(SEED).permutation(len(people)).tolist()
    for name, rows in (("train.csv", order[:RELEASED]), ("test.csv", order[RELEASED:])):
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(people[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(people[row] for row in rows)


def _settings(data: Path) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "age": {"role": "quasi-identifier", "numeric": {"min": 17, "max": 90, "levels": [5, 10, 20]}}
    }
    for name in CATEGORIES:
        rows = str(data / "hierarchies" / f"adult_hierarchy_{name}.csv")
        attributes[name] = {"role": "quasi-identifier", "hierarchy": rows}
    attributes["salary-class"] = {"role": "sensitive"}
    return {
        "privacy": {"k": 10, "individual": "every-record"},
        "window": {"max_records": RELEASED},
        "engine": {"name": "forest", "seed": SEED},
        "attributes": attributes,
    }


def _people(data: Path) -> list[dict[str, str]]:
    with (data / "adult.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=";"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the files go")
    parser.add_argument("--data", type=Path, default=DATA, help="a folder with adult.csv and hierarchies")
    given = parser.parse_args()
    write_files(given.data, given.folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
