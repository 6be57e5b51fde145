"""One type an attribute: what is published, written so that each record has the same type under a key.

======================  ==========================  ==================  ================  ==================
attribute               exact                       generalized         missing           anything
======================  ==========================  ==================  ================  ==================
number                  ``{"min": 3, "max": 3}``    ``min`` and ``max`` both ``null``     the whole range
date                    ``min`` and ``max`` a day   first and last day  both ``null``     the whole range
category, prefix, ...   ``"3"``                     ``"3*"``            ``null``          ``"*"``
set of categories       ``["3"]``                   ``["3", "5"]``      ``null``          ``["*"]``
======================  ==========================  ==================  ================  ==================

Each form writes what the natural shape writes and reads it back, so that whatever judges released records knows the
natural shape alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.domains.domain import Interval, Published
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

ENDS = ("min", "max")
_ERRORS = (LookupError, TypeError, ValueError, OverflowError, RecursionError)


class TypedForm(Protocol):
    """Writes the values of one attribute in one type, and reads them back."""

    def write(self, published: Any) -> Any:
        """Return the typed value of something that the natural shape writes."""
        ...

    def natural(self, value: Any) -> Any:
        """Return what the natural shape writes for a typed value; any value or error for one that nobody wrote."""
        ...

    def longest(self) -> Sequence[Any]:
        """Return typed values among which is one whose JSON is as long as that of any."""
        ...


def typed_form(attribute: QuasiIdentifier) -> TypedForm:
    """Return how the values of an attribute are written in one type."""
    if attribute.publication is PublishedForm.VALUES:
        return SetForm(attribute)
    interval = attribute.domain.interval()
    return TextForm(attribute) if interval is None else IntervalForm(attribute, interval)


def read_typed(form: TypedForm, value: Any) -> Any:
    """Return what the natural shape writes for a typed value.

    What the form cannot have written, to the letter, becomes an object that no attribute publishes.
    """
    try:
        natural = form.natural(value)
        if msgspec.json.encode(form.write(natural)) == msgspec.json.encode(value):
            return natural
    except _ERRORS:
        pass
    return {"unreadable": value}


@dataclass(frozen=True, slots=True)
class IntervalForm:
    """Numbers and dates: the least and the greatest value, both included."""

    attribute: QuasiIdentifier
    interval: Interval

    def write(self, published: Any) -> Any:
        """See `TypedForm`."""
        least, greatest = (None, None) if published is None else self.interval.ends(published)
        return {"min": least, "max": greatest}

    def natural(self, value: Any) -> Any:
        """See `TypedForm`."""
        least, greatest = value["min"], value["max"]
        return None if least is None and greatest is None else self.interval.published(least, greatest)

    def longest(self) -> Sequence[Any]:
        """See `TypedForm`."""
        return [self.write(None), self.write(ROOT_LABEL), *map(self.write, self.attribute.domain.longest())]


@dataclass(frozen=True, slots=True)
class TextForm:
    """Categories, prefixes and other texts: an exact category is written as its label, whatever its type."""

    attribute: QuasiIdentifier

    def write(self, published: Any) -> Any:
        """See `TypedForm`."""
        return published if published is None or isinstance(published, str) else label_of(published)

    def natural(self, value: Any) -> Any:
        """See `TypedForm`."""
        return self.attribute.typed(value)

    def longest(self) -> Sequence[Any]:
        """See `TypedForm`."""
        return [None, ROOT_LABEL, *self.attribute.domain.longest()]


@dataclass(frozen=True, slots=True)
class SetForm:
    """Sets of categories: a list of labels in the hierarchy's order, or of `*` alone."""

    attribute: QuasiIdentifier

    def write(self, published: Any) -> Any:
        """See `TypedForm`."""
        if published is None:
            return None
        return [label_of(one) for one in (published if isinstance(published, list) else [published])]

    def natural(self, value: Any) -> Any:
        """See `TypedForm`."""
        if value is None:
            return None
        found = [self.attribute.typed(label) for label in value]
        return found if len(found) > 1 else found[0]

    def longest(self) -> Sequence[Any]:
        """See `TypedForm`."""
        return [None, [ROOT_LABEL], list(self.attribute.domain.labels() or ())]


def label_of(published: Published) -> str:
    """Return the label of a category that is published in its type."""
    if isinstance(published, str):
        return published
    if isinstance(published, bool):
        return "true" if published else "false"
    if isinstance(published, float) and published.is_integer():
        return str(int(published))
    return str(published)
