"""Run all attacks on a release, and say of each what lowers it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.attacks.attack_result import AttackResult
from stream_anon.attacks.finding_again import find_again
from stream_anon.attacks.inferring import homogeneous, infer, tell_by_skewness
from stream_anon.attacks.intersecting import intersect
from stream_anon.attacks.knowledge import AttackScene, Families, HeldRelease, Known
from stream_anon.attacks.linking import link
from stream_anon.attacks.membership import tell_members
from stream_anon.attacks.refinement import refine
from stream_anon.attacks.singling_out import single_out
from stream_anon.errors import InputError
from stream_anon.measures.grouping import by_appearance
from stream_anon.microdata.attributes import ScalarType, Sensitive
from stream_anon.operations.attack.attack_report import AttackReport, TimedFinding
from stream_anon.operations.attack.attacked_records import AttackedRecords, hidden_in_families
from stream_anon.operations.attack.rerunning import Rerun
from stream_anon.operations.studied_records import OriginalTable, Released
from stream_anon.ports import Clock

_NUMBERS = (ScalarType.INTEGER, ScalarType.NUMBER)
Attack = Callable[[], AttackResult | None]
"""Returns what was found, or nothing where there is nobody to attack."""


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
    replays
        Of the engine for each value that is tried; 0 for no such attack.
    planted
        Made-up people that somebody writes into the input beside each target; 0 for no such attack.
    """

    targets: int
    guesses: int
    seed: int
    fail_above: float | None
    replays: int = 0
    planted: int = 0


def attack(
    records: AttackedRecords, others: AttackedRecords, released: Released, asked: AttackRequest, clock: Clock
) -> AttackReport:
    """Return how often each attack succeeds.

    Parameters
    ----------
    records
        Those that the release was made of.
    others
        Records of people like them that are not in it.

    Raises
    ------
    InputError
        If nothing was released.
    SettingsError
        If a window cannot hold what is to be planted.
    """
    if not released.records:
        raise InputError(f"{released.source}: no record is released: there is nothing to attack")
    inside, outside = records.table, others.table
    draws, policy = np.random.default_rng(asked.seed), records.policy
    scene = _scene(inside, outside, released)
    targets, controls = (_some(own, asked.targets, draws) for own in (scene.inside, scene.outside))
    places = draws.permutation(len(policy.quasi_identifiers)).tolist()
    halves = sorted(places[: len(places) // 2]), sorted(places[len(places) // 2 :])
    attacks: list[Attack] = [
        lambda: find_again(scene, targets, policy.k or 1),
        lambda: find_again(scene, targets, policy.k or 1, scene.weighed) if scene.weighed else None,
        lambda: single_out(scene, asked.guesses, draws),
    ]
    if all(halves):
        attacks.append(lambda: link(scene, targets, controls, halves))
    for name in scene.sensitive:
        attacks.append(lambda name=name: infer(scene, targets, controls, name))  # type: ignore[misc]
        attacks.append(lambda name=name: tell_by_skewness(scene, targets, controls, name))  # type: ignore[misc]
        if name not in scene.families:  # a family is several values
            attacks.append(lambda name=name: homogeneous(scene, name))  # type: ignore[misc]
        attacks.append(lambda name=name: intersect(scene, name, asked.targets, draws))  # type: ignore[misc]
    for place, own in enumerate(policy.quasi_identifiers):
        attacks.append(lambda place=place, own=own: refine(scene, targets, controls, own, place))  # type: ignore[misc]
    attacks.append(lambda: tell_members(scene, targets, controls))
    return AttackReport(
        released.source,
        len(scene.released),
        inside.population.size,
        outside.population.size,
        released.loss,
        asked.seed,
        asked.fail_above,
        (*_timed(attacks, clock), *_timed(_reruns(Rerun(policy, records.batch), asked, draws), clock)),
    )


def _reruns(rerun: Rerun, asked: AttackRequest, draws: np.random.Generator) -> Iterator[Attack]:
    """Yield the attacks for which the engine runs again, where they are asked for."""
    if asked.replays:
        for place in range(len(rerun.policy.quasi_identifiers)):
            yield lambda place=place: rerun.replays(place, asked.replays, asked.targets, draws)  # type: ignore[misc]
    if asked.planted:
        yield lambda: rerun.planted(asked.planted, asked.targets, draws)


def _timed(attacks: Iterable[Attack], clock: Clock) -> Iterator[TimedFinding]:
    for one in attacks:
        begun = clock.monotonic()
        found = one()
        if found is not None:
            yield TimedFinding(found, clock.monotonic() - begun)


def _some(known: Known, most: int, draws: np.random.Generator) -> Known:
    """Return one record of each of some people: attempts on one person's records would all be right, or wrong."""
    rows = draws.permutation(len(known))
    firsts = np.unique(known.people[rows], return_index=True)[1]
    return known.take(np.sort(rows[draws.permutation(firsts)[:most]]))


def _scene(inside: OriginalTable, outside: OriginalTable, released: Released) -> AttackScene:
    policy, windows = inside.policy, released.windows
    passed: dict[str, list[NDArray[np.int64]]] = {}
    values: dict[str, list[NDArray[np.int64]]] = {}
    families: dict[str, Families] = {}
    numbers: dict[str, NDArray[np.float64]] = {}
    hidden = {own.name for own in hidden_in_families(policy)}
    for own in policy.passed:
        labels: dict[object, int] = {}
        passed[own.name] = [_numbered(table.passed[own.name], labels) for table in (released, inside, outside)]
        if own.name in hidden:
            every: dict[object, int] = {}
            values[own.name] = [_numbered(table.values[own.name], every) for table in (inside, outside)]
            shown = np.array([labels[own.shown(value)] for value in every], np.int64)  # type: ignore[arg-type]
            families[own.name] = Families.of(shown, values[own.name][1])
        elif isinstance(own, Sensitive) and own.type in _NUMBERS and not own.many:
            read = (np.nan if value is None else float(str(value)) for value in labels)
            numbers[own.name] = np.array(list(read), np.float64)
    insensitive = [own for own in policy.passed if not isinstance(own, Sensitive)]
    names = [{name: own[place] for name, own in passed.items()} for place in range(3)]
    known = [
        Known(
            table.population.codes,
            names[place + 1],
            _people(table),
            None if windows is None else windows.of_offsets(table.offsets),
            {name: own[place] for name, own in values.items()},
        )
        for place, table in enumerate((inside, outside))
    ]
    return AttackScene(
        HeldRelease(
            released.boxes,
            released.classes,
            names[0],
            None if windows is None else windows.of_box,
            released.people,
        ),
        known[0],
        known[1],
        tuple(own.name for own in policy.passed if isinstance(own, Sensitive)),
        tuple(own.name for own in insensitive if not own.accept_linkable),
        families,
        tuple(own.name for own in insensitive if own.accept_linkable),
        numbers,
    )


def _numbered(values: Sequence[object], numbers: dict[object, int]) -> NDArray[np.int64]:
    """Return a number for each value, alike for equal ones; a list is the set of its items."""
    keys = (frozenset(value) if isinstance(value, list | tuple) else value for value in values)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def _people(table: OriginalTable) -> NDArray[np.int64]:
    """Return a number for each record's person, by who comes first: hashes of persons differ from run to run."""
    people = table.population.people
    return np.arange(table.population.rows) if people is None else by_appearance(people)[0]
