"""How many examples a law is tried on: a third where `soak` is left out, all of them where it runs."""

from __future__ import annotations

from hypothesis import settings

_ORDINARY = 60  # what a law is tried on that asks for nothing


def examples(count: int) -> settings:
    """Return settings for `count` examples, scaled as the profile scales the ordinary number."""
    return settings(max_examples=max(count * settings().max_examples // _ORDINARY, 10))
