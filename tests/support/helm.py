"""Render the chart with the real helm, in one process a value set."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.data import ROOT

CHART = ROOT / "helm" / "stream-anon"
VALUE_SETS = sorted((CHART / "ci").glob("*.yaml"))
TOOLS = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "stream-anon" / "bin"
# helm that was built by `go install` takes itself to speak to an ancient cluster.
KUBERNETES = "1.33.0"


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run helm and return what it said; skip where there is none (.ci/run installs it)."""
    program = shutil.which("helm") or shutil.which("helm", path=str(TOOLS))
    if program is None:
        pytest.skip("no `helm` on the path or in the tools of .ci/run: the chart is not rendered")
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)


def unittest(chart: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the suites of a chart by the plugin unittest; skip where there is none (.ci/run builds it)."""
    program = shutil.which("helm-unittest") or shutil.which("helm-unittest", path=str(TOOLS))
    if program is None:
        pytest.skip("no `helm-unittest` on the path or in the tools of .ci/run: the chart's suites are not run")
    command = [program, "--strict", *arguments, str(chart)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def attempt(
    values: Path, *more: str, as_json: tuple[str, ...] = (), release: str = "people", chart: Path = CHART
) -> subprocess.CompletedProcess[str]:
    """Render the chart with a value set and `more`, each a `key=value`, as a release in `privacy`."""
    options = ["--namespace", "privacy", "--kube-version", KUBERNETES, "--values", str(values)]
    options += [part for value in more for part in ("--set", value)]
    options += [part for value in as_json for part in ("--set-json", value)]
    return helm("template", release, str(chart), *options)


def render(values: Path, *more: str, as_json: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return the objects of a value set; of `as_json` each is a key and a value as JSON."""
    rendered = _rendered(values, values.read_text(), *more, as_json=as_json)
    return [document for document in yaml.safe_load_all(rendered) if document]


@cache
def _rendered(values: Path, _content: str, *more: str, as_json: tuple[str, ...]) -> str:
    done = attempt(values, *more, as_json=as_json)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def value_set(name: str) -> Path:
    """Return a committed value set by name."""
    return CHART / "ci" / f"{name}.yaml"


def of_kind(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """Return the only object of a kind that is no test."""
    found = [o for o in objects if o["kind"] == kind and "helm.sh/hook" not in o["metadata"].get("annotations", {})]
    assert len(found) == 1, (kind, len(found))
    return found[0]


def environment(deployment: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the variables of the service's container; None for one from a Secret."""
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    return {entry["name"]: entry.get("value") for entry in container["env"]}
