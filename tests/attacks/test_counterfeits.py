"""Counterfeits: a reader of the output alone wants to tell which records of a class are nobody's.

A class of exactly k records is likelier to have some than others are; which of its records, nothing shall say.
Counterfeits show what is usual near their class, so the attacker looks for values that are usual or rare in the
class, in what is published near it, and in the whole output.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_anon.engine.completing import completion
from tests.attacks.conftest import Measured
from tests.support.completed import CompletedFile, Shown, release, townspeople

FILES, SIZE = 12, 2_000
Suspicion = Callable[[Shown, str, str], float]


def _near(shown: Shown, one: str) -> Counter[str]:
    """Return what other classes of the same place show."""
    city = json.loads(one)[1]
    others = (own for other, own in shown.items() if other != one and json.loads(other)[1] == city)
    return sum(others, Counter[str]())


def _in_class(shown: Shown, one: str, illness: str) -> float:
    return shown[one][illness] / shown[one].total()


def _in_all(shown: Shown, one: str, illness: str) -> float:
    return sum(own[illness] for own in shown.values()) / sum(own.total() for own in shown.values())


def _nearby(shown: Shown, one: str, illness: str) -> float:
    near = _near(shown, one)
    return near[illness] / max(near.total(), 1)


def _beyond(shown: Shown, one: str, illness: str) -> float:
    """Return how much more usual a value is in the whole output than near the class."""
    return _in_all(shown, one, illness) - _nearby(shown, one, illness)


def _alongside(shown: Shown, one: str, illness: str) -> float:
    """Return how usual a value is in the nearest classes of the same place, of 50 records or more."""
    age, city = json.loads(one)
    there = {other: json.loads(other) for other in shown if other != one}
    near = sorted(there, key=lambda other: (there[other][1] != city, abs(_middle(there[other][0]) - _middle(age))))
    found = Counter[str]()
    for other in near:
        found += shown[other]
        if found.total() >= 50:
            break
    return found[illness] / max(found.total(), 1)


def _middle(age: Any) -> float:
    return float(age["min"] + age["max"]) / 2 if isinstance(age, dict) else 50.0 if age == "*" else float(age)


SUSPICIONS: dict[str, Suspicion] = {
    "usual in its class": _in_class,
    "usual in all": _in_all,
    "usual near its class": _nearby,
    "usual in the nearest classes": _alongside,
    "more usual in all than near its class": _beyond,
}


def _told(files: list[tuple[CompletedFile, list[dict[str, Any]]]], suspicion: Suspicion) -> float:
    """Return how often a counterfeit is more suspicious than a person of its class, half a time where equally."""
    won, pairs = 0.0, 0
    for done, people in files:
        shown = done.shown
        for one, made in done.counterfeits(people).items():
            real = shown[one] - made
            doubt = {illness: suspicion(shown, one, illness) for illness in shown[one]}
            for false, count in made.items():
                for true, times in real.items():
                    won += count * times * (0.5 + 0.5 * np.sign(doubt[false] - doubt[true]))
                    pairs += count * times
    assert pairs > 1_000
    return won / pairs


def _files(folder: Path, illnesses: int = 0) -> list[tuple[CompletedFile, list[dict[str, Any]]]]:
    """Return files; if so many illnesses are told, people have all of them equally often, wherever they live."""
    found = []
    for seed in range(FILES):
        people = townspeople(SIZE, seed)
        if illnesses:
            ails = np.random.default_rng(seed).integers(illnesses, size=SIZE).tolist()
            people = [{**one, "illness": f"illness {own}"} for one, own in zip(people, ails, strict=True)]
        found.append((release(folder, people, secret=b"a secret of file %02d" % seed), people))
    return found


def test_no_look_at_the_output_tells_counterfeits_from_people(tmp_path: Path, measured: Measured) -> None:
    """Promised: none of these looks beats chance, which is 50 %."""
    files = _files(tmp_path)
    for name, suspicion in SUSPICIONS.items():
        told = _told(files, suspicion)
        measured(f"who is {name} is a counterfeit in {told:.1%} of pairs (50 % by chance)")
        assert 0.45 < told < 0.55, name


def test_the_attack_sees_values_that_are_drawn_from_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion, "NEIGHBOURS", SIZE)
    assert _told(_files(tmp_path), _beyond) > 0.6


def test_where_values_are_many_no_class_is_completed(tmp_path: Path) -> None:
    """Among many values one that also occurs near by would be a counterfeit's."""
    assert not sum(done.report.counterfeits for done, _ in _files(tmp_path, 100))


def test_of_twenty_values_a_look_near_by_tells_little(tmp_path: Path, measured: Measured) -> None:
    files = _files(tmp_path, 20)
    for name, suspicion in SUSPICIONS.items():
        told = _told(files, suspicion)
        measured(f"of 20 equally usual values, who is {name} is a counterfeit in {told:.1%} of pairs")
        assert 0.4 < told < 0.65, name


def test_a_reader_who_knows_all_counterfeits_is_left_with_half_of_k_people(tmp_path: Path) -> None:
    """The bound without any assumption: two releases under two keys, or a leaked certificate, may tell them."""
    for done, people in _files(tmp_path)[:3]:
        made = done.counterfeits(people)
        for one, shown in done.shown.items():
            left = shown - made[one]
            assert left.total() >= 5
            assert len(left) >= 2
