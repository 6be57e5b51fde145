"""Write dead letters: why a record was rejected and where it is, never what it holds."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stream_anon.microdata.batch import NO_ATTRIBUTE, Reason, Rejects
from stream_anon.microdata.policy import Policy

SCHEMA_VERSION = 1

_encode = msgspec.json.Encoder().encode


def encode_dead_letters(rejects: Rejects, places: Sequence[tuple[str, int]], policy: Policy) -> list[bytes]:
    """Return a JSON object for each reject, in order.

    Parameters
    ----------
    rejects
        Reasons, attributes and offsets.
    places
        (topic, partition) of each source number.
    policy
        Names the attributes.
    """
    labels = {int(reason): reason.label for reason in Reason}
    names = [attribute.name for attribute in policy.attributes]
    columns = (rejects.reasons, rejects.attributes, rejects.sources, rejects.offsets)
    letters = []
    for reason, attribute, source, offset in zip(*(column.tolist() for column in columns), strict=True):
        topic, partition = places[source]
        letter = {
            "schema": SCHEMA_VERSION,
            "reason": labels[reason],
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "attribute": None if attribute == NO_ATTRIBUTE else names[attribute],
        }
        letters.append(_encode(letter))
    return letters
