"""What one policy promises less than another of who is in the data at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def weakened_presence(had: Mapping[str, Any] | None, has: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """Yield the settings by which `privacy.presence`, as certificates tell it, promises less, and why."""
    if had is None:
        return
    if has is None:
        yield "privacy.presence", f"was {had['most']:g} of the people who fit a class and would be no bound"
        return
    if has["most"] > had["most"]:
        yield "privacy.presence.most", f"was {had['most']:g} and would rise to {has['most']:g}"
    if has["digest"] != had["digest"]:
        text = "would be another one: more of its people may be in the data"
        yield "privacy.presence.population", text
