"""Counterfeits: a reader of the output alone wants to tell which records of a class are nobody's.

A class of exactly k records is likelier to have some than others are; which of its records, nothing shall say.
Counterfeits show what is usual near their class, so the attacker looks for values that are usual or rare in the
class, in what is published near it, and in the whole output.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.engine.completing import completion
from stream_anon.engine.completing.completion import Counterfeits, ShortClasses
from tests.attacks.conftest import Measured
from tests.support.completed import ILLNESSES, CompletedFile, Shown, policy_with, release, townspeople

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


Ailing = Callable[[dict[str, Any]], Mapping[str, float]]
"""How likely each illness is for a person."""


def _files(folder: Path, ailing: Ailing | None = None) -> list[tuple[CompletedFile, list[dict[str, Any]]]]:
    """Return files; what people have follows their city unless it is said what else."""
    found = []
    for seed in range(FILES):
        people = townspeople(SIZE, seed)
        if ailing is not None:
            draws = np.random.default_rng(seed)
            people = [{**one, "illness": str(draws.choice(*_shares(ailing(one))))} for one in people]
        found.append((release(folder, people, secret=b"a secret of file %02d" % seed), people))
    return found


def _shares(ailing: Mapping[str, float]) -> tuple[list[str], int | None, bool, list[float]]:
    return list(ailing), None, True, list(ailing.values())


def _equally(illnesses: int) -> Ailing:
    """Return that everybody has all of so many illnesses equally often."""
    return lambda _: {f"illness {own}": 1 / illnesses for own in range(illnesses)}


def _by_age(age: float) -> Mapping[str, float]:
    """Return that the old have other illnesses than the young: half of all have each two at 45 years."""
    old = 1 / (1 + np.exp(-(age - 45) / 20))
    return dict(zip(ILLNESSES, (0.6 - 0.6 * old, 0.4 - 0.4 * old, 0.6 * old, 0.4 * old), strict=True))


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
    assert not sum(done.report.counterfeits for done, _ in _files(tmp_path, _equally(100)))
    few, many = (sum(done.report.counterfeits for done, _ in _files(tmp_path, _equally(v))) for v in (4, 20))
    assert few > 20 * many


def test_of_twelve_values_a_look_near_by_tells_little(tmp_path: Path, measured: Measured) -> None:
    files = _files(tmp_path, _equally(12))
    for name, suspicion in SUSPICIONS.items():
        told = _told(files, suspicion)
        measured(f"of 12 equally usual values, who is {name} is a counterfeit in {told:.1%} of pairs")
        assert 0.4 < told < 0.65, name


def test_a_reader_who_knows_all_counterfeits_is_left_with_half_of_k_people(tmp_path: Path) -> None:
    """The bound without any assumption: two releases under two keys, or a leaked certificate, may tell them."""
    for done, people in _files(tmp_path)[:3]:
        made = done.counterfeits(people)
        for one, shown in done.shown.items():
            left = shown - made[one]
            assert left.total() >= 5
            assert len(left) >= 2


def test_a_reader_who_knows_how_values_follow_age_tells_more(tmp_path: Path, measured: Measured) -> None:
    """Completed classes lie where people are few, such as among the old, and their neighbours are younger."""

    def expected(shown: Shown, one: str, illness: str) -> float:
        return _alongside(shown, one, illness) / _by_age(_middle(json.loads(one)[0]))[illness]

    told = _told(_files(tmp_path, lambda one: _by_age(one["age"])), expected)
    measured(f"where values follow age, who is more usual near by than at that age is one in {told:.1%} of pairs")
    assert 0.5 < told < 0.65


@pytest.mark.parametrize("illnesses", [4, 8, 12])
def test_a_reader_who_knows_whose_values_were_lent_tells_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measured: Measured, illnesses: int
) -> None:
    """Who knows what each of the 100 nearest has sees which values chance made frequent among them."""
    won, pairs, made = 0.0, 0, 0
    for table, chosen, counterfeits in _looked_into(tmp_path, monkeypatch, _equally(illnesses)):
        value = np.unique(table.shown[0], return_inverse=True)[1]
        made += len(counterfeits.like)
        for number, lenders in chosen.items():
            own = np.flatnonzero(table.short == number)
            lent = np.bincount(value[lenders[len(own) :]], minlength=len(value))
            false = lent[value[counterfeits.donors[table.short[counterfeits.like] == number]]]
            won += (0.5 + 0.5 * np.sign(np.subtract.outer(false, lent[value[own]]))).sum()
            pairs += len(false) * len(own)
    measured(
        f"of {illnesses} values those that were lent most are counterfeits in {won / pairs:.1%} of pairs ({made})"
    )
    assert pairs > 1_000
    assert won / pairs < 0.62


def _looked_into(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ailing: Ailing
) -> Iterator[tuple[ShortClasses, Mapping[int, NDArray[np.int64]], Counterfeits]]:
    """Yield what the engine knows of each file: all classes, who lends values to which, and the counterfeits."""
    seen = list[tuple[ShortClasses, Mapping[int, NDArray[np.int64]], Counterfeits]]()
    drawn = ShortClasses.drawn

    def looked(self: ShortClasses, completed: Any, k: int, draws: np.random.Generator) -> Counterfeits:
        seen.append((self, completed, drawn(self, completed, k, draws)))
        return seen[-1][-1]

    monkeypatch.setattr(ShortClasses, "drawn", looked)
    _files(folder, ailing)
    yield from seen


def test_a_class_that_is_not_completed_tells_of_an_unusual_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measured: Measured
) -> None:
    """Who knows all quasi-identifiers knows which classes have enough people, and no bound has been reached."""
    people, rare, everybody, of_all = 0, 0, 0, 0
    ailing = {"flu": 0.5, "cold": 0.3, "gout": 0.19, "pox": 0.01}
    for table, chosen, _ in _looked_into(tmp_path, monkeypatch, lambda _: ailing):
        value = table.shown[0]
        pox = value == min(np.unique(value), key=lambda one: (value == one).sum())
        everybody, of_all = everybody + len(pox), of_all + int(pox.sum())
        for number in set(np.unique(table.short[table.short >= 0]).tolist()) - chosen.keys():
            own = table.short == number
            if own.sum() >= 5:
                people, rare = people + int(own.sum()), rare + int(pox[own].sum())
    share = rare / people
    measured(
        f"of people whose class is not completed {share:.0%} have the rare illness, of all {of_all / everybody:.1%}"
    )
    assert share > 5 * of_all / everybody


def test_of_two_releases_by_one_key_another_share_tells_nothing(tmp_path: Path, measured: Measured) -> None:
    """What the first release shows of a class and the second does not is nobody's, unless its people have left."""
    criterion = {"illness": {"distinct_l": 3}}
    stranger = {"person": "new", "age": 45, "city": "Oslo", "illness": "flu"}
    others: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
        "another share": (policy_with(counterfeits="2%"), []),
        "distinct_l: 3": (policy_with(sensitive=criterion), []),
        "one person more": (policy_with(), [stranger]),
    }
    told, made = dict.fromkeys(others, 0), 0
    for seed in range(FILES):
        people, secret = townspeople(SIZE, seed), b"a secret of file %02d" % seed
        first = release(tmp_path, people, secret=secret)
        false = first.counterfeits(people)
        made += sum(own.total() for own in false.values())
        for name, (policy, more) in others.items():
            second = release(tmp_path, [*people, *more], policy, secret).shown
            gone = {one: own - second[one] for one, own in first.shown.items() if one in second}
            told[name] += sum((own & false[one]).total() for one, own in gone.items())
    assert told["another share"] == 0
    for name, count in told.items():
        measured(f"a second release of the same people, with {name}, tells {count / made:.0%} of the counterfeits")
