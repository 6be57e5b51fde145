"""A plan against a run: the figures of `stream-anon plan` are those that a service on a real Kafka has."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from prometheus_client.parser import text_string_to_metric_families

from stream_anon.cli.decide.plan import PlanOutput, show_plan
from stream_anon.operations.plan.arrivals import Arrivals, Load, arrivals_of
from stream_anon.operations.plan.planning import PlanChoices, PlanLimits
from stream_anon.operations.plan.trial import Figures, Setting, try_setting
from stream_anon.operations.samples import SampleSource, sample_of_file
from stream_anon.settings.policy_file import load_policy
from tests.support.service import K, Published, Stage, WorkerProcess, make_records, wait_until_accounted

RATE = 20.0  # so that 2 % of the delay are more than a busy machine takes to close and commit a window
WINDOW = 800
SETTING = Setting(K, None, "forest", WINDOW, 600.0)
CLOSE = 0.02  # of a figure

pytestmark = [pytest.mark.kafka, pytest.mark.soak]


async def _send(stage: Stage, values: list[bytes]) -> None:
    """Send records at a steady rate to one partition: by the clock, so that a slow moment is made up for."""
    async with AIOKafkaProducer(bootstrap_servers=stage.kafka.address, acks="all", linger_ms=0) as producer:
        begun = time.monotonic()
        for number, value in enumerate(values):
            await asyncio.sleep(max(0.0, begun + number / RATE - time.monotonic()))
            await producer.send(stage.name, value, partition=0)
        await producer.flush()


def _figures(arrivals: Arrivals, seed: int = 1) -> Figures:
    found = try_setting(arrivals.policy, arrivals, SETTING, seed)
    assert found.figures is not None, found.reason
    return found.figures


def _mean_delay(page: str) -> float:
    samples = {
        sample.name: sample.value
        for family in text_string_to_metric_families(page)
        if family.name == "stream_anon_delay_seconds"
        for sample in family.samples
        if sample.name.endswith(("_sum", "_count"))
    }
    return samples["stream_anon_delay_seconds_sum"] / samples["stream_anon_delay_seconds_count"]


def _lost(published: Published) -> tuple[float, float]:
    """Return the shares of suppressed records and of information that the certificates tell."""
    windows = [one for one in published.certificates if one["part"] == 1]
    judged = sum(one["released"] + one["suppressed"] for one in windows)
    suppressed = sum(one["suppressed"] for one in windows) / judged
    return suppressed, sum(one["gcp"] * (one["released"] + one["suppressed"]) for one in windows) / judged


@pytest.mark.timeout(400)
async def test_delay_suppression_and_loss_of_a_run_are_those_of_the_plan(stage: Stage, tmp_path: Path) -> None:
    # Nobody has more than one record in a window: who comes again is suppressed.
    window = {"max_records": WINDOW, "max_delay": "10m", "max_records_per_individual": 1}
    config = stage.config(window=window, engine={"seed": 1})
    values = make_records(int(2.8 * WINDOW), 7)
    source = tmp_path / "in.jsonl"
    source.write_bytes(b"\n".join(values))
    policy = load_policy(config)
    planned = _figures(arrivals_of(policy, sample_of_file(policy, str(source)), Load(RATE)))
    assert planned.windows >= 2
    assert planned.suppressed > 0.1
    with WorkerProcess(config) as worker:
        await worker.wait_for("ready")
        await _send(stage, values)
        published = await wait_until_accounted(stage, planned.records)
        delay = _mean_delay(worker.get("/metrics")[1])
    suppressed, loss = _lost(published)
    assert len([one for one in published.certificates if one["part"] == 1]) == planned.windows
    assert suppressed == pytest.approx(planned.suppressed, rel=CLOSE)
    assert loss == pytest.approx(planned.loss, rel=CLOSE)
    assert delay == pytest.approx(planned.mean_delay, rel=CLOSE)
    # The same from the topic itself, by the broker's timestamps.
    told = tmp_path / "plan.json"
    choices = PlanChoices(max_records=(WINDOW,))
    asked = (config, SampleSource(None, config), Load(), choices, PlanLimits(), 1, PlanOutput(document=told))
    assert await asyncio.to_thread(show_plan, *asked) == 0
    document = json.loads(told.read_text())
    assert document["sample"]["timestamps"] is True
    assert document["sample"]["records"] == len(values)
    assert document["sample"]["record_bytes"] == pytest.approx(sum(map(len, values)) / len(values))
    assert [(size["max_records"], size["workers"]) for size in document["sizes"]] == [(WINDOW, 1)]
    assert document["sample"]["rate"] == pytest.approx(RATE, rel=CLOSE)
    (sampled,) = [one["figures"] for one in document["settings"]]
    assert sampled["windows"] == planned.windows
    assert sampled["suppressed"] == pytest.approx(suppressed, rel=CLOSE)
    assert sampled["mean_delay"] == pytest.approx(delay, rel=CLOSE)
    assert sampled["loss"] == pytest.approx(loss, rel=CLOSE)
