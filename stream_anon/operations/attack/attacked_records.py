"""The records of people who are attacked: as their owner knows them, values that families hide included."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import InputError, SettingsError
from stream_anon.formats.tables.format_names import STANDARD
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.payload import taken
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.operations.dealt_families import without_families
from stream_anon.operations.samples import RecordSample, SampleSource
from stream_anon.operations.studied_records import MOST_STUDIED, OriginalTable, table_of


@dataclass(frozen=True, eq=False)
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
    whole
        Whether these are all records of the source.
    """

    policy: Policy
    source: str
    batch: CodedBatch
    values: Mapping[str, Sequence[object]]
    whole: bool

    def take(self, rows: NDArray[np.intp]) -> AttackedRecords:
        """Return some of the records."""
        values = {name: [column[row] for row in rows.tolist()] for name, column in self.values.items()}
        return replace(self, batch=self.batch.take(rows), values=values)

    @cached_property
    def table(self) -> OriginalTable:
        """Return the records as studies take them."""
        table = table_of(self.policy, self.batch, self.source, whole=self.whole)
        return replace(table, values=self.values)

    def without_people_of(self, others: AttackedRecords) -> AttackedRecords:
        """Return the records of people who are not among the others; all of them where nobody is told apart.

        Raises
        ------
        InputError
            If there are none.
        """
        if self.policy.individual == EVERY_RECORD:
            return self
        apart = np.flatnonzero(~np.isin(self.batch.individuals, others.batch.individuals))
        if not len(apart):
            raise InputError(f"{self.source}: holds records of nobody who is not in {others.source}, too")
        return self.take(apart)


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
    if source.file == STANDARD and hidden_in_families(policy):
        raise SettingsError("--original", "must be a file where families are published: it is read twice")
    return attacked_records(policy, lambda under: source.read(under, MOST_STUDIED))


def attacked_records(policy: Policy, read: Callable[[Policy], RecordSample]) -> AttackedRecords:
    """Return records that are attacked.

    Parameters
    ----------
    read
        Returns those that fit a policy; called again without families, if there are any.

    Raises
    ------
    InputError
        If no record fits the policy.
    """
    sample = read(policy)
    sample.require_records()
    names = [own.name for own in hidden_in_families(policy)]
    if not names:
        return AttackedRecords(policy, sample.source, sample.batch, {}, sample.whole)
    bare = without_families(policy, names)
    again = read(bare)
    batch, known = sample.batch, again.batch
    batch = batch.take(np.flatnonzero(np.isin(batch.offsets, known.offsets)))
    rows: Sequence[Any] = taken(known.payload, np.searchsorted(known.offsets, batch.offsets))
    places = {own.name: place for place, own in enumerate(bare.passed)}
    values = {name: [row[places[name]] for row in rows] for name in names}
    return AttackedRecords(policy, sample.source, batch, values, sample.whole and again.whole)
