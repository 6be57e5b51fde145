"""Domains: how the values of a quasi-identifier become codes and how intervals of codes are published.

Every domain numbers its values 0..size-1 so that whatever may be published is an interval of codes. A domain
says what a value's code is, which node covers an interval, and how a node is written and read back. Values
that are missing or unknown are not its business: `attributes.QuasiIdentifier` adds a leaf for each.

The generalizers of the field are all here or built on what is here: suppression (`Hierarchy.flat`), integer
and decimal ranges (`NumericDomain`), prefixes (`PrefixDomain`), hierarchies (`CategoricalDomain`), dates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from stream_anon.errors import Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.hierarchy import ROOT_LABEL, Hierarchy

Scalar: TypeAlias = str | int | float | bool
Published: TypeAlias = Scalar | dict[str, int | float] | list[Scalar] | None

_MOST_WHOLE = 10**64  # no label is such a number, and Python refuses to write one of thousands of digits
WHOLE_TABLE = 1024  # leaves up to which an enumerable domain may list its values


class Domain(Protocol):
    """What every domain can do. Codes and bounds are integers with both ends included."""

    @property
    def size(self) -> int:
        """Return the number of codes."""
        ...

    @property
    def height(self) -> int:
        """Return the number of levels above a single value."""
        ...

    def code(self, value: object) -> int:
        """Return the code of a decoded value; `Unfit` if it is of a wrong type or outside."""
        ...

    def values(self) -> Mapping[Scalar, int] | None:
        """Return the code of every value as JSON decodes it, or None where these are too many."""
        ...

    def node(self, low: int, high: int) -> tuple[int, int]:
        """Return the bounds of the lowest node that covers `low` to `high`."""
        ...

    def level(self, low: int, high: int) -> int:
        """Return the level of the lowest node that covers `low` to `high`; 0 for one value."""
        ...

    def ncp(self, low: int, high: int) -> float:
        """Return the normalized certainty penalty of publishing exactly `low` to `high`."""
        ...

    def publish(self, low: int, high: int) -> Published:
        """Return what is written for the interval `low` to `high`, which need not be a node."""
        ...

    def read(self, published: object) -> tuple[int, int] | None:
        """Return the node whose bounds `publish` wrote, or None if it writes no node this way."""
        ...

    def longest(self) -> Sequence[Published]:
        """Return values of which one is as long, written as JSON, as anything that `publish` returns."""
        ...


def _text(value: object) -> str:
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


@dataclass(frozen=True)
class CategoricalDomain:
    """Categories under a hierarchy. NCP (Xu et al., KDD 2006): leaves under the node / leaves, 0 for one."""

    hierarchy: Hierarchy

    @property
    def size(self) -> int:
        return self.hierarchy.size

    @property
    def height(self) -> int:
        return self.hierarchy.height

    def code(self, value: object) -> int:
        code = self.hierarchy.code_of.get(_text(value))
        if code is None:
            raise Unfit(Reason.UNKNOWN_VALUE)
        return code

    def values(self) -> Mapping[Scalar, int]:
        return {label: code for label, code in self.hierarchy.code_of.items()}  # noqa: C416 - widens the keys

    def node(self, low: int, high: int) -> tuple[int, int]:
        tree = self.hierarchy
        node = tree.lowest_common_ancestor(low, high)
        return int(tree.first[node]), int(tree.last[node])

    def level(self, low: int, high: int) -> int:
        return self.hierarchy.level(self.hierarchy.lowest_common_ancestor(low, high))

    def ncp(self, low: int, high: int) -> float:
        return 0.0 if low == high else (high - low + 1) / self.size

    def publish(self, low: int, high: int) -> Published:
        node = self.hierarchy.lowest_common_ancestor(low, high)
        if node == 0:
            return ROOT_LABEL
        return self.hierarchy.labels[node]

    def read(self, published: object) -> tuple[int, int] | None:
        if not isinstance(published, str):
            return None
        node = 0 if published == ROOT_LABEL else self.hierarchy.node_of.get(published)
        if node is None:
            return None
        low, high = int(self.hierarchy.first[node]), int(self.hierarchy.last[node])
        # Of several nodes over the same leaves only the deepest is written, and the root only as "*".
        return (low, high) if self.publish(low, high) == published else None

    def longest(self) -> Sequence[Published]:
        return [ROOT_LABEL, *self.hierarchy.labels]


@dataclass(frozen=True)
class PrefixDomain:
    """Texts of one length of which a prefix may be published, as postal codes.

    Codes are numbers in the base of the alphabet, so that a prefix is an interval. Letters beyond `keep`,
    the longest prefix that fits a code, are never published. NCP is level / height, since the possible
    values far outnumber the used ones.

    Parameters
    ----------
    length
        Number of characters.
    alphabet
        The characters in order.
    keep
        Number of leading characters that are coded.
    """

    length: int
    alphabet: str
    keep: int

    @property
    def size(self) -> int:
        return int(len(self.alphabet) ** self.keep)

    @property
    def height(self) -> int:
        return self.length

    def code(self, value: object) -> int:
        text = value if isinstance(value, str) else self._digits(value)
        if len(text) != self.length:
            raise Unfit(Reason.UNKNOWN_VALUE)
        code = 0
        for i, letter in enumerate(text):
            place = self.alphabet.find(letter)
            if place < 0:
                raise Unfit(Reason.UNKNOWN_VALUE)
            if i < self.keep:
                code = code * len(self.alphabet) + place
        return code

    def _digits(self, value: object) -> str:
        """Return a whole number as text, with the leading zeros that a number loses."""
        text = _text(value)
        if isinstance(value, bool) or not text.isdigit():
            raise Unfit(Reason.WRONG_TYPE)
        return text.zfill(self.length)

    def values(self) -> None:
        return None

    def _cut(self, low: int, high: int) -> int:
        """Return how many coded characters must go until `low` and `high` agree."""
        base, cut = len(self.alphabet), 0
        while low != high:
            low, high, cut = low // base, high // base, cut + 1
        return cut

    def node(self, low: int, high: int) -> tuple[int, int]:
        width = len(self.alphabet) ** self._cut(low, high)
        return low // width * width, low // width * width + width - 1

    def level(self, low: int, high: int) -> int:
        return self._cut(low, high) + self.length - self.keep

    def ncp(self, low: int, high: int) -> float:
        return self.level(low, high) / self.length

    def publish(self, low: int, high: int) -> Published:
        level = self.level(low, high)
        if level == self.length:
            return ROOT_LABEL
        base = len(self.alphabet)
        rest = low // base ** (level - self.length + self.keep)
        letters = []
        for _ in range(self.length - level):
            rest, place = divmod(rest, base)
            letters.append(self.alphabet[place])
        return "".join(reversed(letters)) + "*" * level

    def read(self, published: object) -> tuple[int, int] | None:
        if published == ROOT_LABEL:
            return 0, self.size - 1
        if not isinstance(published, str) or len(published) != self.length:
            return None
        prefix = published.rstrip("*")
        if not prefix or len(prefix) > self.keep or any(letter not in self.alphabet for letter in prefix):
            return None
        code, base = 0, len(self.alphabet)
        for letter in prefix:
            code = code * base + self.alphabet.index(letter)
        width = base ** (self.keep - len(prefix))
        return code * width, code * width + width - 1

    def longest(self) -> Sequence[Published]:
        return [letter * self.length for letter in (*self.alphabet, ROOT_LABEL)]
