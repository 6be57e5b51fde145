"""Attack people who come back: what is left of a sensitive value after many windows, with families and without.

    python benchmarks/returns.py [--worlds adult receipts] [--windows 100] [--size 1000] [--moving 0 0.02]
        [--json FILE]

The attacker knows who comes to each window, in which class each is, and that everybody's value stays the same. For
each person the values that occur in all classes are kept (intersection), and the likeliest of them is taken: the
share of a value in a class over that in the window, multiplied over windows, times how frequent it is (with
families: of the family, and in it the most frequent value). Whole families are published value by value, and are
dealt by their loss on the same people. `adult`: people of the census come by Zipf's law, and
the occupation is sensitive. `receipts`: 947 people come when they did, and their most frequent diagnosis is
sensitive. `fewer` is the share of people who have fewer than m values left, m = 3 without families; `right` is how
often the likeliest value is the true one, with its 95 % interval (Wilson), and `chance` how often the most
frequent value of all is.

With `--moving` people of the census move: between two windows each takes, with that chance, the workclass and the
marital status of somebody else, and in one of twelve windows everybody has a birthday. A reader follows them by
what is published (`following.py`). `followed` is how often the reader picks the class of somebody who comes again
by its tuple, `+values` also by the values in it (families), `always` the share of people for whom that is right
each time, and `largest` how often the largest class is right. `absent` is the share of the windows without somebody
in which the reader is sure of that, by tuples and with values, and `wrong` the share of their returns in which the
reader is sure that they are absent.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import log
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.adult import DATA, adult_policy
from benchmarks.following import Reader
from benchmarks.report import in_words, machine, write_json
from benchmarks.tables import read_table
from stream_anon.attacks.success import success
from stream_anon.microdata.attributes import Attribute, Identifier, QuasiIdentifier, Sensitive
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.coding import BatchBuilder
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.families import Family, ShownAs, label_of
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.policy import Policy, WindowLimits
from stream_anon.microdata.release import Release
from stream_anon.operations.dealt_families import deal
from stream_anon.operations.whole_families import FamilyLosses, deal_whole, improved
from tests.attacks.town import Service, classes_of
from tests.support.object_coder import ObjectCoder

Record = dict[str, Any]
CAME = (2, 5, 10, 20, 50, 100)
K, LEAST_COMMON = 10, 10
SHARES = {
    "fewer": "fewer",
    "one": "one",
    "right": "right",
    "chance": "chance",
    "largest": "largest",
    "followed": "followed",
    "by_value": "+values",
    "always": "always",
    "absent": "absent",
    "absent_by_value": "+values",
    "wrong": "wrong",
}
"""What is told of people, and its heading."""
MOST_DEALT = 100  # values; of more, few windows have all values of a family


@dataclass(frozen=True)
class World:
    """People who come back.

    Parameters
    ----------
    attributes
        The identifier and the quasi-identifiers.
    sensitive
        The name of the attribute that is attacked.
    windows
        The records of each.
    moves
        The attributes that change if somebody moves.
    """

    attributes: tuple[Attribute, ...]
    sensitive: str
    windows: Sequence[Sequence[Record]]
    moves: tuple[str, ...] = ()

    def moving(self, chance: float) -> World:
        """Return the same with people who move with a chance between two windows, and have a birthday in twelve."""
        draws = np.random.default_rng(6)
        everybody = list({record["person_id"]: record for window in self.windows for record in window}.values())
        birthday = {person["person_id"]: int(draws.integers(12)) for person in everybody}
        now: dict[str, tuple[int, Record]] = {}
        windows: list[list[Record]] = []
        for number, records in enumerate(self.windows):
            windows.append([])
            for record in records:
                own = record["person_id"]
                last, where = now.get(own, (number, {name: record[name] for name in self.moves}))
                if draws.random() > (1 - chance) ** (number - last):
                    other = everybody[int(draws.integers(len(everybody)))]
                    where = {name: other[name] for name in self.moves}
                now[own] = number, where
                older = {"age": min(record["age"] + (number + birthday[own]) // 12, 90)} if "age" in record else {}
                windows[-1].append(record | where | older)
        return replace(self, windows=windows)

    @property
    def people(self) -> Counter[str]:
        """Return how many people have each value."""
        values = {record["person_id"]: record[self.sensitive] for window in self.windows for record in window}
        return Counter(values.values())


def adult(data: Path, windows: int, size: int) -> World:
    """Return a census of whom some come often: chances of 1 / i, none twice to one window."""
    rows = read_table(data / "adult.csv", ";")
    draws = np.random.default_rng(5)
    chances = 1 / np.arange(1, len(rows) + 1)
    chances = chances[draws.permutation(len(rows))] / chances.sum()
    people = [{**row, "age": int(row["age"]), "person_id": str(number)} for number, row in enumerate(rows)]
    came = [draws.choice(len(rows), size, replace=False, p=chances).tolist() for _ in range(windows)]
    attributes = [a for a in adult_policy(data, size).attributes if a.name not in ("occupation", "salary-class")]
    windows_of = [[people[number] for number in one] for one in came]
    return World(tuple(attributes), "occupation", windows_of, ("workclass", "marital-status"))


def receipts(data: Path, windows: int, size: int) -> World:
    """Return receipts by month; everybody has the diagnosis that most of their receipts have."""
    rows = sorted(read_table(data.parent / "receipts" / "receipt.csv", ","), key=lambda row: row["treatment_ym"])
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(row["iid"], Counter())[row["icd10"]] += 1
    usual = {person: max(sorted(own), key=own.__getitem__) for person, own in counts.items()}
    people = [
        {name: row[name] for name in ("sex", "family", "birth_ym", "treatment_ym")}
        | {"person_id": row["iid"], "icd10": usual[row["iid"]]}
        for row in rows
    ]
    month = PrefixDomain(7, "/0123456789", 7)
    attributes = (
        Identifier("person_id"),
        QuasiIdentifier("sex", CategoricalDomain(Hierarchy.flat(["F", "M"]))),
        QuasiIdentifier("family", CategoricalDomain(Hierarchy.flat(["1", "2"]))),
        QuasiIdentifier("birth_ym", month),
        QuasiIdentifier("treatment_ym", month),
    )
    starts = range(0, len(people) - size + 1, size)
    return World(attributes, "icd10", [people[start : start + size] for start in starts][:windows])


WORLDS: Mapping[str, Callable[[Path, int, int], World]] = {"adult": adult, "receipts": receipts}


@dataclass
class Suspect:
    """What an attacker knows of one person: which published values are left, and how likely each is."""

    person: str
    truth: str
    came: int = 0
    left: set[str] | None = None
    likely: Counter[str] = field(default_factory=Counter)

    def see(self, shares: Mapping[str, float], usual: Mapping[str, float]) -> None:
        """Take in the shares of the published values in one class, beside those in its window."""
        self.came += 1
        self.left = set(shares) if self.left is None else self.left & shares.keys()
        for value in self.left:
            self.likely[value] += log(shares[value] / usual[value])


def attacked(world: World, policy: Policy) -> tuple[list[Suspect], float, Counter[str], Reader]:
    """Return all people after the last window, the mean loss, how often each value was published, and a reader."""
    service = Service(policy)
    declared = policy.attribute(world.sensitive)
    assert isinstance(declared, Sensitive)
    everybody = {record["person_id"]: None for records in world.windows for record in records}
    reader = Reader(policy, list(everybody), declared.labels or sorted(world.people))
    suspects: dict[str, Suspect] = {}
    losses, published = [], Counter[str]()
    for records in world.windows:
        release = service.release(records)
        losses.append(_loss(release))
        shown = [row[0] for row in release.payload]
        classes = [_shares(Counter(shown[row] for row in rows)) for rows in classes_of(release)]
        out = Counter(shown[row] for rows in classes_of(release) for row in rows)
        published += out
        usual, seen = _shares(out), set[str]()
        for record, number in zip(records, release.class_of_row.tolist(), strict=True):
            person = record["person_id"]
            if number >= 0 and person not in seen:
                seen.add(person)
                own = Suspect(person, record[world.sensitive])
                suspects.setdefault(person, own).see(classes[number], usual)
        reader.read(release, {record["person_id"]: (row, record) for row, record in enumerate(records)})
    return list(suspects.values()), float(np.mean(losses)), published, reader


def _shares(counts: Counter[str]) -> dict[str, float]:
    return {value: count / counts.total() for value, count in counts.items()}


def _loss(release: Release) -> float:
    """Return the GCP of a window: the mean NCP, 1 for a record that is suppressed."""
    rows = release.class_of_row
    own = release.classes.ncp.mean(axis=0)[rows[rows >= 0]]
    return float((own.sum() + (rows < 0).sum()) / len(rows))


def policies(world: World) -> Iterator[tuple[str, int, Policy]]:
    """Yield names, how many values shall be left, and policies. Rare values are in families too."""
    people = world.people
    values = Sensitive(world.sensitive)
    records = max(map(len, world.windows))
    plain = Policy((*world.attributes, values), K, "person_id", window=WindowLimits(max_records=records))
    yield f"k = {K}", 3, plain
    yield f"k = {K}, distinct_l = 3", 3, replace(plain, diversity={world.sensitive: Diversity(3)})
    for least in (2, 3):
        families = tuple(deal(people, least))
        own = replace(values, families=families)
        yield f"k = {K}, families of {least}", least, replace(plain, attributes=(*world.attributes, own))
    sample = coded([record for window in world.windows for record in window], plain)
    for least in (2, 3):
        if len(people) > MOST_DEALT:
            break
        losses = FamilyLosses(plain, world.sensitive, sample)
        families = tuple(improved(deal_whole(people, least, K), least, losses.of))
        own = replace(values, families=families, shown_as=ShownAs.VALUE)
        name = f"k = {K}, whole families of {least}, values published"
        yield name, least, replace(plain, attributes=(*world.attributes, own))


def coded(records: Sequence[Record], policy: Policy) -> CodedBatch:
    """Return records as a batch of a policy."""
    builder, coder = BatchBuilder(policy, 0), ObjectCoder(policy)
    for number, record in enumerate(records):
        builder.add(coder.code_object(record), number)
    return builder.build(None)


def figures(name: str, least: int, policy: Policy, world: World) -> Iterator[dict[str, Any]]:
    """Yield what is left of the people who came so often, or oftener."""
    found, loss, published, reader = attacked(world, policy)
    people = world.people
    declared = policy.attribute(world.sensitive)
    families = declared.families if isinstance(declared, Sensitive) and not declared.keeps_whole else ()
    of_label: Mapping[str, Family] = {label_of(family): family for family in families}
    most_frequent = max(people, key=people.__getitem__)
    for came in CAME:
        own = [suspect for suspect in found if suspect.came >= came]
        if not own:
            return
        left = [[v for text in one.left or () for v in of_label.get(text, (text,))] for one in own]
        right = 0
        for one in own:
            text = max(one.left or (), key=lambda value: one.likely[value] + log(published[value]))
            right += max(of_label.get(text, (text,)), key=people.__getitem__) == one.truth
        share = success(right, len(own))
        yield {
            "policy": name,
            "loss": round(loss, 4),
            "came": came,
            "people": len(own),
            "fewer": round(sum(len(values) < least for values in left) / len(own), 4),
            "one": round(sum(len(values) == 1 for values in left) / len(own), 4),
            "right": round(share.value, 4),
            "interval": [round(share.low, 4), round(share.high, 4)],
            "chance": round(sum(one.truth == most_frequent for one in own) / len(own), 4),
            **reader.shares([one.person for one in own]),
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", nargs="+", choices=list(WORLDS), default=list(WORLDS))
    parser.add_argument("--windows", type=int, default=100)
    parser.add_argument("--size", type=int, default=1_000, help="records of a window")
    parser.add_argument("--moving", type=float, nargs="+", default=[0.0], help="chance to move between two windows")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if not arguments.data.exists():
        print(f"{arguments.data}: is not there", file=sys.stderr)
        return 2
    about = machine()
    print(in_words(about))
    headings = ["loss", "came", "people", *SHARES.values()]
    print(f"{'world':10}{'moving':>7} {'policy':23}" + "".join(f"{heading:>9}" for heading in headings))
    results = []
    for name, chance in product(arguments.worlds, arguments.moving):
        world = WORLDS[name](arguments.data, arguments.windows, arguments.size)
        for called, least, policy in policies(world):
            for row in figures(called, least, policy, world.moving(chance) if chance else world):
                results.append({"world": name, "moving": chance, **row})
                texts = [f"{row['loss']:.4f}", f"{row['came']}", f"{row['people']:,}"]
                texts += [f"{row[share]:.1%}" for share in SHARES]
                print(f"{name:10}{chance:7g} {called:23}" + "".join(f"{text:>9}" for text in texts), flush=True)
    write_json(arguments.json, {"machine": about, "results": results})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
