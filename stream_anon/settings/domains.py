"""Settings of declared fields, and the domains that they build.

A domain is added here as a model that says how it is built and a field of `AttributeSettings`.
"""

from __future__ import annotations

import datetime as dt
import string
from abc import abstractmethod
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from stream_anon.errors import SettingsError
from stream_anon.microdata.domains.addresses import DEFAULT_PREFIXES, DEFAULT_WITHIN, AddressDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.domain import Domain
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.settings.section import Section

_ALPHABETS = {
    "digits": string.digits,
    "letters": string.ascii_uppercase,
    "alphanumeric": string.digits + string.ascii_uppercase,
}
_MOST_CODES = 2**30


class DomainSettings(Section):
    """What a domain is built from.

    Parameters
    ----------
    explanation
        What the page on settings says of it, beside the table of its keys.
    """

    explanation: ClassVar[str] = ""

    @abstractmethod
    def build(self, key: str) -> Domain:
        """Return the domain; `key` is where its settings stand, for errors."""


class NumericSettings(DomainSettings):
    """A grid of numbers."""

    min: int | float
    max: int | float
    step: int | float | None = None
    decimals: int | None = Field(default=None, ge=0, le=9)
    levels: list[int | float] = []
    publish: Literal["nodes", "tight"] = "nodes"

    def build(self, key: str) -> Domain:  # noqa: D102 - see DomainSettings
        numbers = [self.min, self.max, *([] if self.step is None else [self.step])]
        whole = all(isinstance(number, int) for number in numbers)
        decimals = 0 if self.decimals is None and whole else self.decimals
        step = Decimal(str(self.step)) if self.step is not None else Decimal(1).scaleb(-(decimals or 0))
        levels = tuple(Decimal(str(width)) for width in self.levels)
        if any(width <= 0 for width in levels):
            raise SettingsError(f"{key}.levels", "widths must be above 0")
        return NumericDomain(
            Decimal(str(self.min)),
            Decimal(str(self.max)),
            step,
            decimals,
            levels,
            self.publish == "tight",
            key,
        )


class PrefixSettings(DomainSettings):
    """Texts of which a prefix may be published."""

    explanation: ClassVar[str] = """A value of length 5 is published as `02138`, `0213*`, `021**` and so on. A whole
number is the text of its digits: JSON has no zeros in front, so 2138 is outside, or 02138 with `pad: zeros`. With
`shorter: true` a value may have any length up to `length`: `SW1A*` stands for every value that begins with SW1A and
does not tell how many characters follow; `pad` is for values of one length only."""

    length: int = Field(ge=1, le=64)
    alphabet: str = Field(default="digits", min_length=2)
    pad: Literal["zeros"] | None = None
    shorter: bool = False

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
    """Days; `format` is as in strptime."""

    format: str = "%Y-%m-%d"
    min: str
    max: str

    def build(self, key: str) -> Domain:  # noqa: D102 - see DomainSettings
        days = []
        for name in ("min", "max"):
            try:
                days.append(dt.date.fromisoformat(getattr(self, name)))
            except ValueError:
                raise SettingsError(f"{key}.{name}", "must be a day such as 2024-05-13") from None
        return DateDomain(self.format, days[0], days[1], key)


class IpSettings(DomainSettings):
    """Internet addresses, published as networks in CIDR notation."""

    explanation: ClassVar[str] = """With `{version: 4}` the address 10.1.2.3 is published as `10.1.2.0/24`,
`10.1.0.0/16`, `10.0.0.0/8` or `*`. All spellings of an address are one value: upper case, zeros that are left out,
and `::ffff:10.1.2.3` for 10.1.2.3. An address of the other version, or not in `within`, is outside (`unknown`). A
text that is no address, or has a zone (`%eth0`), is of a wrong type.

A code holds 30 bits, so a prefix may be 30 longer than that of `within` at the most: up to /30 in all of version 4,
and up to /33 in the public addresses of version 6. The longest prefix is then the finest that is ever published.
Where `within` leaves 30 bits or fewer (from /2 of version 4, from /98 of version 6), a class that holds one address
only publishes it as it is (`10.1.2.3`). For the customers of one provider of version 6, declare its network,
such as `within: "2001:db8::/32"`, and prefixes such as `[40, 48, 56]`."""

    version: Literal[4, 6] = Field(description="Version of the addresses.")
    prefixes: list[int] | None = Field(
        default=None,
        min_length=1,
        description="Lengths of the prefixes that may be published, short first; `[8, 16, 24]` by default, "
        "`[16, 24, 32]` of version 6.",
    )
    within: str | None = Field(
        default=None,
        description="The network that holds all addresses, such as 10.0.0.0/8; without it all of version 4 and the "
        "public ones of version 6, 2000::/3.",
    )

    def build(self, key: str) -> Domain:  # noqa: D102 - see DomainSettings
        prefixes = DEFAULT_PREFIXES[self.version] if self.prefixes is None else tuple(self.prefixes)
        return AddressDomain(self.version, prefixes, self.within or DEFAULT_WITHIN[self.version], key)


class BalancedSettings(Section):
    """An automatic hierarchy: `arity` neighbours of an ordered list under each node."""

    ordered: list[str | int | bool] = Field(min_length=2)
    arity: int = Field(default=2, ge=2, le=1000)


class AttributeSettings(Section):
    """A declared field. A quasi-identifier has exactly one domain, such as hierarchy, numeric or date."""

    role: Literal["identifier", "quasi-identifier", "sensitive", "insensitive"]
    type: Literal["string", "integer", "number", "boolean"] | None = None
    hierarchy: Annotated[str, Field(min_length=1)] | BalancedSettings | dict[str, Any] | None = None
    values: list[str | int | bool] | None = None
    numeric: NumericSettings | None = None
    prefix: PrefixSettings | None = None
    date: DateSettings | None = None
    ip: IpSettings | None = Field(
        default=None, description="Internet addresses, published as networks such as `10.1.0.0/16`."
    )
    publish: Literal["nodes", "values"] | None = None
    weight: float = Field(default=1.0, gt=0, le=1000)
    missing: Literal["leaf", "reject"] = "leaf"
    unknown: Literal["reject", "root"] = "reject"
    path: list[Annotated[str, Field(min_length=1)]] | None = Field(default=None, min_length=1)
    accept_missing: bool = False
    accept_linkable: bool = False


DOMAINS: Mapping[str, type[DomainSettings]] = {
    key: kind
    for key, field in AttributeSettings.model_fields.items()
    for kind in get_args(field.annotation)
    if isinstance(kind, type) and issubclass(kind, DomainSettings)
}
"""The models that build a domain alone, by key."""

DOMAIN_KEYS = ("hierarchy", "values", *DOMAINS)
"""The keys of which a quasi-identifier has exactly one."""
