"""The example at the head of docs/utility.md: its commands print the measures and risks that the page shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.data import ROOT, shared_data

PAGE = (ROOT / "docs" / "utility.md").read_text()
COMMANDS, SHOWN = re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[:2]


def _output(command: str, folder: Path) -> str:
    """Return what a command of the page prints."""
    program, *arguments = shlex.split(command)
    if program == "python":
        arguments = [str(ROOT / arguments[0]), *arguments[1:]]
    else:
        arguments = ["-m", "stream_anon.cli.main", *arguments]
    arguments = [str(shared_data("arx-adult")) if each == "arx-adult" else each for each in arguments]
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_the_commands_of_the_page_print_its_measures_and_risks(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    write, enter, *others = COMMANDS.replace("\\\n", " ").splitlines()
    _output(write, tmp_path)
    folder = tmp_path / enter.removeprefix("cd ")
    *releases, compare = others
    for command in releases:
        _output(command, folder)
    printed = _output(f"{compare} --seconds 0.01", folder)
    lines = {tuple(line.split()) for line in printed.splitlines()}
    figures, classifiers = SHOWN.split("accuracy for salary-class")
    assert len(figures.splitlines()) > 35
    assert "most frequent label" in classifiers
    for line in figures.splitlines():
        assert line == "..." or tuple(line.split()) in lines, line
