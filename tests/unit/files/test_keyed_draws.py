"""By a key, the same records give the same release, whatever order they come in; another key gives another."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_anon import Anonymizer, Policy, anonymize_frame
from stream_anon.engine.keyed_draws import DrawsKey
from stream_anon.errors import SettingsError
from stream_anon.files import key_files
from stream_anon.files.key_files import make_key
from stream_anon.microdata.policy import Policy as CorePolicy
from stream_anon.secret_files import read_key
from tests.attacks.town import town_policy, townspeople
from tests.support.commands import run
from tests.support.data import ROOT
from tests.support.effort import examples
from tests.support.policies import people, write_json_lines, write_policy

KEY, OTHER = b"a key of 32 bytes, kept secretly", b"another key that is long enough."
LISTS = {"symptoms": {"role": "sensitive", "type": "string[]", "accept_missing": True, "accept_linkable": True}}
VALUES = st.sampled_from(["flu", "cold", "none", None])
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "person": st.integers(0, 20).map(str),
            "age": st.integers(30, 34),
            "home": st.fixed_dictionaries({"city": st.sampled_from(["Oslo", "Rome"])}),
            "visits": st.integers(0, 1),
            "illness": VALUES,
            "symptoms": st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=2),
        }
    ),
    min_size=1,
    max_size=40,
)


def policy_of(folder: Path, engine: str = "forest", **asked: Any) -> Policy:
    """Return a policy whose window holds all records of a test."""
    privacy = {"k": 3, "individual": "person", "sensitive": asked}
    base = {"age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}, "accept_missing": True}}
    return Policy.load(
        write_policy(
            folder,
            privacy=privacy,
            window={"max_records": 1000},
            engine={"name": engine},
            attributes=LISTS | base,
        )
    )


def released(policy: CorePolicy, records: Sequence[Mapping[str, Any]], key: bytes | None) -> list[dict[str, Any]]:
    anonymizer = Anonymizer(policy, draws_key=key, accept_risks=("rare-values",))
    releases = [*anonymizer.add(records), *anonymizer.close()]
    return [record for release in releases for record in release.records]


@pytest.mark.parametrize("engine", ["forest", "k-forest", "mondrian"])
@pytest.mark.parametrize("asked", [{}, {"illness": {"distinct_l": 2}}, {"symptoms": {"distinct_l": 2}}], ids=str)
@settings(examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=RECORDS, order=st.randoms(use_true_random=False))
def test_records_in_any_order_and_with_any_ids_give_one_release(
    engine: str, asked: dict[str, Any], tmp_path: Path, records: list[dict[str, Any]], order: random.Random
) -> None:
    policy = policy_of(tmp_path, engine, **asked)
    once = released(policy, records, KEY)
    renamed = [{**record, "person": f"id-{97 - int(record['person'])}"} for record in records]
    order.shuffle(renamed)
    assert released(policy, renamed, KEY) == once


def test_what_is_drawn_differs_by_key_and_without_one_by_run() -> None:
    policy, records = town_policy(), townspeople(1000)
    bags = [sorted(map(json.dumps, released(policy, records, key))) for key in (KEY, KEY, OTHER, None, None)]
    assert len(bags[0]) == 1000
    assert bags[0] == bags[1]
    assert all(one != other for one, other in itertools.combinations(bags[1:], 2))


def test_one_record_more_draws_everything_anew() -> None:
    policy, records = town_policy(max_records=2000), townspeople(1001)
    bags = [Counter(map(json.dumps, released(policy, part, KEY))) for part in (records[:1000], records)]
    assert (bags[0] - bags[1]).total() > 200


def test_frames_and_records_are_released_alike_by_one_key(tmp_path: Path) -> None:
    policy, records = policy_of(tmp_path), people(200)
    frame = pl.DataFrame([{**record, "symptoms": ["a"]} for record in records])
    rows = anonymize_frame(frame, policy, draws_key=KEY, accept_risks=("rare-values",)).to_dicts()
    expected = released(policy, [{**record, "symptoms": ["a"]} for record in records], KEY)
    assert len(rows) == 200
    assert [(row["home.city"], row["illness"], row["visits"]) for row in rows] == [
        (record["home"]["city"], record["illness"], record["visits"]) for record in expected
    ]


def test_another_process_gives_the_same_release(tmp_path: Path) -> None:
    """Keys of values and ids differ between processes; nothing that is drawn may follow from them."""
    policy_of(tmp_path, symptoms={"distinct_l": 2})
    symptoms = [["a", "b"], ["c"], ["d"], ["e", "c"], ["f"]]
    held = [{**record, "symptoms": symptoms[i % 5]} for i, record in enumerate(people(90))]
    write_json_lines(tmp_path / "in.jsonl", held)
    script = (
        "import sys, json; from stream_anon import Anonymizer, Policy\n"
        "anonymizer = Anonymizer(Policy.load(sys.argv[1]), draws_key=b'k' * 32, accept_risks=('rare-values',))\n"
        "lines = open(sys.argv[2], 'rb').read().splitlines()\n"
        "releases = [*anonymizer.add(lines), *anonymizer.close()]\n"
        "print(json.dumps([release.records for release in releases]))"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", script, tmp_path / "policy.yaml", tmp_path / "in.jsonl"],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    assert found[0].count(b"illness") > 60


def test_a_key_is_never_shown(tmp_path: Path) -> None:
    assert "secret" not in f"{DrawsKey(KEY)!r} {DrawsKey(KEY)}"
    with pytest.raises(ValueError, match="16 bytes") as short:
        DrawsKey(b"secret")
    assert "secret" not in str(short.value)
    file = tmp_path / "key"
    file.write_text("secret")
    with pytest.raises(SettingsError, match=r"draws_key_file: a key of draws must have 16 bytes") as refused:
        read_key(DrawsKey, file)
    assert "secret" not in str(refused.value)
    anonymizer = Anonymizer(policy_of(tmp_path), draws_key=KEY)
    certificates = [release.certificate for release in [*anonymizer.add(people(50)), *anonymizer.close()]]
    assert "secretly" not in json.dumps(certificates)
    assert "replayable" not in certificates[0][0]["terms"]


def test_a_key_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml.draws-key"
    assert make_key(file)
    written = file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert not make_key(file)
    assert file.read_text() == written
    assert len(written) == 65
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--method", "datafly"),
        ("--method", "datafly", "--option", "keep_suppressed=true"),
        ("--method", "anatomy", "--option", "target=illness"),
    ],
    ids=["engine", "datafly", "datafly that keeps the suppressed", "anatomy"],
)
def test_a_file_is_released_twice_as_the_same_bytes(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = write_policy(
        tmp_path,
        privacy={"k": 3, "individual": "person", "sensitive": {"illness": {"distinct_l": 2}}},
        window={"max_records": 1000},
    )
    records = people(150)
    source, made = write_json_lines(tmp_path / "in.jsonl", records), tmp_path / "policy.yaml.draws-key"
    assert run("anonymize", "-c", policy, source, tmp_path / "a.jsonl", *options) == 0
    assert f"made {made}: keep it" in capsys.readouterr().err
    write_json_lines(source, records[::-1])
    assert run("anonymize", "-c", policy, source, tmp_path / "b.jsonl", *options) == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert made.read_text().strip() not in (told := capsys.readouterr().err)
    assert "key" not in told
    assert run("anonymize", "-c", policy, source, tmp_path / "c.jsonl", "--fresh-draws", *options) == 0
    assert (tmp_path / "a.jsonl").read_bytes() != (tmp_path / "c.jsonl").read_bytes()
    assert "warning: drawn without a key" in capsys.readouterr().err


def test_a_key_of_somewhere_else_is_read_and_not_made(tmp_path: Path) -> None:
    policy, source = write_policy(tmp_path), write_json_lines(tmp_path / "in.jsonl", people(100))
    key = tmp_path / "key"
    assert run("anonymize", "-c", policy, source, tmp_path / "a.jsonl", "--draws-key", key) == 2
    key.write_bytes(KEY)
    assert run("anonymize", "-c", policy, source, tmp_path / "a.jsonl", "--draws-key", key) == 0
    write_policy(tmp_path, engine={"draws_key_file": "key"})
    assert run("anonymize", "-c", policy, source, tmp_path / "b.jsonl") == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert not (tmp_path / "policy.yaml.draws-key").exists()


def test_where_no_key_can_be_made_draws_are_fresh_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(key_files.os, "link", refused)
    policy, source = write_policy(tmp_path), write_json_lines(tmp_path / "in.jsonl", people(100))
    assert run("anonymize", "-c", policy, source, tmp_path / "out.jsonl") == 0
    told = capsys.readouterr().err
    assert "no key can be made there (Permission denied)" in told
    assert "warning: drawn without a key" in told
    assert not list(tmp_path.glob("*draws-key*"))
