"""A learned order as something to keep: names of attributes in a row, and what they were when it was learned."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.ordering.digits import Digits
from stream_anon.clustering.forest.ordering.order import key_table
from stream_anon.clustering.forest.ordering.order_search import THOROUGH, WindowSample, learn_order, top_down
from stream_anon.errors import SettingsError
from stream_anon.microdata.choices.engine_choice import LearnedOrder
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.model import CostModel


def _digest(attributes: Sequence[QuasiIdentifier], digits: Digits) -> str:
    """Return a hash of the names of quasi-identifiers and of their digits: what an order is an order of."""
    digest = hashlib.sha256()
    for attribute in attributes:
        digest.update(attribute.name.encode() + b"\0")
    for part in (digits.attribute, digits.base, digits.width, digits.sizes, digits.listed):
        digest.update(f"{len(part)}:".encode() + part.tobytes())
    return "sha256:" + digest.hexdigest()


def learned_from(
    codes: NDArray[np.int32], attributes: Sequence[QuasiIdentifier], model: CostModel, k: int, seed: int
) -> LearnedOrder:
    """Return the order learned from codes int32[q, n]; a second or less."""
    digits = Digits.of(attributes)
    cold = digits.cold_order()
    lesson = WindowSample.of(codes, k, key_table(digits, cold))
    draws = np.random.default_rng([seed, 0])
    order = learn_order(lesson, digits, model, cold, draws, THOROUGH)
    return LearnedOrder(
        _digest(attributes, digits), tuple(attributes[j].name for j in digits.attribute[order].tolist())
    )


def order_of(learned: LearnedOrder, attributes: Sequence[QuasiIdentifier]) -> NDArray[np.int64]:
    """Return a learned order as digits int64[d].

    Raises
    ------
    SettingsError
        If it was learned for other attributes, or is none.
    """
    digits = Digits.of(attributes)
    if learned.attributes != _digest(attributes, digits):
        raise SettingsError(
            "engine.order",
            "was learned for other quasi-identifiers or hierarchies; learn it anew (stream-anon learn)",
        )
    places = {attribute.name: j for j, attribute in enumerate(attributes)}
    owners = np.array([places.get(name, -1) for name in learned.owners], np.int64)
    if sorted(owners.tolist()) != sorted(digits.attribute.tolist()):
        raise SettingsError("engine.order", "does not name each quasi-identifier as often as it has digits")
    return top_down(owners, digits)
