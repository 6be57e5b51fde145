"""Families: values of a sensitive attribute that are published as one, so that returning narrows nothing down.

m-invariance (Xiao and Tao, SIGMOD 2007) asks that whoever comes again is always among the same m values. It keeps a
state for that; a fixed partition of the values needs none. What is published is the family, a set of values, as a
node of a hierarchy is one: the intersection over any number of windows is the family itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from stream_anon.errors import SettingsError

Family = tuple[str | None, ...]
"""Values that are published as one; None is a missing value."""

MOST_VALUES = 10_000
MOST_LABEL = 1_000
"""Letters of a published family."""
_BETWEEN = "|"
_MISSING = "null"


def label_of(family: Family) -> str:
    """Return how a family is published, whatever the order of its values: `asthma|cold|flu`, a missing one last."""
    texts = sorted(value for value in family if value is not None)
    return _BETWEEN.join([*texts, *([_MISSING] if None in family else [])])


def labels_of(families: Sequence[Family]) -> dict[str | None, str]:
    """Return for each value the label of its family.

    Raises
    ------
    SettingsError
        Without a place, if a family has fewer than two values, a value is in two, or labels could be mistaken.
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
    if _MISSING in values:
        raise SettingsError(
            "", f"must not have the text {_MISSING!r}: so a missing value is published (write null)"
        )
    labels = {value: label_of(family) for family in families for value in family}
    if any(len(label) > MOST_LABEL for label in labels.values()):
        raise SettingsError("", f"must not have more than {MOST_LABEL:,} letters each")
    return labels
