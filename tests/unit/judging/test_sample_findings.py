from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.judging.sample_findings import sample_findings
from stream_anon.judging.sample_study import Study
from stream_anon.judging.tally import MOST_LINKABLE, RareValues
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_policy


@pytest.mark.parametrize("within", [False, True])
def test_a_share_that_breaks_its_bound_is_not_printed_as_if_it_met_it(within: bool, tmp_path: Path) -> None:
    above = MOST_LINKABLE + 0.0003
    shares = (0.0, above) if within else (above, None)
    rare = RareValues("illness", 503, *shares, values=9, rare=3, accepted=False)
    found = sample_findings(
        load_policy(write_policy(tmp_path)), Study(10_000, 60.0, 10_000, 5_000, (), (rare,), None)
    )
    (text,) = [finding.text for finding in found if finding.place == "attributes.illness"]
    assert ("5.03% of its values are held by" if within else "503 of 10,000 sampled records (5.03%) have") in text
    assert "fewer than k = 3 individuals" in text
    assert within or ". At most 5% may be published" in text


def test_a_check_of_a_file_says_that_so_many_rejects_leave_it_without_output(tmp_path: Path) -> None:
    found = sample_findings(
        load_policy(write_policy(tmp_path)), Study(1_000, 0.0, 949, 949, (), (), None, whole=True)
    )
    (text,) = [finding.text for finding in found if finding.place == "input"]
    assert text.startswith("5.1% of the records would be rejected: above 5% `anonymize` writes no output")
    assert "--max-rejected" in text
