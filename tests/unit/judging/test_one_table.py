"""A file that is one table is one window, and its certificate says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.judging.one_table import whole
from stream_anon.microdata.choices.window_limits import MOST_RECORDS
from stream_anon.privacy.promises import terms_of
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_policy


@pytest.mark.parametrize("records", ["auto", 2000])
def test_the_terms_of_one_table_state_that_it_holds_what_a_table_may(tmp_path: Path, records: int | str) -> None:
    policy = load_policy(write_policy(tmp_path, window={"max_records": records}))
    assert terms_of(whole(policy)).max_records == MOST_RECORDS
