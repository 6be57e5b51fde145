"""What Linux reports about a limit on processor time."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.adapters.processor import throttled_seconds

SECOND = "usage_usec 5\nnr_periods 40\nnr_throttled 12\nthrottled_usec 2500000\nnr_bursts 0\n"
FIRST = "nr_periods 40\nnr_throttled 12\nthrottled_time 1500000000\n"


@pytest.mark.parametrize(
    ("own", "file", "content", "seconds"),
    [
        ("0::/\n", "cpu.stat", SECOND, 2.5),
        ("0::/system.slice/x.service\n", "system.slice/x.service/cpu.stat", SECOND, 2.5),
        ("0::/not/mounted\n", "cpu.stat", SECOND, 2.5),
        ("4:cpu,cpuacct:/x\n", "cpu/cpu.stat", FIRST, 1.5),
        ("4:cpu,cpuacct:/system.slice/x.service\n", "cpu/system.slice/x.service/cpu.stat", FIRST, 1.5),
        ("0::/\n", "cpu.stat", "usage_usec 5\n", 0.0),  # the root of all groups has no limit
        ("0::/\n", "cpu.stat", "throttled_usec much\n", 0.0),
        ("", "memory.stat", "", 0.0),
    ],
)
def test_the_throttled_time_is_that_of_our_own_group_and_zero_where_unknown(
    tmp_path: Path, own: str, file: str, content: str, seconds: float
) -> None:
    (tmp_path / "own").write_text(own)
    (tmp_path / "mounted" / file).parent.mkdir(parents=True)
    (tmp_path / "mounted" / file).write_text(content)
    assert throttled_seconds(tmp_path / "mounted", tmp_path / "own") == pytest.approx(seconds)
    assert throttled_seconds(tmp_path / "none", tmp_path / "nowhere") == 0.0


def test_the_machine_of_the_tests_tells_its_throttled_time() -> None:
    assert throttled_seconds() >= 0.0
