import json
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from stream_anon.demo.clinic import visits
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.settings.policy_file import load_policy
from tests.support.data import ROOT

COUNT = 20_000
POLICY = ROOT / "examples" / "clinic" / "policy.yaml"


@pytest.fixture(scope="module")
def events() -> list[bytes]:
    return list(visits(COUNT, 7))


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(POLICY)


@pytest.fixture(scope="module")
def good(events: list[bytes]) -> list[dict[str, Any]]:
    found = []
    for event in events:
        try:
            record = json.loads(event)
        except ValueError:
            continue
        if isinstance(record, dict) and "id" in record["patient"]:
            found.append(record)
    return found


def test_a_seed_gives_the_same_visits_each_time(events: list[bytes]) -> None:
    assert list(visits(COUNT, 7)) == events
    assert list(visits(COUNT, 8)) != events


@pytest.mark.parametrize("count", [0, 1, 2, 4999, 5001])
def test_as_many_visits_are_made_as_asked_for(count: int) -> None:
    assert sum(1 for _ in visits(count)) == count


def test_the_policy_rejects_only_what_the_generator_breaks_on_purpose(events: list[bytes], policy: Policy) -> None:
    batch = JsonCodec(policy).decode(events, 0, np.arange(COUNT))
    reasons = Counter(Reason(reason) for reason in batch.rejects.reasons.tolist())

    assert 0.001 < len(batch.rejects) / COUNT < 0.006
    assert set(reasons) == {
        Reason.MALFORMED,
        Reason.NOT_AN_OBJECT,
        Reason.NO_INDIVIDUAL,
        Reason.OUT_OF_RANGE,
        Reason.WRONG_TYPE,
        Reason.UNKNOWN_VALUE,
    }


def test_some_patients_return_and_none_fills_a_window(good: list[dict[str, Any]]) -> None:
    people = Counter(record["patient"]["id"] for record in good)

    assert 0.05 < len(people) / COUNT < 0.3
    assert max(people.values()) < 100
    assert len({json.dumps(record["patient"]) for record in good if len(record["patient"]) == 5}) < 1.01 * len(
        people
    )


def test_the_hierarchy_has_every_department(good: list[dict[str, Any]], policy: Policy) -> None:
    attribute = policy.attribute("visit.department")
    assert isinstance(attribute, QuasiIdentifier)
    assert isinstance(attribute.domain, CategoricalDomain)

    made = {record["visit"].get("department") for record in good} - {None}
    assert made == set(attribute.domain.hierarchy.code_of)


def test_days_ascend_within_the_year(good: list[dict[str, Any]]) -> None:
    days = [record["visit"]["date"] for record in good if record["visit"]["date"].startswith("2025")]

    assert all(before <= after for before, after in pairwise(days))
    assert len(set(days)) == 34
    many = [json.loads(event)["visit"]["date"] for event in visits(300_000) if event.endswith(b'"}')][::1000]
    assert many[-1] < "2025-12-31"


def test_age_and_department_hang_together(good: list[dict[str, Any]]) -> None:
    ages: dict[str, list[int]] = {}
    for record in good:
        if record["patient"]["age"] <= 110:
            ages.setdefault(record["visit"].get("department"), []).append(record["patient"]["age"])

    assert np.mean(ages["Neonatology"]) < 5
    assert np.mean(ages["Paediatrics"]) < 18
    assert 18 < np.mean(ages["Obstetrics"]) < 40
    assert np.mean(ages["Cardiology"]) > 55


def test_the_example_in_the_comment_of_the_policy_fits_it(policy: Policy) -> None:
    lines = POLICY.read_text().splitlines()
    shown = "".join(line.removeprefix("#") for line in lines[3:6])
    batch = JsonCodec(policy).decode([shown.encode()], 0, np.arange(1))

    assert len(batch) == 1
    expected = [{"min": 60, "max": 69}, "female", "041**", "2025-03", "Heart and lungs"]
    for attribute, value in zip(policy.quasi_identifiers, expected, strict=True):
        assert attribute.read(value) is not None, attribute.name
