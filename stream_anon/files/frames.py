"""Put a frame through the engine: one of pandas, Polars, DuckDB, pyarrow or whatever else narwhals knows."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Literal, Self, TypeVar, overload

from stream_anon.engine.keyed_draws import key_of
from stream_anon.errors import InputError, Refused, SettingsError, SuppressionWarning
from stream_anon.extras import require
from stream_anon.files.file_report import FileReport
from stream_anon.files.rejects import faults_of, in_words
from stream_anon.files.suppressed import many_suppressed, suppressed_in_words
from stream_anon.files.whole_table import TableAnonymization, anonymization_of
from stream_anon.judging.refusing import OF_CALL, conditions_of
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.microdata.policy import Policy, require_policy

Frame = TypeVar("Frame")


class FrameRelease(tuple[Frame, Frame]):  # noqa: SLOT001 - a tuple that carries counts
    """The released rows of a frame and its rejects, and what happened: `released, rejected = ...` works too.

    Attributes
    ----------
    released, rejected
        Frames of the library of the one that was given.
    report
        Counts: rows in, released, suppressed by reason, rejected, classes, windows, loss.
    """

    report: FileReport

    def __new__(cls, released: Frame, rejected: Frame, report: FileReport) -> Self:
        """Return the pair with its counts."""
        made = super().__new__(cls, (released, rejected))
        made.report = report
        return made

    @property
    def released(self) -> Frame:
        """Return the released rows."""
        return self[0]

    @property
    def rejected(self) -> Frame:
        """Return row, reason and attribute of each reject."""
        return self[1]


@overload
def anonymize_frame(
    frame: Frame,
    policy: Policy,
    *,
    rejects: Literal["raise"] = "raise",
    flat: bool = False,
    accept_risks: Collection[str] = (),
    draws_key: bytes | None = None,
    by_arrival: bool = False,
) -> Frame: ...
@overload
def anonymize_frame(
    frame: Frame,
    policy: Policy,
    *,
    rejects: Literal["return"],
    flat: bool = False,
    accept_risks: Collection[str] = (),
    draws_key: bytes | None = None,
    by_arrival: bool = False,
) -> FrameRelease[Frame]: ...
def anonymize_frame(
    frame: Frame,
    policy: Policy,
    *,
    rejects: Literal["raise", "return"] = "raise",
    flat: bool = False,
    accept_risks: Collection[str] = (),
    draws_key: bytes | None = None,
    by_arrival: bool = False,
) -> Any:
    """Return the released records of a frame as a frame of the same library.

    Released rows stand in random order. Suppressed ones are left out.

    Parameters
    ----------
    frame
        Any that narwhals knows. A field under other fields is a column `home.city` or a field of a struct `home`.
    policy
        What must hold.
    rejects
        What becomes of rows that do not fit the policy: `raise` an error if there is one, or `return` them as a
        second frame with the columns `row` (counted from 0), `reason` and `attribute`. With `return` the result is
        a `FrameRelease`, a pair of frames that has the counts in `report`.
    flat
        Whether numbers and dates become two columns `age_min` and `age_max`, and not a struct `{min, max}`.
    accept_risks
        Names of conditions that would forbid a release, such as `rare-values`.
    draws_key
        A secret of 16 bytes or more, such as `secrets.token_bytes(32)`, to be kept. By it the same windows, with
        their rows in any order, give the same releases. Without it each call draws anew, and who compares two
        releases of the same rows learns more than one tells.
    by_arrival
        Whether rows are taken in windows of `window.max_records` in their order, as in a stream, and not as one
        table: this loses more. Released rows stand in random order within their window then.

    Raises
    ------
    InputError
        If rows do not fit and are not asked for, or a declared field has no column.
    Refused
        If a condition forbids the release, as `stream-anon check --input` shows it for a file, or a method's answer
        falls short of the policy.
    SettingsError
        If pyarrow or narwhals is not installed, or the policy cannot be used for a frame.
    ValueError
        If the key is too short.
    TypeError
        If narwhals does not know the frame, or the policy is none, such as the path of its file.

    Warns
    -----
    SuppressionWarning
        If more than 5 % of the rows are suppressed and the counts are not asked for.
    """
    require_policy(policy)
    require("anonymize_frame", "pyarrow", "narwhals")
    from stream_anon.formats.tables.arrow.frames import batches_of, in_kind
    from stream_anon.formats.tables.arrow.releases import ReleaseTables

    key = key_of(draws_key)
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
    report = FileReport.of(policy)
    anonymization = anonymization_of(
        policy, accept_risks=conditions_of(accept_risks), key=key, by_arrival=by_arrival
    )
    releases = [certified for batch in batches for certified in anonymization.add(batch)]
    releases += anonymization.close()
    for certified in releases:
        report.add(certified)
    if report.released:
        try:
            anonymization.raise_if_forbidden(OF_CALL)
        except Refused:
            del releases, certified  # who keeps the error keeps these variables, and so files with records
            raise
    if isinstance(anonymization, TableAnonymization):
        for text in anonymization.warnings:
            warnings.warn(text, stacklevel=2)
    released = in_kind(
        tables.joined(tables.table(release) for certified in releases for release in certified.written()), frame
    )
    if rejects == "return":
        return FrameRelease(released, in_kind(_told(told, names), frame), report)
    if many_suppressed(report):
        warnings.warn(suppressed_in_words(report, "rows"), SuppressionWarning, stacklevel=2)
    return released


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
