"""What the demo makes of a CSV file and of somebody's settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_anon.demo.made_up_events import csv_events, partition_of
from stream_anon.demo.session import MOST_DELAY, demo_settings
from stream_anon.errors import InputError
from stream_anon.microdata.policy import Policy
from stream_anon.settings.loading import load_settings
from tests.support.releases import ward_policy

HEADER = "person;patient.age;patient.zip;illness;day;plan;weight;result;visits;remark\n"
ROW = "p1;42;01234;flu;2024-05-13;a;60.5;b;7;12\n"


def _file(folder: Path, text: str) -> Path:
    path = folder / "events.csv"
    path.write_text(text)
    return path


def _events(folder: Path, text: str, most: int = 100) -> list[dict[str, object]]:
    return [json.loads(event) for event in csv_events(_file(folder, text), ward_policy(), most)]


def test_cells_are_typed_by_the_policy(tmp_path: Path) -> None:
    assert _events(tmp_path, HEADER + ROW) == [
        {
            "person": "p1",
            "patient": {"age": 42, "zip": "01234"},
            "illness": "flu",
            "day": "2024-05-13",
            "plan": "a",
            "weight": 60.5,
            "result": "b",
            "visits": 7,
            "remark": "12",
        }
    ]


def test_an_empty_cell_is_a_missing_field(tmp_path: Path) -> None:
    event = _events(tmp_path, HEADER + ROW.replace("42", "").replace(";b;", ";;"))[0]
    assert event["patient"] == {"zip": "01234"}
    assert "result" not in event


def test_a_cell_of_a_wrong_type_stays_text(tmp_path: Path) -> None:
    assert _events(tmp_path, HEADER + ROW.replace("42", "old"))[0]["patient"] == {"age": "old", "zip": "01234"}


def test_no_more_rows_are_read_than_asked_for(tmp_path: Path) -> None:
    assert len(_events(tmp_path, HEADER + ROW * 9, 5)) == 5
    assert len(_events(tmp_path, HEADER + ROW * 9)) == 9


@pytest.mark.parametrize("text", ["", HEADER, "age;zip\n1;2\n"])
def test_a_file_that_is_no_input_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"events\.csv"):
        _events(tmp_path, text)


def test_missing_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"illness, person"):
        _events(tmp_path, (HEADER + ROW).replace("person", "who").replace("illness", "what"))


def test_the_events_of_a_person_lie_in_one_partition() -> None:
    policy = ward_policy()
    events = [json.dumps({"person": f"p{i % 20}", "patient": {"age": i}}).encode() for i in range(200)]
    places = {(json.loads(event)["person"], partition_of(event, policy, n, 4)) for n, event in enumerate(events)}
    assert len(places) == 20
    assert {partition for _, partition in places} == {0, 1, 2, 3}


@pytest.mark.parametrize("event", [b"{", b"[]", b'"p1"', b"\xff", b"", b'{"person": {"a": 1}}'])
def test_an_event_that_is_no_record_has_a_partition(event: bytes) -> None:
    policy: Policy = ward_policy()
    assert 0 <= partition_of(event, policy, 7, 4) < 4


def test_the_demo_talks_to_its_own_broker_only_and_closes_windows_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text(
        """
kafka: {bootstrap_servers: "prod:9092", group: g, input: i, output: o, security: {protocol: SSL}}
privacy: {k: 5, individual: every-record}
window: {max_records: 700, max_delay: 30s}
attributes: {age: {role: quasi-identifier, numeric: {min: 0, max: 99}}}
"""
    )
    monkeypatch.setenv("STREAM_ANON__KAFKA__BOOTSTRAP_SERVERS", "prod:9092")
    settings = demo_settings(load_settings(path), "127.0.0.1:12345", 9)
    assert settings.kafka is not None
    assert settings.kafka.bootstrap_servers == "127.0.0.1:12345"
    assert settings.kafka.security.protocol == "PLAINTEXT"
    assert settings.kafka.group != "g"
    assert (settings.window.max_delay, settings.window.max_records) == (MOST_DELAY, 700)
    assert settings.privacy.k == 9
    assert demo_settings(load_settings(path), "127.0.0.1:1", None).privacy.k == 5
