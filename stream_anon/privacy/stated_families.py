"""What certificates say of families: how many values the smallest has, and a hash of them all.

The values themselves stand in the policy document; a certificate has one line of them.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

import msgspec

from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.policy import Policy


class AskedFamilies(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The families that a sensitive attribute's values are published as.

    `least` values or more are in each; `publish` is what stands in the records. `digest` is the SHA-256 of the
    families as JSON, each as the list of its values in order (a missing one last), in order.
    """

    least: Annotated[int, msgspec.Meta(ge=2)]
    publish: Literal["family"]
    digest: Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]


def asked_families(policy: Policy) -> dict[str, AskedFamilies]:
    """Return the families of a policy, by sensitive attribute; the same for the same sets of values."""
    return {
        attribute.name: AskedFamilies(min(map(len, attribute.families)), "family", _digest(attribute))
        for attribute in policy.attributes
        if isinstance(attribute, Sensitive) and attribute.families
    }


def _digest(attribute: Sensitive) -> str:
    families = [sorted(family, key=lambda value: (value is None, value or "")) for family in attribute.families]
    families.sort(key=msgspec.json.encode)
    return "sha256:" + hashlib.sha256(msgspec.json.encode(families)).hexdigest()
