"""Attacks for which the engine runs again: replays name a value where draws are known; planted people isolate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_anon.errors import SettingsError
from stream_anon.measures.boxes import Boxes
from stream_anon.operations.attack.attacked_records import read_attacked
from stream_anon.operations.attack.rerunning import Rerun
from stream_anon.operations.samples import SampleSource
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_document, write_json_lines

NUMBERS = {"age": 8, "weight": 100, "height": 100, "income": 100}
WINDOW = {"max_records": 400, "max_delay": "60s"}


def _rerun(folder: Path, each: int = 1, *, k: int = 5, publish: str | None = None, **sections: Any) -> Rerun:
    """Return a rerun of 500 people with so many records each."""
    draws = np.random.default_rng(2)
    homes = ["hill", "lake", "mill", "port"]
    records = [
        {
            "person": f"somebody-{number // each}",
            **{name: int(draws.integers(most)) for name, most in NUMBERS.items()},
            "home": homes[draws.integers(4)],
            "illness": f"illness {draws.integers(9)}",
        }
        for number in range(500 * each)
    ]
    home: dict[str, Any] = {"role": "quasi-identifier", "values": homes}
    if publish is not None:
        home["publish"] = publish
    attributes: Mapping[str, Any] = {
        "person": {"role": "identifier"},
        **{n: {"role": "quasi-identifier", "numeric": {"min": 0, "max": most - 1}} for n, most in NUMBERS.items()},
        "home": home,
        "illness": {"role": "sensitive"},
    }
    privacy = {"k": k, "individual": "person", "sensitive": {"illness": {"distinct_l": 2}}}
    policy = write_document(folder, {"privacy": privacy, "attributes": attributes, "window": WINDOW} | sections)
    source = SampleSource(str(write_json_lines(folder / "in.jsonl", records)), policy)
    loaded = load_policy(policy, {})
    return Rerun(loaded, read_attacked(loaded, source).batch)


@pytest.mark.parametrize("seed", [7, None])
def test_replays_name_a_value_where_the_draws_are_known_and_hardly_ever_where_not(
    seed: int | None, tmp_path: Path
) -> None:
    small = {"window": {"max_records": 120, "max_delay": "60s"}}
    rerun = _rerun(tmp_path, **small, **({} if seed is None else {"engine": {"name": "forest", "seed": seed}}))
    found = rerun.replays(0, 1, 40, np.random.default_rng(1))
    assert found is not None
    assert (found.attack, found.secret, found.attempts) == ("replay", "age", 40)
    assert found.chance is not None
    assert found.control == (40, pytest.approx(40 * found.chance))
    if seed is None:
        assert found.success.value < 0.5
    else:
        assert found.risk.low > 0


def test_sets_of_values_are_told_apart(tmp_path: Path) -> None:
    rerun = _rerun(tmp_path, publish="values", engine={"name": "forest", "seed": 7})
    window = rerun.window(400, np.random.default_rng(1))
    seen = rerun.published(window)
    assert seen.likeness(rerun.published(window)) == 1
    lengths = {len(name) for name in seen.classes}
    assert len(lengths) > 1, "sets of several sizes are published"
    assert all(name[10] >= 5 for name in seen.classes)


def test_of_a_set_only_its_members_are_tried(tmp_path: Path) -> None:
    """A value that the set does not hold is no guess: with it, a guess at random would seem worse than it is."""
    rerun = _rerun(tmp_path, publish="values")
    window, place = rerun.window(400, np.random.default_rng(1)), len(NUMBERS)
    low, high = np.zeros((place + 1, 1), np.int32), np.array([[7]] * place + [[3]], np.int32)

    def tried(home: int, *members: int) -> list[int]:
        boxes = Boxes(low, high, np.array([12]), {place: [members]})
        row = window.codes[place].tolist().index(home)
        return rerun.possible(window, boxes, 0, row, place, np.random.default_rng(1)).tolist()

    assert tried(0, 0, 3) == tried(3, 0, 3) == [0, 3]
    assert tried(0) == [0, 1, 2, 3], "a node"
    row, boxes = window.codes[0].tolist().index(5), Boxes(low, high, np.array([12]), {place: [(0, 3)]})
    assert rerun.possible(window, boxes, 0, row, 0, np.random.default_rng(1)).tolist() == list(range(8))
    assert rerun.possible(window, boxes, -1, row, 0, np.random.default_rng(1)).tolist() == []


def test_a_window_has_one_record_of_a_person_in_an_order_of_its_own(tmp_path: Path) -> None:
    rerun = _rerun(tmp_path, each=3)
    window = rerun.window(1_000, np.random.default_rng(1))
    assert len(np.unique(window.individuals)) == len(window) == 400
    assert window.offsets.tolist() == list(range(400))
    assert (np.diff(np.searchsorted(np.sort(rerun.records.individuals), window.individuals)) < 0).any()


def test_planted_people_leave_their_victim_alone_and_one_of_them_does_not(tmp_path: Path) -> None:
    rerun = _rerun(tmp_path)
    draws = np.random.default_rng(1)
    many, one = rerun.planted(4, 60, draws), rerun.planted(1, 60, draws)
    assert many.attempts == one.attempts == 60
    assert many.successes > 10
    assert many.surest == 1.0
    # Those beside other victims may come into a class, too, but hardly ever all that k asks for.
    assert one.successes <= 3


def test_where_nothing_is_released_nobody_is_alone(tmp_path: Path) -> None:
    rerun = _rerun(tmp_path, k=400)
    found = rerun.planted(4, 10, np.random.default_rng(1))
    assert (found.attempts, found.successes, found.surest) == (10, 0, 0)


def test_more_than_a_window_holds_cannot_be_planted(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="--planted: a quarter of a window of 400 records holds fewer"):
        _rerun(tmp_path).planted(101, 10, np.random.default_rng(1))
