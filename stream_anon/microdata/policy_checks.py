"""Which parts of a policy contradict each other; each part checks itself. All raise `SettingsError`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Attribute, PassThrough, ScalarType, Sensitive, Unknown
from stream_anon.microdata.bounds import LEAST_COMPLETED_K, MOST_COUNTERFEITS, RecordBound, ReturnBound, Shield
from stream_anon.microdata.choices.engine_choice import FULL_DOMAIN, MOST_K_FOREST, EngineChoice, Loss
from stream_anon.microdata.choices.method_choice import ANATOMY, IAB, MethodChoice
from stream_anon.microdata.choices.window_limits import Shortfall, WindowLimits
from stream_anon.microdata.diversity import CRITERIA, MOST_CLASS, Diversity
from stream_anon.microdata.domains.domain import WHOLE_TABLE
from stream_anon.microdata.population.presence_bound import PopulationCounts, PresenceBound
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

MOST_EXTRA_LEVELS = 10
MOST_NULLS = 100
MOST_SHIELDS = 20


def check_k(k: int | None, max_share: float, shields: Sequence[Shield], window: WindowLimits) -> None:
    """Check what classes hold, with a k or with shields alone."""
    if not 0 < max_share <= 1:
        raise SettingsError("privacy.max_share", "must be above 0 and at most 1")
    if k is None:
        if not shields:
            raise SettingsError("privacy.k", "none needs privacy.shields: nothing else protects anybody then")
        if max_share < 1:
            raise SettingsError("privacy.max_share", "is of a class of k individuals: leave it out with none")
        return
    if not 2 <= k <= MOST_CLASS:
        raise SettingsError("privacy.k", f"must lie between 2 and {MOST_CLASS}, or be the word none")
    if max_share * k < 1:
        raise SettingsError("privacy.max_share", f"must be at least 1/k = {1 / k:g}")
    if window.max_records < k:
        raise SettingsError("window.max_records", f"must be at least k = {k}")


def check_places(attributes: Sequence[Attribute]) -> None:
    """Check that each attribute has a name and a place in records, and in files, of its own."""
    parents = {a.path[:depth] for a in attributes for depth in range(1, len(a.path))}
    names: set[str] = set()
    columns: dict[str, str] = {}
    for attribute in attributes:
        key = f"attributes.{attribute.name}"
        if attribute.name in names:
            raise SettingsError(key, "is declared twice")
        names.add(attribute.name)
        if not all(attribute.path):
            raise SettingsError(key, "must be keys joined by single dots")
        if attribute.path in parents:
            raise SettingsError(key, "cannot be both a value and a parent of values")
        twin = columns.setdefault(attribute.column, attribute.name)
        if twin != attribute.name:
            raise SettingsError(key, f"is the same field as {twin}, or the same column of a file")


def check_engine(
    engine: EngineChoice, window: WindowLimits, attributes: Sequence[QuasiIdentifier], extra_levels: int
) -> None:
    """Check what the engine, and what raises its nodes, can make of the quasi-identifiers."""
    if engine.name == "k-forest" and window.max_records > MOST_K_FOREST:
        raise SettingsError(
            "window.max_records",
            f"must be at most {MOST_K_FOREST} with engine.name: k-forest, whose cost is quadratic",
        )
    if not 0 <= extra_levels <= MOST_EXTRA_LEVELS:
        raise SettingsError("privacy.extra_levels", f"must lie between 0 and {MOST_EXTRA_LEVELS}")
    fixed = engine.name == FULL_DOMAIN
    if fixed and extra_levels:
        raise SettingsError(
            "privacy.extra_levels", f"is not for engine.name: {FULL_DOMAIN}, whose levels are fixed"
        )
    for attribute in attributes:
        if fixed and attribute.min_level != attribute.max_level:
            raise SettingsError("engine.levels", f"must say on which level {attribute.name} is published")
        if extra_levels and not attribute.publishes_nodes:
            raise SettingsError(
                "privacy.extra_levels",
                "needs publish: nodes for every quasi-identifier, since a tight range or a set of values has "
                f"no level above; {attribute.name} publishes these",
            )
        if engine.loss is Loss.CLASSIFICATION and attribute.domain.size > WHOLE_TABLE:
            raise SettingsError(
                "engine.loss",
                f"classification is for attributes of up to {WHOLE_TABLE} values; {attribute.name} has more",
            )


def check_diversity(
    diversity: Mapping[str, Diversity],
    sensitive: Mapping[str, Sensitive],
    window: WindowLimits,
    method: MethodChoice | None,
) -> None:
    """Check that the criteria fit the attributes that they are asked of, given by name, and the windows."""
    compared = [name for name, each in diversity.items() if any(_compared_with_windows(each))]
    if window.target_loss is not None and compared:
        raise SettingsError(
            "window.target_loss",
            f"is not for criteria that compare classes with their window, as {compared[0]} has: what the loss "
            "of earlier windows is would decide how much they ask",
        )
    for name, asked in diversity.items():
        key = f"privacy.sensitive.{name}"
        if name not in sensitive:
            raise SettingsError(key, "is not an attribute with role: sensitive")
        attribute = sensitive[name]
        if attribute.many and any(getattr(asked, each.name) for each in CRITERIA[1:]):
            raise SettingsError(
                key,
                "only distinct_l is defined for a list: no item is then held by more than one in l of the "
                "individuals of a class; for another criterion declare an item as a field of its own",
            )
        if attribute.keeps_whole:
            _check_whole(key, asked, attribute.least_family, method)
        elif attribute.families and asked.values > (families := len(attribute.labels)):
            counted = f"{families} families" if attribute.rest is None else f"{families}, with the rest"
            raise SettingsError(key, f"asks for {asked.values} values in a class, and there are {counted}")
        if asked.ordered and attribute.type not in (ScalarType.INTEGER, ScalarType.NUMBER):
            raise SettingsError(f"{key}.t_closeness.distance", "ordered needs type: integer or type: number")


def _compared_with_windows(asked: Diversity) -> list[str]:
    """Return the criteria that are asked and compare a class with its window."""
    return [each.name for each in CRITERIA if each.of_window and getattr(asked, each.name)]


def _check_whole(key: str, asked: Diversity, least: int, method: MethodChoice | None) -> None:
    """Check what is asked beside families that classes keep whole, the smallest of so many values."""
    if method is not None:
        raise SettingsError(f"{key}.publish", "value is for an engine: no method keeps families whole")
    if asked.values > least:
        raise SettingsError(
            key, f"asks for {asked.values} values in a class, and a class of one family may have {least}"
        )
    for name in _compared_with_windows(asked):
        raise SettingsError(
            f"{key}.{name}", "is not for publish: value: a class of one family is never like its window"
        )


def check_null_values(nulls: frozenset[str], attributes: Sequence[Attribute]) -> None:
    """Check that no text means a missing value and a value as well."""
    if len(nulls) > MOST_NULLS:
        raise SettingsError("input.null_values", f"must be at most {MOST_NULLS} texts")
    for attribute in attributes:
        if isinstance(attribute, QuasiIdentifier) and (twice := nulls & (attribute.domain.labels() or {}).keys()):
            raise SettingsError(
                "input.null_values", f"{min(twice)!r} is a category of {attribute.name} too: it cannot be both"
            )
        if isinstance(attribute, Sensitive) and (twice := nulls & attribute.label_of.keys()):
            raise SettingsError(
                "input.null_values",
                f"{min(twice)!r} is in a family of {attribute.name} too: write null there instead",
            )


def check_shields(
    shields: Sequence[Shield],
    attributes: Sequence[QuasiIdentifier],
    window: WindowLimits,
    method: MethodChoice | None,
) -> None:
    """Check that each shield is on quasi-identifiers of its own, and can be met."""
    names = {attribute.name for attribute in attributes}
    if shields and method is not None and method.name == ANATOMY:
        raise SettingsError("privacy.shields", f"is not for method: {ANATOMY}, which publishes exact values")
    if len(shields) > MOST_SHIELDS:
        raise SettingsError("privacy.shields", f"must be at most {MOST_SHIELDS}")
    for place, shield in enumerate(shields):
        key, own = f"privacy.shields.{place}", set(shield.attributes)
        for name in shield.attributes:
            if name not in names:
                raise SettingsError(
                    f"{key}.attributes", f"{name} is not a quasi-identifier; these are {', '.join(sorted(names))}"
                )
        if not 0 < len(own) == len(shield.attributes):
            raise SettingsError(f"{key}.attributes", "must be one or more quasi-identifiers, each named once")
        if any(set(other.attributes) == own for other in shields[:place]):
            raise SettingsError(f"{key}.attributes", "are those of another shield: one k is enough")
        if not 2 <= shield.k <= MOST_CLASS:
            raise SettingsError(f"{key}.k", f"must lie between 2 and {MOST_CLASS}")
        if window.max_records < shield.k:
            raise SettingsError("window.max_records", f"must be at least {shield.k}, the k of {key}")


def check_returning(returning: ReturnBound | None, window: WindowLimits) -> None:
    """Check that no window waits for people who may not be released again."""
    if returning is not None and window.shortfall is Shortfall.HOLD:
        raise SettingsError(
            "window.shortfall",
            "hold is not for privacy.returning: a window of people who have been released often enough would "
            "wait for others until the period ends",
        )


def check_presence(
    presence: PresenceBound | None,
    population: PopulationCounts | None,
    attributes: Sequence[QuasiIdentifier],
    method: MethodChoice | None,
) -> None:
    """Check that those who fit a published tuple can be counted."""
    if presence is None:
        return
    if population is not None and population.digest != presence.counted:
        raise SettingsError("privacy.presence.population", "is not the one that its bound names")
    if method is not None and method.name in (ANATOMY, IAB):
        why = "publishes exact values" if method.name == ANATOMY else "counts across its groups"
        raise SettingsError("privacy.presence", f"is not for method: {method.name}, which {why}")
    for attribute in attributes:
        if not attribute.publishes_nodes:
            raise SettingsError(
                "privacy.presence",
                "needs publish: nodes for every quasi-identifier: each end of a tight range and each item of a "
                "set of values is somebody's, so that whoever alone fits one is known to be there; "
                f"{attribute.name} publishes these",
            )
        if method is not None and attribute.unknown is Unknown.ROOT:
            raise SettingsError(
                "privacy.presence",
                "is not for a method and unknown: root: on a level that the method chooses, only people with "
                f"unknown values are published as *, and {attribute.name} has these",
            )


def check_counterfeits(
    counterfeits: RecordBound | None,
    k: int | None,
    method: MethodChoice | None,
    counting: Mapping[str, object],
    passed: Sequence[PassThrough],
    diversity: Mapping[str, Diversity],
) -> None:
    """Check that counterfeits can stand beside people. What counts people stands in `counting`, by its key."""
    if counterfeits is None:
        return
    place = "privacy.counterfeits"
    if counterfeits.records is not None or not 0 < counterfeits.share <= MOST_COUNTERFEITS:
        raise SettingsError(place, f"must be a share above 0 and at most {MOST_COUNTERFEITS:.0%}")
    if k is None or k < LEAST_COMPLETED_K:
        raise SettingsError(place, f"needs k = {LEAST_COMPLETED_K} or more: half of a class may be nobody's")
    if method is not None and method.name in (ANATOMY, IAB):
        raise SettingsError(place, f"is not for method: {method.name}, which promises more than classes")
    for name, given in counting.items():
        if given:
            raise SettingsError(place, f"is not for privacy.{name}, which count people: a counterfeit is nobody")
    for target in passed:
        if len(passed) > 1 or not isinstance(target, Sensitive):
            raise SettingsError(
                place, "allows one field that passes, with role: sensitive: a counterfeit has no value of others"
            )
        if target.many or target.families:
            raise SettingsError(place, f"needs single values, and no families: {target.name} has others")
    for name, asked in diversity.items():
        if asked.distinct_l is None or asked != Diversity(asked.distinct_l):
            raise SettingsError(
                f"privacy.sensitive.{name}", "may ask for distinct_l alone beside privacy.counterfeits"
            )
