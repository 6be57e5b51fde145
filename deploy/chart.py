"""Write anew what the Helm chart takes from elsewhere; a test compares.

`python deploy/chart.py` puts the settings into values.schema.json, copies the alerts and the dashboard, and writes
the chart's README.md from the comments of values.yaml.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "helm" / "stream-anon"
# What the chart ships of what others made, by its name in the chart.
COPIES = {
    "files/alerts.yml": ROOT / "deploy" / "prometheus" / "alerts.yml",
    "files/dashboard.json": ROOT / "deploy" / "grafana" / "dashboards" / "stream-anon.json",
}
# Sections of which single values may win over the settings file. The rest is the chart's own, or a whole policy.
OVERRIDABLE = ("kafka", "privacy", "window", "engine", "output", "release")
_DESCRIBED = re.compile(r"^( *)# -- (.*)\n\1([A-Za-z]+):(.*)$", re.MULTILINE)


def values_schema() -> dict[str, Any]:
    """Return values.schema.json with the settings as the service validates them, none of them required."""
    schema: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
    settings = json.loads((ROOT / "schemas" / "settings.schema.json").read_text())
    sections = {name: _reference(settings["properties"][name]) for name in OVERRIDABLE}
    wanted = set(sections.values()) | {"DiversitySettings"}
    defs = {name: _optional(settings["$defs"][name]) for name in settings["$defs"] if name in wanted}
    defs[sections["kafka"]]["properties"].pop("security")  # kafkaSecurity of the chart says it
    while further := _named(list(defs.values())) - set(defs):
        defs |= {name: _optional(settings["$defs"][name]) for name in further}
    for secret in ("password", "token"):  # they come from a Secret: registry.md says how
        defs["RegistrySettings"]["properties"].pop(secret)
    defs["Overrides"] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {"$ref": f"#/$defs/{target}"} for name, target in sections.items()},
    }
    return {**schema, "$defs": dict(sorted(defs.items()))}


def _reference(node: dict[str, Any]) -> str:
    references = _named(node)
    assert len(references) == 1, references  # noqa: S101
    return references.pop()


def _named(node: object) -> set[str]:
    """Return the definitions that a part of a schema refers to."""
    if isinstance(node, dict):
        own = {str(node["$ref"]).rpartition("/")[2]} if "$ref" in node else set()
        return own.union(*(_named(value) for value in node.values()))
    return set().union(*(_named(value) for value in node)) if isinstance(node, list) else set()


def _optional(definition: dict[str, Any]) -> dict[str, Any]:
    # Of k and max_risk one is required: `anyOf` says so.
    return {key: value for key, value in definition.items() if key not in ("required", "default", "anyOf")}


def readme() -> str:
    """Return README.md: what the chart needs, and a row for each described value."""
    text = (CHART / "values.yaml").read_text()
    rows = []
    for match in _DESCRIBED.finditer(text):
        path = _path(text, match.start(3))
        value = yaml.safe_load(text)
        for part in path:
            value = value[part]
        default = json.dumps(value) if len(json.dumps(value)) <= 70 else "see values.yaml"
        rows.append(f"| `{'.'.join(path)}` | `{default}` | {match[2]} |")
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
    return _HEAD.replace("VERSION", version) + "\n".join(rows) + "\n"


def _path(text: str, position: int) -> list[str]:
    """Return the keys that lead to the one at a position, by indentation."""
    line_start = text.rfind("\n", 0, position) + 1
    indent, path = position - line_start, [re.match(r"\w+", text[position:])[0]]  # type: ignore[index]
    for line in reversed(text[:line_start].splitlines()):
        found = re.match(r"( *)(\w+):", line)
        if found and len(found[1]) < indent:
            indent, path = len(found[1]), [found[2], *path]
    return path


_HEAD = """\
# stream-anon
k-anonymity where the data flows: Kafka in, k-anonymous Kafka out. This page is generated from values.yaml
(`python deploy/chart.py`).

```
stream-anon check --config policy.yaml
helm install people helm/stream-anon --set-file policy=policy.yaml --set-file 'files.jobs\\.csv=jobs.csv' \\
  --set image.repository=registry.example/stream-anon
helm test people
```
Needs Kubernetes 1.27 or later and a Kafka with its topics (`stream-anon topics --create`). The settings file goes
in word for word, so what `check` has approved is what runs; `settings` overrides single values of it. Secrets are
yours and exist before: nothing of them passes through the chart's values. Health and metrics listen on the pod's
address, all else on its loopback.

ServiceMonitor, PodMonitor and PrometheusRule need the Prometheus Operator, `keda` needs KEDA, `dashboard` Grafana's
sidecar. The value sets under `ci/` show each of these; tests render them all.

Several pipelines in one release are a chart of your own that names this one once for each, with an alias. Each
alias has its own values; its name stands in the names and selectors of its objects.
```yaml
dependencies:
  - {name: stream-anon, version: VERSION, repository: "file://../stream-anon", alias: people}
  - {name: stream-anon, version: VERSION, repository: "file://../stream-anon", alias: visits}
```
A changed `policy` replaces the pods, and so does a changed `existingConfigMap` at the next `helm upgrade`. A new
version of the chart alone replaces none.

| value | default | meaning |
| --- | --- | --- |
"""


def generated() -> dict[Path, str]:
    """Return every file that is written here, with its content; copies of what is not there are left out."""
    files = {
        CHART / "values.schema.json": json.dumps(values_schema(), indent=2) + "\n",
        CHART / "README.md": readme(),
    }
    return files | {CHART / name: source.read_text() for name, source in COPIES.items() if source.exists()}


def main() -> None:
    """Write them."""
    for path, content in generated().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
