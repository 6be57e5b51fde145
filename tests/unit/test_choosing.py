"""The page on choosing a policy is run: its commands print what it shows, on the policy of the quickstart."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.support.commands import run
from tests.support.data import ROOT
from tests.unit.test_quickstart import BEFORE, CONSOLE, YAML

PAGE = (ROOT / "docs" / "guides" / "choosing-a-policy.md").read_text()


def _printed(text: str) -> list[str]:
    """Return lines without spaces at their ends and without the time."""
    return [re.sub(r"in [\d.]+ ms", "in # ms", line.rstrip()) for line in text.strip().splitlines()]


def test_the_commands_of_the_page_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(ROOT / "examples" / "quickstart" / "visits.csv", tmp_path)
    (tmp_path / "policy.yaml").write_text(YAML.findall(BEFORE)[0])
    monkeypatch.chdir(tmp_path)
    blocks = CONSOLE.findall(PAGE)
    assert len(blocks) == 5
    for block in blocks:
        command, _, shown = block.partition("\n")
        assert run(*command.split()[2:]) == 0
        said = capsys.readouterr().out
        if shown:
            assert _printed(said) == _printed(shown)
    engine = yaml.safe_load(Path("chosen.yaml").read_text())["engine"]
    assert f"engine: {json.dumps(engine)}".replace('"', "") in PAGE
    assert Path("page.html").read_text().startswith("<!doctype html>")
    # The JSON on the page is the first answer.
    assert run(*blocks[0].partition("\n")[0].split()[2:], "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    (shown,) = re.findall(r"```\n(\{\"exact\".*?)```", PAGE, re.DOTALL)
    assert json.loads(shown) | {"milliseconds": 0} == answer | {"milliseconds": 0}
