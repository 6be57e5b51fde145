"""What a policy asks of every class, in words for the status page."""

from __future__ import annotations

from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.bounds import k_in_words
from stream_anon.microdata.policy import Policy


def in_words(policy: Policy) -> tuple[str, ...]:
    """Return each criterion by the name of its setting; k comes first."""
    asked = [f"k {k_in_words(policy.k)}", f"max_share {policy.max_share:g}"]
    for name, diversity in policy.diversity.items():
        asked += [f"{name}: {words}" for words in diversity.in_words]
    asked += [
        f"{attribute.name}: families of {min(map(len, attribute.families))} values or more"
        f"{', each whole in a class' if attribute.keeps_whole else ''}"
        for attribute in policy.passed
        if isinstance(attribute, Sensitive) and attribute.families
    ]
    if policy.returning is not None:
        asked.append(policy.returning.in_words)
    if policy.presence is not None:
        asked.append(policy.presence.in_words)
    asked += [f"shield {shield.in_words}" for shield in policy.shields]
    return tuple(asked)
