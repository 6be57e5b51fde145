"""Ids in several spellings: what is made alike before individuals are told apart.

A person whose id comes in two spellings counts as two people: a class of k then holds fewer people than k. What is
alike in one system is not in another (`007` and `7`), so each step is asked for by name. Two people whose ids are
made alike by mistake count as one: classes are then larger than they had to be, never smaller.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from enum import StrEnum

from stream_anon.errors import Unfit
from stream_anon.microdata.batch import Reason

# Unicode's normal forms sort marks in quadratic time: 200 kB of them took 22 s.
MOST_LETTERS = 512


class Normalization(StrEnum):
    """A difference between two spellings of an id that does not make two people of them; applied in this order."""

    NFKC = "nfkc"
    CASEFOLD = "casefold"
    STRIP = "strip"
    UUID = "uuid"
    DIGITS = "digits"


_UUID = re.compile(
    r"(?:urn:uuid:)?(\{)?([0-9a-f]{8})(-)?([0-9a-f]{4})(?(3)-)([0-9a-f]{4})(?(3)-)([0-9a-f]{4})(?(3)-)([0-9a-f]{12})"
    r"(?(1)\})",
    re.ASCII | re.IGNORECASE,
)


def in_order(steps: Collection[Normalization]) -> tuple[Normalization, ...]:
    """Return steps in the order in which they are applied, each once."""
    return tuple(step for step in Normalization if step in steps)


def normalized(text: str, steps: Collection[Normalization]) -> str:
    """Return the one spelling of an id, maybe an empty one; the same again for its own answer.

    Parameters
    ----------
    text
        An id as it was written.
    steps
        Which differences do not count. `nfkc`: Unicode's compatibility form (UAX 15), and with `casefold` caseless
        matching as the Unicode standard has it (D146). `casefold`: upper and lower case. `strip`: blanks, control
        and format characters at both ends. `uuid`: case, braces, hyphens and `urn:uuid:` of a UUID.
        `digits`: zeros in front of an id of digits alone, and the script they are written in.

    Raises
    ------
    Unfit
        For more than 512 characters, if any step is asked for: the time a normal form takes grows with the square.
    """
    if not steps:
        return text
    if len(text) > MOST_LETTERS:
        raise Unfit(Reason.WRONG_TYPE)
    composed, folded = Normalization.NFKC in steps, Normalization.CASEFOLD in steps
    if text.isascii():
        text = text.lower() if folded else text
    elif composed and folded:
        # Marks are folded before they are ordered, and what a compatibility form brings is folded again.
        text = unicodedata.normalize("NFD", text).casefold()
        text = unicodedata.normalize("NFKD", text).casefold()
        text = unicodedata.normalize("NFKC", text)
    elif composed:
        text = unicodedata.normalize("NFKC", text)
    elif folded:
        text = text.casefold()
    if Normalization.STRIP in steps:
        text = _stripped(text)
    if Normalization.UUID in steps and (found := _UUID.fullmatch(text)):
        text = "".join(found.group(2, 4, 5, 6, 7)).lower()
    if Normalization.DIGITS in steps and text.isdecimal():
        text = "".join(str(unicodedata.decimal(letter)) for letter in text).lstrip("0") or "0"
    return text


def _stripped(text: str) -> str:
    start, stop = 0, len(text)
    while start < stop and _is_blank(text[start]):
        start += 1
    while start < stop and _is_blank(text[stop - 1]):
        stop -= 1
    return text[start:stop]


def _is_blank(letter: str) -> bool:
    return letter.isspace() or unicodedata.category(letter) in ("Cc", "Cf")
