"""ROUNDS: classes are refined where sizes decide alone; further rounds take them apart and cut them anew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.classes import Classes, boxes_of, gathered, sizes_of
from stream_anon.clustering.forest.line.agglomerate import CANDIDATES, grow_forest
from stream_anon.clustering.forest.line.layout import lay_out
from stream_anon.clustering.forest.refining.refine import refined, refined_anew, side_by_side
from stream_anon.clustering.forest.refining.split import split_large
from stream_anon.clustering.forest.repairing.groups import groups_of, lines_of
from stream_anon.clustering.forest.repairing.peel import peeled
from stream_anon.clustering.rules import Rules
from stream_anon.privacy.costs.model import CostModel


def refined_in_rounds(
    codes: NDArray[np.int32],
    classes: Classes,
    lines: Sequence[NDArray[np.int64]],
    model: CostModel,
    rules: Rules,
    rounds: int,
    *,
    hurried: bool = False,
) -> Classes:
    """Return the classes after so many rounds of REFINE.

    Each round but the first begins with PEEL, which empties classes whose rows are better off elsewhere. Then CUT,
    RESPLIT and SWAP follow each other along three lines: that of a forest of the classes, and the two given.
    Arguments are those of `refined`, with two lines; only a single round can be hurried.
    """
    classes = refined(codes, classes, lines, model, rules, hurried=hurried and rounds == 1)
    if rounds == 1:
        return classes
    first, second = lines
    nobody = np.zeros(len(codes), np.int32)
    both = lines_of(second, first, nobody, np.empty((0, len(codes)), np.int32))
    # PEEL counts what it looks at, and these rules are shared by all windows.
    own = rules._replace(notes=rules.notes.copy())
    for _ in range(1, rounds):
        rows, ends = peeled(groups_of(codes, *classes, model), both, model, own)
        classes = rows, split_large(codes, rows, ends, model, rules)
        classes = refined_anew(codes, laid_out(codes, classes, model), model, rules)
        for along in (second, first):
            classes = refined_anew(codes, side_by_side(*classes, along), model, rules)
    return classes


def laid_out(codes: NDArray[np.int32], classes: Classes, model: CostModel) -> Classes:
    """Return the classes along the line of a forest that joins them, neighbours as they stand first; O(c q)."""
    rows, ends = classes
    boxes = boxes_of(codes, rows, ends)
    merges = np.empty((len(ends) - 1, 2), np.int32)
    grow_forest(boxes, sizes_of(ends), model, CANDIDATES, merges)
    return gathered(rows, ends, lay_out(boxes, model, merges))
