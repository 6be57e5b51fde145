"""Say of a release how much is suppressed, why, and what to do about it."""

from __future__ import annotations

from stream_anon.files.file_report import FileReport
from stream_anon.microdata.release import Suppression

MANY = 0.05  # of the records; more are warned of
_ADVICE = {
    Suppression.SHORTFALL: "a window has too few individuals or sensitive values for one class: ask for less "
    "(privacy), or, if windows were taken by arrival, make them larger (window.max_records)",
    Suppression.UNPLACED: "no class was found for them: ask for less (privacy), or, if windows were taken by "
    "arrival, make them larger (window.max_records)",
    Suppression.MAX_LEVEL: "their class would need a higher level than max_level allows",
    Suppression.SHIELD: "too few individuals share their values of a shield's attributes",
    Suppression.PRESENCE: "too many of the people who fit their class are in it: check that the file of the "
    "population is complete, or ask for less (privacy.presence)",
    Suppression.MAX_SUPPRESSED: "their window would have suppressed more than privacy.max_suppressed",
    Suppression.OVER_LIMIT: "their individual has more records in a window than window.max_records_per_individual: "
    "raise it, or check that privacy.individual identifies people",
    Suppression.GATE: "the gate refused their class, which is a bug: please report it",
}


def reasons_in_words(report: FileReport) -> str:
    """Return the reasons of suppression and how often each occurred, most frequent first."""
    return ", ".join(f"{reason} {count:,}" for reason, count in report.suppressed.most_common())


def many_suppressed(report: FileReport) -> bool:
    """Return whether so many records are suppressed that somebody should know."""
    return report.suppressed.total() > MANY * report.records_in


def suppressed_in_words(report: FileReport, noun: str = "records") -> str:
    """Return how many records are left out of a release, and for each reason what to do."""
    suppressed, records = report.suppressed.total(), report.records_in
    advice = "; ".join(f"{reason}: {_ADVICE[Suppression(reason)]}" for reason, _ in report.suppressed.most_common())
    left = f"{suppressed:,} of {records:,} {noun} ({suppressed / records:.1%}) are left out"
    return f"{left}, {reasons_in_words(report)}. {advice}"
