"""Metrics of published classes: what the policy asks of them, what they reached, and what it cost."""

from __future__ import annotations

from stream_anon.adapters.prometheus.declaring import Declaring
from stream_anon.microdata.bounds import Shield
from stream_anon.service import events as e
from stream_anon.service.wiring.metrics.windows import RATIOS

SIZES = (2, 3, 5, 7, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 200, 500, 1000, 10_000)
VERDICTS = ("passed", "failed", "skipped")


class ClassMetrics:
    """Shows k, shields, loss and leakage of published windows, and counts what gate and audit found."""

    def __init__(self, declare: Declaring) -> None:
        self._k_asked = declare.gauge("policy_k", "Least number of individuals that the policy asks of a class.")
        self._shields_asked = declare.gauge(
            "policy_shield_k", "Least number of individuals that the policy asks of a shield.", ("shield",)
        )
        self._sizes = declare.histogram("class_size_records", "Records of each published equivalence class.", SIZES)
        self._k = declare.gauge("achieved_k", "Least number of individuals in a class of the last window.")
        self._shields = declare.gauge(
            "achieved_shield_k",
            "Least number of individuals in the last window who share the values of a shield's attributes.",
            ("shield",),
        )
        self._below_k = declare.counter(
            "windows_below_k", "Published windows whose achieved k is below k, the policy's or a shield's: a bug."
        )
        self._loss = declare.gauge("information_loss_ratio", "Information loss (GCP) of the last window.")
        self._losses = declare.histogram(
            "window_information_loss_ratio", "Information loss (GCP) of each published window.", RATIOS
        )
        self._attribute_loss = declare.counter(
            "attribute_information_loss",
            "Sum of an attribute's loss (NCP) over published and suppressed records, which count 1.",
            ("attribute",),
        )
        self._leakage = declare.gauge(
            "information_leakage_ratio",
            "What an attribute leaks of who somebody is: after the release of the last measured window, and before "
            "that of one in an hour, with noise; no series before a window was measured.",
            ("attribute", "stage"),
        )
        self._violations = declare.counter("gate_violations", "Classes that the gate had to suppress: a bug.")
        self._audits = declare.family(
            "windows_audited", "Published windows, by what auditing them again found.", "result", VERDICTS
        )
        self._order = declare.gauge(
            "order_version", "Orders the engine has adopted since the start, the first is 1."
        )
        self._asked = 0
        self._asked_of_shields: tuple[Shield, ...] = ()
        self._attributes: tuple[str, ...] = ()

    def __call__(self, event: e.Event) -> None:
        """Count what an event says of classes."""
        match event:
            case e.WorkerStarted():
                self._start(event)
            case e.WindowPublished():
                self._publish(event)
            case e.WindowAudited():
                self._audits.add(event.result)
            case e.WindowMeasured():
                self._measure(event)
            case e.OrderAdopted():
                self._order.set(event.version)

    def _start(self, event: e.WorkerStarted) -> None:
        self._asked, self._asked_of_shields, self._attributes = event.k, event.shields, event.attributes
        self._k_asked.set(event.k)
        for shield in event.shields:
            self._shields_asked.labels(_name(shield)).set(shield.k)
            self._shields.labels(_name(shield))
        for attribute in event.attributes:
            self._attribute_loss.labels(attribute)

    def _publish(self, event: e.WindowPublished) -> None:
        self._sizes.observe(event.class_sizes)
        self._violations.inc(event.gate_violations)
        below = event.achieved_k is not None and event.achieved_k < self._asked
        for shield, achieved in zip(self._asked_of_shields, event.achieved_shields, strict=False):
            self._shields.labels(_name(shield)).set(achieved)
            below |= achieved < shield.k
        self._below_k.inc(below)
        if event.achieved_k is not None:
            self._k.set(event.achieved_k)
        if event.gcp is not None:
            self._loss.set(event.gcp)
            self._losses.observe(event.gcp)
        lost = event.classes.ncp @ event.classes.records + sum(event.suppressed.values())
        for attribute, loss in zip(self._attributes, lost.tolist(), strict=False):
            self._attribute_loss.labels(attribute).inc(loss)

    def _measure(self, event: e.WindowMeasured) -> None:
        for attribute, before, after in event.shares:
            if attribute in self._attributes:  # no other name becomes a label
                if before is not None:
                    self._leakage.labels(attribute, "before").set(before)
                self._leakage.labels(attribute, "after").set(after)


def _name(shield: Shield) -> str:
    return ", ".join(shield.attributes)
