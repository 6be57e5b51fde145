"""Close a window: partition, generalize, gate. Pure and mostly without the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.partitioning import TOO_HIGH
from stream_anon.engine.chosen_classes import chosen, no_classes
from stream_anon.engine.dealing import dealt
from stream_anon.engine.gating import WindowGate
from stream_anon.engine.returning import counted_release
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.engine.uniting.presence_uniting import PresenceUniter
from stream_anon.engine.uniting.raising import Raiser
from stream_anon.engine.uniting.unions import Raised
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.choices.window_limits import AboveMost
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import SUPPRESSED, Classes, Release, Suppression
from stream_anon.privacy.criteria import Criteria
from stream_anon.privacy.gcp import gcp
from stream_anon.privacy.generalization import Generalizer, alike, generalize, raised
from stream_anon.privacy.level_limits import LevelLimits
from stream_anon.privacy.population.presence_check import PresenceCheck

TooLarge = Callable[[Release], NDArray[np.int64]]
"""Returns the released rows that cannot be published, since what would be written of them is too large."""


def all_fit(release: Release) -> NDArray[np.int64]:  # noqa: ARG001 - a `TooLarge`
    """Return no row."""
    return np.empty(0, np.int64)


class Closer:
    """Turns sealed windows into releases; it remembers nodes of the policy's hierarchies between windows.

    Parameters
    ----------
    policy
        The policy of all windows it will see.
    watch
        Returns seconds, to tell how long the gate took; without one it took none.
    fixed
        The nodes of the classes are an answer: what a shield or presence forbids is suppressed, not united.

    Raises
    ------
    SettingsError
        If the policy allows counterfeits, and this closer makes none.
    """

    makes_counterfeits: ClassVar[bool] = False

    def __init__(self, policy: Policy, watch: Callable[[], float] = lambda: 0.0, *, fixed: bool = False) -> None:
        if not self.makes_counterfeits:
            policy.refuse_counterfeits()
        self._policy = policy
        self._watch = watch
        self._criteria = Criteria.of(policy)
        self._limits = LevelLimits(policy.quasi_identifiers)
        self._generalizers = [Generalizer(attribute) for attribute in policy.quasi_identifiers]
        self._raiser = Raiser(policy, self._generalizers, fixed=fixed)
        self._presence = PresenceCheck(policy)
        self._gate = WindowGate(policy, self._limits, self._presence)
        self._uniter = PresenceUniter(policy, self._generalizers, self._presence, fixed=fixed)

    def release(self, window: SealedWindow, shuffle: np.random.Generator, too_large: TooLarge = all_fit) -> Release:
        """Return what becomes of a window.

        A row that is too large becomes a dead letter. Its class is generalized and judged without it, and is
        suppressed if it falls short.

        Parameters
        ----------
        window
            A sealed window; its partitioner is spent afterwards.
        shuffle
            Orders the released records, deals equal rows among their classes and draws extra levels; from the
            operating system's entropy wherever it matters.
        too_large
            Asked of each release before it is final.
        """
        window, release = self._release(window, shuffle, too_large)
        release = self._bounded(window, release, shuffle)
        return replace(release, people=counted_release(window, release)) if window.counted else release

    def _bounded(self, window: SealedWindow, release: Release, shuffle: np.random.Generator) -> Release:
        """Return the release, marked or suppressed whole if too many of its records are suppressed."""
        bound = self._policy.max_suppressed
        # Who has been released often enough is left out on purpose.
        suppressed = sum(release.suppressed.values()) - release.suppressed.get(Suppression.RETURNING, 0)
        if bound is None or suppressed <= bound.of(release.real + suppressed):
            return release
        if self._policy.above_max_suppressed is AboveMost.SUPPRESS and release.released:
            reasons = {**release.suppressed, Suppression.MAX_SUPPRESSED: release.real}
            nowhere = np.full(window.records, SUPPRESSED, np.int32)
            release = replace(
                self._assemble(window, nowhere, reasons, shuffle),
                gate_violations=release.gate_violations,
                gate_seconds=release.gate_seconds,
            )
        return replace(release, above_max_suppressed=True)

    def _release(
        self, window: SealedWindow, shuffle: np.random.Generator, too_large: TooLarge
    ) -> tuple[SealedWindow, Release]:
        """Return the window without the rows that are too large, and its release."""
        if not self._criteria.in_reach(window.individuals, window.values):
            nowhere = np.full(window.records, SUPPRESSED, np.int32)
            return window, self._assemble(window, nowhere, {Suppression.SHORTFALL: window.records}, shuffle)
        # 1. Partition. The answer is not believed, and which of several equal rows stands where was drawn before.
        window, clusters = self._formed(window, shuffle)
        high = int((clusters == TOO_HIGH).sum())
        unplaced = int((clusters < 0).sum()) - high
        reasons = {Suppression.UNPLACED: unplaced, Suppression.MAX_LEVEL: high}
        clusters = np.maximum(clusters, SUPPRESSED)
        release = self._assemble(window, clusters, reasons, shuffle)
        while len(rows := too_large(release)):
            window = window.rejecting(rows, Reason.TOO_LARGE)
            clusters = np.where(release.class_of_row >= 0, clusters, SUPPRESSED).astype(np.int32)
            clusters[rows] = SUPPRESSED
            release = self._judged_again(window, clusters, release, shuffle)
        return window, release

    def _judged_again(
        self, window: SealedWindow, clusters: NDArray[np.int32], before: Release, shuffle: np.random.Generator
    ) -> Release:
        """Return the release of the remaining rows of another release that was not published.

        That a class falls short now is no violation: no partitioner formed it.
        """
        release = self._assemble(window, clusters, before.suppressed, shuffle)
        reasons = dict(before.suppressed)
        fallen = sum(release.suppressed.values()) - sum(reasons.values())
        if fallen:
            reasons[Suppression.UNPLACED] = reasons.get(Suppression.UNPLACED, 0) + fallen
        return replace(release, suppressed=reasons, gate_violations=before.gate_violations)

    def _formed(self, window: SealedWindow, draws: np.random.Generator) -> tuple[SealedWindow, NDArray[np.int32]]:
        """Return the window, with what is published beside its rows, and the cluster of each row."""
        return window, self._partitioned(window, draws)

    def _partitioned(self, window: SealedWindow, draws: np.random.Generator) -> NDArray[np.int32]:
        """Return the cluster of each row."""
        rows, order = window.columns, dealt(window.columns.codes, draws)
        sensitive = np.ascontiguousarray(rows.sensitive[:, order])
        turned = replace(rows, individuals=rows.individuals[order], sensitive=sensitive)
        clusters = np.empty(len(rows), np.int32)
        clusters[order] = window.partitioner.close(turned, self._criteria)
        return clusters

    def _assemble(
        self,
        window: SealedWindow,
        clusters: NDArray[np.int32],
        reasons: Mapping[Suppression, int],
        shuffle: np.random.Generator,
    ) -> Release:
        # 2. Generalize, and by a random level or more if so asked; clusters that publish alike become one class.
        united = self._united(window.columns, clusters, shuffle)
        # 3. What would be published of too many of those who fit it, and then, by RAISE, of too few people by a
        # shield, is published alike with other classes.
        people, within = window.columns.individuals, self._below_limits(window.columns, united)
        shielded = self._raiser.raised(people, self._uniter.united(people, within))
        # 4. The gate: what fails is suppressed, and the rest is checked again.
        begun = self._watch()
        gated = self._gate.gated(window.columns, shielded)
        gate_seconds = self._watch() - begun
        class_of_row, generalized, counts = gated.class_of_row, gated.generalized, gated.counts
        high, bare = within.gone, shielded.gone - within.gone + gated.bare
        placed = int((clusters >= 0).sum()) - high - bare - gated.crowding
        rows = np.flatnonzero(class_of_row >= 0)
        suppressed = {
            **reasons,
            Suppression.MAX_LEVEL: reasons.get(Suppression.MAX_LEVEL, 0) + high,
            Suppression.SHIELD: reasons.get(Suppression.SHIELD, 0) + bare,
            Suppression.PRESENCE: reasons.get(Suppression.PRESENCE, 0) + gated.crowding,
            Suppression.GATE: reasons.get(Suppression.GATE, 0) + placed - len(rows),
            Suppression.OVER_LIMIT: window.over_limit,
            Suppression.RETURNING: window.returning,
        }
        suppressed = {reason: count for reason, count in suppressed.items() if count}
        # 5. Shuffle: the order of publication tells nothing of the order of arrival.
        order = shuffle.permutation(rows).astype(np.int64)
        classes = Classes(
            generalized.low,
            generalized.high,
            generalized.values,
            counts.records,
            counts.individuals,
            generalized.ncp,
        )
        return Release(
            classes=classes,
            class_of_row=class_of_row,
            order=order,
            payload=window.payload,
            suppressed=suppressed,
            rejects=window.rejects,
            ranges=window.ranges,
            arrivals=window.arrivals,
            opened_at=window.opened_at,
            closed_at=window.closed_at,
            achieved_k=int(counts.individuals.min()) if len(classes) else None,
            achieved_l=self._achieved_l(counts.values),
            achieved_spread={
                attribute.name: found.reached(asked)
                for attribute, asked, found in zip(
                    self._policy.diverse, self._criteria.asked, counts.spreads, strict=True
                )
                if len(classes) and found is not None
            },
            gcp=gcp(generalized.ncp, counts.records, sum(suppressed.values())),
            gate_violations=gated.violations,
            gate_seconds=gate_seconds,
            missing=missing_by_name(self._policy, window.missing),
            achieved_shields=gated.shields,
            achieved_presence=gated.presence,
        )

    def _achieved_l(self, values: NDArray[np.int64]) -> dict[str, int]:
        """Return the least number of values of a class, int64[s, c], of each attribute for which one is asked."""
        return {
            attribute.name: int(of_class.min())
            for attribute, of_class, asked in zip(
                self._policy.diverse, values, self._criteria.distinct_l, strict=True
            )
            if len(of_class) and asked
        }

    def _united(self, rows: Columns, clusters: NDArray[np.int32], draws: np.random.Generator) -> Raised:
        """Return the classes, and which of them hold several clusters."""
        count = int(clusters.max(initial=-1)) + 1
        if not count:
            return Raised(clusters, no_classes(len(self._generalizers)), np.zeros(0, np.bool_))
        used = np.bincount(clusters[clusters >= 0]) > 0
        if not used.all():  # numbers without a row: not as agreed, and nothing could be published for them
            clusters = np.where(clusters >= 0, (np.cumsum(used) - 1)[clusters], SUPPRESSED).astype(np.int32)
            count = int(used.sum())
        generalized = generalize(self._generalizers, self._policy.quasi_identifiers, rows.codes, clusters, count)
        if self._policy.extra_levels:
            levels = draws.integers(0, self._policy.extra_levels + 1, generalized.low.shape)
            generalized = raised(self._generalizers, self._policy.quasi_identifiers, generalized, levels)
        first, class_of_cluster = alike(generalized.labels)
        if len(first) == count:
            return Raised(clusters, generalized, np.zeros(count, np.bool_))
        renamed = np.where(clusters >= 0, class_of_cluster[clusters], SUPPRESSED).astype(np.int32)
        # Bounds and values of a union are those of its parts where intervals are published, and sets are equal.
        return Raised(renamed, chosen(generalized, first), np.bincount(class_of_cluster) > 1)

    def _below_limits(self, rows: Columns, found: Raised) -> Raised:
        """Take away the classes that would need a level above `max_level`.

        That is no violation: nothing is told of anybody.
        """
        high = self._limits.too_coarse(found.generalized, rows.codes, found.class_of_row)
        return found.without(high) if high.any() else found


def missing_by_name(policy: Policy, counts: NDArray[np.int64]) -> dict[str, int]:
    """Return the counts int64[q + p] that are not 0 by the name of their attribute."""
    names = (attribute.name for attribute in (*policy.quasi_identifiers, *policy.passed))
    return {name: count for name, count in zip(names, counts.tolist(), strict=True) if count}
