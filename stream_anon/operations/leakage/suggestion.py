"""Suggest lowest levels for attributes that leak too much, so that no set of them leaks more than the threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stream_anon.errors import SettingsError
from stream_anon.measures.coarsening import Coarsened, least_levels
from stream_anon.measures.ranking import TOLERANCE
from stream_anon.microdata.policy import FULL_DOMAIN
from stream_anon.operations.leakage.leakage_study import LeakageReport
from stream_anon.operations.studied_records import OriginalTable
from stream_anon.rounding import in_percent


@dataclass(frozen=True, slots=True)
class Lowered:
    """What a set of attributes leaks by the true values, and on suggested levels, in bits."""

    attributes: tuple[str, ...]
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Lowest levels at which no ranked set leaks more than the threshold.

    Parameters
    ----------
    levels
        The suggested `min_level` of the attributes that are raised, by name.
    before, heights
        Their `min_level` in the policy and the highest level of their hierarchies, by name.
    loss_before, loss
        Mean NCP of the table's cells if each is published on its attribute's lowest level: the least that is lost.
    highest
        The largest share that one of the sets above the threshold leaks on these levels; None without such a set.
    optimal
        Whether no levels that suffice lose less.
    raised, sets
        What the raised attributes leak alone, in the order of the policy, and the sets above the threshold, in the
        order of the report.
    """

    levels: Mapping[str, int]
    before: Mapping[str, int]
    heights: Mapping[str, int]
    loss_before: float
    loss: float
    highest: float | None
    optimal: bool
    raised: tuple[Lowered, ...]
    sets: tuple[Lowered, ...]

    def most(self, report: LeakageReport) -> str:
        """Return the largest share that still leaks, in percent; a rounding error above the threshold is none."""
        threshold = report.asked.threshold or 0.0
        return in_percent(min(self.highest or 0.0, threshold), bound=threshold)

    def document(self) -> dict[str, Any]:
        """Return the suggestion as an object that JSON can hold."""
        return {
            "min_level": dict(self.levels),
            "loss_before": self.loss_before,
            "loss": self.loss,
            "highest": self.highest,
            "optimal": self.optimal,
            "raised": [_lowered_document(each) for each in self.raised],
            "sets": [_lowered_document(each) for each in self.sets],
        }


def _lowered_document(each: Lowered) -> dict[str, Any]:
    return {"attributes": list(each.attributes), "bits": each.before, "after": each.after}


def suggest_levels(table: OriginalTable, report: LeakageReport) -> Suggestion | None:
    """Return the lowest levels of least loss at which no set of a report leaks too much; None if there are none.

    Sets that the report did not look at are not looked at here either. What is disclosed already is not raised.

    Raises
    ------
    SettingsError
        If the report has no threshold or is about a release, or if the policy's engine has fixed levels.
    """
    threshold = report.asked.threshold
    if threshold is None or report.released is not None:
        raise SettingsError("--suggest", "needs --threshold, and looks at records before a release")
    if table.policy.engine.name == FULL_DOMAIN:
        raise SettingsError("--suggest", f"is not for engine.name: {FULL_DOMAIN}, whose levels are fixed")
    attributes = table.policy.quasi_identifiers
    place = {attribute.name: number for number, attribute in enumerate(attributes)}
    sets = [tuple(place[name] for name in each.attributes) for each in report.above]
    start = tuple(attribute.min_level for attribute in attributes)
    coarsened = Coarsened(table.population, attributes, [place[name] for name in report.asked.disclosed])
    scale = report.uncertainty or 1.0
    found = least_levels(coarsened, start, sets, threshold * scale + TOLERANCE)
    if found is None:
        return None
    changed = [number for number, level in enumerate(found.levels) if level != start[number]]

    def lowered(chosen: tuple[int, ...]) -> Lowered:
        names = tuple(attributes[number].name for number in chosen)
        finest = [0] * len(attributes)
        return Lowered(names, coarsened.leakage(chosen, finest), coarsened.leakage(chosen, found.levels))

    lowered_sets = tuple(lowered(chosen) for chosen in sets)
    return Suggestion(
        {attributes[number].name: found.levels[number] for number in changed},
        {attributes[number].name: start[number] for number in changed},
        {attributes[number].name: attributes[number].domain.height for number in changed},
        coarsened.loss(start),
        found.loss,
        max((each.after / scale for each in lowered_sets), default=None),
        found.optimal,
        tuple(lowered((number,)) for number in changed),
        lowered_sets,
    )
