"""How much memory Linux says is left for this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.adapters.control_group import free_memory

MACHINE = "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable: 4000 kB\n"
ALL = 4000 * 1024


@pytest.mark.parametrize(
    ("own", "files", "free"),
    [
        ("0::/\n", {}, ALL),
        ("0::/pod\n", {"pod/memory.max": "max\n", "pod/memory.current": "100\n"}, ALL),
        ("0::/pod\n", {"pod/memory.max": "1000\n", "pod/memory.current": "400\n"}, 600),
        ("0::/pod/box\n", {"pod/memory.max": "1000\n", "pod/memory.current": "700\n"}, 300),  # of a group around it
        (
            "0::/\n",
            {"memory.max": "1000\n", "memory.current": "100\n"},
            900,
        ),  # seen from in a container
        ("0::/pod\n", {"pod/memory.max": "1000\n", "pod/memory.current": "1200\n"}, 0),
        ("", {"memory/memory.limit_in_bytes": "2000\n", "memory/memory.usage_in_bytes": "500\n"}, 1500),
        (
            "0::/pod\n",
            {
                "pod/memory.max": "1000\n",
                "pod/memory.current": "900\n",
                "pod/memory.stat": "anon 200\ninactive_file 500\nactive_file 200\n",
            },
            600,  # pages of files that nobody uses are given up
        ),
        (
            "0::/pod\n",
            {"pod/memory.max": "1000\n", "pod/memory.current": "100\n", "pod/memory.stat": "inactive_file 300\n"},
            1000,  # the two were not read at the same time
        ),
        (
            "5:cpu,cpuacct:/other\n4:memory:/pod/box\n0::/\n",
            {
                "memory/memory.limit_in_bytes": "9000\n",
                "memory/memory.usage_in_bytes": "500\n",
                "memory/pod/memory.limit_in_bytes": "2000\n",
                "memory/pod/memory.usage_in_bytes": "1900\n",
                "memory/pod/memory.stat": "inactive_file 10\ntotal_inactive_file 300\n",
                "memory/pod/box/memory.limit_in_bytes": "3000\n",
                "memory/pod/box/memory.usage_in_bytes": "1900\n",
                "memory/other/memory.limit_in_bytes": "1\n",
                "memory/other/memory.usage_in_bytes": "1\n",
            },
            400,
        ),
        (
            "4:memory:/seen/from/the/machine\n",
            {"memory/memory.limit_in_bytes": "2000\n", "memory/memory.usage_in_bytes": "500\n"},
            1500,
        ),
        ("", {"memory/memory.limit_in_bytes": f"{2**63 - 4096}\n", "memory/memory.usage_in_bytes": "5\n"}, ALL),
    ],
)
def test_the_least_that_the_machine_or_a_group_has_left_is_free(
    tmp_path: Path, own: str, files: dict[str, str], free: int
) -> None:
    (tmp_path / "own").write_text(own)
    (tmp_path / "machine").write_text(MACHINE)
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    for name, content in files.items():
        (mounted / name).parent.mkdir(parents=True, exist_ok=True)
        (mounted / name).write_text(content)
    assert free_memory(mounted, tmp_path / "own", tmp_path / "machine") == free


def test_without_a_word_of_the_system_a_gibibyte_is_free(tmp_path: Path) -> None:
    assert free_memory(tmp_path, tmp_path / "own", tmp_path / "machine") == 2**30
