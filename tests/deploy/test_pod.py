"""The rendered Deployment, run for real: its security context in force, a real broker, SIGTERM to exit."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.apache_kafka import ApacheKafka
from tests.support.containers import log_lines, podman
from tests.support.helm import of_kind, render
from tests.support.ports import free_port
from tests.support.service import Stage, check_published, make_records, produce, wait_until_accounted

pytestmark = [pytest.mark.containers, pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(1800)]

RECORDS = 1_000
READY_WITHIN = 90.0  # of a machine that does much else


def _values(stage: Stage, image: str) -> dict[str, Any]:
    """Return the values of a release between the topics of a stage; http and logs are the chart's to say."""
    policy = yaml.safe_load(stage.config().read_text())
    del policy["http"], policy["logs"]
    repository, _, tag = image.rpartition(":")
    return {
        "policy": yaml.safe_dump(policy, sort_keys=False),
        "image": {"repository": repository, "tag": tag, "pullPolicy": "Never"},
        "http": {"port": free_port(), "adminPort": free_port()},
    }


class Pod:
    """The pod of a rendered Deployment under podman, on the host's loopback."""

    def __init__(self, values: Path) -> None:
        objects = render(values)
        deployment = of_kind(objects, "Deployment")
        self.spec: dict[str, Any] = deployment["spec"]["template"]["spec"]
        container = self.spec["containers"][0]
        # The kubelet's part is played below: podman would map ports on the host's network, and look for curl.
        self._port = container.pop("ports")[0]["containerPort"]
        self._probes = [container.pop(f"{kind}Probe")["httpGet"]["path"] for kind in ("startup", "readiness")]
        configuration = [o for o in objects if o["kind"] == "ConfigMap"]
        self._file = values.with_name("play.yaml")
        self._file.write_text(yaml.safe_dump_all([*configuration, deployment]))
        self.name = f"{deployment['metadata']['name']}-pod-0-{container['name']}"

    @contextmanager
    def running(self) -> Iterator[None]:
        # A run that was killed may have left its pod.
        podman("play", "kube", "--replace", "--network", "host", str(self._file), within=120)
        try:
            yield
        finally:
            podman("play", "kube", "--down", str(self._file), within=120)

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_WITHIN
        for path in self._probes:
            while self.get(path)[0] != 200:
                assert self.inspect()["State"]["Running"], log_lines(self.name)[-5:]
                assert time.monotonic() < deadline, f"{path} does not answer with 200"
                time.sleep(0.2)

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def inspect(self) -> dict[str, Any]:
        about: dict[str, Any] = json.loads(podman("container", "inspect", self.name))[0]
        return about

    def shell(self, script: str) -> str:
        return podman("exec", self.name, "sh", "-c", script).strip()


async def test_the_pod_of_the_chart_publishes_and_stops_in_time(
    kafka: ApacheKafka, image: str, tmp_path: Path
) -> None:
    stage = Stage(kafka, f"pod{time.monotonic_ns()}", tmp_path)
    await stage.create_topics()
    await produce(stage, make_records(RECORDS, seed=1))
    values = tmp_path / "values"
    values.mkdir()
    (values / "values.yaml").write_text(yaml.safe_dump(_values(stage, image)))
    pod = Pod(values / "values.yaml")
    with pod.running():
        await asyncio.to_thread(pod.wait_until_ready)
        published = await wait_until_accounted(stage, RECORDS, within=90)
        check_published(published, RECORDS)
        _check_confinement(pod)
        assert "stream_anon_records_released_total" in pod.get("/metrics")[1]
        podman("exec", pod.name, "python", "-I", "/opt/stream-anon/healthcheck.py")
        # What is run beside the service finds the kernels that the image brought.
        assert int(pod.shell('find "$NUMBA_CACHE_DIR" -type f | wc -l')) > 50

        grace = pod.spec["terminationGracePeriodSeconds"]
        begun = time.monotonic()
        await asyncio.to_thread(podman, "stop", "--time", str(grace), pod.name, within=grace + 30)
        took = time.monotonic() - begun
        state = pod.inspect()["State"]
        assert (state["ExitCode"], state["OOMKilled"]) == (0, False)
        assert took < grace
        said = {line["event"] for line in log_lines(pod.name)}
        assert {"stopping", "stopped"} <= said
        assert "failed" not in said
        print(f"SIGTERM to exit: {took:.1f} s of {grace}")  # noqa: T201


def _check_confinement(pod: Pod) -> None:
    """Check from inside what the security context only asks for."""
    status = dict(line.split(":\t", 1) for line in pod.shell("cat /proc/1/status").splitlines() if ":\t" in line)
    assert set(status["Uid"].split()) == {"65532"}
    assert set(status["Gid"].split()) == {"65532"}
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == int(status["CapPrm"], 16) == 0
    assert status["NoNewPrivs"] == "1"
    written = pod.shell(
        "for d in / /opt/stream-anon /opt/venv /etc/stream-anon /usr /var/tmp; do "
        "touch $d/trace 2>/dev/null && echo $d; done; touch /tmp/trace && echo /tmp"
    )
    assert written == "/tmp"  # noqa: S108
    assert pod.shell("ls /var/run/secrets/kubernetes.io 2>/dev/null | wc -l") == "0"
