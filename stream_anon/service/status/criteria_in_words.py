"""What a policy asks of every class, in words for the status page."""

from __future__ import annotations

from stream_anon.microdata.policy import Diversity, Policy


def in_words(policy: Policy) -> tuple[str, ...]:
    """Return each criterion by the name of its setting; k comes first."""
    asked = [f"k {policy.k}", f"max_share {policy.max_share:g}"]
    for name, diversity in policy.diversity.items():
        asked += [f"{name}: {words}" for words in _of(diversity)]
    return tuple(asked)


def _of(asked: Diversity) -> list[str]:
    found = [
        f"{key} {value:g}"
        for key in ("distinct_l", "p_sensitive", "entropy_l", "alpha")
        if (value := getattr(asked, key)) is not None
    ]
    if asked.recursive_cl is not None:
        found.append(f"recursive_cl c {asked.recursive_cl.c:g}, l {asked.recursive_cl.l}")
    if asked.t_closeness is not None:
        found.append(f"t_closeness {asked.t_closeness.t:g} ({asked.t_closeness.distance.value})")
    return found
