"""Run all attacks on a release, and say of each what lowers it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.attacks.attack_result import AttackResult
from stream_anon.attacks.finding_again import find_again
from stream_anon.attacks.inferring import homogeneous, infer
from stream_anon.attacks.knowledge import AttackScene, HeldRelease, Known
from stream_anon.attacks.linking import link
from stream_anon.attacks.membership import tell_members
from stream_anon.attacks.refinement import refine
from stream_anon.attacks.singling_out import single_out
from stream_anon.errors import InputError
from stream_anon.microdata.attributes import Sensitive
from stream_anon.operations.attack.attack_report import AttackReport, TimedFinding
from stream_anon.operations.studied_records import OriginalTable, Released
from stream_anon.ports import Clock


@dataclass(frozen=True, slots=True)
class AttackRequest:
    """What is asked.

    Parameters
    ----------
    targets
        People of each group that are attacked, at the most.
    guesses
        Descriptions that are tried for singling out.
    seed
        Of whom and what is chosen.
    fail_above
        A risk from 0 to 1 that none may exceed; None for no such bound.
    """

    targets: int
    guesses: int
    seed: int
    fail_above: float | None


def attack(
    inside: OriginalTable, outside: OriginalTable, released: Released, asked: AttackRequest, clock: Clock
) -> AttackReport:
    """Return how often each attack succeeds.

    Parameters
    ----------
    inside
        The records that the release was made of.
    outside
        Records of people like them that are not in it.

    Raises
    ------
    InputError
        If nothing was released.
    """
    if not released.records:
        raise InputError(f"{released.source}: holds no record: there is nothing to attack")
    draws, policy = np.random.default_rng(asked.seed), inside.policy
    scene = _scene(inside, outside, released)
    targets, controls = (_some(own, asked.targets, draws) for own in (scene.inside, scene.outside))
    places = draws.permutation(len(policy.quasi_identifiers)).tolist()
    halves = sorted(places[: len(places) // 2]), sorted(places[len(places) // 2 :])
    attacks: list[Callable[[], AttackResult]] = [
        lambda: find_again(scene, targets, policy.k or 1),
        lambda: single_out(scene, asked.guesses, draws),
    ]
    if all(halves):
        attacks.append(lambda: link(scene, targets, controls, halves))
    for name in scene.sensitive:
        attacks.append(lambda name=name: infer(scene, targets, controls, name))  # type: ignore[misc]
        attacks.append(lambda name=name: homogeneous(scene, name))  # type: ignore[misc]
    for place, own in enumerate(policy.quasi_identifiers):
        attacks.append(lambda place=place, own=own: refine(scene, targets, controls, own, place))  # type: ignore[misc]
    attacks.append(lambda: tell_members(scene, targets, controls))
    return AttackReport(
        released.source,
        len(scene.released),
        inside.population.size,
        outside.population.size,
        asked.seed,
        asked.fail_above,
        tuple(_timed(attacks, clock)),
    )


def _timed(attacks: Iterable[Callable[[], AttackResult]], clock: Clock) -> Iterator[TimedFinding]:
    for one in attacks:
        begun = clock.monotonic()
        found = one()
        yield TimedFinding(found, clock.monotonic() - begun)


def _some(known: Known, most: int, draws: np.random.Generator) -> Known:
    return known.take(np.sort(draws.permutation(len(known))[:most]))


def _scene(inside: OriginalTable, outside: OriginalTable, released: Released) -> AttackScene:
    policy = inside.policy
    passed: dict[str, list[NDArray[np.int64]]] = {}
    for own in policy.passed:
        numbers: dict[object, int] = {}
        columns = (table.passed[own.name] for table in (released, inside, outside))
        passed[own.name] = [_numbered(column, numbers) for column in columns]
    names = [{name: own[place] for name, own in passed.items()} for place in range(3)]
    return AttackScene(
        HeldRelease(released.boxes, released.classes, names[0]),
        Known(inside.population.codes, names[1], _people(inside)),
        Known(outside.population.codes, names[2], _people(outside)),
        tuple(own.name for own in policy.passed if isinstance(own, Sensitive)),
        tuple(own.name for own in policy.passed if not isinstance(own, Sensitive)),
    )


def _numbered(values: Sequence[object], numbers: dict[object, int]) -> NDArray[np.int64]:
    """Return a number for each value, alike for equal ones; a list is the set of its items."""
    keys = (frozenset(value) if isinstance(value, list | tuple) else value for value in values)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def _people(table: OriginalTable) -> NDArray[np.int64]:
    people = table.population.people
    return np.arange(table.population.rows) if people is None else people
