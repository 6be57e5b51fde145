"""What certificates say of a file in which counterfeits complete classes of too few people."""

from __future__ import annotations

from typing import Annotated

import msgspec


class StatedCounterfeits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many of the released records are nobody's, and how many people and records a class has at least.

    `people` and `records` are null without a class.
    """

    counterfeits: Annotated[int, msgspec.Meta(ge=0)]
    people: Annotated[int, msgspec.Meta(ge=0)] | None
    records: Annotated[int, msgspec.Meta(ge=0)] | None
