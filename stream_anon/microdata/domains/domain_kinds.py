"""The table of domains. A new one is a file of its own and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from stream_anon.microdata.domains.addresses import AddressDomain
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.domain import Domain
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.ordered import OrderedDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.domains.ranges import RangedDomain

DOMAINS: Mapping[str, type[Domain]] = {
    kind.kind: kind
    for kind in (
        CategoricalDomain,
        OrderedDomain,
        NumericDomain,
        RangedDomain,
        PrefixDomain,
        DateDomain,
        AddressDomain,
    )
}
