"""Classes keep families whole: by every engine, and whatever a partitioner answers. The oracle is plain Python."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stream_anon.engine.closing import Closer, dealt
from stream_anon.engine.warming import warm_up
from stream_anon.microdata.attributes import Attribute, Sensitive
from stream_anon.microdata.choices.engine_choice import FULL_DOMAIN, EngineChoice
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Release, Suppression
from tests.attacks.town import ENGINES, ILLNESSES, LEVELS, Service, classes_of, town_policy, townspeople
from tests.support.lying import Liar, sealed

FAMILIES = (ILLNESSES[:2], ILLNESSES[2:5], ILLNESSES[5:9])
KNOWN = [value for family in FAMILIES for value in family]


def _policy(engine: str = "forest", *, limited: bool = False, k: int = 5, alpha: float | None = None) -> Policy:
    plain = town_policy(k)

    def changed(attribute: Attribute) -> Attribute:
        if isinstance(attribute, Sensitive):
            return replace(attribute, families=FAMILIES, shown_as=ShownAs.VALUE)
        if isinstance(attribute, QuasiIdentifier) and engine == FULL_DOMAIN:
            return attribute.at_level(LEVELS[attribute.name])
        if isinstance(attribute, QuasiIdentifier) and limited and attribute.name == "home":
            return replace(attribute, max_level=1)
        return attribute

    attributes = tuple(map(changed, plain.attributes))
    diversity = {"illness": Diversity(alpha=alpha)} if alpha else {}
    return replace(plain, attributes=attributes, engine=EngineChoice(engine), diversity=diversity)


def _broken(shown: set[str]) -> bool:
    return any(not shown.isdisjoint(family) and not shown.issuperset(family) for family in FAMILIES)


def _people(count: int) -> list[dict[str, object]]:
    return [dict(person) for person in townspeople(2 * count) if person["illness"] in KNOWN][:count]


@pytest.mark.parametrize("limited", [False, True], ids=["any-level", "limited"])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_keeps_families_whole(engine: str, limited: bool) -> None:
    people = _people(400)
    policy = _policy(engine, limited=limited)
    release = Service(policy).release(people)
    shown = [{str(people[row]["illness"]) for row in rows} for rows in classes_of(release)]
    assert release.gate_violations == 0
    assert release.released > (100 if engine == FULL_DOMAIN else 390)
    assert len(shown) > 3 * len(FAMILIES)
    assert not any(map(_broken, shown))
    assert release.achieved_l == {"illness": min(map(len, shown))}
    again = Service(policy).release(people)
    assert again.class_of_row.tolist() == release.class_of_row.tolist()


def test_a_share_of_a_value_can_be_asked_beside_families() -> None:
    people = _people(400)
    release = Service(_policy(alpha=0.75)).release(people)
    assert release.gate_violations == 0
    assert release.released > 300
    for rows in classes_of(release):
        shown = [people[row]["illness"] for row in rows]
        assert max(map(shown.count, shown)) <= 0.75 * len(shown)
        assert not _broken(set(map(str, shown)))


def test_a_window_in_which_nobody_has_a_value_suppresses_its_family_and_no_other() -> None:
    gone = FAMILIES[2][0]
    people = [person for person in _people(400) if person["illness"] != gone]
    release = Service(_policy()).release(people)
    lost = [row for row, number in enumerate(release.class_of_row.tolist()) if number < 0]
    assert {people[row]["illness"] for row in lost} == set(FAMILIES[2][1:])
    assert release.suppressed == {Suppression.UNPLACED: len(lost)}


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_that_keep_families_whole_can_be_warmed_up(engine: str) -> None:
    warm_up(_policy(engine))


# -- liars ---------------------------------------------------------------------------------------------------

N = 60
FAMILY_OF = np.array([0, 0, 1, 1, 1, 2, 2, 2, 2], np.int32)


def _window(values: list[int]) -> Columns:
    """Return people who live at 12 places, so that classes by place are published otherwise."""
    codes = np.array([np.arange(N) % 12, np.zeros(N), np.zeros(N)], np.int32)
    return Columns(codes, np.arange(N, dtype=np.int32), np.array([values], np.int32), (), (FAMILY_OF,))


def _told(rows: Columns, classes: list[int]) -> Release:
    """Return the release of a window of which a partitioner says this."""
    order = dealt(rows.codes, np.random.default_rng(0))
    answer = np.array(classes, np.int32)
    window = sealed(_policy(k=3), rows, Liar(lambda *_: answer[order]))
    return Closer(_policy(k=3)).release(window, np.random.default_rng(0))


def _whole(rows: Columns, members: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> bool:
    return not _broken({ILLNESSES[value] for value in rows.sensitive[0, members].tolist()})


@pytest.mark.parametrize("seed", range(6))
def test_a_partitioner_that_mixes_families_or_drops_a_value_is_caught(seed: int) -> None:
    draws = np.random.default_rng(seed)
    rows = _window(draws.integers(0, 9, N).tolist())
    place = rows.codes[0].astype(int)
    release = _told(rows, place.tolist())
    legal = [own for own in range(12) if _whole(rows, place == own)]
    published = sorted({int(place[row]) for row in release.order.tolist()})
    assert published == legal
    assert release.gate_violations == 12 - len(legal)
    assert release.suppressed.get(Suppression.GATE, 0) == 5 * (12 - len(legal))


def test_classes_of_several_families_pass_if_all_are_whole() -> None:
    """Whoever is in one is among all values of their own family, and among those of others besides."""
    values = [[0, 1, 2, 3, 4], [0, 1, 0, 1, 1], [0, 1, 2, 3, 3], [0, 2, 3, 4, 4]]
    rows = _window([values[(row % 12) % 4][row // 12] for row in range(N)])
    release = _told(rows, (rows.codes[0] % 12).tolist())
    assert {int(rows.codes[0, row]) % 4 for row in release.order.tolist()} == {0, 1}
    assert release.gate_violations == 6
