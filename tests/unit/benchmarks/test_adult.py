"""The example at the head of docs/explain/utility.md: its commands print the measures and risks shown there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.data import ROOT, shared_data

PAGE = (ROOT / "docs" / "explain" / "utility.md").read_text()
COMMANDS, SHOWN = re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[:2]

# Figures of the label: of people with equal quasi-identifiers, it is drawn who goes to which class.
OF_LABEL = ("classification loss", "label information kept", "by pairs")
OF_DRAW = 0.2  # percentage points


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


@pytest.mark.soak
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
    lines = [tuple(line.split()) for line in printed.splitlines()]
    figures, classifiers = SHOWN.split("accuracy for salary-class")
    assert len(figures.splitlines()) > 35
    assert "most frequent label" in classifiers
    for line in figures.splitlines():
        if line.strip().startswith(OF_LABEL):
            _check_near(line, printed)
        else:
            assert line == "..." or tuple(line.split()) in lines, line


def _check_near(line: str, printed: str) -> None:
    """Check that shares of a line are printed, with what a draw makes of them."""
    name, *shares = re.split(r"\s{2,}", line.strip())
    (found,) = re.findall(rf"^ *{name}  .*$", printed, re.MULTILINE)
    made = re.split(r"\s{2,}", found.strip())[1:]
    assert [float(each.rstrip("%")) for each in made] == pytest.approx(
        [float(each.rstrip("%")) for each in shares], abs=OF_DRAW
    ), found
