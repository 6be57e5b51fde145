"""What a policy promises about its output, as a document that can be compared, stored and sent.

The document says what decides how safe a released record is, and nothing else: no limit of a window, no engine, no
value of a person. A hierarchy is told by a hash and a number of groups per level.

Some settings bear on safety and are seen neither in records nor in a policy document, so only certificates tell
them: the engine, and the terms. `stated_by` and `stated_in` give them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from stream_anon.microdata.attributes import Attribute, PassThrough, QuasiIdentifier
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.certificate import Certificate, asked_of, individual_of, terms_of

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
        return {"role": attribute.role, "path": list(attribute.path), "type": attribute.declared_type}
    return {"role": attribute.role}
