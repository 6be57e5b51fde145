"""Binary search on the height (Samarati, TKDE 2001)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stream_anon.recoding.recoders.nodes import Nodes, at_node, shape_of
from stream_anon.recoding.recoders.recoder import Recoding, RecodingGoal, Step, Table


@dataclass(frozen=True)
class Samarati:
    """Take a node of the least height on which one satisfies; of several the one that suppresses least.

    Above a node that satisfies every node does, so that the least height is found by halving. Ties go to the
    lexicographically smallest levels.
    """

    across_groups: ClassVar[bool] = False

    def recode(self, table: Table, asked: RecodingGoal) -> Recoding:
        """Return the table on the chosen node; on the top where no node satisfies."""
        shape = shape_of(table)
        nodes = Nodes(table.levels, table.rows, asked)
        steps: list[Step] = []
        low, high, best = 0, shape.top + 1, shape.tops
        while low < high:
            middle = (low + high) // 2
            found = [own for own in map(shape.levels, shape.at_height(middle).tolist()) if nodes.satisfies(own)]
            figures = {"nodes": len(shape.at_height(middle)), "satisfying": len(found)}
            steps.append(Step(f"looked at height {middle}", figures))
            if found:
                best, high = min(found, key=lambda own: (nodes.suppressed(own), own)), middle
            else:
                low = middle + 1
        return at_node(table, best, asked, steps)
