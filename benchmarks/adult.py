"""The Adult census as a stream of JSON events with a policy of eight quasi-identifiers."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from itertools import cycle, islice
from pathlib import Path

from stream_anon.adapters.tables.small_texts import read_table
from stream_anon.microdata.attributes import Attribute, Identifier, Publication, QuasiIdentifier, Sensitive
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.policy import EngineChoice, Policy, WindowLimits

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "arx-adult"
CATEGORIES = ("sex", "race", "marital-status", "education", "native-country", "workclass", "occupation")


def adult_policy(data: Path, window: int, k: int = 10, engine: str = "forest") -> Policy:
    """Return the policy; ages are published as tight ranges, all else as nodes of ARX's hierarchies."""
    ages = NumericDomain(Decimal(17), Decimal(90), Decimal(1), 0, tight=True)
    attributes: list[Attribute] = [
        Identifier("person_id"),
        QuasiIdentifier("age", ages, publication=Publication.TIGHT),
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
    with (data / "adult.csv").open(encoding="utf-8", newline="") as file:
        people = list(csv.DictReader(file, delimiter=";"))
    events = []
    for number, person in enumerate(islice(cycle(people), count)):
        event = {"person_id": f"{number:016x}", **person, "age": int(person["age"]), "event": "visit"}
        events.append(json.dumps(event).encode())
    return events
