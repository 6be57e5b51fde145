"""What a policy must be for a series of releases."""

from __future__ import annotations

from dataclasses import fields

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.choices.method_choice import ONLY_IAB
from stream_anon.microdata.policy import EVERY_RECORD, Policy


def least_values(policy: Policy) -> int:
    """Return m, the least number of values that everybody in a series is among.

    Raises
    ------
    SettingsError
        If the policy does not suit a series, with what to change.
    """
    policy.refuse_returns()
    if policy.individual == EVERY_RECORD:
        raise SettingsError("privacy.individual", "must be a field: a series follows people through its releases")
    if policy.method is not None:
        raise SettingsError("method", "is not for --series, which forms groups of its own")
    if policy.k is None:
        raise SettingsError("privacy.k", ONLY_IAB)
    if policy.shields:
        raise SettingsError("privacy.shields", "are not for --series: groups of a series are formed by k and m")
    if policy.presence is not None:
        raise SettingsError("privacy.presence", "is not for --series: a counterfeit is nobody of the population")
    if policy.extra_levels:
        raise SettingsError("privacy.extra_levels", "is not for --series")
    for attribute in policy.quasi_identifiers:
        if attribute.max_level is not None:
            raise SettingsError(
                f"attributes.{attribute.name}.max_level", "is not for --series: groups go as high as they need"
            )
    if policy.window.max_records_per_individual != 1:
        raise SettingsError(
            "window.max_records_per_individual", "must be 1 for --series: a person has one record in a release"
        )
    return _least_of(_target(policy), policy)


def _target(policy: Policy) -> Sensitive:
    found = [own for own in policy.passed if isinstance(own, Sensitive)]
    if len(found) != 1:
        raise SettingsError("attributes", "must have one with role: sensitive for --series, and no other one")
    for own in policy.passed:
        if own is not found[0]:
            raise SettingsError(
                f"attributes.{own.name}", "passes as it is, and a counterfeit has no value of it: leave it out"
            )
    target = found[0]
    if target.many or target.families:
        raise SettingsError(
            f"attributes.{target.name}", "must have single values, and no families, for --series: m is distinct_l"
        )
    return target


def _least_of(target: Sensitive, policy: Policy) -> int:
    key = f"privacy.sensitive.{target.name}"
    asked = policy.diversity.get(target.name)
    if asked is None or asked.distinct_l is None:
        raise SettingsError(f"{key}.distinct_l", "is needed for --series: it is m")
    stated = (one.name for one in fields(asked) if getattr(asked, one.name) is not None)
    others = [name for name in stated if name != "distinct_l"]
    if others:
        raise SettingsError(f"{key}.{others[0]}", "is not for --series: a group's values are equally frequent")
    return asked.distinct_l
