"""The records of a window beside its certificate: what differs is counted, class by class."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from stream_anon.audit.audit import Audit
from stream_anon.audit.scope import Horizon, seconds_of
from stream_anon.audit.verdict import Kind, Violation
from stream_anon.microdata.diversity import Closeness, Diversity, Recursion
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.certifying import certificate_parts
from tests.support.releases import frame_of, release_of, released_records, ward_people, ward_policy
from tests.unit.audit.story import encode, kinds

BATCH = f"{1:032x}"
POLICY = ward_policy()
GONE = Horizon(seconds_of("2024-05-13T08:00:30Z"), float("-inf"))  # when the window closed

Classes = tuple[list[dict[str, Any]], list[dict[str, Any]]]


def _window() -> tuple[dict[str, Any], Classes]:
    """Return the certificate of a window of two classes, of five and of four records, and the records of each.

    The first three of each show all three results.
    """
    release = release_of(POLICY, [ward_people(5), ward_people(4, first=5, age=60, illness="stroke")])
    (part,) = certificate_parts(release, POLICY, frame_of(release))
    records = sorted(released_records(release, POLICY), key=lambda record: record["visits"])
    flu = [record for record in records if record["illness"] == "flu"]
    return json.loads(part), (flu, [record for record in records if record["illness"] == "stroke"])


def _found(
    certificate: dict[str, Any],
    records: Sequence[dict[str, Any] | None],
    horizon: Horizon | None = None,
    *,
    policy: Policy = POLICY,
    records_first: bool = False,
) -> set[Violation]:
    audit = Audit(policy)
    for turn in (not records_first, records_first):
        if turn:
            audit.add_part(encode(certificate))
        else:
            for record in records:
                audit.add_record(BATCH, record)
    return set(audit.finish(horizon).violations)


def test_a_whole_window_differs_in_nothing() -> None:
    certificate, (flu, stroke) = _window()
    assert _found(certificate, [*flu, *stroke]) == set()


def test_missing_records_are_counted_by_class_and_in_all() -> None:
    certificate, (flu, stroke) = _window()
    assert _found(certificate, [*flu[:4], *stroke[:3]]) == {
        Violation(Kind.WRONG_CLASS_SIZE, BATCH, 0, count=4),
        Violation(Kind.WRONG_CLASS_SIZE, BATCH, 1, count=3),
        Violation(Kind.NO_RECORDS, BATCH, count=2),
    }


def test_a_class_whose_records_are_all_missing_has_no_records() -> None:
    certificate, (flu, _) = _window()
    assert _found(certificate, flu) == {
        Violation(Kind.WRONG_CLASS_SIZE, BATCH, 1, count=0),
        Violation(Kind.NO_RECORDS, BATCH, count=4),
    }


def test_surplus_records_are_counted_by_class_and_in_all() -> None:
    certificate, (flu, stroke) = _window()
    assert _found(certificate, [*flu, *stroke, *stroke[:2]], records_first=True) == {
        Violation(Kind.WRONG_CLASS_SIZE, BATCH, 1, count=6),
        Violation(Kind.EXTRA_RECORDS, BATCH, count=2),
    }


def test_a_class_that_was_not_certified_is_judged_like_any_other() -> None:
    certificate, (flu, stroke) = _window()
    strange = [record | {"illness": "none"} for record in stroke[:2]]
    assert _found(certificate, [*flu, *stroke[2:], *strange]) == {
        Violation(Kind.UNCERTIFIED_CLASS, BATCH, count=2),
        Violation(Kind.WRONG_CLASS_SIZE, BATCH, 1, count=2),
        Violation(Kind.TOO_FEW_RECORDS, BATCH),
        Violation(Kind.TOO_FEW_RECORDS, BATCH, 1),
        Violation(Kind.WRONG_ACHIEVED_L, BATCH, None, "result"),  # three were certified, and two are shown
    }


def test_a_class_that_is_certified_with_no_record_is_not_missed() -> None:
    certificate, (flu, stroke) = _window()
    none = {"records": 0, "individuals": 3, "values": certificate["classes"][0]["values"] | {"illness": "none"}}
    certificate["classes"].append(none | {"ncp": certificate["classes"][0]["ncp"]})
    certificate["achieved"]["k"] = 3
    assert {one.kind for one in _found(certificate, [*flu, *stroke])} == {Kind.TOO_MANY_INDIVIDUALS}


def test_where_records_may_be_gone_a_class_may_be_smaller_and_no_larger() -> None:
    certificate, (flu, stroke) = _window()
    assert _found(certificate, [*flu, *stroke[:1]], GONE) == set()
    assert _found(certificate, [*flu, flu[0], *stroke[:1]], GONE) == {
        Violation(Kind.WRONG_CLASS_SIZE, BATCH, 0, count=6)
    }
    strange = stroke[0] | {"illness": "none"}
    assert _found(certificate, [*flu, strange], GONE) == {Violation(Kind.UNCERTIFIED_CLASS, BATCH, count=1)}


def test_a_record_that_is_no_object_counts_as_a_record() -> None:
    certificate, (flu, stroke) = _window()
    found = _found(certificate, [*flu, *stroke[:3], None])
    assert found == {
        Violation(Kind.MALFORMED_RECORD, BATCH),
        Violation(Kind.WRONG_CLASS_SIZE, BATCH, 1, count=3),
    }


def test_an_illegal_value_is_named_with_its_attribute_once_for_its_class() -> None:
    certificate, (flu, stroke) = _window()
    strange = [record | {"day": "2024-05-3x"} for record in flu]
    found = _found(certificate, [*strange, *stroke])
    assert {one for one in found if one.kind is Kind.ILLEGAL_VALUE} == {
        Violation(Kind.ILLEGAL_VALUE, BATCH, None, "day")
    }


def test_k_records_are_enough_and_one_less_is_not() -> None:
    release = release_of(POLICY, [ward_people(3)])
    (part,) = certificate_parts(release, POLICY, frame_of(release))
    records = released_records(release, POLICY)
    assert _found(json.loads(part), records) == set()
    assert Violation(Kind.TOO_FEW_RECORDS, BATCH, 0) in _found(json.loads(part), records[:2])


SPREAD = Diversity(entropy_l=1.5, recursive_cl=Recursion(3, 2), t_closeness=Closeness(0.4), alpha=0.8)
# Two classes of three values each, twice; a third of them each, and both as all are.
TRUE = {"entropy_l": 3.0, "recursive_c": 0.5, "t": 0.0, "alpha": 1 / 3}
WORST = {"entropy_l": 1.5, "recursive_c": 3.0, "t": 0.4, "alpha": 0.8}


def _spread(policy: Policy, figures: dict[str, float | None], values: int | None = 2) -> set[Kind]:
    groups = [ward_people(6), ward_people(6, first=6, age=60, illness="stroke")]
    release = release_of(policy, groups, reached={"result": figures})
    (part,) = certificate_parts(release, policy, frame_of(release))
    certificate = json.loads(part)
    if values is None:
        certificate["achieved"]["distinct_l"] = {}
    else:
        certificate["achieved"]["distinct_l"] = {"result": values}
    records = released_records(release, policy)
    audit = Audit(policy)
    audit.add_part(encode(certificate))
    for record in records:
        audit.add_record(BATCH, record)
    return kinds(audit.finish())


@pytest.mark.parametrize("name", TRUE)
def test_a_figure_lies_between_what_is_asked_and_what_is_shown(name: str) -> None:
    policy = ward_policy(diversity={"result": SPREAD})
    better, step = (1, 1e-4) if name == "entropy_l" else (-1, 1e-4)
    assert _spread(policy, TRUE) == _spread(policy, WORST) == set()
    assert _spread(policy, TRUE | {name: WORST[name]}) == set()
    if name != "t":  # nothing is nearer than no distance
        assert _spread(policy, TRUE | {name: TRUE[name] + better * step}) == {Kind.WRONG_ACHIEVED_SPREAD}
    assert _spread(policy, TRUE | {name: WORST[name] - better * step}) == {Kind.WRONG_ACHIEVED_SPREAD}
    assert _spread(policy, TRUE | {name: None}) == {Kind.WRONG_ACHIEVED_SPREAD}


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("entropy_l", Diversity(entropy_l=1.5)),
        ("recursive_c", Diversity(recursive_cl=Recursion(3, 2))),
        ("t", Diversity(t_closeness=Closeness(0.4))),
        ("alpha", Diversity(alpha=0.8)),
    ],
)
def test_a_figure_that_nobody_asked_for_must_be_absent(name: str, asked: Diversity) -> None:
    policy = ward_policy(diversity={"result": asked})
    values = 2 if asked.values else None
    assert _spread(policy, {name: TRUE[name]}, values) == set()
    other = "alpha" if name == "t" else "t"
    assert _spread(policy, {name: TRUE[name], other: TRUE[other]}, values) == {Kind.WRONG_ACHIEVED_SPREAD}


def test_values_are_no_more_than_every_class_shows_and_no_fewer_than_asked() -> None:
    policy = ward_policy(diversity={"result": Diversity(2)})
    for values, right in ((1, False), (2, True), (3, True), (4, False), (None, False)):
        assert _spread(policy, {}, values) == (set() if right else {Kind.WRONG_ACHIEVED_L})


def test_a_number_of_values_that_nobody_asked_for_is_no_more_than_is_shown() -> None:
    policy = ward_policy(diversity={"result": Diversity(t_closeness=Closeness(0.4))})
    for values, found in ((None, set()), (3, set()), (4, {Kind.WRONG_ACHIEVED_L})):
        assert _spread(policy, {"t": 0.0}, values) == found
    silent = [record | {"result": None} for record in ward_people(4)]
    release = release_of(policy, [silent], reached={"result": {"t": 0.0}})
    (part,) = certificate_parts(release, policy, frame_of(release))
    assert _found(json.loads(part), released_records(release, policy), policy=policy) == set()


def test_a_figure_is_that_of_the_worst_class() -> None:
    policy = ward_policy(diversity={"result": Diversity(alpha=0.8)})
    uneven = [
        record | {"result": result}
        for record, result in zip(
            ward_people(6, first=6, age=60, illness="stroke"), [*["fine"] * 3, "poor", "poor", "bad"], strict=True
        )
    ]
    for alpha, right in ((1 / 3, False), (0.5, True)):
        release = release_of(policy, [ward_people(6), uneven], reached={"result": {"alpha": alpha}})
        (part,) = certificate_parts(release, policy, frame_of(release))
        found = _found(json.loads(part), released_records(release, policy), policy=policy)
        assert {one.kind for one in found} == (set() if right else {Kind.WRONG_ACHIEVED_SPREAD})


def test_figures_of_a_window_without_its_records_are_not_compared() -> None:
    policy = ward_policy(diversity={"result": Diversity(alpha=0.8)})
    release = release_of(policy, [ward_people(6)], reached={"result": {"alpha": 1 / 3}})
    (part,) = certificate_parts(release, policy, frame_of(release))
    found = {one.kind for one in _found(json.loads(part), [], policy=policy)}
    assert found == {Kind.NO_RECORDS, Kind.WRONG_CLASS_SIZE, Kind.WRONG_ACHIEVED_L}


def test_the_recursion_in_a_certificate_is_that_of_its_own_l() -> None:
    policy = ward_policy(diversity={"result": Diversity(recursive_cl=Recursion(3, 3))})
    # A third each: r1 / r3 is 1.
    assert _spread(policy, {"recursive_c": 1.0}, 3) == set()
    assert _spread(policy, {"recursive_c": 0.99}, 3) == {Kind.WRONG_ACHIEVED_SPREAD}
