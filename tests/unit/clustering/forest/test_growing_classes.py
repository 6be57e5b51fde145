"""A class that takes in rows one by one, against its loss in plain Python."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given

from stream_anon.clustering.forest.cost_tables import leading_tables, tables_first
from stream_anon.clustering.forest.growing_classes import Growing, begin, class_cost, take_in, values_of
from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.privacy.costs.cost import cost_model
from tests.support.effort import examples
from tests.support.tables import Table, tables


@pytest.mark.parametrize("form", [PublishedForm.NODES, PublishedForm.VALUES])
@examples(60)
@given(table=tables())
def test_a_growing_class_costs_what_its_rows_cost_together(form: PublishedForm, table: Table) -> None:
    """Also where another class grows beside it, and where it begins anew."""
    assume(len(table.rows) > 3)
    attributes = [
        replace(a, publication=form) if isinstance(a.domain, CategoricalDomain) else a for a in table.attributes
    ]
    order = tables_first(cost_model(attributes))
    attributes = [attributes[j] for j in order]
    model = cost_model(attributes)
    codes = np.ascontiguousarray(table.rows.codes[order].T)
    classes = Growing(leading_tables(model), *np.zeros((2, 2, len(attributes)), np.int32))
    values = values_of(model, 2)
    assert (values is None) == (not any(a.publication is PublishedForm.VALUES for a in attributes))
    for turn in range(2):
        for c in range(2):
            begin(classes, values, c, codes, turn + c)
        before = [class_cost(classes, values, c) for c in range(2)]
        for row in range(turn + 2, len(codes)):
            for c in range(2):
                changed = take_in(classes, values, c, codes, row)
                rows = [turn + c, *range(turn + 2, row + 1)]
                cost = class_cost(classes, values, c)
                expected = 0.0
                for attribute, column in zip(attributes, codes[rows].T.tolist(), strict=True):
                    if attribute.publication is PublishedForm.VALUES:
                        expected += attribute.ncp_set(column)
                    else:
                        expected += attribute.ncp(*attribute.node(min(column), max(column)))
                assert np.isclose(cost, expected, atol=1e-5)
                assert changed or cost == before[c]
                before[c] = cost
