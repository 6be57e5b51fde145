"""Full-domain recoding on levels that somebody chose: what a negotiation answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from stream_anon.errors import SettingsError
from stream_anon.recoding.recoders.nodes import at_node
from stream_anon.recoding.recoders.recoder import Recoding, RecodingGoal, Table


@dataclass(frozen=True)
class FixedLevels:
    """Recode each attribute to its level, and suppress groups that fall short.

    Parameters
    ----------
    levels
        Level of the hierarchy by attribute; 0 for one that is not named.
    """

    levels: Mapping[str, int] = field(default_factory=dict)
    across_groups: ClassVar[bool] = False

    def recode(self, table: Table, asked: RecodingGoal) -> Recoding:
        """Return the table on these levels, whatever that suppresses."""
        for name, level in self.levels.items():
            height = table.attributes[table.place(name, "method.levels")].domain.height
            if not 0 <= level <= height:
                raise SettingsError("method.levels", f"{name} has levels 0 to {height}")
        vector = [own.at_most(self.levels.get(own.name, 0)) for own in table.levels]
        return at_node(table, vector, asked, ())
