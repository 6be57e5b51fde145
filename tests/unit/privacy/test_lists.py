"""`distinct_l` on lists: no item is held by more than one in l of a class, says every engine, gate and audit."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.audit.verdict import Kind
from stream_anon.clustering.legality import deficit
from stream_anon.clustering.rules import rules_of
from stream_anon.errors import SettingsError
from stream_anon.microdata.columns import NO_VALUE, Columns, Sets
from stream_anon.operations.audit.auditing import audit_files
from stream_anon.operations.negotiate.negotiating import counted_policy
from stream_anon.privacy.criteria import Criteria
from stream_anon.privacy.gate import recount
from stream_anon.settings.policy_file import load_policy
from tests.support.audited_files import Files
from tests.support.commands import FileRun
from tests.support.effort import examples
from tests.support.policies import write_document

Held = tuple[int, frozenset[int]]  # a person, and the items of one record


def one_in(rows: Iterable[Held]) -> int:
    """Return the largest l for which no item is held by more than one in l, of records and of people."""
    records = [items for _, items in rows if items]
    people: dict[int, set[int]] = defaultdict(set)
    for person, items in rows:
        if items:
            people[person] |= items
    found = []
    for holders in (records, list(people.values())):
        counts = Counter(item for items in holders for item in items)
        found.append(len(holders) // max(counts.values()) if counts else 0)
    return min(found)


def columns_of(rows: Sequence[Held]) -> Columns:
    sets = list(dict.fromkeys(items for _, items in rows if items))
    numbers = [sets.index(items) if items else NO_VALUE for _, items in rows]
    names = {person: number for number, person in enumerate(dict.fromkeys(person for person, _ in rows))}
    people = np.array([names[person] for person, _ in rows], np.int32)
    known = Sets.of([sorted(items) for items in sets])
    return Columns(np.zeros((1, len(rows)), np.int32), people, np.array([numbers], np.int32), (known,))


ROWS = st.lists(st.tuples(st.integers(0, 6), st.frozensets(st.integers(0, 5), max_size=3)), min_size=1, max_size=24)


def criteria_of(least: int) -> Criteria:
    return Criteria(2, 1.0, np.array([least]), lists=(True,))


@examples(300)
@given(rows=ROWS, data=st.data())
def test_the_gate_counts_what_the_definition_says(rows: list[Held], data: st.DataObject) -> None:
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    counts = recount(np.array(groups), 3, columns_of(rows), criteria_of(2))
    for group in range(3):
        assert counts.values[0, group] == one_in([r for r, g in zip(rows, groups, strict=True) if g == group])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # Item 2 is in two of four records and of two in three people, whoever comes without an item.
        ([(0, {1}), (0, {2}), (1, {2}), (2, {3})], 1),
        ([(0, {1}), (0, {2}), (1, {2}), (2, {3}), (3, ())], 1),
        # Each item is one person's, but item 1 is in three of five records.
        ([(0, {1}), (0, {1}), (0, {1}), (1, {2}), (2, {3})], 1),
        ([(0, {1}), (0, {1}), (1, {2}), (2, {3})], 2),
        # One record says all of a person, and one without an item nothing.
        ([(0, {1, 2}), (1, {3}), (2, {4}), (2, ())], 3),
        ([(0, ()), (1, ())], 0),
    ],
)
def test_somebody_with_several_records_counts_once_with_all_their_items(rows: list[Any], expected: int) -> None:
    held = [(person, frozenset(items)) for person, items in rows]
    assert one_in(held) == expected
    found = recount(np.zeros(len(rows), np.int64), 1, columns_of(held), criteria_of(2))
    assert found.values[0, 0] == expected


@examples(300)
@given(rows=ROWS, data=st.data())
def test_a_class_that_partitioners_find_legal_is_so(rows: list[Held], data: st.DataObject) -> None:
    least = data.draw(st.integers(2, 4))
    rules = rules_of(columns_of(rows), criteria_of(least))
    for _ in range(2):  # nothing is left behind by a call
        chosen = sorted(data.draw(st.sets(st.integers(0, len(rows) - 1), min_size=1)))
        lack = np.zeros(2)
        deficit(np.array(chosen, np.int64), rules, lack)
        own = [rows[row] for row in chosen]
        legal = one_in(own) >= least
        assert legal or lack[1] > 0
        if len({person for person, _ in own}) == len(own):
            assert legal == (lack[1] == 0)


@given(rows=ROWS)
def test_one_in_l_implies_l_items_of_as_many_people(rows: list[Held]) -> None:
    from stream_anon.privacy.gate import largest_matching

    pairs = {(person, item) for person, items in rows for item in items}
    assert largest_matching(pairs, 100) >= one_in(rows)


def test_a_gate_without_the_sets_behind_lists_refuses_to_count() -> None:
    rows = columns_of([(0, frozenset({1})), (1, frozenset({2}))])
    bare = Columns(rows.codes, rows.individuals, rows.sensitive, (None,))
    with pytest.raises(ValueError, match="sets behind the lists"):
        recount(np.zeros(2, np.int64), 1, bare, criteria_of(2))


ILLNESSES = ["flu", "gout", "ague", "croup", "mumps", "colic", "scurvy", "pox"]


def visits(count: int = 400, people: int = 330) -> list[dict[str, Any]]:
    draws = np.random.default_rng(3)
    found = []
    for row in range(count):
        held = draws.choice(ILLNESSES, int(draws.integers(3)), replace=False).tolist()
        held = held + held[:1]  # that an item stands twice counts for nothing
        found.append({"id": int(draws.integers(people)), "age": int(draws.integers(100)), "held": held, "row": row})
    return found


VISITS = visits()


def document(**sections: Any) -> dict[str, Any]:
    return {
        "privacy": {"k": 4, "individual": "id", "sensitive": {"held": {"distinct_l": 3}}},
        "window": {"max_records": 200},
        "engine": {"name": "mondrian", "seed": 1},
        "attributes": {
            "id": {"role": "identifier"},
            "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99, "levels": [5, 10, 20]}},
            "held": {"role": "sensitive", "type": "string[]", "accept_linkable": True},
            "row": {"role": "insensitive", "type": "integer", "accept_linkable": True},
        },
        **sections,
    }


ENGINES: dict[str, dict[str, Any]] = {
    "mondrian": {},
    "forest": {"engine": {"name": "forest", "seed": 1}},
    "k-forest": {"engine": {"name": "k-forest", "seed": 1}},
    "full-domain": {"engine": {"name": "full-domain", "levels": {"age": 3}}},
    "datafly": {"method": {"name": "datafly"}},
}


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_spreads_the_items_of_lists_and_passes_the_audit(name: str, tmp_path: Path) -> None:
    given = document(**ENGINES[name])
    if "method" in given:
        del given["engine"]
    files = FileRun(write_document(tmp_path, given), VISITS)
    assert files.anonymize("--by-arrival") == 0
    found = files.report
    assert found["gate_violations"] == 0
    assert found["released"] > (100 if name in ("full-domain", "datafly") else 250)
    assert audit_files(files.policy, files.output, files.certificates).verdict.clean
    achieved = [part.get("achieved") for part in files.parts]
    assert min(one["distinct_l"]["held"] for one in achieved if one and one["distinct_l"]) >= 3


def classes_of(files: Files) -> dict[str, list[Held]]:
    classes: dict[str, list[Held]] = defaultdict(list)
    for line in files.lines:
        record = json.loads(line)
        window = "first" if record["row"] < 200 else "second"
        visit = VISITS[record["row"]]
        classes[window + json.dumps(record["age"])].append((visit["id"], frozenset(map(hash, visit["held"]))))
    return classes


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    privacy = {"k": 4, "individual": "id", "sensitive": {"held": {"distinct_l": 2}}}
    return Files(tmp_path_factory.mktemp("lists"), document(privacy=privacy), VISITS)


def test_published_classes_meet_the_definition_with_people_counted(files: Files) -> None:
    classes = classes_of(files)
    assert len(classes) > 10
    assert all(one_in(rows) >= 2 for rows in classes.values())


def test_an_audit_accuses_a_class_whose_people_share_an_item(files: Files, tmp_path: Path) -> None:
    assert files.kinds() == set()
    changed = files.copied(tmp_path)
    age = json.loads(changed.lines[0])["age"]
    records = [json.loads(line) for line in changed.lines]
    changed.lines = [
        json.dumps(record | ({"held": ["flu", *record["held"]]} if record["age"] == age else {})).encode()
        for record in records
    ]
    changed.write()
    assert {Kind.TOO_FEW_VALUES, Kind.WRONG_ACHIEVED_L} <= changed.kinds()


def test_negotiation_does_not_pass_sets_off_as_values(tmp_path: Path) -> None:
    policy = load_policy(write_document(tmp_path, document()))
    with pytest.raises(SettingsError, match="held is a list: say --l 1"):
        counted_policy(policy, 3)
    assert counted_policy(policy, 1).diverse == ()


@pytest.mark.parametrize(
    "criteria",
    [
        {"alpha": 0.5}, {"entropy_l": 2}, {"t_closeness": {"t": 0.2}}, {"p_sensitive": 2}, {"beta_likeness": 1},
        {"distinct_l": 2, "delta_disclosure": 2}, {"recursive_cl": {"c": 2, "l": 2}},
    ],
    ids=str,
)  # fmt: skip
def test_a_criterion_that_is_not_defined_for_lists_is_refused(tmp_path: Path, criteria: dict[str, Any]) -> None:
    privacy = {"k": 4, "individual": "id", "sensitive": {"held": criteria}}
    with pytest.raises(SettingsError, match="only distinct_l is defined for a list"):
        load_policy(write_document(tmp_path, document(privacy=privacy)))
