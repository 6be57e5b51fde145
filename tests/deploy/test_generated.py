"""What the chart takes from elsewhere is as there."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType

import yaml

from tests.support.data import ROOT


def _chart() -> ModuleType:
    spec = importlib.util.spec_from_file_location("chart", ROOT / "deploy" / "chart.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_chart_has_the_current_settings_alerts_and_dashboard() -> None:
    stale = [path.name for path, content in _chart().generated().items() if path.read_text() != content]
    assert stale == [], "run `python deploy/chart.py`"


def test_every_value_of_the_chart_is_described() -> None:
    text = (ROOT / "helm" / "stream-anon" / "values.yaml").read_text()
    rows = set(
        re.findall(r"^\| `([\w.]+)` \|", (ROOT / "helm" / "stream-anon" / "README.md").read_text(), re.MULTILINE)
    )
    for key, value in yaml.safe_load(text).items():
        assert key in rows or {f"{key}.{inner}" for inner in value} & rows, key


def test_the_chart_and_the_image_have_the_version_of_the_service() -> None:
    chart = yaml.safe_load((ROOT / "helm" / "stream-anon" / "Chart.yaml").read_text())
    project = (ROOT / "pyproject.toml").read_text()
    assert f'\nversion = "{chart["appVersion"]}"\n' in project
    assert f"ARG VERSION={chart['appVersion']}\n" in (ROOT / "Dockerfile").read_text()
