"""The report of `stream-anon utility`: its figures by name, for tables, pages and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream_anon.operations.utility.learning import Learned, LearningReport
from stream_anon.operations.utility.study import LabelKept, Utility

SCHEMA = 1
SHOWN_PAIRS = 10
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
    learning
        What classifiers learn; None where no label was named.
    """

    source: str
    records: int
    k: int
    seed: int
    releases: tuple[Utility, ...]
    learning: LearningReport | None = None

    def document(self) -> dict[str, Any]:
        """Return the report as an object that JSON can hold; schemas/utility.schema.json describes it."""
        return {
            "schema": SCHEMA,
            "source": self.source,
            "records": self.records,
            "k": self.k,
            "seed": self.seed,
            "releases": [each.document() for each in self.releases],
            "learning": None if self.learning is None else self.learning.document(),
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
        fewest = min(_rows(self.learning.classifiers), default=0)
        most = max(_rows(self.learning.classifiers), default=0)
        if fewest < most:
            yield f"Trained on {fewest:,} to {most:,} records, within {self.learning.seconds:g} s each."


def _rows(classifiers: Sequence[Any]) -> list[int]:
    return [own.rows for each in classifiers for own in (each.baseline, *each.releases)]


def _accuracy(own: Learned, report: LearningReport, baseline: Learned) -> str:
    kept = None if own is baseline else report.kept(own, baseline)
    return f"{own.accuracy:.1%}" + ("" if kept is None else f" ({kept:.0%})")


def _written(cell: Cell, form: str) -> str:
    return "-" if cell is None else format(cell, form)
