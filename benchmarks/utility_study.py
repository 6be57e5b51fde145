"""Find which measure of a release predicts how well a classifier does that learns from it.

Seven methods release the records of each task with seven k. Classifiers are trained on each release and tested on
original records that were put aside before. For every measure: Spearman's rank correlation with the accuracy that
is kept, the mean over classifiers, with bootstrap intervals. Docs: docs/explain/utility.md.

    .venv/bin/python benchmarks/utility_study.py --json study.json --figures docs/explain
    .venv/bin/python benchmarks/utility_study.py --read study.json --figures docs/explain
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.report import in_words, machine, write_json
from benchmarks.utility.correlation import RESAMPLES, Interval, mean_difference, mean_spearman, spearman, written
from benchmarks.utility.releases import METHODS, released
from benchmarks.utility.tasks import HELD_OUT, MOST_ROWS, TASKS, Task
from stream_anon.adapters.clock import SystemClock
from stream_anon.measures.leakage import Population
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.operations.studied_records import OriginalTable
from stream_anon.operations.utility.classifier_scores import accuracy_kept, counted, learn
from stream_anon.operations.utility.classifiers import CLASSIFIERS, SEARCH, Effort
from stream_anon.operations.utility.features import exact
from stream_anon.operations.utility.utility_study import study_utility

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SIZES = (2, 5, 10, 25, 50, 100, 200)
MEASURES: dict[str, int] = {
    "absolute": -1,
    "relative": -1,
    "prec": 1,
    "gcp": -1,
    "conditional_entropy": -1,
    "discernibility": -1,
    "class_size": -1,
    "information": 1,
    "pair_information": 1,
    "dependence": 1,
    "query_error": -1,
    "classification_loss": -1,
    "label_information": 1,
    "label_pair_information": 1,
}
"""By name, 1 where more is better and -1 where less is. The last three know the label."""
DRAWN = ("prec", "label_information", "class_size")
Row = dict[str, Any]


@dataclass(frozen=True)
class Study:
    """What is tried."""

    tasks: tuple[str, ...] = tuple(TASKS)
    methods: tuple[str, ...] = tuple(METHODS)
    sizes: tuple[int, ...] = SIZES
    classifiers: tuple[str, ...] = (*CLASSIFIERS, SEARCH)
    splits: int = 1
    rows: int = MOST_ROWS
    seconds: float = 2.5
    data: Path = DATA


class CoreClock(SystemClock):
    """Counts the time that this process has a core: what else the machine does changes no result."""

    def monotonic(self) -> float:
        """Return seconds."""
        return time.process_time()


def run(study: Study, processes: int = 1, done: Callable[[list[Row]], None] = lambda _: None) -> list[Row]:
    """Return a row for each task, split, method and k: its measures, and the accuracy of each classifier.

    Parameters
    ----------
    done
        Is given all rows so far whenever a split of a task is done.
    """
    # Every task once before any is tried again: a run that is stopped has something of each.
    jobs = [(study, task, split) for split in range(study.splits) for task in study.tasks]
    rows: list[Row] = []
    if processes == 1:
        for job in jobs:
            rows += _one_split(*job)
            done(rows)
        return rows
    with ProcessPoolExecutor(processes) as pool:
        for each in as_completed([pool.submit(_one_split, *job) for job in jobs]):
            rows += each.result()
            done(rows)
    return rows


def _one_split(study: Study, name: str, split: int) -> list[Row]:
    original, test = TASKS[name](study.data).split(split, study.rows)
    effort = Effort(study.seconds, split, CoreClock())
    held_out = test.codes, test.labels
    kinds = int(max(original.labels.max(), test.labels.max())) + 1
    majority = float((test.labels == np.bincount(original.labels).argmax()).mean())
    boxes, counts = exact(original.codes), counted(original.labels, kinds)
    baseline = {
        each: learn(original.attributes, boxes, counts, held_out, each, effort) for each in study.classifiers
    }
    rows = []
    for method, k in product(study.methods, study.sizes):
        found = released(original, method, k, kinds)
        row: Row = {"task": name, "split": split, "method": method, "k": k, "majority": majority}
        row |= {"records": len(original.labels), "tested": len(test.labels), "released": found.records}
        row["measures"] = _measures(original, found, k)
        assert found.labels is not None
        learned = {
            each: learn(original.attributes, found.boxes, found.labels, held_out, each, effort)
            for each in study.classifiers
        }
        row["accuracy"] = {each: own.accuracy for each, own in learned.items()}
        row["baseline"] = {each: own.accuracy for each, own in baseline.items()}
        row["trained"] = min(own.rows for own in (*learned.values(), *baseline.values()))
        rows.append(row)
        print(f"{name}, split {split}, {method}, k = {k}", file=sys.stderr, flush=True)
    return rows


def _measures(task: Task, found: Any, k: int) -> dict[str, float | None]:
    """Return each of `MEASURES`, as `stream-anon utility` counts it."""
    policy = Policy((*task.attributes, Sensitive("label")), k, EVERY_RECORD)
    table = OriginalTable(task.name, policy, Population(task.codes), 0, whole=True, labels=task.labels)
    utility = study_utility(table, found)
    assert utility.label is not None
    told = [pair.information for pair in utility.pairs if pair.information is not None]
    extra = {
        "pair_information": float(np.mean(told)) if told else None,
        "classification_loss": utility.label.classification_loss,
        "label_information": utility.label.information,
        "label_pair_information": utility.label.pair_information,
    }
    figures = asdict(utility) | extra
    return {name: figures[name] for name in MEASURES}


# What comes out --------------------------------------------------------------------------------------------------


def averaged(rows: Sequence[Row]) -> list[Row]:
    """Return a row for each task, method and k: means over splits, and the accuracy kept of each classifier.

    A classifier is left out of a task where, trained on original records, it hardly beats the most frequent label.
    """
    found = []
    for task, method, k in dict.fromkeys((row["task"], row["method"], row["k"]) for row in rows):
        own = [row for row in rows if (row["task"], row["method"], row["k"]) == (task, method, k)]
        kept = {}
        for name in own[0]["accuracy"]:
            means = [float(np.mean([row[key][name] for row in own])) for key in ("accuracy", "baseline")]
            share = accuracy_kept(*means, float(np.mean([row["majority"] for row in own])))
            if share is not None:
                kept[name] = share
        measures = {}
        for name in MEASURES:
            figures = [row["measures"][name] for row in own]
            measures[name] = None if any(figure is None for figure in figures) else float(np.mean(figures))
        single = [share for name, share in kept.items() if name != SEARCH]  # the search takes one of the others
        mean = float(np.mean(single)) if single else 0.0
        found.append({"task": task, "method": method, "k": k, "kept": kept, "mean": mean, "measures": measures})
    return found


def correlations(
    rows: Sequence[Row], tasks: Sequence[str], resamples: int = RESAMPLES
) -> dict[str, dict[str, Any]]:
    """Return how each measure goes with the accuracy kept.

    For each task over all its releases (`tasks`), the mean over tasks (`mean`), over all releases at once
    (`pooled`), the mean over groups of releases of one task with the same k (`same_k`), the mean over tasks for
    each classifier (`classifiers`), and by how much the best measure's mean exceeds it (`behind`, or None).
    """
    found: dict[str, dict[str, Any]] = {}
    names = list(dict.fromkeys(name for row in rows for name in row["kept"]))
    of_task = {task: [row for row in rows if row["task"] == task] for task in tasks}
    for measure in MEASURES:
        alike = [[row for row in own if row["k"] == k] for own in of_task.values() for k in {r["k"] for r in own}]
        groups = [_columns(own, measure, "mean") for own in of_task.values()]
        singly = [mean_spearman([pair], 0, resamples) for pair in groups]
        found[measure] = {
            "tasks": dict(zip(of_task, singly, strict=True)),
            "mean": mean_spearman(groups, 0, resamples),
            "pooled": mean_spearman([_columns([row for own in of_task.values() for row in own], measure, "mean")],
                                    0, resamples),
            "same_k": mean_spearman([_columns(own, measure, "mean") for own in alike], 0, resamples),
            "classifiers": {
                name: float(np.mean([spearman(*_columns(own, measure, name)) for own in of_task.values()
                                     if name in own[0]["kept"]]))
                for name in names
            },
        }  # fmt: skip
    best = max(found, key=lambda name: found[name]["mean"].rho)
    for measure, own in found.items():
        own["behind"] = None if measure == best else _behind(list(of_task.values()), best, measure, resamples)
    return found


def _behind(groups: Sequence[Sequence[Row]], best: str, other: str, resamples: int) -> Interval:
    """Return by how much the mean rho of one measure exceeds another's, over releases that have both."""
    both = [[row for row in own if None not in (row["measures"][best], row["measures"][other])] for own in groups]
    columns = [(*_columns(own, best, "mean"), _columns(own, other, "mean")[0]) for own in both]
    return mean_difference([(one, two, outcome) for one, outcome, two in columns], 0, resamples)


def _columns(rows: Sequence[Row], measure: str, outcome: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a measure and the accuracy kept where both are known; more of the measure is better."""
    pairs = [
        (MEASURES[measure] * row["measures"][measure], row["mean"] if outcome == "mean" else row["kept"][outcome])
        for row in rows
        if row["measures"][measure] is not None
    ]
    columns = np.array(pairs, np.float64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def lines(found: dict[str, dict[str, Any]], tasks: Sequence[str]) -> Iterator[str]:
    """Yield a table: a line a measure, the best first."""
    yield (
        "measure                 "
        + "".join(f"{task:>13}" for task in tasks)
        + "  mean of tasks, 95 %   at equal k           all in one           the best less this"
    )
    for name, own in sorted(found.items(), key=lambda each: -each[1]["mean"].rho):
        cells = "".join(f"{own['tasks'][task].rho:>13.2f}" for task in tasks)
        told = "  ".join(_told(own[key]) for key in ("mean", "same_k", "pooled", "behind") if own[key])
        yield f"{name:<24}{cells}  {told}"


def _told(found: Interval) -> str:
    return f"{found.rho:5.2f} [{found.low:5.2f}, {found.high:4.2f}]"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    every = [*CLASSIFIERS, SEARCH]
    parser.add_argument("--classifiers", nargs="+", default=every, choices=every)
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="to release, at the most")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.5, help="of a core, for the training of one classifier")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", type=Path, help="write what was measured")
    parser.add_argument("--read", type=Path, nargs="+", help="measure nothing; take what was measured from files")
    parser.add_argument("--figures", type=Path, help="a folder for utility-*.svg; needs matplotlib")
    given = parser.parse_args()
    if given.read:
        about = None
        rows = [row for path in given.read for row in json.loads(path.read_text())["releases"]]
    else:
        about = machine()
        print(in_words(about))
        study = replace(Study(), tasks=tuple(given.tasks), rows=given.rows, splits=given.splits)
        study = replace(study, methods=tuple(given.methods), classifiers=tuple(given.classifiers))
        study = replace(study, seconds=given.seconds, data=given.data)
        rows = run(
            study, given.processes, lambda done: write_json(given.json, {"machine": about, "releases": done})
        )
    means = averaged(rows)
    tasks = [task for task in TASKS if any(row["task"] == task for row in means)]
    overall = correlations(means, tasks)
    write_json(given.json, {"machine": about, "releases": rows, "correlations": written(overall)})
    design = [task for task in tasks if task != HELD_OUT]
    for title, chosen, found in (
        ("all but the held-out task", design, correlations(means, design)),
        ("all tasks", tasks, overall),
    ):
        print(f"\n{title}")
        print("\n".join(lines(found, chosen)))
    if given.figures:
        from benchmarks.utility.figures import draw

        draw(given.figures, means, overall, tasks, DRAWN)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
