"""Which settings the digest of a policy is made of: it names a policy, whatever release reads it.

What says nothing of a policy is left out, and so is what came after the first certificates and has its default: the
digest of a policy stays the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_anon.microdata.ids import Normalization, in_order
from stream_anon.microdata.output.shape import Shape
from stream_anon.settings.attributes.attribute import DOMAIN_KEYS
from stream_anon.settings.model import Settings
from stream_anon.settings.privacy import IndividualSettings

# With their defaults.
_LATER_KEYS = {
    "path": None,
    "accept_missing": False,
    "min_level": 0,
    "max_level": None,
    "coerce": False,
    "list": False,
}
_LATER_KEYS |= dict.fromkeys(set(DOMAIN_KEYS) - {"hierarchy", "values", "numeric", "prefix", "date"})
_FIRST_CRITERIA = frozenset({"distinct_l", "entropy_l", "recursive_cl", "t_closeness", "p_sensitive", "alpha"})
_LATER_DOMAIN_KEYS: Mapping[str, Mapping[str, Any]] = {
    "numeric": {"ranges": None, "cuts": [], "arity": 2},
    "prefix": {"pad": None, "shorter": False},
    "date": {"zone": None, "finest": "day"},
}
_LATER_WINDOW_KEYS: Mapping[str, Any] = {"least_people": 0}
_LATER_PRIVACY_KEYS: Mapping[str, Any] = {"max_suppressed": None, "above_max_suppressed": "publish", "shields": []}


def hashed_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings of a policy that are hashed, as JSON; hierarchies and samples are hashed beside them."""
    relevant = settings.model_dump(mode="json", include={"privacy", "window", "engine", "attributes"})
    # A learned order promises nothing: it may be changed without making another policy.
    relevant["engine"].pop("order", None)
    # Where a secret lies says nothing of what is promised.
    relevant["engine"].pop("draws_key_file", None)
    _leave_out_defaults(relevant["engine"], {"levels": None})
    # None stands as the 0 that it was once; a seed of 0 makes draws known, and so another policy.
    relevant["engine"]["seed"] = {None: 0, 0: "0"}.get(settings.engine.seed, settings.engine.seed)
    # A revision orders policies and says nothing of what they promise; certificates name it beside the digest.
    relevant["privacy"].pop("revision", None)
    relevant |= _later_sections(settings)
    relevant["privacy"]["individual"] = _individual(settings.privacy.individuals)
    # It names this very hash.
    relevant["privacy"].pop("accept_weaker", None)
    _leave_out_defaults(relevant["privacy"], _LATER_PRIVACY_KEYS)
    _leave_out_defaults(relevant["window"], _LATER_WINDOW_KEYS)
    for criteria in relevant["privacy"]["sensitive"].values():
        later = criteria.keys() - _FIRST_CRITERIA
        _leave_out_defaults(criteria, dict.fromkeys(later))
    # The order of attributes is that of what is published, so it counts.
    relevant["attributes"] = list(relevant["attributes"].items())
    for _, given in relevant["attributes"]:
        _leave_out_defaults(given, _LATER_KEYS)
        for domain, later in _LATER_DOMAIN_KEYS.items():
            _leave_out_defaults(given[domain] or {}, later)
    return relevant


def _later_sections(settings: Settings) -> dict[str, Any]:
    """Return the sections that came after the first certificates, where they say something."""
    later: dict[str, Any] = {}
    if settings.method is not None:
        later["method"] = settings.method.model_dump(mode="json", exclude_defaults=True)
    if settings.input.null_values:
        later["input"] = {"null_values": sorted(set(settings.input.null_values))}
    if Shape(settings.output.shape) is not Shape.NATURAL:
        later["output"] = {"shape": settings.output.shape}
    return later


def _individual(given: IndividualSettings) -> str | list[str]:
    """Return what tells individuals apart as it is hashed: a name alone where every spelling counts."""
    steps = in_order([Normalization(step) for step in given.normalize])
    return [given.field, *steps] if steps else given.field


def _leave_out_defaults(document: dict[str, Any], later: Mapping[str, Any]) -> None:
    """Drop keys that came after the first certificates where they say nothing: the policy is the same one."""
    for key, default in later.items():
        if document.get(key) == default:
            document.pop(key, None)
