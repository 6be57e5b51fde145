"""What holds of every release, counted from the published values alone."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.microdata.attributes import Identifier, PublishedForm, ScalarType, Sensitive, Unknown
from stream_anon.microdata.batch import MISSING_KEY, CodedBatch, Rejects
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.choices.engine_choice import FULL_DOMAIN, EngineChoice
from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Release, Suppression
from tests.support.effort import examples
from tests.support.tables import Table, diversity_of, is_legal, tables


def _release(table: Table, sets: bool, seed: int = 0, limit: int = 100) -> tuple[Policy, Release]:
    quasi = [
        replace(a, publication=PublishedForm.VALUES) if sets and isinstance(a.domain, CategoricalDomain) else a
        for a in table.attributes
    ]
    return _released_as(table, quasi, EngineChoice(), seed, limit)


def _released_as(
    table: Table,
    quasi: list[QuasiIdentifier],
    engine: EngineChoice,
    seed: int = 0,
    limit: int = 100,
    shields: tuple[Shield, ...] = (),
) -> tuple[Policy, Release]:
    least = {
        f"s{i}": diversity_of(int(value), asked)
        for i, (value, asked) in enumerate(zip(table.criteria.distinct_l, table.criteria.asked, strict=True))
    }
    policy = Policy(
        (Identifier("person"), *quasi, *(Sensitive(name, ScalarType.NUMBER) for name in least)),
        table.criteria.k,
        "person",
        max_share=table.criteria.max_share,
        diversity=least,
        window=WindowLimits(max_records=1_000, max_records_per_individual=limit),
        engine=engine,
        shields=shields,
    )
    n = len(table.rows)
    batch = CodedBatch(
        table.rows.codes,
        np.where(table.rows.sensitive < 0, np.int64(MISSING_KEY), table.rows.sensitive.astype(np.int64)),
        table.rows.individuals.astype(np.int64),
        np.zeros(n, np.int32),
        np.arange(n, dtype=np.int64),
        [(row,) * len(policy.passed) for row in range(n)],
        Rejects.of([]),
    )
    running = Engine(policy, draws=np.random.default_rng(0))
    running.open(0, 0)
    assert running.add(batch, 0.0) == []
    window = running.seal(0.0)
    assert window is not None
    return policy, Closer(policy).release(window, np.random.default_rng(seed))


def _tuple(release: Release, row: int) -> str:
    return json.dumps([values[int(release.class_of_row[row])] for values in release.classes.values])


def _exact(attribute: QuasiIdentifier, codes: list[int]) -> Any:
    if attribute.publication is PublishedForm.VALUES:
        return attribute.publish_set(codes)
    return attribute.publish(*attribute.node(min(codes), max(codes)))


@pytest.mark.parametrize("sets", [False, True], ids=["nodes", "values"])
@examples(200)
@given(table=tables())
def test_every_published_tuple_stands_for_a_legal_class_and_no_wider_than_it_needs(
    sets: bool, table: Table
) -> None:
    assume(len(table.rows))
    policy, release = _release(table, sets)
    groups: dict[str, list[int]] = {}
    placed = release.order.tolist()
    for row in placed:
        groups.setdefault(_tuple(release, row), []).append(row)
    assert len(groups) == len(release.classes)
    for text, members in groups.items():
        assert is_legal(table.rows, members, table.criteria, placed)
        number = int(release.class_of_row[members[0]])
        assert release.classes.records[number] == len(members)
        assert release.classes.individuals[number] == len(set(table.rows.individuals[members].tolist()))
        # No more is generalized away than the class needs, and every member lies under it.
        for j, attribute in enumerate(policy.quasi_identifiers):
            codes = table.rows.codes[j, members].tolist()
            assert json.loads(text)[j] == json.loads(json.dumps(_exact(attribute, codes)))
    assert release.gate_violations == 0


@examples(100)
@given(table=tables(), data=st.data())
def test_on_fixed_levels_every_record_becomes_its_nodes_or_has_too_little_company(
    table: Table, data: st.DataObject
) -> None:
    assume(len(table.rows))
    levels = [data.draw(st.integers(0, a.domain.height)) for a in table.attributes]
    quasi = [
        replace(a, unknown=Unknown.ROOT).at_level(level) for a, level in zip(table.attributes, levels, strict=True)
    ]
    policy, release = _released_as(table, quasi, EngineChoice(FULL_DOMAIN))
    assert release.gate_violations == 0
    for j, (attribute, level) in enumerate(zip(policy.quasi_identifiers, levels, strict=True)):
        for row in release.order.tolist():
            value = release.classes.values[j][int(release.class_of_row[row])]
            assert value == attribute.publish(*attribute.node_at(int(table.rows.codes[j, row]), level))
            assert attribute.read(value) is not None
    # Whoever is suppressed could not have been added: their whole group may not be a class.
    placed = release.order.tolist()
    groups: dict[tuple[Any, ...], list[int]] = {}
    for row in range(len(table.rows)):
        codes = table.rows.codes[:, row].tolist()
        nodes = (a.node_at(code, level) for a, code, level in zip(quasi, codes, levels, strict=True))
        groups.setdefault(tuple(nodes), []).append(row)
    for members in groups.values():
        published = set(members) & set(placed)
        assert not published or is_legal(table.rows, sorted(published), table.criteria, placed)
        assert published or not _compares_with_nothing(table) or not is_legal(table.rows, members, table.criteria)


def _compares_with_nothing(table: Table) -> bool:
    return not any(asked.compares for asked in table.criteria.asked)


def _with_levels(attribute: QuasiIdentifier, data: st.DataObject) -> QuasiIdentifier:
    """Return an attribute with a highest level and a form of publication that are drawn."""
    return replace(
        attribute,
        unknown=Unknown.ROOT,
        max_level=data.draw(st.none() | st.integers(0, attribute.domain.height)),
        publication=PublishedForm.TIGHT if attribute.domain.tight else data.draw(_forms(attribute)),
    )


@pytest.mark.parametrize("engine", ["forest", "mondrian"])
@examples(100)
@given(table=tables(), data=st.data())
def test_with_levels_nothing_finer_or_coarser_is_published_and_every_value_is_read_back(
    engine: str, table: Table, data: st.DataObject
) -> None:
    assume(len(table.rows))
    quasi = [_with_levels(a, data) for a in table.attributes]
    quasi = [replace(a, min_level=data.draw(_lowest(a))) for a in quasi]
    policy, release = _released_as(table, quasi, EngineChoice(engine))
    assert release.gate_violations == 0
    for j, attribute in enumerate(policy.quasi_identifiers):
        for row in release.order.tolist():
            code = int(table.rows.codes[j, row])
            read = attribute.read(release.classes.values[j][int(release.class_of_row[row])])
            assert read is not None
            assert code in read or read[0] <= code <= read[-1]
            low, high = attribute.node_at(code, attribute.min_level)
            assert not attribute.min_level or (read[0] <= low and high <= read[-1])
            if attribute.max_level is not None:
                low, high = attribute.node_at(code, attribute.max_level)
                assert low <= read[0] <= read[-1] <= high
    everything = list(range(len(table.rows)))
    if is_legal(table.rows, everything, table.criteria):
        assert release.suppressed.keys() <= {Suppression.MAX_LEVEL}


def _lowest(attribute: QuasiIdentifier) -> st.SearchStrategy[int]:
    most = attribute.domain.height if attribute.max_level is None else attribute.max_level
    return st.integers(0, most if attribute.publishes_nodes else 0)


def _forms(attribute: QuasiIdentifier) -> st.SearchStrategy[PublishedForm]:
    sets = [PublishedForm.VALUES] if isinstance(attribute.domain, CategoricalDomain) else []
    return st.sampled_from([PublishedForm.NODES, *sets])


@examples(100)
@given(table=tables(), sets=st.booleans())
def test_records_in_are_released_suppressed_or_rejected(table: Table, sets: bool) -> None:
    assume(len(table.rows))
    _, release = _release(table, sets, limit=2)
    n = len(table.rows)
    placed = np.flatnonzero(release.class_of_row >= 0)
    assert sorted(release.order.tolist()) == placed.tolist()
    assert release.records_in == n
    assert len(release.class_of_row) == len(release.payload) <= n
    assert sum(count for _, count in release.arrivals) == len(release.payload)
    if release.released:
        assert release.achieved_k == release.classes.individuals.min() >= table.criteria.k
        assert all(
            value >= least
            for value, least in zip(release.achieved_l.values(), table.criteria.distinct_l.tolist(), strict=True)
        )
    else:
        assert release.achieved_k is None
        assert release.gcp == 1


def test_the_order_of_publication_is_drawn_anew_and_changes_no_class() -> None:
    table = next(iter(_large_tables()))
    orders = [_release(table, sets=False, seed=seed)[1] for seed in range(3)]
    assert all(sorted(r.order.tolist()) == sorted(orders[0].order.tolist()) for r in orders)
    assert len({tuple(r.order.tolist()) for r in orders}) == 3
    assert all(r.order.tolist() != sorted(r.order.tolist()) for r in orders)
    # The shuffle governs the order, and which of several equal rows is in which class; nothing else.
    assert all(r.classes.values == orders[0].classes.values for r in orders)
    assert all(_equal_rows(table, r) == _equal_rows(table, orders[0]) for r in orders)
    # Neighbours in the output are no more of one class than chance has it.
    alike = [np.mean(np.diff(r.class_of_row[r.order]) == 0) for r in orders]
    assert max(alike) < 5 / len(orders[0].classes)


def _equal_rows(table: Table, release: Release) -> Counter[tuple[int, ...]]:
    """Count how often each tuple of codes is in each class."""
    return Counter(tuple(row) for row in np.vstack([release.class_of_row, table.rows.codes]).T.tolist())


def _large_tables() -> list[Table]:
    from stream_anon.microdata.columns import Columns
    from stream_anon.privacy.costs.cost import cost_model
    from stream_anon.privacy.criteria import Criteria
    from tests.support.tables import DOMAINS

    draws = np.random.default_rng(7)
    attributes = (QuasiIdentifier("a", DOMAINS[3]), QuasiIdentifier("b", DOMAINS[8]))
    codes = np.array([draws.integers(0, a.domain.size, 800) for a in attributes], np.int32)
    rows = Columns(codes, np.arange(800, dtype=np.int32), np.empty((0, 800), np.int32))
    return [Table(attributes, cost_model(attributes), rows, Criteria(4, 0.5, np.empty(0, np.int64)))]


@pytest.mark.parametrize("engine", ["forest", "k-forest", "mondrian", FULL_DOMAIN])
@examples(100)
@given(table=tables(), data=st.data())
def test_every_shield_holds_nothing_becomes_finer_and_only_its_attributes_become_coarser(
    engine: str, table: Table, data: st.DataObject
) -> None:
    assume(len(table.rows))
    quasi = [_with_levels(a, data) for a in table.attributes]
    if engine == FULL_DOMAIN:
        quasi = [a.at_level(data.draw(st.integers(0, a.domain.height))) for a in quasi]
    shields = data.draw(_shields(table))
    choice = EngineChoice(engine, seed=0)
    _, before = _released_as(table, quasi, choice)
    policy, release = _released_as(table, quasi, choice, shields=shields)
    assert release.gate_violations == 0
    placed = release.order.tolist()
    for number in range(len(release.classes)):
        members = np.flatnonzero(release.class_of_row == number).tolist()
        assert is_legal(table.rows, members, table.criteria, placed)
    for place, shield in enumerate(shields):
        groups: dict[str, set[int]] = {}
        for row in placed:
            values = [release.classes.values[policy.quasi_identifiers.index(a)] for a in _named(policy, shield)]
            text = json.dumps([own[int(release.class_of_row[row])] for own in values])
            groups.setdefault(text, set()).add(int(table.rows.individuals[row]))
        least = min(map(len, groups.values()), default=None)
        assert least is None or release.achieved_shields[place] == least >= shield.k
    shielded = {name for shield in policy.open_shields for name in shield.attributes}
    for j, attribute in enumerate(policy.quasi_identifiers):
        for row in placed:
            now, then = (each.classes.values[j][int(each.class_of_row[row])] for each in (release, before))
            covers, covered = attribute.read(now), attribute.read(then)
            assert covers is not None
            assert covered is not None
            assert covers[0] <= covered[0] <= covered[-1] <= covers[-1]
            assert now == then or attribute.name in shielded
    _check_what_is_lost(policy, table, before, release)


def _check_what_is_lost(policy: Policy, table: Table, before: Release, release: Release) -> None:
    crowd = max((shield.k for shield in policy.shields), default=0)
    if not before.released:
        assert not release.released
    elif len(set(table.rows.individuals.tolist())) < crowd:
        assert release.suppressed == {Suppression.SHORTFALL: len(table.rows)}
    elif not any(a.max_level is not None for a in policy.quasi_identifiers) and not before.suppressed:
        # Everything can be published alike in the end; only what compares may fail once others are united.
        assert not release.suppressed or any(asked.asks for asked in table.criteria.asked)


def _named(policy: Policy, shield: Shield) -> list[QuasiIdentifier]:
    return [a for a in policy.quasi_identifiers if a.name in shield.attributes]


@st.composite
def _shields(draw: st.DrawFn, table: Table) -> tuple[Shield, ...]:
    names = [a.name for a in table.attributes]
    chosen = draw(
        st.lists(st.sets(st.sampled_from(names), min_size=1), min_size=1, max_size=3, unique_by=frozenset)
    )
    return tuple(Shield(tuple(sorted(own)), draw(st.integers(2, 14))) for own in chosen)
