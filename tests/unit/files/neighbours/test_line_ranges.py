"""A table that is released range by range is one table, under the promises of one."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.files.anonymizing import SOURCE, CertifiedRelease
from stream_anon.files.neighbours import line_ranges as module
from stream_anon.files.neighbours.large_table import line_of
from stream_anon.files.neighbours.line_ranges import JoinedRanges, LineRanges, RangeFolder
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.judging.one_table import whole
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy
from stream_anon.settings.policy_file import load_policy
from tests.support.effort import examples
from tests.support.policies import people, write_policy


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    policy = whole(load_policy(write_policy(tmp_path_factory.mktemp("policy"))))
    order = line_of(policy, coded(policy, people(300)))  # learned once: it takes longer than all else
    return replace(policy, engine=replace(policy.engine, order=order))


def coded(policy: Policy, records: list[dict[str, Any]]) -> CodedBatch:
    lines = [json.dumps(record).encode() for record in records]
    return JsonCodec(policy).decode(lines, SOURCE, np.arange(len(lines)))


@examples(30)
@given(
    count=st.integers(1, 600),
    each=st.integers(1, 5),
    most=st.integers(1, 12),
    alike=st.integers(1, 100),
    seed=st.integers(0, 9),
)
def test_every_range_has_many_individuals_of_the_sample_and_equal_rows_are_in_one(
    policy: Policy, count: int, each: int, most: int, alike: int, seed: int
) -> None:
    records = [{**record, "age": record["age"] // alike * alike} for record in people(count, seed, each)]
    batch = coded(policy, records)
    ranges = LineRanges.of(policy, batch, most)
    found = ranges.finder(policy)(batch)
    assert 1 <= len(ranges) <= most
    assert found.min() >= 0
    assert found.max() < len(ranges)
    if len(ranges) > 1:
        owners = [len(np.unique(batch.individuals[found == number])) for number in range(len(ranges))]
        assert min(owners) >= module.LEAST * policy.crowd
    by_code = {tuple(row): set(found[(row == batch.codes.T).all(axis=1)].tolist()) for row in batch.codes.T}
    assert max(map(len, by_code.values())) == 1


def in_ranges(
    policy: Policy, records: list[dict[str, Any]], folder: Path, most: int, heaps: int = 3
) -> tuple[JoinedRanges, CertifiedRelease, list[dict[str, Any]]]:
    """Return the release of a table in ranges, and its records in their order."""
    fit = [record for record in records if record["home"]["city"] != "Atlantis"]
    ranges = LineRanges.of(policy, coded(policy, fit), most)
    assert len(ranges) == most
    find, folders = ranges.finder(policy), []
    where = iter(find(coded(policy, fit)).tolist())
    own: list[list[dict[str, Any]]] = [[] for _ in range(most)]
    for record in records:
        own[next(where) if record["home"]["city"] != "Atlantis" else 0].append(record)
    kept: Counter[str] = Counter()
    for number, some in enumerate(own):
        path = folder / str(number)
        path.mkdir()
        folders.append(RangeFolder(path))

        def batches(some: list[dict[str, Any]] = some) -> Iterator[tuple[CodedBatch, NDArray[np.bool_]]]:
            batch = coded(policy, some)
            over = np.zeros(len(batch), np.bool_)
            for place, offset in enumerate(batch.offsets.tolist()):
                kept[some[offset]["person"]] += 1
                over[place] = kept[some[offset]["person"]] > policy.window.max_records_per_individual
            yield batch, over

        folders[-1].write(policy, ranges.order, batches(), heaps, lambda: 1)
    table = JoinedRanges(policy, folders, heaps)
    (certified,) = table.close()
    codec = JsonCodec(policy)
    return table, certified, [json.loads(record) for one in certified.written() for record in codec.encode(one)]


def tuple_of(record: dict[str, Any]) -> str:
    return json.dumps([record["age"], record["home"]["city"]])


@pytest.mark.parametrize("each", [1, 6])
def test_ranges_are_one_table_with_every_record_once_and_individuals_counted_over_all_ranges(
    tmp_path: Path, each: int
) -> None:
    # Everybody with six records is everywhere, and four of them may be released.
    policy = whole(load_policy(write_policy(tmp_path, window={"max_records_per_individual": 4})))
    records = [{**one, "visits": place, "age": one["age"] // 20} for place, one in enumerate(people(1800, 0, each))]
    for place in (3, 700):
        records[place]["home"] = {"city": "Atlantis"}
    table, certified, found = in_ranges(policy, records, tmp_path, 3)
    release = certified.release
    assert release.released == len(found) == len({one["visits"] for one in found})
    assert release.released + sum(release.suppressed.values()) + 2 == 1800 == release.ranges[0].end
    assert len(release.rejects) == len(next(iter(table.reader())).rejects) == 2
    assert table.reader().coerced == 3
    owners: dict[str, list[str]] = defaultdict(list)
    for one in found:
        owners[tuple_of(one)].append(records[one["visits"]]["person"])
    kept = Counter(person for some in owners.values() for person in some)
    assert max(kept.values()) == min(each, 4)
    told = {
        tuple_of({"age": one["values"]["age"], "home": {"city": one["values"]["home.city"]}}): one
        for part in certified.certificate
        for one in json.loads(part)["classes"]
    }
    assert told.keys() == owners.keys()
    for name, some in owners.items():
        assert len(set(some)) >= 3
        assert (told[name]["records"], told[name]["individuals"]) == (len(some), len(set(some)))


def test_what_a_range_leaves_on_the_disk_does_not_tell_which_records_are_one_person_s(tmp_path: Path) -> None:
    policy = whole(load_policy(write_policy(tmp_path, window={"max_records_per_individual": 4})))
    records = [{**one, "visits": place} for place, one in enumerate(people(1800, 0, 6))]
    in_ranges(policy, records, tmp_path, 3)
    ids = set(coded(policy, records).individuals.tolist())
    for number in range(3):
        united = RangeFolder(tmp_path / str(number)).contents()[0]
        found, classes = np.concatenate(united._people), np.concatenate(united._of_people)
        assert len(found) > 100
        assert len(np.unique(found)) == len(found)  # a person of two classes has two numbers
        assert ids.isdisjoint(found.tolist())
        # Within a class they stand in their own order, which tells nothing of the records.
        assert (np.lexsort((found, classes)) == np.arange(len(found))).all()
    files = [path for path in tmp_path.glob("?/*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_the_place_of_a_record_in_the_output_tells_nothing_of_its_range(policy: Policy, tmp_path: Path) -> None:
    records = [{**record, "visits": place} for place, record in enumerate(people(2000))]
    _, _, found = in_ranges(policy, records, tmp_path, 4)
    assert len(found) > 1900
    for value in (lambda one: one["age"], lambda one: one["home"]["city"] in ("Oslo", "Bergen")):
        values = np.array([value(records[one["visits"]]) for one in found])
        assert abs(np.corrcoef(np.arange(len(found)), values)[0, 1]) < 0.13  # six times the deviation


def test_a_table_of_ranges_of_which_too_many_records_are_suppressed_is_suppressed(tmp_path: Path) -> None:
    privacy = {"max_suppressed": 0, "above_max_suppressed": "suppress"}
    path = write_policy(tmp_path, privacy=privacy, window={"max_records_per_individual": 1})
    records = people(600)
    _, certified, found = in_ranges(whole(load_policy(path)), [*records, records[0]], tmp_path, 2)
    assert found == []
    assert certified.release.suppressed == {"over-limit": 1, "max-suppressed": 600}
