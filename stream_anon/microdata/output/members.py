"""The members of a released record: under which keys which attribute is written, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Attribute, Publication, QuasiIdentifier, ScalarType
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.output.typed import ENDS, IntervalForm, TypedForm, typed_form

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
        same = attribute.type is ScalarType.STRING and attribute.publication is not Publication.VALUES
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


def check_shape(attributes: Sequence[Attribute], shape: Shape) -> None:
    """Raise `SettingsError` if records of that shape cannot say all that natural ones say."""
    if shape is Shape.NATURAL:
        return
    published = [attribute for attribute in attributes if attribute.published]
    for attribute in published:
        if isinstance(attribute, QuasiIdentifier):
            _check_root(attribute, shape)
    columns: dict[tuple[str, ...], str] = {}
    for member in members_of(published, shape) if shape is Shape.FLAT else ():
        twin = columns.setdefault(member.path, member.attribute.name)
        if twin != member.attribute.name:
            key = f"attributes.{member.attribute.name}"
            raise SettingsError(key, f"would be written under {member.path[0]} as {twin} is: name it otherwise")


def _check_root(attribute: QuasiIdentifier, shape: Shape) -> None:
    """Refuse a whole range that has a name of its own beside the root's, as that of days in one year has."""
    form = typed_form(attribute)
    if not isinstance(form, IntervalForm) or not attribute.root_is_possible:
        return
    top = attribute.domain.publish(0, attribute.domain.size - 1)
    if form.write(top) == form.write("*") and top != "*":
        raise SettingsError(
            f"attributes.{attribute.name}",
            f"all its days lie in {top}, which output.shape: {shape} would write as it writes anything: "
            "widen its range, or set missing: reject and unknown: reject",
        )
