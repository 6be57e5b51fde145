"""Fields that a domain recognises by itself, whatever they are called."""

from __future__ import annotations

from collections.abc import Mapping

from stream_anon.errors import Unfit
from stream_anon.formats.tables.undeclared_samples import SampledField
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.domain import Domain
from stream_anon.microdata.domains.domain_kinds import DOMAINS
from stream_anon.operations.propose.support import Reading, read
from stream_anon.settings.attributes.attribute import DOMAIN_SETTINGS as SETTINGS

_PROBE = 200  # values; a column of which no domain recognises so many is none that it would recognise whole


def recognised(column: SampledField) -> Mapping[str, Mapping[str, object]] | None:
    """Return the settings of the domain that most values are of, None if no domain says so."""
    values = column.values
    probe = values[:: max(1, len(values) // _PROBE)]
    for domain in DOMAINS.values():
        if domain.proposal(probe) is not None and (settings := domain.proposal(values)) is not None:
            return settings
    return None


def fitting(settings: Mapping[str, Mapping[str, object]], column: SampledField) -> Reading:
    """Return the values that are of the type of the domain that `recognised` settings build, outside or not."""
    ((key, given),) = settings.items()
    domain = SETTINGS[key].model_validate(given).build(key)
    return read(column, lambda value: _is_fit(domain, value) or None)


def _is_fit(domain: Domain, value: object) -> bool:
    try:
        domain.code(value)
    except Unfit as unfit:
        return unfit.reason is not Reason.WRONG_TYPE
    return True
