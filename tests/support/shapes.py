"""A plain oracle of shapes: what a typed or a flat record says, computed from codes and not as the package does."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from stream_anon.microdata.attributes import PassThrough, PublishedForm, ScalarType
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier


def typed_value(attribute: QuasiIdentifier, natural: Any) -> Any:
    """Return the typed value of what the natural shape writes."""
    domain = attribute.domain
    if isinstance(domain, NumericDomain | DateDomain):
        if natural is None:
            return {"min": None, "max": None}
        if isinstance(domain, DateDomain) and domain.is_fine:
            return _seconds(domain, natural)
        bounds = (0, domain.size - 1) if natural == "*" else attribute.read(natural)
        assert bounds is not None
        return {"min": _end(domain, bounds[0], "min"), "max": _end(domain, bounds[-1], "max")}
    if natural is None:
        return None
    if attribute.publication is PublishedForm.VALUES:
        return [_label(one) for one in (natural if isinstance(natural, list) else [natural])]
    return _label(natural)


def _seconds(domain: DateDomain, natural: str) -> dict[str, str]:
    """Return the ends of a minute, hour, day, month, quarter or year by Python's own calendar."""
    day, _, time = natural.partition("T")
    parts = [int(part) for part in day.replace("Q", "").split("-")] if natural != "*" else []
    first, last = domain.earliest, domain.latest
    if len(parts) == 3:
        first = last = dt.date(*parts)
    elif parts:
        months = (1, 12) if len(parts) == 1 else (parts[1] * 3 - 2, parts[1] * 3) if "Q" in day else (parts[1],) * 2
        later = dt.date(parts[0] + months[1] // 12, months[1] % 12 + 1, 1)
        first, last = max(first, dt.date(parts[0], months[0], 1)), min(last, later - dt.timedelta(days=1))
    clock, sign, _ = time.replace("-", "+").partition("+")
    begin = dt.time(*map(int, clock.split(":"))) if clock else dt.time()
    end = (
        dt.time(23, 59, 59) if not clock else begin.replace(second=59, minute=begin.minute if ":" in clock else 59)
    )
    zone = ZoneInfo(domain.zone) if domain.zone else dt.UTC if domain.format.startswith("epoch") else None
    ends = [dt.datetime.combine(first, begin, zone), dt.datetime.combine(last, end, zone)]
    if sign and not ends[0].isoformat().endswith(natural[-6:]):
        ends = [moment.replace(fold=1) for moment in ends]
    return {"min": ends[0].isoformat(), "max": ends[1].isoformat()}


def _end(domain: NumericDomain | DateDomain, code: int, which: str) -> Any:
    if domain.size == 1:
        assert isinstance(domain, NumericDomain)
        return float(domain.minimum if which == "min" else domain.maximum)
    alone: Any = domain.publish(code, code)
    return alone[which] if isinstance(alone, dict) else alone


def _label(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(int(value) if isinstance(value, float) and value == int(value) else value)


def _decimal(attribute: PassThrough, value: Any) -> Any:
    """Return a number as a decimal unless it is so large that a decimal might be another one."""
    short = type(value) is int and attribute.type is ScalarType.NUMBER and len(str(value)) <= 15
    return float(value) if short else value


def shaped_record(policy: Policy, natural: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole record, given by attribute what natural records show."""
    record: dict[str, Any] = {}
    for attribute in policy.published:
        value = natural[attribute.name]
        quasi = isinstance(attribute, QuasiIdentifier)
        if quasi and policy.shape is not Shape.NATURAL:
            value = typed_value(attribute, value)
        elif policy.shape is not Shape.NATURAL and isinstance(attribute, PassThrough):
            value = _decimal(attribute, value)
        if policy.shape is Shape.FLAT:
            name = "_".join(attribute.path)
            interval = isinstance(value, dict)
            record |= {f"{name}_{end}": one for end, one in value.items()} if interval else {name: value}
            continue
        inner = record
        for key in attribute.path[:-1]:
            inner = inner.setdefault(key, {})
        inner[attribute.path[-1]] = value
    return record
