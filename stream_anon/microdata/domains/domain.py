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
from typing import Any, Protocol, TypeAlias

from stream_anon.errors import Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL, Hierarchy

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

    def outline(self) -> dict[str, Any]:
        """Return in JSON what values may be published as.

        `levels` are the ways to cut the domain into nodes, the finest first and without the root: each has a `name`
        and the number of `groups` it makes. Two domains of one `kind` and one `grid` have the nodes of every level
        whose name both have; of another grid they may have none.
        """

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

    def outline(self) -> dict[str, Any]:
        """See `Domain`; a level is named by the hash of its groups' leaves, whatever the groups are called."""
        return {
            "kind": "categorical",
            "grid": {},
            "levels": [
                {"name": name, "groups": groups}
                for name, groups in map(self.hierarchy.fingerprint, range(self.height))
            ],
        }

    def longest(self) -> Sequence[Published]:
        return [ROOT_LABEL, *self.hierarchy.labels]


@dataclass(frozen=True)
class PrefixDomain:
    """Texts of which a prefix may be published, as postal codes.

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
    pad
        A whole number of fewer digits gets the zeros in front that a number loses. Without it, a number is the text
        of its digits.
    shorter
        Texts may have any length from 1 to `length`. Then the end of a text is a letter of its own before all
        others, and `SW1A*` stands for all texts that begin with SW1A, this one too: it does not tell the length.
    """

    length: int
    alphabet: str
    keep: int
    pad: bool = False
    shorter: bool = False

    @property
    def base(self) -> int:
        """Return how many letters a place of a code can hold, the end of a shorter text among them."""
        return len(self.alphabet) + self.shorter

    @property
    def least(self) -> int:
        """Return the least length of a text."""
        return 1 if self.shorter else self.length

    @property
    def size(self) -> int:
        return int(self.base**self.keep)

    @property
    def height(self) -> int:
        return self.length

    def code(self, value: object) -> int:
        text = value if isinstance(value, str) else self._digits(value)
        if not self.least <= len(text) <= self.length or any(letter not in self.alphabet for letter in text):
            raise Unfit(Reason.UNKNOWN_VALUE)
        prefix = text[: self.keep]
        return int(self._number(prefix) * self.base ** (self.keep - len(prefix)))

    def _digits(self, value: object) -> str:
        text = _text(value)
        if isinstance(value, bool) or not text.isdigit():
            raise Unfit(Reason.WRONG_TYPE)
        return text.zfill(self.length) if self.pad else text

    def _number(self, prefix: str) -> int:
        number = 0
        for letter in prefix:
            number = number * self.base + self.alphabet.index(letter) + self.shorter
        return number

    def values(self) -> None:
        return None

    def _cut(self, low: int, high: int) -> int:
        """Return how many coded characters must go until `low` and `high` agree and are a text or its beginning."""
        cut = 0
        while low != high:
            low, high, cut = low // self.base, high // self.base, cut + 1
        if not self.shorter:
            return cut
        places = self._places(low, cut)
        if 0 not in places:
            return cut
        end = places.index(0)
        whole = end > 0 and cut == 0 and not any(places[end:])
        return 0 if whole else self.keep - end

    def _places(self, number: int, cut: int) -> list[int]:
        """Return the places of a code's first letters that are left when `cut` of them have gone."""
        places = []
        for _ in range(self.keep - cut):
            number, place = divmod(number, self.base)
            places.append(place)
        return places[::-1]

    def node(self, low: int, high: int) -> tuple[int, int]:
        width = self.base ** self._cut(low, high)
        return low // width * width, low // width * width + width - 1

    def level(self, low: int, high: int) -> int:
        return self._cut(low, high) + self.length - self.keep

    def ncp(self, low: int, high: int) -> float:
        return self.level(low, high) / self.length

    def publish(self, low: int, high: int) -> Published:
        level = self.level(low, high)
        if level == self.length:
            return ROOT_LABEL
        cut = level - self.length + self.keep
        places = self._places(low // self.base**cut, cut)
        if not self.shorter:
            return "".join(self.alphabet[place] for place in places) + "*" * level
        text = "".join(self.alphabet[place - 1] for place in places if place)
        return text if len(text) < len(places) or not level else text + "*"

    def read(self, published: object) -> tuple[int, int] | None:
        if published == ROOT_LABEL:
            return 0, self.size - 1
        if not isinstance(published, str):
            return None
        prefix = published.rstrip("*")
        if not 1 <= len(prefix) <= self.keep or any(letter not in self.alphabet for letter in prefix):
            return None
        cut = self.keep - len(prefix)
        code, width = self._number(prefix) * self.base**cut, self.base**cut
        # A text without a star is the whole of a shorter one.
        bounds = (code, code) if self.shorter and prefix == published else (code, code + width - 1)
        return bounds if self.publish(*bounds) == published else None

    def outline(self) -> dict[str, Any]:
        """See `Domain`."""
        return {
            "kind": "prefix",
            "grid": {"length": self.length, "alphabet": self.alphabet, "shorter": self.shorter},
            "levels": [{"name": str(kept), "groups": self.base**kept} for kept in range(self.keep, 0, -1)],
        }

    def longest(self) -> Sequence[Published]:
        return [letter * self.length for letter in (*self.alphabet, ROOT_LABEL)]
