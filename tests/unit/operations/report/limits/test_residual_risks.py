"""Each limit is told where it applies, and only there."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.bounds import RecordBound, ReturnBound, Shield
from stream_anon.microdata.choices.engine_choice import EngineChoice
from stream_anon.microdata.choices.window_limits import AboveMost, WindowLimits
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.operations.report.figures.evidence import Evidence, Use
from stream_anon.operations.report.limits.residual_risk import ResidualRisk
from stream_anon.operations.report.limits.residual_risks import residual_risks
from tests.support.data import ROOT
from tests.support.releases import ward_policy

ALWAYS = {
    "forgotten-quasi-identifier",
    "predicate-singling-out",
    "combinatorial-refinement",
    "other-releases",
    "inference",
    "replay",
    "same-records-twice",
    "planted-people",
    "copies",
    "followed",
}


def _risks(policy: Policy, evidence: Evidence | None = None) -> dict[str, ResidualRisk]:
    found = residual_risks(policy, evidence or Evidence(policy, None))
    assert len({risk.name for risk in found}) == len(found)
    assert all(risk.text.endswith(".") for risk in found)
    return {risk.name: risk for risk in found}


def _with_result(policy: Policy, **changes: Any) -> Policy:
    attributes = tuple(replace(own, **changes) if isinstance(own, Sensitive) else own for own in policy.attributes)
    return replace(policy, attributes=attributes)


def _fixed_levels() -> Policy:
    policy = ward_policy()
    object.__setattr__(policy, "engine", EngineChoice("full-domain"))
    return policy


def _raised() -> Policy:
    policy = ward_policy()
    object.__setattr__(policy, "extra_levels", 1)
    return policy


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
        ("list-result", _with_result(ward_policy(diversity={}), many=True), ward_policy()),
        ("ids", ward_policy(), ward_policy(individual=EVERY_RECORD)),
        ("frequent-visitors", ward_policy(), ward_policy(individual=EVERY_RECORD)),
        ("several-classes", ward_policy(), ward_policy(window=WindowLimits(max_records_per_individual=1))),
        ("uneven-result", ward_policy(), ward_policy(diversity={"result": Diversity(2, alpha=0.5)})),
        ("uneven-result", ward_policy(), ward_policy(diversity={})),
        ("minimality", ward_policy(), ward_policy(diversity={})),
        ("minimal-generalizations", ward_policy(), _fixed_levels()),
        ("minimal-generalizations", ward_policy(), _raised()),
        ("raised-levels", _raised(), ward_policy()),
        ("beside-shields", ward_policy(shields=(Shield(("illness",), 9),)), ward_policy()),
        ("counts-of-returns", ward_policy(returning=ReturnBound(3, 86_400.0)), ward_policy()),
        (
            "planted-suppression",
            ward_policy(max_suppressed=RecordBound(0.1), above_max_suppressed=AboveMost.SUPPRESS),
            ward_policy(max_suppressed=RecordBound(0.1)),
        ),
        (
            "unlisted-result",
            _with_result(ward_policy(diversity={}), **FAMILIES),
            _with_result(ward_policy(diversity={}), **FAMILIES, rest="other"),
        ),
        (
            "rest-result",
            _with_result(ward_policy(diversity={}), **FAMILIES, rest="other"),
            _with_result(ward_policy(diversity={}), **FAMILIES),
        ),
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
    assert found["passing-fields"].text.startswith("result, visits:")
    assert found["true-ends"].text.startswith("plan, weight:")


COVERED = {
    "Homogeneity": "no-criterion-result uneven-result",
    "Recurrence": "people-who-return",
    "The same records twice": "same-records-twice",
    "Anatomy": "",  # it leaves no certificate, and so there is no report
    "Several records of one person": "several-classes",
    "Copies in the input": "copies",
    "Aborted attempts": "uncommitted",
    "Spellings": "ids",
    "Sybils": "planted-people",
    "Windows made small": "small-windows",
    "Frequent visitors": "frequent-visitors records-not-people",
    "Ids from another field": "",  # a change of policy, which a report lists as weaker
    "Minimality of l": "minimality",
    "Replay": "replay",
    "Predicate singling out": "predicate-singling-out",
    "A policy that names too few quasi-identifiers": "forgotten-quasi-identifier",
    "Combinatorial refinement": "combinatorial-refinement",
    "Minimal generalizations": "minimal-generalizations",
    "`extra_levels: n`": "raised-levels",
    "`tight` ranges, ranges of an `order` and `values` sets": "true-ends",
    "Fields that pass": "passing-fields accepted-rare-values",
    "Suppression": "suppression planted-suppression",
    "Time of publication": "time-of-publication",
    "Commit markers": "times-of-brokers",
    "Presence": "presence presence-per-window watching",
    "Waiting records": "watching",
    "Who came last": "arrival",
    "Which worker": "times-of-brokers",
}
"""What privacy.md does not promise, and the risks that a report tells of it."""


def test_every_limit_of_the_page_on_privacy_has_its_risk() -> None:
    """A limit that somebody adds there is told to who signs, or it stands here why not."""
    page = (ROOT / "docs/explain/privacy.md").read_text("utf-8").partition("\n## Not promised\n")[2]
    assert set(re.findall(r"^- \*\*(.+?)\.?\*\*", page, re.MULTILINE)) == COVERED.keys()
    rooms = (ROOT / "stream_anon/operations/report/limits").glob("*.py")
    told = set(re.findall(r'ResidualRisk\(\s*f?"([a-z-]+?)(?:-?\{|")', "".join(room.read_text() for room in rooms)))
    expected = {name.removesuffix("-result") for names in COVERED.values() for name in names.split()}
    assert expected <= told, expected - told


def test_the_words_of_a_replay_are_those_of_the_engine() -> None:
    assert "draws by chance" in _risks(ward_policy())["replay"].text
    for policy in (ward_policy(engine=EngineChoice("mondrian")), _fixed_levels()):
        assert "draws nothing" in _risks(policy)["replay"].text


ON_TOPICS = {"time-of-publication", "times-of-brokers", "topics-of-the-controller", "watching", "arrival"}


def test_what_windows_did_is_told() -> None:
    policy = ward_policy()
    evidence = Evidence(policy, None)
    use = Use("2024-05-13T08:00:00Z", "2024-05-13T08:00:00Z", 1)
    evidence.deliveries["file"] = use
    quiet = _risks(policy, evidence)
    assert not ON_TOPICS & quiet.keys()
    assert not {"suppression", "uncommitted", "at-least-once", "series", "contents-not-compared"} & quiet.keys()
    assert "seed" not in quiet["replay"].text
    evidence.deliveries["at-least-once"] = use
    evidence.records.suppressed["unplaced"] += 1
    evidence.replayable = 7
    evidence.linkable = {"visits"}
    evidence.undigested = 6
    evidence.made["series"] = 1
    loud = _risks(policy, evidence)
    assert ON_TOPICS | {"suppression", "at-least-once", "series"} <= loud.keys()
    assert "In 7 windows" in loud["replay"].text
    assert loud["accepted-rare-values"].text.startswith("visits:")
    assert loud["contents-not-compared"].text.startswith("The certificates of 6 windows")
    evidence.deliveries = {"exactly-once": use}
    assert "uncommitted" in _risks(policy, evidence)
    assert "small-windows" not in _risks(policy, evidence)
    assert "small-windows" in _risks(ward_policy(window=WindowLimits(target_loss=0.1)), evidence)


def test_dead_letters_name_places_and_no_record() -> None:
    """They hold a reason and an offset: whoever signs must not be told that they hold people."""
    evidence = Evidence(ward_policy(), None)
    evidence.deliveries["exactly-once"] = Use("2024-05-13T08:00:00Z", "2024-05-13T08:00:00Z", 1)
    text = _risks(ward_policy(), evidence)["topics-of-the-controller"].text
    assert "offsets" in text
    assert "names people" not in text


def test_the_limits_of_a_policy_that_was_in_force_before_are_told_too() -> None:
    """The settings ask for what the windows of this period did not have."""
    now, before = ward_policy(), ward_policy(individual=EVERY_RECORD, diversity={})
    evidence = Evidence(now, None)
    evidence.in_force.known = {"sha256:1": before, "sha256:2": now, "sha256:3": before}
    found = _risks(now, evidence)
    assert "ids" in found
    assert found["records-not-people-formerly"].text.startswith("Under another policy of this period: k counts")
    assert "no-criterion-result-formerly" in found
    assert not {"predicate-singling-out-formerly", "records-not-people"} & found.keys()


def test_counterfeits_and_a_missing_k_are_told() -> None:
    policy = ward_policy()
    object.__setattr__(policy, "counterfeits", RecordBound(0.01))
    assert "counterfeits" in _risks(policy)
    object.__setattr__(policy, "k", None)
    assert "shields-only" in _risks(policy)
    assert "shields-only" not in _risks(ward_policy())
