"""Domains: how the values of a quasi-identifier become codes and how intervals of codes are published.

Every domain numbers its values 0..size-1 so that whatever may be published is an interval of codes. A domain
says what a value's code is, which node covers an interval, and how a node is written and read back. Values
that are missing or unknown are not its business: `attributes.QuasiIdentifier` adds a leaf for each.

No other code asks which domain it is: readers, kernels, schemas and pages use the methods of `Domain`.
The generalizers of the field are all in this folder or built on what is: suppression (`Hierarchy.flat`), integer
and decimal ranges (`numbers`, `ranges`), prefixes (`prefixes`), hierarchies (`categories`), ordered categories
(`ordered`), dates.
`domain_kinds` lists them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias

from stream_anon.errors import Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.calendar.clocks import Clocks
from stream_anon.microdata.domains.code_reading import Reading
from stream_anon.microdata.domains.walk import Digit, Walk

Scalar: TypeAlias = str | int | float | bool
End: TypeAlias = int | float | dt.date
Published: TypeAlias = Scalar | dict[str, int | float] | list[Scalar] | None
Schema: TypeAlias = dict[str, Any]

_MOST_WHOLE = 10**64  # no label is such a number, and Python refuses to write one of thousands of digits
WHOLE_TABLE = 1024  # leaves up to which something may be listed for each two of them


class Form(NamedTuple):
    """How an attribute writes what its domain publishes.

    Parameters
    ----------
    write
        What becomes of a published value: an exact category may have a type.
    type
        The JSON type of an exact category.
    sets
        Whether sets of categories are published, not groups.
    """

    write: Callable[[Published], Published]
    type: str = "string"
    sets: bool = False


WrittenEnd: TypeAlias = int | float | str


class Interval(Protocol):
    """How values that have an order are written by the least and the greatest one, on whatever level they are.

    Parameters
    ----------
    type
        `integer`, `number`, `date`, `timestamp` or `local-timestamp`. A date is a text such as `2024-05-13`, a
        timestamp one such as `2024-05-13T08:00:00+02:00`, and a local one has no offset from UTC.
    least, greatest
        The ends of the whole range.
    """

    @property
    def type(self) -> str:
        """Return the type of both ends."""
        ...

    @property
    def least(self) -> WrittenEnd:
        """Return the least value."""
        ...

    @property
    def greatest(self) -> WrittenEnd:
        """Return the greatest value."""
        ...

    def ends(self, published: Any) -> tuple[WrittenEnd, WrittenEnd]:
        """Return the least and the greatest value of what `publish` wrote, or of the root."""
        ...

    def published(self, least: Any, greatest: Any) -> Published:
        """Return what `publish` wrote for these ends; anything, or TypeError or ValueError, if it wrote none."""
        ...


class Domain(Protocol):
    """What every domain can do. Codes and bounds are integers with both ends included.

    Parameters
    ----------
    kind
        Its name in policy documents and outlines.
    ordered
        Whether near codes are near values, as of numbers and days.
    """

    kind: ClassVar[str]
    ordered: ClassVar[bool] = False

    @property
    def clocks(self) -> Clocks | None:
        """Return which codes days and moments have; None unless `code` takes a `datetime.date` and `.datetime`."""
        return None

    @property
    def size(self) -> int:
        """Return the number of codes."""
        ...

    @property
    def height(self) -> int:
        """Return the number of levels above a single value."""
        ...

    @property
    def tight(self) -> bool:
        """Return whether any interval may be published, not only nodes."""
        return False

    def code(self, value: object) -> int:
        """Return the code of a decoded value; `Unfit` if it is of a wrong type or outside."""
        ...

    def labels(self) -> Mapping[str, int] | None:
        """Return the code of every category; None where values are no categories.

        Categories may be written in another type than text, and as sets.
        """
        return None

    def node(self, low: int, high: int) -> tuple[int, int]:
        """Return the bounds of the lowest node that covers `low` to `high`."""
        ...

    def above(self, low: int, high: int) -> tuple[int, int]:
        """Return the bounds of the least node around a node; those of the root are its own."""
        wider = [self.node(low - 1, high)] if low > 0 else []
        if high + 1 < self.size:
            wider.append(self.node(low, high + 1))
        return min(wider, key=lambda bounds: bounds[1] - bounds[0], default=(low, high))

    def level(self, low: int, high: int) -> int:
        """Return the level of the lowest node that covers `low` to `high`; 0 for one value."""
        ...

    def node_at(self, code: int, level: int) -> tuple[int, int]:
        """Return the bounds of the highest node around a code that is not above `level`, tight or not.

        Level 0 is the code alone. A branch that is short stays at its leaf until the level above it is reached, as
        in Aggarwal et al. (2005). O(height).
        """
        low = high = code
        while True:
            above = self.above(low, high)
            if above == (low, high) or self.level(*above) > level:
                return low, high
            low, high = above

    def by_nodes(self) -> Domain:
        """Return the domain as it publishes nodes only."""
        return self

    def unnamed_whole(self) -> Self:
        """Return the domain as it publishes all its values together under no other name than the root's."""
        return self

    def ncp(self, low: int, high: int) -> float:
        """Return the normalized certainty penalty of publishing exactly `low` to `high`.

        Without an arithmetic of its own: codes of the interval / codes, 0 for one (Xu et al., KDD 2006).
        """
        return 0.0 if low == high else (high - low + 1) / self.size

    def publish(self, low: int, high: int) -> Published:
        """Return what is written for the interval `low` to `high`, which need not be a node."""
        ...

    def ends(self, low: int, high: int) -> tuple[End, End] | None:
        """Return the least and the greatest value of an interval of codes; None where values are texts."""
        del low, high
        return None

    def read(self, published: object) -> tuple[int, int] | None:
        """Return the node whose bounds `publish` wrote, or None if it writes no node this way."""
        ...

    def outline(self) -> dict[str, Any]:
        """Return in JSON what values may be published as.

        `levels` are the ways to cut the domain into nodes, the finest first and without the root: each has a `name`
        and the number of `groups` it makes. Two domains of one `kind` and one `grid` have the nodes of every level
        whose name both have; of another grid they may have none.
        """
        ...

    def longest(self) -> Sequence[Published]:
        """Return values among which is one whose JSON is as long as that of anything that `publish` returns."""
        ...

    def interval(self) -> Interval | None:
        """Return how values are written by least and greatest one; None where they are texts."""
        return None

    def reading(self) -> Reading:
        """Return how readers of bytes find a value's code."""
        ...

    def walk(self) -> Walk:
        """Return how kernels find the nodes and their NCP."""
        ...

    def level_walk(self) -> Walk:
        """Return how kernels find the nodes and their level / height."""
        ...

    def digits(self) -> Sequence[Digit]:
        """Return the digits of the codes, from the root down; together they tell every code from any other."""
        ...

    def schemas(self, form: Form) -> list[Schema]:
        """Return a JSON Schema for each form of what is published beside "*" and null; no value fits two."""
        ...

    def words(self) -> str:
        """Return what the values are, for people."""
        ...

    @classmethod
    def proposal(cls, values: Sequence[object]) -> Mapping[str, Mapping[str, object]] | None:
        """Return settings that fit most of `values` and reveal none of them, or None if there are no such settings.

        A domain whose settings would hold values, as the ends of a range, is proposed in `operations.propose`,
        which knows whose values they are.
        """
        del values
        return None


def category_text(value: object) -> str:
    """Return a category's text: strings as they are, whole numbers and truth values as JSON writes them."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if abs(value) >= _MOST_WHOLE:
            raise Unfit(Reason.UNKNOWN_VALUE)
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    raise Unfit(Reason.WRONG_TYPE)
