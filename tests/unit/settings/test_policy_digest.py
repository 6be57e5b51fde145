"""The digest of a policy names it for ever: no release gives another one to the same policy."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.settings.loading import load_settings
from stream_anon.settings.model import Settings
from stream_anon.settings.policy_digest import hashed_settings
from stream_anon.settings.policy_file import build_policy, load_policy
from stream_anon.settings.sections.window_settings import WindowSettings

PLAIN = """
privacy: {k: 2, individual: person}
attributes:
  person: {role: identifier}
  age: {role: quasi-identifier, numeric: {min: 0, max: 99}}
  seen: {role: quasi-identifier, date: {min: "2024-01-01", max: "2024-12-31"}}
  zip: {role: quasi-identifier, prefix: {length: 5}}
  visits: {role: insensitive, type: integer}
"""
RICH = """
privacy:
  k: 4
  individual: {field: person, normalize: [strip, casefold]}
  max_share: 0.4
  sensitive:
    illness: {distinct_l: 2, delta_disclosure: 1.5, beta_likeness: 2}
    pay: {recursive_cl: {c: 2, l: 3}, t_closeness: {t: 0.3, distance: ordered}}
  shields: [{attributes: [age, zip], k: 20}]
  max_suppressed: 5%
  above_max_suppressed: suppress
  revision: 7
window: {max_records: 500, max_delay: 2s, shortfall: hold, least_people: 30}
engine: {name: forest, seed: 0, rounds: 2}
input: {null_values: [NA, "", NA]}
output: {shape: typed}
attributes:
  person: {role: identifier, path: [who, id]}
  age: {role: quasi-identifier, numeric: {min: 0, max: 99, cuts: [18, 65]}, coerce: true, weight: 2}
  size: {role: quasi-identifier, numeric: {min: 0, max: 100, ranges: 10, arity: 5}, min_level: 1, max_level: 1}
  zip: {role: quasi-identifier, prefix: {length: 5, pad: zeros}, unknown: root}
  seen:
    role: quasi-identifier
    date: {format: iso8601, min: "2024-01-01", max: "2024-12-31", zone: Europe/Berlin, finest: minute}
  net: {role: quasi-identifier, ip: {version: 4, prefixes: [8, 16, 24]}}
  level: {role: quasi-identifier, order: [none, primary, secondary], missing: reject}
  group: {role: quasi-identifier, hierarchy: {ordered: [a, b, c, d], arity: 3}}
  illness: {role: sensitive, accept_missing: true}
  pay: {role: sensitive, type: integer}
  tags: {role: insensitive, type: "string[]", accept_linkable: true}
"""


class LaterWindow(WindowSettings):
    """The section of a release that has one setting more."""

    min_records: int = 0


class LaterSettings(Settings):
    """The settings of that release."""

    window: WindowSettings = LaterWindow()


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        (PLAIN, "sha256:96d5669cc4421685d3109fa9e6725e12082e5fb562c5f7aaefeaeddd5cd13081"),
        (RICH, "sha256:1706848b738dc9bdcf80dc4ac241b4d88bb5997c7198482e5c44a90b8c86c900"),
    ],
)
def test_the_digest_of_a_policy_is_what_it_was(tmp_path: Path, text: str, digest: str) -> None:
    # Written down when certificates of version 2 had just got their last key.
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    assert load_policy(file).digest == digest


def test_a_setting_that_is_added_counts_only_where_it_is_used(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(PLAIN)
    settings = load_settings(file)
    given = settings.model_dump(mode="json", exclude_unset=True)
    later = LaterSettings.model_validate(given)
    assert build_policy(later, file).digest == build_policy(settings, file).digest
    used = later.model_copy(update={"window": LaterWindow(min_records=5)})
    assert hashed_settings(used) != hashed_settings(later)


@pytest.mark.parametrize("window", ["{max_records: auto}", "{max_records: 10000}", "{max_memory: 512MiB}"])
def test_a_policy_that_names_no_number_of_records_keeps_the_digest_of_the_one_that_was_meant(
    tmp_path: Path, window: str
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(PLAIN)
    unnamed = load_policy(file)
    file.write_text(f"window: {window}\n{PLAIN}")
    assert load_policy(file).digest == unnamed.digest
    file.write_text(f"window: {{max_records: 1000000}}\n{PLAIN}")
    assert load_policy(file).digest != unnamed.digest


def test_a_risk_and_the_k_that_it_asks_for_are_the_same_policy(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    digests = set()
    for words in ("k: 12", "max_risk: 0.09", "max_risk: 0.085", "k: 12, max_risk: 0.09"):
        file.write_text(PLAIN.replace("k: 2", words))
        policy = load_policy(file)
        assert policy.k == 12
        digests.add(policy.digest)
    assert len(digests) == 1
    file.write_text(PLAIN.replace("k: 2", "max_risk: 0.08"))
    assert load_policy(file).digest not in digests


def test_what_is_stated_of_a_release_is_part_of_the_policy_and_an_empty_statement_is_none(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    digests = []
    for release in (
        "",
        "release: {}\n",
        "release: {owner: ''}\n",
        "release: {owner: us}\n",
        "release: {owner: you}\n",
    ):
        file.write_text(release + PLAIN)
        digests.append(load_policy(file).digest)
    assert digests[0] == digests[1] == digests[2]
    assert len(set(digests[2:])) == 3
