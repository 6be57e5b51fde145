"""Each event in the code has its line on the page, and every event on the page is written somewhere."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from stream_anon.cli.main import app
from stream_anon.errors import SettingsError
from stream_anon.operations.log_lines import explain, logs_page
from stream_anon.ports.log_lines import LogLine
from tests.support.data import ROOT

SOURCES = "\n".join(path.read_text() for path in (ROOT / "stream_anon").rglob("*.py"))
WRITTEN = re.findall(r"log\.(\w+)\(\s*LogLine\.(\w+)", SOURCES)


def test_the_page_of_log_lines_has_the_current_events() -> None:
    page = (ROOT / "docs" / "reference" / "logs.md").read_text()
    assert page == logs_page(), "run `python -m stream_anon.operations.log_lines docs/reference/logs.md`"
    assert set(re.findall(r"^\| `([a-z-]+)` \| (?:info|warning|error)(?:,| \|)", page, re.MULTILINE)) == set(
        LogLine
    )


def test_every_line_says_in_whole_sentences_what_it_means_and_what_to_do() -> None:
    assert all(line.meaning.endswith(".") and line.action.endswith(".") for line in LogLine)


@pytest.mark.parametrize("line", LogLine)
def test_every_line_is_written_somewhere_and_with_its_levels_only(line: LogLine) -> None:
    assert re.search(rf"\bLogLine\.{line.name}\b", SOURCES)
    found = {"error" if word == "exception" else word for word, name in WRITTEN if name == line.name}
    assert found <= set(line.levels.split(", "))


def test_every_runbook_that_a_line_names_is_there() -> None:
    for line in LogLine:
        for name in re.findall(r"unbook ([a-z-]+)", line.action):
            assert (ROOT / "docs" / "runbooks" / f"{name}.md").exists(), name


def test_a_code_is_explained_and_an_unknown_one_refused() -> None:
    shown = CliRunner().invoke(app, ["logs-explain", "audit-failed"])
    assert shown.exit_code == 0
    assert LogLine.AUDIT_FAILED.meaning in shown.stdout
    assert "audit-failed" in shown.stdout
    with pytest.raises(SettingsError, match="there are assigned, at-least-once"):
        explain("no-such-code")
