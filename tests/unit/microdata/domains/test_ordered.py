from __future__ import annotations

from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import pytest

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import PublishedForm, ScalarType
from stream_anon.microdata.domains.ordered import OrderedDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.settings.policy_file import load_policy
from tests.support.commands import FileRun
from tests.support.policies import PEOPLE, people, write_policy

DEGREES = ("none", "primary", "secondary", "bachelor", "master")


def _attribute(**more: Any) -> QuasiIdentifier:
    return QuasiIdentifier("degree", OrderedDomain(DEGREES), publication=PublishedForm.TIGHT, **more)


def test_a_range_costs_its_share_of_the_categories_and_one_category_nothing() -> None:
    domain = OrderedDomain(DEGREES)
    assert [domain.ncp(0, high) for high in range(5)] == pytest.approx([0, 0.4, 0.6, 0.8, 1])


def test_any_range_is_published_by_its_ends_and_read_back() -> None:
    attribute = _attribute()
    assert attribute.publish(*attribute.node(1, 3)) == "primary..bachelor"
    assert attribute.publish(*attribute.node(1, 1)) == "primary"
    assert attribute.publish(*attribute.node(0, 4)) == "*"
    assert attribute.read("primary..bachelor") == (1, 3)
    for wrong in ("bachelor..primary", "none..master", "primary..", "..primary", "primary..primary", "a..b", 3):
        assert attribute.read(wrong) is None


def test_a_category_may_have_a_type_and_a_range_of_it_is_text() -> None:
    stages = QuasiIdentifier(
        "stage", OrderedDomain(("1", "2", "3", "4")), publication=PublishedForm.TIGHT, type=ScalarType.INTEGER
    )
    assert [stages.publish(1, 1), stages.publish(1, 2)] == [2, "2..3"]
    assert [stages.read(2), stages.read("2..3"), stages.read("2")] == [(1, 1), (1, 2), None]


def test_categories_that_end_with_a_dot_are_read_back_and_no_two_ranges_are_published_alike() -> None:
    order = ("no degree", "B", "B.Sc.", "M.", "M", "Ph.D.")
    domain = OrderedDomain(order)
    ranges = list(combinations_with_replacement(range(len(order)), 2))
    published = {domain.publish(*ends): ends for ends in ranges}
    assert len(published) == len(ranges)
    assert {text: domain.read(text) for text in published} == published


def test_levels_join_neighbours_two_by_two() -> None:
    nodes = OrderedDomain(DEGREES).by_nodes()
    assert [nodes.publish(*nodes.node_at(1, level)) for level in range(4)] == [
        "primary",
        "none..primary",
        "none..bachelor",
        "*",
    ]


@pytest.mark.parametrize("wrong", [["a", "a"], ["a", "b..c"], ["a", "*"], ["a", ""], ["a"], ["a", ".b"]])
def test_an_order_that_cannot_be_told_from_its_ranges_is_refused(wrong: list[str], tmp_path: Path) -> None:
    policy = _with(tmp_path, {"order": wrong})
    with pytest.raises(SettingsError, match=r"attributes\.degree"):
        load_policy(policy)


def test_an_order_publishes_ranges_only(tmp_path: Path) -> None:
    for more in ({"publish": "values"}, {"publish": "nodes"}, {"min_level": 1}, {"values": ["none"]}):
        with pytest.raises(SettingsError, match=r"attributes\.degree"):
            load_policy(_with(tmp_path, {"order": list(DEGREES), **more}))


@pytest.mark.parametrize("engine", ["mondrian", "forest"])
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("shape", ["natural", "typed", "flat"])
def test_ranges_that_an_engine_publishes_pass_the_audit(
    engine: str, suffix: str, shape: str, tmp_path: Path
) -> None:
    policy = _with(tmp_path, {"order": list(DEGREES)}, engine={"name": engine}, output={"shape": shape})
    records = people(300)
    for i, record in enumerate(records):
        record["degree"] = [*DEGREES, None][i * i % 6]
    files = FileRun(policy, records)
    files.output = tmp_path / f"out.{suffix}"
    assert files.anonymize("--k", 5) == 0
    assert files.audit() == 0
    if suffix == "jsonl":
        degrees = {record["degree"] for record in files.released}
        assert any(own and ".." in own for own in degrees)


def _with(folder: Path, degree: dict[str, Any], **sections: Any) -> Path:
    attributes = {**PEOPLE["attributes"], "degree": {"role": "quasi-identifier", **degree}}
    return write_policy(folder, attributes=attributes, **sections)
