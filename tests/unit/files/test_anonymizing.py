"""Times in the certificates of a release of a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from stream_anon.files.anonymizing import SOURCE, Anonymization
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.settings.policy_file import load_policy
from tests.support.clock import FakeClock
from tests.support.policies import people, write_policy


def test_no_window_closes_before_it_was_opened_where_the_clock_is_set_back(tmp_path: Path) -> None:
    policy, clock = load_policy(write_policy(tmp_path)), FakeClock()
    codec, work = JsonCodec(policy), Anonymization(policy, clock=clock)
    values = [json.dumps(record).encode() for record in people(40)]
    clock.set_wall(-7200)
    found = [*work.add(codec.decode(values, SOURCE, np.arange(len(values)))), *work.close()]
    parts = [json.loads(part) for one in found for part in one.certificate]
    assert parts
    assert all(part["opened"] <= part["closed"] for part in parts)
