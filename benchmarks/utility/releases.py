"""Releases of a task by several methods: what each publishes, as boxes with the labels of their records."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from benchmarks.methods import learned_book
from benchmarks.utility.tasks import Task, columns_of
from stream_anon.clustering.forest.forest import Forest
from stream_anon.clustering.k_forest.partitioner import KForest
from stream_anon.clustering.mondrian import Mondrian
from stream_anon.clustering.partitioning import Partitioner
from stream_anon.measures.boxes import Boxes
from stream_anon.measures.grouping import firsts
from stream_anon.microdata.choices.engine_choice import Loss
from stream_anon.operations.studied_records import Released
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.costs.objective import objective
from stream_anon.privacy.criteria import Criteria
from stream_anon.privacy.generalization import Generalizer, generalize
from stream_anon.recoding.lattice.rows import Rows
from stream_anon.recoding.recoders.datafly import DataFly
from stream_anon.recoding.recoders.iab import Iab
from stream_anon.recoding.recoders.incognito import Incognito
from stream_anon.recoding.recoders.min_gen import MinGen
from stream_anon.recoding.recoders.optimal import Ola
from stream_anon.recoding.recoders.recoder import Recoder, RecodingGoal, Table
from stream_anon.recoding.recoders.samarati import Samarati
from stream_anon.recoding.recoders.tds import Tds

SUPPRESSED = 0.05  # of the records, at the most, where a method takes a bound
Bounds = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]  # low and high [q, n], suppressed [n]
Release = Callable[[Task, int], Bounds]


def _engine(make: Callable[[Task, CostModel, int], Partitioner]) -> Release:
    def bounds(task: Task, k: int) -> Bounds:
        model, rows = objective(task.attributes, Loss.NCP), columns_of(task)
        partitioner = make(task, model, k)
        partitioner.add(rows)
        class_of_row = partitioner.close(rows, Criteria(k, 1.0, np.empty(0, np.int64)))
        generalizers = [Generalizer(attribute) for attribute in task.attributes]
        classes = int(class_of_row.max(initial=-1)) + 1
        found = generalize(generalizers, task.attributes, task.codes, class_of_row, classes)
        return found.low[:, class_of_row], found.high[:, class_of_row], class_of_row < 0

    return bounds


def _forest(task: Task, model: CostModel, k: int) -> Partitioner:
    table = _Named(task)
    return Forest(model, learned_book(table, model, columns_of(task), k))  # type: ignore[arg-type]


class _Named:
    """What `learned_book` asks of a table."""

    def __init__(self, task: Task) -> None:
        self.attributes = task.attributes


def _recoder(recoder: Recoder) -> Release:
    def bounds(task: Task, k: int) -> Bounds:
        n = len(task.labels)
        rows = Rows(task.codes, np.arange(n, dtype=np.int64), np.empty((0, n), np.int64))
        asked = RecodingGoal(k, most_suppressed=int(SUPPRESSED * n))
        found = recoder.recode(Table(task.attributes, rows, task.labels), asked)
        return found.low, found.high, found.suppressed

    return bounds


IAB = "IAB"
METHODS: Mapping[str, Release] = {
    "forest": _engine(_forest),
    "Mondrian": _engine(lambda _task, model, _k: Mondrian(model)),
    "k-forest": _engine(lambda _task, model, k: KForest(model, k)),
    "OLA": _recoder(Ola()),
    "DataFly": _recoder(DataFly()),
    "TDS": _recoder(Tds("label")),
    IAB: _recoder(Iab()),
}
OTHER_METHODS: Mapping[str, Release] = {
    "MinGen": _recoder(MinGen()),
    "Samarati": _recoder(Samarati()),
    "Incognito": _recoder(Incognito()),
}
"""Those that publish one level per attribute as OLA does, and choose it by other measures."""


def released(task: Task, method: str, k: int, kinds: int) -> Released:
    """Return what a method publishes of a task with a k, and how many records of each class have each label."""
    low, high, suppressed = {**METHODS, **OTHER_METHODS}[method](task, k)
    kept = np.flatnonzero(~suppressed)
    groups, count = _alike(low[:, kept], high[:, kept])
    first = kept[firsts(groups, count)]
    labels = np.zeros((count, kinds), np.int64)
    np.add.at(labels, (groups, task.labels[kept]), 1)
    boxes = Boxes(low[:, first], high[:, first], labels.sum(axis=1))
    if len(boxes) and int(boxes.records.min()) < k:
        raise ValueError(f"{method} published a class of fewer than {k} records")
    return Released(f"{method}, k = {k}", boxes, labels)


def _alike(low: NDArray[np.int32], high: NDArray[np.int32]) -> tuple[NDArray[np.int64], int]:
    _, groups = np.unique(np.concatenate([low, high]), axis=1, return_inverse=True)
    return groups.ravel().astype(np.int64), int(groups.max(initial=-1)) + 1
