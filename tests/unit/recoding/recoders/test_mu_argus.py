"""What mu-Argus leaves to the data's holder, and what it warns of."""

from __future__ import annotations

import pytest

from stream_anon.errors import SettingsError
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.recoding.recoders.mu_argus import MuArgus
from stream_anon.recoding.recoders.recoder import Choice, Recoding, RecodingGoal, Situation
from tests.support.recodings import RACE, ZIP, cells, table_of

ROWS = [("Black", "02138")] * 3 + [("White", "02141")] * 3 + [("Black", "02141")]
TABLE = table_of((RACE, ZIP), ROWS)
TEN = table_of((RACE, ZIP), [*ROWS, ("White", "02138"), ("White", "02139"), ("White", "02139")])
SETS = {"most": ("race",), "more": ("zip",)}


def _levels(found: Recoding) -> list[int]:
    (answer,) = (step.figures["levels"] for step in found.steps if step.action == "answer")
    return list(answer.values())  # type: ignore[attr-defined]


def test_the_holder_sees_what_each_choice_leaves_and_chooses_until_they_have_enough() -> None:
    seen: list[Situation] = []

    def holder(situation: Situation) -> Choice | None:
        seen.append(situation)
        return Choice("zip", 2) if len(seen) == 1 else None

    found = MuArgus(**SETS).recode(TEN, RecodingGoal(3, holder=holder))
    assert _levels(found) == [0, 2]
    assert seen[0].records == 10
    assert seen[0].levels == {"race": 0, "zip": 1}  # two people in 02139 are fewer than three
    assert [(own.choice, own.outliers) for own in seen[0].alternatives] == [
        (Choice("race", 1), 0),
        (Choice("zip", 2), 0),
    ]
    assert len(seen) == 1  # no outlier was left
    assert str(found.steps[1]) == "generalized zip, as was chosen: asked for 2, level 2"


def test_values_are_blanked_where_the_holder_generalizes_nothing() -> None:
    found = MuArgus(**SETS).recode(TABLE, RecodingGoal(2, holder=lambda situation: None))
    assert cells(TABLE, found) == [*ROWS[:6], ("*", "02141")]
    # One outlier of seven is more than the share that decides where nobody chooses.
    assert _levels(MuArgus(**SETS).recode(TABLE, RecodingGoal(2))) != _levels(found)


def test_the_choices_of_a_policy_are_those_of_a_person() -> None:
    chosen = [Choice("zip", 1), Choice("race", 1)]
    left = list(chosen)
    asked = MuArgus(**SETS).recode(TEN, RecodingGoal(2, holder=lambda situation: left.pop(0) if left else None))
    listed = MuArgus(**SETS, choices=tuple(chosen)).recode(TEN, RecodingGoal(2))
    assert _levels(asked) == [1, 1]
    assert cells(TEN, asked) == cells(TEN, listed)
    assert asked.steps == listed.steps
    none = MuArgus(**SETS, choices=()).recode(TABLE, RecodingGoal(2))
    assert cells(TABLE, none) == [*ROWS[:6], ("*", "02141")]


def test_choices_of_the_policy_are_not_asked_again() -> None:
    def holder(situation: Situation) -> Choice | None:
        raise AssertionError("the policy has chosen")

    assert MuArgus(**SETS, choices=()).recode(TABLE, RecodingGoal(2, holder=holder)).below_k == 1


def test_a_choice_below_the_level_that_an_attribute_stands_on_changes_nothing() -> None:
    rows = [("Black", "02138"), ("White", "02138"), ("Black", "02139"), ("White", "02139")]
    table = table_of((RACE, ZIP), rows)
    found = MuArgus(**SETS, choices=(Choice("zip", 1),)).recode(table, RecodingGoal(4))
    assert _levels(found) == [1, 1]


@pytest.mark.parametrize("wrong", [Choice("shoe-size", 1), Choice("zip", 3), Choice("zip", 0)])
def test_a_choice_that_no_hierarchy_has_is_refused(wrong: Choice) -> None:
    with pytest.raises(SettingsError, match=r"method\.choices"):
        MuArgus(**SETS, choices=(wrong,)).recode(TABLE, RecodingGoal(2))


def test_it_warns_where_it_runs_without_its_three_sets() -> None:
    (two,) = MuArgus(**SETS).recode(TABLE, RecodingGoal(2)).warnings
    assert two == (
        "mu-argus runs without its three sets (nothing in identifying): only combinations of two attributes are "
        "looked at"
    )
    (one,) = MuArgus(more=("zip",)).recode(TABLE, RecodingGoal(2)).warnings
    assert "nothing in identifying, most" in one
    assert "no combination of attributes is looked at" in one
    bits = [QuasiIdentifier(name, CategoricalDomain(Hierarchy.flat(["0", "1"]))) for name in "abcde"]
    table = table_of(bits, ["00000", "11111"] * 2)
    assert MuArgus(("a", "d"), ("b",), ("c", "e")).recode(table, RecodingGoal(2)).warnings == ()
    (outside,) = MuArgus(("a",), ("b",), ("c",)).recode(table, RecodingGoal(2)).warnings
    assert outside == "mu-argus: no combination with d or e is looked at, in none of its sets"
