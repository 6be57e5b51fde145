"""Whatever classes an engine forms, every shield holds for what is published of them, and nothing else is lost."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.engine.closing import Closer
from stream_anon.microdata.attributes import Identifier, PublishedForm, ScalarType, Sensitive, Unknown
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Suppression
from stream_anon.privacy.criteria import Criteria
from tests.conformance.engines import PARTITIONERS, feed
from tests.support.effort import examples
from tests.support.lying import Liar, sealed
from tests.support.tables import Table, diversity_of, is_legal, tables


def _published(attribute: QuasiIdentifier, data: st.DataObject) -> QuasiIdentifier:
    """Return the attribute in one of the forms in which it may be published."""
    if attribute.domain.tight:
        form = PublishedForm.TIGHT
    else:
        sets = [PublishedForm.VALUES] if isinstance(attribute.domain, CategoricalDomain) else []
        form = data.draw(st.sampled_from([PublishedForm.NODES, *sets]))
    return replace(attribute, unknown=Unknown.ROOT, publication=form)


@pytest.mark.parametrize("engine", PARTITIONERS)
@examples(60)
@given(table=tables(), data=st.data())
def test_every_shield_holds_for_the_classes_of_every_engine(engine: str, table: Table, data: st.DataObject) -> None:
    assume(len(table.rows))
    names = [attribute.name for attribute in table.attributes]
    chosen = data.draw(st.sets(st.sampled_from(names), min_size=1))
    shields = (Shield(tuple(sorted(chosen)), data.draw(st.integers(table.criteria.k + 1, 12))),)
    if len(names) > 1:
        rest = Shield((names[-1],), shields[0].k + 1)
        shields += () if chosen == {names[-1]} else (rest,)
    least = {
        f"s{i}": diversity_of(int(value), asked)
        for i, (value, asked) in enumerate(zip(table.criteria.distinct_l, table.criteria.asked, strict=True))
    }
    policy = Policy(
        (
            Identifier("person"),
            *(_published(attribute, data) for attribute in table.attributes),
            *(Sensitive(name, ScalarType.NUMBER) for name in least),
        ),
        table.criteria.k,
        "person",
        max_share=table.criteria.max_share,
        diversity=least,
        shields=shields,
    )
    partitioner = PARTITIONERS[engine](table)
    feed(engine, partitioner, table.rows, len(table.rows))
    answers: list[int] = []

    def answer(rows: Columns, criteria: Criteria) -> NDArray[np.int32]:
        found = partitioner.close(rows, criteria)
        answers.append(int((found >= 0).sum()))
        return found

    window = sealed(policy, table.rows, Liar(answer))
    release = Closer(policy).release(window, np.random.default_rng(0))
    placed = release.order.tolist()
    for number in range(len(release.classes)):
        members = np.flatnonzero(release.class_of_row == number).tolist()
        assert is_legal(table.rows, members, table.criteria, placed)
    for place, shield in enumerate(shields):
        groups: dict[str, set[int]] = {}
        for row in placed:
            number = int(release.class_of_row[row])
            own = [release.classes.values[names.index(name)][number] for name in shield.attributes]
            groups.setdefault(json.dumps(own), set()).add(int(table.rows.individuals[row]))
        assert all(len(people) >= shield.k for people in groups.values())
        assert not groups or release.achieved_shields[place] == min(map(len, groups.values()))
    assert sum(release.suppressed.values()) == len(table.rows) - len(placed)
    people = len(set(table.rows.individuals.tolist()))
    if Suppression.SHORTFALL not in release.suppressed and not any(s.asks for s in table.criteria.asked):
        held = len(placed) + release.suppressed.get(Suppression.SHIELD, 0)
        assert held == sum(answers)
        assert release.gate_violations == 0
    elif people < max(shield.k for shield in shields):
        assert not placed
