"""The demo end to end, as a newcomer runs it after cloning the project."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stream_anon.adapters.embedded_broker import EmbeddedBroker
from stream_anon.adapters.kafka.reading.topic_reader import CommittedRecord, committed_records
from stream_anon.cli.run.demo import demo, example
from stream_anon.demo import producing
from stream_anon.errors import BrokerError, InputError
from stream_anon.operations.audit import auditing
from tests.support.data import ROOT, shared_data

pytestmark = [pytest.mark.tansu, pytest.mark.timeout(150)]

DEMO = [sys.executable, "-m", "stream_anon.cli.main", "demo"]
QUASI = ("sex", "race", "marital-status", "education", "native-country", "workclass", "occupation")


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []


def _adult_policy(folder: Path) -> Path:
    hierarchies = shared_data("arx-adult", "hierarchies")
    lines = ["privacy: {k: 10, individual: every-record}", "window: {max_records: 3000}", "attributes:"]
    for name in QUASI:
        file = hierarchies / f"adult_hierarchy_{name}.csv"
        lines.append(f"  {name}: {{role: quasi-identifier, hierarchy: {file}}}")
    lines += ["  age: {role: quasi-identifier, numeric: {min: 17, max: 90}}", "  salary-class: {role: sensitive}"]
    path = folder / "adult.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_make_demo_runs_the_demo_command() -> None:
    # A dry run: the real one would install into the environment that runs this test.
    run = subprocess.run(
        ["make", "--dry-run", "demo"], check=True, cwd=ROOT, capture_output=True, text=True, timeout=20
    )
    # make may say around it which folder it enters and leaves, where these tests run under make themselves.
    assert any(line.endswith("/stream-anon demo") for line in run.stdout.splitlines())


def test_the_demo_shows_what_happened_in_order() -> None:
    begun = time.monotonic()
    command = [*DEMO, "--events", "12000"]
    run = subprocess.run(
        command, check=False, cwd=ROOT, env=_environment(), capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    assert time.monotonic() - begun < 90
    assert run.stderr == ""
    said = run.stdout
    for heading in ("What flowed", "5 events, each before → after", "Audit of the output topic"):
        assert heading in said
    order = [
        said.index(part) for part in ("What flowed", "5 events, each", "Audit of", "Attacks on", "What k-anonymity")
    ]
    assert order == sorted(order)
    flowing = " ".join(said.split())
    proven = re.search(r"(\w+) of 13 attacks (tells?) more of people in the release than of others", flowing)
    assert proven is not None
    assert (proven[1] == "1") == (proven[2] == "tells")
    assert re.search(r"events in +12,000", said)
    assert re.search(r"achieved k +1\d", said)
    assert re.search(r"information loss +\d+\.\d%", said)
    assert re.search(r"delay +\d+\.\d\d s, \d+\.\d\d s", said)
    assert "PASSED" in said
    assert "on average; the policy allows 9%." in " ".join(said.split())
    assert "at-least-once" in said
    assert max(map(len, said.splitlines())) <= 100
    released, suppressed, rejected = (
        int(re.search(rf"{name} +([\d,]+)", said)[1].replace(",", ""))  # type: ignore[index]
        for name in ("released", "suppressed", "rejected")
    )
    assert released + suppressed + rejected == 12_000
    assert released > 11_000
    assert rejected > 0


def test_the_census_of_adults_passes_the_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    adults = shared_data("arx-adult", "adult.csv")
    monkeypatch.setattr(producing, "SENT_WITHIN", 3.0)
    assert demo(adults, _adult_policy(tmp_path), 6000, 5) == 0
    said = capsys.readouterr().out
    assert re.search(r"released +6,000", said)
    assert "asked for 5" in said
    assert "PASSED" in said


def test_a_failing_audit_gives_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def tampered(*asked: Any, **more: Any) -> AsyncIterator[list[CommittedRecord]]:
        fresh = True
        async for records in committed_records(*asked, **more):
            for n, record in enumerate(records):
                if fresh and record.topic == "demo.anonymous":
                    records[n], fresh = dataclasses.replace(record, value=b"{}"), False
            yield records

    monkeypatch.setattr(auditing, "committed_records", tampered)
    monkeypatch.setattr(producing, "SENT_WITHIN", 1.0)
    assert demo(None, None, 3000, None) == 1
    said = capsys.readouterr().out
    assert "FAILED" in said
    assert "PASSED" not in said


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_ends_its_broker(how: signal.Signals) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*DEMO, "--events", "400000"],
        cwd=ROOT,
        env=_environment(),
        stdout=pipe,
        stderr=pipe,
        text=True,
        process_group=0,
    ) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if "joining" in line:
                    break
            brokers = _children(process.pid)
            assert brokers
            process.send_signal(how)
            said, complaints = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "interrupted" in said
    assert complaints == ""
    assert not any(map(_alive, brokers))


def test_the_embedded_broker_listens_on_loopback_and_ends_with_its_block() -> None:
    with EmbeddedBroker() as broker:
        pid, address = broker.pid, broker.address
        assert address.startswith("127.0.0.1:")
        assert _listens_on_loopback_only(int(address.partition(":")[2]))
    assert pid is not None
    assert not _alive(pid)
    assert broker.pid is None


def test_a_broker_ends_when_its_block_fails() -> None:
    pids: list[int | None] = []

    def fail() -> None:
        with EmbeddedBroker() as broker:
            pids.append(broker.pid)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert pids[0] is not None
    assert not _alive(pids[0])


def _listens_on_loopback_only(port: int) -> bool:
    """Return whether every listening socket of that port is bound to 127.0.0.1."""
    listening, mark = "0A", f":{port:04X}"
    tables = [Path("/proc/net", name).read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table]
    bound = [row[1] for row in rows if row[3] == listening and row[1].endswith(mark)]
    return bound == ["0100007F" + mark]


def test_a_machine_without_the_broker_gets_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALF_TANSU_BIN", "/nonexistent/tansu")
    with pytest.raises(BrokerError, match="no embedded broker"), EmbeddedBroker():
        pass


def test_a_broker_that_ends_at_once_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "tansu"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CALF_TANSU_BIN", str(broken))
    with pytest.raises(BrokerError, match="does not start"), EmbeddedBroker():
        pass


def test_a_file_without_a_policy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--config"):
        demo(tmp_path / "x.csv", None, 10, None)


def test_an_example_is_found_by_its_name_and_another_name_is_refused() -> None:
    assert (example("clinic") / "policy.yaml").is_file()
    with pytest.raises(InputError, match="not installed"):
        example("nothing")
