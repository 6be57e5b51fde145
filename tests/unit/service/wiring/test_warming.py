from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.writing.record_writing import write_records
from stream_anon.microdata.release import made_up_release
from stream_anon.service.wiring import warming
from stream_anon.service.wiring.warming import warm_up
from stream_anon.settings.policy_file import load_policy

POLICY = """
privacy: {k: 2, individual: every-record}
attributes:
  age: {role: quasi-identifier, numeric: {min: 0, max: 99}}
  visits: {role: insensitive, type: integer, accept_linkable: true}
"""


@pytest.mark.skipif(not hasattr(write_records, "signatures"), reason="kernels are not compiled here")
def test_the_first_window_that_is_written_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    policy = load_policy(file)
    for other in (warming.warming, warming.draining, warming.packed_batch):
        monkeypatch.setattr(other, "warm_up", lambda *_: None)  # the engine and the client have tests of their own
    warm_up(policy)
    compiled = list(write_records.signatures)  # type: ignore[attr-defined]

    codec = JsonCodec(policy)
    batch = codec.decode([b'{"age": 30, "visits": %d}' % n for n in range(20)], 0, np.arange(20))
    release = replace(
        made_up_release(policy, batch.payload),
        payload=batch.payload,
        class_of_row=np.zeros(20, np.int32),
        order=np.arange(20, dtype=np.int64),
    )
    assert codec.encode(release)[3] == b'{"age":"*","visits":3}'
    assert list(write_records.signatures) == compiled  # type: ignore[attr-defined]


def test_a_policy_without_fields_that_pass_is_warmed_up_too(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY.rpartition("  visits")[0])
    policy = load_policy(file)
    payload: list[tuple[str, ...]] = [()] * 2
    assert JsonCodec(policy).encode(made_up_release(policy, payload)) == [b'{"age":"*"}'] * 2
