"""What a policy asks of every class, in words for the status page."""

from __future__ import annotations

from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.bounds import k_in_words
from stream_anon.microdata.policy import EVERY_RECORD, Policy


def in_words(policy: Policy) -> tuple[str, ...]:
    """Return each criterion by the name of its setting; k comes first."""
    people = policy.k is not None and policy.individual != EVERY_RECORD  # k records may be one person's
    risk = f", a risk of 1/{policy.k} at most" if people else ""
    asked = [f"k {k_in_words(policy.k)}{risk}", f"max_share {policy.max_share:g}"]
    for name, diversity in policy.diversity.items():
        asked += [f"{name}: {words}" for words in diversity.in_words]
    asked += [
        f"{attribute.name}: families of {attribute.least_family} values or more"
        + ("" if attribute.rest is None else f", any other value as {attribute.rest}")
        + (", each whole in a class" if attribute.keeps_whole else "")
        for attribute in policy.passed
        if isinstance(attribute, Sensitive) and attribute.families
    ]
    if policy.returning is not None:
        asked.append(policy.returning.in_words)
    if policy.presence is not None:
        asked.append(policy.presence.in_words)
    asked += [f"shield {shield.in_words}" for shield in policy.shields]
    if policy.release.valid_until is not None:
        asked.append(f"released until {policy.release.valid_until}")
    return tuple(asked)
