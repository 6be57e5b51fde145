"""What a sample says of values that no family lists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_anon.formats.codecs import codec_of
from stream_anon.formats.writing.passed_texts import PassedTexts
from stream_anon.judging.findings import Severity
from stream_anon.judging.rest_values import RestValues, rest_values
from stream_anon.judging.sample_findings import sample_findings
from stream_anon.judging.sample_study import Sample, study
from stream_anon.microdata.policy import Policy
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import PEOPLE, people, write_policy

ILLNESSES = ["flu", "cold", "gout", "flu", "gout", "pox", None, "cold", "gout", "cold"]
Families = tuple[tuple[str | None, ...], ...]
PLACE = "privacy.sensitive.illness.rest"


def _policy(folder: Path, rest: str | None = "other", families: Families = (("flu", "cold"),)) -> Policy:
    own = {"invariant": 2, "families": [list(family) for family in families], **({"rest": rest} if rest else {})}
    privacy = {"k": 3, "individual": "person", "sensitive": {"illness": own}}
    return load_policy(write_policy(folder, privacy=privacy))


def _texts(each: int = 1) -> list[bytes]:
    """Return records of ten people: three have gout, one has pox, and one has no value."""
    records = people(10 * each, each=each)
    return [
        json.dumps(record | {"illness": ILLNESSES[place // each]}).encode() for place, record in enumerate(records)
    ]


def _counted(policy: Policy, texts: list[bytes], known: list[bytes]) -> tuple[RestValues, ...]:
    return rest_values(policy, codec_of(policy).decode(texts, 0, np.arange(len(texts))), known)


@pytest.mark.parametrize("each", [1, 3])
def test_values_in_the_rest_are_counted_by_people(each: int, tmp_path: Path) -> None:
    """However many records each has."""
    texts = _texts(each)
    (found,) = _counted(_policy(tmp_path), texts, texts)
    assert found == RestValues("illness", 5 * each, 3, 3 / 5)


def test_each_payload_is_read_once_for_all_attributes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rest = {"invariant": 2, "rest": "other"}
    document = {
        "privacy": {
            "k": 3,
            "individual": "person",
            "sensitive": {
                "illness": {**rest, "families": [["flu", "cold"]]},
                "treatment": {**rest, "families": [["tea", "rest"]]},
            },
        },
        "attributes": {**PEOPLE["attributes"], "treatment": {"role": "sensitive"}},
    }
    policy = load_policy(write_policy(tmp_path, **document))
    treatments = ["tea", "bed", "bed", "rest", "bed", "run", "tea", "tea", "tea", "tea"]
    records = zip(_texts(), treatments, strict=True)
    texts = [json.dumps(json.loads(text) | {"treatment": treatment}).encode() for text, treatment in records]
    read, rows_of = list[PassedTexts](), PassedTexts.__iter__

    def counted(payload: PassedTexts) -> Iterator[Any]:
        read.append(payload)
        return rows_of(payload)

    monkeypatch.setattr(PassedTexts, "__iter__", counted)
    found = _counted(policy, texts, texts)
    assert found == (RestValues("illness", 5, 3, 3 / 5), RestValues("treatment", 4, 2, 3 / 4))
    assert len(read) == 2


def test_without_texts_records_are_counted_and_values_are_not(tmp_path: Path) -> None:
    (found,) = _counted(_policy(tmp_path), _texts(), [])
    assert found == RestValues("illness", 5, 0, 0.0)
    assert "was not counted" in found.in_words


@pytest.mark.parametrize(
    ("rest", "families"),
    [(None, (("flu", "cold"),)), ("other", (("flu", "cold", "gout", "pox", None),))],
    ids=["no rest", "nobody is in it"],
)
def test_without_people_in_it_nothing_is_said(rest: str | None, families: Families, tmp_path: Path) -> None:
    assert _counted(_policy(tmp_path, rest, families), _texts(), _texts()) == ()


def test_check_warns_of_a_rest_and_names_no_value(tmp_path: Path) -> None:
    policy, texts = _policy(tmp_path), _texts()
    found = sample_findings(policy, study(policy, Sample(texts, np.arange(10.0))))
    (told,) = [each for each in found if each.place == PLACE]
    assert told.severity is Severity.WARNS
    assert "5 of 10 sampled records: 3 values, and 60% have the same" in told.text
    assert not any(value in told.text for value in ("gout", "pox"))
    alone = [text for text in texts if b"pox" not in text and b"null" not in text]
    found = sample_findings(policy, study(policy, Sample(alone, np.arange(8.0))))
    (told,) = [each for each in found if each.place == PLACE]
    assert "3 of 8 sampled records: 1 value, and 100% have the same" in told.text
