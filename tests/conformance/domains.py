"""Every domain that the conformance suite tests; a new one adds specimens here and writes no laws of its own."""

from __future__ import annotations

import datetime as dt
import ipaddress
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from stream_anon.microdata.domains.addresses import AddressDomain
from stream_anon.microdata.domains.automatic import balanced, word_prefixes
from stream_anon.microdata.domains.calendar.calendar_cells import Finest
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.domain import Domain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.ordered import OrderedDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.domains.ranges import RangedDomain


@dataclass(frozen=True)
class Specimen:
    """A domain to be tested.

    Parameters
    ----------
    fitting
        Values that have a code, as JSON decodes them.
    outside
        Values of a right type that have none.
    wrong
        Values of a wrong type.
    covers
        Whether something published stands for a value too; told without the domain's own code.
    alike
        Groups of spellings of one value.
    dense
        Whether every code is a value's; the end of a shorter text, for one, is followed by no letter.
    """

    domain: Domain
    fitting: Sequence[Any]
    outside: Sequence[Any]
    wrong: Sequence[Any]
    covers: Callable[[Any, Any], bool]
    alike: Sequence[Sequence[Any]] = ()
    dense: bool = True


def _within(published: Any, value: Any) -> bool:
    if isinstance(published, dict):
        return Decimal(str(published["min"])) <= Decimal(str(value)) <= Decimal(str(published["max"]))
    return Decimal(str(published)) == Decimal(str(value))


def _begins(published: Any, value: Any) -> bool:
    text = str(value).zfill(5) if isinstance(value, int) else value
    return len(published) == len(text) and text.startswith(published.rstrip("*"))


def _begins_in_any_length(published: Any, value: Any) -> bool:
    return bool(value.startswith(published[:-1]) if published.endswith("*") else value.startswith(published))


def _is_day_of(form: str) -> Callable[[Any, Any], bool]:
    def covers(published: Any, value: Any) -> bool:
        day = dt.datetime.strptime(value, form).date()  # noqa: DTZ007 - a day has no zone
        names = {day.isoformat(), f"{day:%Y-%m}", f"{day:%Y}", f"{day:%Y}-Q{(day.month + 2) // 3}"}
        return published in names

    return covers


def _is_day_in(zone: str, per_second: int) -> Callable[[Any, Any], bool]:
    def covers(published: Any, value: Any) -> bool:
        if isinstance(value, str):
            moment = dt.datetime.fromisoformat(value)
        else:
            moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=value // per_second)
        day = moment.date() if moment.tzinfo is None else moment.astimezone(ZoneInfo(zone)).date()
        return _is_day_of("%Y-%m-%d")(published, day.isoformat())

    return covers


def _is_moment_in(zone: str, form: str = "") -> Callable[[Any, Any], bool]:
    def covers(published: Any, value: Any) -> bool:
        if isinstance(value, str):
            moment = dt.datetime.strptime(value, form) if form else dt.datetime.fromisoformat(value)  # noqa: DTZ007
        else:
            moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=math.floor(value))
        if zone:
            moment = (moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))).astimezone(ZoneInfo(zone))
        day, offset = moment.date().isoformat(), moment.isoformat()[19:] if zone else ""
        times = [f"{day}T{moment:%H}", f"{day}T{moment:%H:%M}"]
        hours = [*times, *(time + offset for time in times)] if zone and offset else times
        return published in hours or _is_day_of("%Y-%m-%d")(published, day)

    return covers


def _holds(published: Any, value: Any) -> bool:
    address = ipaddress.ip_address(value)
    network = ipaddress.ip_network(published)
    if network.version == 4 and isinstance(address, ipaddress.IPv6Address):
        return address.ipv4_mapped in network
    if network.version == 6 and address.version == 4:
        address = ipaddress.ip_address(f"::ffff:{address}")
    return address in network


def _belongs(tree: Hierarchy) -> Callable[[Any, Any], bool]:
    def covers(published: Any, value: Any) -> bool:
        node: int = int(tree.leaves[tree.code_of[str(value)]])
        while node > 0:
            if tree.labels[node] == str(published):
                return True
            node = int(tree.parents[node])
        return False

    return covers


def _categories(tree: Hierarchy) -> Specimen:
    labels = list(tree.code_of)
    fitting = [*labels[:20], *labels[-20:]]
    return Specimen(CategoricalDomain(tree), fitting, ["nowhere", "*"], [1.5, [], {}], _belongs(tree))


def _ordered(*order: str) -> Specimen:
    def covers(published: Any, value: Any) -> bool:
        first, _, last = published.partition("..")
        return order.index(first) <= order.index(str(value)) <= order.index(last or first)

    return Specimen(OrderedDomain(order), order, ["nowhere", "*", f"{order[0]}..{order[1]}"], [1.5, [], {}], covers)


def _numbers(*values: float, wrong: Sequence[Any] = ("1", True, []), **given: Any) -> Specimen:
    domain = NumericDomain(**given)
    outside = [int(domain.maximum) + 1, int(domain.minimum) - 1, 10**30]
    return Specimen(domain, values, outside, wrong, _within)


def _addresses(
    version: int,
    prefixes: tuple[int, ...],
    within: str,
    fitting: Sequence[str],
    alike: Sequence[Sequence[str]] = (),
) -> Specimen:
    domain = AddressDomain(version, prefixes, within)
    other = ["fe80::1", "::1"] if version == 4 else ["fe80::1", "ff02::1"]
    wrong = [
        "",
        "10.1.2",
        "10.1.2.256",
        "010.1.2.3",
        "10.1.2.3/32",
        " 10.1.2.3",
        "::1::",
        "fe80::1%eth0",
        "x",
        1,
        [],
    ]
    return Specimen(domain, fitting, other, wrong, _holds, alike)


def _ranges(*values: float, wrong: Sequence[Any] = ("1", True, []), **given: Any) -> Specimen:
    domain = RangedDomain(**given)
    outside = [int(domain.maximum) + 1, int(domain.minimum) - 1, 10**30]
    return Specimen(domain, values, outside, wrong, _within)


_RAGGED = Hierarchy.from_tree({"g": {"h": ["a", "b"], "i": ["c"]}, "j": ["d", "e"], "f": None})
_FIRST = "0.0.0.0"  # noqa: S104 - nothing listens
_MAPPED = [f"::ffff:10.1.{i}.{i * 3}" for i in range(30)]
_SPELT = [
    ["10.1.2.3", "::ffff:10.1.2.3", "::FFFF:10.1.2.3", "::ffff:a01:203", "0:0:0:0:0:ffff:0a01:0203"],
]

SPECIMENS: dict[str, Specimen] = {
    "categorical-ragged": _categories(_RAGGED),
    "categorical-flat": _categories(Hierarchy.flat(["yes", "no"])),
    "categorical-large": _categories(balanced([f"c{i}" for i in range(1500)], 3)),
    "ordered": _ordered("none", "primary", "secondary", "bachelor", "master", "doctor", "[1,2]"),
    "ordered-two": _ordered("0", "1"),
    "ordered-large": _ordered(*(f"grade {i}" for i in range(1500))),
    "numeric-halved": _numbers(
        *range(17, 91), minimum=Decimal(17), maximum=Decimal(90), step=Decimal(1), decimals=0,
        wrong=["17", 17.5, []],
    ),
    "numeric-levels": _numbers(
        *range(0, 100, 7), minimum=Decimal(0), maximum=Decimal(99), step=Decimal(1), decimals=0,
        levels=(Decimal(5), Decimal(10), Decimal(20)),
    ),
    "numeric-tight": _numbers(
        0.5, 1.25, 1.99, 2.5, minimum=Decimal("0.5"), maximum=Decimal("2.5"), step=Decimal("0.01"), decimals=2,
        tight=True,
    ),
    "numeric-continuous": _numbers(
        0.5, 1.2345, 7, 99_999.5, minimum=Decimal("0.5"), maximum=Decimal(100_000), step=Decimal("0.5"),
        decimals=None,
    ),
    "ranges": _ranges(
        *range(0, 121, 5), 17, 29, 31, 81, minimum=Decimal(0), maximum=Decimal(120), step=Decimal(1), decimals=0,
        cuts=tuple(map(Decimal, (1, 18, 30, 31, 65, 80))),
    ),
    "ranges-large": _ranges(
        *range(0, 20_000, 700), minimum=Decimal(0), maximum=Decimal(20_000), step=Decimal(5), decimals=0,
        cuts=tuple(map(Decimal, (5, 100, 105, 2_000, 2_500, 9_995, 19_995, 20_000))), arity=3,
    ),
    "ranges-continuous": _ranges(
        0.5, 1.2345, 7, 99.5, minimum=Decimal("0.5"), maximum=Decimal(100), step=Decimal("0.5"), decimals=None,
        cuts=(Decimal(1), Decimal("50.5")),
    ),
    "words": _categories(
        word_prefixes(["a b c", "a b d", "a e", "f g h", "f g i", "j"] + [f"k {i % 7} {i}" for i in range(40)])
    ),
    "prefix": Specimen(
        PrefixDomain(5, "0123456789", 5, pad=True),
        ["02138", "02139", "99999", 2138, 99999], ["2138", "abcde", 100000],
        [1.5, True, []], _begins, [["02138", 2138]],
    ),
    "prefix-shorter": Specimen(
        PrefixDomain(7, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", 5, shorter=True),
        ["SW1A1AA"[:n] for n in range(1, 8)] + ["N", "N1", "N10", "0", "00", "0000000"],
        ["", "SW1A 1A", "SW1A1AAA"], [True, []], _begins_in_any_length, dense=False,
    ),
    "prefix-accents": Specimen(
        PrefixDomain(3, "aäé", 3), ["aäé", "ééé", "aaa"], ["abc", "aä"], [True, []],
        lambda published, value: value.startswith(published.rstrip("*")),
    ),
    "date": Specimen(
        DateDomain("%Y-%m-%d", dt.date(2023, 11, 5), dt.date(2027, 3, 1)),
        ["2023-11-05", "2024-02-29", "2024-03-01", "2027-03-01"], ["2023-11-04", "2027-03-02"],
        ["2024-02-30", "x", 20240229, []], _is_day_of("%Y-%m-%d"),
    ),
    "date-german": Specimen(
        DateDomain("%d.%m.%Y", dt.date(2024, 1, 1), dt.date(2024, 12, 31)),
        ["01.01.2024", "29.02.2024", "31.12.2024"], ["31.12.2023"], ["2024-02-29", 1, []], _is_day_of("%d.%m.%Y"),
    ),
    "date-epoch-ms": Specimen(
        DateDomain("epoch-ms", dt.date(2023, 3, 26), dt.date(2024, 12, 31), zone="Europe/Berlin"),
        [
            1679785200000, 1679867999999, 1679868000000, 1698530400000 - 1, 1698530400000.5, 1704063600000 - 0.001,
            1704063600000, 1735685999999, 1.7e12,
        ],
        [1679785199999, 1735686000000, 1679785199999.9, 0, -1, -10**17, 10**17, 10**18 - 1, 10**30, 1e300],
        ["1704063600000", True, "2024-01-01", []], _is_day_in("Europe/Berlin", 1000),
        [[1.7e12, 1700000000000, 1700000000000.25]],
    ),
    "date-epoch-s": Specimen(
        DateDomain("epoch-s", dt.date(1969, 12, 30), dt.date(1970, 1, 3)),
        [-172800, -1, -0.5, 0, 86399, 86399.9, 86400, 259199], [259200, -172801, -172800.5],
        ["0", False, []], _is_day_in("UTC", 1),
    ),
    "date-epoch-us": Specimen(
        DateDomain("epoch-us", dt.date(5100, 1, 1), dt.date(5200, 1, 1), zone="America/New_York"),
        [98_773_275_600_000_000, 100_000_000_000_000_001, 101_929_035_599_999_999],
        [10**15, 98_773_275_599_999_999, 101_929_035_600_000_000],
        ["0"], _is_day_in("America/New_York", 1_000_000),
    ),
    "date-epoch-d": Specimen(
        DateDomain("epoch-d", dt.date(2024, 1, 1), dt.date(2024, 12, 31)), [19723, 19724, 20088, 19900.5],
        [19722, 20089, 19722.9], ["19723", True, []],
        lambda published, value: _is_day_of("%Y-%m-%d")(
            published, (dt.date(1970, 1, 1) + dt.timedelta(days=int(value))).isoformat()
        ),
    ),
    "date-iso": Specimen(
        DateDomain("iso8601", dt.date(2024, 1, 1), dt.date(2024, 12, 31), zone="Europe/Berlin"),
        [
            "2023-12-31T23:00:00Z", "2024-03-31T21:59:59.999Z", "2024-03-31T22:00:00+00:00",
            "2024-03-31T23:30:00-05:30", "2024-06-01T00:00", "2024-06-01", "2024-12-31T22:59:59+00:00",
        ],
        ["2023-12-31T22:59:59Z", "2024-12-31T23:00:00Z", "2023-12-31", "0001-01-01T00:00:00+14:00"],
        ["2024-02-30T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T10:00:00+24:00", "x", 1, [], "2024-W01-1"],
        _is_day_in("Europe/Berlin", 1),
        [["2024-06-01T22:30:00Z", "2024-06-02T00:30:00+02:00", "2024-06-02 00:30+0200", "2024-06-02t00:30:00"]],
    ),
    "hours": Specimen(
        DateDomain(
            "epoch-ms", dt.date(2023, 3, 26), dt.date(2024, 12, 31), zone="Europe/Berlin", finest=Finest.HOUR
        ),
        [
            1679785200000, 1679867999999, 1679868000000, 1698530400000 - 1, 1698530400000.5, 1704063600000 - 0.001,
            1735685999999, 1.7e12, *range(1698440000000, 1698470000000, 1800_000),
        ],
        [1679785199999, 1735686000000, 0, -1, -10**17, 10**30, 1e300],
        ["1704063600000", True, "2024-01-01T10:00", []], _is_moment_in("Europe/Berlin"),
        [[1.7e12, 1700000000000.25, 1700001599999], [1711846800000, 1711850399999]],
    ),
    "minutes": Specimen(
        DateDomain(
            "iso8601", dt.date(2024, 1, 1), dt.date(2024, 12, 31), zone="Europe/Berlin", finest=Finest.MINUTE
        ),
        [
            "2023-12-31T23:00:00Z", "2024-03-31T00:59:59.999Z", "2024-03-31T01:00:00+00:00", "2024-12-31T22:59:59Z",
            "2024-03-31T23:30:00-05:30", "2024-06-01T00:00", "2024-06-01T00:00:59", "2024-06-01T00:59",
            *(f"2024-10-27T00:{minute}:00Z" for minute in range(10, 60, 7)),
            *(f"2024-10-27T01:{minute}:00Z" for minute in range(10, 60, 7)), "2024-10-27T02:30", "2024-10-27T03:00",
        ],
        ["2023-12-31T22:59:59Z", "2024-12-31T23:00:00Z", "2023-12-31T10:00", "0001-01-01T00:00:00+14:00"],
        ["2024-02-30T00:00:00Z", "2024-01-01T24:00:00Z", "2024-06-01", "x", 1, [], "2024-W01-1"],
        _is_moment_in("Europe/Berlin"),
        [
            ["2024-06-01T22:30:00Z", "2024-06-02T00:30:00+02:00", "2024-06-02 00:30+0200", "2024-06-02t00:30:59"],
            ["2024-10-27T02:30", "2024-10-27T00:30:00Z"],
        ],
    ),
    "minutes-small": Specimen(
        DateDomain("%d.%m.%Y %H:%M", dt.date(2024, 2, 29), dt.date(2024, 3, 1), finest=Finest.MINUTE),
        ["29.02.2024 00:00", "29.02.2024 23:59", "01.03.2024 00:00", "01.03.2024 23:59", "01.03.2024 07:07"],
        ["28.02.2024 23:59", "02.03.2024 00:00"], ["29.02.2024", "29.02.2024 24:00", 1, "2024-02-29T10:00"],
        _is_moment_in("", "%d.%m.%Y %H:%M"),
    ),
    "minutes-of-half-hours": Specimen(
        DateDomain(
            "epoch-ms", dt.date(2024, 4, 1), dt.date(2024, 10, 31), zone="Australia/Lord_Howe", finest=Finest.MINUTE
        ),
        [
            1712412000000, 1712413740000, *range(1712408400000, 1712419200000, 420_000),
            *range(1728138600000, 1728149400000, 420_000),
        ],
        [0, 10**13], ["x", []], _is_moment_in("Australia/Lord_Howe"), dense=False,
    ),
    "hours-one-year": Specimen(
        DateDomain(
            "iso8601", dt.date(2024, 5, 1), dt.date(2024, 5, 31), finest=Finest.HOUR, named_whole=False
        ),
        ["2024-05-01T00:00", "2024-05-01T23:59:59-11:00", "2024-05-31T23:00Z"], ["2024-06-01T00:00-12:00"],
        ["2024-05-01", "x", 5], _is_moment_in("", ""),
    ),
    "ip": _addresses(
        4, (8, 16, 24), "0.0.0.0/0", [_FIRST, "255.255.255.255", *(f"10.{i}.2.3" for i in range(20))], _SPELT
    ),
    "ip-exact": _addresses(
        4, (12, 16, 24), "10.0.0.0/8", ["10.0.0.0", "10.255.255.255", *(f"10.1.{i}.3" for i in range(20))], _SPELT
    ),
    "ip-finest": _addresses(
        4, (29, 30), "0.0.0.0/0", [_FIRST, "255.255.255.255", "10.1.2.3", "10.1.2.4"], _SPELT
    ),
    "ip-six": _addresses(
        6, (16, 24, 33), "2000::/3",
        ["2001:db8::1", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::", *(f"2001:{i:x}::" for i in range(20))],
        [["2001:db8::1", "2001:DB8::1", "2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8:0:0::0.0.0.1"]],
    ),
    "ip-six-exact": _addresses(
        6, (104, 120), "2001:db8::/98", ["2001:db8::", "2001:db8::1", "2001:db8::3fff:ffff", "2001:db8::2a00:1"]
    ),
    "ip-mapped": _addresses(6, (104, 112, 120), "::ffff:0.0.0.0/96", _MAPPED, _SPELT),
}  # fmt: skip
