"""What is left of risks because a release is made by a program that runs somewhere, at some time."""

from __future__ import annotations

from collections.abc import Iterator

from stream_anon.microdata.policy import AboveMost, Policy
from stream_anon.operations.report.figures.evidence import UNKNOWN, Evidence
from stream_anon.operations.report.limits.residual_risk import ResidualRisk

_DRAWING = frozenset({"forest", "k-forest", UNKNOWN})


def risks_of_running(policy: Policy, evidence: Evidence) -> Iterator[ResidualRisk]:
    """Yield the limits that follow from engines, deliveries and what certificates lack."""
    if evidence.records.suppressed.total():
        yield ResidualRisk(
            "suppression",
            "That records are missing tells something: who is suppressed has rare values. A window that closed at "
            "its number of records tells how many are missing. A window that is missing as a whole had too few "
            "people or values.",
            "Wider ranges or larger windows, so that less is suppressed.",
        )
    if policy.above_max_suppressed is AboveMost.SUPPRESS:
        yield ResidualRisk(
            "planted-suppression",
            "Whoever may write to the input can have whole windows suppressed, and learn from a missing one that "
            "a record more than theirs was suppressed.",
            "Bound who may write to the input; above_max_suppressed: publish.",
        )
    yield _replay(policy, evidence)
    yield ResidualRisk(
        "same-records-twice",
        "Anyone who has several releases of the same records, each drawn anew, reckons with all of them at once. "
        "Drawn by a key, as files are by default, they are one release; but whoever may have records of their own "
        "released by that key can try out guesses.",
        "A key of draws (engine.draws_key_file) for one input only, to which no stranger may write.",
    )
    if evidence.on_topics:
        yield from _of_topics(policy, evidence)
    if evidence.undigested:
        yield ResidualRisk(
            "contents-not-compared",
            f"The certificates of {evidence.undigested:,} windows have no digests of contents: an exchange of "
            "sensitive values between released records would not be found in them.",
            "output.digest_key_file.",
        )


def _replay(policy: Policy, evidence: Evidence) -> ResidualRisk:
    if evidence.replayable:
        return ResidualRisk(
            "replay",
            f"In {evidence.replayable:,} windows a seed in the settings decided what the engine draws: who knows "
            "the settings and the other records can run the engine again, and compare.",
            "Leave engine.seed out, and use a key of draws.",
        )
    fixed = sorted((evidence.engines.keys() or {policy.maker}) - _DRAWING)
    if fixed:
        return ResidualRisk(
            "replay",
            f"{', '.join(fixed)} draws nothing: who knows all records of a window but one value can form its "
            "classes for each value that is possible, and compare.",
            "engine.name: forest, which draws.",
        )
    return ResidualRisk(
        "replay",
        "The engine draws by chance, and that hides only a part: who knows all records of a window but one value "
        "can try draws of their own for each value that is possible, and compare.",
        "More people in a window, and more attributes.",
    )


def _of_topics(policy: Policy, evidence: Evidence) -> Iterator[ResidualRisk]:
    yield ResidualRisk(
        "time-of-publication",
        "On a quiet topic the moment of publication tells when the first record of a window came, to a few per "
        "cent of window.max_delay, and of somebody who often comes alone far better. A full window is published "
        "when its last record comes.",
        "A longer window.max_delay.",
    )
    yield ResidualRisk(
        "times-of-brokers",
        "Anyone who reads the protocol of the brokers sees to the millisecond when a window was published, and "
        "which worker did it.",
    )
    yield ResidualRisk(
        "topics-of-the-controller",
        "Certificates, dead letters, the ledger, status and metrics name offsets, times and counts. Anyone who "
        "reads them beside the output learns when records came, and which of them were rejected.",
        "Give readers an ACL on the output topic itself, never on its name as a prefix.",
    )
    yield ResidualRisk(
        "watching",
        "Whoever may write to the input and also sees status or metrics can plant records beside somebody, and "
        "see by the figures of the window that they were in it.",
        "Close the ports of status and metrics to those who may write.",
    )
    yield ResidualRisk(
        "arrival",
        "Anyone who brought the last records of a window has a small part in who shares a class with whom.",
        "A key of draws (engine.draws_key_file), with which arrival has none. It costs time.",
    )
    if "exactly-once" in evidence.deliveries:
        yield ResidualRisk(
            "uncommitted",
            "A reader without isolation.level=read_committed, Kafka's default, also sees attempts that were "
            "aborted: the same people in other classes.",
            "Readers set isolation.level=read_committed.",
        )
    if "at-least-once" in evidence.deliveries:
        yield ResidualRisk(
            "at-least-once",
            "Some windows were published at least once: after a crash the same people may have been published in "
            "two different windows.",
            "Deliver exactly once (the default).",
        )
    if policy.window.target_loss is not None:
        yield ResidualRisk(
            "small-windows",
            "With window.target_loss whoever plants records that are alike makes everybody's windows smaller, and "
            "their classes wider.",
            "Leave window.target_loss out where strangers may write to the input.",
        )
