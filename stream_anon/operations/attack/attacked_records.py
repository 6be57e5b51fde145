"""The records of people who are attacked: as their owner knows them, values that families hide included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import SettingsError
from stream_anon.formats.tables.format_names import STANDARD
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.payload import taken
from stream_anon.microdata.policy import Policy
from stream_anon.operations.families import without_families
from stream_anon.operations.samples import SampleSource
from stream_anon.operations.studied_records import MOST_STUDIED, OriginalTable, table_of


@dataclass(frozen=True, slots=True, eq=False)
class AttackedRecords:
    """Records of one source.

    Parameters
    ----------
    source
        Its name.
    batch
        The n records that fit the policy, as they are released.
    values
        By the name of each attribute that is published as families: the n values themselves.
    """

    policy: Policy
    source: str
    batch: CodedBatch
    values: Mapping[str, Sequence[object]]

    def table(self, rows: NDArray[np.intp] | None = None) -> OriginalTable:
        """Return the records, or some of them, as attacks take them."""
        if rows is None:
            rows = np.arange(len(self.batch))
        values = {name: [column[row] for row in rows.tolist()] for name, column in self.values.items()}
        return replace(table_of(self.policy, self.batch.take(rows), self.source), values=values)


def hidden_in_families(policy: Policy) -> tuple[Sensitive, ...]:
    """Return the sensitive attributes of which a release shows the family, not the value."""
    return tuple(
        own for own in policy.passed if isinstance(own, Sensitive) and own.families and not own.keeps_whole
    )


def read_attacked(policy: Policy, source: SampleSource) -> AttackedRecords:
    """Return the records of a source. It is read twice where families are published.

    Raises
    ------
    SettingsError
        If it is standard input, and families are published.
    InputError
        If it cannot be read or holds no record that fits the policy.
    """
    sample = source.read(policy, MOST_STUDIED)
    sample.require_records()
    names = [own.name for own in hidden_in_families(policy)]
    if not names:
        return AttackedRecords(policy, sample.source, sample.batch, {})
    if source.file == STANDARD:
        raise SettingsError("--original", "must be a file where families are published: it is read twice")
    bare = without_families(policy, names)
    known = source.read(bare, MOST_STUDIED).batch
    batch = sample.batch.take(np.flatnonzero(np.isin(sample.batch.offsets, known.offsets)))
    rows: Sequence[Any] = taken(known.payload, np.searchsorted(known.offsets, batch.offsets))
    places = {own.name: place for place, own in enumerate(bare.passed)}
    return AttackedRecords(
        policy, sample.source, batch, {name: [row[places[name]] for row in rows] for name in names}
    )
