"""The document of what a policy promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stream_anon.microdata.policy import Policy
from stream_anon.privacy.promises import promises_of
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_document, write_policy

TREE = {"north": ["Oslo", "Bergen"], "south": ["Rome", "Bari"]}


def _policy(folder: Path, **sections: dict[str, Any]) -> Policy:
    return load_policy(write_policy(folder, **sections))


def _outline(folder: Path, domain: dict[str, Any]) -> dict[str, Any]:
    document = {
        "privacy": {"k": 3, "individual": "every-record"},
        "attributes": {"field": {"role": "quasi-identifier", **domain}},
    }
    outline: dict[str, Any] = promises_of(load_policy(write_document(folder, document)))["attributes"]["field"][
        "domain"
    ]
    return outline


def test_the_document_is_json_and_reads_back_as_itself(tmp_path: Path) -> None:
    promises = promises_of(_policy(tmp_path))

    assert json.loads(json.dumps(promises)) == promises


def test_the_document_says_what_is_asked_of_whom_and_how_each_attribute_leaves(tmp_path: Path) -> None:
    promises = promises_of(_policy(tmp_path, privacy={"sensitive": {"illness": {"distinct_l": 2}}}))

    assert promises["asked"] == {"k": 3, "max_share": 0.5, "distinct_l": {"illness": 2}, "sensitive": {}}
    assert promises["individual"] == {"field": "person", "path": ["person"]}
    assert promises["extra_levels"] == 0
    assert list(promises["attributes"]) == ["person", "age", "home.city", "visits", "illness"]
    assert promises["attributes"]["person"] == {"role": "identifier"}
    assert promises["attributes"]["visits"] == {"role": "insensitive", "path": ["visits"], "type": "integer"}
    assert promises["attributes"]["age"]["publish"] == "nodes"


def test_limits_of_a_window_and_the_engine_promise_nothing(tmp_path: Path) -> None:
    before = promises_of(_policy(tmp_path))

    after = promises_of(_policy(tmp_path, window={"max_delay": "1s"}, engine={"seed": 7}, privacy={"revision": 3}))

    assert after == before


def test_no_label_of_a_hierarchy_stands_in_the_document(tmp_path: Path) -> None:
    text = json.dumps(_outline(tmp_path, {"hierarchy": TREE}))

    assert not [label for label in ("Oslo", "Bergen", "Rome", "Bari", "north", "south") if label in text]


def test_the_order_and_the_names_of_groups_make_no_other_level(tmp_path: Path) -> None:
    renamed = {"warm": ["Bari", "Rome"], "cold": ["Bergen", "Oslo"]}

    assert _outline(tmp_path, {"hierarchy": renamed}) == _outline(tmp_path, {"hierarchy": TREE})


def test_another_grouping_of_as_many_groups_is_another_level(tmp_path: Path) -> None:
    mixed = {"one": ["Oslo", "Rome"], "two": ["Bergen", "Bari"]}

    before = _outline(tmp_path, {"hierarchy": TREE})["levels"]
    after = _outline(tmp_path, {"hierarchy": mixed})["levels"]

    assert [level["groups"] for level in before] == [level["groups"] for level in after] == [4, 2]
    assert before[0] == after[0]
    assert before[1]["name"] != after[1]["name"]


def test_a_short_branch_counts_as_a_group_of_its_own_on_every_level(tmp_path: Path) -> None:
    ragged = {"north": {"norway": ["Oslo", "Bergen"]}, "Rome": None}

    assert [level["groups"] for level in _outline(tmp_path, {"hierarchy": ragged})["levels"]] == [3, 2, 2]


def test_the_levels_of_numbers_are_widths_and_their_grid_is_the_end_they_are_counted_from(tmp_path: Path) -> None:
    outline = _outline(tmp_path, {"numeric": {"min": 17, "max": 90, "levels": [5, 10]}})

    assert outline["grid"] == {"min": "17", "decimals": 0}
    assert outline["range"] == ["17", "90"]
    assert outline["levels"] == [
        {"name": "1", "groups": 74},
        {"name": "5", "groups": 15},
        {"name": "10", "groups": 8},
    ]


def test_halvings_have_the_whole_range_as_their_grid(tmp_path: Path) -> None:
    outline = _outline(tmp_path, {"numeric": {"min": 0, "max": 99.5, "step": 0.50}})

    assert outline["grid"] == {"min": "0", "decimals": None, "max": "99.5", "step": "0.5"}


def test_prefixes_and_dates_name_their_levels(tmp_path: Path) -> None:
    prefix = _outline(tmp_path, {"prefix": {"length": 3}})
    date = _outline(tmp_path, {"date": {"min": "2024-01-01", "max": "2024-12-31"}})

    assert [(level["name"], level["groups"]) for level in prefix["levels"]] == [("3", 1000), ("2", 100), ("1", 10)]
    assert [(level["name"], level["groups"]) for level in date["levels"]] == [
        ("day", 366),
        ("month", 12),
        ("quarter", 4),
        ("year", 1),
    ]
