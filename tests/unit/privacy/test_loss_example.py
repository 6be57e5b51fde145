"""The example of docs/explain/privacy.md, computed by the code that measures every release."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.gcp import gcp
from stream_anon.privacy.generalization import Generalizer, generalize
from tests.support.data import ROOT

REGIONS = {"north": ["Husum", "Kiel", "Lingen", "Wismar"], "south": ["Calw", "Hof", "Passau", "Ulm"]}
ATTRIBUTES = (
    QuasiIdentifier("age", NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0, (Decimal(10),))),
    QuasiIdentifier("city", CategoricalDomain(Hierarchy.from_tree(REGIONS))),
    QuasiIdentifier("zip", PrefixDomain(5, "0123456789", 5)),
)
RECORDS = (
    (0, 31, "Husum", "12010"),
    (0, 38, "Wismar", "12999"),
    (1, 52, "Kiel", "52101"),
    (1, 52, "Ulm", "52107"),
    (1, 52, "Kiel", "52109"),
    (-1, 90, "Hof", "99999"),
)


def test_the_worked_example_in_the_documents_is_what_the_code_computes() -> None:
    cities = ATTRIBUTES[1].domain.labels()
    columns = np.array([(age, cities[city], int(code)) for _, age, city, code in RECORDS], np.int32).T
    classes = np.array([number for number, *_ in RECORDS], np.int32)
    found = generalize([Generalizer(each) for each in ATTRIBUTES], ATTRIBUTES, columns, classes, 2)

    assert list(zip(*found.values, strict=True)) == [({"min": 30, "max": 39}, "north", "12***"), (52, "*", "5210*")]
    np.testing.assert_allclose(found.ncp.T, [[9 / 99, 4 / 8, 3 / 5], [0, 1, 1 / 5]])
    loss = gcp(found.ncp, np.array([2, 3]), suppressed=1)
    assert loss == pytest.approx((2 * 0.397 + 3 * 0.4 + 1) / 6, abs=1e-3)
    page = (ROOT / "docs" / "explain" / "privacy.md").read_text()
    assert (
        f"GCP = (2 x {found.ncp[:, 0].mean():.3f} + 3 x {found.ncp[:, 1].mean():.1f} + 1 x 1) / 6 = {loss:.3f}."
        in page
    )
