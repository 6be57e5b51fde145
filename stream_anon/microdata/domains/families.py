"""Families: values of a sensitive attribute that are published as one, so that returning narrows nothing down.

m-invariance (Xiao and Tao, SIGMOD 2007) asks that whoever comes again is always among the same m values. It keeps a
state for that; a fixed partition of the values needs none. What is published is the family, a set of values, as a
node of a hierarchy is one: the intersection over any number of windows is the family itself. Or values are
published as they are, and a class that has one of a family's values has all of them: every intersection holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from stream_anon.errors import SettingsError
from stream_anon.microdata.ids import MOST_LETTERS, Normalization, normalized

Family = tuple[str | None, ...]
"""Values that are published as one; None is a missing value."""


class ShownAs(StrEnum):
    """What stands in a record for a value of a family."""

    FAMILY = "family"
    VALUE = "value"


MOST_VALUES = 10_000
MOST_LABEL = 1_000
"""Letters of a published family."""
_BETWEEN = "|"
MISSING_TEXT = "null"
"""Stands for a missing value that is in a family; no value may be this text."""
_ALIKE = (Normalization.NFKC, Normalization.CASEFOLD, Normalization.STRIP)


def label_of(family: Family) -> str:
    """Return how a family is published, whatever the order of its values: `asthma|cold|flu`, a missing one last."""
    texts = sorted(value for value in family if value is not None)
    return _BETWEEN.join([*texts, *([MISSING_TEXT] if None in family else [])])


def in_order(families: Sequence[Family]) -> tuple[Family, ...]:
    """Return the same sets of values in the one order in which they are compared, missing ones last."""
    own = [tuple(sorted(family, key=missing_last)) for family in families]
    return tuple(sorted(own, key=lambda family: list(map(missing_last, family))))


def missing_last(value: str | None) -> tuple[bool, str]:
    """Return by what values are put in order, a missing one last."""
    return value is None, value or ""


def folded(value: str | None) -> str:
    """Return the same text for values that differ only in case, blanks around them or Unicode form.

    A missing value is the text that it is published as. A text too long for a normal form stays as it is.
    """
    if value is None:
        return MISSING_TEXT
    return normalized(value, _ALIKE) if len(value) <= MOST_LETTERS else value


def labels_of(families: Sequence[Family]) -> dict[str | None, str]:
    """Return for each value the label of its family.

    Raises
    ------
    SettingsError
        Without a place, if a family has fewer than two values, a value is in two, labels could be mistaken, or a
        text says no more than a missing value or another text. Its family is named, and not the value.
    """
    values = [value for family in families for value in family]
    if len(values) > MOST_VALUES:
        raise SettingsError("", f"must have at most {MOST_VALUES:,} values in all")
    if len(set(values)) < len(values):
        raise SettingsError("", "must not name a value twice")
    if any(len(family) < 2 for family in families):
        raise SettingsError("", "must have at least two values each")
    if any(_BETWEEN in value for value in values if value is not None):
        raise SettingsError("", f"must not have a value with {_BETWEEN!r}, which stands between values")
    if MISSING_TEXT in values:
        raise SettingsError(
            "", f"must not have the text {MISSING_TEXT!r}: so a missing value is published (write null)"
        )
    labels = {value: label_of(family) for family in families for value in family}
    if any(len(label) > MOST_LABEL for label in labels.values()):
        raise SettingsError("", f"must not have more than {MOST_LABEL:,} letters each")
    _refuse_alike(families)
    return labels


def check_rest(rest: str, families: Sequence[Family], shown_as: ShownAs) -> None:
    """Refuse a name of the rest, the values that no family lists, that reads as a family, a value or a missing one.

    Raises
    ------
    SettingsError
        Without a place. The name is no value, and stands in the settings.
    """
    if not families:
        raise SettingsError("", "needs families: the rest are the values that none of them lists")
    if shown_as is ShownAs.VALUE:
        raise SettingsError("", "is for publish: family: no class would keep values whole that nobody has listed")
    if len(rest) > MOST_LABEL:
        raise SettingsError("", f"must not have more than {MOST_LABEL:,} letters")
    if not folded(rest) or _BETWEEN in rest:
        raise SettingsError("", f"must be a name, without {_BETWEEN!r}, which stands between values of a family")
    if folded(rest) in {MISSING_TEXT, *(folded(value) for family in families for value in family)}:
        raise SettingsError(
            "", "must be no value of a family, and not null, in other letters neither: nobody could tell them apart"
        )


def _refuse_alike(families: Sequence[Family]) -> None:
    """Refuse what reads as a missing value, and two values of which nobody would say that they are two."""
    of_text: dict[str, int] = {}
    for number, family in enumerate(families, 1):
        for text in map(folded, family):
            if not text:
                raise SettingsError(
                    "",
                    f"must not have an empty text or one of blanks, as family {number} has: in tables it is a "
                    "missing value (write null, and name the text under input.null_values)",
                )
            if text in of_text:
                both = " and ".join(f"family {one}" for one in sorted({of_text[text], number}))
                raise SettingsError(
                    "",
                    "must not have values that differ only in case, blanks around them or Unicode form: they mean "
                    f"the same ({both})",
                )
            of_text[text] = number
