"""`stream-anon attack` on real topics: what came in, what was published of it, and the windows of both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from tests.support.data import ROOT
from tests.support.policies import write_json_lines
from tests.support.service import CITIES, Stage, WorkerProcess, command, produce, wait_until_accounted

pytestmark = pytest.mark.kafka
REGULARS, DAY, DAYS = 80, 400, 12
ILLNESSES = [f"illness {number}" for number in range(6)]


def _days(seed: int) -> list[dict[str, Any]]:
    """Return records of days to which the same people come with the same illness, and others with theirs."""
    draws = np.random.default_rng(seed)
    count = REGULARS + DAYS * (DAY - REGULARS)
    people = [
        {
            "person": f"{seed}-{number}",
            "age": int(draws.integers(100)),
            "city": CITIES[draws.integers(len(CITIES))],
            "illness": ILLNESSES[draws.integers(6)],
            "serial": number,
        }
        for number in range(count)
    ]
    others = DAY - REGULARS
    days = [people[:REGULARS] + people[REGULARS + day * others :][:others] for day in range(DAYS)]
    return [day[place] for day in days for place in draws.permutation(DAY).tolist()]


async def test_people_who_return_to_topics_are_attacked_in_their_windows(stage: Stage, tmp_path: Path) -> None:
    """The control group is of a file. What did not fit the policy came to no class, and harms nobody."""
    illness = {"illness": {"role": "sensitive"}}
    config = stage.config(
        attributes=illness,
        privacy={"k": 10, "sensitive": {"illness": {"distinct_l": 3}}},
        window={"max_records": 400, "max_delay": "2s"},
    )
    records = _days(1)
    lines = [json.dumps(record).encode() for record in records]
    lines.insert(100, b"no record")
    with WorkerProcess(config) as worker:
        await worker.wait_for("assigned")
        await produce(stage, lines)
        published = await wait_until_accounted(stage, len(lines))
    control = write_json_lines(tmp_path / "control.jsonl", _days(2))
    code, text = await command("attack", config, "--control", str(control), "--json")
    assert code == 0, text
    told = json.loads(text)
    Draft202012Validator(json.loads((ROOT / "schemas" / "attack.schema.json").read_text())).validate(told)
    assert told["source"] == stage.output
    assert told["released"] == len(published.records)
    assert told["people"] == len({record["person"] for record in records})
    assert 0 < told["loss"] < 1
    found = {(one["attack"], one["secret"]): one for one in told["attacks"]}
    assert found["found-again", None]["risk"]["value"] == 0
    assert found["found-again", "serial"]["surest"] == 1
    returning = found["intersection", "illness"]
    assert returning["attempts"] == REGULARS
    assert returning["risk"]["low"] > 0.3
    assert returning["surest"] >= 0.25


async def test_topics_without_a_release_cannot_be_attacked(stage: Stage, tmp_path: Path) -> None:
    control = write_json_lines(tmp_path / "control.jsonl", _days(2))
    code, text = await command("attack", stage.config(), "--control", str(control))
    assert code == 2
    assert "of no certified window are all records in" in text
    code, text = await command("attack", stage.config())
    assert code == 2
    assert "--control: is needed for topics" in text
