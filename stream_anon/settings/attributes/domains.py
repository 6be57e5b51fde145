"""Settings of domains: a model for each, which says how it is built."""

from __future__ import annotations

import datetime as dt
import string
from abc import abstractmethod
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from stream_anon.errors import SettingsError
from stream_anon.microdata.domains.addresses import DEFAULT_PREFIXES, DEFAULT_WITHIN, AddressDomain
from stream_anon.microdata.domains.automatic import equal_width
from stream_anon.microdata.domains.calendar.calendar_cells import Finest
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.domain import Domain
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.domains.ranges import RangedDomain
from stream_anon.settings.sections.section import Section

_ALPHABETS = {
    "digits": string.digits,
    "letters": string.ascii_uppercase,
    "alphanumeric": string.digits + string.ascii_uppercase,
}
_MOST_CODES = 2**30


class DomainSettings(Section):
    """What a domain is built from."""

    @abstractmethod
    def build(self, key: str) -> Domain:
        """Return the domain; `key` is where its settings stand, for errors."""


class NumericSettings(DomainSettings):
    """A grid of numbers."""

    explanation = """A number is published as itself, or in an interval. At most one of
three keys says which intervals there are:

- Without any the range is halved, again and again.
- `levels: [5, 10, 20]` are intervals of these widths.
- `ranges: 8` are about 8 intervals of one width, then half as many of twice the width, and so on.
- `cuts: [18, 30, 45, 65]` are intervals that begin at `min` and at these numbers, then two of them together, and so
  on.

Cuts at which about as many people stand in each interval (equal frequency) tell something about the people that
they were computed from, and policy documents hold them. So they are never computed from a window, but written in
the settings file. `stream-anon propose --equal-frequency NAME=8` finds them in a sample, and begins an interval
only in a cell of the grid that enough people share."""

    min: int | float
    """Least value."""
    max: int | float
    """Greatest value."""
    step: int | float | None = None
    """Width of a cell; 1 by default."""
    decimals: int | None = Field(default=None, ge=0, le=9)
    """Most decimals of a value; without it and without whole bounds, values are continuous."""
    levels: list[int | float] = []
    """Widths of the intervals, narrow first; without them the range is halved."""
    publish: Literal["nodes", "tight"] = "nodes"
    """Nodes of the grid, or the range from the least to the greatest value."""
    ranges: int | None = Field(default=None, ge=2, le=10_000)
    """About so many intervals of one width; `arity` of them make one of the next level."""
    cuts: list[int | float] = Field(default=[], max_length=10_000)
    """First numbers of intervals of any width; the first one begins at `min`."""
    arity: int = Field(default=2, ge=2, le=1000)
    """Of `ranges` and `cuts`: how many intervals make one of the next level."""

    def build(self, key: str) -> Domain:  # noqa: D102 - see DomainSettings
        numbers = [self.min, self.max, *([] if self.step is None else [self.step])]
        whole = all(isinstance(number, int) for number in numbers)
        decimals = 0 if self.decimals is None and whole else self.decimals
        step = Decimal(str(self.step)) if self.step is not None else Decimal(1).scaleb(-(decimals or 0))
        levels = tuple(Decimal(str(width)) for width in self.levels)
        for place, width in enumerate(levels):
            if width <= 0:
                raise SettingsError(f"{key}.levels.{place}", f"{width} is no width: it must be above 0")
        if sum((bool(levels), self.ranges is not None, bool(self.cuts))) > 1:
            raise SettingsError(key, "may have one of levels, ranges and cuts")
        grid = (Decimal(str(self.min)), Decimal(str(self.max)), step, decimals)
        tight = self.publish == "tight"
        if self.cuts:
            cuts = tuple(Decimal(str(cut)) for cut in self.cuts)
            return RangedDomain(*grid, tight=tight, key=key, cuts=cuts, arity=self.arity)
        if self.ranges is None:
            return NumericDomain(*grid, levels, tight, key)
        cells = NumericDomain(*grid, key=key).size
        if self.ranges > cells:
            raise SettingsError(f"{key}.ranges", f"must be at most {cells}, the number of cells")
        widths = equal_width(cells, self.ranges, self.arity)
        return NumericDomain(*grid, tuple(width * step for width in widths), tight, key)


class PrefixSettings(DomainSettings):
    """Texts that may be published as a prefix."""

    explanation = """A value of length 5 is published as `02138`, `0213*`, `021**` and so on. A whole
number is the text of its digits: JSON has no zeros in front, so 2138 is outside, or 02138 with `pad: zeros`. With
`shorter: true` a value may have any length up to `length`: `SW1A*` stands for every value that begins with SW1A and
does not tell how many characters follow; `pad` is for values of one length only."""

    length: int = Field(ge=1, le=64)
    """Characters of a value."""
    alphabet: str = Field(default="digits", min_length=2)
    """digits, letters, alphanumeric, or the characters themselves."""
    pad: Literal["zeros"] | None = None
    """zeros: whole numbers get back the zeros in front that they lost; without it 2138 does not fit 5."""
    shorter: bool = False
    """Values of fewer characters fit too, as postal codes of Britain do; SW1A* tells no length."""

    def build(self, key: str) -> Domain:  # noqa: D102 - see DomainSettings
        alphabet = _ALPHABETS.get(self.alphabet, self.alphabet)
        if len(set(alphabet)) < len(alphabet) or "*" in alphabet:
            raise SettingsError(
                f"{key}.alphabet", "must be digits, letters, alphanumeric, or distinct characters without *"
            )
        if self.pad and ("0" not in alphabet or self.shorter):
            raise SettingsError(f"{key}.pad", "needs an alphabet with 0, and values of one length")
        keep = self.length
        while (len(alphabet) + self.shorter) ** keep > _MOST_CODES:
            keep -= 1
        return PrefixDomain(self.length, alphabet, keep, self.pad == "zeros", self.shorter)


class DateSettings(DomainSettings):
    """Days, of texts that tell them or of moments."""

    explanation = """`format` is a pattern of strptime, or one of these words:

- `iso8601`: `2024-05-13T22:30:00+02:00`, with or without time of day, fraction and offset (`Z` for UTC).
- `epoch-s`, `epoch-ms`, `epoch-us`, `epoch-d`: numbers of seconds and so on since 1970 in UTC; `d` is for days.

With `zone: Europe/Berlin` days are those of that zone. It needs numbers of seconds or less, or texts with an
offset (`iso8601`, `%z`); a text without one is a day of the zone. Without `zone` a text tells its own day, whatever
its offset, and numbers are days of UTC.

With `finest: hour` or `finest: minute` the hierarchy has further levels below the day: `2024-05-13T08:15` is
published as itself, as `2024-05-13T08`, as `2024-05-13` and so on. The levels of `min_level` and `max_level` are
counted from the finest one. Hours are those of the zone's clocks. A day on which they change has 23 or 25 hours,
and an hour that it has twice is two hours, `2024-10-27T02+02:00` and `2024-10-27T02+01:00`. A text without an
offset means the first of the two. A text without a time of day is of a wrong type. At most 43690 days are possible,
about 119 years."""

    format: str = "%Y-%m-%d"
    """How the input writes a day: as in strptime, or iso8601, epoch-d, epoch-s, epoch-ms, epoch-us."""
    min: str
    """First day, such as 2024-01-01."""
    max: str
    """Last day."""
    zone: Annotated[str, Field(min_length=1)] | None = None
    """The zone of the IANA time zone database whose days are published, such as Europe/Berlin."""
    finest: Literal["day", "hour", "minute"] = "day"
    """The lowest level that may be published; a time of day below it is dropped."""

    def build(self, key: str) -> Domain:  # noqa: D102 - see DomainSettings
        days = []
        for name in ("min", "max"):
            try:
                days.append(dt.date.fromisoformat(getattr(self, name)))
            except ValueError:
                raise SettingsError(f"{key}.{name}", "must be a day such as 2024-05-13") from None
        return DateDomain(self.format, days[0], days[1], key, self.zone or "", Finest(self.finest))


class IpSettings(DomainSettings):
    """Internet addresses, published as networks in CIDR notation."""

    explanation = """With `{version: 4}` the address 10.1.2.3 is published as `10.1.2.0/24`,
`10.1.0.0/16`, `10.0.0.0/8` or `*`. All spellings of an address are one value: upper case, zeros that are left out,
and `::ffff:10.1.2.3` for 10.1.2.3. An address of the other version, or not in `within`, is outside (`unknown`). A
text that is no address, or has a zone (`%eth0`), is of a wrong type.

A code holds 30 bits, so a prefix may be 30 longer than that of `within` at the most: up to /30 in all of version 4,
and up to /33 in the public addresses of version 6. The longest prefix is then the finest that is ever published.
Where `within` leaves 30 bits or fewer (from /2 of version 4, from /98 of version 6), a class that holds one address
only publishes it as it is (`10.1.2.3`). For the customers of one provider of version 6, declare its network,
such as `within: "2001:db8::/32"`, and prefixes such as `[40, 48, 56]`."""

    version: Literal[4, 6]
    """Version of the addresses."""
    prefixes: list[int] | None = Field(default=None, min_length=1)
    """Lengths of the prefixes that may be published, short first; `[8, 16, 24]` by default, `[16, 24, 32]` of
    version 6."""
    within: str | None = Field(default=None)
    """The network that holds all addresses, such as 10.0.0.0/8; without it all of version 4 and the public ones
    of version 6, 2000::/3."""

    def build(self, key: str) -> Domain:  # noqa: D102 - see DomainSettings
        prefixes = DEFAULT_PREFIXES[self.version] if self.prefixes is None else tuple(self.prefixes)
        return AddressDomain(self.version, prefixes, self.within or DEFAULT_WITHIN[self.version], key)


class BalancedSettings(Section):
    """An automatic hierarchy: `arity` neighbours of an ordered list under each node."""

    explanation = """\
A mapping with these two keys is built from an ordered list. `hierarchy` may also name a CSV file
with a row per leaf, from leaf to root, or be a nested mapping of groups. The file must be a regular one of 64 MiB
at the most; errors name its lines and never its words. Aliases of YAML (`&name`, `*name`) may
repeat a million characters."""

    ordered: list[str | int | bool] = Field(min_length=2)
    """The values in order."""
    arity: int = Field(default=2, ge=2, le=1000)
    """Neighbours under one node."""


class WordsSettings(Section):
    """An automatic hierarchy: texts under what they begin with, word by word."""

    explanation = """\
A mapping with `texts` is built from what the texts begin with: `this is a test` is published as
`this is a`, then `this is`, then `this`, then `*`. A text must not be what another one begins with."""

    texts: list[Annotated[str, Field(min_length=1)]] = Field(min_length=2)
    """All values."""
    separator: str = Field(default=" ", min_length=1)
    """What stands between words."""
