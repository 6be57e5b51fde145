"""How much memory Linux says is left for this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.adapters.control_group import free_memory

MACHINE = "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable: 4000 kB\n"
ALL = 4000 * 1024


def _now(group: str, most: str, used: str, stat: str = "") -> dict[str, str]:
    """Return what a group of the second version says of itself, by file."""
    told = {"max": most, "current": used, "stat": stat}
    return {f"{group}/memory.{name}": f"{text}\n" for name, text in told.items() if text}


def _then(group: str, most: str, used: str, stat: str = "") -> dict[str, str]:
    """Return what a group of the first version says of itself, by file."""
    told = {"limit_in_bytes": most, "usage_in_bytes": used, "stat": stat}
    return {f"memory/{group}/memory.{name}": f"{text}\n" for name, text in told.items() if text}


@pytest.mark.parametrize(
    ("own", "files", "free"),
    [
        ("0::/\n", {}, ALL),
        ("0::/pod\n", _now("pod", "max", "100"), ALL),
        ("0::/pod\n", _now("pod", "1000", "400"), 600),
        ("0::/pod/box\n", _now("pod", "1000", "700"), 300),  # of a group around it
        ("0::/\n", _now(".", "1000", "100"), 900),  # seen from in a container
        ("0::/pod\n", _now("pod", "1000", "1200"), 0),
        ("", _then(".", "2000", "500"), 1500),
        # Pages of files that nobody uses are given up.
        ("0::/pod\n", _now("pod", "1000", "900", "anon 200\ninactive_file 500\nactive_file 200"), 600),
        # The two were not read at the same time.
        ("0::/pod\n", _now("pod", "1000", "100", "inactive_file 300"), 1000),
        (
            "5:cpu,cpuacct:/other\n4:memory:/pod/box\n0::/\n",
            _then(".", "9000", "500")
            | _then("pod", "2000", "1900", "inactive_file 10\ntotal_inactive_file 300")
            | _then("pod/box", "3000", "1900")
            | _then("other", "1", "1"),
            400,
        ),
        ("4:memory:/seen/from/the/machine\n", _then(".", "2000", "500"), 1500),
        ("", _then(".", f"{2**63 - 4096}", "5"), ALL),
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
