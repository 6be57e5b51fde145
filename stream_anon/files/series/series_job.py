"""Make one release of a series of a file: the folder's key and state before, its new state after."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.entropy import fresh_draws
from stream_anon.conditions import Condition
from stream_anon.engine.engine import Engine
from stream_anon.engine.recoding_closer import WholeTable
from stream_anon.errors import InputError
from stream_anon.files.anonymizing import Anonymization, CertifiedRelease
from stream_anon.files.file_report import FileReport
from stream_anon.files.job import FileJob, Progress
from stream_anon.files.series.folder import SeriesFolder
from stream_anon.files.series.series_closer import SeriesCloser
from stream_anon.files.series.series_policy import least_values
from stream_anon.files.series.state import SeriesState, SeriesTerms, pseudonyms
from stream_anon.formats.tables.format_names import STANDARD
from stream_anon.formats.tables.new_files import NewFile, keep
from stream_anon.judging.one_table import whole
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.keys import keyed_by
from stream_anon.microdata.policy import MOST_RECORDS, Policy


class SeriesAnonymization(Anonymization):
    """One pass over one input, which is one release of a series.

    Ids of people must be keyed by the series' key while batches are made: see `keyed_by`.

    Parameters
    ----------
    policy
        One that suits a series; see `least_values`.
    folder
        The series.
    """

    def __init__(self, policy: Policy, folder: SeriesFolder, accept_risks: Collection[Condition]) -> None:
        policy, least = whole(policy), least_values(policy)
        self.folder = folder
        self._offsets: list[NDArray[np.int64]] = []
        self._ids: list[NDArray[np.int64]] = []
        state = folder.state(SeriesTerms.of(policy, least, folder.key))
        self._series = SeriesCloser(policy, least, state, self._pseudonyms)
        engine = Engine(policy, draws=fresh_draws(), partitioner=WholeTable)
        super().__init__(policy, closer=self._series, engine=engine, accept_risks=accept_risks)

    @property
    def after(self) -> SeriesState | None:
        """Return what the series must remember; None if there was no record."""
        return self._series.after

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return why records are in no group though nothing but the series keeps them out of one."""
        changed, absent, waiting = self._series.changed, self._series.absent, self._series.waiting
        told = []
        if waiting:
            told.append(
                f"{waiting:,} new people wait for a later release (unplaced): they have fewer than "
                f"{self._series.least} sensitive values, or are too few for a class"
            )
        if self._series.uneven:
            told.append(
                f"of the new people more than one in {self._series.least} have the same sensitive value: a smaller "
                "distinct_l needs fewer counterfeits"
            )
        if changed:
            told.append(
                f"{changed:,} records have a sensitive value that is none of those that their person was published "
                "among in earlier releases: they are left out (unplaced)"
            )
        if absent:
            told.append(f"{absent:,} records have no sensitive value: they are left out (unplaced)")
        return tuple(told)

    def add(self, batch: CodedBatch, *, counted: bool = False) -> Iterator[CertifiedRelease]:
        """Take a batch of source 0; yield nothing: the table is not whole yet.

        Raises
        ------
        InputError
            If there are more records than a table may have.
        """
        self._offsets.append(batch.offsets)
        self._ids.append(batch.individuals)
        for _ in super().add(batch, counted=counted):
            raise InputError(f"a release of a series has at most {MOST_RECORDS:,} records")
        yield from ()

    def _pseudonyms(self, offsets: NDArray[np.int64]) -> list[str]:
        every = np.concatenate([np.empty(0, np.int64), *self._offsets])
        ids = np.concatenate([np.empty(0, np.int64), *self._ids])
        order = np.argsort(every, kind="stable")
        return pseudonyms(self.folder.key, ids[order[np.searchsorted(every, offsets, sorter=order)]])


@dataclass(frozen=True)
class SeriesJob(FileJob):
    """A file that is released as one of a series.

    Parameters
    ----------
    series
        The folder of the series.
    opened
        The same, while the job runs.
    """

    series: Path = Path()
    opened: SeriesFolder | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        least_values(self.policy)
        target = Path(self.target)
        if self.target == STANDARD or (target.exists() and not target.is_file()):
            raise InputError("--series needs an output file: a release must stand whole, or not at all")
        beside = [path for path in (target, self.certificates, self.rejects) if path is not None]
        if any(path.resolve().parent == self.series.resolve() for path in beside):
            raise InputError(f"{self.series}: holds the series' own files: write the others elsewhere")

    def run(self, progress: Progress) -> FileReport:
        """Anonymize the file as the series' next release; see `FileJob.run`.

        Raises
        ------
        Refused
            If another run makes a release of the series, or if it was begun on other terms.
        """
        with SeriesFolder(self.series) as opened, keyed_by(opened.key.of_ids):
            return FileJob.run(replace(self, opened=opened), progress)

    def _anonymization(self, policy: Policy) -> Anonymization:
        if self.opened is None:
            raise ValueError("the folder of the series is not open")
        return SeriesAnonymization(policy, self.opened, self.judging.accept_risks)

    def _publish(self, anonymization: Anonymization, proof: NewFile | None, output: NewFile) -> None:
        """Give the files their names between two steps of the folder.

        1. The files are complete. 2. The new state is written beside the old one. 3. Certificates and output get
        their names. 4. The new state takes the old one's place. A run that fails or is killed before 2 has no
        effect, and after 2 the next run begins with 4. Each step is on the disk before the next one.
        """
        if not isinstance(anonymization, SeriesAnonymization):
            raise TypeError("a series is anonymized by what remembers it")
        for file in (output,) if proof is None else (proof, output):
            file.complete()
        if anonymization.after is not None:
            anonymization.folder.prepare(anonymization.after)
        super()._publish(anonymization, proof, output)
        if anonymization.after is not None:
            written = (Path(self.target), self.certificates or Path(self.target))
            for folder in {path.resolve().parent for path in written}:
                keep(folder)
            anonymization.folder.commit()
