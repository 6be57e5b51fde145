"""What a policy promises about its output, as a document that can be compared, stored and sent.

The document says what decides how safe a released record is, and nothing else: no limit of a window, no engine, no
value of a person. A hierarchy is told by a hash and a number of groups per level.

Some settings bear on safety and are seen neither in records nor in a policy document, so only certificates tell
them: the engine, and the terms. `stated_by` and `stated_in` give them.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from stream_anon.microdata.attributes import Attribute, PassThrough, Sensitive
from stream_anon.microdata.output.stated_returns import AskedFamilies, AskedReturns
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.population.presence_bound import AskedPresence
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.certificate import (
    Asked,
    AskedLevels,
    AskedShield,
    AskedSpread,
    AskedSuppression,
    Certificate,
    StatedIndividual,
    Terms,
)

SCHEMA_VERSION = 1


def promises_of(policy: Policy) -> dict[str, Any]:
    """Return what a policy promises, as JSON; the same document for the same promises.

    `asked` is that of certificates. `attributes` has the declared ones in the order in which they are published.
    """
    return {
        "schema": SCHEMA_VERSION,
        "asked": msgspec.to_builtins(asked_of(policy)),
        "individual": msgspec.to_builtins(individual_of(policy)),
        "extra_levels": policy.extra_levels,
        "attributes": {attribute.name: _attribute(attribute) for attribute in policy.attributes},
    }


def stated_by(policy: Policy) -> dict[str, Any]:
    """Return what a policy promises, with the engine and the terms that a certificate of it states."""
    return promises_of(policy) | {"engine": policy.maker, "terms": msgspec.to_builtins(terms_of(policy))}


def stated_in(certificate: Certificate) -> dict[str, Any]:
    """Return what a certificate alone tells: the engine and the terms."""
    return {"engine": certificate.engine, "terms": msgspec.to_builtins(certificate.terms)}


def asked_of(policy: Policy) -> Asked:
    """Return what a policy asks of every class; p_sensitive is distinct_l, which other criteria imply too."""
    spreads = {
        name: msgspec.convert(each, AskedSpread, from_attributes=True) for name, each in policy.diversity.items()
    }
    return Asked(
        policy.k,
        policy.max_share,
        {name: each.values for name, each in policy.diversity.items() if each.values},
        {name: spread for name, spread in spreads.items() if spread != AskedSpread()},
        {a.name: AskedLevels(a.min_level, a.max_level) for a in policy.quasi_identifiers if a.has_levels}
        or msgspec.UNSET,
        _suppression(policy),
        [AskedShield(list(shield.attributes), shield.k) for shield in policy.shields] or msgspec.UNSET,
        {
            a.name: AskedFamilies.of(a.families, a.rest, a.shown_as)
            for a in policy.attributes
            if isinstance(a, Sensitive) and a.families
        }
        or msgspec.UNSET,
        msgspec.UNSET if policy.returning is None else AskedReturns.of(policy.returning),
        AskedPresence.of(policy.presence),
        msgspec.UNSET if policy.counterfeits is None else policy.counterfeits.share,
    )


def individual_of(policy: Policy) -> StatedIndividual:
    """Return whom a policy counts."""
    if policy.individual == EVERY_RECORD:
        return StatedIndividual(EVERY_RECORD)
    path = policy.attribute(policy.individual).path
    return StatedIndividual(policy.individual, list(path), [str(step) for step in policy.normalize])


def terms_of(policy: Policy) -> Terms:
    """Return the terms of a policy."""
    nulls = msgspec.json.encode(sorted(policy.null_values))
    return Terms(
        policy.window.promised_records,
        policy.window.max_delay,
        policy.window.max_records_per_individual,
        "sha256:" + hashlib.sha256(nulls).hexdigest() if policy.null_values else msgspec.UNSET,
        [attribute.name for attribute in policy.passed if attribute.accept_linkable],
        policy.engine.seed is not None,
        policy.window.shortfall.value,
        policy.window.least_people,
    )


def _suppression(policy: Policy) -> AskedSuppression | msgspec.UnsetType:
    most = policy.max_suppressed
    if most is None:
        return msgspec.UNSET
    share = most.share if most.records is None else None
    return AskedSuppression(policy.above_max_suppressed.value, share, most.records)


def _attribute(attribute: Attribute) -> dict[str, Any]:
    if isinstance(attribute, QuasiIdentifier):
        return {
            "role": attribute.role,
            "path": list(attribute.path),
            "type": attribute.type.value,
            "publish": attribute.publication.value,
            "missing": attribute.missing.value,
            "unknown": attribute.unknown.value,
            "domain": attribute.domain.outline(),
        }
    if isinstance(attribute, PassThrough):
        stated: dict[str, Any] = {
            "role": attribute.role,
            "path": list(attribute.path),
            "type": attribute.declared_type,
        }
        if isinstance(attribute, Sensitive) and attribute.families:
            stated["families"] = [list(family) for family in attribute.families]
            if attribute.rest is not None:
                stated["rest"] = attribute.rest
            if attribute.keeps_whole:
                stated["publish"] = attribute.shown_as.value
        return stated
    return {"role": attribute.role}
