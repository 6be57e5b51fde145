"""Each limit is told where it applies, and only there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.bounds import RecordBound, ReturnBound
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.operations.report.evidence import Evidence, Use
from stream_anon.operations.report.residual_risks import ResidualRisk, residual_risks
from tests.support.releases import ward_policy

ALWAYS = {"forgotten-quasi-identifier", "other-releases", "inference"}


def _risks(policy: Policy, evidence: Evidence | None = None) -> dict[str, ResidualRisk]:
    found = residual_risks(policy, evidence or Evidence(policy, None))
    assert len({risk.name for risk in found}) == len(found)
    assert all(risk.text.endswith(".") for risk in found)
    return {risk.name: risk for risk in found}


def _with_result(policy: Policy, **changes: Any) -> Policy:
    attributes = tuple(replace(own, **changes) if isinstance(own, Sensitive) else own for own in policy.attributes)
    return replace(policy, attributes=attributes)


FAMILIES = {"families": (("fine", "poor", "bad"),)}


@pytest.mark.parametrize(
    ("name", "with_it", "without"),
    [
        ("records-not-people", ward_policy(individual=EVERY_RECORD), ward_policy()),
        ("no-criterion-result", ward_policy(diversity={}), ward_policy(diversity={"result": Diversity(2)})),
        ("any-number-of-releases", ward_policy(), ward_policy(returning=ReturnBound(3, 86_400.0))),
        ("people-who-return", ward_policy(), _with_result(ward_policy(diversity={}), **FAMILIES)),
        ("family-result", _with_result(ward_policy(diversity={}), **FAMILIES), ward_policy()),
        ("list-result", _with_result(ward_policy(), many=True), ward_policy()),
    ],
)
def test_a_limit_applies_to_the_policies_that_have_it(name: str, with_it: Policy, without: Policy) -> None:
    assert name in _risks(with_it)
    assert name not in _risks(without)
    assert _risks(with_it).keys() >= ALWAYS <= _risks(without).keys()


def test_families_whose_values_are_published_tell_more() -> None:
    shown = _with_result(ward_policy(diversity={}), **FAMILIES, shown_as=ShownAs.VALUE)
    assert "likeliest value" in _risks(shown)["family-result"].text
    hidden = _with_result(ward_policy(diversity={}), **FAMILIES)
    assert "likeliest value" not in _risks(hidden)["family-result"].text


def test_fields_that_pass_and_true_ends_are_named() -> None:
    found = _risks(ward_policy())
    assert found["passing-fields"].text.startswith("visits:")
    assert found["true-ends"].text.startswith("plan, weight:")


def test_what_windows_did_is_told() -> None:
    policy = ward_policy()
    evidence = Evidence(policy, None)
    use = Use("2024-05-13T08:00:00Z", "2024-05-13T08:00:00Z", 1)
    evidence.deliveries["file"] = use
    quiet = _risks(policy, evidence)
    assert not {"suppression", "time-of-publication", "dead-letters", "replay", "at-least-once"} & quiet.keys()
    evidence.deliveries = {"at-least-once": use}
    evidence.records.suppressed["unplaced"] += 1
    evidence.replayable = 7
    evidence.linkable = {"visits"}
    loud = _risks(policy, evidence)
    assert {"suppression", "time-of-publication", "dead-letters", "at-least-once"} <= loud.keys()
    assert "In 7 windows" in loud["replay"].text
    assert loud["accepted-rare-values"].text.startswith("visits:")


def test_counterfeits_and_a_missing_k_are_told() -> None:
    policy = ward_policy()
    object.__setattr__(policy, "counterfeits", RecordBound(0.01))
    assert "counterfeits" in _risks(policy)
    object.__setattr__(policy, "k", None)
    assert "shields-only" in _risks(policy)
    assert "shields-only" not in _risks(ward_policy())
