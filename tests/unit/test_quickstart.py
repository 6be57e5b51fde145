"""The quickstart is run: each command that needs no broker, on the page's own policy, with what the page shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from stream_anon.settings.loading import parse_settings
from stream_anon.settings.policy_file import build_policy
from tests.support.data import ROOT

PAGE = (ROOT / "docs" / "start" / "quickstart.md").read_text()
BEFORE, _, WITH_KAFKA = PAGE.partition("## Between two topics")
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
YAML = re.compile(r"```yaml\n(.*?)```", re.DOTALL)


def _steps(text: str) -> list[tuple[str, str]]:
    """Return each command and what the page shows below it."""
    steps = []
    for block in CONSOLE.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            steps.append((command, shown.strip()))
    return steps


def _alike(text: str) -> str:
    """Return a text without its numbers, its drawn lines, and how it is broken into lines."""
    return " ".join(re.sub(r"[-─━┃│┏┓┗┛┡┩└┘┬┴┳┻]", " ", re.sub(r"\d[\d,.]*", "#", text)).split())


def test_the_commands_of_the_quickstart_show_what_the_page_shows(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "quickstart", tmp_path / "examples" / "quickstart")
    (written,) = YAML.findall(BEFORE)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "116"}
    steps = [step for step in _steps(BEFORE) if not step[0].startswith("pip ")]
    assert [command.split()[1] for command, _ in steps if "stream-anon" in command] == [
        "propose",
        "anonymize",
        "audit",
    ]
    for command, shown in steps:
        if " anonymize " in command:  # the reader has edited the proposal meanwhile
            assert (tmp_path / "policy.yaml").exists()
            (tmp_path / "policy.yaml").write_text(written)
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        told = "".join(line for line in (done.stdout + done.stderr).splitlines(True) if "compiling" not in line)
        assert done.returncode == 0, told
        assert _alike(told) == _alike(shown), command


def test_the_settings_for_kafka_on_the_page_make_a_service() -> None:
    (service,) = YAML.findall(WITH_KAFKA)
    (policy,) = YAML.findall(BEFORE)
    settings = parse_settings({**yaml.safe_load(policy), **yaml.safe_load(service)})
    assert settings.kafka is not None
    assert build_policy(settings, ROOT / "policy.yaml").k == 12
    assert [command.split()[1] for command, _ in _steps(WITH_KAFKA)] == ["topics", "check", "run", "audit"]
