"""The chart's own suites (helm/stream-anon/tests), run by helm-unittest; each template has one that can fail.

They need no Python, so that somebody who changes only the chart can run them: `helm unittest helm/stream-anon`.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.support.helm import CHART, helm, unittest

SUITES = sorted((CHART / "tests").glob("*_test.yaml"))
# For each template a change that its suite must notice.
CHANGES = {
    "NOTES.txt": ("isolation.level=read_committed", "isolation.level=any"),
    "audit.yaml": ("concurrencyPolicy: Forbid", "concurrencyPolicy: Allow"),
    "configmap.yaml": ('include "stream-anon.fileKey" $path', "$path"),
    "dashboard.yaml": (".Values.dashboard.labels", "(dict)"),
    "deployment.yaml": ('include "stream-anon.podLabels"', 'include "stream-anon.labels"'),
    "extraobjects.yaml": ("tpl (toYaml .) $", "toYaml ."),
    "horizontalpodautoscaler.yaml": ("scaleDownSeconds", "scaleUpSeconds"),
    "networkpolicy.yaml": ("stream-anon.testLabels", "stream-anon.selectorLabels"),
    "poddisruptionbudget.yaml": ("unhealthyPodEvictionPolicy", "healthyPodEvictionPolicy"),
    "podmonitor.yaml": ("port: http", "port: admin"),
    "prometheusrule.yaml": ("not (has .alert $rule.disabled)", "true"),
    "scaledobject.yaml": ("ternary 10000 $chosen", "ternary 1000000 $chosen"),
    "service.yaml": ("targetPort: http", "targetPort: 9465"),
    "serviceaccount.yaml": ("automountServiceAccountToken: false", "automountServiceAccountToken: true"),
    "servicemonitor.yaml": ("metricRelabelings:\n", "metricRelabeling:\n"),
    "tests/ready.yaml": ("helm.sh/hook: test", "helm.sh/hook: pre-install"),
}


def _suites_of(template: str) -> set[Path]:
    """Return the files with a suite that names a template."""
    return {
        path
        for path in SUITES
        for suite in yaml.safe_load_all(path.read_text())
        if f"templates/{template}" in suite["templates"]
    }


def test_the_suites_of_the_chart_pass() -> None:
    done = unittest(CHART)
    assert done.returncode == 0, done.stdout[-4000:]
    counted = re.search(r"Test Suites: (\d+) passed, (\d+) total", done.stdout)
    assert counted is not None
    assert counted[1] == counted[2]
    assert int(counted[1]) >= len(SUITES)


def test_each_template_has_a_suite_and_a_change_that_it_must_notice() -> None:
    templates = {
        path.relative_to(CHART / "templates").as_posix()
        for path in (CHART / "templates").rglob("*")
        if path.is_file() and not path.name.startswith("_")
    }
    assert {template for template in templates if not _suites_of(template)} == set()
    assert CHANGES.keys() == templates


@pytest.mark.parametrize("template", CHANGES)
def test_a_suite_notices_a_change_of_its_template(tmp_path: Path, template: str) -> None:
    chart = tmp_path / "stream-anon"
    shutil.copytree(CHART, chart)
    file, (before, after) = chart / "templates" / template, CHANGES[template]
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    (suite,) = _suites_of(template)
    done = unittest(chart, "--file", f"tests/{suite.name}")
    assert done.returncode != 0, "the change passes"
    assert "FAIL" in done.stdout


def test_the_packed_chart_holds_the_test_of_helm_and_no_suites(tmp_path: Path) -> None:
    done = helm("package", str(CHART), "--destination", str(tmp_path))
    assert done.returncode == 0, done.stderr
    (package,) = tmp_path.glob("*.tgz")
    shutil.unpack_archive(package, tmp_path / "unpacked", filter="data")
    unpacked = tmp_path / "unpacked" / "stream-anon"
    files = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*.yaml")}
    assert "templates/tests/ready.yaml" in files
    assert not [file for file in files if file.startswith(("tests/", "ci/"))]
