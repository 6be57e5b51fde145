"""Each event in the code has its line on the page, and every event on the page is written somewhere."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from stream_anon.adapters.logs import Event
from stream_anon.cli.main import app
from stream_anon.errors import SettingsError
from stream_anon.operations.log_lines import ADVICE, explain, logs_page
from tests.support.data import ROOT

SOURCES = "\n".join(
    path.read_text() for path in (ROOT / "stream_anon").rglob("*.py") if path.name != "logs_page.py"
)


def test_the_events_changed_but_not_their_page() -> None:
    page = (ROOT / "docs" / "logs.md").read_text()
    assert page == logs_page(), "run `python -m stream_anon.operations.log_lines docs/logs.md`"
    assert set(re.findall(r"^\| `([a-z-]+)` \| (?:info|warning|error)(?:,| \|)", page, re.MULTILINE)) == set(Event)


def test_an_event_has_no_advice() -> None:
    assert set(ADVICE) == set(Event)
    assert all(advice.action.endswith(".") for advice in ADVICE.values())


@pytest.mark.parametrize("event", Event)
def test_an_event_is_never_written_or_with_another_level(event: Event) -> None:
    written = re.findall(rf"(\w+)\(\s*(?:Line|Event)\.{event.name}\b", SOURCES)
    levels = {"exception": {"error"}, "write": {"error", "warning"}, "write_it": {"info", "warning"}}
    found = set().union(*(levels.get(word, {word}) for word in written))
    assert found == set(ADVICE[event].levels.split(", "))


def test_advice_sends_to_a_runbook_that_is_not_there() -> None:
    for advice in ADVICE.values():
        for name in re.findall(r"unbook ([a-z-]+)", advice.action):
            assert (ROOT / "docs" / "runbooks" / f"{name}.md").exists(), name


def test_a_code_is_not_explained_or_an_unknown_one_is() -> None:
    shown = CliRunner().invoke(app, ["logs-explain", "audit-failed"])
    assert shown.exit_code == 0
    assert Event.AUDIT_FAILED.meaning in shown.stdout
    assert "audit-failed" in shown.stdout
    with pytest.raises(SettingsError, match="there are assigned, at-least-once"):
        explain("no-such-code")
