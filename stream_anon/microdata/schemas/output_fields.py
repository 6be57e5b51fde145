"""The fields of typed records, as schemas of any kind tell them: a name, one type, and whether it may be null."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Missing, PassThrough, PublishedForm
from stream_anon.microdata.output.output_members import Member, Placed, by_first_key, members_of
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.output.typed import ENDS, IntervalForm
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

GENERALIZED = "quasi-identifier, generalized"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record.

    Parameters
    ----------
    name
        Its key.
    type
        `string`, `integer`, `number`, `boolean`, `date`, `timestamp`, `local-timestamp`, or `object` for one that
        has fields itself.
    nullable
        Whether it may be null; objects and their fields are always there.
    words
        What it is.
    fields
        Of an object.
    many
        Whether it is a list of that type.
    """

    name: str
    type: str
    nullable: bool
    words: str
    fields: tuple[Field, ...] = ()
    many: bool = False


def fields_of(policy: Policy) -> tuple[Field, ...]:
    """Return the fields of a released record, in the order in which they are written.

    Raises
    ------
    SettingsError
        If records are natural: then an attribute has more than one type.
    """
    if policy.shape is Shape.NATURAL:
        raise SettingsError(
            "output.shape",
            "natural gives an attribute several types, which only a JSON Schema can say: set it to typed or flat",
        )
    return _fields((member, member.path) for member in members_of(policy.published, policy.shape))


def check_plain_names(fields: Iterable[Field], kind: str) -> None:
    """Raise `SettingsError` if a field's name is not of letters, digits and underscores, as `kind` asks."""
    for field in fields:
        if not _PLAIN.fullmatch(field.name):
            raise SettingsError(
                f"attributes.{field.name}", f"is not a name that {kind} knows: only letters a-z, digits and _ are"
            )
        check_plain_names(field.fields, kind)


def _fields(placed: Iterable[Placed]) -> tuple[Field, ...]:
    return tuple(
        Field(key, "object", nullable=False, words="an object", fields=_fields(members))
        if members[0][1]
        else _field(key, members[0][0])
        for key, members in by_first_key(placed).items()
    )


def _field(name: str, member: Member) -> Field:
    attribute = member.attribute
    if isinstance(attribute, PassThrough):
        words = attribute.in_words
        return Field(name, attribute.type.value, nullable=True, words=words, many=attribute.many)
    assert isinstance(attribute, QuasiIdentifier)  # noqa: S101 - identifiers are not published
    nullable = attribute.missing is Missing.LEAF
    if not isinstance(member.form, IntervalForm):
        many = attribute.publication is PublishedForm.VALUES
        words = "a list of the categories that occur, of * alone for anything" if many else "* for anything"
        return Field(name, "string", nullable, f"{GENERALIZED}; {words}", many=many)
    kind = member.form.interval.type
    if member.end is not None:
        return Field(name, kind, nullable, f"{GENERALIZED}; {_END[member.end]}")
    ends = tuple(Field(end, kind, nullable, _END[end]) for end in ENDS)
    return Field(name, "object", nullable=False, words=f"{GENERALIZED}; an interval", fields=ends)


_END = {"min": "the least value, included", "max": "the greatest value, included"}
