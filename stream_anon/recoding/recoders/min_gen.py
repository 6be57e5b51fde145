"""k-minimal generalization and MinGen (Sweeney, IJUFKS 2002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stream_anon.recoding.recoders.minimal import minimal_nodes
from stream_anon.recoding.recoders.nodes import Nodes, Vector, at_node, cost_of, costs, shape_of
from stream_anon.recoding.recoders.recoder import Recoding, RecodingGoal, Step, Table


@dataclass(frozen=True)
class KMinimal:
    """Take a minimal node: of several the one that keeps the preferred attributes finest.

    Parameters
    ----------
    prefer
        Attributes, from the one to keep finest. Ties go to the lexicographically smallest levels.
    collapse_levels
        Prec counts levels that part the table's values alike as one; otherwise it counts the hierarchies as given.
    """

    prefer: tuple[str, ...] = ()
    collapse_levels: bool = False
    across_groups: ClassVar[bool] = False
    by_distortion: ClassVar[bool] = False

    def recode(self, table: Table, asked: RecodingGoal) -> Recoding:
        """Return the table on the chosen node; on the top where no node satisfies."""
        preferred = [table.place(name, "method.prefer") for name in self.prefer]
        shape = shape_of(table)
        nodes = Nodes(table.levels, table.rows, asked)
        found = minimal_nodes(shape, nodes)
        by_level = costs(table, "prec", collapse_levels=self.collapse_levels)
        prec = {own: round(1 - cost_of(by_level, own), 9) for own in found.vectors}
        weighted = prec
        if self.by_distortion:
            weighing = _weighing(table)
            heavy = [own * weight for own, weight in zip(by_level, weighing, strict=True)]
            weighted = {own: round(1 - cost_of(heavy, own), 9) for own in found.vectors}

        def rank(own: Vector) -> tuple[float, list[int], Vector]:
            return -weighted[own] if self.by_distortion else 0.0, [own[place] for place in preferred], own

        def told(own: Vector) -> dict[str, object]:
            more = {} if weighted[own] == prec[own] else {"weighted prec": weighted[own]}
            suppressed = nodes.suppressed(own)
            return {"levels": dict(table.named(own)), "prec": prec[own], **more, "suppressed": suppressed}

        best = max(weighted.values(), default=0.0)
        steps = [found.step, *(Step("minimal node", told(own)) for own in found.vectors)]
        steps += [Step("minimal distortion", told(own)) for own in found.vectors if weighted[own] == best]
        chosen: Vector = min(found.vectors, key=rank, default=shape.tops)
        return at_node(table, chosen, asked, steps)


@dataclass(frozen=True)
class MinGen(KMinimal):
    """Take the node of highest Prec; of several the one that keeps the preferred attributes finest.

    Each attribute's level / height counts by its weight: 1 - sum of weight x level / height, divided by the sum of
    weights. With equal weights that is Prec. It grows on the way down, so the best node is a minimal one.
    """

    by_distortion: ClassVar[bool] = True


def _weighing(table: Table) -> list[float]:
    """Return the weights of the attributes, of mean 1."""
    weights = [attribute.weight for attribute in table.attributes]
    return [weight * len(weights) / sum(weights) for weight in weights]
