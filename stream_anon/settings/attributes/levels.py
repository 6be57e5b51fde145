"""Publish each quasi-identifier on one level."""

from __future__ import annotations

from collections.abc import Mapping

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Attribute
from stream_anon.microdata.quasi_identifier import QuasiIdentifier


def on_levels(attributes: tuple[Attribute, ...], levels: Mapping[str, int]) -> tuple[Attribute, ...]:
    """Return the attributes, each quasi-identifier of which is published on one level, 0 where none is given."""
    quasi = {attribute.name: attribute for attribute in attributes if isinstance(attribute, QuasiIdentifier)}
    for name, level in levels.items():
        key = f"engine.levels.{name}"
        if name not in quasi:
            raise SettingsError(key, f"is not a quasi-identifier; these are {', '.join(quasi)}")
        height = quasi[name].domain.height
        if level > height:
            raise SettingsError(key, f"must lie between 0 and {height}, the height of {name}")
        if (most := quasi[name].max_level) is not None and level > most:
            raise SettingsError(key, f"must be at most {most}, its max_level")
    for name, attribute in quasi.items():
        if levels.get(name, 0) < attribute.min_level:
            raise SettingsError(f"engine.levels.{name}", f"must be at least {attribute.min_level}, its min_level")
    return tuple(
        attribute.at_level(levels.get(attribute.name, 0)) if isinstance(attribute, QuasiIdentifier) else attribute
        for attribute in attributes
    )
