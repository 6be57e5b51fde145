"""The compose file and what it mounts: valid, pinned, and every name in it leads somewhere."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream_anon.settings.loading import load_settings
from stream_anon.settings.policy_file import load_policy
from tests.support.data import ROOT

COMPOSE = ROOT / "docker-compose.yml"
STAGE: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
SERVICES: dict[str, dict[str, Any]] = STAGE["services"]
GRAFANA = ROOT / "deploy" / "grafana"


def _mounts(service: str) -> dict[str, str]:
    """Return what is mounted where, without the mode."""
    pairs = [volume.split(":") for volume in SERVICES[service].get("volumes", [])]
    return {pair[1]: pair[0] for pair in pairs}


def test_the_compose_file_fits_the_specification() -> None:
    program = shutil.which("check-jsonschema", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("check-jsonschema is not installed")
    command = [program, "--builtin-schema", "vendor.compose-spec", str(COMPOSE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_every_image_has_an_exact_version() -> None:
    for name, service in SERVICES.items():
        repository, _, tag = service["image"].partition(":")
        assert repository, name
        assert re.fullmatch(r"v?\d+\.\d+\.\d+", tag), name


def test_every_name_leads_to_a_service_a_file_or_a_volume() -> None:
    for name, service in SERVICES.items():
        for other, condition in service.get("depends_on", {}).items():
            assert other in SERVICES, (name, other)
            healthy = condition["condition"] == "service_healthy"
            own = SERVICES[other]
            assert not healthy or "healthcheck" in own or own["image"].startswith("stream-anon:"), (name, other)
        for source in _mounts(name).values():
            assert (ROOT / source).exists() if source.startswith("./") else source in STAGE["volumes"], source
    used = {source for name in SERVICES for source in _mounts(name).values() if not source.startswith("./")}
    assert used == set(STAGE["volumes"])


def test_every_port_is_open_to_this_machine_only() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)
    hosts = [port.split(":")[1] for port in published]
    assert len(set(hosts)) == len(hosts)
    assert "127.0.0.1:3000:3000" in published


def test_every_service_waits_for_what_it_needs() -> None:
    """A service waits for those that it needs at its start, directly or through another."""

    def before(name: str) -> set[str]:
        direct = set(SERVICES[name].get("depends_on", {}))
        return direct.union(*(before(other) for other in direct))

    assert before("grafana") == {"kafka", "topics", "stream-anon", "prometheus"}
    assert {"kafka", "topics", "stream-anon"} <= before("visits")
    assert SERVICES["stream-anon"]["depends_on"]["topics"]["condition"] == "service_completed_successfully"


def test_the_service_accepts_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SERVICES["stream-anon"]["environment"].items():
        monkeypatch.setenv(name, value)
    policy = ROOT / _mounts("stream-anon")["/etc/stream-anon"] / "policy.yaml"
    kafka = load_settings(policy).kafka
    assert kafka is not None
    assert kafka.bootstrap_servers == SERVICES["topics"]["environment"]["BROKER"]
    assert (kafka.input, kafka.output) == (
        SERVICES["topics"]["environment"]["INPUT"],
        SERVICES["topics"]["environment"]["OUTPUT"],
    )
    made = set(re.findall(r'^create "(\S+)"', (ROOT / "deploy/compose/create-topics.sh").read_text(), re.MULTILINE))
    assert made == {"$INPUT", "$OUTPUT", "$OUTPUT.certificates", "$OUTPUT.dead-letters"}
    command = SERVICES["visits"]["command"]
    assert command[command.index("--topic") + 1] == kafka.input
    assert command[command.index("--bootstrap-servers") + 1] == kafka.bootstrap_servers
    assert load_policy(policy).window.max_records == 2000


def test_the_service_has_no_more_rights_than_it_needs() -> None:
    for name in ("stream-anon", "visits"):
        service = SERVICES[name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "user" not in service  # the image's own


def test_prometheus_scrapes_the_service() -> None:
    config = yaml.safe_load((ROOT / _mounts("prometheus")["/etc/prometheus/prometheus.yml"]).read_text())
    targets = [t for job in config["scrape_configs"] for part in job["static_configs"] for t in part["targets"]]
    assert targets == ["stream-anon:9464"]
    mounted = {path.rpartition("/")[2] for path in _mounts("prometheus")}
    assert set(config["rule_files"]) <= mounted


def test_grafana_is_given_the_dashboard_and_its_data() -> None:
    inside = _mounts("grafana")["/var/lib/grafana/dashboards"]
    sources = yaml.safe_load((GRAFANA / "provisioning/datasources/prometheus.yml").read_text())["datasources"]
    assert [source["url"] for source in sources] == ["http://prometheus:9090"]
    providers = yaml.safe_load((GRAFANA / "provisioning/dashboards/stream-anon.yml").read_text())["providers"]
    assert [provider["options"]["path"] for provider in providers] == ["/var/lib/grafana/dashboards"]
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert json.loads((ROOT / inside / Path(home).name).read_text())["panels"]


def test_the_script_that_creates_topics_can_be_parsed() -> None:
    script = ROOT / "deploy" / "compose" / "create-topics.sh"
    done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, timeout=10, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.kafka
async def test_the_example_producer_sends_each_person_to_one_partition(kafka: Any) -> None:
    topic = "compose.visits"
    await kafka.create_topic(topic, 4)
    command = [sys.executable, "examples/producer.py", "--bootstrap-servers", kafka.address, "--topic", topic]
    process = await asyncio.create_subprocess_exec(
        *command, "--rate", "2000", "--most", "600", cwd=ROOT, stdout=subprocess.PIPE
    )
    said, _ = await asyncio.wait_for(process.communicate(), 120)
    assert (process.returncode, said.decode().strip()) == (0, "600 visits sent")
    records = await kafka.read_to_end(topic)
    assert len(records) == 600
    places: dict[str, set[int]] = {}
    for record in records:
        found = re.search(rb'"id":"(P-\d+)"', record.value)
        if found and record.value.endswith(b"}"):
            places.setdefault(found[1].decode(), set()).add(record.partition)
    assert len({p for part in places.values() for p in part}) == 4
    assert sum(len(part) > 1 for part in places.values()) == 0
