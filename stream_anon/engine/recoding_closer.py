"""Close a window that is a whole table: recode it at once, then gate it like any other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.from_scratch import FromScratch
from stream_anon.clustering.rules import Rules
from stream_anon.engine.closing import Closer
from stream_anon.engine.dealing import dealt
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.engine.uniting.unions import Raised
from stream_anon.errors import Refused, SettingsError
from stream_anon.microdata.batch import MISSING_KEY
from stream_anon.microdata.choices.method_choice import IAB, ONLY_IAB, MethodChoice
from stream_anon.microdata.columns import NO_VALUE, Columns
from stream_anon.microdata.payload import taken
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import SUPPRESSED
from stream_anon.privacy.gate import violating_classes
from stream_anon.privacy.generalization import GeneralizedClasses, alike
from stream_anon.privacy.published_nodes import publish_nodes
from stream_anon.recoding.lattice.rows import Rows
from stream_anon.recoding.recoders.recoder import Holder, Recoding, RecodingGoal, Step, Table
from stream_anon.recoding.recoders.recoders_by_name import recoder_of, with_shields


class WholeTable(FromScratch):
    """Takes rows and keeps them together: what becomes of them is decided when all are there."""

    def partition(self, rows: Columns, rules: Rules) -> NDArray[np.int32]:  # noqa: ARG002 - one class
        """Return one class."""
        return np.zeros(len(rows), np.int32)


class RecodingCloser(Closer):
    """Turns one window into a release by the method that the policy names.

    The nodes of the method are published as they are. What the method promises is recounted by the gate, and a
    group that breaks the promise is a violation. Criteria that a method does not know of (frequencies of sensitive
    values, `max_share`) suppress the groups that miss them.

    Attributes
    ----------
    steps
        How the answer came about; empty before a release, and where the window was too small for any class.
    warnings
        What the method's options leave unprotected; empty as `steps` is.
    """

    def __init__(self, policy: Policy, choice: MethodChoice, holder: Holder | None = None) -> None:
        super().__init__(policy, fixed=True)
        if policy.k is None and choice.name != IAB:
            raise SettingsError("privacy.k", ONLY_IAB)
        self._choice = choice
        self._recoder = recoder_of(with_shields(choice, policy.shields))
        self._holder = holder
        self.steps: tuple[Step, ...] = ()
        self.warnings: tuple[str, ...] = ()
        self._without_k = (f"privacy.k is {policy.without_k}",) if policy.without_k else ()
        names = [attribute.name for attribute in policy.passed]
        target = choice.options.get("target")
        if target is not None and target not in names:
            raise SettingsError("method.target", "must name an attribute with role: sensitive or insensitive")
        self._target = None if target is None else names.index(target)
        none = np.empty((len(policy.quasi_identifiers), 0), np.int32)
        self._low, self._high = none, none  # of each cluster
        # The cluster of each row that the method suppresses together with its whole group.
        self._short = np.empty(0, np.int32)

    def _partitioned(self, window: SealedWindow, draws: np.random.Generator) -> NDArray[np.int32]:
        """Return the cluster of each row: rows that the method publishes alike are one."""
        order = dealt(window.columns.codes, draws)
        table, asked = self._table(window, order, draws)
        found = self._recoder.recode(table, asked)
        self.steps, self.warnings = found.steps, (*self._without_k, *found.warnings)
        if found.below_k:
            raise Refused(
                f"{self._choice.name} leaves {found.below_k:,} records in groups that fall short, and nothing was "
                "written: complete: true suppresses them, --explain says how they came about"
            )
        clusters, self._short = np.empty(len(table), np.int32), np.empty(len(table), np.int32)
        clusters[order], self._short[order] = self._clustered(table, found)
        return self._within_other_criteria(window.columns, clusters)

    def _table(
        self, window: SealedWindow, order: NDArray[np.int64], draws: np.random.Generator
    ) -> tuple[Table, RecodingGoal]:
        """Return the window as a table, with row order[i] in the place of row i, and what it must reach.

        Of several sensitive attributes those count of which the most distinct values are asked, but for lists, of
        which no method knows.
        """
        columns, least = window.columns, self._criteria.distinct_l.copy()
        least[np.flatnonzero(self._criteria.lists)] = 0
        most = int(least.max(initial=1))
        counted = columns.sensitive[least == most][:, order]
        sensitive = np.where(counted == NO_VALUE, MISSING_KEY, counted.astype(np.int64))
        rows = Rows(columns.codes, columns.individuals[order].astype(np.int64), sensitive)
        table = Table(
            self._policy.quasi_identifiers,
            rows,
            self._labels(window, order),
            lambda: list(map(tuple, taken(window.payload, order))),
        )
        suppressed = self._choice.max_suppressed.of(len(rows))
        return table, RecodingGoal(self._criteria.k, most, suppressed, self._holder, draws)

    def _labels(self, window: SealedWindow, order: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the class of each row, from what passes."""
        if self._target is None:
            return None
        numbers: dict[object, int] = {}
        values = (row[self._target] for row in window.payload)
        return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)[order]

    def _clustered(self, table: Table, found: Recoding) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the cluster of each row, and the one it would be in if its whole group is suppressed; int32[n]."""
        groups, count = table.grouped(found.low, found.high)
        _, first = np.unique(groups, return_index=True)
        self._low, self._high = found.low[:, first], found.high[:, first]
        kept = np.bincount(groups[~found.suppressed], minlength=count) > 0
        clusters = np.where(found.suppressed, SUPPRESSED, groups).astype(np.int32)
        return clusters, np.where(kept[groups], SUPPRESSED, groups).astype(np.int32)

    def _within_other_criteria(self, columns: Columns, clusters: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the clusters without those that miss a criterion of which no method knows.

        Raises
        ------
        Refused
            If the method promises something across groups, and some of them would be suppressed.
        """
        while True:
            kept = np.flatnonzero(clusters >= 0)
            class_of_row, generalized = self._published(clusters)
            own = class_of_row[kept].astype(np.int64)
            failing, counts = violating_classes(columns.take(kept), own, generalized, self._criteria)
            excused = failing & (counts.individuals >= self._criteria.k)
            if self._recoder.across_groups:  # other methods lose these when their level is looked at
                excused |= self._limits.too_coarse(generalized, columns.codes, class_of_row)
            if not excused.any():
                return clusters
            gone = kept[excused[own]]
            if self._recoder.across_groups:
                raise Refused(
                    f"{self._choice.name}: criteria of the policy would suppress {len(gone):,} records on "
                    "which its requirements count, and nothing was written: ask for k and distinct_l only, and for "
                    "no max_level"
                )
            clusters[gone] = SUPPRESSED

    def _united(
        self,
        rows: Columns,  # noqa: ARG002 - the nodes are known
        clusters: NDArray[np.int32],
        draws: np.random.Generator,  # noqa: ARG002 - no node is raised by chance
    ) -> Raised:
        """Return the classes, and that no union excuses a violation."""
        class_of_row, generalized = self._published(clusters)
        return Raised(class_of_row, generalized, np.zeros(len(generalized.labels.T), np.bool_))

    def _published(self, clusters: NDArray[np.int32]) -> tuple[NDArray[np.int32], GeneralizedClasses]:
        """Return the class of each row, and what is published of each: two nodes may be written alike."""
        used, place = np.unique(clusters, return_inverse=True)
        gone = int(used[0] == SUPPRESSED)
        attributes = self._policy.quasi_identifiers
        low, high = self._low[:, used[gone:]], self._high[:, used[gone:]]
        labels = publish_nodes(self._generalizers, attributes, low, high).labels
        first, class_of_cluster = alike(labels)
        renamed = np.append(class_of_cluster, SUPPRESSED)[place - gone].astype(np.int32)
        return renamed, publish_nodes(self._generalizers, attributes, low[:, first], high[:, first])
