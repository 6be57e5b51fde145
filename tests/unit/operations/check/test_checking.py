"""What `check` says of a policy and a sample, without a broker."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_anon.conditions import Condition
from stream_anon.judging import singling
from stream_anon.judging.findings import Finding, Severity, policy_findings
from stream_anon.judging.sample_findings import sample_findings
from stream_anon.judging.sample_study import Sample, Study, study
from stream_anon.measures.window_leakage.before import least_told
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.choices.window_limits import Shortfall
from stream_anon.microdata.ids import Normalization
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.operations.check import checking
from stream_anon.operations.starting import conditions
from stream_anon.operations.starting.attribute_facts import attribute_facts
from stream_anon.operations.starting.conditions import Deployment
from stream_anon.settings.loading import parse_settings
from stream_anon.settings.policy_file import build_policy

PERSONAL = "Zyxwvut"  # stands in values; must stand in nothing that `check` says


def _policy(
    k: int = 3, max_records: int = 10, max_delay: float = 30, limit: int = 100, **attributes: dict[str, Any]
) -> Policy:
    document = {
        "privacy": {"k": k, "individual": "person"},
        "window": {"max_records": max_records, "max_delay": max_delay, "max_records_per_individual": limit},
        "attributes": {
            "person": {"role": "identifier"},
            "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}},
            **attributes,
        },
    }
    return build_policy(parse_settings(document), Path("policy.yaml"))


def _event(person: object, age: object = 30, **more: object) -> bytes:
    return json.dumps({"person": person, "age": age, **more}).encode()


def _study(policy: Policy, events: list[bytes | None], apart: float = 0.001) -> Study:
    return study(policy, Sample(events, np.arange(len(events)) * apart))


def _forbidden(policy: Policy, found: Study) -> list[str]:
    return [f.place for f in sample_findings(policy, found) if f.severity is Severity.FORBIDS]


def _warned(policy: Policy, found: Study) -> list[str]:
    return [f.place for f in sample_findings(policy, found) if f.severity is Severity.WARNS]


def _warnings(policy: Policy) -> list[str]:
    return [finding.place for finding in policy_findings(policy) if finding.severity is Severity.WARNS]


def test_rejects_are_counted_by_reason_and_attribute() -> None:
    events = [_event(1), _event(2, 200), _event(3, 200), _event(4, PERSONAL), b"{", None, _event(None)]
    found = _study(_policy(), [*events])
    assert [(r.reason, r.attribute, r.records) for r in found.rejects] == [
        ("out-of-range", "age", 2),
        ("malformed", None, 1),
        ("empty", None, 1),
        ("no-individual", "person", 1),
        ("wrong-type", "age", 1),
    ]
    assert found.fit == 1
    assert found.rejected_share == pytest.approx(6 / 7)


def test_a_sample_of_which_nothing_fits_forbids_a_run() -> None:
    policy = _policy()
    assert _forbidden(policy, _study(policy, [b"[]", b"nonsense"])) == ["input"]


def test_an_empty_topic_is_warned_of_and_forbids_nothing() -> None:
    policy = _policy()
    found = _study(policy, [])
    assert _forbidden(policy, found) == []
    assert _warned(policy, found) == ["input"]


@pytest.mark.parametrize(("rare", "refused"), [(5, False), (6, True)])
def test_more_than_five_percent_of_rare_values_forbid_a_run(rare: int, refused: bool) -> None:
    policy = _policy(note={"role": "insensitive"})
    events = [_event(i, note="usual" if i >= rare else f"{PERSONAL}{i}") for i in range(100)]
    found = _study(policy, [*events])
    assert found.rare[0].share == rare / 100
    assert (found.rare[0].values, found.rare[0].rare) == (1 + rare, rare)
    assert _forbidden(policy, found) == (["attributes.note"] if refused else [])


def test_one_person_with_many_records_does_not_make_a_value_common() -> None:
    policy = _policy(note={"role": "insensitive"})
    events = [_event(1, note="mine") for _ in range(50)] + [_event(i, note="ours") for i in range(2, 52)]
    found = _study(policy, [*events])
    assert found.rare[0].records == 50
    assert _forbidden(policy, found) == ["attributes.note"]


def test_exactly_k_holders_are_enough() -> None:
    policy = _policy(k=3, note={"role": "insensitive"})
    found = _study(policy, [_event(i, note=f"n{i // 3}") for i in range(30)])
    assert found.rare[0].records == 0


def test_accepting_the_rare_values_of_one_field_accepts_no_other_field() -> None:
    policy = _policy(
        note={"role": "insensitive", "accept_linkable": True},
        remark={"role": "insensitive"},
        flag={"role": "sensitive", "accept_linkable": True},
        mark={"role": "sensitive"},
    )
    events = [_event(i, note=f"{i}", remark=f"{i}", flag=f"{i}", mark="usual") for i in range(20)]
    assert _forbidden(policy, _study(policy, [*events])) == ["attributes.remark"]


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
@pytest.mark.parametrize("kind", ["string", "number", "integer"])
def test_a_field_that_passes_and_names_everybody_forbids_a_run(role: str, kind: str) -> None:
    values: dict[str, list[object]] = {
        "string": [f"{PERSONAL}{i}@example.org" for i in range(20)],
        "number": [i + 0.5 for i in range(20)],
        "integer": list(range(20)),
    }
    events = [_event(i, contact=value) for i, value in enumerate(values[kind])]
    policy = _policy(contact={"role": role, "type": kind})
    assert _forbidden(policy, _study(policy, [*events])) == ["attributes.contact"]
    policy = _policy(contact={"role": role, "type": kind, "accept_linkable": True})
    assert _forbidden(policy, _study(policy, [*events])) == []


def test_a_sample_of_fewer_than_k_people_forbids_no_field() -> None:
    policy = _policy(k=5, note={"role": "insensitive"})
    found = _study(policy, [_event(i, note="same") for i in range(4)])
    assert _forbidden(policy, found) == []
    assert "attributes.note" in _warned(policy, found)


def test_missing_and_present_are_two_values() -> None:
    policy = _policy(k=2, note={"role": "insensitive"})
    found = _study(policy, [_event(1), *(_event(i, note="x") for i in range(2, 12))])
    assert (found.rare[0].values, found.rare[0].rare) == (2, 1)


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_a_value_common_in_the_sample_and_alone_in_its_window_is_warned_of(role: str) -> None:
    # ten windows of ten people:  n0 n1 n2 ... n9 | n0 n1 n2 ... n9 | ...
    events = [_event(i, note=f"n{i % 10}") for i in range(100)]
    policy = _policy(note={"role": role})
    found = _study(policy, [*events])
    assert (found.rare[0].share, found.rare[0].share_in_windows) == (0, 1)
    assert _forbidden(policy, found) == []
    assert "attributes.note" in [f.place for f in sample_findings(policy, found)]
    accepted = _policy(note={"role": role, "accept_linkable": True})
    assert sample_findings(accepted, _study(accepted, [*events])) == []


@pytest.mark.parametrize(("alone", "warned"), [(5, False), (6, True)])
def test_more_than_five_percent_of_rare_values_within_windows_are_warned_of(alone: int, warned: bool) -> None:
    # two windows of 100: what is alone in one is common in both
    policy = _policy(k=2, max_records=100, note={"role": "insensitive"})
    events = [_event(i, note="usual" if i % 100 >= alone else f"n{i % 100}") for i in range(200)]
    found = _study(policy, [*events])
    assert (found.rare[0].share, found.rare[0].share_in_windows) == (0, alone / 100)
    assert _warned(policy, found) == (["attributes.note"] if warned else [])


def test_a_value_with_enough_holders_in_each_window_is_not_warned_of() -> None:
    # ten windows of ten people, each with a value of its own:  n0 n0 n0 ... | n1 n1 n1 ... | ...
    policy = _policy(note={"role": "insensitive"})
    found = _study(policy, [_event(i, note=f"n{i // 10}") for i in range(100)])
    assert found.rare[0].share_in_windows == 0
    assert sample_findings(policy, found) == []


def test_a_refused_field_is_not_warned_of_as_well() -> None:
    policy = _policy(note={"role": "insensitive"})
    found = _study(policy, [_event(i, note=f"n{i}") for i in range(20)])
    assert [f.place for f in sample_findings(policy, found)] == ["attributes.note"]


def test_records_that_are_not_published_do_not_count_as_rare_in_their_window() -> None:
    policy = _policy(k=5, max_records=1000, max_delay=3, note={"role": "insensitive"})
    found = _study(policy, [_event(i, note="usual") for i in range(40)], apart=1.0)
    assert found.rare[0].share_in_windows is None
    assert "attributes.note" not in _warned(policy, found)
    # of the 13 records of one person only the first 3 get into the window
    policy = _policy(max_records=20, limit=3, note={"role": "insensitive"})
    events = [_event(i, note="usual") for i in range(30)]
    events[5:5] = [_event("flood", note="usual" if i < 3 else "more") for i in range(13)]
    assert _study(policy, [*events]).rare[0].share_in_windows == 0


def test_holders_in_the_only_window_are_counted() -> None:
    policy = _policy(max_records=100, note={"role": "insensitive"})
    found = _study(policy, [_event(i, note="usual" if i else "mine") for i in range(20)])
    assert found.rare[0].share_in_windows == 1 / 20


def test_windows_that_the_end_of_the_sample_cuts_off_are_not_counted() -> None:
    found = _study(_policy(max_records=10), [_event(i) for i in range(25)])
    assert found.forecast is not None
    assert (found.forecast.windows, found.forecast.whole, found.forecast.records) == (2, True, 20)
    assert found.forecast.released == 20
    assert found.forecast.individuals == 10


def test_the_forecast_closes_windows_by_age() -> None:
    # One record a second and windows of 4.5 to 5 s: at most 6 records in each, 100 in all.
    found = _study(_policy(max_records=1000, max_delay=5), [_event(i) for i in range(100)], apart=1.0)
    assert found.forecast is not None
    assert 100 / 6 - 1 <= found.forecast.windows <= 100 / 5


def test_a_thin_stream_is_warned_of() -> None:
    policy = _policy(k=5, max_records=1000, max_delay=3)
    found = _study(policy, [_event(i) for i in range(40)], apart=1.0)
    assert found.forecast is not None
    assert found.forecast.short == found.forecast.windows > 5
    assert found.forecast.released == 0
    assert "window" in _warned(policy, found)


def test_the_forecast_of_held_windows_ends_and_releases_all() -> None:
    policy = _policy(k=5, max_records=1000, max_delay=3)
    policy = dataclasses.replace(policy, window=dataclasses.replace(policy.window, shortfall=Shortfall.HOLD))
    found = _study(policy, [_event(i) for i in range(40)], apart=1.0)
    assert found.forecast is not None
    assert found.forecast.short == 0
    assert found.forecast.released == found.forecast.records > 0


def test_the_forecast_counts_the_only_window_and_calls_it_cut_off() -> None:
    found = _study(_policy(max_records=100), [_event(i) for i in range(20)])
    assert found.forecast is not None
    assert (found.forecast.windows, found.forecast.whole, found.forecast.released) == (1, False, 20)


def test_a_flood_of_one_person_is_forecast() -> None:
    policy = _policy(max_records=20, limit=3)
    events = [_event(i) for i in range(30)]
    events[5:5] = [_event("flood") for _ in range(13)]
    found = _study(policy, [*events])
    assert found.forecast is not None
    assert found.forecast.suppressed["over-limit"] == 10
    assert found.forecast.over_limit == pytest.approx(10 / found.forecast.records)
    assert "window.max_records_per_individual" in _warned(policy, found)


def test_a_sample_out_of_order_is_refused() -> None:
    with pytest.raises(ValueError, match="ascend"):
        Sample([b"{}", b"{}"], np.array([1.0, 0.5]))


def test_publications_of_true_values_are_warned_of() -> None:
    policy = _policy(
        height={"role": "quasi-identifier", "numeric": {"min": 0, "max": 9, "publish": "tight"}},
        plan={"role": "quasi-identifier", "values": ["a", "b"], "publish": "values"},
        degree={"role": "quasi-identifier", "order": ["none", "bachelor", "master"]},
        illness={"role": "sensitive"},
    )
    places = ["attributes.height", "attributes.plan", "attributes.degree", "attributes.illness"]
    assert _warnings(policy) == places
    begin = {one.place: one.text.partition(":")[0] for one in policy_findings(policy)}
    assert [begin[place] for place in places[:3]] == ["tight", "values", "order"]
    assert _warnings(_policy()) == []


def test_a_shield_that_holds_already_is_told_and_one_that_asks_more_is_not() -> None:
    policy = _policy(k=3, city={"role": "quasi-identifier", "values": ["Oslo", "Rome"]})
    shields = (Shield(("age",), 3), Shield(("city",), 5), Shield(("age", "city"), 8), Shield(("age",), 9))
    for asked, told in ((shields[:1], [0]), (shields[1:2], []), (shields[1:3], [0]), (shields[2:], [])):
        shielded = replace(policy, shields=asked)
        assert _warnings(shielded) == [f"privacy.shields.{place}" for place in told]
        assert sum("holds already" in one.text for one in policy_findings(shielded)) == len(told)


def test_a_policy_without_k_is_warned_of_and_what_nothing_protects_is_named() -> None:
    policy = _policy(k=3, city={"role": "quasi-identifier", "values": ["Oslo", "Rome"]})
    bare = replace(policy, k=None, max_share=1.0, shields=(Shield(("age",), 4),))
    (found,) = (one for one in policy_findings(bare) if one.place == "privacy.k")
    assert "the only one with its values of all quasi-identifiers, and nothing protects city" in found.text
    whole = replace(bare, shields=(Shield(("age", "city"), 4), Shield(("age",), 3)))
    (found, held) = (one for one in policy_findings(whole) if one.place.startswith("privacy"))
    assert "nothing protects" not in found.text
    assert held.place == "privacy.shields.1"  # it holds by the other one, and not by a k
    assert "privacy.k" not in {one.place for one in policy_findings(policy)}


def test_windows_of_fewer_people_than_a_shield_asks_are_forecast() -> None:
    policy = replace(_policy(k=3), shields=(Shield(("age",), 6),))
    (found,) = (
        f for f in sample_findings(policy, _study(policy, [_event(i) for i in range(5)])) if f.place == "window"
    )
    assert "fewer than 6 individuals, the largest k of a shield" in found.text


def test_counting_records_as_people_is_warned_of() -> None:
    policy = dataclasses.replace(_policy(), individual="every-record")
    assert _warnings(policy) == ["privacy.individual"]
    found = _study(policy, [_event(1) for _ in range(12)])
    assert found.individuals == 12


@pytest.mark.parametrize(
    ("records", "people", "warned"),
    [(1000, 1000, True), (1000, 990, True), (1000, 989, False), (999, 999, False), (1200, 600, False)],
)
def test_ids_that_look_like_ids_of_events_are_warned_of(records: int, people: int, warned: bool) -> None:
    policy = _policy(max_records=500)
    found = _study(policy, [_event(i % people) for i in range(records)])
    assert _forbidden(policy, found) == []
    assert _warned(policy, found) == (["privacy.individual"] if warned else [])


def test_records_that_count_as_people_by_choice_are_not_warned_of_twice() -> None:
    policy = dataclasses.replace(_policy(max_records=500), individual="every-record")
    assert _warned(policy, _study(policy, [_event(1) for _ in range(1000)])) == []


def test_records_that_do_not_fit_do_not_hide_ids_of_events() -> None:
    policy = _policy(max_records=500)
    found = _study(policy, [*(_event(i) for i in range(1000)), *(_event(i, 200) for i in range(40))])
    assert _warned(policy, found) == ["privacy.individual"]


def test_attributes_are_listed_with_their_sizes() -> None:
    policy = _policy(plan={"role": "quasi-identifier", "values": ["a", "b"]}, visits={"role": "insensitive"})
    sizes = {facts.name: (facts.role, facts.size) for facts in attribute_facts(policy)}
    assert sizes == {
        "person": ("identifier", None),
        "age": ("quasi-identifier", 100),
        "plan": ("quasi-identifier", 2),
        "visits": ("insensitive", None),
    }


def test_no_value_of_a_person_is_repeated() -> None:
    policy = _policy(note={"role": "insensitive"}, city={"role": "quasi-identifier", "values": ["Paris", "Rome"]})
    events = [_event(f"{PERSONAL}{i}", 30, note=f"{PERSONAL}-{i}", city="Paris") for i in range(40)]
    events += [_event(i, 30, note="x", city=PERSONAL, **{PERSONAL: 1}) for i in range(10)]
    found = _study(policy, [*events, f'{{"{PERSONAL}'.encode()])
    said = repr(found) + repr(sample_findings(policy, found)) + repr(policy_findings(policy))
    assert PERSONAL not in said
    assert "note" in said


def test_a_declared_field_that_never_comes_forbids_a_run() -> None:
    policy = _policy(note={"role": "insensitive"}, city={"role": "quasi-identifier", "values": ["a", "b"]})
    found = _study(policy, [json.dumps({"person": i, "Age": 30}).encode() for i in range(40)])
    assert {each.attribute: (each.records, each.share) for each in found.missing} == {
        "age": (40, 1.0),
        "note": (40, 1.0),
        "city": (40, 1.0),
    }
    assert _forbidden(policy, found) == ["attributes.age", "attributes.note", "attributes.city"]
    age = sample_findings(policy, found)[0]
    assert age.condition == "missing-field"
    assert "only in case" in age.text
    assert "Age" not in age.text


def test_a_field_that_may_be_absent_forbids_nothing() -> None:
    policy = _policy(note={"role": "insensitive", "accept_missing": True})
    found = _study(policy, [_event(i) for i in range(40)])
    assert [(each.attribute, each.accepted) for each in found.missing] == [("note", True)]
    assert _forbidden(policy, found) == []
    assert "attributes.note" not in _warned(policy, found)


@pytest.mark.parametrize(("absent", "warned"), [(20, False), (21, True), (39, True)])
def test_a_field_that_more_than_half_of_the_records_lack_is_warned_of(absent: int, warned: bool) -> None:
    policy = _policy()
    found = _study(policy, [_event(i, None if i < absent else 30) for i in range(40)])
    assert found.missing[0].share == absent / 40
    assert _forbidden(policy, found) == []
    assert ("attributes.age" in _warned(policy, found)) is warned


IDS = ["Anna", "anna", "ANNA ", "7", "07", 8, "\u00e9", "e\u0301", "Bert", None, "Carl", "Dora"]


def _counts(found: Study) -> dict[str | None, tuple[int, int, bool]]:
    return {each.normalization: (each.ids, each.alike, each.asked) for each in found.spellings}


def test_ids_that_differ_in_their_spelling_only_are_counted_for_each_normalization() -> None:
    policy = _policy()
    found = _study(policy, [_event(one) for one in IDS])
    assert _counts(found) == {
        "casefold": (11, 2, False),
        "digits": (11, 2, False),
        "nfkc": (11, 2, False),
        None: (11, 7, False),
    }
    assert _warned(policy, found).count("privacy.individual") == 4
    texts = [finding.text for finding in sample_findings(policy, found)]
    assert any(text.startswith("2 of 11 ids differ from another one in case only") for text in texts)
    assert not any(str(one) in text.split() for text in texts for one in ("Anna", "anna", "Bert"))


def test_spellings_that_the_policy_makes_alike_are_counted_and_not_warned_of() -> None:
    policy = dataclasses.replace(_policy(), normalize=(Normalization.CASEFOLD, Normalization.STRIP))
    found = _study(policy, [_event(one) for one in IDS])
    assert _counts(found)["casefold"] == (11, 3, True)  # a blank at the end is taken away before
    assert _counts(found)["strip"] == (10, 2, True)
    assert found.individuals == 9
    assert _warned(policy, found).count("privacy.individual") == 3  # nfkc, digits, and all together


def test_ids_of_one_spelling_each_are_not_warned_of() -> None:
    policy = _policy()
    assert _study(policy, [_event(f"p{i}") for i in range(20)]).spellings == ()
    everybody = dataclasses.replace(policy, individual=EVERY_RECORD)
    assert _study(everybody, [_event(one) for one in IDS]).spellings == ()


def test_a_seed_is_warned_of_since_it_makes_windows_replayable() -> None:
    policy = _policy()
    assert policy.engine.seed is None
    assert _warnings(policy) == []
    seeded = dataclasses.replace(policy, engine=dataclasses.replace(policy.engine, seed=0))
    assert _warnings(seeded) == ["engine.seed"]


def test_a_set_that_singles_out_most_people_is_warned_of() -> None:
    policy = _policy(k=3, max_records=500, plot={"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}})
    draws = np.random.default_rng(0)
    places = draws.permutation(10_000)[:1000]  # nobody shares both with another
    places[:400] = 77
    events = [_event(i, int(place) % 100, plot=int(place) // 100) for i, place in enumerate(places.tolist())]
    found = _study(policy, [*events])
    assert [each.attributes for each in found.singled][1:] == [("age", "plot")]
    assert found.singled[0].share < 0.01
    assert found.singled[1].share == pytest.approx(0.6, abs=0.001)
    said = [finding for finding in sample_findings(policy, found) if "single" in finding.text]
    assert [finding.place for finding in said] == ["attributes.age, attributes.plot"]
    assert "together they single out 60% of the sampled individuals" in said[0].text
    few = _study(policy, [*events[:900]])
    assert not [finding for finding in sample_findings(policy, few) if "single" in finding.text]
    places[:600] = 77
    events = [_event(i, int(place) % 100, plot=int(place) // 100) for i, place in enumerate(places.tolist())]
    fewer = _study(policy, [*events])
    assert not [finding for finding in sample_findings(policy, fewer) if "single" in finding.text]


def test_a_set_is_found_none_of_whose_attributes_is_the_most_telling_one() -> None:
    # Row and column together tell everybody apart; the badge alone tells some people, and hides the pair from a
    # search that begins with the attribute that tells most.
    number = {"role": "quasi-identifier", "numeric": {"min": 0, "max": 2000}}
    policy = _policy(k=3, max_records=500, column=number, badge=number)
    events = [_event(i, i % 40, column=i // 40, badge=i if i < 130 else 2000) for i in range(1000)]
    found = _study(policy, [*events])
    assert [each.attributes for each in found.singled][:2] == [("badge",), ("age", "column")]
    assert [each.share for each in found.singled] == pytest.approx([0.13, 1.0, 1.0])
    assert found.singled_left == 0
    (said,) = (finding for finding in sample_findings(policy, found) if "single" in finding.text)
    assert said.place == "attributes.age, attributes.column"
    assert "together they single out 100% of the sampled individuals" in said.text


def test_sets_that_were_not_looked_at_are_told_whether_or_not_one_singles_people_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(singling, "MOST_SETS", 4)  # all of one attribute, and one of the three pairs
    number = {"role": "quasi-identifier", "numeric": {"min": 0, "max": 2000}}
    policy = _policy(k=3, max_records=500, column=number, badge=number)
    events = [_event(i, i % 40, column=i // 40, badge=i if i < 130 else 2000) for i in range(1000)]
    found = _study(policy, [*events])
    assert found.singled_left == 3
    (said,) = (finding for finding in sample_findings(policy, found) if "single" in finding.text)
    assert said.place == "attributes.age, attributes.column"
    assert said.text.endswith("3 sets were not examined, because there are many: others may do so too")
    same = [_event(i, 30, column=1, badge=1) for i in range(1000)]
    (said,) = (each for each in sample_findings(policy, _study(policy, [*same])) if "single" in each.text)
    assert (said.severity, said.place) == (Severity.NOTES, "attributes")
    assert said.text.startswith("3 sets were not examined, because there are many: one of them may single out most")


NOT_LIVE = "stream_anon_information_leakage_ratio"


def _notes(findings: list[Finding]) -> list[str]:
    return [each.text for each in findings if each.severity is Severity.NOTES and NOT_LIVE in each.text]


def test_windows_with_too_few_people_for_the_live_leakage_are_told_with_the_number_that_it_takes() -> None:
    needed = next(most for most in range(2, 2000) if least_told(1, most) <= most)
    (said,) = _notes(policy_findings(_policy(max_records=needed - 1)))
    assert f"for windows of {least_told(1, needed - 1)} individuals or more" in said
    assert f"windows of {needed - 1} records hold fewer" in said
    policy = _policy(max_records=needed)
    assert _notes(policy_findings(policy)) == []
    few = _study(policy, [_event(i % 50, i % 90) for i in range(2 * needed)])
    (said,) = _notes(sample_findings(policy, few))
    assert f"for windows of {needed} individuals or more" in said
    assert "the sample's median window holds 50" in said
    enough = _study(policy, [_event(i, i % 90) for i in range(2 * needed)])
    assert _notes(sample_findings(policy, enough)) == []
    short = _study(policy, [_event(i, i % 90) for i in range(needed - 1)])
    assert _notes(sample_findings(policy, short)) == [], "nothing is known of whole windows"


def _limited(above: str, level: int = 1) -> Policy:
    document = {
        "privacy": {"k": 3, "individual": "person", "max_suppressed": "10%", "above_max_suppressed": above},
        "window": {"max_records": 10},
        "attributes": {
            "person": {"role": "identifier"},
            "age": {
                "role": "quasi-identifier",
                "numeric": {"min": 0, "max": 99, "levels": [10, 50], "publish": "tight"},
                "max_level": level,
            },
        },
    }
    return build_policy(parse_settings(document), Path("policy.yaml"))


@pytest.mark.parametrize(
    ("above", "outcome"),
    [
        ("publish", "published with an alert"),
        ("suppress", "suppressed whole"),
    ],
)
def test_windows_that_would_suppress_more_than_is_allowed_are_told_with_what_becomes_of_them(
    above: str, outcome: str
) -> None:
    events = [_event(i, 30 if i % 5 else 80) for i in range(20)]  # two of ten are alone in their decade
    found = _study(_limited(above), [*events])
    assert found.forecast is not None
    assert found.forecast.above == 2
    (text,) = [f.text for f in sample_findings(_limited(above), found) if f.place == "privacy.max_suppressed"]
    assert text.startswith("2 of 2 windows would suppress more than 10% of the records")
    assert outcome in text
    fits = [_event(i, 30 if i % 2 else 80) for i in range(20)]
    assert "privacy.max_suppressed" not in _warned(_limited(above), _study(_limited(above), [*fits]))


def test_the_levels_of_an_attribute_are_told() -> None:
    (_, age) = attribute_facts(_limited("publish"))
    assert age.published == "as tight ranges, up to level 1"
    policy = _limited("publish", 2)
    fixed = replace(
        policy, attributes=tuple(a.at_level(2) if isinstance(a, QuasiIdentifier) else a for a in policy.attributes)
    )
    assert attribute_facts(fixed)[1].published == "as hierarchy nodes, on level 2"


def test_the_type_of_a_list_is_told_as_the_policy_names_it() -> None:
    policy = _policy(roles={"role": "insensitive", "type": "string[]"}, note={"role": "insensitive"})
    assert [(each.name, each.domain) for each in attribute_facts(policy)[2:]] == [
        ("roles", "string[]"),
        ("note", "string"),
    ]


async def test_a_registry_that_is_away_is_warned_of_and_all_else_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker waits for the registry instead; `check` shows what else forbids a run."""

    async def deployed(*_: object) -> Deployment:
        return Deployment((), (Finding(Severity.FORBIDS, "out", "1 replica", Condition.DURABILITY),), ("in",))

    async def nothing(*_: object, **__: object) -> list[Finding]:
        return []

    async def read(*_: object) -> list[object]:
        raise AssertionError("the sample is read although nobody could decode it")

    monkeypatch.setattr(checking, "look_at_deployment", deployed)
    monkeypatch.setattr(checking, "_rollout", nothing)
    monkeypatch.setattr(checking, "ledger_findings", nothing)
    monkeypatch.setattr(conditions, "newest_records", read)
    config = tmp_path / "policy.yaml"
    config.write_text(
        "kafka: {bootstrap_servers: 'nowhere:1', group: g, input: in, output: out, development: true,\n"
        "  format: {input: json-schema}, registry: {url: 'http://127.0.0.1:1', timeout: 1}}\n"
        "privacy: {k: 3, individual: person}\n"
        "attributes: {person: {role: identifier}, age: {role: quasi-identifier, numeric: {min: 0, max: 9}}}\n"
    )
    report = await checking.examine_deployment(config)
    found = [(each.severity, each.place) for each in report.findings]
    assert (Severity.FORBIDS, "out") in found
    assert (Severity.WARNS, "kafka.registry") in found
    assert report.study is None


def test_what_the_forecast_gives_away_of_sensitive_values_is_in_the_study_and_in_the_findings() -> None:
    policy = _policy(note={"role": "sensitive"}, other={"role": "sensitive"})
    events = [_event(i, 10 if i % 2 else 90, note="ab"[i % 2], other="ab"[i // 2 % 2]) for i in range(60)]
    found = _study(policy, [*events])
    assert found.given_away["note"].alike == found.given_away["note"].records == 60
    assert found.given_away["note"].told == pytest.approx(1)
    assert found.given_away["other"].told < 0.5
    assert found.given_away["other"].alike == 0
    assert _warned(policy, found).count("attributes.note") == 1
    assert json.loads(json.dumps(dataclasses.asdict(found)))["given_away"]["note"]["worst"]["share"] == 1
