"""Which windows a release has: of the records of one input, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stream_anon.audit.certificates import judged_records
from stream_anon.errors import CertificateError, InputError, LaterVersionError
from stream_anon.formats.tables.format_names import Format
from stream_anon.formats.tables.opening import open_records
from stream_anon.microdata.policy import Policy
from stream_anon.operations.audit.released_files import bare_lines
from stream_anon.operations.certificate_parts import part_or_document
from stream_anon.privacy.certificate import Certificate
from stream_anon.privacy.promises import individual_of
from stream_anon.privacy.signing.signature import signed_parts


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedWindows:
    """The w windows of a release.

    Parameters
    ----------
    of_box
        int64[c], the number of the window of each class.
    ends
        int64[w], the offset behind the last record of each one's stretch of the input.
    """

    of_box: NDArray[np.int64]
    ends: NDArray[np.int64]

    def of_offsets(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the window that each record came to, int64[n]; -1 for one behind the last."""
        found = np.searchsorted(self.ends, offsets, side="right")
        return np.where(found < len(self.ends), found, -1).astype(np.int64)

    def stretched(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return offsets of records of another input as if they had come evenly during all of these windows."""
        behind = int(offsets.max(initial=-1)) + 1
        return offsets * int(self.ends[-1]) // max(behind, 1)


@dataclass(frozen=True, slots=True, eq=False)
class CertifiedWindows:
    """The w windows of a released file, as its certificates state them.

    Parameters
    ----------
    source
        The file of certificates.
    released, ends
        int64[w], how many records of the file are of each window, and where its stretch of the input ends.
    people
        int64[w], see `people_of`.
    loss
        See `mean_loss`.
    """

    source: str
    released: NDArray[np.int64]
    ends: NDArray[np.int64]
    people: NDArray[np.int64]
    loss: float | None

    def require_records(self, source: str, offsets: NDArray[np.int64]) -> None:
        """Raise InputError if a window released more records than came to it of a source.

        Then the source numbers its records otherwise than the input did, and nobody knows their windows.
        """
        of_offsets = ReleasedWindows(np.empty(0, np.int64), self.ends).of_offsets(offsets)
        came = np.bincount(of_offsets[of_offsets >= 0], minlength=len(self.ends))
        if (came < self.released).any():
            raise InputError(
                f"{self.source}: certifies windows of another input than {source}, or numbered otherwise"
            )

    def of_records(self) -> Iterator[int]:
        """Yield the number of each record's window; raise InputError behind the last record."""
        for number, count in enumerate(self.released.tolist()):
            for _ in range(count):
                yield number
        raise InputError(f"{self.source}: certifies fewer records than were released")

    def of_boxes(self, windows: Sequence[int], records: int) -> ReleasedWindows:
        """Return the windows, with the number of each class's; raise InputError if records are missing.

        Parameters
        ----------
        windows
            Of each class.
        records
            How many were read.
        """
        if records < self.released.sum():
            raise InputError(f"{self.source}: certifies more records than were released")
        return ReleasedWindows(np.array(windows, np.int64), self.ends)


def certified_windows(path: Path, policy: Policy) -> CertifiedWindows:
    """Read the windows of a released file from its certificates, in order. They are not audited.

    Parameters
    ----------
    policy
        Says who is a person.

    Raises
    ------
    InputError
        If the file cannot be read, holds something else, or certifies windows of several inputs or partitions: then
        nobody knows which original record came to which.
    """
    inputs: set[tuple[str, int]] = set()
    windows: list[Certificate] = []
    ends: list[int] = []
    with open_records(str(path), Format.JSONL) as file:
        for number, (part, _) in enumerate(signed_parts(bare_lines(file, path)), start=1):
            try:
                certificate = part_or_document(part)
            except LaterVersionError:
                raise
            except CertificateError:
                raise InputError(f"{path}: part {number} is of no certificate and no policy document") from None
            if certificate is None:
                continue
            inputs.update((one.topic, one.partition) for one in certificate.inputs)
            if certificate.part == 1:
                windows.append(certificate)
                ends.append(certificate.inputs[0].end if certificate.inputs else ends[-1] if ends else 0)
    if len(inputs) != 1:
        what = "windows of several inputs or partitions" if inputs else "no window"
        raise InputError(f"{path}: certifies {what}: nobody knows which record came to which window")
    released = np.array([one.released for one in windows], np.int64)
    people = people_of(windows, policy)
    return CertifiedWindows(str(path), released, np.array(ends, np.int64), people, mean_loss(windows))


def people_of(certificates: Sequence[Certificate], policy: Policy) -> NDArray[np.int64]:
    """Return how many people each class of a window has at the least, int64[w]; 0 where others were counted."""
    asked = individual_of(policy)
    return np.array([(one.individual == asked and one.achieved.k) or 0 for one in certificates], np.int64)


def mean_loss(certificates: Iterable[Certificate]) -> float | None:
    """Return the mean global certainty penalty of windows, by their records; None if there is no record."""
    told = [(one.gcp, judged_records(one)) for one in certificates if one.gcp is not None]
    records = sum(count for _, count in told)
    return sum(gcp * count for gcp, count in told) / records if records else None
