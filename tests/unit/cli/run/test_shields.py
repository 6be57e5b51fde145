"""Shields over files: every engine and every method meets them, says what was reached, and passes the audit."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import FileRun, told
from tests.support.policies import people, write_policy
from tests.unit.cli.run.test_anonymize_method import METHODS

SHIELDS = [{"attributes": ["age"], "k": 20}, {"attributes": ["home.city"], "k": 15}]
ENGINES: list[dict[str, Any]] = [
    {"engine": {"name": "forest"}},
    {"engine": {"name": "k-forest"}, "window": {"max_records": 100}},
    {"engine": {"name": "mondrian"}},
    {"engine": {"name": "full-domain", "levels": {"age": 6, "home.city": 1}}},
    *({"method": method} for method in METHODS),
]


@pytest.mark.parametrize("maker", ENGINES, ids=lambda maker: "-".join(map(str, maker.values())))
def test_every_engine_and_every_method_meets_shields_and_passes_the_audit(
    maker: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = FileRun(write_policy(tmp_path, privacy={"shields": SHIELDS}, **maker), people(200))
    assert files.anonymize() == 0
    assert files.audit() == 0
    found = files.report
    assert found["gate_violations"] == 0
    if "engine" in maker or maker["method"]["name"] == "iab":
        assert found["released"] > 100
    elif not found[
        "released"
    ]:  # the levels of its choice are too fine for the shields, and it knows nothing of them
        assert found["suppressed"]["shield"] > 100
        return
    assert found["suppressed"].keys() <= {"shield", "unplaced", "max-level"}
    reached = {" ".join(own["attributes"]): own["k"] for own in found["achieved_shields"]}
    assert reached["age"] >= 20
    assert reached["home.city"] >= 15
    text = told(capfd)
    assert f"at least {reached['age']} who share age and {reached['home.city']} who share home.city" in text
    # Each window alone: its records follow those of the one before.
    counts: dict[tuple[int, str, str], int] = defaultdict(int)
    records = iter(files.released)
    for number, certificate in enumerate(files.parts):
        for _ in range(certificate.get("released", 0)):
            record = next(records)
            counts[number, "age", json.dumps(record["age"])] += 1
            counts[number, "city", json.dumps(record["home"]["city"])] += 1
    assert min(count for (_, name, _), count in counts.items() if name == "age") == reached["age"]
    assert min(count for (_, name, _), count in counts.items() if name == "city") == reached["home.city"]


def test_a_release_without_a_class_reached_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = FileRun(write_policy(tmp_path, privacy={"shields": [{"attributes": ["age"], "k": 50}]}), people(40))
    assert files.anonymize() == 0
    assert files.audit() == 0
    found = files.report
    assert (found["released"], found["suppressed"]) == (0, {"shortfall": 40})
    assert found["achieved_shields"] == [{"attributes": ["age"], "k": None}]
    assert "who share" not in told(capfd)
