"""Count the ids of a sample that differ only in their spelling. Only counts leave this module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import msgspec

from stream_anon.errors import Unfit
from stream_anon.microdata.coding import find, individual_text
from stream_anon.microdata.ids import Normalization, normalized
from stream_anon.microdata.policy import EVERY_RECORD, Policy

_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class Spelling:
    """How many ids a normalization makes equal, on top of those that the policy asks for.

    Parameters
    ----------
    normalization
        None for all of them together.
    ids
        Distinct ids without it.
    alike
        How many of these get the spelling of another id.
    asked
        Whether the policy asks for it.
    """

    normalization: Normalization | None
    ids: int
    alike: int
    asked: bool


def spellings(policy: Policy, values: Iterable[bytes | None]) -> tuple[Spelling, ...]:
    """Return what each normalization would do to the ids of raw records; those without an effect are left out.

    All normalizations together are told too, if they make more ids equal than any that the policy does not ask for.
    """
    if policy.individual == EVERY_RECORD:
        return ()
    path, asked = policy.attribute(policy.individual).path, policy.normalize
    ids = {text for value in values if (text := _id(value, path, policy.null_values)) is not None}
    found = [
        _spelling(ids, step, [other for other in asked if other != step], (step,), asked) for step in Normalization
    ]
    together = _spelling(ids, None, asked, tuple(Normalization), asked)
    if together.alike > max((each.alike for each in found if not each.asked), default=0):
        found.append(together)
    return tuple(each for each in found if each.alike)


def _spelling(
    ids: Collection[str],
    name: Normalization | None,
    without: Collection[Normalization],
    more: Collection[Normalization],
    asked: Collection[Normalization],
) -> Spelling:
    before = {text for text in (_try(one, without) for one in ids) if text}
    sizes = Counter(text for text in (_try(one, [*without, *more]) for one in before) if text)
    alike = sum(size for size in sizes.values() if size > 1)
    return Spelling(name, len(before), alike, name in asked)


def _try(text: str, steps: Collection[Normalization]) -> str | None:
    try:
        return normalized(text, steps)
    except Unfit:
        return None


def _id(value: bytes | None, path: tuple[str, ...], nulls: frozenset[str]) -> str | None:
    try:
        record = _decode(value or b"")
        found = find(record, path) if isinstance(record, dict) else None
        text = individual_text(None if isinstance(found, str) and found in nulls else found)
    except (Unfit, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return text
