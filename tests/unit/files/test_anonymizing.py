"""Times in the certificates of a release of a file."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import numpy as np
import pytest

from stream_anon.conditions import Condition
from stream_anon.errors import Refused
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


def test_who_adds_records_for_months_gets_no_release_after_the_last_day(tmp_path: Path) -> None:
    ends = dt.datetime(2027, 4, 1, tzinfo=dt.UTC).timestamp()
    policy = load_policy(write_policy(tmp_path, release={"valid_until": "2027-03-31"}))
    codec, clock = JsonCodec(policy), FakeClock(wall=ends - 60)
    work = Anonymization(policy, clock=clock)
    values = [json.dumps(record).encode() for record in people(60)]
    batch = codec.decode(values, SOURCE, np.arange(len(values)))
    assert len(list(work.add(batch))) == 1
    clock.advance(60)
    with pytest.raises(Refused, match="release-expired"):
        list(work.close())
    with pytest.raises(Refused, match="release-expired"):
        Anonymization(policy, clock=clock)
    accepted = Anonymization(policy, clock=clock, accept_risks=[Condition.RELEASE_EXPIRED])
    assert len(list(accepted.add(batch))) == 1
