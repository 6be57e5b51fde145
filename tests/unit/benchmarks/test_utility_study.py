"""The study of measures in short: its parts agree with other libraries, and it finds what was planted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import utility_study
from benchmarks.utility.correlation import mean_difference, mean_spearman, spearman, written
from benchmarks.utility.releases import METHODS, OTHER_METHODS, released
from benchmarks.utility.tasks import TASKS, Task
from benchmarks.utility_study import MEASURES, Study, averaged, correlations, lines, run

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
NOWHERE = Path("no data is read")


def _row(task: str, method: str, k: int, split: int, accuracy: float, measure: float) -> dict[str, Any]:
    return {
        "task": task,
        "split": split,
        "method": method,
        "k": k,
        "majority": 0.5,
        "accuracy": {"good": accuracy, "useless": 0.5},
        "baseline": {"good": 0.9, "useless": 0.502},
        "measures": dict.fromkeys(MEASURES, measure),
    }


def test_the_correlation_is_the_one_that_scipy_finds_ties_included() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    draws = np.random.default_rng(0)
    for _ in range(20):
        one, other = draws.integers(0, 6, 30).astype(float), draws.normal(size=30).round(1)
        assert spearman(one, other) == pytest.approx(stats.spearmanr(one, other).statistic)
    assert spearman(one * 0, other) == 0


def test_the_interval_holds_the_correlation_and_is_narrow_where_there_is_no_doubt() -> None:
    draws = np.random.default_rng(1)
    one = draws.normal(size=40)
    sure = mean_spearman([(one, one), (one, 2 * one)])
    assert (sure.rho, sure.low, sure.high) == pytest.approx((1, 1, 1))
    unsure = mean_spearman([(one, one + draws.normal(size=40))], seed=2)
    assert unsure.low < unsure.rho < unsure.high < 0.95
    assert unsure.high - unsure.low > 0.1


def test_a_paired_difference_is_sure_where_the_intervals_of_both_correlations_overlap() -> None:
    draws = np.random.default_rng(3)
    outcome = draws.normal(size=40)
    one = outcome + draws.normal(size=40)
    other = one + 0.3 * draws.normal(size=40)  # a copy of the first one that is a little worse
    groups = [(one, other, outcome)] * 3
    first, second = (mean_spearman([(column, outcome)] * 3) for column in (one, other))
    assert second.high > first.low, "the intervals overlap"
    found = mean_difference(groups)
    assert found.rho == pytest.approx(first.rho - second.rho)
    assert 0 < found.low < found.rho < found.high
    assert found.high - found.low < first.high - first.low
    same = mean_difference([(one, 2 * one, outcome)])
    assert (same.rho, same.low, same.high) == (0, 0, 0), "both take the same rows"
    backwards = mean_difference([(b, a, c) for a, b, c in groups])
    assert (backwards.low, backwards.high) == pytest.approx((-found.high, -found.low))


def test_each_measure_is_compared_with_the_best_over_the_releases_that_have_both() -> None:
    draws = np.random.default_rng(4)
    rows: list[dict[str, Any]] = []
    for place in range(30):
        kept = float(draws.normal())
        noisy = {name: float(draws.normal()) for name in MEASURES}
        noisy |= {"prec": kept, "information": kept + float(draws.normal())}
        noisy["class_size"] = None if place < 5 else -kept  # type: ignore[assignment]
        rows.append({"task": "t", "k": 5, "mean": kept, "kept": {}, "measures": noisy})
    found = correlations(rows, ["t"], 200)
    assert found["prec"]["behind"] is None
    assert found["class_size"]["behind"].rho == 0
    behind = found["information"]["behind"]
    assert behind.rho == pytest.approx(1 - found["information"]["mean"].rho)
    assert 0 < behind.low < behind.high
    document = json.loads(json.dumps(written(found)))
    assert document["prec"]["behind"] is None
    assert document["information"]["behind"] == {"rho": behind.rho, "low": behind.low, "high": behind.high}
    best, *others = list(lines(found, ["t"]))[1:]
    assert (best.count("["), {line.count("[") for line in others}) == (3, {4})


def test_rows_are_averaged_over_splits_and_useless_classifiers_left_out() -> None:
    rows = [_row("t", "m", k, split, 0.9 - k / 100 - split / 100, k) for k in (5, 10) for split in (0, 1)]
    first, second = averaged(rows)
    assert first["kept"] == {"good": pytest.approx((0.845 - 0.5) / 0.4)}
    assert first["mean"] == first["kept"]["good"] > second["mean"]
    found = correlations(averaged(rows), ["t"], 20)
    # The larger the measure, the less accuracy: right for a loss, wrong for what should be kept.
    assert found["gcp"]["mean"].rho == pytest.approx(1)
    assert found["prec"]["mean"].rho == pytest.approx(-1)
    assert found["gcp"]["classifiers"] == {"good": pytest.approx(1)}


@pytest.mark.parametrize("method", [*METHODS, *OTHER_METHODS])
def test_every_method_publishes_classes_of_k_records_that_cover_their_own(method: str) -> None:
    task, _ = TASKS["made-up"](NOWHERE).split(0, 300)
    found = released(task, method, 10, 8)
    assert found.boxes.records.min() >= 10
    assert found.labels is not None
    assert (found.labels.sum(axis=1) == found.boxes.records).all()
    assert found.records <= 300
    # Every box covers as many rows as it stands for, and each suppressed row counts nowhere.
    covered = np.ones((len(found.boxes), 300), bool)
    for place in range(len(task.codes)):
        covered &= found.boxes.cover(place, task.codes[place], np.arange(len(found.boxes)))
    assert (covered.sum(axis=1) >= found.boxes.records).all()


def test_records_to_test_on_were_not_released() -> None:
    task = TASKS["made-up"](NOWHERE)
    numbered = Task(task.name, task.attributes, np.arange(len(task.labels), dtype=np.int32)[None], task.labels)
    original, test = numbered.split(3)
    assert not set(original.codes[0].tolist()) & set(test.codes[0].tolist())
    assert (len(original.labels), len(test.labels)) == (3_000, 4_000)
    assert (task.labels[original.codes[0]] == original.labels).all()


def test_the_study_in_short_gives_a_table_and_figures(tmp_path: Path) -> None:
    study = Study(
        ("made-up",), ("Mondrian", "DataFly"), (5, 50), ("decision tree", "logistic regression"), 1, 600, 5, NOWHERE
    )
    told: list[int] = []
    rows = run(study, done=lambda rows: told.append(len(rows)))
    assert told == [len(rows)] == [4]
    assert all((row["records"], row["tested"]) == (600, 4_000) for row in rows)
    assert all(row["trained"] == row["released"] for row in rows), "the time suffices for all of them"
    means = averaged(rows)
    assert all(set(row["kept"]) == {"decision tree", "logistic regression"} for row in means)
    assert means[0]["mean"] > means[1]["mean"], "of a smaller k more is learned"
    found = correlations(means, ["made-up"], 20)
    assert set(found) == set(MEASURES)
    printed = list(lines(found, ["made-up"]))
    assert len(printed) == 1 + len(MEASURES)
    figures = pytest.importorskip("benchmarks.utility.figures", reason="matplotlib is not installed")
    figures.draw(tmp_path, means, found, ["made-up"], ["gcp", "label_information"])
    for name in ("utility-correlation.svg", "utility-accuracy.svg"):
        assert (tmp_path / name).read_bytes().startswith(b"<?xml")


def test_every_measure_of_the_study_is_one_of_the_command() -> None:
    task, _ = TASKS["made-up"](NOWHERE).split(
        0, 400
    )  # of 200 rows no two attributes depend on each other more than by chance
    figures = utility_study._measures(task, released(task, "Mondrian", 5, 8), 5)
    assert set(figures) == set(MEASURES)
    assert all(figure is not None for figure in figures.values())
