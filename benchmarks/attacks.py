"""Attack releases of a made-up town, the Adult census and taxi rides, with and without what answers each attack.

    python benchmarks/attacks.py [--data FOLDER] [--cases found-again ...] [--rows N] [--targets 1000] [--json FILE]
    python benchmarks/attacks.py --large 1000000

Each case is `stream-anon attack` on one policy that asks for too little, and on the same one with the setting that
answers it: half of the people are released in memory, the others are the control group. Loss is the certificates'.
With `--large` so many made-up people are released to a file and attacked, with as many others as control group. The
time of `stream-anon attack` is told: of all attacks, reading included.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.adult import adult_policy
from benchmarks.limits import of_nodes
from benchmarks.report import in_words, machine, write_json
from benchmarks.tables import read_table, taxi_rides
from stream_anon.adapters.clock import SystemClock
from stream_anon.microdata.attributes import (
    Attribute,
    Insensitive,
    PublishedForm,
    QuasiIdentifier,
    ScalarType,
    Sensitive,
)
from stream_anon.microdata.diversity import Closeness, Diversity
from stream_anon.microdata.policy import EVERY_RECORD, EngineChoice, Policy, WindowLimits
from stream_anon.operations.attack.attack_report import ANSWERS, AttackReport, TimedFinding
from stream_anon.operations.attack.attacked_records import read_attacked
from stream_anon.operations.attack.attacking import AttackRequest, attack
from stream_anon.operations.attack.halves import released_half
from stream_anon.operations.dealt_families import deal
from stream_anon.operations.samples import SampleSource
from tests.attacks.town import town_policy, townspeople

Records = Sequence[Mapping[str, Any]]
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
K, L, DAYS = 12, 3, 20


@dataclass(frozen=True)
class Case:
    """An attack on one world, before and after.

    Parameters
    ----------
    secret
        The attribute that is guessed; empty where none is.
    answer
        The setting that lowers the risk; empty where none does, and then there is no policy of after.
    careless, careful
        The policies of before and after.
    """

    attack: str
    secret: str
    world: str
    answer: str
    records: Records
    careless: Policy
    careful: Policy
    by_arrival: bool = False
    replays: int = 0
    planted: int = 0

    @property
    def policies(self) -> Iterator[tuple[str, Policy]]:
        """Yield what is asked, in words, and the policy."""
        yield "", self.careless
        if self.answer:
            yield self.answer, self.careful


def changed(policy: Policy, name: str, change: Callable[[Any], Attribute]) -> Policy:
    """Return a policy with one of its attributes changed."""
    return replace(policy, attributes=tuple(change(own) if own.name == name else own for own in policy.attributes))


def in_families(policy: Policy, name: str, records: Records) -> Policy:
    """Return a policy that publishes a sensitive attribute as families of three, without another criterion."""
    families = tuple(deal(Counter(str(record[name]) for record in records), L))
    return replace(changed(policy, name, lambda _: Sensitive(name, families=families)), diversity={})


def tightened(own: QuasiIdentifier) -> QuasiIdentifier:
    """Return a number that is published as the narrowest range of its class."""
    return replace(own, domain=replace(own.domain, tight=True), publication=PublishedForm.TIGHT)  # type: ignore[type-var]


def town_cases(rows: int) -> Iterator[Case]:
    """Yield attacks on a made-up town: four in ten of those who come one day come every day."""
    size = max(rows // DAYS, 20 * K)
    regulars, once = townspeople(size * 2 // 5, 1), townspeople(rows, 2)
    draws = np.random.default_rng(3)
    days = [[*regulars, *townspeople(size - len(regulars), 100 + number)] for number in range(DAYS)]
    visits = [people[place] for people in days for place in draws.permutation(size).tolist()]
    plain = town_policy(K, distinct_l=L, max_records=size // 2)
    yield Case(
        "intersection",
        "illness",
        "town",
        "families of 3",
        visits,
        plain,
        in_families(plain, "illness", once),
        by_arrival=True,
    )
    small = replace(plain, diversity={}, k=4)
    asked = replace(small, diversity={"illness": Diversity(2)})
    yield Case("homogeneity", "illness", "town", "distinct_l: 2", once, small, asked)
    yield Case(
        "replay",
        "age",
        "town",
        "no engine.seed",
        once,
        replace(plain, engine=EngineChoice(seed=7)),
        plain,
        replays=1,
    )
    yield Case("planted", "", "town", "", once, plain, plain, planted=K - 1)


def adult_cases(rows: int, data: Path) -> Iterator[Case]:
    """Yield attacks on the census; the occupation is wanted, beside the salary."""
    table = read_table(data / "arx-adult" / "adult.csv", ";")[:rows]
    people = [{**row, "age": int(row["age"]), "person_id": str(number)} for number, row in enumerate(table)]
    given = adult_policy(data / "arx-adult", 10_000, K)
    plain = changed(changed(given, "occupation", lambda own: Sensitive(own.name)), "age", of_nodes)
    forgotten = changed(plain, "age", lambda own: Insensitive(own.name, ScalarType.NUMBER))
    yield Case("found-again", "", "adult", "age: quasi-identifier", people, forgotten, plain)
    yield Case(
        "inference", "occupation", "adult", "families of 3", people, plain, in_families(plain, "occupation", people)
    )
    close = {"salary-class": Diversity(t_closeness=Closeness(0.2))}
    yield Case(
        "skewness", "salary-class", "adult", "t_closeness: 0.2", people, plain, replace(plain, diversity=close)
    )
    several = {"salary-class": Diversity(2)}
    yield Case(
        "homogeneity", "salary-class", "adult", "distinct_l: 2", people, plain, replace(plain, diversity=several)
    )
    yield Case("membership", "", "adult", "k: 100", people, plain, replace(plain, k=100))


def taxi_cases(rows: int, data: Path) -> Iterator[Case]:
    """Yield attacks on taxi rides, each of which is somebody's."""
    known, records = taxi_rides(data)
    order = np.random.default_rng(0).permutation(len(records))[:rows]
    rides = [{**records[row], "tip": float(records[row]["tip"])} for row in order.tolist()]
    plain = Policy((*known, Sensitive("payment")), K, EVERY_RECORD, window=WindowLimits(max_records=10_000))
    tipped = replace(plain, attributes=(*plain.attributes, Insensitive("tip", ScalarType.NUMBER)))
    yield Case("singling-out", "", "taxi", "no tip", rides, tipped, plain)
    yield Case("refinement", "fare", "taxi", "fare: nodes", rides, changed(plain, "fare", tightened), plain)
    yield Case("linkability", "", "taxi", f"k: {K}", rides, replace(plain, k=2), plain)


def attacked(case: Case, policy: Policy, source: Path, targets: int) -> tuple[AttackReport, TimedFinding]:
    """Return what was found, and the attack of the case."""
    records = read_attacked(policy, SampleSource(str(source), source))
    halves = released_half(records, np.random.default_rng(0), by_arrival=case.by_arrival)
    request = AttackRequest(targets, targets, 0, None, case.replays, case.planted)
    report = attack(*halves, request, SystemClock())
    names = (case.attack, case.secret)
    return report, next(one for one in report.findings if (one.found.attack, one.found.secret) == names)


def rows_of(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the rows of the report, and print them."""
    form = "{:27} {:6} {:22} {:>7} {:>8} {:>8} {:>8} {:>17} {:>7} {:>6}".format
    print(form("attack", "world", "asked as well", "loss", "success", "control", "risk", "95 %", "surest", "s"))
    worlds = (
        *town_cases(options.rows),
        *adult_cases(options.rows, options.data),
        *taxi_cases(options.rows, options.data),
    )
    chosen = [case for case in worlds if not options.cases or case.attack in options.cases]
    with TemporaryDirectory() as name:
        source = Path(name) / "in.jsonl"
        for case in chosen:
            source.write_text("".join(json.dumps(record) + "\n" for record in case.records), encoding="utf-8")
            for asked, policy in case.policies:
                report, told = attacked(case, policy, source, options.targets)
                success, _, control, risk, between, surest, seconds = told.cells()
                loss = "-" if report.loss is None else f"{report.loss:.4f}"
                print(form(told.name, case.world, asked, loss, success, control, risk, between, surest, seconds))
                yield {"world": case.world, "asked": asked, "loss": report.loss, **told.document()}


def large(people: int, targets: int) -> dict[str, Any]:
    """Return how long all attacks on a released file of so many records take, reading included."""
    draws = np.random.default_rng(1)
    numbers = {"age": 100, "height": 60, "income": 10_000, "place": 1_000}
    known = {
        name: {"role": "quasi-identifier", "numeric": {"min": 0, "max": most - 1}} for name, most in numbers.items()
    }
    policy = {
        "privacy": {"k": K, "individual": "person", "sensitive": {"illness": {"distinct_l": L}}},
        "attributes": {**known, "person": {"role": "identifier"}, "illness": {"role": "sensitive"}},
        "window": {"max_records": 50_000, "max_delay": "60s"},
    }
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "policy.yaml").write_text(yaml.safe_dump(policy))
        for who in ("inside", "outside"):
            columns = {own: draws.integers(most, size=people).tolist() for own, most in numbers.items()}
            ill = [f"illness {number}" for number in draws.geometric(0.2, people).tolist()]
            with (folder / f"{who}.jsonl").open("w") as file:
                for row in range(people):
                    own = {attribute: values[row] for attribute, values in columns.items()}
                    file.write(json.dumps({"person": f"{who} {row}", **own, "illness": ill[row]}) + "\n")
        _run(folder, "anonymize", "-c", "policy.yaml", "inside.jsonl", "out.jsonl", "--fresh-draws")
        begun = perf_counter()
        options = ("--released", "out.jsonl", "--control", "outside.jsonl", "--targets", str(targets), "--json")
        told = _run(folder, "attack", "-c", "policy.yaml", "--original", "inside.jsonl", *options)
        seconds = perf_counter() - begun
    found = {one["attack"]: one["seconds"] for one in json.loads(told)["attacks"]}
    print(f"{people:,} released records: {seconds:.1f} s, of which {sum(found.values()):.1f} s attack")
    return {"people": people, "seconds": seconds, "attacks": found}


def _run(folder: Path, *arguments: str) -> bytes:
    command = [sys.executable, "-m", "stream_anon.cli.main", *arguments]
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE).stdout


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--cases", nargs="*", choices=sorted(ANSWERS))
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--targets", type=int, default=1_000)
    parser.add_argument("--large", type=int, metavar="PEOPLE")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.large is None and not options.data.exists():
        parser.exit(2, f"{options.data} is not there\n")
    about = machine()
    print(in_words(about))
    found = [large(options.large, options.targets)] if options.large else list(rows_of(options))
    write_json(options.json, {"machine": about, "rows": found})


if __name__ == "__main__":
    main()
