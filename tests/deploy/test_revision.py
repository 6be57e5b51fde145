"""A build writes the revision of its source into the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support.data import ROOT
from tests.support.git import git

FILE = "stream_anon/_revision"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return what a build needs of this source, with a history of one commit."""
    root = tmp_path / "source"
    for name in ("deploy/wheel", "examples/clinic"):
        shutil.copytree(ROOT / name, root / name)
    (root / "stream_anon").mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore", "stream_anon/version.py"):
        shutil.copy(ROOT / name, root / name)
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "one")
    return root


def _built(root: Path, target: str, **variables: str) -> Path:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STREAM_ANON_")}
    command = [sys.executable, "-m", "hatchling", "build", "-t", target]
    subprocess.run(command, cwd=root, env=environment | variables, capture_output=True, timeout=60, check=True)
    (built,) = (root / "dist").iterdir()  # nothing else is left behind
    return built


def _of_wheel(root: Path, **variables: str) -> str:
    wheel = _built(root, "wheel", **variables)
    with zipfile.ZipFile(wheel) as parts:
        assert parts.namelist().count(FILE) == 1
        found = parts.read(FILE).decode().strip()
    wheel.unlink()
    return found


def test_a_wheel_has_the_commit_that_it_was_built_from_and_says_what_was_not_committed(source: Path) -> None:
    commit = git(source, "rev-parse", "HEAD")[:12]
    assert _of_wheel(source) == commit
    (source / "README.md").write_text("changed")
    assert _of_wheel(source) == f"{commit}.dirty"


def test_a_wheel_made_from_an_sdist_has_its_revision(source: Path, tmp_path: Path) -> None:
    with tarfile.open(_built(source, "sdist")) as parts:
        parts.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert _of_wheel(unpacked) == git(source, "rev-parse", "HEAD")[:12]


def test_without_history_a_build_takes_the_revision_that_it_is_given(source: Path) -> None:
    shutil.rmtree(source / ".git")
    git(source.parent, "init", "--quiet")  # somebody else's repository
    assert _of_wheel(source) == "unknown"
    assert _of_wheel(source, STREAM_ANON_REVISION="0123456789abcdef0123456789abcdef01234567") == "0123456789ab"
    with pytest.raises(subprocess.CalledProcessError):
        _of_wheel(source, STREAM_ANON_REVISION="a b")
