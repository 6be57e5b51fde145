"""A sample of a topic holds what its records are about, and nothing that is ignored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from stream_anon.errors import InputError
from stream_anon.formats.codecs import codec_of
from stream_anon.formats.envelopes.wrapping import EnvelopeKind, Wrapping
from stream_anon.judging.sample_findings import sample_findings
from stream_anon.judging.sample_study import Sample, study
from stream_anon.microdata.batch import CodedBatch
from stream_anon.operations import samples
from stream_anon.operations.samples import sample_of_file, without_ignored
from stream_anon.operations.starting.schema_findings import reader_of
from stream_anon.settings.policy_file import load_policy
from stream_anon.settings.sections.kafka_settings import KafkaSettings
from tests.support.policies import people, write_policy
from tests.unit.service.test_change_events import beside_rows, change_of

DEBEZIUM = Wrapping(EnvelopeKind.DEBEZIUM)


def test_ignored_records_leave_a_sample_and_the_others_keep_their_times(tmp_path: Path) -> None:
    codec = codec_of(load_policy(write_policy(tmp_path)), wrapping=DEBEZIUM)
    rows = [change_of(row) for row in people(3)]
    values = [rows[0], *beside_rows()[:2], b"{}", rows[1], None, rows[2]]
    batch, times = without_ignored(codec.decode(values, 0, np.arange(len(values))), np.arange(7.0))
    assert batch.offsets.tolist() == [0, 2, 3]
    assert batch.rejects.offsets.tolist() == [1]
    assert times.tolist() == [0, 3, 4, 6]


def test_a_study_of_change_events_looks_at_rows_and_counts_what_is_ignored(tmp_path: Path) -> None:
    policy = load_policy(write_policy(tmp_path))
    values = [*map(change_of, people(200)), *beside_rows(), *beside_rows()]
    found = study(policy, Sample(values, np.arange(len(values)) / 100), codec_of(policy, wrapping=DEBEZIUM))
    assert (found.records, found.fit, found.ignored) == (200, 200, 10)
    assert (found.rejects, found.rejected_share, found.missing) == ((), 0, ())
    bare = study(policy, Sample(values, np.arange(len(values)) / 100))
    assert bare.fit == 0


def test_an_input_of_deletions_alone_forbids_no_run(tmp_path: Path) -> None:
    policy = load_policy(write_policy(tmp_path))
    values = beside_rows()
    found = study(policy, Sample(values, np.arange(len(values)) / 100), codec_of(policy, wrapping=DEBEZIUM))
    assert [finding.condition for finding in sample_findings(policy, found)] == [None]


@pytest.mark.parametrize("form", ["avro", "protobuf"])
async def test_a_sample_is_without_what_the_outputs_format_could_not_hold(tmp_path: Path, form: str) -> None:
    if form == "protobuf":
        pytest.importorskip("grpc_tools", reason="needs the extra protobuf")
    policy = load_policy(write_policy(tmp_path, output={"shape": "typed"}))
    kafka = KafkaSettings(
        bootstrap_servers="127.0.0.1:9",
        group="g",
        input="people",
        output="out",
        format={"input": "json", "output": form},
        registry={"url": "http://127.0.0.1:9"},
    )
    values = [
        json.dumps(one | {"visits": visits}).encode() for one, visits in zip(people(2), (5, 2**63), strict=True)
    ]
    sample = Sample(values, np.arange(2.0))
    codec, _ = await reader_of(policy, kafka, sample)
    found = study(policy, sample, codec)
    assert (found.records, found.fit) == (2, 1)
    assert [(each.reason, each.records) for each in found.rejects] == [("out-of-range", 1)]


@pytest.mark.parametrize(
    ("lines", "told"), [("", "holds no record"), ("{}\n", "holds no record that fits the policy; 1 do not")]
)
def test_a_sample_of_no_record_is_told_from_one_of_records_that_do_not_fit(
    lines: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(lines)
    sample = sample_of_file(load_policy(write_policy(tmp_path)), str(path))
    with pytest.raises(InputError) as error:
        sample.require_records()
    assert str(error.value) == f"{path}: {told}"


@pytest.mark.parametrize("look_further", [True, False])
def test_who_does_not_ask_whether_more_follows_waits_for_no_batch_that_is_thrown_away(
    look_further: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = load_policy(write_policy(tmp_path))
    values = [json.dumps(row).encode() for row in people(6)]
    asked: list[int] = []

    class Pipe:
        def __iter__(self) -> Iterator[CodedBatch]:
            for batch in range(3):
                asked.append(batch)
                yield codec_of(policy).decode(values[2 * batch : 2 * batch + 2], 0, np.arange(2))

        def close(self) -> None:
            pass

    monkeypatch.setattr(samples, "open_reader", lambda *_arguments: Pipe())
    found = sample_of_file(policy, "a pipe", most=4, look_further=look_further)
    assert (len(found), found.whole) == (4, False)
    assert asked == ([0, 1, 2] if look_further else [0, 1])
