"""Which changes of a policy make its output less safe."""

from __future__ import annotations

import copy
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.microdata.domains.ranges import RangedDomain
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.promises import promises_of, stated_by
from stream_anon.privacy.weakening import weakened
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_document

TREE = {"north": ["Oslo", "Bergen"], "south": ["Rome", "Bari"]}
POLICY: dict[str, Any] = {
    "privacy": {
        "k": 5,
        "individual": "person",
        "max_share": 0.4,
        "extra_levels": 1,
        "sensitive": {
            "illness": {
                "distinct_l": 4,
                "entropy_l": 2.5,
                "alpha": 0.5,
                "recursive_cl": {"c": 2, "l": 2},
                "t_closeness": {"t": 0.3, "distance": "equal"},
                "delta_disclosure": 1.5,
                "beta_likeness": 2,
            }
        },
    },
    "attributes": {
        "person": {"role": "identifier"},
        "clerk": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99, "step": 5, "levels": [10, 20]}},
        "height": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 250}},
        "city": {"role": "quasi-identifier", "hierarchy": TREE},
        "zip": {"role": "quasi-identifier", "prefix": {"length": 4}},
        "visits": {"role": "insensitive", "type": "integer"},
        "illness": {"role": "sensitive"},
    },
}
NONE = object()


def _policy(folder: Path, changes: dict[str, Any]) -> Policy:
    document = copy.deepcopy(POLICY)
    for path, value in changes.items():
        *above, key = path.split("/")
        branch = document
        for name in above:
            branch = branch[name]
        if value is NONE:
            del branch[key]
        else:
            branch[key] = value
    return load_policy(write_document(folder, document))


def _promises(folder: Path, changes: dict[str, Any]) -> dict[str, Any]:
    return promises_of(_policy(folder, changes))


CRITERIA = "privacy/sensitive/illness"
WEAKER: dict[str, tuple[dict[str, Any], str]] = {
    "a lower k": ({"privacy/k": 4}, "privacy.k was 5 and would fall to 4"),
    "a larger share of one individual": ({"privacy/max_share": 0.5}, "privacy.max_share was 0.4"),
    "fewer extra levels": ({"privacy/extra_levels": 0}, "privacy.extra_levels was 1 and would fall to 0"),
    "records counted instead of people": ({"privacy/individual": "every-record"}, "privacy.individual was person"),
    "other people counted": ({"privacy/individual": "clerk"}, "privacy.individual was person"),
    "fewer values": ({f"{CRITERIA}/distinct_l": NONE}, "privacy.sensitive.illness.distinct_l was 4"),
    "less entropy": ({f"{CRITERIA}/entropy_l": 2.2}, "privacy.sensitive.illness.entropy_l was 2.5"),
    "no entropy": ({f"{CRITERIA}/entropy_l": NONE}, "privacy.sensitive.illness.entropy_l was asked"),
    "a larger share of one value": ({f"{CRITERIA}/alpha": 0.6}, "privacy.sensitive.illness.alpha was 0.5"),
    "a larger c": ({f"{CRITERIA}/recursive_cl/c": 3}, "privacy.sensitive.illness.recursive_cl was c = 2"),
    "a larger t": ({f"{CRITERIA}/t_closeness/t": 0.4}, "privacy.sensitive.illness.t_closeness was 0.3"),
    "a larger delta": (
        {f"{CRITERIA}/delta_disclosure": 2},
        "privacy.sensitive.illness.delta_disclosure was 1.5 and would rise to 2",
    ),
    "a larger beta": (
        {f"{CRITERIA}/beta_likeness": 2.5},
        "privacy.sensitive.illness.beta_likeness was 2 and would rise to 2.5",
    ),
    "no delta": ({f"{CRITERIA}/delta_disclosure": NONE}, "privacy.sensitive.illness.delta_disclosure was asked"),
    "no criterion": ({"privacy/sensitive": {}}, "privacy.sensitive.illness.t_closeness was asked"),
    "a new published field": (
        {"attributes/salary": {"role": "insensitive"}},
        "attributes.salary would be published (insensitive) and was not",
    ),
    "a published identifier": (
        {"attributes/clerk": {"role": "quasi-identifier", "values": ["a", "b"]}},
        "attributes.clerk would be published (quasi-identifier) and was not",
    ),
    "a quasi-identifier that passes as it is": (
        {"attributes/zip": {"role": "insensitive"}},
        "attributes.zip was quasi-identifier and would be insensitive",
    ),
    "a criterion lost with the role": (
        {"privacy/sensitive": {}, "attributes/illness/role": "insensitive"},
        "attributes.illness was sensitive and would be insensitive",
    ),
    "finer cells": (
        {"attributes/age/numeric/step": 1},
        "attributes.age would be published in groups that it did not have (100 in all)",
    ),
    "another level between": (
        {"attributes/age/numeric/levels": [10, 20, 40]},
        "attributes.age would be published in groups that it did not have (3 in all)",
    ),
    "levels counted from elsewhere": (
        {"attributes/age/numeric/min": -2, "attributes/age/numeric/max": 98},
        "attributes.age would be published in other intervals",
    ),
    "halvings of another range": (
        {"attributes/height/numeric/max": 200},
        "attributes.height would be published in other intervals",
    ),
    "a new group of leaves": (
        {"attributes/city/hierarchy": {"a": ["Oslo", "Rome"], "b": ["Bergen", "Bari"]}},
        "attributes.city would be published in groups that it did not have (2 in all)",
    ),
    "a new leaf": (
        {"attributes/city/hierarchy/south": ["Rome", "Bari", "Naples"]},
        "attributes.city would be published in groups that it did not have (5 and 2 in all)",
    ),
    "another length of prefixes": (
        {"attributes/zip/prefix/length": 5},
        "attributes.zip would be published in other intervals",
    ),
    "ids read from elsewhere": (
        {"attributes/person/path": ["event.id"]},
        'privacy.individual was person and would be person, read from ["event.id"]: other people would be counted',
    ),
    "ids of another field by the same name": (
        {"attributes/person/path": ["clerk"], "attributes/clerk/path": ["person"]},
        "privacy.individual was person",
    ),
    "a quasi-identifier read from elsewhere": (
        {"attributes/zip/path": ["work", "zip"]},
        'attributes.zip.path was ["zip"] and would be ["work", "zip"]: another field would be published',
    ),
    "a sensitive field read from elsewhere": (
        {"attributes/illness/path": ["cause"]},
        'attributes.illness.path was ["illness"]',
    ),
    "another field that is generalized from now on": (
        {"attributes/visits": {"role": "quasi-identifier", "values": ["a", "b"], "path": ["name"]}},
        "attributes.visits.path",
    ),
    "numbers that were whole": ({"attributes/visits/type": "number"}, "attributes.visits.type was integer"),
    "another kind of domain": (
        {"attributes/zip": {"role": "quasi-identifier", "values": ["1234", "1235"]}},
        "attributes.zip was a prefix domain and would be a categorical one",
    ),
}
# `tight` and `values` have no level above, so they come without extra levels; see below.
NOT_WEAKER: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a higher k": {"privacy/k": 10},
    "a smaller share of one individual": {"privacy/max_share": 0.3},
    "more extra levels": {"privacy/extra_levels": 2},
    "stricter criteria": {
        f"{CRITERIA}/distinct_l": 5,
        f"{CRITERIA}/entropy_l": 3,
        f"{CRITERIA}/alpha": 0.4,
        f"{CRITERIA}/recursive_cl": {"c": 1, "l": 3},
        f"{CRITERIA}/t_closeness/t": 0.2,
        f"{CRITERIA}/delta_disclosure": 1,
        f"{CRITERIA}/beta_likeness": 1,
    },
    "a field that is not published any more": {"attributes/visits": NONE},
    "a sensitive field that is not published any more": {"privacy/sensitive": {}, "attributes/illness": NONE},
    "a field that is generalized from now on": {
        "attributes/visits": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 9}},
    },
    "a level less": {"attributes/age/numeric/levels": [20]},
    "more numbers, in the same intervals": {"attributes/age/numeric/max": 120},
    "fewer levels of a hierarchy": {
        "attributes/city": {"role": "quasi-identifier", "values": ["Oslo", "Bergen", "Rome", "Bari"]}
    },
    "groups by other names": {"attributes/city/hierarchy": {"1": ["Rome", "Bari"], "2": ["Bergen", "Oslo"]}},
    "a quasi-identifier that is not published any more": {"attributes/zip": {"role": "identifier"}},
    "longer windows": {"window": {"max_delay": "1h"}},
    "missing values that are published": {"attributes/age/missing": "reject"},
    "another name of the ids": {
        "privacy/individual": "patient",
        "attributes/person": NONE,
        "attributes/patient": {"role": "identifier", "path": ["person"]},
    },
    "ids that nobody counts read from elsewhere": {"attributes/clerk/path": ["desk"]},
    "the path that a name stands for": {"attributes/zip/path": ["zip"]},
}


@pytest.mark.parametrize("change", WEAKER)
def test_every_weakening_is_named_with_its_setting(tmp_path: Path, change: str) -> None:
    changes, text = WEAKER[change]

    found = [str(each) for each in weakened(_promises(tmp_path, {}), _promises(tmp_path, changes))]

    assert [each for each in found if each.startswith(text)], found


@pytest.mark.parametrize("change", sorted(WEAKER.keys() - {"no criterion", "a criterion lost with the role"}))
def test_only_the_change_is_told(tmp_path: Path, change: str) -> None:
    changes, _ = WEAKER[change]

    assert len(weakened(_promises(tmp_path, {}), _promises(tmp_path, changes))) == 1


@pytest.mark.parametrize("change", NOT_WEAKER)
def test_a_policy_that_keeps_every_promise_is_not_weaker(tmp_path: Path, change: str) -> None:
    assert weakened(_promises(tmp_path, {}), _promises(tmp_path, NOT_WEAKER[change])) == ()


def test_tight_ranges_and_sets_of_values_are_weaker_than_nodes(tmp_path: Path) -> None:
    nodes = {"privacy/extra_levels": 0}
    tight = nodes | {"attributes/age/numeric/publish": "tight"}
    values = nodes | {"attributes/city/publish": "values"}

    for changes, name in ((tight, "age"), (values, "city")):
        before, after = _promises(tmp_path, nodes), _promises(tmp_path, changes)
        assert [each.place for each in weakened(before, after)] == [f"attributes.{name}.publish"]
        assert weakened(after, before) == ()


def test_ranges_of_an_order_are_weaker_than_groups_and_those_of_another_order_may_be(tmp_path: Path) -> None:
    cities = ["Oslo", "Bergen", "Rome", "Bari"]
    groups = {"privacy/extra_levels": 0, "attributes/city": {"hierarchy": {"ordered": cities}}}
    ordered, other = (
        {"privacy/extra_levels": 0, "attributes/city": {"order": order}} for order in (cities, cities[::-1])
    )
    documents = [
        _promises(tmp_path, {key: _quasi(value) for key, value in each.items()})
        for each in (groups, ordered, other)
    ]
    found = weakened(documents[0], documents[1])
    assert {each.place for each in found} == {"attributes.city.publish", "attributes.city"}
    (another,) = weakened(documents[1], documents[2])
    assert "other intervals" in another.text
    assert weakened(documents[1], documents[1]) == ()


def _quasi(value: Any) -> Any:
    return {"role": "quasi-identifier", **value} if isinstance(value, dict) else value


def test_counting_people_instead_of_records_is_not_weaker(tmp_path: Path) -> None:
    records = _promises(tmp_path, {"privacy/individual": "every-record"})

    assert weakened(records, _promises(tmp_path, {})) == ()


def test_a_certificate_alone_tells_a_lower_k_and_a_lost_criterion(tmp_path: Path) -> None:
    changes = {"privacy/k": 3, "privacy/sensitive/illness/distinct_l": 2, "privacy/extra_levels": 0}
    after = _promises(tmp_path, changes)
    certificate = {"asked": _promises(tmp_path, {})["asked"]}

    assert [each.place for each in weakened(certificate, after)] == [
        "privacy.k",
        "privacy.sensitive.illness.distinct_l",
    ]


def test_a_certificate_tells_only_the_quasi_identifiers_among_attributes(tmp_path: Path) -> None:
    names = ("age", "height", "city")
    certificate = {
        "asked": _promises(tmp_path, {})["asked"],
        "attributes": {name: {"role": "quasi-identifier"} for name in names},
    }
    after = _promises(tmp_path, {"attributes/city": {"role": "insensitive"}})

    # zip was none; of visits and illness, which pass, a certificate does not tell.
    assert [str(each) for each in weakened(certificate, after)] == [
        "attributes.city was quasi-identifier and would be insensitive",
        "attributes.zip would be published (quasi-identifier) and was not",
    ]


def test_removing_a_normalization_of_ids_weakens_a_policy(tmp_path: Path) -> None:
    def promises(*steps: str) -> dict[str, Any]:
        return _promises(tmp_path, {"privacy/individual": {"field": "person", "normalize": list(steps)}})

    assert promises() == _promises(tmp_path, {})
    found = weakened(promises("strip", "casefold"), promises("strip", "digits"))
    assert [str(one).split(":")[0] for one in found] == ["privacy.individual.normalize loses casefold"]
    assert not weakened(promises("strip"), promises("strip", "digits"))
    assert not weakened(promises(), promises("uuid"))
    gone = {key: value for key, value in promises("strip").items() if key != "individual"}
    assert not weakened(gone, promises())


def _bare(distinct_l: dict[str, int], sensitive: dict[str, Any]) -> dict[str, Any]:
    """Return a document of two sensitive attributes and one that is not published."""
    return {
        "asked": {"k": 5, "max_share": 0.5, "distinct_l": distinct_l, "sensitive": sensitive},
        "individual": {"field": "person", "path": ["person"]},
        "extra_levels": 0,
        "attributes": {
            "gone": {"role": "identifier"},
            "illness": {"role": "sensitive", "path": ["illness"], "type": "string"},
            "income": {"role": "sensitive", "path": ["income"], "type": "number"},
        },
    }


def _told(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [str(each) for each in weakened(before, after)]


def test_a_criterion_of_an_attribute_no_longer_published_does_not_hide_the_next() -> None:
    found = _told(_bare({"gone": 4, "illness": 4}, {}), _bare({"illness": 2}, {}))
    assert found == ["privacy.sensitive.illness.distinct_l was 4 and would fall to 2"]


def test_without_a_criterion_on_values_one_value_is_asked_for() -> None:
    close = {"illness": {"t_closeness": {"t": 0.3, "distance": "equal"}}}
    assert _told(_bare({}, close), _bare({}, close)) == []
    assert _told(_bare({}, close), _bare({"illness": 2}, close)) == []
    found = _told(_bare({"illness": 2}, close), _bare({}, close))
    assert found == ["privacy.sensitive.illness.distinct_l was 2 and would fall to 1"]


def test_a_figure_that_was_absent_does_not_hide_the_next() -> None:
    before = _bare({}, {"income": {"alpha": None, "entropy_l": 3.0}})
    found = _told(before, _bare({}, {"income": {"entropy_l": 2.0}}))
    assert found == ["privacy.sensitive.income.entropy_l was 3 and would fall to 2"]


def test_a_lower_l_of_a_recursion_and_another_distance_are_weaker() -> None:
    before = _bare({}, {"income": {"recursive_cl": {"c": 2.0, "l": 3}}})
    assert _told(before, _bare({}, {"income": {"recursive_cl": {"c": 2.0, "l": 4}}})) == []
    assert _told(before, _bare({}, {"income": {"recursive_cl": {"c": 2.0, "l": 2}}})) == [
        "privacy.sensitive.income.recursive_cl was c = 2, l = 3 and would be c = 2, l = 2"
    ]
    close = _bare({}, {"income": {"t_closeness": {"t": 0.3, "distance": "equal"}}})
    assert _told(close, _bare({}, {"income": {"t_closeness": {"t": 0.3, "distance": "ordered"}}})) == [
        "privacy.sensitive.income.t_closeness was 0.3 (equal) and would be 0.3 (ordered)"
    ]


def test_cuts_may_be_dropped_level_by_level_and_none_may_come() -> None:
    def outline(*cuts: int) -> dict[str, Any]:
        grid = (Decimal(0), Decimal(99), Decimal(1), 0)
        domain = RangedDomain(*grid, cuts=tuple(map(Decimal, cuts)))
        qi = {"role": "quasi-identifier", "path": ["age"], "publish": "nodes", "domain": domain.outline()}
        asked = {"k": 2, "max_share": 1.0, "distinct_l": {}, "sensitive": {}}
        who = {"field": "person", "path": ["person"]}
        return {"asked": asked, "individual": who, "extra_levels": 0, "attributes": {"age": qi}}

    four = outline(20, 40, 60)
    assert not weakened(four, four)
    assert not weakened(four, outline(40))  # its level 2 alone
    (finer,) = weakened(outline(40), four)
    assert finer.place == "attributes.age"
    assert "groups that it did not have (4 in all)" in finer.text
    (moved,) = weakened(four, outline(20, 40, 61))
    assert "groups that it did not have (4 in all)" in moved.text


def test_levels_that_may_be_finer_are_weaker_and_coarser_or_none_at_all_are_not(tmp_path: Path) -> None:
    def on(*levels: int) -> dict[str, Any]:
        chosen = {"name": "full-domain", "levels": dict(zip(("age", "height", "city", "zip"), levels, strict=True))}
        return _promises(tmp_path, {"engine": chosen, "privacy/extra_levels": 0})

    free = _promises(tmp_path, {"privacy/extra_levels": 0})
    said = [str(one) for one in weakened(on(1, 2, 1, 2), on(1, 1, 2, 0))]
    assert said == [
        "attributes.height.min_level was 2 and would fall to 1",
        "attributes.zip.min_level was 2 and would fall to 0",
    ]
    assert [one.place for one in weakened(on(1, 0, 0, 0), free)] == ["attributes.age.min_level"]
    assert weakened(free, on(1, 1, 1, 1)) == ()
    limited = _promises(tmp_path, {"privacy/extra_levels": 0, "attributes/city/max_level": 1})
    assert weakened(free, limited) == weakened(limited, free) == ()
    lowest = _promises(tmp_path, {"privacy/extra_levels": 0, "attributes/city/min_level": 1})
    assert [str(one) for one in weakened(lowest, free)] == ["attributes.city.min_level was 1 and would fall to 0"]
    assert weakened(free, lowest) == ()
    # What is not a quasi-identifier any more has no level: that it passes as it is says it all.
    passes = {"privacy/extra_levels": 0, "attributes/zip": {"role": "insensitive"}}
    assert [one.place for one in weakened(on(0, 0, 0, 2), _promises(tmp_path, passes))] == ["attributes.zip"]


def test_a_level_that_repeats_another_one_makes_a_number_finer(tmp_path: Path) -> None:
    def on(tree: dict[str, Any], level: int) -> dict[str, Any]:
        changes = {"attributes/city/hierarchy": tree, "attributes/city/min_level": level}
        return _promises(tmp_path, {"privacy/extra_levels": 0, **changes})

    twice = {"up": {"north": ["Oslo", "Bergen"]}, "down": {"south": ["Rome", "Bari"]}}
    # Level 2 was the top; now it is `up` and `down`, whose leaves are those of `north` and `south`.
    (found,) = weakened(on(TREE, 2), on(twice, 2))
    assert str(found).startswith("attributes.city.min_level would be counted among levels that repeat another one")
    assert weakened(on(twice, 2), on(twice, 2)) == weakened(on(twice, 2), on(TREE, 2)) == ()
    assert weakened(on(TREE, 0), on(twice, 0)) == ()


def test_a_highest_level_is_weaker_only_where_extra_levels_are_drawn(tmp_path: Path) -> None:
    def limited(extra: int, most: int | None = None) -> dict[str, Any]:
        level = {} if most is None else {"attributes/zip/max_level": most}
        return _promises(tmp_path, {"privacy/extra_levels": extra, **level})

    assert [str(one) for one in weakened(limited(1), limited(1, 2))] == [
        "attributes.zip.max_level would be 2 and was none: extra_levels end there"
    ]
    assert [str(one) for one in weakened(limited(1, 3), limited(2, 1))] == [
        "attributes.zip.max_level was 3 and would fall to 1: extra_levels end there"
    ]
    for before, after in (
        (limited(1, 2), limited(1, 2)),
        (limited(1, 2), limited(1, 3)),
        (limited(1, 2), limited(1)),
        (limited(0, 2), limited(1, 0)),
        (limited(0), limited(0, 1)),
    ):
        assert weakened(before, after) == ()


def test_a_shield_is_kept_where_one_on_its_attributes_and_more_or_k_asks_as_many(tmp_path: Path) -> None:
    def shielded(*shields: tuple[str, int], k: int = 5, **changes: Any) -> dict[str, Any]:
        given = [{"attributes": names.split(), "k": own} for names, own in shields]
        return _promises(tmp_path, {"privacy/shields": given, "privacy/k": k, **changes})

    both = shielded(("age zip", 50), ("city", 20))
    for kept in (
        both,
        shielded(("zip age", 50), ("city", 20)),
        shielded(("age zip", 51), ("city", 20), ("height", 9)),
        shielded(("age zip city", 50)),
        shielded(k=50),
    ):
        assert weakened(both, kept) == ()
    assert [str(one) for one in weakened(both, shielded(("age zip", 40), ("city height", 19)))] == [
        "privacy.shields[age, zip] was 50 and would fall to 40",
        "privacy.shields[city] was 20 and would fall to 19",
    ]
    # Parts of a shield do not make up for it, and without any it falls to k.
    assert [str(one) for one in weakened(both, shielded(("age", 90), ("zip", 90)))] == [
        "privacy.shields[age, zip] was 50 and would fall to 5",
        "privacy.shields[city] was 20 and would fall to 5",
    ]
    assert weakened(shielded(), both) == ()
    # A shield that held by itself was no promise of its own.
    assert weakened(shielded(("city", 4)), shielded()) == ()


def test_of_a_shield_those_attributes_count_that_are_still_published(tmp_path: Path) -> None:
    before = _promises(tmp_path, {"privacy/shields": [{"attributes": ["age", "zip"], "k": 50}]})

    def without_zip(k: int) -> dict[str, Any]:
        gone = {"privacy/shields": [{"attributes": ["age"], "k": k}], "attributes/zip": {"role": "identifier"}}
        return _promises(tmp_path, gone)

    assert weakened(before, without_zip(50)) == ()
    assert [one.place for one in weakened(before, without_zip(49))] == ["privacy.shields[age, zip]"]
    nothing = {"attributes/zip": {"role": "identifier"}, "attributes/age": {"role": "identifier"}}
    assert weakened(before, _promises(tmp_path, nothing)) == ()


def test_a_policy_without_k_is_weaker_than_one_with_it_and_shields_are_compared_still(tmp_path: Path) -> None:
    def shields(k: int) -> dict[str, Any]:
        return {"privacy/extra_levels": 0, "privacy/shields": [{"attributes": ["age", "city"], "k": k}]}

    none = {"privacy/k": "none", "privacy/max_share": NONE}
    asked, nine, twelve = (
        _promises(tmp_path, changes) for changes in (shields(9), {**shields(9), **none}, {**shields(12), **none})
    )
    assert [str(each) for each in weakened(asked, nine)] == [
        "privacy.k was 5 and would be none",
        "privacy.max_share was 0.4 and would rise to 1",
    ]
    assert weakened(nine, asked) == ()
    assert weakened(nine, nine) == weakened(nine, twelve) == ()
    (lower,) = weakened(twelve, nine)
    assert str(lower) == "privacy.shields[age, city] was 12 and would fall to 9"
    (gone,) = weakened(twelve, _promises(tmp_path, {"privacy/extra_levels": 0}))
    assert str(gone) == "privacy.shields[age, city] was 12 and would fall to 5"


def _stated(folder: Path, changes: dict[str, Any]) -> dict[str, Any]:
    sections = {"privacy/extra_levels": 0, "window": {}, "engine": {}, "input": {}}
    return stated_by(_policy(folder, sections | changes))


STRICT = {
    "window": {"max_records": 5_000, "max_delay": 20, "max_records_per_individual": 3},
    "input/null_values": ["NA", "-"],
}
LOOSE = {
    "window": {"max_records": 9_000, "max_delay": 60, "max_records_per_individual": 4, "shortfall": "hold"},
    "input/null_values": ["-", "NA"],
    "engine/seed": 4,
    "privacy/max_suppressed": 9,
    "attributes/visits/accept_linkable": True,
}


def test_what_certificates_alone_tell_is_compared_in_one_direction(tmp_path: Path) -> None:
    strict, loose = _stated(tmp_path, STRICT), _stated(tmp_path, LOOSE)
    assert [str(each).split(":")[0] for each in weakened(strict, loose)] == [
        "window.max_records_per_individual was 3 and would rise to 4",
        "window.shortfall would be hold",
        "engine.seed would be set",
        "attributes.visits.accept_linkable would be true",
    ]
    assert [str(each).split(":")[0] for each in weakened(loose, strict)] == [
        "window.max_records was 9000 and would fall to 5000",
        "window.max_delay was 60 and would fall to 20",
    ]


@pytest.mark.parametrize("nulls", [[], ["NA"], ["NA", "-", ""]])
def test_other_texts_that_mean_a_missing_value_may_be_weaker(tmp_path: Path, nulls: list[str]) -> None:
    # Without "NA" everybody whose id is NA is one more individual; with more of them fewer values are compared.
    changed = _stated(tmp_path, STRICT | {"input/null_values": nulls})
    assert [each.place for each in weakened(_stated(tmp_path, STRICT), changed)] == ["input.null_values"]


def test_a_window_may_become_smaller_where_no_class_is_compared_with_it(tmp_path: Path) -> None:
    free = {f"{CRITERIA}/{name}": NONE for name in ("t_closeness", "delta_disclosure", "beta_likeness")}
    assert (
        weakened(_stated(tmp_path, STRICT | free), _stated(tmp_path, STRICT | free | {"window/max_records": 9}))
        == ()
    )


def test_a_window_may_become_smaller_where_classes_are_compared_with_it_from_now_on(tmp_path: Path) -> None:
    free = {f"{CRITERIA}/{name}": NONE for name in ("t_closeness", "delta_disclosure", "beta_likeness")}
    assert weakened(_stated(tmp_path, LOOSE | free), _stated(tmp_path, STRICT)) == ()


def test_terms_that_one_side_does_not_tell_are_not_compared(tmp_path: Path) -> None:
    loose, told = _stated(tmp_path, LOOSE), _stated(tmp_path, {})
    untold = {key: value for key, value in told.items() if key not in ("terms", "engine")}
    assert weakened(untold, loose) == weakened(loose, untold) == ()


_SMALL = st.integers(2, 4)
_TERMS = st.fixed_dictionaries(
    dict.fromkeys(("max_records", "max_delay", "max_records_per_individual"), _SMALL),
    optional={
        "null_values": st.sampled_from(["sha256:a", "sha256:b"]),
        "linkable": st.sampled_from([["dose"], ["note"], ["dose", "note"]]),
        "replayable": st.just(True),
        "shortfall": st.just("hold"),
    },
)


@given(_TERMS, _TERMS)
def test_no_change_of_terms_is_unseen_in_both_directions(one: dict[str, Any], other: dict[str, Any]) -> None:
    close = _bare({}, {"income": {"t_closeness": {"t": 0.3, "distance": "equal"}}})
    one, other = close | {"terms": one}, close | {"terms": other}
    assert bool(weakened(one, other) or weakened(other, one)) == (one != other)


FAMILIES = [["flu", "cold"], ["stroke", "angina", None]]


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (FAMILIES, False),
        ([["cold", "flu"], [None, "angina", "stroke"]], False),
        ([["flu", "cold", "new"], ["stroke", "angina", None]], True),
        ([["flu", "cold", "stroke", "angina", None, "new"]], True),
        ([["flu", "cold", "stroke", "angina", None]], False),
        ([*FAMILIES, ["new", "newer"]], False),
        ([["flu", "cold"], ["stroke", "angina"]], True),
        ([["flu", "stroke"], ["cold", "angina", None]], True),
        (FAMILIES[:1], True),
        (None, True),
    ],
    ids=["same", "order", "more", "united-and-more", "united", "another", "smaller", "moved", "dropped", "none"],
)
def test_families_that_no_longer_stand_together_are_told(
    tmp_path: Path, after: list[list[str | None]] | None, told: bool
) -> None:
    had, has = (
        _promises(tmp_path, {"privacy/sensitive": {"illness": {"invariant": 2, "families": own}} if own else {}})
        for own in (FAMILIES, after)
    )
    places = [each.place for each in weakened(had, has)]
    assert places == (["privacy.sensitive.illness.families"] if told else [])
    assert weakened(_promises(tmp_path, {"privacy/sensitive": {}}), had) == ()
