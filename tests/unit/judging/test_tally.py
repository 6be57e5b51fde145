"""What decides about publication is counted alike in one batch and in many, and memory is bounded."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.tables.passed_columns import PassedColumns
from stream_anon.judging.prohibitions import prohibitions
from stream_anon.judging.sample_study import Sample, study
from stream_anon.judging.tally import Rarity, Tally
from stream_anon.microdata.attributes import Passing
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import people, write_policy

VALUES = st.sampled_from([None, 0, 1, 2, 3, 0.0, 1.0, 2.5, True, "a", "b", "1", ("a", "b"), ()])
RECORDS = st.lists(st.tuples(VALUES, st.integers(0, 6)), max_size=60)


def oracle(k: int, records: list[tuple[Passing, int]]) -> tuple[int, int, int]:
    holders: defaultdict[Passing, set[int]] = defaultdict(set)
    for value, person in records:
        holders[value].add(person)
    rare = {value for value, people in holders.items() if len(people) < k}
    return sum(value in rare for value, _ in records), len(holders), len(rare)


@given(st.integers(1, 5), RECORDS, st.integers(1, 10))
def test_rare_values_are_counted_alike_in_one_piece_and_in_many(
    k: int, records: list[tuple[Passing, int]], piece: int
) -> None:
    rarity = Rarity(k)
    for start in range(0, len(records), piece):
        part = records[start : start + piece]
        rarity.add([value for value, _ in part], [person for _, person in part])
    assert (rarity.records, rarity.values, rarity.rare) == oracle(k, records)


def test_of_more_values_than_are_followed_the_share_is_estimated_well() -> None:
    draws = np.random.default_rng(4)
    # 6 records of 100 hold a value of their own, 40 one of 500 common ones, and the others the same one
    own, common = draws.random(200_000) < 0.06, draws.random(200_000) < 0.4
    values = [
        f"own {row}" if alone else f"common {row % 500}" if shared else "same"
        for row, (alone, shared) in enumerate(zip(own.tolist(), common.tolist(), strict=True))
    ]
    rarity = Rarity(10, most=2_000)
    rarity.add(values, range(200_000))
    assert len(rarity._holders) + len(rarity._common) <= 2_000
    assert rarity.records == pytest.approx(own.sum(), rel=0.1)
    assert rarity.rare == rarity.records
    again = Rarity(10, most=2_000)
    again.add(values, range(200_000))
    assert again.records == rarity.records


@given(st.lists(st.integers(0, 200), max_size=400), st.integers(2, 4))
def test_a_value_that_is_followed_never_looks_rarer_than_it_is(values: list[int], k: int) -> None:
    rarity = Rarity(k, most=20)
    rarity.add(values, range(len(values)))
    counts = Counter(values)
    assert {value for value, count in counts.items() if count >= k}.isdisjoint(rarity._holders)
    assert all(rarity._records[value] == counts[value] for value in rarity._holders)


def test_a_tally_of_batches_forbids_what_a_study_of_all_records_forbids(tmp_path: Path) -> None:
    policy = load_policy(write_policy(tmp_path))
    records = [{**record, "age": None, "visits": place} for place, record in enumerate(people(90))]
    texts = [str(record).replace("'", '"').replace("None", "null").encode() for record in records]
    tally, codec = Tally(policy), JsonCodec(policy)
    for start in range(0, 90, 7):
        part = texts[start : start + 7]
        tally.add(codec.decode(part, 0, np.arange(start, start + len(part))))
    found = study(policy, Sample(texts, np.arange(90.0)))
    told = [(each.condition, each.place) for each in prohibitions(policy, tally.counts())]
    assert told == [("missing-field", "attributes.age"), ("rare-values", "attributes.visits")]
    assert told == [(each.condition, each.place) for each in prohibitions(policy, found)]


def test_fewer_individuals_than_k_forbid_no_field_however_many_records_they_have(tmp_path: Path) -> None:
    policy = load_policy(write_policy(tmp_path))
    tally = Tally(policy)
    records = [{**record, "visits": place} for place, record in enumerate(people(40, each=20))]
    texts = [str(record).replace("'", '"').encode() for record in records]
    tally.add(JsonCodec(policy).decode(texts, 0, np.arange(40)))
    assert prohibitions(policy, tally.counts()) == []


def test_a_field_is_counted_alike_by_rows_and_by_columns_of_values(tmp_path: Path) -> None:
    policy = load_policy(write_policy(tmp_path))
    draws, codec = np.random.default_rng(3), JsonCodec(policy)
    by_rows, by_columns = Tally(policy), Tally(policy)
    for piece in range(12):
        records = [
            {**record, "visits": int(draws.zipf(1.3) % 40), "person_id": f"p{draws.integers(60)}"}
            for record in people(25)
        ]
        texts = [str(record).replace("'", '"').encode() for record in records]
        batch = codec.decode(texts, 0, np.arange(25) + 25 * piece)
        rows = list(batch.payload)
        columns = [(list(values), np.arange(25)) for values in zip(*rows, strict=True)]
        by_rows.add(replace(batch, payload=rows))
        by_columns.add(replace(batch, payload=PassedColumns.of(columns, 25)))
        counted = by_columns.counts()
        assert counted == by_rows.counts()
    assert any(0 < field.rare < field.values for field in counted.rare)
