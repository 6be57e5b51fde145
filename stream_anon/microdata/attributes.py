"""Attributes: what each declared field of a record is and how it may leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import ClassVar

import msgspec

from stream_anon.errors import SettingsError, Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.domain import Scalar
from stream_anon.microdata.domains.families import Family, ShownAs, check_rest, in_order, labels_of

MOST_ITEMS = 128  # of a list
LIST_MARK = "[]"  # behind the type of a list's items
_EXACT = 2.0**53  # beyond it floats skip whole numbers


Passing = Scalar | tuple[Scalar, ...] | None
"""What passes of a record: a value, a list of values, or nothing."""


class ScalarType(StrEnum):
    """The declared type of a field that passes as it is."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"


class Missing(StrEnum):
    """What a missing or null value becomes."""

    LEAF = "leaf"
    REJECT = "reject"


class Unknown(StrEnum):
    """What a value outside the domain becomes."""

    REJECT = "reject"
    ROOT = "root"


class PublishedForm(StrEnum):
    """How a class's values are published: hierarchy nodes, the tight range, or the set that occurs."""

    NODES = "nodes"
    TIGHT = "tight"
    VALUES = "values"


@dataclass(frozen=True)
class Attribute:
    """A declared field.

    Parameters
    ----------
    name
        Its name in policies, certificates, metrics and messages.
    keys
        The keys from the record's top to the value; by default the name, split at its dots (`patient.age`).
    accept_missing
        Of a published field: somebody knows that it may be absent from every record.
    coerce
        Whether a text of a number or a truth value counts as one; see `coding.coerced`.
    """

    name: str
    keys: tuple[str, ...] = field(default=(), kw_only=True)
    accept_missing: bool = field(default=False, kw_only=True)
    coerce: bool = field(default=False, kw_only=True)

    role: ClassVar[str] = ""
    published: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.coerce and self.text_type is ScalarType.STRING:
            raise SettingsError(
                f"attributes.{self.name}.coerce",
                "is for numbers, ranges, epochs, and passing fields of type integer, number or boolean",
            )

    @property
    def text_type(self) -> ScalarType:
        """Return as what a text counts with `coerce`; `STRING` where there is nothing that it could stand for."""
        return ScalarType.STRING

    @cached_property
    def path(self) -> tuple[str, ...]:
        """Return the keys from the record's top to the value."""
        return self.keys or tuple(self.name.split("."))

    @property
    def column(self) -> str:
        """Return the name of its column where records are rows of cells: the keys joined by dots."""
        return ".".join(self.path)


@dataclass(frozen=True)
class Identifier(Attribute):
    """A field that names a person: read to count individuals if the policy says so, never published."""

    role: ClassVar[str] = "identifier"


@dataclass(frozen=True)
class PassThrough(Attribute):
    """A field that is decoded by its type and encoded anew.

    Parameters
    ----------
    type
        Of its values.
    accept_linkable
        Its rare values were weighed.
    many
        Whether it is a list of values, of up to `MOST_ITEMS`.
    """

    type: ScalarType = ScalarType.STRING
    accept_linkable: bool = False
    many: bool = False
    published: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.many and self.coerce:
            raise SettingsError(f"attributes.{self.name}.coerce", "is for single values, not for a list")

    @property
    def text_type(self) -> ScalarType:
        """Return its type."""
        return self.type

    @property
    def declared_type(self) -> str:
        """Return its type as a policy names it."""
        return f"{self.type}{LIST_MARK if self.many else ''}"

    @property
    def in_words(self) -> str:
        """Return what it is, for readers of released records."""
        return f"{self.role}, as it came"

    def shown(self, value: Scalar | None) -> Scalar | None:
        """Return what is published of a value of its type: the value."""
        return value


@dataclass(frozen=True)
class Sensitive(PassThrough):
    """A field that is published as it is, or as its family, and that must not become known of any one person.

    Parameters
    ----------
    families
        Its values in sets, each of which is published as one; empty: values are published as they are. Kept in one
        order, so that policies of the same sets are the same.
    rest
        What is published of a value that no family lists, a missing one too; None: such a record is rejected.
    shown_as
        What stands in records: the family, or the value itself. Then a class that has one of a family's values has
        all of them, each held by somebody else, and there is no rest.
    """

    families: tuple[Family, ...] = ()
    rest: str | None = None
    shown_as: ShownAs = ShownAs.FAMILY

    role: ClassVar[str] = "sensitive"

    def __post_init__(self) -> None:
        super().__post_init__()
        place = f"privacy.sensitive.{self.name}.families"
        if self.families and self.declared_type != ScalarType.STRING:
            raise SettingsError(place, f"are for type: string, and {self.name} has {self.declared_type}")
        try:
            labels_of(self.families)
            if self.rest is not None:
                place = f"privacy.sensitive.{self.name}.rest"
                check_rest(self.rest, self.families, self.shown_as)
        except SettingsError as error:
            raise SettingsError(place, error.message) from None
        object.__setattr__(self, "families", in_order(self.families))

    @property
    def keeps_whole(self) -> bool:
        """Return whether a class that has one of a family's values must have all of them."""
        return bool(self.families) and self.shown_as is ShownAs.VALUE

    @property
    def least_family(self) -> int:
        """Return how many values the smallest family has; of an attribute that has families."""
        return min(map(len, self.families))

    @cached_property
    def label_of(self) -> dict[str | None, str | None]:
        """Return for each value of a family what is published of it, None for nothing; empty without families."""
        labels = labels_of(self.families)
        return {value: value for value in labels} if self.keeps_whole else {**labels}

    @cached_property
    def shown_alike(self) -> tuple[Family, ...]:
        """Return the values of families in sets of which one thing is published."""
        return tuple((value,) for value in self.label_of) if self.keeps_whole else self.families

    @cached_property
    def labels(self) -> tuple[str | None, ...]:
        """Return what may be published: of each set in `shown_alike`, then of the rest if there is one."""
        shown = (self.label_of[alike[0]] for alike in self.shown_alike)
        return (*shown, *(() if self.rest is None else (self.rest,)))

    @property
    def in_words(self) -> str:
        """Return what it is, for readers of released records."""
        if self.keeps_whole:
            return f"{self.role}, as it came, in a class with all values of its family"
        rest = "" if self.rest is None else f"; {self.rest}: in none"
        return f"{self.role}, as the family of values that it is in{rest}" if self.families else super().in_words

    @cached_property
    def most_shown(self) -> int:
        """Return the most bytes of JSON that are published in a value's place; 0 without families."""
        return max((len(msgspec.json.encode(label)) for label in self.labels), default=0)

    def shown(self, value: Scalar | None) -> Scalar | None:
        """Return what is published of a value; `Unfit` for one that is in no family, if there is no rest."""
        if not self.families:
            return value
        if value is None or isinstance(value, str):
            if value in self.label_of:
                return self.label_of[value]
            if self.rest is not None:
                return self.rest
        raise Unfit(Reason.MISSING if value is None else Reason.UNKNOWN_VALUE)


@dataclass(frozen=True)
class Insensitive(PassThrough):
    """A field that is published as it is, and that may become known of a person."""

    role: ClassVar[str] = "insensitive"


def is_plain(value: float) -> bool:
    """Return whether a float is a whole number that the integers name as well; the negative zero is one too."""
    return value.is_integer() and -_EXACT <= value <= _EXACT


def pass_value(attribute: PassThrough, value: object) -> Passing:
    """Return a decoded value as it is published, None if missing; `Unfit` for a wrong type, or one in no family.

    A list becomes a tuple, in its order, without the items that are missing.
    """
    if not attribute.many:
        return attribute.shown(_pass_one(attribute, value))
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise Unfit(Reason.WRONG_TYPE)
    if len(value) > MOST_ITEMS:
        raise Unfit(Reason.TOO_LARGE)
    items = (_pass_one(attribute, item) for item in value)
    return tuple(item for item in items if item is not None)


def _pass_one(attribute: PassThrough, value: object) -> Scalar | None:
    """Return one value as its attribute's declared type, None if missing.

    A whole number written as `25.0` is an integer, where numbers are declared too: how a producer writes numbers
    would tell one from another. Beyond 2**53, where floats skip integers, both stay as they are.
    """
    if value is None:
        return None
    kind = attribute.type
    if kind is ScalarType.STRING and isinstance(value, str):
        return value
    if kind is ScalarType.BOOLEAN and isinstance(value, bool):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        if kind is ScalarType.NUMBER:
            return int(value) if isinstance(value, float) and is_plain(value) else value
        if kind is ScalarType.INTEGER and (isinstance(value, int) or value.is_integer()):
            return int(value)
    raise Unfit(Reason.WRONG_TYPE)
