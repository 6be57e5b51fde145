"""What certificates, policy documents and the comparison of policies say of families."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.families import Family, ShownAs
from stream_anon.microdata.output.stated_returns import AskedFamilies
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.certificate import Asked
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from stream_anon.privacy.promises import asked_of, promises_of
from stream_anon.privacy.weakening import weakened
from tests.support.releases import frame_of, release_of, ward_people, ward_policy

TWO: tuple[Family, ...] = (("fine", "poor", "bad"), ("worse", "best", "so so", None))
NEW: Family = ("new", "newer", "newest")
PLACE = "privacy.sensitive.result.families"
REST = "privacy.sensitive.result.rest"


def with_families(
    *families: Family, rest: str | None = None, shown_as: ShownAs = ShownAs.FAMILY, **changes: Any
) -> Policy:
    plain = ward_policy()
    attributes = tuple(
        replace(attribute, families=families, rest=rest, shown_as=shown_as)
        if isinstance(attribute, Sensitive)
        else attribute
        for attribute in plain.attributes
    )
    return ward_policy(**({"attributes": attributes, "diversity": {}} | changes))


def places(before: Any, after: Any) -> set[str]:
    return {each.place for each in weakened(before, after)}


def test_a_certificate_states_the_least_family_and_a_hash() -> None:
    policy = with_families(*TWO)
    people = [person | {"result": "bad|fine|poor"} for person in ward_people(6)]
    (part,) = certificate_parts(release := release_of(policy, [people]), policy, frame_of(release))
    asked = json.loads(part)["asked"]["families"]["result"]
    assert asked["least"] == 3
    assert asked["publish"] == "family"
    assert asked["digest"] == AskedFamilies.of(TWO).digest


def test_a_certificate_states_that_values_are_published_and_that_classes_keep_families_whole() -> None:
    policy = with_families(*TWO, shown_as=ShownAs.VALUE)
    people = [person | {"result": result} for person, result in zip(ward_people(6), [*TWO[0]] * 2, strict=True)]
    (part,) = certificate_parts(release := release_of(policy, [people]), policy, frame_of(release))
    asked = json.loads(part)["asked"]
    assert asked["families"]["result"] == {
        "least": 3,
        "publish": "value",
        "digest": AskedFamilies.of(TWO).digest,
    }
    assert asked["distinct_l"] == {"result": 3}


def test_to_publish_values_is_another_promise_than_families_either_way() -> None:
    both = [promises_of(with_families(*TWO, shown_as=way)) for way in ShownAs]
    place = "privacy.sensitive.result.publish"
    assert place in places(*both)
    assert place in places(*reversed(both))
    told = [{"asked": one["asked"]} for one in both]
    assert PLACE in places(told[0], both[1])
    assert PLACE in places(told[1], both[0])


@pytest.mark.parametrize(
    ("families", "told"),
    [
        pytest.param((*TWO, ("new", "newer", "newest")), False, id="a new family"),
        pytest.param((TWO[0] + TWO[1],), False, id="united"),
        pytest.param((("fine", "poor", "worse"), ("bad", "best", "so so", None)), True, id="a value that moved"),
        pytest.param((("fine", "poor", "new"), TWO[1]), True, id="a value that is another"),
        pytest.param(TWO[:1], True, id="a family less"),
    ],
)
def test_a_family_that_is_split_or_a_value_that_moves_is_weaker_where_values_are_published(
    families: tuple[Family, ...], told: bool
) -> None:
    had, has = (promises_of(with_families(*own, shown_as=ShownAs.VALUE)) for own in (TWO, families))
    assert (PLACE in places(had, has)) is told
    assert places(had, has) <= {PLACE}


def test_a_policy_without_families_says_nothing_of_them() -> None:
    assert "families" not in msgspec.to_builtins(asked_of(ward_policy()))
    assert '"families"' not in PolicyDocument.of(ward_policy()).text


def test_the_hash_is_of_sets_of_values() -> None:
    first, second = TWO
    turned = (tuple(reversed(second)), (first[1], first[2], first[0]))
    assert AskedFamilies.of(turned) == AskedFamilies.of(TWO)


@pytest.mark.parametrize(
    "families",
    [
        pytest.param((("fine", "poor", "worse"), ("bad", "best", "so so", None)), id="two values change places"),
        pytest.param((("fine", "poor", "bad"), ("worse", "best", "so so")), id="a missing one is left out"),
        pytest.param((("fine", "poor", "bad"), ("worse", "best", "so so", "other")), id="one is renamed"),
        pytest.param((TWO[0] + TWO[1],), id="one family of all"),
    ],
)
def test_other_families_have_another_hash(families: tuple[Family, ...]) -> None:
    assert AskedFamilies.of(families).digest != AskedFamilies.of(TWO).digest


@pytest.mark.parametrize("rest", [None, "other"])
def test_a_policy_document_lists_the_families(rest: str | None) -> None:
    policy = with_families(*TWO, rest=rest)
    read = PolicyDocument.of(policy).policy()
    assert asked_of(read) == asked_of(policy)
    assert read.attribute("result") == policy.attribute("result")


@pytest.mark.parametrize("rest", [None, "other"])
def test_what_a_certificate_asks_is_read_again(rest: str | None) -> None:
    asked = asked_of(with_families(*TWO, rest=rest))
    assert asked.families["result"].rest == (msgspec.UNSET if rest is None else rest)  # type: ignore[index]
    assert msgspec.json.decode(msgspec.json.encode(asked), type=Asked) == asked


@pytest.mark.parametrize(
    "families",
    [
        pytest.param((*TWO, ("new", "newer", "newest")), id="a new family"),
        pytest.param((TWO[0] + TWO[1],), id="two are joined"),
        pytest.param(TWO[::-1], id="in another order"),
    ],
)
def test_families_that_keep_each_whole_and_alone_are_no_weaker(families: tuple[Family, ...]) -> None:
    assert weakened(promises_of(with_families(*TWO)), promises_of(with_families(*families))) == ()


@pytest.mark.parametrize(
    "families",
    [
        pytest.param((), id="none"),
        pytest.param((("fine", "poor"), TWO[1]), id="a value is left out"),
        pytest.param((TWO[0], ("worse", "best"), ("so so", None)), id="one is split"),
        pytest.param((("fine", "poor", "worse"), ("bad", "best", "so so", None)), id="values move"),
    ],
)
def test_families_of_which_one_is_broken_are_weaker(families: tuple[Family, ...]) -> None:
    assert places(promises_of(with_families(*TWO)), promises_of(with_families(*families))) == {PLACE}


@pytest.mark.parametrize(
    ("families", "told"),
    [
        pytest.param(((*TWO[0], "new"), TWO[1]), "add values .*1 of them", id="a new value joins"),
        pytest.param(
            ((*TWO[0], "new"), (*TWO[1], "newer", "x")), "add values .*2 of them", id="new values join both"
        ),
        pytest.param((TWO[0] + TWO[1] + ("new",),), "add values .*1 of them", id="a new value joins a union"),
        pytest.param((*TWO, ("new", "newer")), "new family of 2 values.* fewer than 3", id="a small new family"),
        pytest.param((*TWO, NEW, ("x", "y")), "new family of 2 values.* fewer than 3", id="a small one of two"),
    ],
)
def test_new_values_make_a_policy_weaker_unless_they_are_as_many_by_themselves(
    families: tuple[Family, ...], told: str
) -> None:
    """Whoever was there and appears only since a family has a new value has this value."""
    (found,) = weakened(promises_of(with_families(*TWO)), promises_of(with_families(*families)))
    assert found.place == PLACE
    assert re.search(told, found.text)


@pytest.mark.parametrize("of_certificate", [False, True], ids=["document", "certificate"])
def test_a_value_that_is_published_no_more_is_not_told_as_weaker(of_certificate: bool) -> None:
    before, after = promises_of(with_families(*TWO)), promises_of(with_families())
    after["attributes"]["result"] = {"role": "identifier"}
    assert weakened({"asked": before["asked"]} if of_certificate else before, after) == ()


def test_the_order_in_which_a_policy_lists_families_changes_no_promise() -> None:
    turned = (tuple(reversed(TWO[1])), (TWO[0][1], TWO[0][2], TWO[0][0]))
    assert promises_of(with_families(*turned)) == promises_of(with_families(*TWO))
    assert PolicyDocument.of(with_families(*turned)).text == PolicyDocument.of(with_families(*TWO)).text


def test_of_thousands_of_families_the_broken_and_the_grown_one_are_told() -> None:
    families = tuple((f"a{n}", f"b{n}") for n in range(4_000))
    before = promises_of(with_families(*families))
    after = promises_of(with_families(*families[1:], ("a0", "c")))
    (broken, grown) = weakened(before, after)
    assert "(1 of them)" in broken.text
    assert "(1 of them)" in grown.text


def test_without_the_document_only_the_same_families_are_known_to_be_no_weaker() -> None:
    told = {"asked": promises_of(with_families(*TWO))["asked"]}
    assert places(told, promises_of(with_families(*TWO))) == set()
    assert places(told, promises_of(with_families(TWO[0] + TWO[1]))) == {PLACE}
    assert places(told, promises_of(with_families())) == {PLACE}
    unpublished = copy.deepcopy(promises_of(with_families()))
    unpublished["attributes"]["result"] = {"role": "identifier"}
    assert places(told, unpublished) == set()


RESTS = [
    ("other", TWO, "others", TWO, set(), "another name"),
    ("other", TWO, "other", (TWO[0] + TWO[1],), set(), "two families are joined"),
    (None, TWO, "other", TWO, {REST}, "a rest where none was"),
    ("other", TWO, None, TWO, {REST}, "none where one was"),
    ("other", TWO, "other", (*TWO, NEW), {REST}, "values of it in a family of their own"),
    ("other", TWO, None, (*TWO, NEW), {REST}, "the same, and no rest"),
    ("other", TWO, "other", ((*TWO[0], "new"), TWO[1]), {REST, PLACE}, "a value of it joins a family"),
    ("other", TWO, "other", TWO[:1], {PLACE}, "a family becomes part of it"),
    (None, (), "other", TWO, set(), "where values were published as they are"),
]


@pytest.mark.parametrize(("rest", "old", "then", "new", "told"), [r[:5] for r in RESTS], ids=[r[5] for r in RESTS])
def test_a_rest_that_comes_goes_or_loses_values_is_weaker(
    rest: str | None, old: tuple[Family, ...], then: str | None, new: tuple[Family, ...], told: set[str]
) -> None:
    before, after = promises_of(with_families(*old, rest=rest)), promises_of(with_families(*new, rest=then))
    assert places(before, after) == told


def test_each_family_that_is_broken_is_counted_and_told_once() -> None:
    """Also where its first value is left out, and the others are the first family now."""
    broken = (("fine", "poor"), ("worse", "so so", None))
    (found,) = weakened(promises_of(with_families(*TWO)), promises_of(with_families(*broken)))
    assert "no longer keep each family whole (2 of them)" in found.text


def test_how_many_values_leave_the_rest_is_told() -> None:
    before, after = (promises_of(with_families(*own, rest="other")) for own in (TWO, (*TWO, NEW)))
    (found,) = weakened(before, after)
    assert "lose 3 values" in found.text


def test_of_a_rest_that_a_certificate_alone_tells_only_the_same_is_no_weaker() -> None:
    told = {"asked": promises_of(with_families(*TWO, rest="other"))["asked"]}
    assert places(told, promises_of(with_families(*TWO, rest="other"))) == set()
    assert places(told, promises_of(with_families(*TWO))) == {PLACE}


VALUES = [*"abcdefgh", None]
EVERY = [*VALUES, "what nobody has thought of"]


def _dealt(numbers: list[int]) -> tuple[Family, ...]:
    sets = [tuple(v for v, n in zip(VALUES, numbers, strict=True) if n == family) for family in range(3)]
    return tuple(family for family in sets if len(family) > 1)


@given(*[st.lists(st.integers(0, 3), min_size=9, max_size=9).map(_dealt)] * 2)
def test_what_is_not_weaker_leaves_everybody_among_at_least_as_many_values(
    old: tuple[Family, ...], new: tuple[Family, ...]
) -> None:
    """Somebody who comes under both policies is among what both families have, or among what only the later has.

    The attacker knows who was there: whoever is shown under one policy only has a value that it alone lists.
    """
    weaker = bool(weakened(promises_of(with_families(*old)), promises_of(with_families(*new))))
    of_old, of_new = ({value: set(family) for family in own for value in family} for own in (old, new))
    least = min(map(len, old), default=0)
    left = []
    for value, family in of_new.items():
        left.append(len(family & of_old[value] if value in of_old else family - of_old.keys()))
    lost = of_old.keys() - of_new.keys()
    whole = all(len(of_new[value] & family) == len(family) for value, family in of_old.items() if value not in lost)
    assert weaker == bool(old and (lost or not whole or min(left, default=least) < least or _grown(of_old, of_new)))


@given(*[st.lists(st.integers(0, 3), min_size=9, max_size=9).map(_dealt).filter(bool)] * 2)
def test_with_a_rest_what_is_not_weaker_leaves_everybody_among_all_that_the_first_policy_says(
    old: tuple[Family, ...], new: tuple[Family, ...]
) -> None:
    """Of every value there is, whether a family lists it or not. A family that joins the rest is told too."""
    weaker = bool(weakened(*(promises_of(with_families(*own, rest="other")) for own in (old, new))))
    lost = any(_shown_alike(value, old) - _shown_alike(value, new) for value in EVERY)
    joined = not {value for family in old for value in family} <= {value for family in new for value in family}
    assert weaker == (lost or joined)


def _shown_alike(value: str | None, families: tuple[Family, ...]) -> set[str | None]:
    """Return the values that are published as this one is."""
    listed = {one for family in families for one in family}
    return set(EVERY) - listed if value not in listed else next(set(one) for one in families if value in one)


def _grown(of_old: dict[str | None, set[str | None]], of_new: dict[str | None, set[str | None]]) -> bool:
    return any(family & of_old.keys() and family - of_old.keys() for family in of_new.values())


def test_a_text_that_means_a_missing_value_is_in_no_family() -> None:
    with pytest.raises(SettingsError, match=r"null_values: 'poor' is in a family of result"):
        with_families(*TWO, null_values=frozenset({"poor", "other"}))
    assert with_families(*TWO, null_values=frozenset({"other"})).null_values


def test_criteria_count_families_so_that_more_values_than_families_are_refused() -> None:
    assert with_families(*TWO, diversity={"result": Diversity(2)}).diversity
    with pytest.raises(SettingsError, match=r"privacy\.sensitive\.result: asks for 3 values .* 2 families"):
        with_families(*TWO, diversity={"result": Diversity(3)})
    assert with_families(*TWO, rest="other", diversity={"result": Diversity(3)}).diversity
    with pytest.raises(SettingsError, match=r"asks for 4 values .* 3, with the rest"):
        with_families(*TWO, rest="other", diversity={"result": Diversity(4)})
