"""A real API server of Kubernetes on 127.0.0.1, with etcd beside it: no controllers, no node.

`make apiserver` builds both programs from the modules that go.mod names.
"""

from __future__ import annotations

import http.client
import json
import shutil
import ssl
import subprocess
import time
import urllib.parse
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import yaml

from tests.support.apache_kafka.certificates import Authority
from tests.support.helm import TOOLS, helm
from tests.support.ports import free_port

Document = dict[str, Any]
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
_TOKEN = "test"  # noqa: S105 - of a server that nobody else reaches
_UP_WITHIN = 120.0
_APPLY, _JSON = "application/apply-patch+yaml", "application/json"
_STRICT = {"dryRun": "All", "fieldValidation": "Strict"}


def missing_parts() -> str:
    """Return why no API server can be started here, or an empty text."""
    if absent := [name for name in ("etcd", "kube-apiserver", "openssl") if _program(name) is None]:
        return f"an API server needs {', '.join(absent)}: `make apiserver` builds etcd and kube-apiserver"
    return ""


@dataclass(frozen=True)
class Answer:
    """What the server says to one request: its status, an object, and warnings for people."""

    status: int
    document: Document
    warnings: tuple[str, ...] = ()

    @property
    def refusal(self) -> str:
        """Why the server refuses, and what it warns of; empty if it does neither."""
        refused = () if self.status < 300 else (f"{self.status}: {self.document.get('message')}",)
        return "; ".join((*refused, *self.warnings))


class ApiServer:
    """etcd and kube-apiserver as child processes, stopped by their own process ids.

    Parameters
    ----------
    folder
        Where their data, certificates and logs go.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._running = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as starting:
            self._start(starting)
            self._running = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def _start(self, running: ExitStack) -> None:
        authority = Authority(self._folder / "certificates", "authority")
        own = authority.issue("kube-apiserver", "127.0.0.1")
        trust = ssl.create_default_context(cafile=authority.certificate)
        self._connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=30, context=trust)
        running.callback(self._connection.close)
        self._write_kubeconfig(authority.certificate)
        tokens = self._folder / "tokens.csv"
        tokens.write_text(f"{_TOKEN},admin,1,system:masters\n")
        store, peers = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self._run(
            running, "etcd", f"--data-dir={self._folder / 'etcd'}", "--log-level=warn", "--unsafe-no-fsync",
            f"--listen-client-urls={store}", f"--advertise-client-urls={store}", f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}", f"--initial-cluster=default={peers}",
        )  # fmt: skip
        process = self._run(
            running, "kube-apiserver", f"--etcd-servers={store}",
            "--bind-address=127.0.0.1", f"--secure-port={self._port}",
            f"--tls-cert-file={own.certificate}", f"--tls-private-key-file={own.key}",
            f"--token-auth-file={tokens}", "--authorization-mode=RBAC", "--anonymous-auth=false",
            "--service-account-issuer=https://127.0.0.1", f"--service-account-key-file={own.certificate}",
            f"--service-account-signing-key-file={own.key}", "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none", f"--cert-dir={self._folder / 'certificates'}",
        )  # fmt: skip
        self._wait(process)

    def _run(self, running: ExitStack, name: str, *options: str) -> subprocess.Popen[bytes]:
        program = _program(name)
        assert program is not None
        with self._log(name).open("wb") as log:
            process = subprocess.Popen([program, *options], stdout=log, stderr=log)
        running.callback(_stop, process)
        return process

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _UP_WITHIN
        while time.monotonic() < deadline and process.poll() is None:
            try:
                if self.ask("GET", "/readyz").status == 200:
                    return
            except OSError:
                self._connection.close()
            time.sleep(0.2)
        raise AssertionError(f"no API server: {self._log('kube-apiserver').read_text()[-2000:]}")

    def _write_kubeconfig(self, authority: Path) -> None:
        cluster = {"server": f"https://127.0.0.1:{self._port}", "certificate-authority": str(authority)}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": {"token": _TOKEN}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        }
        self.kubeconfig = self._folder / "kubeconfig"
        self.kubeconfig.write_text(yaml.safe_dump(document))

    def ask(self, method: str, path: str, body: Document | None = None, kind: str = _JSON, **query: str) -> Answer:
        """Send one request; an answer that is not JSON is an empty object."""
        headers = {"Authorization": f"Bearer {_TOKEN}", "Content-Type": kind}
        data = None if body is None else json.dumps(body)
        self._connection.request(method, f"{path}?{urllib.parse.urlencode(query)}", data, headers)
        response = self._connection.getresponse()
        text = response.read()
        document = json.loads(text) if response.headers.get_content_type() == _JSON else {}
        return Answer(response.status, document, tuple(response.headers.get_all("Warning", [])))

    def path(self, document: Mapping[str, Any], namespace: str) -> str:
        """Return where objects of this one's kind are in a namespace."""
        version = document["apiVersion"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        kind = self._kinds(root)[document["kind"]]
        return f"{root}/namespaces/{namespace}/{kind['name']}" if kind["namespaced"] else f"{root}/{kind['name']}"

    @cache  # noqa: B019 - lives as long as the tests
    def _kinds(self, root: str) -> dict[str, Document]:
        found = self._told("GET", root)["resources"]
        return {each["kind"]: each for each in found if "/" not in each["name"]}

    def apply(self, document: Document, namespace: str = "", **query: str) -> Answer:
        """Apply an object on the server's side."""
        path = f"{self.path(document, namespace)}/{document['metadata']['name']}"
        return self.ask("PATCH", path, document, _APPLY, fieldManager="test", force="true", **query)

    def try_to_apply(self, document: Document, namespace: str) -> Answer:
        """Ask what would become of an object, by a strict dry run."""
        return self.apply(document, namespace, **_STRICT)

    def as_new(self, document: Document, namespace: str) -> Document:
        """Return an object as the server would keep it if nothing of its name were there."""
        placed = {**document, "metadata": {**document["metadata"], "namespace": namespace}}
        return self._told("POST", self.path(document, namespace), placed, **_STRICT)

    def get(self, document: Mapping[str, Any], namespace: str) -> Document:
        """Return an object as the server keeps it."""
        return self._told("GET", f"{self.path(document, namespace)}/{document['metadata']['name']}")

    def _told(self, method: str, path: str, body: Document | None = None, **query: str) -> Document:
        answer = self.ask(method, path, body, **query)
        assert answer.status < 300, answer.refusal
        return answer.document

    def define(self, definition: Document) -> None:
        """Make a kind known, and wait until its objects can be had."""
        applied = self.apply(definition)
        assert applied.status == 201, applied.refusal
        spec = definition["spec"]
        path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
        deadline = time.monotonic() + _UP_WITHIN
        while self.ask("GET", path).status != 200:
            assert time.monotonic() < deadline, path
            time.sleep(0.1)

    def inventory(self, namespace: str) -> set[tuple[str, str]]:
        """Return kind and name of whatever a namespace holds, but for events."""
        groups = self._told("GET", "/apis")["groups"]
        roots = ["/api/v1", *(f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups)]
        return {
            (name, item["metadata"]["name"])
            for root in roots
            for name, kind in self._kinds(root).items()
            if kind["namespaced"] and "list" in kind["verbs"] and name != "Event"
            for item in self._told("GET", f"{root}/namespaces/{namespace}/{kind['name']}")["items"]
        }

    def helm(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run helm against this server."""
        return helm(*arguments, "--kubeconfig", str(self.kubeconfig))


def _program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path=str(TOOLS))


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)
