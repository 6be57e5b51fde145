"""What one policy promises less than another: compares two documents of `privacy.promises`.

A change that cannot be shown to be harmless counts as weaker: somebody then looks at it and accepts it, once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stream_anon.microdata.diversity import CRITERIA
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.microdata.policy import EVERY_RECORD
from stream_anon.privacy.population.weakened_presence import weakened_presence
from stream_anon.privacy.returning.weakened_returns import weakened_families, weakened_returns

_PUBLISHED = {"quasi-identifier": 1, "sensitive": 2, "insensitive": 3}  # the higher, the less is protected
_NEVER = 0
_CRITERIA = {criterion.name: criterion for criterion in CRITERIA}


@dataclass(frozen=True, slots=True)
class Weakening:
    """One promise that the output had and would lose.

    Parameters
    ----------
    place
        The setting.
    text
        What it was and what it would be.
    """

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place} {self.text}"


def weakened(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Weakening, ...]:
    """Return what `after` promises less than `before`, in the order of the settings.

    Parameters
    ----------
    before
        A document of `promises_of` or `stated_by`, or what is left of it: what it does not say is not compared.
        Without `extra_levels`, as certificates alone tell it, its attributes are the quasi-identifiers only.
    after
        A whole document of `promises_of` or `stated_by`.
    """
    return tuple(_compared(before, after))


def _compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Weakening]:
    asked, asks = before["asked"], after["asked"]
    if asked["k"] is not None and asks["k"] is None:
        yield Weakening("privacy.k", f"was {asked['k']} and would be none")
    elif asked["k"] is not None and asks["k"] < asked["k"]:
        yield Weakening("privacy.k", _fell(asked["k"], asks["k"]))
    if asks["max_share"] > asked["max_share"]:
        yield Weakening("privacy.max_share", _rose(asked["max_share"], asks["max_share"]))
    old, new = (each.get("counterfeits", 0) for each in (asked, asks))
    if new > old:
        yield Weakening(
            "privacy.counterfeits", f"{_rose(old, new)}: in more classes, half of the records may be nobody's"
        )
    if after["extra_levels"] < before.get("extra_levels", 0):
        yield Weakening("privacy.extra_levels", _fell(before["extra_levels"], after["extra_levels"]))
    yield from _individual(before.get("individual", after["individual"]), after["individual"])
    for place, text in (
        *weakened_returns(asked.get("returning"), asks.get("returning")),
        *weakened_presence(asked.get("presence"), asks.get("presence")),
    ):
        yield Weakening(place, text)
    yield from _shields(asked, asks, after["attributes"])
    yield from _criteria(asked, asks, after["attributes"])
    yield from _levels(before, after)
    yield from _unlisted_families(before, after)
    if "attributes" in before:
        whole = "extra_levels" in before
        for name, attribute in after["attributes"].items():
            yield from _attribute(f"attributes.{name}", before["attributes"].get(name), attribute, whole=whole)
    if "engine" in before and "engine" in after and before["engine"] != after["engine"]:
        text = f"was {before['engine']} and would be {after['engine']}: the classes of each reveal different things"
        yield Weakening("engine.name", text)
    if "terms" in before and "terms" in after:
        yield from _terms(before["terms"], after["terms"])
        yield from _window(before, after)


def _individual(had: Mapping[str, Any], has: Mapping[str, Any]) -> Iterator[Weakening]:
    """Compare where ids are read from, whatever they are called, and how they are spelt."""
    if had["field"] == EVERY_RECORD:
        return
    if has.get("path") != had.get("path"):
        words = f"was {_in_words(had)} and would be {_in_words(has)}: other people would be counted"
        yield Weakening("privacy.individual", words)
    elif lost := [step for step in had.get("normalize", ()) if step not in has.get("normalize", ())]:
        words = f"loses {', '.join(lost)}: an individual with an id in several spellings would count as several"
        yield Weakening("privacy.individual.normalize", words)


def _in_words(individual: Mapping[str, Any]) -> str:
    field, path = individual["field"], individual.get("path")
    return str(field) if path in (None, field.split(".")) else f"{field}, read from {json.dumps(path)}"


def _terms(had: Mapping[str, Any], has: Mapping[str, Any]) -> Iterator[Weakening]:
    """Compare what certificates alone tell."""
    old, new = had["max_records_per_individual"], has["max_records_per_individual"]
    if new > old:
        yield Weakening("window.max_records_per_individual", _rose(old, new))
    if has.get("shortfall", "suppress") == "hold" != had.get("shortfall", "suppress"):
        text = "would be hold: the time of publication would reveal when the people came for whom it waited"
        yield Weakening("window.shortfall", text)
    if has.get("replayable", False) > had.get("replayable", False):
        yield Weakening("engine.seed", "would be set: anybody who knows it knows what the engine draws")
    if has.get("null_values") != had.get("null_values"):
        yield Weakening("input.null_values", "would be other texts: other ids and values count as missing")
    for name in sorted(set(has.get("linkable", ())).difference(had.get("linkable", ()))):
        yield Weakening(f"attributes.{name}.accept_linkable", "would be true: values that few people have may pass")


def _window(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Weakening]:
    """Compare the size of windows where classes, or their people, are judged by windows: smaller ones ask less."""
    both = sorted(_of_window(before) & _of_window(after))
    for key in ("max_records", "max_delay", "least_people"):
        old, new = (each["terms"].get(key, 0) for each in (before, after))
        if new >= old:
            continue
        if both:
            text = f"{_fell(old, new)}: {', '.join(both)} would compare classes with fewer records"
            yield Weakening(f"window.{key}", text)
        elif key != "least_people" and all(each["asked"].get("presence") for each in (before, after)):
            text = f"{_fell(old, new)}: presence bounds each window, and people of one class would be in several"
            yield Weakening(f"window.{key}", text)


def _of_window(promises: Mapping[str, Any]) -> set[str]:
    spreads = promises["asked"]["sensitive"].values()
    return {name for spread in spreads for name in spread if spread[name] and _CRITERIA[name].of_window}


def _levels(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Weakening]:
    """Compare the levels that may be published, where an attribute is a quasi-identifier still."""
    had, has = before["asked"].get("levels", {}), after["asked"].get("levels", {})
    drawn = min(before.get("extra_levels", 0), after["extra_levels"])
    for name, attribute in after["attributes"].items():
        if attribute["role"] != "quasi-identifier":
            continue
        place, was = f"attributes.{name}", before.get("attributes", {}).get(name, {})
        old, new = had.get(name, {}), has.get(name, {})
        lowest, lower = old.get("min", 0), new.get("min", 0)
        if lower < lowest:
            yield Weakening(f"{place}.min_level", _fell(lowest, lower))
        elif lowest and _repeats(was.get("domain"), attribute["domain"]):
            text = "would be counted among levels that repeat another one: the same number may be a finer one"
            yield Weakening(f"{place}.min_level", text)
        # No level is drawn above the highest.
        if drawn and was.get("role") == "quasi-identifier" and "max" in new:
            if "max" not in old:
                yield Weakening(f"{place}.max_level", f"would be {new['max']} and was none: extra_levels end there")
            elif new["max"] < old["max"]:
                yield Weakening(f"{place}.max_level", f"{_fell(old['max'], new['max'])}: extra_levels end there")


def _repeats(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> bool:
    """Return whether a domain groups its values on more levels in a way that another one does too."""
    if before is None:
        return False
    counts = Counter(level["name"] for level in before["levels"])
    more = Counter(level["name"] for level in after["levels"]) - counts
    return any(name in counts for name in more)


def _shields(
    asked: Mapping[str, Any], asks: Mapping[str, Any], attributes: Mapping[str, Any]
) -> Iterator[Weakening]:
    """Compare the shields; one is kept where k, or a shield on its attributes and more, asks as many individuals.

    Of a shield those attributes count that are published as quasi-identifiers still: `_attribute` tells of others.
    """
    quasi = frozenset(name for name, own in attributes.items() if own["role"] == "quasi-identifier")
    kept = [(quasi, asks["k"] or 1), *((frozenset(own["attributes"]), own["k"]) for own in asks.get("shields", ()))]
    for shield in asked.get("shields", ()):
        names = quasi.intersection(shield["attributes"])
        least = max((k for own, k in kept if names <= own), default=1)
        if names and least < shield["k"]:
            place = f"privacy.shields[{', '.join(shield['attributes'])}]"
            yield Weakening(place, _fell(shield["k"], least))


def _criteria(
    asked: Mapping[str, Any], asks: Mapping[str, Any], attributes: Mapping[str, Any]
) -> Iterator[Weakening]:
    for name in sorted({*asked["distinct_l"], *asked["sensitive"]}):
        if attributes.get(name, {}).get("role") not in _PUBLISHED:
            continue  # it is not published any more
        place = f"privacy.sensitive.{name}"
        had, has = asked["distinct_l"].get(name, 1), asks["distinct_l"].get(name, 1)
        if has < had:
            yield Weakening(f"{place}.distinct_l", _fell(had, has))
        yield from _spread(place, asked["sensitive"].get(name, {}), asks["sensitive"].get(name, {}))


def _spread(place: str, had: Mapping[str, Any], has: Mapping[str, Any]) -> Iterator[Weakening]:
    for criterion in sorted(had):
        old, new = had[criterion], has.get(criterion)
        if old is None:
            continue
        if new is None:
            yield Weakening(f"{place}.{criterion}", "was asked and would not be")
        elif _CRITERIA[criterion].is_weaker(old, new):
            yield Weakening(f"{place}.{criterion}", _changed(old, new, _CRITERIA[criterion].in_words))


def _attribute(
    place: str, before: Mapping[str, Any] | None, after: Mapping[str, Any], *, whole: bool
) -> Iterator[Weakening]:
    """Compare one attribute.

    Parameters
    ----------
    before
        None where it was not declared, or where it is not known whether it was: see `whole`.
    """
    role = after["role"]
    is_rank = _PUBLISHED.get(role, _NEVER)
    if before is None and not whole and role != "quasi-identifier":
        return
    was_rank = _NEVER if before is None else _PUBLISHED.get(before["role"], _NEVER)
    if was_rank == _NEVER < is_rank:
        yield Weakening(place, f"would be published ({role}) and was not")
    if before is None or _NEVER in (was_rank, is_rank):
        return
    if is_rank > was_rank:
        yield Weakening(place, f"was {before['role']} and would be {role}")
    if before.get("path", after["path"]) != after["path"]:
        old, new = json.dumps(before["path"]), json.dumps(after["path"])
        yield Weakening(f"{place}.path", f"was {old} and would be {new}: another field would be published")
    if role == "quasi-identifier" == before["role"] and "domain" in before:
        yield from _publication(place, before, after)
    elif "quasi-identifier" not in (role, before["role"]) and before["type"] != after["type"]:
        yield Weakening(f"{place}.type", f"was {before['type']} and would be {after['type']}")
    if before.get("families"):
        place = place.replace("attributes", "privacy.sensitive", 1)
        for key, text in weakened_families(before, after):
            yield Weakening(f"{place}.{key}", text)
        old, new = before.get("publish", ShownAs.FAMILY), after.get("publish", ShownAs.FAMILY)
        if after.get("families") and new != old:
            text = f"was {old} and would be {new}, which promises something else to people who come back"
            yield Weakening(f"{place}.publish", text)


def _unlisted_families(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Weakening]:
    """Compare families of which a certificate alone tells: only the same ones are known to be no weaker."""
    had, has = before["asked"].get("families", {}), after["asked"].get("families", {})
    for name, families in had.items():
        listed = "families" in before.get("attributes", {}).get(name, {})
        if listed or after["attributes"].get(name, {}).get("role") not in _PUBLISHED:
            continue
        if has.get(name) != families:
            text = "would be other ones, or none: values that one family had may no longer be in one family"
            yield Weakening(f"privacy.sensitive.{name}.families", text)


def _publication(place: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Weakening]:
    if after["publish"] not in (before["publish"], "nodes"):
        yield Weakening(f"{place}.publish", f"was {before['publish']} and would be {after['publish']}")
    old, new = before["domain"], after["domain"]
    if old["kind"] != new["kind"]:
        yield Weakening(place, f"was a {old['kind']} domain and would be a {new['kind']} one")
        return
    if old["grid"] != new["grid"]:
        yield Weakening(place, "would be published in other intervals, some of which may be narrower")
        return
    known = {level["name"] for level in old["levels"]}
    finer = [str(level["groups"]) for level in new["levels"] if level["name"] not in known]
    if finer:
        text = f"would be published in groups that it did not have ({' and '.join(finer)} in all)"
        yield Weakening(place, text)


def _changed(old: Any, new: Any, in_words: Callable[[Any], str]) -> str:
    if isinstance(old, Mapping):
        return f"was {in_words(old)} and would be {in_words(new)}"
    return _fell(old, new) if new < old else _rose(old, new)


def _fell(old: float, new: float) -> str:
    return f"was {old:g} and would fall to {new:g}"


def _rose(old: float, new: float) -> str:
    return f"was {old:g} and would rise to {new:g}"
