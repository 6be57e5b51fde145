"""Which classic method recodes a file as one table, and what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from stream_anon.errors import SettingsError
from stream_anon.microdata.bounds import RecordBound

ANATOMY = "anatomy"
IAB = "iab"
ONLY_IAB = f"none is for files and method: {IAB}: all others form classes of k individuals"
_SEARCHING = frozenset({"max_suppressed"})
NO_RECORD = RecordBound(records=0)

METHODS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "k-minimal": _SEARCHING | {"prefer", "collapse_levels"},
        "mingen": _SEARCHING | {"prefer", "collapse_levels"},
        "samarati": _SEARCHING,
        "incognito": _SEARCHING | {"collapse_levels"},
        "ola": _SEARCHING | {"loss", "collapse_levels"},
        "datafly": frozenset({"keep_suppressed"}),
        "mu-argus": frozenset({"identifying", "more", "most", "outliers", "choices", "complete"}),
        "tds": frozenset({"target"}),
        ANATOMY: frozenset({"target"}),
        "full-domain": frozenset({"levels"}),
        IAB: frozenset({"requirements", "most_expanded"}),
    }
)
"""The options of each method. A recoder has a field for each but `max_suppressed`, which all that search share."""


@dataclass(frozen=True)
class MethodChoice:
    """A method by name.

    Parameters
    ----------
    options
        What was told of its own options, by name.
    max_suppressed
        How many records may be suppressed, for methods that search for levels.
    """

    name: str
    options: Mapping[str, object] = field(default_factory=dict)
    max_suppressed: RecordBound = NO_RECORD

    def __post_init__(self) -> None:
        if self.name not in METHODS:
            raise SettingsError("method.name", f"must be one of {', '.join(METHODS)}")
        given = [*self.options, *(["max_suppressed"] if self.max_suppressed != NO_RECORD else [])]
        for option in given:
            if option not in METHODS[self.name]:
                names = [name for name, own in METHODS.items() if option in own]
                raise SettingsError(f"method.{option}", f"is for name: {' or '.join(names)} only")
        if self.options.get("choices") is not None and "outliers" in self.options:
            raise SettingsError("method.outliers", "decides where nobody chooses: leave it or choices out")
        if "target" in METHODS[self.name] and not self.options.get("target"):
            raise SettingsError("method.target", f"must name an attribute, with name: {self.name}")
