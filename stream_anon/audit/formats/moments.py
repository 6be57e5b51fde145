"""Write the days and moments of Avro as the JSON of a policy does: a moment by the clock of its attribute's zone.

A body holds no zone. So it is its window's policy that says how a moment reads, whatever the zone is by now.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from stream_anon.microdata.output.output_members import members_of
from stream_anon.microdata.output.typed import ENDS
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

Path = tuple[str, ...]
Zones = Mapping[Path, ZoneInfo]


def zones_of(policy: Policy) -> Zones:
    """Return the zone whose clock each published moment shows, by its place in a record."""
    members = members_of(policy.published, policy.shape)
    domains = {
        (*member.path, *end): member.attribute.domain
        for member in members
        if isinstance(member.attribute, QuasiIdentifier)
        for end in ((), *((name,) for name in ENDS))
    }
    return {path: ZoneInfo(zone) for path, domain in domains.items() if (zone := getattr(domain, "zone", ""))}


def as_json(record: Mapping[str, Any], zones: Zones) -> dict[str, Any]:
    """Return a decoded record as JSON writes it."""
    return {key: _plain(each, zones, (key,)) for key, each in record.items()}


def _plain(value: Any, zones: Zones, path: Path) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each, zones, (*path, key)) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each, zones, path) for each in value]
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        try:
            return value.astimezone(zones.get(path, dt.UTC)).isoformat()
        except OverflowError:  # in the first or the last hours that there are
            return value.isoformat()
    return value.isoformat() if isinstance(value, dt.date) else value
