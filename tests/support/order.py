"""What runs first and what runs in one process, where tests are dealt to several.

The longest come first, or one process is left alone with them at the end. Of the fast ones the two that compile the
most kernels come first of all: they need different ones, so neither waits for the other's.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

_FIRST = (
    # With a broker.
    "tests/integration/kafka/test_storm.py::test_a_storm_loses_repeats_and_exposes_no_record",
    "tests/integration/kafka/test_three_brokers.py",
    "tests/integration/kafka/test_storm.py::test_a_storm_on_avro_and_its_registry_loses_repeats_and_exposes_no_record",
    "tests/deploy/test_pod.py",
    "tests/deploy/test_image.py",
    "tests/deploy/test_wheel.py",
    "tests/integration/kafka/test_late_requests.py",
    "tests/integration/kafka/test_flood.py",
    "tests/integration/kafka/test_delay.py",
    "tests/integration/test_scraping.py",
    "tests/integration/kafka/test_panels.py",
    "tests/integration/kafka/test_plan.py",
    "tests/integration/kafka/test_failures.py",
    "tests/integration/kafka/test_security.py",
    "tests/integration/kafka/test_storm.py",
    "tests/integration/kafka/test_rollout.py",
    "tests/integration/test_spark.py",
    "tests/integration/kafka/test_forget.py",
    "tests/integration/kafka/test_fleet.py",
    "tests/integration/kafka/test_worker.py",
    "tests/integration/kafka/test_audit.py",
    "tests/integration/kafka/test_inputs.py",
    "tests/integration/kafka/test_recreated.py",
    "tests/integration/kafka/test_mirror.py",
    "tests/integration/kafka/test_mirror_back.py",
    "tests/integration/kafka/test_debezium.py",
    "tests/integration/test_demo.py",
    "tests/deploy/test_api_server.py",
    "tests/deploy/test_chart.py",
    # Without.
    "tests/conformance/test_vectors.py",
    "tests/conformance/test_partitioners.py",
    "tests/properties/test_engine_machine.py",
    "tests/simulation/test_workers.py",
    "tests/simulation/test_wire.py",
    "tests/properties/test_codec.py",
    "tests/properties/test_adult.py",
    "tests/unit/operations/propose/test_proposing.py",
    "tests/unit/deploy/test_alerts.py",
    "tests/unit/service/test_worker.py",
    "tests/attacks/test_sybils.py",
    "tests/unit/cli/run/test_anonymize.py",
    "tests/attacks/test_watching.py",
    "tests/unit/cli/prove/test_audit.py",
    "tests/unit/test_compiled.py",
)
_PLACES = {start: place for place, start in enumerate(_FIRST)}
# Files that stay together: what they share takes long to make; or they measure speed or take all cores, and no two
# of these should meet.
_TOGETHER = {
    "tests/integration/kafka/test_failures.py": "a secured broker",
    "tests/integration/kafka/test_security.py": "a secured broker",
    "tests/deploy/test_pod.py": "what is built",
    "tests/deploy/test_image.py": "what is built",
    "tests/deploy/test_wheel.py": "what is built",
    "tests/integration/kafka/test_flood.py": "the machine",
    "tests/integration/kafka/test_delay.py": "the machine",
    "tests/integration/kafka/test_panels.py": "the machine",
    "tests/integration/kafka/test_plan.py": "the machine",
    "tests/integration/kafka/test_three_brokers.py": "the machine",
    "tests/integration/test_spark.py": "the machine",
    "tests/integration/kafka/test_debezium.py": "the machine",
}
# Each test of these may run in any process: all that they share is a broker at most, and each process has one.
_DEALT_OUT = {
    "tests/integration/kafka/test_late_requests.py",
    "tests/integration/kafka/test_storm.py",
    "tests/integration/kafka/test_forget.py",
    "tests/integration/kafka/test_fleet.py",
    "tests/integration/kafka/test_worker.py",
    "tests/integration/kafka/test_audit.py",
    "tests/integration/kafka/test_inputs.py",
    "tests/integration/kafka/test_recreated.py",
    "tests/integration/kafka/test_mirror.py",
    "tests/integration/kafka/test_mirror_back.py",
}


class InGroups(LoadScopeScheduling):
    """Deal groups of tests to processes in their order; a group is a file if nothing else is said."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file in _DEALT_OUT else _TOGETHER.get(file, file)


def put_in_order(items: list[pytest.Item]) -> None:
    """Put the longest first."""
    items.sort(key=lambda item: _place(item.nodeid))


def _place(nodeid: str) -> int:
    test, file = nodeid.partition("[")[0], nodeid.partition("::")[0]
    return _PLACES.get(test, _PLACES.get(file, len(_PLACES)))
