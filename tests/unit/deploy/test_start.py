"""How the image's start gives kernels a place: the script itself, between folders of a test."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.data import ROOT

SCRIPT = ROOT / "deploy" / "image" / "start"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
NOWHERE = "/proc/stream-anon-kernels"  # not even root can write there
PLACE = "/tmp/stream-anon-kernels"  # noqa: S108 - the container's own


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """A folder with compiled kernels, and a service that says where it would look for them."""
    (tmp_path / "kernels" / "room").mkdir(parents=True)
    (tmp_path / "kernels" / "room" / "one.nbi").write_text("compiled")
    (tmp_path / "bin").mkdir()
    service = tmp_path / "bin" / "stream-anon"
    service.write_text('#!/bin/sh\necho "$NUMBA_CACHE_DIR" "$@"\n')
    service.chmod(0o755)
    (tmp_path / "start").write_text(SCRIPT.read_text().replace("/opt/stream-anon/kernels", f"{tmp_path}/kernels"))
    (tmp_path / "tmp").mkdir()
    return tmp_path


def _start(box: Path, place: Path | str, before: str = "", **more: str) -> tuple[str, str]:
    """Return where the service was sent and its arguments; `before` runs in the process that becomes the start."""
    variables = {"PATH": f"{box / 'bin'}:{os.environ['PATH']}", "NUMBA_CACHE_DIR": str(place), **more}
    command = ["sh", "-c", f"{before or ':'}; exec sh {box / 'start'} run --config FILE"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=30, check=True)
    assert done.stderr == ""
    where, _, arguments = done.stdout.strip().partition(" ")
    return where, arguments


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_command_beside_the_service_finds_its_kernels() -> None:
    """What `kubectl exec` starts knows the image's variables, and not what `start` has exported."""
    assert f"  NUMBA_CACHE_DIR={PLACE} \\\n" in DOCKERFILE.rpartition("FROM ")[2]
    assert PLACE in SCRIPT.read_text()


def test_kernels_are_where_the_service_looks(box: Path) -> None:
    place = box / "tmp" / "kernels"
    assert _start(box, place) == (str(place), "run --config FILE")
    assert _files(box / "tmp") == ["kernels/room/one.nbi"]


def test_a_second_start_keeps_what_was_compiled_meanwhile(box: Path) -> None:
    place = box / "tmp" / "kernels"
    _start(box, place)
    (place / "room" / "two.nbi").write_text("compiled later")
    _start(box, place)
    assert _files(box / "tmp") == ["kernels/room/one.nbi", "kernels/room/two.nbi"]


def test_half_a_copy_of_a_killed_start_does_not_spoil_the_next(box: Path) -> None:
    """The first process of a container has the same number after every restart, and /tmp outlives them."""
    place = box / "tmp" / "kernels"
    half = 'mkdir -p "$NUMBA_CACHE_DIR.$$/room" && echo half > "$NUMBA_CACHE_DIR.$$/room/half.nbi"'
    _start(box, place, before=half)
    assert _files(box / "tmp") == ["kernels/room/one.nbi"]


def test_a_service_without_a_place_for_kernels_starts(box: Path) -> None:
    assert _start(box, NOWHERE, TMPDIR=NOWHERE)[1] == "run --config FILE"


def test_the_folder_for_temporary_files_is_tried_next(box: Path) -> None:
    where, _ = _start(box, NOWHERE, TMPDIR=str(box / "tmp"))
    assert where == str(box / "tmp" / "stream-anon-kernels")
    assert _files(box / "tmp") == ["stream-anon-kernels/room/one.nbi"]


def test_the_health_check_asks_on_the_port_of_the_image() -> None:
    """The check of health reads no settings file, so that the image says the port by a variable, which wins."""
    exposed = re.findall(r"^EXPOSE (\d+)$", DOCKERFILE, re.MULTILINE)
    assert exposed == re.findall(r"STREAM_ANON__HTTP__PORT=(\d+)", DOCKERFILE) == ["9464"]
    assert f'"STREAM_ANON__HTTP__PORT", "{exposed[0]}"' in (SCRIPT.parent / "healthcheck.py").read_text()
