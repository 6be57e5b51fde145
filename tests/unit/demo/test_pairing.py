"""The demo's pairs of events and published records."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.demo.pairing import pairs
from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from tests.support.effort import examples
from tests.support.releases import ward_policy


def _people(ages: list[int], results: str = "abc") -> list[dict[str, Any]]:
    return [
        {
            "person": f"p{i}",
            "patient": {"age": age, "zip": f"4814{i % 10}"},
            "illness": "flu",
            "day": "2024-05-13",
            "plan": "abcd"[i % 4],
            "weight": 60.5,
            "result": results[i % len(results)],
            "visits": i % 2,
        }
        for i, age in enumerate(ages)
    ]


def _released(policy: Policy, events: list[bytes]) -> tuple[list[bytes], list[str]]:
    """Return what the engine publishes of one window, and whose record each is."""
    codec = JsonCodec(policy)
    engine = Engine(policy, draws=np.random.default_rng(1))
    engine.open(0, 0)
    engine.add(codec.decode(events, 0, np.arange(len(events), dtype=np.int64)), 0.0)
    window = engine.seal(1.0)
    assert window is not None
    release = Closer(policy).release(window, np.random.default_rng(2))
    return codec.encode(release), [json.loads(events[row])["person"] for row in release.order.tolist()]


@examples(40)
@given(st.lists(st.integers(0, 99), min_size=3, max_size=40), st.sampled_from(["a", "ab", "abcdefg"]))
def test_an_event_is_shown_beside_its_own_record(ages: list[int], results: str) -> None:
    policy = ward_policy(diversity={})
    people = _people(ages, results)
    released, owners = _released(policy, [json.dumps(person).encode() for person in people])
    for pair in pairs(policy, [json.dumps(person).encode() for person in people], released):
        # Records that are alike in every published field are each other's: any owner of one is right.
        alike = {
            owner
            for owner, record in zip(owners, map(json.loads, released), strict=True)
            if all(_at(record, name) == value for name, value in pair.after.items())
        }
        assert pair.before["person"] in alike


def _at(record: dict[str, Any], name: str) -> Any:
    for key in name.split("."):
        record = record[key]
    return record


@pytest.mark.parametrize("shape", list(Shape))
def test_pairs_are_the_same_whatever_shape_the_records_have(shape: Shape) -> None:
    events = [json.dumps(person).encode() for person in _people([20, 21, 22, 60, 61, 62, 63], "abcdefg")]
    found = []
    for one in (Shape.NATURAL, shape):
        policy = ward_policy(diversity={}, shape=one)
        found.append(list(pairs(policy, events, _released(policy, events)[0])))
    assert found[0] == found[1] != []


def test_no_pairs_are_shown_where_more_events_fit_than_were_published() -> None:
    policy = ward_policy(k=2, diversity={})
    events = [json.dumps({**person, "visits": 0}).encode() for person in _people([20, 21, 22, 23, 24, 25], "a")]
    released, _ = _released(policy, events)
    first = _names(policy, released[0])
    assert first in [pair.after for pair in pairs(policy, events, released)]
    # As if one had been suppressed: nobody can tell whose record is missing from its class.
    assert first not in [pair.after for pair in pairs(policy, events, released[1:])]


def _names(policy: Policy, record: bytes) -> dict[str, Any]:
    return {attribute.name: _at(json.loads(record), attribute.name) for attribute in policy.published}


def test_a_class_that_generalizes_nothing_is_not_shown() -> None:
    policy = ward_policy(k=2, diversity={})
    person = _people([30])[0]
    events = [json.dumps({**person, "person": f"p{i}"}).encode() for i in range(6)]
    released, _ = _released(policy, events)
    assert len(released) == 6
    assert list(pairs(policy, events, released)) == []


def test_no_identifier_stands_in_what_is_shown_after() -> None:
    policy = ward_policy(k=2, diversity={})
    events = [json.dumps(person).encode() for person in _people(list(range(20, 32)))]
    released, _ = _released(policy, events)
    shown = next(pairs(policy, events, released))
    assert "person" in shown.before
    assert "person" not in shown.after
    assert shown.company >= 2


def test_rejected_events_do_not_move_the_rows() -> None:
    policy = ward_policy(k=2, diversity={})
    good = [json.dumps(person).encode() for person in _people(list(range(20, 32)))]
    events = [b"{", *good[:5], b"[]", *good[5:]]
    released, _ = _released(policy, good)
    for pair in pairs(policy, events, released):
        assert pair.before["patient.age"] in range(20, 32)
        age = pair.after["patient.age"]
        low, high = (age["min"], age["max"]) if isinstance(age, dict) else (age, age)
        assert low <= pair.before["patient.age"] <= high


@pytest.mark.parametrize("nothing", [[], [b"{}"]])
def test_an_empty_window_gives_no_pairs(nothing: list[bytes]) -> None:
    assert list(pairs(ward_policy(), nothing, [])) == []
