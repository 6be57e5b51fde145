"""Fields that a domain recognises by itself, whatever they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stream_anon.adapters.tables.samples import Value
from stream_anon.errors import Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.domain import Domain
from stream_anon.microdata.domains.registry import DOMAINS
from stream_anon.settings.attributes.attribute import DOMAINS as SETTINGS


def recognised(values: Sequence[Value]) -> Mapping[str, Mapping[str, object]] | None:
    """Return the settings of the domain that most values are of, None if no domain says so."""
    found = (domain.proposal(values) for domain in DOMAINS.values())
    return next((settings for settings in found if settings is not None), None)


def fitting(settings: Mapping[str, Mapping[str, object]], values: Sequence[Value]) -> int:
    """Return how many values are of the type of the domain that `recognised` settings build, outside or not."""
    ((key, given),) = settings.items()
    domain = SETTINGS[key].model_validate(given).build(key)
    return sum(_is_fit(domain, value) for value in values)


def _is_fit(domain: Domain, value: Value) -> bool:
    try:
        domain.code(value)
    except Unfit as unfit:
        return unfit.reason is not Reason.WRONG_TYPE
    return True
