"""What a registry shows of a policy: nothing that is never published, and no seed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_anon import Policy
from stream_anon.microdata.schemas.avro import avro_schema
from stream_anon.microdata.schemas.json_schema import released_schema
from stream_anon.microdata.schemas.protobuf import protobuf_schema
from stream_anon.microdata.schemas.sql import sql_table
from tests.support.policies import write_policy

LEVELS = {
    "role": "quasi-identifier",
    "hierarchy": {"public": ["mayor", "teacher"], "private": ["baker", "smith"]},
}


def test_no_schema_tells_the_seed(tmp_path: Path) -> None:
    seen = set()
    for seed in (1, 1729):
        policy = Policy.load(
            write_policy(tmp_path, output={"shape": "typed"}, engine={"name": "mondrian", "seed": seed})
        )
        avro, described = json.dumps(avro_schema(policy)), json.dumps(released_schema(policy))
        seen.add((avro, described, protobuf_schema(policy), sql_table(policy)))
    assert len(seen) == 1


@pytest.mark.parametrize("shape", ["natural", "typed", "flat"])
@pytest.mark.parametrize(
    ("least", "labels"),
    [(0, {"mayor", "teacher", "baker", "smith", "public", "private"}), (1, {"public", "private"}), (2, set())],
)
def test_a_schema_lists_labels_that_can_be_published_only(
    tmp_path: Path, shape: str, least: int, labels: set[str]
) -> None:
    path = write_policy(
        tmp_path, output={"shape": shape}, attributes={"job": {**LEVELS, "min_level": least}}, engine={"seed": 1}
    )
    policy = Policy.load(path)
    choices = released_schema(policy)["properties"]["job"]["oneOf"]
    assert {label for choice in choices for label in choice.get("enum", ())} == labels
    assert all(policy.attribute("job").read(label) is not None for label in labels)  # type: ignore[union-attr]
    assert all(choice.get("enum") != [] for choice in choices)
