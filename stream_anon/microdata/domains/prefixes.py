"""The domain of texts that may be published as a prefix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from stream_anon.errors import SettingsError, Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.code_reading import ByPrefix, Reading
from stream_anon.microdata.domains.domain import Domain, Form, Published, Schema, category_text
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.domains.walk import PREFIX, Digit, Walk, digits_of_widths, powers_below

_MOST_CODES = 2**30
_MOST_LETTERS = 64


@dataclass(frozen=True)
class PrefixDomain(Domain):
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

    kind: ClassVar[str] = "prefix"

    def __post_init__(self) -> None:
        if len(set(self.alphabet)) < len(self.alphabet) or len(self.alphabet) < 2 or "*" in self.alphabet:
            raise SettingsError("prefix.alphabet", "must be at least two distinct characters without *")
        if not 1 <= self.keep <= self.length <= _MOST_LETTERS or self.size > _MOST_CODES:
            raise SettingsError("prefix.length", f"must be from 1 to {_MOST_LETTERS}, and prefixes fit their codes")

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
        text = category_text(value)
        if isinstance(value, bool) or not text.isdigit():
            raise Unfit(Reason.WRONG_TYPE)
        return text.zfill(self.length) if self.pad else text

    def _number(self, prefix: str) -> int:
        number = 0
        for letter in prefix:
            number = number * self.base + self.alphabet.index(letter) + self.shorter
        return number

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

    def reading(self) -> Reading:
        places = {letter: place for place, letter in enumerate(self.alphabet, start=self.shorter)}
        return ByPrefix(self.length, self.least, self.keep, places, self.base, self.pad)

    def walk(self) -> Walk:
        powers = [self.base**cut for cut in range(1, self.keep + 1)]
        never = self.length - self.keep
        return Walk(PREFIX, 1 / self.length, never / self.length, np.array(powers, np.int32))

    def level_walk(self) -> Walk:
        return self.walk()

    def digits(self) -> Sequence[Digit]:
        return digits_of_widths(self.size, powers_below(self.size, self.base))

    def schemas(self, form: Form) -> list[Schema]:  # noqa: ARG002 - a prefix has one form
        return [{"type": "string", "pattern": self._pattern(), "description": "a prefix"}]

    def _pattern(self) -> str:
        letters = "".join(f"\\{letter}" if letter in "\\]^-[" else letter for letter in self.alphabet)
        forms = []
        for kept in range(1, self.keep + 1):
            stars = self.length - kept
            if self.shorter and (stars == 0 or kept < self.keep):
                forms.append(f"[{letters}]{{{kept}}}")
            if stars or not self.shorter:
                forms.append(f"[{letters}]{{{kept}}}" + rf"\*{{{1 if self.shorter else stars}}}" * (stars > 0))
        return f"^({'|'.join(forms)})$"

    def words(self) -> str:
        return f"prefixes of {'up to ' if self.shorter else ''}{self.length} characters"
