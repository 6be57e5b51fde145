"""What settings say of sensitive values: the criteria of classes, and the families of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Attribute, Sensitive
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.settings.criteria.criterion_settings import DiversitySettings


def diversity_of(given: DiversitySettings) -> Diversity:
    """Return the criteria of one attribute."""
    return msgspec.convert(given.criteria, Diversity)


def by_families(
    attributes: tuple[Attribute, ...], sensitive: Mapping[str, DiversitySettings]
) -> tuple[Attribute, ...]:
    """Return the attributes, those with families with them."""
    own = {name: given for name, given in sensitive.items() if given.families is not None}
    known = {attribute.name for attribute in attributes if isinstance(attribute, Sensitive)}
    for name in own:
        if name not in known:
            raise SettingsError(f"privacy.sensitive.{name}", "is not an attribute with role: sensitive")
    return tuple(
        replace(
            attribute,
            families=tuple(map(tuple, own[attribute.name].families or ())),
            rest=own[attribute.name].rest,
            shown_as=ShownAs(own[attribute.name].publish),
        )
        if isinstance(attribute, Sensitive) and attribute.name in own
        else attribute
        for attribute in attributes
    )
