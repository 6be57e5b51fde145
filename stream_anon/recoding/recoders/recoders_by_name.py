"""Every method that recodes a table, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import msgspec

from stream_anon.errors import SettingsError
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.choices.method_choice import METHODS, MethodChoice
from stream_anon.recoding.recoders.datafly import DataFly
from stream_anon.recoding.recoders.fixed_levels import FixedLevels
from stream_anon.recoding.recoders.iab import Iab
from stream_anon.recoding.recoders.incognito import Incognito
from stream_anon.recoding.recoders.min_gen import KMinimal, MinGen
from stream_anon.recoding.recoders.mu_argus import MuArgus
from stream_anon.recoding.recoders.optimal import Ola
from stream_anon.recoding.recoders.recoder import Recoder
from stream_anon.recoding.recoders.samarati import Samarati
from stream_anon.recoding.recoders.tds import Tds

RECODERS: Mapping[str, type[Recoder]] = MappingProxyType(
    {
        "k-minimal": KMinimal,
        "mingen": MinGen,
        "samarati": Samarati,
        "incognito": Incognito,
        "ola": Ola,
        "datafly": DataFly,
        "mu-argus": MuArgus,
        "tds": Tds,
        "full-domain": FixedLevels,
        "iab": Iab,
    }
)
"""Recoders by the name that a policy gives; their fields are the options of the method."""


def with_shields(choice: MethodChoice, shields: Sequence[Shield]) -> MethodChoice:
    """Return the method, told of the shields of its policy where it can meet requirements across classes."""
    if not shields or "requirements" not in METHODS[choice.name]:
        return choice
    own = msgspec.convert(choice.options.get("requirements", []), list[Shield], from_attributes=True)
    return replace(choice, options={**choice.options, "requirements": [*own, *shields]})


def recoder_of(choice: MethodChoice) -> Recoder:
    """Return the recoder that a policy names.

    Raises
    ------
    KeyError
        If it names a method that recodes no cells.
    SettingsError
        If an option has a value that it cannot have.
    """
    try:
        return msgspec.convert(dict(choice.options), RECODERS[choice.name], from_attributes=True)
    except msgspec.ValidationError as error:
        raise SettingsError("method", str(error)) from None
