"""The fuzzer finds nothing in what is here, and each of its oracles finds what was planted."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.adapters.kafka.bulk.record_columns import RecordColumns
from stream_anon.formats.codecs import codec_of
from stream_anon.microdata.batch import CodedBatch, Reason, Rejects
from stream_anon.ports import Codec
from tests.fuzz import kept, reading
from tests.fuzz.__main__ import main, run_and_tell
from tests.fuzz.cases import Case, Kind, Limits
from tests.fuzz.fuzzer import Finding, judged, run
from tests.fuzz.json_inputs import policies
from tests.fuzz.json_targets import MOST, json_value, may_differ
from tests.fuzz.mutations import mutated
from tests.fuzz.poison import poisoned
from tests.fuzz.targets import TARGETS

RECORDS = 2_000
LIMITS = Limits()
GUILTY = b'"guilty"'
SOAK_SECONDS = 40
SOAK_SEEDS = ["1", "2", "drawn"]


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_is_found_in_some_thousand_records(name: str) -> None:
    found = run({name: TARGETS[name]}, "fast", lambda records: records < RECORDS)
    assert [finding.fault for finding in found[name].findings] == []


@pytest.mark.parametrize("file", sorted(kept.FOLDER.glob("*.json")), ids=lambda file: file.stem)
def test_what_was_found_once_is_not_found_again(file: Path) -> None:
    name, case = kept.read(file)
    assert judged(TARGETS[name], case, LIMITS) is None


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", SOAK_SEEDS)
def test_nothing_is_found_where_the_bounds_of_arrays_are_checked(seed: str) -> None:
    named = [] if seed == "drawn" else [seed]
    command = [sys.executable, "-m", "tests.fuzz", *named, "--seconds", str(SOAK_SECONDS)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# What is planted: each of these does one thing wrong, mostly because of one guilty record. ------------------------


@dataclass
class Planted:
    """A codec of JSON that does something wrong."""

    plain: Codec
    sown: Callable[[Codec, Sequence[bytes | None], int, NDArray[np.int64]], CodedBatch]
    encode_wrongly: Callable[[list[bytes]], list[bytes]] = lambda written: written
    text: bytes = b""
    faults: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)

    def decode(self, values: Sequence[bytes | None], source: int, offsets: NDArray[np.int64]) -> CodedBatch:
        return self.sown(self.plain, values, source, offsets)

    def encode(self, release: Any) -> list[bytes]:
        return self.encode_wrongly(self.plain.encode(release))

    def inner(self, values: Sequence[bytes | None]) -> Sequence[bytes | None]:
        return [self.text or value for value in values]


@dataclass
class PlantedTarget:
    """Sound records, of which some are guilty."""

    codec: Planted

    def draw(self, draws: Random, count: int) -> Case:
        record = {"id": "1", "other": "innocent"}
        records = [json.dumps(record | {"id": str(number)}).encode() for number in range(count)]
        place = draws.randrange(count)
        records[place] = json.dumps({"id": str(place), "other": "guilty"}).encode()
        return Case(b"", tuple(records))

    def check(self, case: Case, limits: Limits) -> None:
        reading.check(reading.Reader(self.codec, policies()[0], json_value, may_differ), case.records, limits)


def _is_guilty(value: bytes | None) -> bool:
    return GUILTY in (value or b"")


def sound(codec: Codec, values: Sequence[bytes | None], source: int, offsets: NDArray[np.int64]) -> CodedBatch:
    return codec.decode(values, source, offsets)


def changes_a_neighbour(codec: Codec, values: Any, source: int, offsets: Any) -> CodedBatch:
    batch = codec.decode(values, source, offsets)
    for place in range(len(values) - 1):
        if _is_guilty(values[place]):
            batch.individuals[place + 1] += 1
    return batch


def reads_out_of_bounds(codec: Codec, values: Any, source: int, offsets: Any) -> CodedBatch:
    batch = codec.decode(values, source, offsets)
    for place, value in enumerate(values):
        if _is_guilty(value):
            batch.individuals[place] = batch.individuals[len(values)]
    return batch


def reads_what_nobody_wrote(codec: Codec, values: Any, source: int, offsets: Any) -> CodedBatch:
    batch = codec.decode(values, source, offsets)
    for place, value in enumerate(values):
        if _is_guilty(value):
            batch.individuals[place] = np.empty(1, np.int64)[0]
    return batch


def loses_a_record(codec: Codec, values: Any, source: int, offsets: Any) -> CodedBatch:
    batch = codec.decode(values, source, offsets)
    return batch.take(np.flatnonzero([not _is_guilty(value) for value in values]))


def leaves_the_domain(codec: Codec, values: Any, source: int, offsets: Any) -> CodedBatch:
    batch = codec.decode(values, source, offsets)
    batch.codes[0, [place for place, value in enumerate(values) if _is_guilty(value)]] = 10**6
    return batch


def means_something_else(codec: Codec, values: Any, source: int, offsets: Any) -> CodedBatch:
    batch = codec.decode(values, source, offsets)
    batch.individuals[[place for place, value in enumerate(values) if _is_guilty(value)]] = 7
    return batch


def rejects_what_is_sound(codec: Codec, values: Any, source: int, offsets: Any) -> CodedBatch:
    batch = codec.decode(values, source, offsets)
    wrong = np.array([_is_guilty(value) for value in values], np.bool_)
    rows = [(Reason.WRONG_TYPE, 0, source, offset) for offset in offsets[wrong].tolist()]
    return replace(batch.take(np.flatnonzero(~wrong)), rejects=Rejects.of(rows))


def takes_long(codec: Codec, values: Any, source: int, offsets: Any) -> CodedBatch:
    begun = time.process_time()
    while any(map(_is_guilty, values)) and time.process_time() - begun < 0.06:
        pass
    return codec.decode(values, source, offsets)


def catches_an_error(codec: Codec, values: Any, source: int, offsets: Any) -> CodedBatch:
    caught.faults += any(map(_is_guilty, values))
    return codec.decode(values, source, offsets)


def leaks(written: list[bytes]) -> list[bytes]:
    return [text[:-1] + b',"other":"guilty"}' for text in written]


PLANTS = {
    changes_a_neighbour: Kind.NEIGHBOURS,
    reads_out_of_bounds: Kind.EXCEPTION,
    reads_what_nobody_wrote: Kind.GARBAGE,
    loses_a_record: Kind.LOST,
    leaves_the_domain: Kind.RANGE,
    means_something_else: Kind.REFERENCE,
    rejects_what_is_sound: Kind.REFERENCE,
}


def found_in(codec: Planted, limits: Limits = LIMITS) -> Finding:
    """Return what the fuzzer finds in a codec; it must be found in the first case."""
    tallies = run({"planted": PlantedTarget(codec)}, "1", lambda _records: False, limits)
    [finding] = tallies["planted"].findings
    return finding


def planted(sown: Any, **others: Any) -> Planted:
    return Planted(codec_of(policies()[0], MOST), sown, **others)


caught = planted(catches_an_error)


@pytest.mark.parametrize("sown", PLANTS, ids=lambda sown: sown.__name__)
def test_what_is_planted_is_found_and_made_small(sown: Any) -> None:
    finding = found_in(planted(sown))
    assert finding.fault.startswith(PLANTS[sown])
    assert 1 <= len(finding.case.records) <= 2
    assert any(map(_is_guilty, finding.case.records))


def test_what_holds_of_a_planted_codec_holds_without_the_plant() -> None:
    assert judged(PlantedTarget(planted(sound)), PlantedTarget(planted(sound)).draw(Random(1), 100), LIMITS) is None


def test_an_undeclared_field_in_the_output_is_found() -> None:
    assert found_in(planted(sound, encode_wrongly=leaks)).fault.startswith(Kind.UNDECLARED)


def test_an_error_that_the_codec_caught_is_found() -> None:
    finding = found_in(caught)
    assert finding.fault.startswith(Kind.EXCEPTION)
    assert len(finding.case.records) == 1


def test_a_long_text_is_found() -> None:
    finding = found_in(planted(sound, text=bytes(3_000)), replace(LIMITS, text=1_000, text_a_byte=1))
    assert finding.fault.startswith(Kind.TEXT)


def test_what_takes_long_is_found() -> None:
    target = PlantedTarget(planted(takes_long))
    fault = judged(target, target.draw(Random(1), 3), replace(LIMITS, seconds=0.05, seconds_a_record=0.0))
    assert fault is not None
    assert fault.kind is Kind.TIME


def test_memory_is_bounded() -> None:
    target = PlantedTarget(planted(sound))
    fault = judged(target, target.draw(Random(1), 1), replace(LIMITS, memory=1))
    assert fault is not None
    assert fault.kind is Kind.MEMORY


def _one_offset_more(self: RecordColumns) -> int:
    return int(self.found[2]) + 1


def _an_offset_twice(self: RecordColumns, taken: Any = RecordColumns.taken) -> Any:
    records = taken(self)
    records.offsets[1:] = records.offsets[:1]
    return records


def _another_value(self: RecordColumns, taken: Any = RecordColumns.taken) -> Any:
    records = taken(self)
    records.values.room.setflags(write=True)
    records.values.room[:1] += 1
    return records


@pytest.mark.parametrize(
    ("name", "wrong", "kinds"),
    [
        ("next", property(_one_offset_more), (Kind.LOST,)),
        ("taken", _an_offset_twice, (Kind.RANGE,)),
        ("taken", _another_value, (Kind.REFERENCE,)),
    ],
)
def test_a_batch_that_is_not_read_as_the_format_says_is_found(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: Any, kinds: tuple[Kind, ...]
) -> None:
    monkeypatch.setattr(RecordColumns, name, wrong)
    tallies = run({"batches": TARGETS["batches"]}, "1", lambda records: records < RECORDS)
    [finding] = tallies["batches"].findings
    assert finding.fault.startswith(kinds)
    assert len(finding.case.records) <= 2


def test_a_finding_is_told_with_all_that_repeats_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run_and_tell({"planted": PlantedTarget(planted(reads_out_of_bounds))}, "word", None, 60.0) == 1
    told = capsys.readouterr().out
    assert "FINDING in planted, seed word, case 0: an exception that is not declared: IndexError" in told
    [line] = [line for line in told.splitlines() if line.startswith("{")]
    file = tmp_path / "finding.json"
    file.write_text(line)
    name, case = kept.read(file)
    assert name == "planted"
    assert GUILTY in (case.records[0] or b"")


def test_a_crash_is_told_with_the_case_that_ran(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crashing(command: list[str], **others: Any) -> subprocess.CompletedProcess[str]:
        assert others["env"]["NUMBA_BOUNDSCHECK"] == "1"
        Path(command[-1]).write_text("json: word --case 7")
        return subprocess.CompletedProcess(command, -11)

    monkeypatch.setattr(subprocess, "run", crashing)
    assert main(["word"]) == 1
    assert "signal 11 ended the process in json: word --case 7" in capsys.readouterr().out


def test_a_run_without_a_finding_says_what_ran(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_and_tell({"planted": PlantedTarget(planted(sound))}, "word", 1_500, None) == 0
    assert [line.split()[:3] for line in capsys.readouterr().out.splitlines()[2:3]] == [["planted", "2", "2,000"]]


def test_the_same_seed_draws_the_same_cases() -> None:
    for target in TARGETS.values():
        one, again, other = (target.draw(Random(seed), 50) for seed in ("a", "a", "b"))
        assert one == again
        assert one != other


def test_what_nobody_wrote_is_what_was_asked_for_and_nothing_else() -> None:
    with poisoned(0xA5):
        assert set(np.empty((2, 3), np.int16).view(np.uint8).ravel().tolist()) == {0xA5}
        assert np.empty(2, np.bool_).tolist() == [True, True]
        assert np.empty(0, np.int64).size == 0
        assert np.zeros(3).tolist() == [0, 0, 0]
    with poisoned(0x02):
        assert np.empty(2, np.bool_).tolist() == [False, False]


def test_a_change_is_small_and_mostly_one() -> None:
    draws, sound_record = Random(1), bytes(range(100))
    changed = [mutated(sound_record, draws, [b"other"], [b"word"]) for _ in range(500)]
    assert sum(one != sound_record for one in changed) > 400
    assert any(b"word" in one for one in changed)
    assert max(map(len, changed)) <= 20_000
