"""Put a file through the engine: read, anonymize, write, report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from stream_anon.adapters.second_process import compile_in_two
from stream_anon.engine.keyed_draws import DrawsKey
from stream_anon.engine.warming import warm_up_first_half, warm_up_second_half
from stream_anon.errors import InputError, Refused
from stream_anon.files.anonymizing import Anonymization, CertifiedRelease
from stream_anon.files.file_report import FileReport
from stream_anon.files.rejects import MOST_REJECTED, RejectsWriter
from stream_anon.files.whole_table import anonymization_of
from stream_anon.formats.codecs import codec_of
from stream_anon.formats.tables.format_names import STANDARD, Format, as_written, format_of
from stream_anon.formats.tables.new_files import NewFile
from stream_anon.formats.tables.record_files import RecordReader, open_reader, open_writer
from stream_anon.judging.refusing import Judging, When
from stream_anon.judging.sample_study import sampled_by
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.bounds import RecordBound
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Codec
from stream_anon.privacy.signing.signature import Sign, with_signatures
from stream_anon.recoding.recoders.recoder import Holder

Progress = Callable[[int], None]
"""Called with the bytes read so far."""


@dataclass(frozen=True)
class FileJob:
    """An input, an output and what goes beside them.

    Parameters
    ----------
    policy
        What must hold.
    source, target
        CSV, JSON Lines or Parquet by suffix; `-` for standard input and output. A source may be a reader instead.
    certificates
        Where to write the policy document and one certificate part a line, in output order; None for nowhere.
    rejects
        Where to write one reject a line; None for nowhere.
    most_rejected
        With more rejects than this the output gets no name.
    standard
        The format of standard input and output.
    holder
        Decides what a method leaves to the data's holder.
    judging
        How the records are judged before the output gets its name.
    key
        What draws follow from, so that the same file is released the same way; without it each run draws anew.
    by_arrival
        Whether windows close by count, as in a stream; see `anonymization_of`.
    anonymization
        What makes the releases, instead of what follows from policy, holder, key and `by_arrival`.
    sign
        Signs each line of the certificates; its signature is the next line.
    """

    policy: Policy
    source: str | RecordReader
    target: str
    certificates: Path | None = None
    rejects: Path | None = None
    most_rejected: RecordBound = MOST_REJECTED
    standard: Format = Format.JSONL
    holder: Holder | None = None
    judging: Judging = field(default_factory=Judging)
    key: DrawsKey | None = None
    by_arrival: bool = False
    anonymization: Anonymization | None = None
    sign: Sign | None = None

    def __post_init__(self) -> None:
        names = [name for name in (self.source, self.target) if isinstance(name, str) and name != STANDARD]
        paths = [Path(name).resolve() for name in names]
        paths += [path.resolve() for path in (self.certificates, self.rejects) if path]
        if len(set(paths)) < len(paths):
            raise InputError("input, output, certificates and rejects must be different files")

    def run(self, progress: Progress) -> FileReport:
        """Anonymize the file; return what happened.

        No file appears under its name before all of it is written: an interrupted run leaves none. If too many
        records were rejected, or the records must not be released, only the rejects appear. What cannot be taken
        back, such as standard output, gets no window before as many records are judged as `check` samples.

        Raises
        ------
        InputError
            If a file cannot be read or written.
        """
        try:
            return self._run(progress)
        except OSError as error:  # a full disk, a pipe that nobody reads any more
            raise InputError(f"the files cannot be read or written to their end ({error.strerror})") from None

    def _reader(self, policy: Policy, codec: Codec) -> RecordReader:
        source = self.source
        return open_reader(source, policy, codec.decode, self.standard) if isinstance(source, str) else source

    def _anonymization(self, policy: Policy) -> Anonymization:
        if self.anonymization is not None:
            return self.anonymization
        if policy.method is None:
            compile_in_two(warm_up_first_half, warm_up_second_half, policy)
        accepted = self.judging.accept_risks
        return anonymization_of(policy, self.holder, accepted, self.key, by_arrival=self.by_arrival)

    def _judge(self, anonymization: Anonymization, output: NewFile) -> None:
        """Raise Refused if the records that came so far must not be released."""
        records, fit = anonymization.rows
        none_appears = records - fit > self.most_rejected.of(records)  # and that is told
        if not none_appears or (fit and not output.can_be_taken_back):
            anonymization.raise_if_forbidden(self.judging.advice)

    def _releases(
        self, anonymization: Anonymization, batches: Iterator[CodedBatch], output: NewFile
    ) -> Iterator[CertifiedRelease]:
        """Yield the windows that records fill; the last one after all records were judged."""
        always, held = self.judging.when is When.ALWAYS, list[CertifiedRelease]()
        for batch in batches:
            held += anonymization.add(batch)
            if always and not output.can_be_taken_back:
                if anonymization.rows[0] < sampled_by(self.policy):
                    continue
                if held:
                    self._judge(anonymization, output)
            yield from held
            held.clear()
        if always:
            self._judge(anonymization, output)
        yield from held
        yield from anonymization.close()

    def _run(self, progress: Progress) -> FileReport:
        form = format_of(self.target, self.standard)
        policy = as_written(self.policy, form)
        codec = codec_of(policy)
        names = tuple(attribute.name for attribute in policy.attributes)
        report = FileReport.of(policy)
        with ExitStack() as files:
            reader = files.enter_context(closing(self._reader(policy, codec)))
            rejects = files.enter_context(NewFile(str(self.rejects))) if self.rejects else None
            proof = files.enter_context(NewFile(str(self.certificates))) if self.certificates else None
            output = files.enter_context(NewFile(self.target))
            anonymization = self._anonymization(policy)
            with closing(open_writer(output, form, policy, codec.encode, reader.delimiter)) as writer:
                told = RejectsWriter(rejects.file, names) if rejects else None
                self._prove(proof, anonymization.document.parts())
                try:
                    for certified in self._releases(anonymization, _batches(reader, told, progress), output):
                        report.add(certified)
                        for release in certified.written():
                            writer.write(release)
                        self._prove(proof, certified.certificate)
                    if self.judging.when is When.IF_RELEASED and report.released:
                        self._judge(anonymization, output)
                except Refused as refused:
                    report.refusal = str(refused)
            report.coerced = reader.coerced + codec.coerced
            report.explanation, report.warnings = anonymization.explanation, anonymization.warnings
            if rejects is not None:
                rejects.publish()
            if not report.refusal and report.rejected.total() <= self.most_rejected.of(report.records_in):
                self._publish(anonymization, proof, output)
                report.written = True
        return report

    def _prove(self, proof: NewFile | None, parts: Iterable[bytes]) -> None:
        if proof is not None:
            proof.file.writelines(line + b"\n" for line in with_signatures(parts, self.sign))

    def _publish(self, anonymization: Anonymization, proof: NewFile | None, output: NewFile) -> None:  # noqa: ARG002
        """Give the files their names. The output comes last: it never stands without its certificates."""
        if proof is not None:
            proof.publish()
        output.publish()


def _batches(reader: RecordReader, rejects: RejectsWriter | None, progress: Progress) -> Iterator[CodedBatch]:
    for batch in reader:
        if rejects is not None:
            rejects.write(batch.rejects, reader.lines)
        yield batch
        progress(reader.bytes_read)
