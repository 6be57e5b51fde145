"""Which settings the digest of a policy is made of: it names a policy, whatever release reads it.

A setting that is added later is left out at its default, so that policies that do not use it keep their digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_anon.microdata.choices.window_limits import LEAST_AUTO
from stream_anon.microdata.ids import Normalization, in_order
from stream_anon.microdata.output.shape import Shape
from stream_anon.settings.attributes.attribute import DOMAIN_SETTINGS, AttributeSettings
from stream_anon.settings.model import Settings
from stream_anon.settings.sections.privacy_settings import IndividualSettings
from stream_anon.settings.sections.section import Section
from stream_anon.settings.sections.window_settings import WindowSettings

# The settings that are hashed at their defaults too, by section. Nothing joins them: digests would change.
_ALWAYS: Mapping[str, frozenset[str]] = {
    "privacy": frozenset({"k", "individual", "max_share", "sensitive", "extra_levels"}),
    "criteria": frozenset({"distinct_l", "entropy_l", "recursive_cl", "t_closeness", "p_sensitive", "alpha"}),
    "window": frozenset({"max_records", "max_delay", "shortfall", "max_records_per_individual"}),
    "engine": frozenset({"name", "relaxed", "least_loss", "seed", "rounds", "loss", "target", "sample"}),
    "attribute": frozenset(
        {"role", "type", "hierarchy", "values", "numeric", "prefix", "date", "publish", "weight", "missing"}
        | {"unknown", "accept_linkable"}
    ),
    "numeric": frozenset({"min", "max", "step", "decimals", "levels", "publish"}),
    "prefix": frozenset({"length", "alphabet"}),
    "date": frozenset({"format", "min", "max"}),
    "ip": frozenset({"version", "prefixes", "within"}),
}

# A revision orders policies, and certificates name it beside the digest; `accept_weaker` names this very digest.
# A learned order, the place of a secret and the memory of a process promise nothing. A risk is hashed as its k.
_NEVER = frozenset({"revision", "accept_weaker", "order", "draws_key_file", "max_memory", "max_risk"})


def hashed_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings of a policy that are hashed, as JSON; hierarchies and samples are hashed beside them."""
    privacy = _hashed("privacy", settings.privacy, _NEVER)
    privacy["k"] = settings.privacy.asked_k or "none"
    if settings.privacy.returning is not None:
        privacy["returning"] = settings.privacy.returning.model_dump(mode="json", exclude={"key_file"})
    if settings.privacy.presence is not None:  # the population itself is hashed beside the settings
        privacy["presence"] = settings.privacy.presence.model_dump(mode="json", exclude={"population"})
    privacy["individual"] = _individual(settings.privacy.individuals)
    privacy["sensitive"] = {name: _hashed("criteria", one) for name, one in settings.privacy.sensitive.items()}
    engine = _hashed("engine", settings.engine, _NEVER)
    # No seed is hashed as 0. A seed of 0 makes draws known, and so another policy.
    engine["seed"] = {None: 0, 0: "0"}.get(settings.engine.seed, settings.engine.seed)
    return {
        "privacy": privacy,
        "window": _window(settings.window),
        "engine": engine,
        # The order of attributes is that of what is published, so it counts.
        "attributes": [[name, _attribute(given)] for name, given in settings.attributes.items()],
        **_where_given(settings),
    }


def _window(given: WindowSettings) -> dict[str, Any]:
    hashed = _hashed("window", given, _NEVER)
    # What nobody has chosen is hashed as what it promises, which was the default before.
    return hashed | ({"max_records": LEAST_AUTO} if given.max_records == "auto" else {})


def _hashed(name: str, section: Section, never: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the settings of a section that are hashed."""
    said = section.model_dump(mode="json", exclude=set(never))
    fields = type(section).model_fields
    return {
        key: value
        for key, value in said.items()
        if key in _ALWAYS[name] or getattr(section, key) != fields[key].default
    }


def _attribute(given: AttributeSettings) -> dict[str, Any]:
    domains = {key: getattr(given, key) for key in DOMAIN_SETTINGS}
    built = {key: _hashed(key, domain) for key, domain in domains.items() if domain is not None}
    return _hashed("attribute", given) | built


def _where_given(settings: Settings) -> dict[str, Any]:
    """Return the sections that are hashed where they say something."""
    given: dict[str, Any] = {}
    if settings.method is not None:
        given["method"] = settings.method.model_dump(mode="json", exclude_defaults=True)
    if stated := settings.release.model_dump(mode="json", exclude_defaults=True):
        given["release"] = stated
    if settings.input.null_values:
        given["input"] = {"null_values": sorted(set(settings.input.null_values))}
    if Shape(settings.output.shape) is not Shape.NATURAL:
        given["output"] = {"shape": settings.output.shape}
    return given


def _individual(given: IndividualSettings) -> str | list[str]:
    """Return what tells individuals apart as it is hashed: a name alone where every spelling counts."""
    steps = in_order([Normalization(step) for step in given.normalize])
    return [given.field, *steps] if steps else given.field
