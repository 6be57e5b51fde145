"""Close a table that a method recodes, with counterfeits in classes that would have too few people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.completing.completion import ShortClasses
from stream_anon.engine.completing.counterfeits import (
    NOBODY,
    suppressed_of_people,
    with_counterfeits,
    without_broken,
)
from stream_anon.engine.recoding_closer import RecodingCloser
from stream_anon.engine.sealed_window import SealedWindow, missing_counts
from stream_anon.errors import SettingsError
from stream_anon.microdata.choices.method_choice import MethodChoice
from stream_anon.microdata.output.stated_counterfeits import StatedCounterfeits
from stream_anon.microdata.payload import joined, payload_keys, taken
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.release import SUPPRESSED, Release, Suppression
from stream_anon.privacy.completed.people_check import (
    CompletedRows,
    PeopleCounts,
    broken_completions,
    people_counts,
)
from stream_anon.privacy.gcp import gcp
from stream_anon.recoding.recoders.recoder import Holder


class CompletingCloser(RecodingCloser):
    """Turns one window into a release by the policy's method, and completes groups of too few people.

    A group that the method suppresses is published with counterfeits, up to k records, if at least half of these
    are people and the criteria hold for them alone. Counts of people, and of what is suppressed, are without
    counterfeits; those of released records, missing values and loss are with them.
    """

    makes_counterfeits: ClassVar[bool] = True

    def __init__(self, policy: Policy, choice: MethodChoice, holder: Holder | None = None) -> None:
        super().__init__(policy, choice, holder)
        if policy.counterfeits is None or policy.k is None:
            raise ValueError("the policy allows no counterfeits")
        if policy.individual != EVERY_RECORD and policy.window.max_records_per_individual != 1:
            raise SettingsError(
                "window.max_records_per_individual",
                "must be 1 for privacy.counterfeits: what a class has beyond its people are counterfeits",
            )
        for attribute in policy.quasi_identifiers:
            if attribute.max_level is not None:
                raise SettingsError(
                    f"attributes.{attribute.name}.max_level",
                    "is not for privacy.counterfeits: nobody could tell why a class is suppressed",
                )
        self._most, self._k = policy.counterfeits, policy.k
        self._least = self._criteria.distinct_l.astype(np.int64)

    def _formed(self, window: SealedWindow, draws: np.random.Generator) -> tuple[SealedWindow, NDArray[np.int32]]:
        """Return the window with the counterfeits behind its rows, and the cluster of each."""
        clusters = self._partitioned(window, draws)
        columns, released = window.columns, clusters >= 0
        all_clusters = np.where(released, clusters, self._short).astype(np.int32)
        class_of_row, generalized = self._published(all_clusters)
        # What would be published like a class that is there has no need of counterfeits, and is left as it is.
        short = np.where(np.isin(class_of_row, class_of_row[released]), SUPPRESSED, class_of_row).astype(np.int32)
        key = draws.integers(1, 2**62, 2)
        shown = payload_keys(window.payload, len(self._policy.passed), key)
        classes = ShortClasses(columns, released, short, generalized.low, generalized.high, shown)
        which, what = draws.spawn(2)  # both apart from how much was drawn before, which another policy changes
        chosen = classes.chosen(self._k, self._least, self._most, which)
        made = classes.drawn(chosen, self._k, what)
        clusters = np.where(np.isin(short, list(chosen)), all_clusters, clusters).astype(np.int32)
        codes, payload = columns.codes[:, made.like], taken(window.payload, made.donors)
        whole = with_counterfeits(
            window, codes, columns.sensitive[:, made.donors], joined([window.payload, payload])
        )
        whole = replace(whole, missing=window.missing + missing_counts(self._policy, codes, payload))
        return whole, np.concatenate([clusters, clusters[made.like]])

    def _assemble(
        self,
        window: SealedWindow,
        clusters: NDArray[np.int32],
        reasons: Mapping[Suppression, int],
        shuffle: np.random.Generator,
    ) -> Release:
        """Return a release whose counts of people, and of what is suppressed, are without counterfeits."""
        release = super()._assemble(window, clusters, reasons, shuffle)
        real = window.offsets != NOBODY
        people = np.where(real, window.columns.individuals, NOBODY).astype(np.int64)
        release, counts = self._recounted(release, people, window.columns.sensitive)
        published = release.class_of_row >= 0
        suppressed = suppressed_of_people(real & ~published, reasons, window.over_limit)
        classes = replace(release.classes, individuals=counts.individuals)
        least_people = int(counts.individuals.min()) if len(classes) else None
        return replace(
            release,
            classes=classes,
            suppressed=suppressed,
            achieved_k=least_people,
            achieved_l=self._achieved_l(counts.values),
            gcp=gcp(classes.ncp, classes.records, sum(suppressed.values())),
            completed=StatedCounterfeits(
                int((published & ~real).sum()),
                least_people,
                int(counts.records.min()) if len(classes) else None,
            ),
        )

    def _recounted(
        self, release: Release, people: NDArray[np.int64], sensitive: NDArray[np.int32]
    ) -> tuple[Release, PeopleCounts]:
        """Return the release without the classes that break what is promised of completed ones: a bug."""
        while True:
            rows = CompletedRows(release.class_of_row, people, sensitive)
            counts = people_counts(rows, len(release.classes))
            broken = broken_completions(counts, self._k, self._least, self._most)
            if not broken.any():
                return release, counts
            release = without_broken(release, broken)
