"""Codes in bulk are those of single values, at the edges of cells and ranges too."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stream_anon.errors import SettingsError, Unfit
from stream_anon.formats.tables.arrow.codes import codes_of
from stream_anon.formats.tables.table_columns import FITS
from stream_anon.microdata.attributes import Missing, Unknown
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.coding import code_value
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from tests.conformance.domains import SPECIMENS

DECIMALS = st.decimals(-1_000_000, 1_000_000, places=3) | st.decimals(-(10**9), 10**9, places=0)
STEPS = st.sampled_from([Decimal(text) for text in ("1", "0.5", "0.1", "0.001", "0.3", "7", "0.007", "1000")])


@st.composite
def grids(draw: st.DrawFn) -> NumericDomain:
    """Return grids of any ends, steps and decimals."""
    low, step, cells = draw(DECIMALS), draw(STEPS), draw(st.integers(1, 5000))
    rest = draw(st.sampled_from([Decimal(0), step / 2, step]))
    try:
        return NumericDomain(low, low + cells * step + rest, step, draw(st.sampled_from([None, 0, 1, 3])))
    except SettingsError:
        assume(False)
        raise


def _single(attribute: QuasiIdentifier, value: Any) -> int | Reason:
    try:
        return code_value(attribute, None if value is None or value != value else value)  # noqa: PLR0124 - NaN
    except Unfit as unfit:
        return Reason(unfit.reason)


def _agree(attribute: QuasiIdentifier, values: list[Any], kind: pa.DataType) -> None:
    column = codes_of(pa.array(values, kind), attribute)
    assert column is not None
    pairs = zip(column.codes.tolist(), column.reasons.tolist(), strict=True)
    found = [code if reason == FITS else Reason(reason) for code, reason in pairs]
    assert found == [_single(attribute, value) for value in values]


def _attribute(domain: Any, data: st.DataObject) -> QuasiIdentifier:
    return QuasiIdentifier(
        "x", domain, missing=data.draw(st.sampled_from(Missing)), unknown=data.draw(st.sampled_from(Unknown))
    )


@given(grids(), st.data())
def test_floats_have_the_cells_of_the_decimals_that_they_stand_for(
    domain: NumericDomain, data: st.DataObject
) -> None:
    edges = st.integers(-1, domain.size + 1).map(lambda cell: float(domain.minimum + cell * domain.step))
    near = st.builds(math.nextafter, edges, st.sampled_from([-math.inf, math.inf]))
    inside = st.floats(float(domain.minimum), float(domain.maximum))
    fine = st.builds(round, inside, st.integers(0, 4)).map(float)
    ends = st.sampled_from(
        [float(domain.minimum), float(domain.maximum), -0.0, math.inf, -math.inf, math.nan, None]
    )
    values = data.draw(st.lists(edges | near | inside | fine | ends | st.floats(), min_size=1, max_size=30))
    _agree(_attribute(domain, data), values, pa.float64())


@given(grids(), st.data())
def test_whole_numbers_have_their_cells(domain: NumericDomain, data: st.DataObject) -> None:
    low, high = math.floor(domain.minimum), math.ceil(domain.maximum)
    far = st.integers(-(2**63), 2**63 - 1)
    values = data.draw(st.lists(st.integers(low - 1, high + 1) | far | st.none(), min_size=1, max_size=30))
    _agree(_attribute(domain, data), values, pa.int64())


@pytest.mark.parametrize("name", ["date-epoch-ms", "date-epoch-d", "hours"])
@given(data=st.data())
def test_numbers_that_count_since_1970_have_their_days_and_hours(name: str, data: st.DataObject) -> None:
    specimen = SPECIMENS[name]
    numbers = [value for value in [*specimen.fitting, *specimen.outside] if abs(value) < 2**63]
    floats = st.sampled_from(list(map(float, numbers))) | st.floats() | st.none()
    _agree(_attribute(specimen.domain, data), data.draw(st.lists(floats, min_size=1)), pa.float64())
    whole = st.sampled_from([value for value in numbers if isinstance(value, int)]) | st.integers(
        -(2**63), 2**63 - 1
    )
    _agree(_attribute(specimen.domain, data), data.draw(st.lists(whole, min_size=1)), pa.int64())


def test_what_has_no_codes_in_bulk_is_left_to_be_looked_at_one_by_one() -> None:
    numbers = QuasiIdentifier("x", NumericDomain(Decimal(0), Decimal(9), Decimal(1), 0))
    fine = QuasiIdentifier("x", NumericDomain(Decimal(0), Decimal("1e-9"), Decimal("1e-16"), None))
    words = QuasiIdentifier("x", CategoricalDomain(Hierarchy.flat(["1", "2"])))
    assert codes_of(pa.array([2**64 - 1], pa.uint64()), numbers) is None
    assert codes_of(pa.array([np.float32(1.5)]), numbers) is None
    assert codes_of(pa.array(["1"]), numbers) is None
    assert codes_of(pa.array([True]), numbers) is None
    assert codes_of(pa.array([1e-10]), fine) is None
    assert codes_of(pa.array([1, 2]), words) is None
    assert codes_of(pa.array([0]).cast(pa.timestamp("s")), numbers) is None
