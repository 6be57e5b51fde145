"""Negotiation as one page that stands alone: the histograms are inside, it asks no server and loads nothing.

It holds counts of records by size and diversity of their group, and names that the policy declares; no value.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_anon.operations.negotiate.negotiating import Negotiation
from stream_anon.pages.templates import rendered

MOST_K, MOST_L = 500, 50  # as far as the sliders go, unless more was asked for
_MOST_HELD = 65_535


def negotiation_page(found: Negotiation) -> str:
    """Return the page of a negotiation as HTML.

    Groups beyond the ends of the sliders are counted as one: which size they have above that no answer depends on.
    """
    return rendered("operations/negotiate/negotiation_page.html.j2", data=_data(found))


def _data(found: Negotiation) -> dict[str, Any]:
    lattice, request = found.lattice, found.request
    most_k = min(max(MOST_K, request.k), lattice.individuals, _MOST_HELD)
    most_l = min(max(MOST_L, request.l), lattice.values, _MOST_HELD)
    starts, sizes, values, records = lattice.histograms.up_to(most_k, most_l)
    return {
        "attributes": [
            {"name": own.name, "numbers": list(own.numbers), "sizes": list(own.sizes)} for own in found.levels
        ],
        "asked": {
            "k": request.k,
            "l": request.l,
            "limits": list(request.limits),
            "most": min(request.most_suppressed, found.records),
        },
        "records_in_all": found.records,
        "individuals": found.individuals,
        "sensitive": list(found.sensitive),
        "most_k": most_k,
        "most_l": most_l,
        "nodes": found.nodes,
        "nodes_in_all": found.nodes_in_all,
        "starts": _packed(starts, "<u4"),
        "sizes": _packed(sizes, "<u2"),
        "values": _packed(values, "<u2"),
        "records": _packed(records, "<u4"),
    }


def _packed(numbers: NDArray[np.int64], kind: str) -> str:
    return base64.b64encode(numbers.astype(kind).tobytes()).decode()
