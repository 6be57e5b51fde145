"""An answer in a policy's text: what was there stays, and what is read back is what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from stream_anon.errors import InputError
from stream_anon.operations.negotiate.negotiated_policy import negotiated_text
from stream_anon.operations.policy_text import check_output
from stream_anon.settings.yaml_text import read_yaml

LEVELS = {"age": 1, "home.city": 0, "no": 2, "a, b": 3}
ENGINE = 'engine: {name: full-domain, levels: {age: 1, home.city: 0, "no": 2, "a, b": 3}}\n'


def _written(text: str, k: int = 7, **distinct: int) -> str:
    return negotiated_text(text, LEVELS, k, distinct, "policy.yaml")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("privacy: {k: 10, individual: p} # people\n", "privacy: {k: 7, individual: p} # people\n"),
        ("privacy:\n  individual: p\n\n  # k: 99\n  k: 10\n", None),
        ("privacy:\n  individual: p\n  k: 10  # so many\n", "privacy:\n  individual: p\n  k: 7  # so many\n"),
        ("# k: 10 was too much\nprivacy:\n  k: 7\n", "# k: 10 was too much\nprivacy:\n  k: 7\n"),
    ],
)
def test_k_changes_and_comments_stay(before: str, after: str | None) -> None:
    rest = "\nwindow: {max_records: 10} # k: 10\n"
    text = _written(before + rest)
    assert read_yaml(text)["privacy"]["k"] == 7  # type: ignore[index]
    if after is not None:
        assert text == after + rest + "\n" + ENGINE


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("privacy: {max_risk: 0.05, individual: p} # people\n", "privacy: {k: 7, individual: p} # people\n"),
        ("privacy:\n  # so much\n  max_risk: 0.05  # k = 20\n", "privacy:\n  # so much\n  k: 7  # k = 20\n"),
        ("privacy: {max_risk: 0.15}  # seven\n", "privacy: {max_risk: 0.15}  # seven\n"),
        ("privacy: {max_risk: 0.15, k: 7}\n", "privacy: {max_risk: 0.15, k: 7}\n"),
    ],
)
def test_a_risk_that_asks_for_another_k_gives_way_to_it(before: str, after: str) -> None:
    assert _written(before) == f"{after}\n{ENGINE}"


def test_a_risk_beside_its_k_gives_way_too() -> None:
    assert yaml.safe_load(_written("privacy: {max_risk: 0.05, k: 20}\n"))["privacy"] == {"k": 7}


@pytest.mark.parametrize(
    "engine",
    [
        "engine: {name: mondrian, relaxed: true}\n",
        "engine:\n  name: forest\n\n  # a comment in it\n  rounds: 2\n",
        "engine:\n  name: forest",
        "",
    ],
)
@pytest.mark.parametrize("after", [True, False])
def test_another_engine_gives_way_wherever_it_stands(engine: str, after: bool) -> None:
    privacy, window = "privacy: {k: 10}  # ten\n", "window: {max_records: 10}  # small\n"
    if after and engine:
        engine = engine.rstrip("\n") + "\n"
    before = privacy + engine + window if after else privacy + window + engine
    text = _written(before)
    assert text == f"privacy: {{k: 7}}  # ten\n{window}\n{ENGINE}"


def test_a_seed_stays_and_an_l_is_written_for_the_attribute_that_it_counts() -> None:
    text = "privacy:\n  k: 10\n  sensitive:\n    illness: {entropy_l: 2.5}\nengine: {name: forest, seed: 12}\n"
    document = yaml.safe_load(_written(text, illness=3, job=3))
    assert document == {
        "privacy": {
            "k": 7,
            "sensitive": {"illness": {"entropy_l": 2.5, "distinct_l": 3}, "job": {"distinct_l": 3}},
        },
        "engine": {"name": "full-domain", "levels": LEVELS, "seed": 12},
    }


def test_values_that_yaml_takes_for_others_are_the_same_after_it_was_written_anew() -> None:
    text = (
        "privacy: {k: 10}\nattributes:\n"
        "  country: {values: [NO, 'on', 010, 2025-02-28, 1_000, '7', 1:30]}\n  x: {values: [true, 7]}\n"
    )
    before = read_yaml(text)["attributes"]  # type: ignore[index]
    assert read_yaml(_written(text, x=2))["attributes"] == before  # type: ignore[index]


def test_a_policy_without_files_beside_it_may_be_written_anywhere(tmp_path: Path) -> None:
    beside, elsewhere = tmp_path / "new.yaml", tmp_path / "folder" / "new.yaml"
    named = {"attributes": {"age": {"hierarchy": "age.csv"}}}
    check_output(elsewhere, tmp_path / "policy.yaml", {"attributes": {"age": {"hierarchy": {"a": ["b"]}}}})
    check_output(beside, tmp_path / "policy.yaml", named)
    with pytest.raises(InputError, match="whose hierarchy of age is a file beside it"):
        check_output(elsewhere, tmp_path / "policy.yaml", named)


def test_a_file_that_was_read_is_not_written_over_by_whatever_name(tmp_path: Path) -> None:
    policy, service, link = tmp_path / "policy.yaml", tmp_path / "service.yaml", tmp_path / "link.yaml"
    policy.touch()
    link.symlink_to(policy)
    (tmp_path / "hard.yaml").hardlink_to(policy)
    for output in (policy, tmp_path / "folder" / ".." / "policy.yaml", link, tmp_path / "hard.yaml", service):
        with pytest.raises(InputError, match="was read, and is not written over"):
            check_output(output, policy, {}, service)
    check_output(tmp_path / "new.yaml", policy, {}, service)
