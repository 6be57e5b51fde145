"""Settings of a declared field; a domain that is added gets a field here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from stream_anon.settings.attributes.domains import (
    BalancedSettings,
    DateSettings,
    DomainSettings,
    IpSettings,
    NumericSettings,
    PrefixSettings,
    WordsSettings,
)
from stream_anon.settings.sections.section import Section


class AttributeSettings(Section):
    """A declared field. A quasi-identifier has exactly one domain, such as hierarchy, numeric or date."""

    explanation = """A field that is not declared is never published. A quasi-identifier has exactly one
domain: `hierarchy`, `values`, `order`, or a key with a section of its own below. A service does not start if no
record of its sample has a published field (`missing-field`), unless the field says `accept_missing: true`. If the
input was empty at the start, a first window without the field is withheld. Missing values are counted in
certificates, reports and metrics in any case.

`order: [none, primary, secondary, bachelor, master]` is for categories that have an order. They are cut like
numbers, and a class publishes the range from its least to its greatest category, such as `primary..bachelor`: both
ends are true values of somebody in the class, as those of `publish: tight` are. One category alone is published
as itself, all of them as `"*"`. `hierarchy: {ordered: [...]}` publishes fixed groups of neighbours instead. No
category of an `order` may hold `..` or begin with a dot. Methods and `engine.name: full-domain` join its neighbours
two by two, level by level.

`min_level` counts as `engine.levels` do: with `min_level: 2` nothing is published finer than the node of level 2
around a value, on every engine. This costs loss but suppresses nobody. A missing value stays null below the root.
It needs `publish: nodes`. A policy with a lower one is weaker. `stream-anon leakage --suggest` finds levels.

`coerce: true` is for numbers that come as texts: in `numeric`, in epochs of `date`, and in fields that pass as
integer, number or boolean. A comma is a decimal point: "1,234" is less than 2. What passes is written in its type.

`type: "string[]"` is for fields that pass and hold several values, such as the diagnoses of a visit; so are
integer[], number[] and boolean[]. Items that are missing are left out, and a record with more than 128 is rejected
(`too-large`). A list cannot be a quasi-identifier. A cell of CSV holds a list as JSON.

`max_level` counts in the same way: with `max_level: 2` nothing is published coarser than the node of level 2
around a value, and records that cannot form a class within these nodes are suppressed (`max-level`). Every engine
looks for classes within these nodes only. A missing value may be published as null on any level, but not together
with others below the root."""

    role: Literal["identifier", "quasi-identifier", "sensitive", "insensitive"]
    """What the field is; identifiers are never published."""
    type: (
        Literal["string", "integer", "number", "boolean", "string[]", "integer[]", "number[]", "boolean[]"] | None
    ) = None
    """Type of a field that passes, with [] of a list of such values; or in which exact categories are written."""
    hierarchy: Annotated[str, Field(min_length=1)] | BalancedSettings | WordsSettings | dict[str, Any] | None = None
    """File with rows from leaf to root, a nested mapping, an ordered list to balance, or texts of words."""
    values: list[str | int | bool] | None = None
    """Categories without groups: published as they are, or as `*`."""
    order: list[str | int | bool] | None = Field(default=None, min_length=2, max_length=10_000)
    """Categories from the least to the greatest: any range of neighbours may be published."""
    numeric: NumericSettings | None = None
    """A grid of numbers."""
    prefix: PrefixSettings | None = None
    """Texts of which a prefix may be published, such as postal codes."""
    date: DateSettings | None = None
    """Days, published as day, month, quarter or year; with `finest` also hours and minutes."""
    ip: IpSettings | None = Field(default=None)
    """Internet addresses, published as networks such as `10.1.0.0/16`."""
    publish: Literal["nodes", "values"] | None = None
    """Hierarchy nodes, or the set of values that occur."""
    min_level: int = Field(default=0, ge=0)
    """Lowest level of its hierarchy that may be published, on every engine; finer values are raised to it."""
    max_level: int | None = Field(default=None, ge=0)
    """Highest level of its hierarchy that may be published, on every engine; records that need more are
    suppressed."""
    weight: float = Field(default=1.0, gt=0, le=1000)
    """How much the loss of this attribute counts for the engine and for the method mingen; the reported loss is
    unweighted."""
    missing: Literal["leaf", "reject"] = "leaf"
    """A missing value is a leaf of its own, or the record is rejected."""
    unknown: Literal["reject", "root"] = "reject"
    """A value outside the domain makes its record a dead letter, or is published as the root."""
    path: list[Annotated[str, Field(min_length=1)]] | None = Field(default=None, min_length=1)
    """The keys from the record's top to the value, if they are not the name split at its dots: ["after.age"]
    is one key with a dot in it."""
    coerce: bool = False
    """A text that holds a number ("42", "4.2", "4,2"), or true or false, counts as one."""
    accept_missing: bool = False
    """Of a published field: the operator knows that it may be absent from every record."""
    accept_linkable: bool = False
    """Of a field that passes: the operator has weighed that its values can identify, as rare ones do and names."""


DOMAIN_SETTINGS: Mapping[str, type[DomainSettings]] = {
    key: kind
    for key, field in AttributeSettings.model_fields.items()
    for kind in get_args(field.annotation)
    if isinstance(kind, type) and issubclass(kind, DomainSettings)
}
"""The models that build a domain alone, by key."""

DOMAIN_KEYS = ("hierarchy", "values", "order", *DOMAIN_SETTINGS)
"""The keys of which a quasi-identifier has exactly one."""
