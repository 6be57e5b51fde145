"""The members of a released record: under which keys which attribute is written, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Attribute, PublishedForm, ScalarType
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.output.typed import ENDS, IntervalForm, TypedForm, typed_form
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

_JOINT = "_"


@dataclass(frozen=True, slots=True)
class Member:
    """One value of a released record.

    Parameters
    ----------
    path
        The keys from the record's top to it.
    attribute
        Whose value it is.
    form
        Of a quasi-identifier of typed records: how it is written.
    end
        Of flat records: whether it is the `min` or the `max` of an interval.
    """

    path: tuple[str, ...]
    attribute: Attribute
    form: TypedForm | None = None
    end: str | None = None

    @property
    def write(self) -> Callable[[Any], Any] | None:
        """Return what makes the member's value of what the natural shape writes; None if it is that."""
        form, end, attribute = self.form, self.end, self.attribute
        if form is None:
            return None
        if end is not None:
            return lambda published: form.write(published)[end]
        assert isinstance(attribute, QuasiIdentifier)  # noqa: S101 - only these have a form
        same = attribute.type is ScalarType.STRING and attribute.publication is not PublishedForm.VALUES
        return None if same and not isinstance(form, IntervalForm) else form.write

    def longest(self) -> Sequence[Any]:
        """Return values of a quasi-identifier's member, one of which is as long in JSON as any."""
        assert isinstance(self.attribute, QuasiIdentifier)  # noqa: S101 - what passes has no longest value
        if self.form is None:
            return self.attribute.longest()
        return [one if self.end is None else one[self.end] for one in self.form.longest()]


def members_of(attributes: Iterable[Attribute], shape: Shape) -> list[Member]:
    """Return the members of a record of published attributes, in the order in which they are written."""
    members, typed = [], shape is not Shape.NATURAL
    for attribute in attributes:
        form = typed_form(attribute) if isinstance(attribute, QuasiIdentifier) and typed else None
        if shape is not Shape.FLAT:
            members.append(Member(attribute.path, attribute, form))
        elif isinstance(form, IntervalForm):
            members += [Member(flat_path(attribute, end), attribute, form, end) for end in ENDS]
        else:
            members.append(Member(flat_path(attribute), attribute, form))
    return members


def flat_path(attribute: Attribute, *more: str) -> tuple[str]:
    """Return the one key of an attribute in a flat record."""
    return (_JOINT.join((*attribute.path, *more)),)


Placed = tuple[Member, tuple[str, ...]]
"""A member and the keys that lead to it from an object within the record."""


def by_first_key(members: Iterable[Placed]) -> dict[str, list[Placed]]:
    """Return the members of an object by key, without it; those under one key stand at the place of the first."""
    groups: dict[str, list[Placed]] = {}
    for member, path in members:
        groups.setdefault(path[0], []).append((member, path[1:]))
    return groups


def shaped(attributes: Sequence[Attribute], shape: Shape) -> tuple[Attribute, ...]:
    """Return the attributes as records of that shape can tell all that is published of them."""
    if shape is Shape.NATURAL:
        return tuple(attributes)
    return tuple(_told(one) if isinstance(one, QuasiIdentifier) else one for one in attributes)


def _told(attribute: QuasiIdentifier) -> QuasiIdentifier:
    """Return an attribute whose whole range has one name.

    Days in one year are published as that year where all values are known, and as "*" where one is missing or
    unknown. Intervals are the same for both, so that two classes would look like one, and an audit could not tell
    which is which. Where both are possible, both are "*": that says less, and nothing else changes.
    """
    form = typed_form(attribute)
    if not isinstance(form, IntervalForm) or not attribute.root_is_possible:
        return attribute
    top = attribute.domain.publish(0, attribute.domain.size - 1)
    if top == ROOT_LABEL or form.write(top) != form.write(ROOT_LABEL):
        return attribute
    return replace(attribute, domain=attribute.domain.unnamed_whole())


def check_shape(attributes: Sequence[Attribute], shape: Shape) -> None:
    """Raise `SettingsError` if two fields of a record of that shape would have one name."""
    published = [attribute for attribute in attributes if attribute.published]
    columns: dict[tuple[str, ...], str] = {}
    for member in members_of(published, shape) if shape is Shape.FLAT else ():
        twin = columns.setdefault(member.path, member.attribute.name)
        if twin != member.attribute.name:
            key = f"attributes.{member.attribute.name}"
            raise SettingsError(key, f"would be written under {member.path[0]} as {twin} is: name it otherwise")
