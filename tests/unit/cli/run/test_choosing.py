"""A person at a terminal decides what mu-argus generalizes."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from stream_anon.cli.run.choosing import TerminalHolder, check_choosing
from stream_anon.errors import Refused, SettingsError
from stream_anon.microdata.choices.method_choice import MethodChoice
from stream_anon.recoding.recoders.recoder import Alternative, Choice, Situation
from stream_anon.settings.policy_file import load_policy
from tests.support.commands import run
from tests.support.policies import people, write_json_lines, write_policy

SITUATION = Situation(
    1000, 40, {"age": 1, "zip": 0}, (Alternative(Choice("age", 2), 31), Alternative(Choice("zip", 1), 7))
)
METHOD: dict[str, Any] = {"name": "mu-argus", "most": ["age"], "more": ["home.city"], "complete": True}


def _console() -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    return Console(file=text, width=100), text


def test_alternatives_are_shown_by_their_counts_and_asked_for_until_there_is_one() -> None:
    console, text = _console()
    answers = ["3", "age", "2"]
    holder = TerminalHolder(console, lambda question: answers.pop(0))
    assert holder(SITUATION) == Choice("zip", 1)
    told = text.getvalue()
    assert "40 of 1,000 records are outliers" in told
    assert [line.split() for line in told.splitlines() if line.lstrip().startswith(("1 ", "2 "))] == [
        ["1", "age", "1", "2", "31"],
        ["2", "zip", "0", "1", "7"],
    ]
    assert told.count("that is not a number from 1 to 2") == 2
    assert holder.as_settings() == "choices: [{attribute: zip, level: 1}]"


def test_an_empty_answer_ends_the_choosing_and_a_closed_terminal_the_run() -> None:
    console, _ = _console()
    assert TerminalHolder(console, lambda question: "")(SITUATION) is None

    def closed(question: str) -> str:
        raise EOFError

    with pytest.raises(Refused):
        TerminalHolder(console, closed)(SITUATION)


@pytest.mark.parametrize(
    ("method", "terminal", "words"),
    [
        ({"name": "datafly"}, True, "is for method: mu-argus"),
        ({**METHOD, "choices": []}, True, "method.choices decides"),
        ({**METHOD, "outliers": 0.1}, True, "method.outliers decides"),
        (METHOD, False, "asks at a terminal"),
    ],
)
def test_choosing_is_refused_where_nobody_can_or_need(
    method: dict[str, Any], terminal: bool, words: str, tmp_path: Path
) -> None:
    policy = load_policy(write_policy(tmp_path, method=method))
    with pytest.raises(SettingsError, match=words):
        check_choosing(policy, terminal)


def test_outliers_and_choices_exclude_each_other() -> None:
    with pytest.raises(SettingsError, match=r"method\.outliers"):
        MethodChoice("mu-argus", {"choices": [], "outliers": 0.1})


def test_what_was_chosen_at_a_terminal_is_chosen_again_by_the_line_that_it_printed(tmp_path: Path) -> None:
    policy = write_policy(tmp_path, method=METHOD)
    source = write_json_lines(tmp_path / "in.jsonl", people(200))
    chosen, listed = tmp_path / "chosen.jsonl", tmp_path / "listed.jsonl"
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "stream_anon.cli.main", "anonymize", "-c", policy, source, chosen, "--choose"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, b"1\n\n")  # the first alternative, then no other
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the terminal ends with the command
                break
            if not part:
                break
            shown += part
        assert process.wait(60) == 0, shown.decode()
    os.close(ours)
    told = shown.decode().replace("\r", "")
    (line,) = (own for own in told.splitlines() if "choices: [" in own)
    choices = line.partition("choices: ")[2].strip()
    assert "attribute" in choices
    assert "warning: mu-argus runs without its three sets (nothing in identifying)" in told
    options = ("--method", "mu-argus", "--option", f"choices={choices}")
    assert run("anonymize", "-c", policy, source, listed, *options) == 0
    both = [sorted(path.read_text().splitlines()) for path in (chosen, listed)]
    assert both[0] == both[1]
    assert json.loads(both[0][0])
