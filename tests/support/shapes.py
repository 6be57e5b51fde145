"""A plain oracle of shapes: what a typed or a flat record says, computed from codes and not as the package does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from stream_anon.microdata.attributes import PassThrough, Publication, QuasiIdentifier, ScalarType
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy


def typed_value(attribute: QuasiIdentifier, natural: Any) -> Any:
    """Return the typed value of what the natural shape writes."""
    domain = attribute.domain
    if isinstance(domain, NumericDomain | DateDomain):
        if natural is None:
            return {"min": None, "max": None}
        bounds = (0, domain.size - 1) if natural == "*" else attribute.read(natural)
        assert bounds is not None
        return {"min": _end(domain, bounds[0], "min"), "max": _end(domain, bounds[-1], "max")}
    if natural is None:
        return None
    if attribute.publication is Publication.VALUES:
        return [_label(one) for one in (natural if isinstance(natural, list) else [natural])]
    return _label(natural)


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
