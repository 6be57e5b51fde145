from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_anon.errors import SettingsError
from stream_anon.settings.policy_file import load_policy
from tests.support.commands import run
from tests.support.policies import people, write_json_lines, write_policy


def test_the_learned_file_holds_no_value_and_is_read_by_the_settings(tmp_path: Path) -> None:
    sample = write_json_lines(tmp_path / "sample.jsonl", people(200))
    target = tmp_path / "order.json"
    plain = write_policy(tmp_path)
    digest = load_policy(plain).digest
    assert run("learn", sample, "-c", plain, "-o", target) == 0
    text = target.read_text()
    assert not [city for city in ("Oslo", "Bergen", "Rome", "Bari", "north", "south") if city in text]
    assert set(json.loads(text)["order"]) == {"age", "home.city"}
    policy = load_policy(write_policy(tmp_path, engine={"order": "order.json"}))
    assert policy.engine.order is not None
    assert policy.digest == digest  # another order is not another policy


def test_an_order_of_other_attributes_is_refused(tmp_path: Path) -> None:
    sample = write_json_lines(tmp_path / "sample.jsonl", people(200))
    assert run("learn", sample, "-c", write_policy(tmp_path), "-o", tmp_path / "o.json") == 0
    wider = {"age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 120}}}
    with pytest.raises(SettingsError, match="learned for other quasi-identifiers"):
        load_policy(write_policy(tmp_path, engine={"order": "o.json"}, attributes=wider))


@pytest.mark.parametrize("text", ["", "[]", '{"stream_anon_order": 1, "attributes": "x", "order": [1]}'])
def test_a_file_that_is_no_order_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "o.json").write_text(text)
    with pytest.raises(SettingsError, match=r"engine\.order"):
        load_policy(write_policy(tmp_path, engine={"order": "o.json"}))


def test_a_sample_too_small_to_learn_from_is_refused(tmp_path: Path) -> None:
    sample = write_json_lines(tmp_path / "sample.jsonl", people(3))
    policy = write_policy(tmp_path)
    assert run("learn", sample, "-c", policy, "-o", tmp_path / "o.json") == 2
