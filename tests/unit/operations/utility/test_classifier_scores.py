"""What classifiers learn: all where a release keeps what tells the label, nothing where it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_anon.adapters.clock import SystemClock
from stream_anon.errors import InputError, SettingsError
from stream_anon.measures.boxes import Boxes
from stream_anon.operations.samples import SampleSource
from stream_anon.operations.studied_records import LabelBook, OriginalTable, Released, read_released, read_table
from stream_anon.operations.utility import classifier_scores
from stream_anon.operations.utility.classifier_scores import (
    LearningReport,
    Score,
    accuracy_kept,
    learn,
    study_learning,
)
from stream_anon.operations.utility.classifiers import CLASSIFIERS, SEARCH, Effort
from stream_anon.operations.utility.release_risks import RiskRequest, study_risks
from stream_anon.operations.utility.utility_report import UtilityReport
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import people, write_json_lines, write_policy

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
EFFORT = Effort(60, 0, SystemClock())
SOUTH = ("Rome", "Bari")


class Hurried(SystemClock):
    """Lets a second go by whenever it is asked."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        self._now += 1
        return self._now


def planted(count: int, seed: int, kind: str = "p") -> list[dict[str, Any]]:
    """Return people who have the flu in the south, and a cold in the north."""
    records = people(count, seed, each=2)
    for record in records:
        record["person"] = kind + record["person"]
        record["illness"] = "flu" if record["home"]["city"] in SOUTH else "cold"
    return records


def released(records: list[dict[str, Any]], *, place: bool) -> list[dict[str, Any]]:
    """Return the records as published with the half of the country, or without it."""
    return [
        {
            "age": "*",
            "home": {"city": ("south" if record["home"]["city"] in SOUTH else "north") if place else "*"},
            "visits": record["visits"],
            "illness": record["illness"],
        }
        for record in records
    ]


def files(folder: Path) -> tuple[Path, Path, Path, list[Path]]:
    """Write a policy, 300 original records, 100 others, and two releases of the original ones."""
    records = planted(300, 1)
    return (
        write_policy(folder),
        write_json_lines(folder / "in.jsonl", records),
        write_json_lines(folder / "test.jsonl", planted(100, 2, "t")),
        [
            write_json_lines(folder / "halves.jsonl", released(records, place=True)),
            write_json_lines(folder / "stars.jsonl", released(records, place=False)),
        ],
    )


def _read(folder: Path) -> tuple[OriginalTable, OriginalTable, list[Released]]:
    path, source, test, outputs = files(folder)
    policy = load_policy(path)
    book = LabelBook(policy, "illness")
    table = read_table(policy, SampleSource(str(source), source), book)
    return (
        table,
        read_table(policy, SampleSource(str(test), test), book),
        [read_released(policy, each, book) for each in outputs],
    )


def _studied(folder: Path, *, tested: bool) -> LearningReport:
    table, test, releases = _read(folder)
    names = ["decision tree", "logistic regression"]
    return study_learning(table, releases, test if tested else None, names, "illness", EFFORT)


@pytest.mark.parametrize("tested", [True, False])
def test_what_tells_the_label_is_learned_from_a_node_and_nothing_from_a_star(tested: bool, tmp_path: Path) -> None:
    found = _studied(tmp_path, tested=tested)
    assert (found.label, found.labels, found.tested) == ("illness", 2, 100 if tested else 300)
    assert (found.test is None) is not tested
    assert found.shared == (0 if tested else None)
    for each in found.classifiers:
        assert each.baseline.accuracy == 1
        assert [own.accuracy for own in each.releases] == pytest.approx([1, found.majority])
        assert [own.rows for own in each.releases] == [300, 300]
        assert not any(own.short for own in (each.baseline, *each.releases))
        assert each.baseline.available == (300 if tested else 240)
        assert [found.kept(own, each.baseline) for own in each.releases] == pytest.approx([1, 0])


def test_without_test_records_nobody_is_in_the_training_and_in_the_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, _, _ = _read(tmp_path)
    individuals = table.population.individuals
    assert individuals is not None
    folds = classifier_scores._folds(individuals, len(individuals), 0)
    assert {len(set(folds[individuals == each].tolist())) for each in np.unique(individuals)} == {1}
    assert np.bincount(folds).tolist() == [60] * 5
    # Hashes of individuals differ from process to process, and the folds do not.
    other = np.random.default_rng(0).permutation(len(individuals))[np.unique(individuals, return_inverse=True)[1]]
    assert (classifier_scores._folds(other.astype(np.int64), len(other), 0) == folds).all()
    assert np.bincount(classifier_scores._folds(None, 10, 0)).tolist() == [2] * 5


def test_a_classifier_that_remembers_its_rows_is_not_tested_on_them(tmp_path: Path) -> None:
    path = write_policy(tmp_path)
    records = people(400, 5)  # the illness depends on nothing
    policy, source = load_policy(path), write_json_lines(tmp_path / "in.jsonl", records)
    book = LabelBook(policy, "illness")
    table = read_table(policy, SampleSource(str(source), source), book)
    found = study_learning(table, [], None, ["random forest"], "illness", EFFORT)
    assert found.classifiers[0].baseline.accuracy < 0.45


def test_it_is_told_how_many_test_records_are_of_people_who_were_released(tmp_path: Path) -> None:
    path, source, _, outputs = files(tmp_path)
    policy = load_policy(path)
    book = LabelBook(policy, "illness")
    table = read_table(policy, SampleSource(str(source), source), book)
    test = write_json_lines(tmp_path / "mixed.jsonl", planted(20, 7) + planted(30, 7, "t"))
    found = study_learning(
        table,
        [read_released(policy, outputs[0], book)],
        read_table(policy, SampleSource(str(test), test), book),
        ["decision tree"],
        "illness",
        EFFORT,
    )
    assert found.shared == 20
    report = UtilityReport("in", 300, 3, 0, (), study_risks(table, [], RiskRequest()), found)
    assert any(remark.startswith("20 test records are of individuals") for remark in report.remarks())


def test_what_was_trained_on_fewer_records_for_want_of_time_is_told_with_those_that_there_were(
    tmp_path: Path,
) -> None:
    table, test, releases = _read(tmp_path)
    effort = Effort(0.001, 0, Hurried())
    for source, available in ((test, 300), (None, 240)):
        found = study_learning(table, releases, source, ["decision tree"], "illness", effort).classifiers[0]
        assert all(own.short for own in (found.baseline, *found.releases))
        assert (found.baseline.rows, found.baseline.available) == (available // 64, available)
        assert [(own.rows, own.available) for own in found.releases] == [(300 // 64, 300)] * 2


def test_large_tables_are_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classifier_scores, "MOST_ROWS", 80)
    found = _studied(tmp_path, tested=True)
    assert found.tested == 80
    assert {own.rows for each in found.classifiers for own in (each.baseline, *each.releases)} == {80}


def test_accuracy_is_kept_beyond_what_the_most_frequent_label_gives() -> None:
    assert accuracy_kept(0.8, 0.9, 0.6) == pytest.approx(2 / 3)
    assert accuracy_kept(0.5, 0.9, 0.6) == pytest.approx(-1 / 3)
    assert accuracy_kept(0.6, 0.604, 0.6) is None


def test_labels_must_be_published_as_they_are_and_be_two_to_a_hundred(tmp_path: Path) -> None:
    path, _, _, outputs = files(tmp_path)
    policy = load_policy(path)
    for name in ("age", "person", "nobody"):
        with pytest.raises(SettingsError, match="--label"):
            LabelBook(policy, name)
    book = LabelBook(policy, "illness")
    with pytest.raises(InputError, match="record 1 has a illness that no original record has"):
        read_released(policy, outputs[0], book)
    records = planted(4, 0)
    for record in records:
        record["illness"] = "flu"
    table = read_table(policy, SampleSource(str(write_json_lines(tmp_path / "one.jsonl", records)), tmp_path), book)
    with pytest.raises(InputError, match="has 1 different labels"):
        study_learning(table, [], None, ["decision tree"], "illness", EFFORT)
    unhashable = released(planted(1, 0), place=True)
    unhashable[0]["illness"] = ["flu"]
    odd = tmp_path / "odd.jsonl"
    odd.write_text(json.dumps(unhashable[0]) + "\n")
    with pytest.raises(InputError, match="that no original record has"):
        read_released(policy, odd, book)


@pytest.mark.parametrize(("count", "persons"), [(8, 4), (19, 10), (40, 4)])
def test_too_few_records_or_people_are_refused_with_how_many_it_takes(
    count: int, persons: int, tmp_path: Path
) -> None:
    records = planted(count, 1)
    for number, record in enumerate(records):
        record["person"] = f"p{number % persons}"
    policy, source = load_policy(write_policy(tmp_path)), write_json_lines(tmp_path / "in.jsonl", records)
    table = read_table(policy, SampleSource(str(source), source), LabelBook(policy, "illness"))
    told = f"{count} records of {persons} individuals .* too few for --label: .* 20 records and 5 individuals"
    with pytest.raises(InputError, match=told):
        study_learning(table, [], None, ["decision tree"], "illness", EFFORT)


@pytest.mark.parametrize("name", [*CLASSIFIERS, SEARCH])
def test_the_fewest_records_that_are_not_refused_suffice_for_every_classifier(name: str, tmp_path: Path) -> None:
    if name == SEARCH:
        pytest.importorskip("flaml", reason="FLAML is not installed")
    records = planted(20, 1)
    for number, record in enumerate(records):
        record["person"] = f"p{number % 5}"
    policy, source = load_policy(write_policy(tmp_path)), write_json_lines(tmp_path / "in.jsonl", records)
    book = LabelBook(policy, "illness")
    table = read_table(policy, SampleSource(str(source), source), book)
    output = read_released(
        policy, write_json_lines(tmp_path / "out.jsonl", released(records, place=True)[:9]), book
    )
    (found,) = study_learning(table, [output], None, [name], "illness", Effort(2, 0, SystemClock())).classifiers
    assert (found.baseline.available, found.releases[0].available) == (16, 9)
    assert 0 <= found.baseline.accuracy <= 1


def test_from_nothing_released_nothing_is_learned(tmp_path: Path) -> None:
    path, source, _, _ = files(tmp_path)
    policy = load_policy(path)
    book = LabelBook(policy, "illness")
    table = read_table(policy, SampleSource(str(source), source), book)
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    found = study_learning(table, [read_released(policy, empty, book)], None, ["decision tree"], "illness", EFFORT)
    (learned,) = found.classifiers[0].releases
    assert learned.rows == 0
    assert learned.accuracy <= found.majority


def test_of_a_release_that_shows_nothing_the_most_frequent_label_is_learned(tmp_path: Path) -> None:
    """Categories that are all published as the root leave a classifier no feature."""
    (city,) = (own for own in load_policy(write_policy(tmp_path)).quasi_identifiers if own.name == "home.city")
    whole = Boxes(*(np.full((1, 1), code, np.int32) for code in (0, city.unknown_code)), np.array([5]))
    held_out = np.array([[0, 1, 2, 3]], np.int32), np.array([0, 1, 1, 2])
    found = learn((city,), whole, np.array([[1, 3, 1]]), held_out, "decision tree", EFFORT)
    assert found == Score(0.5, 5, 5)
