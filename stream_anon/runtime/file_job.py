"""Put a file through the engine: read, anonymize window after window, write, report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from stream_anon.adapters.files.formats import STANDARD, ReleaseWriter, open_reader, open_writer
from stream_anon.adapters.json_codec.codec import JsonCodec
from stream_anon.errors import InputError
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.runtime.anonymizing import Anonymization, CertifiedRelease

Progress = Callable[[int], None]
"""Called with the bytes read so far."""


@dataclass
class Report:
    """What happened to a file, summed over windows."""

    engine: str
    records_in: int = 0
    released: int = 0
    suppressed: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    windows: int = 0
    classes: int = 0
    achieved_k: int | None = None
    gate_violations: int = 0
    seconds: float = 0.0
    _loss: float = 0.0
    _counted: int = 0

    def add(self, certified: CertifiedRelease) -> None:
        """Count a window."""
        release = certified.release
        self.records_in += release.records_in
        self.released += release.released
        self.suppressed.update({reason.value: count for reason, count in release.suppressed.items()})
        self.rejected.update(Reason(reason).label for reason in release.rejects.reasons.tolist())
        self.windows += 1
        self.classes += len(release.classes)
        if release.achieved_k is not None:
            self.achieved_k = min(release.achieved_k, self.achieved_k or release.achieved_k)
        self.gate_violations += release.gate_violations
        self.seconds += certified.seconds
        counted = release.records_in - len(release.rejects)
        self._loss += (release.gcp or 0.0) * counted
        self._counted += counted

    @property
    def gcp(self) -> float | None:
        """Return the mean NCP over all records that were not rejected; None if there was none."""
        return self._loss / self._counted if self._counted else None

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object; `seconds` is the engine's time only, after compilation."""
        return {
            "records_in": self.records_in,
            "released": self.released,
            "suppressed": dict(self.suppressed),
            "rejected": dict(self.rejected),
            "windows": self.windows,
            "classes": self.classes,
            "achieved_k": self.achieved_k,
            "gcp": self.gcp,
            "gate_violations": self.gate_violations,
            "seconds": self.seconds,
            "records_per_second": self.records_in / self.seconds if self.seconds else None,
            "engine": self.engine,
        }


@dataclass(frozen=True)
class FileJob:
    """An input, an output and what goes beside them.

    Parameters
    ----------
    policy
        What must hold.
    source, target
        CSV or JSON Lines by suffix; `-` for standard input and output as JSON Lines.
    certificates
        Where to write the policy document and one certificate part a line, in output order; None for nowhere.
    """

    policy: Policy
    source: str
    target: str
    certificates: Path | None = None

    def __post_init__(self) -> None:
        paths = [Path(name).resolve() for name in (self.source, self.target) if name != STANDARD]
        paths += [self.certificates.resolve()] if self.certificates else []
        if len(set(paths)) < len(paths):
            raise InputError("input, output and certificates must be different files")

    def run(self, progress: Progress) -> Report:
        """Anonymize the file; return what happened.

        Raises
        ------
        InputError
            If a file cannot be read or written.
        """
        report = Report(self.policy.engine.name)
        codec = JsonCodec(self.policy)
        with ExitStack() as files:
            reader = files.enter_context(closing(open_reader(self.source, self.policy, codec.decode)))
            writer = files.enter_context(
                closing(open_writer(self.target, self.policy, codec.encode, reader.delimiter))
            )
            proof = files.enter_context(_opened(self.certificates)) if self.certificates else None
            anonymization = Anonymization(self.policy)

            def releases() -> Iterator[CertifiedRelease]:
                for batch in reader:
                    yield from anonymization.add(batch)
                    progress(reader.bytes_read)
                yield from anonymization.close()

            if proof is not None:
                _write_lines(proof, anonymization.document.parts())
            for certified in releases():
                report.add(certified)
                _write(writer, certified)
                if proof is not None:
                    _write_lines(proof, certified.certificate)
        return report


def _write(writer: ReleaseWriter, certified: CertifiedRelease) -> None:
    release: Release = certified.release
    try:
        writer.write(release)
    except OSError as error:
        raise InputError(f"the output cannot be written ({error.strerror})") from None


def _write_lines(proof: BinaryIO, lines: Sequence[bytes]) -> None:
    try:
        proof.writelines(line + b"\n" for line in lines)
    except OSError as error:
        raise InputError(f"the certificates cannot be written ({error.strerror})") from None


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:
        raise InputError(f"{path}: cannot be opened ({error.strerror})") from None
