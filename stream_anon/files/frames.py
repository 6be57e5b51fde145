"""Put a frame through the engine: one of pandas, Polars, DuckDB, pyarrow or whatever else narwhals knows."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, TypeVar, overload

from stream_anon.adapters.tables.arrow.installed import require_narwhals
from stream_anon.errors import InputError, SettingsError
from stream_anon.files.rejects import faults_of, in_words
from stream_anon.files.whole_table import TableAnonymization, anonymization_of
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.microdata.policy import Policy, require_policy

Frame = TypeVar("Frame")


@overload
def anonymize_frame(
    frame: Frame, policy: Policy, *, rejects: Literal["raise"] = "raise", flat: bool = False
) -> Frame: ...
@overload
def anonymize_frame(
    frame: Frame, policy: Policy, *, rejects: Literal["return"], flat: bool = False
) -> tuple[Frame, Frame]: ...
def anonymize_frame(
    frame: Frame, policy: Policy, *, rejects: Literal["raise", "return"] = "raise", flat: bool = False
) -> Any:
    """Return the released records of a frame as a frame of the same library.

    Rows are taken in order, window after window, or as one table if the policy names a method. Released rows stand
    in random order within their window. Suppressed ones are left out.

    Parameters
    ----------
    frame
        Any that narwhals knows. A field under other fields is a column `home.city` or a field of a struct `home`.
    policy
        What must hold.
    rejects
        What becomes of rows that do not fit the policy: `raise` an error if there is one, or `return` them as a
        second frame with the columns `row` (counted from 0), `reason` and `attribute`.
    flat
        Whether numbers and dates become two columns `age_min` and `age_max`, and not a struct `{min, max}`.

    Raises
    ------
    InputError
        If rows do not fit and are not asked for, or a declared field has no column.
    Refused
        If a method's answer falls short of the policy.
    SettingsError
        If pyarrow or narwhals is not installed, or the policy cannot be used for a frame.
    TypeError
        If narwhals does not know the frame, or the policy is none, such as the path of its file.
    """
    require_policy(policy)
    require_narwhals("anonymize_frame")
    from stream_anon.adapters.tables.arrow.frames import batches_of, in_kind
    from stream_anon.adapters.tables.arrow.releases import ReleaseTables

    if rejects not in ("raise", "return"):
        raise ValueError("rejects must be 'raise' or 'return'")
    if policy.method is not None and policy.method.name == "anatomy":
        raise SettingsError("method", "anatomy makes two tables: use stream-anon anonymize")
    tables = ReleaseTables(policy, flat=flat)
    batches = list(batches_of(frame, policy))
    told = Rejects.concatenate([batch.rejects for batch in batches])
    names = [attribute.name for attribute in policy.attributes]
    if rejects == "raise":
        _refuse(told, names, batches)
    anonymization = anonymization_of(policy)
    releases = [certified.release for batch in batches for certified in anonymization.add(batch)]
    releases += [certified.release for certified in anonymization.close()]
    if isinstance(anonymization, TableAnonymization):
        for text in anonymization.warnings:
            warnings.warn(text, stacklevel=2)
    released = in_kind(tables.joined(map(tables.table, releases)), frame)
    return released if rejects == "raise" else (released, in_kind(_told(told, names), frame))


def _refuse(rejects: Rejects, names: Sequence[str], batches: Sequence[CodedBatch]) -> None:
    if len(rejects):
        rows = len(rejects) + sum(map(len, batches))
        faults = in_words(Counter(faults_of(rejects, names)))
        raise InputError(
            f"{len(rejects):,} of {rows:,} rows do not fit the policy: {faults}; with rejects='return' they come "
            "back as a second frame"
        )


def _told(rejects: Rejects, names: Sequence[str]) -> Any:
    import pyarrow as pa

    faults = faults_of(rejects, names)
    reasons, attributes = [reason for reason, _ in faults], [attribute for _, attribute in faults]
    columns = {"row": pa.array(rejects.offsets, pa.int64()), "reason": pa.array(reasons, pa.string())}
    return pa.table({**columns, "attribute": pa.array(attributes, pa.string())})
