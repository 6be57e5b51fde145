"""Files whose outliers counterfeits complete: made-up people, their policy, and one release of them."""

from __future__ import annotations

import copy
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stream_anon.engine.keyed_draws import DrawsKey
from stream_anon.files.file_report import FileReport
from stream_anon.files.job import FileJob
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_document, write_json_lines

CITIES = ["Oslo", "Bergen", "Rome", "Bari"]
ILLNESSES = ["flu", "cold", "gout", "pox"]
POLICY: dict[str, Any] = {
    "privacy": {
        "k": 10,
        "individual": "person",
        "sensitive": {"illness": {"distinct_l": 2}},
        "counterfeits": "5%",
    },
    "window": {"max_records_per_individual": 1},
    "method": {"name": "samarati", "max_suppressed": "10%"},
    "attributes": {
        "person": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99, "levels": [5, 10, 20, 40]}},
        "city": {"role": "quasi-identifier", "hierarchy": {"north": CITIES[:2], "south": CITIES[2:]}},
        "illness": {"role": "sensitive"},
    },
}
Shown = dict[str, Counter[str]]
"""By published tuple, how many records show each illness."""


def policy_with(**privacy: Any) -> dict[str, Any]:
    """Return the policy with some of its section `privacy` replaced; None takes a key away."""
    document = copy.deepcopy(POLICY)
    document["privacy"] = {key: own for key, own in (document["privacy"] | privacy).items() if own is not None}
    return document


def townspeople(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return people of whom few are very old; what ails them follows their city."""
    draws = np.random.default_rng(seed)
    found = []
    for number in range(count):
        city = int(draws.choice(4, p=[0.4, 0.3, 0.2, 0.1]))
        ails = np.roll([0.5, 0.3, 0.15, 0.05], city)
        age = int(np.clip(draws.normal(45, 20), 0, 99))
        illness = ILLNESSES[int(draws.choice(4, p=ails))]
        found.append({"person": f"p{number}", "age": age, "city": CITIES[city], "illness": illness})
    return found


@dataclass(frozen=True)
class CompletedFile:
    """One release of a file.

    Parameters
    ----------
    parts
        The lines of its certificates.
    """

    policy: Path
    output: Path
    certificates: Path
    report: FileReport
    released: list[dict[str, Any]]
    parts: list[str]

    @property
    def certificate(self) -> dict[str, Any]:
        """Return the certificate, which has one part."""
        found: dict[str, Any] = json.loads(self.parts[-1])
        return found

    @property
    def shown(self) -> Shown:
        """Return what is released."""
        return shown_by(self.released)

    def counterfeits(self, people: list[dict[str, Any]]) -> Shown:
        """Return what is shown that nobody has; the tuples of people are looked up among the published ones."""
        real: Shown = {}
        tuples = [(one, json.loads(one)) for one in self.shown]
        for person in people:
            for one, published in tuples:
                if _covers(published, person):
                    real.setdefault(one, Counter())[person["illness"]] += 1
        return {one: shown - real.get(one, Counter()) for one, shown in self.shown.items()}


def shown_by(records: list[dict[str, Any]]) -> Shown:
    """Return what records show, by their published tuple."""
    found: Shown = {}
    for record in records:
        found.setdefault(json.dumps([record["age"], record["city"]]), Counter())[record["illness"]] += 1
    return found


def _covers(published: list[Any], person: dict[str, Any]) -> bool:
    """Return whether a tuple of one level per attribute stands for a person: tuples of a level do not overlap."""
    age, city = published
    bounds = age if isinstance(age, dict) else {"min": age, "max": age}
    within = age == "*" or bounds["min"] <= person["age"] <= bounds["max"]
    above = {"north": CITIES[:2], "south": CITIES[2:], "*": CITIES}.get(city, [city])
    return within and person["city"] in above


def release(
    folder: Path,
    people: list[dict[str, Any]],
    document: dict[str, Any] | None = None,
    secret: bytes = b"a secret of tests",
) -> CompletedFile:
    """Release people as a file; what is in the folder from before is written over."""
    policy = write_document(folder, POLICY if document is None else document)
    source = write_json_lines(folder / "in.jsonl", people)
    output, certificates = folder / "out.jsonl", folder / "certificates.jsonl"
    job = FileJob(load_policy(policy), str(source), str(output), certificates, key=DrawsKey(secret))
    report = job.run(lambda _: None)
    assert report.written, report.refusal
    released = [json.loads(line) for line in output.read_text().splitlines()]
    return CompletedFile(policy, output, certificates, report, released, certificates.read_text().splitlines())
