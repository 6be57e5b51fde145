"""Attacks by somebody who can do more than read: run the engine as its owner does, or write to its input.

They say how a policy releases, not what one release tells: small windows of the original records are released anew,
in memory.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.entropy import fresh_draws
from stream_anon.attacks.attack_result import AttackResult
from stream_anon.attacks.replaying import ReplayCase, Tuple, WindowOfReplay
from stream_anon.engine.engine import Engine
from stream_anon.errors import SettingsError
from stream_anon.files.anonymizing import Anonymization
from stream_anon.files.whole_table import anonymization_of
from stream_anon.measures.boxes import Boxes, boxes_of_classes
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release

REPLAYED, PLANTED_IN = 500, 2_000
"""Records of a window that is replayed, and of one that others are planted in, at the most."""
MOST_VICTIMS, MOST_VALUES = 200, 20
_LEFT = 0.75  # of a window's records are people's where others are planted


@dataclass(frozen=True, slots=True)
class Rerun:
    """Releases windows of some records again and again, with fresh draws each time unless the policy has a seed.

    Parameters
    ----------
    records
        Of each person only the first one is used.
    """

    policy: Policy
    records: CodedBatch

    def window(self, most: int, draws: np.random.Generator) -> CodedBatch:
        """Return records of some people in a random order, as many as a window may hold or fewer."""
        firsts = np.unique(self.records.individuals, return_index=True)[1]
        chosen = draws.permutation(np.sort(firsts))[: min(most, self.policy.window.max_records)]
        return _in_order(self.records.take(chosen))

    def released(self, window: CodedBatch) -> Release:
        """Return what is released of a window; row i is its i-th record."""
        if self.policy.method is None:  # an engine that is given is not warmed up, as it should be once only
            anonymization = Anonymization(self.policy, engine=Engine(self.policy, draws=fresh_draws()))
        else:
            anonymization = anonymization_of(self.policy)
        (certified,) = [*anonymization.add(window), *anonymization.close()]
        return certified.release

    def published(self, window: CodedBatch) -> WindowOfReplay:
        """Return the classes that are published of a window."""
        release = self.released(window)
        return self._named(release, self._boxes(release))

    def _boxes(self, release: Release) -> Boxes:
        return boxes_of_classes(self.policy.quasi_identifiers, release.classes)

    def _named(self, release: Release, boxes: Boxes) -> WindowOfReplay:
        """Return classes by what they publish, and their sizes."""
        sets = [boxes.members[place] for place in sorted(boxes.members)]
        columns = np.concatenate([boxes.low, boxes.high, boxes.records[None]]).T.tolist()
        names: list[Tuple] = [
            (*bounds, *(code for own in sets for code in (-1, *own[number])))
            for number, bounds in enumerate(columns)
        ]
        of_row = (names[number] if number >= 0 else () for number in release.class_of_row.tolist())
        return WindowOfReplay(Counter(names), tuple(of_row))

    def replays(self, place: int, count: int, victims: int, draws: np.random.Generator) -> AttackResult | None:
        """Count how often replays name somebody's value of a quasi-identifier, if all else of a window is known.

        Known are the policy, all rows but this value, and what was published. Each value that the victim's class
        allows, 20 of them at the most, is put in its place, and the window released again. Success without replays
        is a value taken at random of those. Takes a release of 500 records for each victim, value and replay.

        Parameters
        ----------
        place
            Of the quasi-identifier.
        count
            Replays for each value.
        victims
            As many at the most, and 200.

        Returns
        -------
        None if no class leaves several values possible.
        """
        window = self.window(REPLAYED, draws)
        release = self.released(window)
        boxes = self._boxes(release)
        seen = self._named(release, boxes)

        def replay(codes: NDArray[np.int32], _: int) -> WindowOfReplay:
            return self.published(replace(window, codes=codes))

        cases: list[ReplayCase[int]] = []
        for row in draws.permutation(len(window)).tolist():
            number = int(release.class_of_row[row])
            values = self.possible(window, boxes, number, row, place, draws)
            if len(cases) < min(victims, MOST_VICTIMS) and len(values) > 1:
                cases.append(ReplayCase(replay, window.codes, seen, row, place, values))
        if not cases:
            return None
        right, chance = (
            sum(one.guessed(range(count)) for one in cases),
            sum(one.chance for one in cases),
        )
        name, tried = self.policy.quasi_identifiers[place].name, len(cases)
        return AttackResult("replay", tried, right, name, chance / tried, control=(tried, chance))

    def possible(
        self, window: CodedBatch, boxes: Boxes, number: int, row: int, place: int, draws: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return codes that a class allows, the true one among them; none for a row that is not published.

        Parameters
        ----------
        number
            Of the row's class; negative where it has none.
        """
        size, true = self.policy.quasi_identifiers[place].domain.size, int(window.codes[place, row])
        if number < 0 or true >= size:
            return np.empty(0, np.int64)
        allowed = np.flatnonzero(boxes.cover(place, np.arange(size), np.array([number]))[0])
        others = np.setdiff1d(allowed, [true])
        return np.sort(np.append(draws.permutation(others)[: MOST_VALUES - 1], true))

    def planted(self, count: int, victims: int, draws: np.random.Generator) -> AttackResult:
        """Count the people who are alone in their class among records that an attacker wrote into the window.

        Beside each victim stand records of made-up people with the same quasi-identifiers; the rest of each is
        somebody else's. Who wrote them subtracts them. At most a quarter of a window is planted.

        Parameters
        ----------
        count
            Made-up people for each victim.

        Raises
        ------
        SettingsError
            If a window does not hold as many.
        """
        room = min(self.policy.window.max_records, PLANTED_IN)
        at_once = int(room * (1 - _LEFT)) // count
        if not at_once:
            raise SettingsError("--planted", f"a quarter of a window of {room:,} records holds fewer")
        attempts, crowds = 0, list[int]()
        while attempts < min(victims, MOST_VICTIMS):
            window = self.window(int(room * _LEFT), draws)
            chosen = draws.permutation(len(window))[: min(at_once, victims - attempts)]
            crowds += self._crowds(window, chosen, count, draws)
            attempts += len(chosen)
        surest = max((1 / crowd for crowd in crowds), default=0.0)
        return AttackResult("planted", attempts, crowds.count(1), chance=0.0, surest=surest)

    def _crowds(
        self, window: CodedBatch, victims: NDArray[np.intp], count: int, draws: np.random.Generator
    ) -> list[int]:
        """Return how many people the class of each victim has that are not made up; nothing of one without."""
        made = window.take(np.repeat(victims, count))
        others = window.take(draws.integers(len(window), size=len(made)))
        ids = draws.integers(np.iinfo(np.int64).max, size=len(made))
        made = replace(made, individuals=ids, sensitive=others.sensitive, payload=others.payload)
        order = draws.permutation(len(window) + len(made))
        everybody = _in_order(CodedBatch.concatenate([window, made]).take(order))
        class_of_row = self.released(everybody).class_of_row[np.argsort(order)]
        people = class_of_row[: len(window)]
        return [int((people == own).sum()) for own in people[victims].tolist() if own >= 0]


def _in_order(records: CodedBatch) -> CodedBatch:
    """Return records as if they had come in this order from one partition."""
    return replace(
        records, offsets=np.arange(len(records), dtype=np.int64), sources=np.zeros(len(records), np.int32)
    )
