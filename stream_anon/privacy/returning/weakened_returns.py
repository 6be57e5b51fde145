"""What one policy promises less than another to people who come back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any


def weakened_returns(had: Mapping[str, Any] | None, has: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """Yield the settings by which `privacy.returning`, as certificates tell it, promises less, and why."""
    if had is None:
        return
    if has is None:
        yield "privacy.returning", f"was {had['most']} in {had['period']:g} s and would be no bound"
        return
    if has["most"] > had["most"]:
        yield "privacy.returning.most", f"was {had['most']} and would rise to {has['most']}"
    if has["period"] < had["period"]:
        yield "privacy.returning.period", f"was {had['period']:g} s and would fall to {has['period']:g} s"


def weakened_families(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the settings by which other families promise less, and why; `before` has families.

    Each must stay whole, and none may get a value that was in none: whoever has that value was not published
    before, or as the rest, and would be in a family of which all others were.
    """
    had: Sequence[Sequence[str | None]] = before["families"]
    has: Sequence[Sequence[str | None]] = after.get("families", ())
    now = {value: number for number, family in enumerate(has) for value in family}
    known = {value for family in had for value in family}
    if broken := sum(len({now.get(value, -1 - i) for i, value in enumerate(family)}) > 1 for family in had):
        text = (
            f"would no longer keep each family whole ({broken} of them): people who return are among fewer values"
        )
        yield "families", text
    new = [known.isdisjoint(family) for family in has]
    if grown := sum(not own and not known.issuperset(family) for own, family in zip(new, has, strict=True)):
        text = (
            f"would add values to published families ({grown} of them): whoever first appears now has one of these"
        )
        yield "families", text
    least, fewest = min(map(len, had)), min((len(f) for own, f in zip(new, has, strict=True) if own), default=inf)
    if fewest < least:
        yield "families", f"would have a new family of {fewest} values, and had none of fewer than {least}"
    yield from _weakened_rest(before.get("rest"), after.get("rest"), len(now.keys() - known))


def _weakened_rest(had: str | None, has: str | None, listed: int) -> Iterator[tuple[str, str]]:
    """Say what is lost by another rest, or by families that list so many more values. Its name promises nothing."""
    if had is None:
        if has is not None:
            yield (
                "rest",
                "would be published, and was rejected: it may be a single value, however large families are",
            )
        return
    if has is None:
        yield "rest", "would be rejected: later families of its values would not count as weaker"
    if listed:
        yield "rest", f"would lose {listed} values to families: whoever was in it is known to have one of these"
