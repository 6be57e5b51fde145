"""The domain of internet addresses: networks in CIDR notation (RFC 4632, RFC 4291; texts as of RFC 5952)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np

from stream_anon.errors import SettingsError, Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.code_reading import OneByOne, Reading
from stream_anon.microdata.domains.domain import Domain, Form, Published, Schema
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.domains.walk import PREFIX, Digit, Walk, digits_of_widths

CODE_BITS = 30  # codes are int32 columns, and two more stand for missing and unknown values
DEFAULT_PREFIXES: Mapping[int, tuple[int, ...]] = {4: (8, 16, 24), 6: (16, 24, 32)}
DEFAULT_WITHIN: Mapping[int, str] = {4: "0.0.0.0/0", 6: "2000::/3"}  # of version 6: all public addresses
_BITS: Mapping[int, int] = {4: 32, 6: 128}
_MAPPED = 0xFFFF  # what stands before an IPv4 address that is written as one of version 6: ::ffff:10.1.2.3
_IPV4_BITS = 32
_IPV4_ONES = 0xFFFFFFFF
_MOST_LETTERS = 45  # of an address as a text
_DIGIT_BITS = 4
_FITTING = 0.95  # share of a column's values that must be addresses of one version

_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
_MAPPED_NETWORK = ipaddress.IPv6Network("::ffff:0:0/96")


@dataclass(frozen=True)
class AddressDomain(Domain):
    """Internet addresses, published as networks such as `10.1.0.0/16`, or exact as `10.1.2.3`.

    A code holds 30 bits, an address 32 or 128. So codes count within a network: the bits before its prefix are
    equal, and of the others at most 30 count. Where these are all, an address has a code of its own and may be
    published as it is. Otherwise a code is a network of the longest declared prefix, which is the finest that is
    ever published.

    `::ffff:10.1.2.3` is the address 10.1.2.3 of version 4; spellings of one address have one code. NCP is
    level / height, since the possible addresses far outnumber the used ones.

    Parameters
    ----------
    version
        4 or 6.
    prefixes
        Lengths of the prefixes that may be published, short first.
    within
        The network that holds all addresses; others are outside.
    """

    version: int
    prefixes: tuple[int, ...]
    within: str
    key: str = "ip"

    kind: ClassVar[str] = "ip"

    def __post_init__(self) -> None:
        if self.version not in _BITS:
            raise SettingsError(f"{self.key}.version", "must be 4 or 6")
        try:
            network = _network(self.version, self.within)
        except ValueError:
            message = f"must be a network of version {self.version}, such as {DEFAULT_WITHIN[self.version]}"
            raise SettingsError(f"{self.key}.within", message) from None
        if _written(network) != self.within:
            raise SettingsError(f"{self.key}.within", f"must be written as {_written(network)}")
        ends = (self._fixed, *self.prefixes, self._bits)
        if not self.prefixes or any(a >= b for a, b in pairwise(ends)):
            raise SettingsError(
                f"{self.key}.prefixes", f"must ascend, above {self._fixed} (of within) and below {self._bits}"
            )
        if not self._is_exact and self.prefixes[-1] > self._fixed + CODE_BITS:
            raise SettingsError(
                f"{self.key}.prefixes",
                f"must be at most {self._fixed + CODE_BITS}, {CODE_BITS} more than within has; a longer prefix of "
                "within allows longer ones",
            )

    @cached_property
    def _range(self) -> _Network:
        return _network(self.version, self.within)

    @cached_property
    def _first(self) -> int:
        """Return the first address as a number."""
        return int(self._range.network_address)

    @property
    def _fixed(self) -> int:
        return self._range.prefixlen

    @property
    def _bits(self) -> int:
        return _BITS[self.version]

    @property
    def _is_exact(self) -> bool:
        """Return whether an address has a code of its own."""
        return self._bits - self._fixed <= CODE_BITS

    @cached_property
    def _coded(self) -> int:
        """Return the number of leading bits that a code tells, those of `within` included."""
        return self._bits if self._is_exact else self.prefixes[-1]

    @cached_property
    def _lengths(self) -> tuple[int, ...]:
        """Return the lengths of the prefixes of all nodes, the code's own first and that of the root last."""
        below = self.prefixes if self._is_exact else self.prefixes[:-1]
        return (self._coded, *below[::-1], self._fixed)

    @cached_property
    def size(self) -> int:
        return int(2 ** (self._coded - self._fixed))

    @property
    def height(self) -> int:
        return len(self.prefixes) + 1

    @property
    def _never(self) -> int:
        """Return how many levels are never published."""
        return 0 if self._is_exact else 1

    def code(self, value: object) -> int:
        number = _number(value, self.version)
        if number >> (self._bits - self._fixed) != self._first >> (self._bits - self._fixed):
            raise Unfit(Reason.OUT_OF_RANGE)
        return (number - self._first) >> (self._bits - self._coded)

    def _cut(self, low: int, high: int) -> int:
        """Return the place in `_lengths` of the longest prefix that all codes have."""
        for place, length in enumerate(self._lengths):
            if low >> (self._coded - length) == high >> (self._coded - length):
                return place
        raise ValueError("codes lie within the domain")

    def node(self, low: int, high: int) -> tuple[int, int]:
        hidden = self._coded - self._lengths[self._cut(low, high)]
        return low >> hidden << hidden, (low >> hidden << hidden) + (1 << hidden) - 1

    def level(self, low: int, high: int) -> int:
        return self._cut(low, high) + self._never

    def ncp(self, low: int, high: int) -> float:
        return self.level(low, high) / self.height

    def publish(self, low: int, high: int) -> Published:
        length = self._lengths[self._cut(low, high)]
        if length == self._fixed:
            return ROOT_LABEL
        first = self.node(low, high)[0] << (self._bits - self._coded)
        return _network_text(self.version, self._first + first, length)

    def read(self, published: object) -> tuple[int, int] | None:
        if published == ROOT_LABEL:
            return 0, self.size - 1
        if not isinstance(published, str) or len(published) > _MOST_LETTERS + 4:
            return None
        try:
            network = _network(self.version, published)
        except ValueError:
            return None
        if network.prefixlen not in self._lengths or not network.subnet_of(self._range):  # type: ignore[arg-type]
            return None
        first = (int(network.network_address) - self._first) >> (self._bits - self._coded)
        bounds = first, first + (1 << (self._coded - network.prefixlen)) - 1
        return bounds if self.publish(*bounds) == published else None

    def outline(self) -> dict[str, Any]:
        """See `Domain`; a level is named by the length of its prefixes."""
        return {
            "kind": "ip",
            "grid": {"version": self.version, "within": self.within},
            "levels": [{"name": str(n), "groups": 2 ** (n - self._fixed)} for n in self._lengths[:-1]],
        }

    def longest(self) -> Sequence[Published]:
        return [ROOT_LABEL, "f" * (_MOST_LETTERS + len("/128"))]

    def reading(self) -> Reading:
        return OneByOne()

    def walk(self) -> Walk:
        widths = [1 << (self._coded - length) for length in self._lengths[1:]]
        return Walk(PREFIX, 1 / self.height, self._never / self.height, np.array(widths, np.int32))

    def level_walk(self) -> Walk:
        return self.walk()

    def digits(self) -> Sequence[Digit]:
        """See `Domain`; each node's prefix ends with a digit, and none has more than four bits."""
        steps = pairwise(self._lengths)
        ends = [end for longer, shorter in steps for end in range(longer, shorter, -_DIGIT_BITS)]
        return digits_of_widths(self.size, [1 << (self._coded - end) for end in reversed(ends)])

    def schemas(self, form: Form) -> list[Schema]:  # noqa: ARG002 - addresses are texts
        letters = r"[0-9]{1,3}(\.[0-9]{1,3}){3}" if self.version == 4 else r"[0-9a-f:.]{2,45}"
        lengths = "|".join(str(length) for length in self._lengths[:-1] if length < self._bits)
        pattern = rf"^{letters}(/({lengths})){'?' if self._is_exact else ''}$"
        described = "a network in CIDR notation" + (", or an address" if self._is_exact else "")
        return [{"type": "string", "pattern": pattern, "description": described}]

    def words(self) -> str:
        networks = ", ".join(f"/{length}" for length in self.prefixes)
        return f"internet addresses of version {self.version} within {self.within}, networks of {networks}"

    @classmethod
    def proposal(cls, values: Sequence[object]) -> Mapping[str, Mapping[str, object]] | None:
        for version in _BITS:
            if values and sum(_is_usual(value, version) for value in values) >= _FITTING * len(values):
                return {"ip": {"version": version, "prefixes": list(DEFAULT_PREFIXES[version])}}
        return None


def _number(value: object, version: int) -> int:
    """Return an address as a number; one of the other version is outside, unless it is written as one of this."""
    if not isinstance(value, str) or not 2 <= len(value) <= _MOST_LETTERS or "%" in value:  # a zone tells a host
        raise Unfit(Reason.WRONG_TYPE)
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        raise Unfit(Reason.WRONG_TYPE) from None
    number = int(address)
    if address.version == version:
        return number
    if version == 6:
        return _MAPPED << _IPV4_BITS | number
    if number >> _IPV4_BITS != _MAPPED:
        raise Unfit(Reason.OUT_OF_RANGE)
    return number & _IPV4_ONES


def _is_usual(value: object, version: int) -> bool:
    """Return whether a value is an address of a version, and in the network that is taken by default."""
    try:
        number = _number(value, version)
    except Unfit:
        return False
    network = _network(version, DEFAULT_WITHIN[version])
    return int(network[0]) <= number <= int(network[-1])


def _network(version: int, text: str) -> _Network:
    """Return the network that a text names; ValueError if it is none."""
    return ipaddress.IPv4Network(text) if version == 4 else ipaddress.IPv6Network(text)


def _written(network: _Network) -> str:
    return _network_text(network.version, int(network[0]), network.prefixlen)


def _network_text(version: int, first: int, length: int) -> str:
    """Return a network in CIDR notation, an address alone without a length.

    An IPv4 address within version 6 is written as such, whatever the interpreter's release makes of it.
    """
    tail = "" if length == _BITS[version] else f"/{length}"
    if version == 4:
        return f"{ipaddress.IPv4Address(first)}{tail}"
    if first >> _IPV4_BITS == _MAPPED and length >= _MAPPED_NETWORK.prefixlen:
        return f"::ffff:{ipaddress.IPv4Address(first & _IPV4_ONES)}{tail}"
    return f"{ipaddress.IPv6Address(first)}{tail}"
