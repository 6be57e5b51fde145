from __future__ import annotations

import json
from typing import Any

import pytest

from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from stream_anon.privacy.population.weakened_presence import weakened_presence
from stream_anon.privacy.promises import promises_of, stated_by
from stream_anon.privacy.weakening import weakened
from tests.support.populations import DIGEST, bounded, of_nodes, population
from tests.support.releases import frame_of, release_of, ward_people, ward_policy

HAD = {"most": 0.3, "digest": "sha256:" + "1" * 64, "people": 100}


def _ward(**changes: Any) -> Policy:
    """Return a policy that publishes nodes alone."""
    return ward_policy(**{"attributes": of_nodes(ward_policy().attributes)} | changes)


@pytest.mark.parametrize(
    ("has", "places"),
    [
        (HAD, []),
        ({**HAD, "most": 0.2}, []),
        ({**HAD, "most": 0.31}, ["privacy.presence.most"]),
        ({**HAD, "digest": "sha256:" + "2" * 64}, ["privacy.presence.population"]),
        ({**HAD, "digest": "", "most": 0.4}, ["privacy.presence.most", "privacy.presence.population"]),
        (None, ["privacy.presence"]),
    ],
)
def test_a_higher_share_another_population_and_none_at_all_are_weaker(has: Any, places: list[str]) -> None:
    assert [place for place, _ in weakened_presence(HAD, has)] == places
    assert list(weakened_presence(None, has)) == []


def test_policies_with_and_without_it_are_compared() -> None:
    policy = _ward(**bounded(0.3, population([(20, 12300, 0, 130, 0, 80)])))
    before, after = promises_of(policy), promises_of(_ward())
    assert [each.place for each in weakened(before, after)] == ["privacy.presence"]
    assert weakened(after, before) == ()


def test_certificate_and_document_have_the_hash_and_the_size_of_the_population_and_no_more_of_it() -> None:
    policy = _ward(**bounded(0.3, population([(20, 12300, 0, 130, 0, 80)] * 7)))
    document = PolicyDocument.of(policy)
    assert json.loads(document.text)["presence"] == {"most": 0.3, "counted": DIGEST, "people": 7}
    assert "population" not in document.text
    assert document.policy().presence == policy.presence
    assert document.policy().population is None
    (part,) = certificate_parts(release_of(policy, [ward_people(6)]), policy, frame_of(release_of(policy, [])))
    assert json.loads(part)["asked"]["presence"] == {"most": 0.3, "digest": DIGEST, "people": 7}
    bare = ward_policy()
    (part,) = certificate_parts(release_of(bare, [ward_people(6)]), bare, frame_of(release_of(bare, [])))
    assert b"presence" not in part
    assert "presence" not in PolicyDocument.of(bare).text


@pytest.mark.parametrize("changes", [{"max_records": 5_000}, {"max_delay": 10.0}])
def test_smaller_windows_are_weaker_since_each_is_bounded_by_itself(changes: dict[str, Any]) -> None:
    given = bounded(0.3, population([(20, 12300, 0, 130, 0, 80)]))
    before = stated_by(_ward(**given))
    after = stated_by(_ward(**given, window=WindowLimits(**changes)))
    assert [each.place for each in weakened(before, after)] == [f"window.{key}" for key in changes]
    assert weakened(after, before) == ()
    bare = stated_by(_ward()), stated_by(_ward(window=WindowLimits(**changes)))
    assert weakened(*bare) == ()
