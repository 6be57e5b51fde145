"""DataFly (Sweeney, IJUFKS 2002): generalize the attribute with the most values until few rows fall short."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stream_anon.recoding.recoders.nodes import Nodes, at_node
from stream_anon.recoding.recoders.recoder import Recoding, RecodingGoal, Step, Table
from stream_anon.recoding.recoders.starred import starred


@dataclass(frozen=True)
class DataFly:
    """Generalize greedily while more than k records fall short, then suppress those that are left.

    Each time the attribute goes up that has the most distinct values in the table as it is then, of several the
    first of the policy. How many records may be suppressed is k, whatever else was asked.

    Parameters
    ----------
    keep_suppressed
        Publish the suppressed rows with every quasi-identifier at its root. If they are too few for a group, the
        rows join them whose suppression adds the least loss; of several, some that are drawn.
    """

    keep_suppressed: bool = False
    across_groups: ClassVar[bool] = False

    def recode(self, table: Table, asked: RecodingGoal) -> Recoding:
        """Return the table on the node where it stopped.

        Raises
        ------
        ValueError
            If suppressed rows are to be kept, and what is asked has no draws.
        """
        nodes = Nodes(table.levels, table.rows, asked)
        vector = [0] * len(table.levels)
        steps = []
        while (short := nodes.suppressed(tuple(vector))) > asked.k:
            values = [own.sizes[level] for own, level in zip(table.levels, vector, strict=True)]
            place = int(np.argmax(values))
            if values[place] == 1:
                break  # all roots: the whole table is one group
            vector[place] += 1
            figures = {"its values": values[place], "now": table.levels[place].sizes[vector[place]]}
            steps.append(Step(f"generalized {table.names[place]}", {**figures, "records too few before": short}))
        recoding = at_node(table, vector, asked, steps)
        if not self.keep_suppressed:
            return recoding
        if asked.draws is None:
            raise ValueError("keep_suppressed chooses among equal rows by chance, and needs draws")
        return starred(table, asked, recoding, asked.draws)
