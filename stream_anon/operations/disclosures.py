"""What classes give away of sensitive attributes, as reports show it: figures only, never a value or a class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from stream_anon.microdata.diversity import Disclosure, Surest

COLUMNS = ("bits", "told", "most frequent", "worst class", "all alike")
"""What is unknown of a value, what its class tells of that, how sure a guess is, and classes of one value."""


def cells(found: Disclosure) -> tuple[str, ...]:
    """Return what stands in a table under `COLUMNS`."""
    worst = "-" if found.worst is None else f"{found.worst.share:.1%} of {found.worst.records:,}"
    return (
        f"{found.prior:.2f}",
        f"{found.told:.2f} ({found.share:.1%})",
        f"{found.guess:.1%}",
        worst,
        f"{found.alike:,} of {found.records:,}",
    )


def warnings(disclosed: Mapping[str, Disclosure]) -> list[str]:
    """Return what somebody should weigh: values that are known of everybody in their class."""
    return [
        f"{name}: {found.in_words}, which is known of everybody in them; privacy.sensitive.{name} can ask for "
        "several"
        for name, found in disclosed.items()
        if found.alike
    ]


def documents(disclosed: Mapping[str, Disclosure]) -> list[dict[str, Any]]:
    """Return the figures as objects that JSON can hold."""
    return [
        {
            "attribute": name,
            "records": found.records,
            "bits": found.prior,
            "told": found.told,
            "guess": found.guess,
            "worst": None if found.worst is None else asdict(found.worst),
            "alike": found.alike,
        }
        for name, found in disclosed.items()
    ]


def from_document(told: Mapping[str, Any]) -> Disclosure:
    """Return the figures that `documents` made an object of."""
    worst = None if told["worst"] is None else Surest(**told["worst"])
    return Disclosure(told["records"], told["bits"], told["told"], told["guess"], worst, told["alike"])
