"""A folder in which each release is made once, however often its host repeats the work."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from stream_anon.engine.keyed_draws import DrawsKey
from stream_anon.errors import InputError, Refused, SettingsError
from stream_anon.extras import require
from stream_anon.files.incoming import IncomingReader
from stream_anon.files.job import FileJob
from stream_anon.files.neighbours.line_ranges import JoinedRanges
from stream_anon.formats.tables.format_names import check_typed_columns
from stream_anon.formats.tables.new_files import NewFile, keep, write_whole
from stream_anon.judging.refusing import OF_CALL, Judging, When, conditions_of
from stream_anon.microdata.bounds import RecordBound
from stream_anon.microdata.policy import Policy, require_policy
from stream_anon.privacy.signing.signature import with_signatures
from stream_anon.privacy.signing.signing_key import SigningKey

RECORDS, CERTIFICATES, REJECTS, _REPORT = "released.parquet", "certificates.jsonl", "rejects.jsonl", "report.json"
# Readers of a folder of Parquet files (Spark, pyarrow) leave out names that begin with an underscore.
PRIVATE, _ORIGIN = "_private", "_origin"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9=%._-]{0,99}")
_ANY = RecordBound(1.0)


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """A release in its folder.

    Parameters
    ----------
    records
        The file of the released records; its types are those of `anonymize_frame`. If it has no row, only its owner
        can find it.
    private
        Only its owner can look in: holds certificates, rejects and the report of `stream-anon anonymize`.
    records_in
        How many records it was made of, with those that were suppressed or rejected.
    released
        How many records it publishes.
    """

    records: Path
    private: Path
    records_in: int
    released: int

    @property
    def certificates(self) -> Path:
        """Return the file of the certificates, for `stream-anon audit`."""
        return self.private / CERTIFICATES

    @property
    def report(self) -> Mapping[str, Any]:
        """Return what happened, as `stream-anon anonymize --report` writes it."""
        return _report_of(self.private)


class ReleaseFolder:
    """Makes releases under names, each once: who asks for one that is there gets that one.

    This is what makes hosts safe that deliver at least once. If records were anonymized again after a failure, they
    would stand in other classes, and who has seen both releases could intersect these. Whatever a host repeats, the
    release of a name does not change.

    A release is made in a folder that nobody else can look into, and stays there. If it has rows, a folder of its
    name shows them to readers. Nothing else that readers can see changes, so they do not learn that a window was
    suppressed, or when.

    Parameters
    ----------
    path
        On a file system where a renamed folder appears at once to all who work on it (POSIX): not an object store.
    policy
        What must hold. Its rejects never stop a release; they are counted and listed.
    accept_risks
        Names of conditions that would forbid a release, such as `rare-values`; certificates name them.
    judged
        Whether all that comes has been judged already.
    draws_key
        What draws follow from; without one each release is drawn anew.
    origin
        Who gives the names, as a query. A folder takes names of one origin only: those of another begin anew, and
        would find that their records are released.
    signing_key
        Signs the certificates of the releases that are made here.

    Raises
    ------
    Refused
        If the folder holds releases of another origin.
    TypeError
        If the policy is none.
    SettingsError
        If pyarrow or narwhals is not installed, the policy names the method anatomy, or columns of a Parquet file
        cannot say all that it publishes.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        policy: Policy,
        origin: str,
        *,
        accept_risks: Collection[str] = (),
        judged: bool = False,
        draws_key: DrawsKey | None = None,
        signing_key: SigningKey | None = None,
    ) -> None:
        require_policy(policy)
        require("a folder of releases", "pyarrow", "narwhals")
        if policy.method is not None and policy.method.name == "anatomy":
            raise SettingsError("method", "anatomy makes two tables: use stream-anon anonymize")
        check_typed_columns(policy)
        self._path, self._policy = Path(path), policy
        self._accepted, self._judged, self._key = conditions_of(accept_risks), judged, draws_key
        self._sign = None if signing_key is None else signing_key.sign
        self._path.mkdir(parents=True, exist_ok=True)
        private = self._path / PRIVATE
        # Folders within it, because the times of its own entry could be read by everybody.
        self._making, self._made = private / "making", private / "releases"
        for folder in (private, self._making, self._made):
            folder.mkdir(mode=0o700, exist_ok=True)
        self._claim(origin)

    def _claim(self, origin: str) -> None:
        mark = self._path / _ORIGIN
        if not mark.exists():
            written = mark.with_name(f"{_ORIGIN}.{secrets.token_hex(8)}")
            write_whole(written, origin.encode())
            keep(written)
            with contextlib.suppress(FileExistsError):
                mark.hardlink_to(written)  # unlike renaming, this replaces nothing
            written.unlink()
            keep(self._path)
        if mark.read_bytes() != origin.encode():
            raise Refused(
                f"{self._path}: holds releases of another origin, such as a query with another checkpoint, and "
                "records would be released a second time: name a folder of its own"
            )

    def stored(self, name: str) -> StoredRelease | None:
        """Return the release of a name; None if it is not made yet."""
        private = self._made / _checked(name)
        if not private.exists():
            return None
        keep(self._made)  # whoever made it may have died before it was known to be on the disk
        report = _report_of(private)
        shown = self._show(private) if report["released"] else private
        return StoredRelease(shown / RECORDS, private, report["records_in"], report["released"])

    def release(self, name: str, records: Iterable[Mapping[str, Any] | bytes] | Any) -> StoredRelease:
        """Return the release of a name, made of these records if it is not there yet.

        It is there at once, when all its files are whole and on the disk. If two make it at the same time, one of
        them does, and both return that one.

        Parameters
        ----------
        name
            Of letters, digits and `=%._-`, such as `batch=00000012`.
        records
            Records or a frame, see `Anonymizer.add`, or the ranges of a table. They are read only if the release is
            not there.

        Raises
        ------
        InputError
            If a file cannot be written, or a frame has no column for a declared field.
        Refused
            If a condition forbids the release, or a method's answer falls short of the policy. Releases
            are judged until one that holds records was made under this policy.
        """
        found = self.stored(name)
        if found is not None:
            return found
        try:
            with self._new_folder(name) as made:
                self._make(made, records)
                move(made, self._made / name)
            found = self.stored(name)
        except OSError as error:
            raise InputError(f"{self._path / name}: cannot be written ({error.strerror})") from None
        assert found is not None  # noqa: S101 - it was moved there, or found there
        return found

    def sign(self, name: str) -> None:
        """Sign the certificates of a release that a task without the key has made; nothing without a key.

        Call it once, while nobody else may see or make releases of this folder. OSError or InputError if the file
        cannot be read or written.
        """
        if self._sign is None:
            return
        path = self._made / _checked(name) / CERTIFICATES
        with path.open("rb") as lines, NewFile(str(path)) as new:
            for line in lines:
                new.file.writelines(one + b"\n" for one in with_signatures([line.rstrip(b"\n")], self._sign))
            new.complete()
            new.publish()

    @contextlib.contextmanager
    def _new_folder(self, name: str) -> Iterator[Path]:
        """Give a new folder of this name; what of it was not moved away is deleted."""
        making = self._making / f"{name}.{secrets.token_hex(8)}"
        made = making / name
        try:
            made.mkdir(parents=True)
            yield made
        finally:
            shutil.rmtree(making, ignore_errors=True)

    def _show(self, private: Path) -> Path:
        """Let readers see the records of a release; return the folder that shows them.

        Its times are whole seconds: finer ones would say more about when the records of a window came.
        """
        shown = self._path / private.name
        if not shown.exists():
            with self._new_folder(private.name) as made:
                (made / RECORDS).hardlink_to(private / RECORDS)
                for path in (made / RECORDS, made):
                    os.utime(path, (int(path.stat().st_mtime),) * 2)
                    keep(path)
                move(made, shown)
        keep(self._path)
        return shown

    def _is_judged(self) -> bool:
        """Return whether records were released here under this policy, while no more risks were accepted than now.

        As for a run on topics, these records told whether the fields are what the policy takes them for. A later
        release of few records would say less of them, and must not stop its host.
        """
        reports = (_report_of(private) for private in self._made.iterdir()) if not self._judged else ()
        self._judged = self._judged or any(
            report["released"]
            and report.get("policy") == self._policy.digest
            and set(report["accepted_risks"]) <= set(self._accepted)
            for report in reports
        )
        return self._judged

    def _make(self, folder: Path, records: Any) -> None:
        """Write all files of a release."""
        ranges = records if isinstance(records, JoinedRanges) else None
        report = FileJob(
            self._policy,
            IncomingReader(self._policy, records) if ranges is None else ranges.reader(),
            str(folder / RECORDS),
            folder / CERTIFICATES,
            folder / REJECTS,
            _ANY,
            judging=Judging(self._accepted, When.NEVER if self._is_judged() else When.IF_RELEASED, OF_CALL),
            key=self._key,
            anonymization=ranges,
            sign=self._sign,
        ).run(lambda _: None)
        if report.refusal:
            raise Refused(report.refusal)
        judged = {"policy": self._policy.digest, "accepted_risks": self._accepted}
        write_whole(folder / _REPORT, msgspec.json.encode({**report.as_json(), **judged}))
        for path in (*folder.iterdir(), folder):
            keep(path)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(
            "a release's name has at most 100 letters, digits and =%._-, and begins with one of the former"
        )
    return name


def _report_of(private: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = msgspec.json.decode((private / _REPORT).read_bytes())
    return found


def move(made: Path, final: Path) -> None:
    """Rename a folder, unless another of that name has been quicker."""
    try:
        made.rename(final)
    except OSError:
        if not final.exists():
            raise
