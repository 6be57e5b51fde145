"""The chart on a real API server: what it takes, what Pod Security admits, and what helm does to a release there.

The server has no controllers and no node: objects are kept, and nothing comes of them.
"""

from __future__ import annotations

import copy
import functools
import operator
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.apiserver import RESTRICTED, ApiServer, Document, missing_parts
from tests.support.apiserver.definitions import definitions
from tests.support.data import ROOT
from tests.support.earlier import BEFORE, missing_history, unpack_path
from tests.support.helm import CHART, VALUE_SETS, of_kind, render, value_set

pytestmark = pytest.mark.slow
# The folder of node_exporter, of which docs/explain/audit.md says where it may be mounted.
WITHOUT_FOLDER = ("audit.extraVolumes=[]", "audit.extraVolumeMounts=[]")
EMPTY = "empty"  # a namespace in which nothing is made
_ALWAYS = {("ServiceAccount", "anonymizer"), ("ConfigMap", "people-policy")}
every_value_set = pytest.mark.parametrize("values", VALUE_SETS, ids=lambda path: path.stem)


def _object(kind: str, name: str, version: str = "v1", **content: Any) -> Document:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **content}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    if missing := missing_parts():
        pytest.skip(missing)
    for models in ("cloudcoil.models.keda", "cloudcoil.models.prometheus_operator"):
        pytest.importorskip(models, reason=f"{models} is not installed")
    with ApiServer(tmp_path_factory.mktemp("apiserver")) as started:
        for definition in definitions():
            started.define(definition)
        started.apply(_object("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000))
        _make_namespace(started, "privacy", RESTRICTED)
        _make_namespace(started, EMPTY, {})
        yield started


def _make_namespace(server: ApiServer, name: str, labels: dict[str, str]) -> None:
    """Make a namespace with what value sets say exists."""
    server.apply({**_object("Namespace", name), "metadata": {"name": name, "labels": labels}})
    for existing in (
        _object("ServiceAccount", "anonymizer"),
        _object("ConfigMap", "people-policy", data={"policy.yaml": ""}),
    ):
        server.apply(existing, name)


def _pods(objects: list[Document]) -> list[Document]:
    """Return the pods that controllers would make of objects."""
    templates = [
        o["spec"].get("jobTemplate", o)["spec"]["template"]
        for o in objects
        if o["kind"] in ("Deployment", "CronJob")
    ]
    return [_object("Pod", f"pod-{i}", spec=template["spec"]) for i, template in enumerate(templates)]


def _refusals(server: ApiServer, objects: list[Document]) -> dict[str, str]:
    """Return what the server refuses of objects and their pods, and what it warns of."""
    tried = [*objects, *_pods(objects)]
    for pod in (each for each in tried if each["kind"] == "Pod"):
        server.apply(_object("ServiceAccount", pod["spec"]["serviceAccountName"]), "privacy")
    answers = {f"{o['kind']} {o['metadata']['name']}": server.try_to_apply(o, "privacy").refusal for o in tried}
    return {name: refusal for name, refusal in answers.items() if refusal}


@every_value_set
def test_every_object_and_every_pod_of_a_value_set_is_admitted_without_a_warning(
    server: ApiServer, values: Path
) -> None:
    without = WITHOUT_FOLDER if values.stem == "audit" else ()
    assert _refusals(server, render(values, as_json=without)) == {}


def test_a_namespace_with_restricted_pods_admits_no_audit_that_mounts_a_folder_of_the_node(
    server: ApiServer,
) -> None:
    refused = _refusals(server, render(value_set("audit")))
    assert refused.keys() == {"CronJob people-stream-anon-audit", "Pod pod-1"}
    assert all("restricted volume type" in refusal and "hostPath" in refusal for refusal in refused.values())


def test_what_is_wrong_with_an_object_is_refused(server: ApiServer) -> None:
    objects = render(value_set("operator"))
    for kind, path, value, refusal in (
        ("Deployment", "spec.replica", 1, "field not declared in schema"),
        ("ServiceMonitor", "spec.selectors", {}, "field not declared in schema"),
        ("PrometheusRule", "spec.groups", [{"rules": []}], "Required value"),
        ("Service", "spec.type", "Nodeport", "Unsupported value"),
        ("Deployment", "spec.template.spec.securityContext.runAsNonRoot", False, "runAsNonRoot"),
    ):
        changed = copy.deepcopy(of_kind(objects, kind))
        *parents, last = path.split(".")
        functools.reduce(operator.getitem, parents, changed)[last] = value
        found = _refusals(server, [changed])
        assert found, path
        assert all(refusal in each for each in found.values()), found


@dataclass
class Release:
    """A release of the chart in a namespace of its own."""

    server: ApiServer
    namespace: str
    name: str = "people"

    def helm(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of helm on this release."""
        return self.server.helm(*command.split(), self.name, *arguments, "--namespace", self.namespace)

    def _do(self, command: str, *arguments: str) -> None:
        done = self.helm(command, *arguments)
        assert done.returncode == 0, (command, *arguments, done.stderr[-2000:])

    def upgrade(self, chart: Path, values: Path) -> None:
        """Install or upgrade."""
        self._do("upgrade --install", str(chart), "--values", str(values))

    def roll_back(self) -> None:
        """Go back to what the release was before its last change."""
        self._do("rollback")

    def uninstall(self) -> None:
        self._do("uninstall")

    def check(self) -> list[Document]:
        """Return the release's objects: all that the namespace holds, and each as if nothing had been before it."""
        manifest = [each for each in yaml.safe_load_all(self.helm("get manifest").stdout) if each]
        present = self.server.inventory(self.namespace) - _ALWAYS
        assert {(kind, name) for kind, name in present if not name.startswith("sh.helm.release.")} == {
            (o["kind"], o["metadata"]["name"]) for o in manifest
        }
        kept = [self.server.get(document, self.namespace) for document in manifest]
        for document, found in zip(manifest, kept, strict=True):
            assert _own(found) == _own(self.server.as_new(document, EMPTY)), document["kind"]
        return kept


def _own(document: Document) -> Document:
    """Return what an object says, without what the server alone decides and what helm notes of itself."""
    own = copy.deepcopy(document)
    own.pop("status", None)
    notes = {"app.kubernetes.io/managed-by", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"}
    for part in ("labels", "annotations"):
        given = own["metadata"].get(part, {})
        own[part] = {key: value for key, value in given.items() if key not in notes}
    del own["metadata"]
    if own["kind"] == "Service":
        own["spec"] = {key: value for key, value in own["spec"].items() if not key.startswith("clusterIP")}
        own["spec"]["ports"] = [{**port, "nodePort": None} for port in own["spec"]["ports"]]
    return own


@pytest.fixture
def release(server: ApiServer, unique: str) -> Release:
    _make_namespace(server, unique, RESTRICTED)
    return Release(server, unique)


def test_a_release_goes_from_each_value_set_to_the_next_and_back_and_leaves_nothing(release: Release) -> None:
    for values in VALUE_SETS:
        release.upgrade(CHART, values)
        release.check()
    release.roll_back()
    release.check()
    release.uninstall()
    assert release.server.inventory(release.namespace) == _ALWAYS


def test_pods_are_replaced_where_a_configmap_of_ones_own_has_changed(release: Release) -> None:
    def checksum(policy: str) -> str:
        release.server.apply(_object("ConfigMap", "people-policy", data={"policy.yaml": policy}), release.namespace)
        release.upgrade(CHART, value_set("existing-configmap"))
        template = of_kind(release.check(), "Deployment")["spec"]["template"]
        return str(template["metadata"]["annotations"]["checksum/config"])

    assert checksum("one") == checksum("one") != checksum("two")


def test_a_scaler_starts_from_one_worker_and_an_upgrade_leaves_what_it_has_set(release: Release) -> None:
    deployment = _object("Deployment", "people-stream-anon", "apps/v1")
    scale = f"{release.server.path(deployment, release.namespace)}/people-stream-anon/scale"

    def after(name: str) -> int:
        release.upgrade(CHART, value_set(name))
        return int(release.server.ask("GET", scale).document["spec"]["replicas"])

    assert after("production") == 3
    assert after("autoscaling") == 1  # helm takes the number away: docs/start/install.md
    scaled = {"spec": {"replicas": 4}}
    assert release.server.ask("PATCH", scale, scaled, "application/merge-patch+json").status == 200
    assert after("keda") == 4


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chart of an earlier version."""
    if reason := missing_history(BEFORE):
        pytest.skip(reason)
    return unpack_path(BEFORE, CHART.relative_to(ROOT).as_posix(), tmp_path_factory.mktemp("before"))


@pytest.mark.soak
@every_value_set
def test_a_release_of_an_earlier_chart_is_upgraded_and_rolled_back(
    release: Release, before: Path, values: Path
) -> None:
    release.upgrade(before, before / "ci" / values.name)
    installed = [_own(each) for each in release.check()]
    release.upgrade(CHART, values)
    release.check()
    release.roll_back()
    assert [_own(each) for each in release.check()] == installed


def test_a_chart_with_another_selector_cannot_replace_this_one(release: Release, tmp_path: Path) -> None:
    changed = tmp_path / "stream-anon"
    shutil.copytree(CHART, changed)
    helpers = changed / "templates" / "_helpers.tpl"
    head = '{{- define "stream-anon.selectorLabels" -}}\n'
    assert helpers.read_text().count(head) == 1
    helpers.write_text(helpers.read_text().replace(head, f"{head}app.kubernetes.io/component: worker\n"))
    release.upgrade(CHART, value_set("minimal"))
    refused = release.helm("upgrade", str(changed), "--values", str(value_set("minimal")))
    assert refused.returncode != 0
    assert "field is immutable" in refused.stderr
