"""What classifiers learn from releases: trained on released records, tested on original ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import InputError
from stream_anon.measures.boxes import Boxes
from stream_anon.measures.grouping import by_appearance
from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.operations.studied_records import OriginalTable, Released
from stream_anon.operations.utility.classifiers import Effort, fit
from stream_anon.operations.utility.features import FeatureSpace, exact

MOST_LABELS = 100
LEAST_ROWS = 20  # below, what is learned is chance: a fold would be tested on three records or fewer
MOST_ROWS = 50_000  # that one classifier is trained on, or tested on
FOLDS = 5
_DIFFERENCE = 0.005  # of accuracy, above the majority's, below which there is nothing to keep


@dataclass(frozen=True, slots=True)
class Score:
    """How well one classifier does that was trained on one table.

    Parameters
    ----------
    accuracy
        Share of the original test records whose label it says.
    rows
        Records that it was trained on.
    available
        Records that it would have been trained on if the time had sufficed.
    """

    accuracy: float
    rows: int
    available: int

    @property
    def short(self) -> bool:
        """Return whether the time did not suffice for all records."""
        return self.rows < self.available


@dataclass(frozen=True, slots=True)
class ClassifierReport:
    """How well one classifier does.

    Parameters
    ----------
    baseline
        Trained on original records.
    releases
        Trained on each release.
    """

    name: str
    baseline: Score
    releases: tuple[Score, ...]


@dataclass(frozen=True, slots=True)
class LearningReport:
    """What is learned of a label.

    Parameters
    ----------
    labels
        Distinct labels of the original records.
    test
        The file of the test records; None where the original records themselves are the test.
    tested
        Test records.
    shared
        How many records of the test file are of individuals who are among the original ones; None where nothing
        tells individuals apart, or no file is given.
    majority
        Share of them that have the original records' most frequent label.
    seconds
        That the training of one classifier may take.
    """

    label: str
    labels: int
    test: str | None
    tested: int
    shared: int | None
    majority: float
    seconds: float
    classifiers: tuple[ClassifierReport, ...]

    def kept(self, learned: Score, baseline: Score) -> float | None:
        """Return `accuracy_kept`."""
        return accuracy_kept(learned.accuracy, baseline.accuracy, self.majority)


def accuracy_kept(accuracy: float, baseline: float, majority: float) -> float | None:
    """Return the share that is left of what a classifier of original records knows beyond the most frequent label.

    Below 0 where a classifier does worse than to say that label always; None where that of original records hardly
    does better.
    """
    return (accuracy - majority) / (baseline - majority) if baseline - majority > _DIFFERENCE else None


def study_learning(
    table: OriginalTable,
    released: Sequence[Released],
    test: OriginalTable | None,
    names: Sequence[str],
    label: str,
    effort: Effort,
    progress: Callable[[int], None] = lambda _: None,
) -> LearningReport:
    """Train classifiers on original and on released records, and test them on original ones.

    With test records none of them is trained on, provided that they are not among the original ones. Without, the
    classifiers of the original records are cross-fitted: each is tested on individuals that it was not trained on.
    Those of a release are trained on all of it and tested on all original records, among which are those that the
    release was made of: nobody can tell which, since a release is not joined to its records row by row.

    Parameters
    ----------
    table, test
        With labels.
    names
        Of `CLASSIFIERS`, or `SEARCH`.
    progress
        Is told how many classifiers are done, of names x (1 + releases).

    Raises
    ------
    InputError
        If there are too few or too many labels, or too few records or individuals.
    """
    kinds = _kinds(table)
    tested = test or table
    codes, labels = _sampled(tested.population.codes, _of(tested), effort.seed)
    majority = int(np.bincount(_of(table)).argmax())
    reports = []
    for number, name in enumerate(names):
        done = number * (1 + len(released))
        if test is None:
            baseline = _cross_fitted(table, name, effort)
        else:
            baseline = learn(
                table.policy.quasi_identifiers, *_original(table, effort.seed), (codes, labels), name, effort
            )
        progress(done + 1)
        learned = []
        for each in released:
            learned.append(_of_release(table, each, (codes, labels), name, effort))
            progress(done + 1 + len(learned))
        reports.append(ClassifierReport(name, baseline, tuple(learned)))
    return LearningReport(
        label,
        kinds,
        None if test is None else test.source,
        len(labels),
        _shared(table, test),
        float((labels == majority).mean()),
        effort.seconds,
        tuple(reports),
    )


def learn(
    attributes: Sequence[QuasiIdentifier],
    boxes: Boxes,
    counts: NDArray[np.int64],
    test: tuple[NDArray[np.int32], NDArray[np.int64]],
    name: str,
    effort: Effort,
) -> Score:
    """Return how well a classifier does that was trained on boxes.

    Parameters
    ----------
    counts
        int64[c, m], how many records of each box have each label.
    test
        Codes, int32[q, n], and labels, int64[n], of original records.
    """
    places, kinds = np.nonzero(counts)
    rows = np.repeat(np.arange(len(places)), counts[places, kinds])
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(effort.seed).choice(rows, MOST_ROWS, replace=False))
    codes, labels = test
    own = kinds[rows]
    space = FeatureSpace.of(attributes, boxes)
    used, where = np.unique(places[rows], return_inverse=True)
    features = space.features(boxes.low[:, used], boxes.high[:, used])[where]
    if len(np.unique(own)) < 2 or not features.shape[1]:
        # One label, or nothing that tells labels apart: the most frequent one. Without any, the first will do.
        said = int(np.bincount(own, minlength=1).argmax())
        return Score(float((labels == said).mean()), len(own), len(own))
    fitted = fit(name, features, own, effort)
    return Score(float((fitted.says(space.features(codes, codes)) == labels).mean()), fitted.rows, len(own))


def counted(labels: NDArray[np.int64], kinds: int) -> NDArray[np.int64]:
    """Return the label counts of rows, each a box of its own; int64[n, kinds]."""
    return np.asarray(labels[:, None] == np.arange(kinds), np.int64)


def _of(table: OriginalTable) -> NDArray[np.int64]:
    if table.labels is None:
        raise ValueError(f"{table.source} was read without labels")
    return table.labels


def _shared(table: OriginalTable, test: OriginalTable | None) -> int | None:
    if test is None or table.population.individuals is None or test.population.individuals is None:
        return None
    return int(np.isin(test.population.individuals, table.population.individuals).sum())


def _kinds(table: OriginalTable) -> int:
    """Return how many labels there are; InputError for a table that classifiers cannot learn from."""
    found = len(np.unique(_of(table)))
    if not 2 <= found <= MOST_LABELS:
        raise InputError(f"{table.source}: has {found:,} different labels; classifiers need 2 to {MOST_LABELS}")
    rows, individuals = table.population.rows, table.population.size
    if rows < LEAST_ROWS or individuals < FOLDS:
        raise InputError(
            f"{table.source}: has {rows:,} records of {individuals:,} individuals that fit the policy, too few for "
            f"--label: classifiers need {LEAST_ROWS} records and {FOLDS} individuals"
        )
    return found


def _sampled(
    codes: NDArray[np.int32], labels: NDArray[np.int64], seed: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    if len(labels) <= MOST_ROWS:
        return codes, labels
    chosen = np.sort(np.random.default_rng(seed).choice(len(labels), MOST_ROWS, replace=False))
    return codes[:, chosen], labels[chosen]


def _original(table: OriginalTable, seed: int) -> tuple[Boxes, NDArray[np.int64]]:
    codes, labels = _sampled(table.population.codes, _of(table), seed)
    return exact(codes), counted(labels, int(_of(table).max()) + 1)


def _of_release(
    table: OriginalTable,
    released: Released,
    test: tuple[NDArray[np.int32], NDArray[np.int64]],
    name: str,
    effort: Effort,
) -> Score:
    if released.labels is None:
        raise ValueError(f"{released.source} was read without labels")
    return learn(table.policy.quasi_identifiers, released.boxes, released.labels, test, name, effort)


def _cross_fitted(table: OriginalTable, name: str, effort: Effort) -> Score:
    """Return how well a classifier of original records does on individuals that it was not trained on.

    Each of the folds has the whole time. The figures for the rows are of the fold that lacked most of them.
    """
    codes, labels = table.population.codes, _of(table)
    folds = _folds(table.population.individuals, len(labels), effort.seed)
    right, tested, learned = 0.0, 0, []
    for fold in range(FOLDS):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if not len(inside) or not len(outside):
            continue
        inside, outside = inside[:MOST_ROWS], outside[:MOST_ROWS]
        boxes, counts = exact(codes[:, inside]), counted(labels[inside], int(labels.max()) + 1)
        held_out = codes[:, outside], labels[outside]
        found = learn(table.policy.quasi_identifiers, boxes, counts, held_out, name, effort)
        right += found.accuracy * len(outside)
        tested += len(outside)
        learned.append(found)
    least = min(learned, key=lambda own: (own.rows - own.available, own.rows))
    return Score(right / tested, least.rows, least.available)


def _folds(individuals: NDArray[np.int64] | None, rows: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each row, equal for the rows of an individual; the same file and seed give the same."""
    draws = np.random.default_rng(seed)
    if individuals is None:
        return draws.permutation(rows) % FOLDS
    # The numbers of individuals differ from process to process: what counts is in which order they appear.
    numbers, count = by_appearance(individuals)
    return np.asarray((draws.permutation(count) % FOLDS)[numbers], np.int64)
