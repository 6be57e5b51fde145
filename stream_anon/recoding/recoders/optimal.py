"""The optimal node by a monotone loss: OLA (El Emam et al., JAMIA 2009), walked as Flash does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from stream_anon.recoding.recoders.minimal import minimal_nodes
from stream_anon.recoding.recoders.nodes import Nodes, Vector, at_node, cost_of, costs, shape_of
from stream_anon.recoding.recoders.recoder import Recoding, RecodingGoal, Step, Table


@dataclass(frozen=True)
class Ola:
    """Take the node of least loss among all that satisfy.

    Every loss here grows on the way up, so that the optimum is a minimal node. It is that of the table before
    anything is suppressed. Ties go to the least height, then to the lexicographically smallest levels.

    Parameters
    ----------
    loss
        `ncp` and `prec` per cell, `entropy` the bits that are lost, `discernibility` the sum of squared group
        sizes (records).
    collapse_levels
        Of `prec`: see `KMinimal`.
    """

    loss: Literal["ncp", "prec", "discernibility", "entropy"] = "ncp"
    collapse_levels: bool = False
    across_groups: ClassVar[bool] = False

    def recode(self, table: Table, asked: RecodingGoal) -> Recoding:
        """Return the table on the optimal node; on the top where no node satisfies."""
        shape = shape_of(table)
        nodes = Nodes(table.levels, table.rows, asked)
        found = minimal_nodes(shape, nodes)
        lost = dict(zip(found.vectors, self._losses(table, nodes, found.vectors), strict=True))
        best = min(found.vectors, key=lambda own: (lost[own], sum(own), own), default=shape.tops)
        steps = [found.step]
        for own in sorted(found.vectors, key=lambda own: (lost[own], sum(own), own)):
            told = {"levels": dict(table.named(own)), self.loss: lost[own], "suppressed": nodes.suppressed(own)}
            steps.append(Step("minimal node", told))
        return at_node(table, best, asked, steps)

    def _losses(self, table: Table, nodes: Nodes, vectors: tuple[Vector, ...]) -> list[float]:
        if self.loss == "discernibility":
            return [float((nodes.groups(own).records ** 2).sum()) for own in vectors]
        by_level = costs(table, self.loss, collapse_levels=self.collapse_levels)
        return [cost_of(by_level, own) for own in vectors]
