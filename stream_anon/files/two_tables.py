"""Anonymize a file by Anatomy: one table of quasi-identifiers, one of sensitive values, joined by a group."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.entropy import fresh_draws
from stream_anon.engine.keyed_draws import keyed_order
from stream_anon.errors import InputError, Refused, SettingsError
from stream_anon.files.file_report import FileReport
from stream_anon.files.job import FileJob, Progress
from stream_anon.files.rejects import RejectsWriter, faults_of
from stream_anon.formats.codecs import codec_of
from stream_anon.formats.tables.format_names import PACKED, STANDARD, Format, format_of, is_packed
from stream_anon.formats.tables.new_files import NewFile
from stream_anon.formats.tables.record_files import open_writer
from stream_anon.judging.refusing import OF_FILE, raise_if_forbidden
from stream_anon.judging.tally import Tally
from stream_anon.judging.validity import raise_if_expired
from stream_anon.microdata.attributes import Insensitive, PassThrough, QuasiIdentifier, ScalarType, Sensitive
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Classes, Release, release_without_window
from stream_anon.privacy.generalization import Generalizer
from stream_anon.privacy.published_nodes import publish_nodes
from stream_anon.recoding.anatomy import anatomized, is_anatomized

GROUP, COUNT = "group", "count"
_ADVICE = replace(OF_FILE, accept="To release them all the same, add {options}")  # there are no certificates


def beside(target: str) -> str:
    """Return where the sensitive values go unless told: `out.sensitive.csv` beside `out.csv`."""
    if target == STANDARD:
        raise SettingsError("--sensitive-table", "is needed where the output is standard output")
    packed = target[-len(PACKED) :] if is_packed(target) else ""
    path = Path(target.removesuffix(packed))
    return str(path.with_name(f"{path.stem}.sensitive{path.suffix}{packed}"))


@dataclass(frozen=True)
class TwoTablesJob(FileJob):
    """An input and two outputs, without certificates.

    Parameters
    ----------
    policy
        Of method anatomy: its target is the sensitive attribute, whose `distinct_l` says how many rows of different
        values make a group.
    source, target, sensitive
        The input, the quasi-identifiers with a group, and the values with counts; suffixes tell their formats.
        The outputs may not be Parquet, where a group would be an interval in one table and a number in the other.
    """

    sensitive: str = ""

    def __post_init__(self) -> None:
        names = [self.source, self.target, self.sensitive, *([str(self.rejects)] if self.rejects else [])]
        paths = [Path(name).resolve() for name in names if isinstance(name, str) and name != STANDARD]
        if len(set(paths)) < len(paths) or self.target == self.sensitive:
            raise InputError("input, outputs and rejects must be different files")
        for attribute in self.policy.passed:
            if isinstance(attribute, Sensitive) and attribute.name != self._target.name:
                raise SettingsError(
                    f"attributes.{attribute.name}",
                    "is sensitive too: anatomy would publish it beside exact quasi-identifiers",
                )
        if Format.PARQUET in (format_of(name, self.standard) for name in (self.target, self.sensitive)):
            raise InputError("anatomy writes its tables as CSV or JSON Lines")
        if {GROUP, COUNT} & self.policy.index.keys():
            raise SettingsError("attributes", f"anatomy needs the names {GROUP} and {COUNT} for columns of its own")
        if self._least < 2:
            raise SettingsError(f"privacy.sensitive.{self._target.name}.distinct_l", "is needed for anatomy")

    @property
    def _target(self) -> PassThrough:
        method = self.policy.method
        name = None if method is None else method.options.get("target")
        found = next((own for own in self.policy.passed if own.name == name), None)
        if not isinstance(found, Sensitive) or found.many:
            raise SettingsError(
                "method.target", "must name an attribute with role: sensitive that is no list, with name: anatomy"
            )
        return found

    @property
    def _least(self) -> int:
        asked = self.policy.diversity.get(self._target.name)
        return 0 if asked is None else asked.values

    def _run(self, progress: Progress) -> FileReport:
        """Write both tables; return what happened.

        No file appears under its name before both are written.

        Raises
        ------
        InputError
            If a file cannot be read or written.
        Refused
            If a condition forbids it, a value has too many of the rows, a record has none, or an individual has
            several records.
        """
        raise_if_expired(self.policy.release, SystemClock().wall(), self.judging.accept_risks)
        names = tuple(attribute.name for attribute in self.policy.attributes)
        report = FileReport.of(self.policy)
        with ExitStack() as files:
            codec = codec_of(self.policy)
            reader = files.enter_context(closing(self._reader(self.policy, codec)))
            rejects = files.enter_context(NewFile(str(self.rejects))) if self.rejects else None
            told = RejectsWriter(rejects.file, names) if rejects else None
            tally = Tally(self.policy)
            batches = [CodedBatch.none(len(self.policy.quasi_identifiers), len(self.policy.diverse))]
            for batch in reader:
                if told is not None:
                    told.write(batch.rejects, reader.lines)
                report.faults.update(faults_of(batch.rejects, names))
                batches.append(batch)
                tally.add(batch)
                progress(reader.bytes_read)
            report.coerced = reader.coerced + codec.coerced
            report.records_in = sum(len(batch) + len(batch.rejects) for batch in batches)
            if rejects is not None:
                rejects.publish()
            if report.rejected.total() <= self.most_rejected.of(report.records_in):
                raise_if_forbidden(self.policy, tally, self.judging.accept_risks, _ADVICE)
                self._write(files, batches, report, reader.delimiter)
        return report

    def _write(
        self, files: ExitStack, batches: Sequence[CodedBatch], report: FileReport, delimiter: str | None
    ) -> None:
        rows, draws = self._drawn(CodedBatch.concatenate(batches))
        passed = list(rows.payload)
        if len(np.unique(rows.individuals)) < len(rows):
            raise Refused("anatomy: an individual has several records, whose values one group would show together")
        own = self.policy.passed.index(self._target)
        if missing := sum(row[own] is None for row in passed):
            # Who knows that somebody's value is there, and sees one value and a missing one, knows the value.
            raise Refused(f"anatomy: {missing:,} records have no value of the sensitive attribute")
        numbers: dict[object, int] = {}
        values = np.array([numbers.setdefault(row[own], len(numbers)) for row in passed], np.int64)
        groups = anatomized(values, self._least, draws)
        # Groups are numbered by chance: their order would tell which were made first.
        groups = draws.permutation(int(groups.max()) + 1)[groups]
        if not is_anatomized(groups, values, self._least):
            raise AssertionError("a group shows a value too often")
        tables = (
            (self.target, self._quasi_identifiers(rows.codes, passed, groups, own, draws)),
            (self.sensitive, self._values(groups, values, list(numbers))),
        )
        written = []
        for name, (policy, release) in tables:
            new = files.enter_context(NewFile(name))
            encode = codec_of(policy).encode
            with closing(open_writer(new, format_of(name, self.standard), policy, encode, delimiter)) as writer:
                writer.write(release)
            written.append(new)
        for new in reversed(written):  # that of values comes first: the other never stands without it
            new.publish()
        report.written, report.released, report.windows = True, len(passed), 1
        report.classes = int(groups.max()) + 1
        told = f"made {report.classes:,} groups of {self._least} rows or more, in none of which a value of "
        told += f"{self._target.name} has more than 1/{self._least} of the rows"
        report.explanation = (told,)

    def _drawn(self, rows: CodedBatch) -> tuple[CodedBatch, np.random.Generator]:
        """Return the rows, in an order of their own if there is a key, and draws for them."""
        if self.key is None:
            return rows, fresh_draws()
        people = np.unique(rows.individuals, return_inverse=True)[1].astype(np.int32)
        order, _, told = keyed_order(rows.codes, people, rows.payload, len(self.policy.passed), self.key)
        return rows.take(order), self.key.draws(b"window", told)

    def _quasi_identifiers(
        self,
        codes: NDArray[np.int32],
        passed: Sequence[Any],
        groups: NDArray[np.int64],
        own: int,
        draws: np.random.Generator,
    ) -> tuple[Policy, Release]:
        kept = tuple(attribute for attribute in self.policy.attributes if attribute is not self._target)
        attributes = self.policy.quasi_identifiers
        tuples, place = np.unique(codes, axis=1, return_inverse=True)
        generalizers = [Generalizer(attribute) for attribute in attributes]
        found = publish_nodes(generalizers, attributes, tuples, tuples)
        people = np.bincount(place.ravel(), minlength=tuples.shape[1])
        classes = Classes(found.low, found.high, found.values, people, people, found.ncp)
        payload = [(*row[:own], *row[own + 1 :], group) for row, group in zip(passed, groups.tolist(), strict=True)]
        group_of = Insensitive(GROUP, ScalarType.INTEGER)
        policy = replace(self.policy, attributes=(*kept, group_of), diversity={}, method=None)
        return policy, release_without_window(
            classes, place.ravel().astype(np.int32), payload, draws.permutation(len(payload))
        )

    def _values(
        self, groups: NDArray[np.int64], values: NDArray[np.int64], labels: Sequence[object]
    ) -> tuple[Policy, Release]:
        pairs, counts = np.unique(np.stack([groups, values]), axis=1, return_counts=True)
        counted = zip(pairs[0].tolist(), pairs[1].tolist(), counts.tolist(), strict=True)
        cells = sorted(
            counted, key=lambda row: (row[0], str(labels[row[1]]))
        )  # in the order of values, not of rows
        payload = [(labels[value], count) for _, value, count in cells]
        made = int(groups.max()) + 1
        group_of = QuasiIdentifier(GROUP, NumericDomain(Decimal(0), Decimal(made), Decimal(1), 0))
        identifiers = tuple(own for own in self.policy.attributes if own.name == self.policy.individual)
        columns = (group_of, self._target, Insensitive(COUNT, ScalarType.INTEGER))
        # Every column of this table has one type already.
        policy = replace(
            self.policy, attributes=(*identifiers, *columns), diversity={}, method=None, shape=Shape.NATURAL
        )
        every = np.arange(made, dtype=np.int32)[None]
        sizes = np.bincount(groups)
        classes = Classes(every, every, [list(range(made))], sizes, sizes, np.zeros((1, made)))
        numbers = np.array([group for group, _, _ in cells], np.int32)
        return policy, release_without_window(classes, numbers, payload, np.arange(len(payload)))
