"""What tests ask of releases that an engine of somebody else's has stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from stream_anon.files.file_report import FileReport
from stream_anon.files.job import FileJob
from stream_anon.hosts.release_folder import StoredRelease
from stream_anon.microdata.policy import Policy
from stream_anon.operations.audit.auditing import Wanted, audit_files


def audited(policy: Path, release: StoredRelease) -> bool:
    """Return whether the audit finds nothing in a release."""
    return audit_files(policy, release.records, release.certificates).verdict.clean


def signers_of(policy: Path, release: StoredRelease, *public_keys: Path) -> list[str]:
    """Return the keys by which a release is signed, in an audit that finds nothing."""
    verdict = audit_files(policy, release.records, release.certificates, Wanted(public_keys=public_keys)).verdict
    assert verdict.violations == ()
    assert verdict.counts.signed == verdict.counts.windows > 0
    return [signer.key for signer in verdict.signers]


def rows_of(*files: Path) -> Counter[str]:
    """Return the rows of Parquet files, however ordered; no column of a folder's name."""
    return Counter(repr(row) for file in files for row in pq.ParquetFile(file).read().to_pylist())


def as_a_file(policy: Policy, source: Path, folder: Path) -> tuple[FileReport, Counter[str]]:
    """Return what `stream-anon anonymize` does with the same records: its report and the released rows."""
    target = folder / f"{source.stem}.expected.parquet"
    report = FileJob(policy, str(source), str(target)).run(lambda _: None)
    assert report.written
    return report, rows_of(target)


def contents(folder: Path) -> dict[str, Any]:
    """Return every file below a folder with its bytes and the time when it was written."""
    files: Iterable[Path] = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
