"""The halves of a trial."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from stream_anon.operations.attack.attacked_records import read_attacked
from stream_anon.operations.attack.attacking import AttackRequest, attack
from stream_anon.operations.attack.halves import released_half
from stream_anon.operations.samples import SampleSource
from stream_anon.settings.policy_file import load_policy
from tests.support.clock import FakeClock
from tests.support.policies import people, write_json_lines, write_policy


def test_who_is_chosen_follows_from_the_seed_and_not_from_the_keys_of_ids(tmp_path: Path) -> None:
    """Keys of ids differ from process to process."""
    path = write_policy(tmp_path)
    policy = load_policy(path, {})
    records = read_attacked(
        policy, SampleSource(str(write_json_lines(tmp_path / "in.jsonl", people(200, each=2))), path)
    )
    keys = np.random.default_rng(1).permutation(1_000)
    others = replace(records, batch=replace(records.batch, individuals=keys[np.repeat(np.arange(100), 2)]))
    assert (np.argsort(records.batch.individuals) != np.argsort(others.batch.individuals)).any()
    one, other = (released_half(own, np.random.default_rng(5)) for own in (records, others))
    assert one[0].batch.offsets.tolist() == other[0].batch.offsets.tolist()
    assert one[1].batch.offsets.tolist() == other[1].batch.offsets.tolist()
    asked = AttackRequest(20, 1, 5, None)
    chances = [
        [told.found.chance for told in attack(*halves[:2], one[2], asked, FakeClock()).findings]
        for halves in (one, other)
    ]
    assert chances[0] == chances[1]
