"""Fields that hold a value here, and a list or an object there: the kind of most records counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from stream_anon.formats.tables.undeclared_samples import FieldSample, SampledField
from stream_anon.operations.propose.guess import FITTING, percent
from stream_anon.operations.propose.sensitive import ProposedField


@dataclass(frozen=True)
class Mixed:
    """What the kind of most records leaves over.

    Parameters
    ----------
    left_out
        By field that gives way to another kind, why.
    others
        By field that stays, how many records hold something of another kind, and how many it has in all.
    """

    left_out: Mapping[str, str]
    others: Mapping[str, tuple[int, int]]

    def told(self, field: ProposedField, individual: str) -> ProposedField:
        """Return a field with a remark on the records that would be rejected because of it."""
        others, records = self.others.get(field.name, (0, 0))
        looked_at = field.settings.get("role") not in (None, "identifier") or field.name == individual
        if not others or not looked_at:
            return field
        told = f"{others:,} records ({percent(others, records)}) hold something of another kind here"
        if others > (1 - FITTING) * records:
            return replace(field, remarks=(f"DECIDE: {told}: leave it out, or they are rejected", *field.remarks))
        return replace(field, remarks=(f"{told} and would be rejected", *field.remarks))


def of_one_kind(sample: FieldSample) -> tuple[FieldSample, Mixed]:
    """Return a sample of which each field is a value, a list or a parent of fields, as it is in most records."""
    paths = {column.keys: column for column in sample.columns.values() if column.objects}
    columns: dict[str, SampledField] = {}
    left_out: dict[str, str] = {}
    others: dict[str, tuple[int, int]] = {}
    for name, column in sample.columns.items():
        above = [paths[column.keys[:depth]] for depth in range(1, len(column.keys)) if column.keys[:depth] in paths]
        kept = _of_one_shape(column)
        records = len(column.values) + column.objects
        if any(parent.objects <= len(parent.values) for parent in above):
            left_out[name] = "within an object that stands in place of a value, and not in most records"
        elif records and 2 * len(kept.values) <= records:
            rest = records - len(kept.values)
            left_out[name] = f"of several kinds: one in {len(kept.values):,} records, others in {rest:,}"
        else:
            columns[name] = kept
            rest = records - len(kept.values) + sum(len(parent.values) for parent in above)
            others[name] = (rest, len(kept.values) + rest)
    return replace(sample, columns=columns), Mixed(left_out, others)


def _of_one_shape(column: SampledField) -> SampledField:
    """Return a column of single values or of lists, whichever are more."""
    lists = sum(isinstance(value, tuple) for value in column.values)
    if lists in (0, len(column.values)):
        return column
    kept = SampledField(keys=column.keys, objects=column.objects)
    for row, value in zip(column.rows, column.values, strict=True):
        if isinstance(value, tuple) == (2 * lists > len(column.values)):
            kept.add(row, value)
    return kept
