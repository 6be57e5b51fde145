"""The report of `stream-anon utility`: its figures by name, for tables, pages and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stream_anon.measures.uniqueness import Uniqueness
from stream_anon.operations.utility.classifier_scores import LearningReport, Score
from stream_anon.operations.utility.release_risks import RiskFound, RiskReport
from stream_anon.operations.utility.utility_study import LabelKept, Utility

SCHEMA = 1
SHOWN_PAIRS = 10
SHORT = " *"  # marks what was trained on fewer records than there are
_LEAST = 0.0001
Cell = float | None

_MEASURES: tuple[tuple[str, Callable[[Utility], Cell], str], ...] = (
    ("records released", lambda found: found.records, ","),
    ("records suppressed", lambda found: found.suppressed, ","),
    ("classes", lambda found: found.classes, ","),
    ("GCP (mean NCP)", lambda found: found.gcp, ".4f"),
    ("Prec", lambda found: found.prec, ".4f"),
    ("absolute distance", lambda found: found.absolute, ".3f"),
    ("relative distance", lambda found: found.relative, ".3f"),
    ("conditional entropy (bits)", lambda found: found.conditional_entropy, ",.0f"),
    ("discernibility", lambda found: found.discernibility, ","),
    ("average class size / k", lambda found: found.class_size, ".2f"),
    ("information kept", lambda found: found.information, ".1%"),
    ("dependence kept", lambda found: found.dependence, ".1%"),
    ("error of range counts", lambda found: found.query_error, ".1%"),
)
_OF_LABEL: tuple[tuple[str, Callable[[LabelKept], Cell], str], ...] = (
    ("classification loss", lambda kept: kept.classification_loss, ".1%"),
    ("label information kept", lambda kept: kept.information, ".1%"),
    ("  by pairs", lambda kept: kept.pair_information, ".1%"),
)
_ESTIMATES: tuple[tuple[str, Callable[[Uniqueness], Cell]], ...] = (
    ("population unique, Pitman", lambda found: found.pitman),
    ("  Zayatz", lambda found: found.zayatz),
    ("  SNB", lambda found: found.snb),
    ("  by the rule of Dankar et al.", lambda found: found.chosen),
)


@dataclass(frozen=True, slots=True)
class UtilityReport:
    """What releases of a file keep and lose.

    Parameters
    ----------
    source
        The file of the original records.
    records
        Those of them that fit the policy.
    k
        The policy's.
    seed
        Of everything that is drawn.
    releases
        One or more.
    risk
        How likely people are found again, before and after.
    learning
        What classifiers learn; None where no label was named.
    collapse_levels
        See `study_utility`.
    """

    source: str
    records: int
    k: int | None
    seed: int
    releases: tuple[Utility, ...]
    risk: RiskReport
    learning: LearningReport | None = None
    collapse_levels: bool = False

    def document(self) -> dict[str, Any]:
        """Return the report as an object that JSON can hold; schemas/utility.schema.json describes it."""
        return {
            "schema": SCHEMA,
            "source": self.source,
            "records": self.records,
            "k": self.k,
            "seed": self.seed,
            "collapse_levels": self.collapse_levels,
            "releases": [asdict(each) for each in self.releases],
            "risk": asdict(self.risk),
            "learning": None if self.learning is None else asdict(self.learning),
        }

    @property
    def names(self) -> list[str]:
        """Return the names of the released files, without their folders."""
        return [Path(each.source).name for each in self.releases]

    def measures(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the name of each measure and its figure for each release."""
        for name, figure, form in _MEASURES:
            yield name, [_written(figure(each), form) for each in self.releases]
        kept = [each.label for each in self.releases if each.label is not None]
        for name, of_label, form in _OF_LABEL if kept else ():
            yield name, [_written(of_label(each), form) for each in kept]

    def measure_remarks(self) -> Iterator[str]:
        """Yield what must be known to read the measures."""
        if self.collapse_levels:
            yield "Distances and Prec count levels that part the original values alike as one."

    def kept(self) -> Iterator[tuple[str, list[Cell]]]:
        """Yield the name of each measure of what is kept, 1 for all, and its share for each release."""
        yield "information kept", [each.information for each in self.releases]
        yield "Prec", [each.prec for each in self.releases]
        yield "1 - GCP", [None if each.gcp is None else 1 - each.gcp for each in self.releases]
        kept = [each.label for each in self.releases if each.label is not None]
        if kept:
            yield "label information kept", [each.information for each in kept]

    def risks(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the name of each figure of risk, and its value before and after each release."""
        every = (self.risk.original, *self.risk.releases)
        least = ("" if each.exact else "≥ " for each in every)
        kind = "individuals" if self.risk.told_apart else "records"
        yield f"{kind} in classes", [f"{sign}{each.individuals:,}" for sign, each in zip(least, every, strict=True)]
        for name, shares in self.dangers():
            yield name, [_bounded(share, own) for share, own in zip(shares, every, strict=True)]
        estimates = [each.population_unique for each in every if each.population_unique is not None]
        for name, estimate in _ESTIMATES if estimates else ():
            yield name, ["-" if share is None else percent(share) for share in map(estimate, estimates)]

    def dangers(self) -> Iterator[tuple[str, list[float]]]:
        """Yield the name of each risk that is counted, and its share before and after each release."""
        every = (self.risk.original, *self.risk.releases)
        yield "highest risk (prosecutor)", [each.prosecutor.highest for each in every]
        yield "mean risk (marketer)", [each.prosecutor.average for each in every]
        yield f"risk above {self.risk.threshold:g}", [each.prosecutor.above for each in every]
        yield "unique", [each.unique for each in every]
        journalists = [each.journalist for each in every if each.journalist is not None]
        if journalists:
            yield "highest risk (journalist)", [each.highest for each in journalists]
            yield "mean risk (journalist)", [each.average for each in journalists]
            yield f"risk above {self.risk.threshold:g} (journalist)", [each.above for each in journalists]

    def risk_remarks(self) -> Iterator[str]:
        """Yield what must be known to read the risks."""
        if self.risk.told_apart and not all(each.exact for each in self.risk.releases):
            yield (
                "≥, ≤: a release does not say which of its records are of one individual, and several of the "
                "original ones are. The individuals of a class are taken to be as few as they can be."
            )
        if self.risk.population is not None:
            yield (
                f"Journalist's risk and population uniqueness are estimated, as if the individuals of {self.source}"
                f" were drawn at random from {self.risk.population:,}."
            )

    def attributes(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the name of each attribute and the share of its information that each release keeps."""
        for own in zip(*(each.attributes for each in self.releases), strict=True):
            yield own[0].name, [_written(each.information, ".1%") for each in own]

    def pairs(self) -> Iterator[tuple[str, list[str]]]:
        """Yield pairs of attributes, and the share of their information, and of their dependence, in each release.

        At most `SHOWN_PAIRS` of them: those that lose most of their information in the first release.
        """
        every = list(zip(*(each.pairs for each in self.releases), strict=True))
        every.sort(key=lambda own: 1.0 if own[0].information is None else own[0].information)
        for own in every[:SHOWN_PAIRS]:
            cells = (f"{_written(each.information, '.0%')} / {_written(each.dependence, '.0%')}" for each in own)
            yield ", ".join(own[0].names), list(cells)

    def learned(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the name of each classifier, and its accuracy after the original and each release."""
        if self.learning is None:
            return
        yield "most frequent label", [f"{self.learning.majority:.1%}"] * (1 + len(self.releases))
        for each in self.learning.classifiers:
            yield (
                each.name,
                [_accuracy(own, self.learning, each.baseline) for own in (each.baseline, *each.releases)],
            )

    def remarks(self) -> Iterator[str]:
        """Yield what must be known to read the figures of the classifiers."""
        if self.learning is None:
            return
        yield (
            f"Accuracy on {self.learning.tested:,} original records, and in brackets the share kept of what the "
            "classifier of original records knows beyond the most frequent label."
        )
        if self.learning.test is None:
            yield (
                "No --test: releases are tested on the records that they were made of, among others, and their "
                "figures are too good; the fewer records a class has, the more. Those of the original records are "
                "cross-fitted."
            )
        if self.learning.shared:
            yield (
                f"{self.learning.shared:,} test records are of individuals who are among the original records too: "
                "all figures are too good."
            )
        short = [own for each in self.learning.classifiers for own in (each.baseline, *each.releases) if own.short]
        if short:
            parts = (f"{own.rows:,} of {own.available:,}" for own in (min(short, key=_rows), max(short, key=_rows)))
            told = " to ".join(dict.fromkeys(parts))
            yield (
                f"{SHORT.strip()} Trained on fewer records than there are ({told}): {self.learning.seconds:g} s did"
                " not suffice for all. More --seconds make these figures comparable with the others."
            )


def _rows(learned: Score) -> int:
    return learned.rows


def _accuracy(own: Score, report: LearningReport, baseline: Score) -> str:
    kept = None if own is baseline else report.kept(own, baseline)
    return f"{own.accuracy:.1%}" + ("" if kept is None else f" ({kept:.0%})") + (SHORT if own.short else "")


def percent(share: float) -> str:
    """Return a risk in words; one that is there is not written as none."""
    return f"<{_LEAST:.2%}" if 0 < share < _LEAST else f"{share:.2%}"


def _bounded(share: float, found: RiskFound) -> str:
    told = percent(share)
    return told if found.exact or told.startswith("<") else f"≤ {told}"


def _written(cell: Cell, form: str) -> str:
    return "-" if cell is None else format(cell, form)
