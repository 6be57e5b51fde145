"""What follows which policy on one output, by the certificates of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from stream_anon.adapters.kafka.bulk.record_columns import Records
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.topic_sample import SampleLimits, TopicSample
from stream_anon.errors import BrokerError, SettingsError
from stream_anon.judging.findings import Severity
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.texts import Texts
from stream_anon.operations.starting import conditions, rollout
from stream_anon.operations.starting.conditions import Deployment, Sampled
from stream_anon.operations.starting.permission import permit_of
from stream_anon.operations.starting.rollout import (
    Before,
    NewestCertificates,
    _is_part,
    before_of,
    published_before,
    refuse_weaker,
    rollout_findings,
    weaker_than,
)
from stream_anon.privacy.certificate import SCHEMA_VERSION, Achieved, Certificate, CertifiedClass
from stream_anon.privacy.policy_document import PolicyDocument
from stream_anon.privacy.promises import asked_of, individual_of, stated_by, terms_of
from stream_anon.settings.policy_file import load_policy
from stream_anon.settings.sections.kafka_settings import KafkaSettings
from stream_anon.windowing.loss_law import WindowLoss
from tests.support.policies import write_policy


def _policy(folder: Path, **privacy: Any) -> Policy:
    return load_policy(write_policy(folder, privacy=privacy))


def _certificate(policy: Policy, second: int = 0, **values: Any) -> bytes:
    """Return a certificate of a window that closed at some second of a minute."""
    classes = [CertifiedClass(5, 5, values, 0.1)] if values else []
    certificate = Certificate(
        schema=SCHEMA_VERSION,
        batch="ab",
        part=1,
        parts=1,
        opened="2026-01-01T00:00:00Z",
        closed=f"2026-01-01T00:01:{second:02}Z",
        records_in=5,
        released=5,
        suppressed=0,
        rejected=0,
        suppressed_by_reason={},
        rejected_by_reason={},
        asked=asked_of(policy),
        achieved=Achieved(5, {}),
        gcp=0.1,
        engine="forest",
        policy=policy.digest,
        software="stream_anon 0",
        delivery="exactly-once",
        previous=None,
        inputs=[],
        classes=classes,
        revision=policy.revision,
        missing={},
        accepted=[],
        promises=None,
        individual=individual_of(policy),
        terms=terms_of(policy),
    )
    return msgspec.json.encode(certificate)


def _before(policy: Policy) -> Before:
    before = before_of([_certificate(policy, **{"age": 1, "home.city": "Oslo"})])
    assert before is not None
    return before


@pytest.mark.parametrize(
    ("counts", "known"),
    [
        ({"released": 60, "suppressed": 40, "gcp": 0.52}, WindowLoss(60, 0.2)),
        ({"released": 60, "suppressed": 0, "gcp": 0.2}, WindowLoss(60, 0.2)),
        ({"released": 0, "suppressed": 40, "gcp": 1.0}, None),
        ({"released": 0, "suppressed": 0, "gcp": None}, None),
    ],
)
def test_sizes_begin_with_the_loss_of_what_the_newest_window_published(
    tmp_path: Path, counts: dict[str, Any], known: WindowLoss | None
) -> None:
    before = before_of([msgspec.json.encode(msgspec.json.decode(_certificate(_policy(tmp_path))) | counts)])
    assert before is not None
    if known is None:
        assert before.window is None
    else:
        assert before.window == pytest.approx(known)


def test_no_certificate_tells_nothing(tmp_path: Path) -> None:
    assert before_of([]) is None
    assert before_of([b"", b"{}", b"\xff"]) is None


def test_certificates_of_another_release_alone_forbid_a_start_until_somebody_accepts_it(tmp_path: Path) -> None:
    policy = _policy(tmp_path)
    before = before_of([b'{"schema": 9, "batch": "b"}'])
    (weaker,) = weaker_than(policy, before, ledger=True)
    assert weaker.place == "promises"
    with pytest.raises(SettingsError, match="until an unknown time"):
        refuse_weaker(policy, "", before, ledger=True)
    refuse_weaker(policy, policy.digest, before, ledger=True)
    assert weaker_than(_policy(tmp_path), None, ledger=True) == ()


def test_the_newest_window_of_the_highest_revision_counts(tmp_path: Path) -> None:
    old, new = _policy(tmp_path, k=4, revision=1), _policy(tmp_path, k=5, revision=2)
    newer = _policy(tmp_path, k=6, revision=2)

    before = before_of([_certificate(newer, 7), b"no certificate", _certificate(old, 9), _certificate(new, 5)])

    assert before is not None
    assert (before.policy, before.revision, before.closed) == (newer.digest, 2, "2026-01-01T00:01:07Z")


def test_where_a_clock_was_set_back_offsets_tell_the_newest_window(tmp_path: Path) -> None:
    old, new = _policy(tmp_path, k=4), _policy(tmp_path, k=5)

    def window(policy: Policy, second: int, start: int, batch: str, parts: int = 1, part: int = 1) -> bytes:
        inputs = [{"topic": "people", "partition": part, "start": start, "end": start + 10, "topic_id": "id"}]
        changes = {"batch": batch, "inputs": inputs, "part": part, "parts": parts}
        return msgspec.json.encode(msgspec.json.decode(_certificate(policy, second)) | changes)

    before_the_clock_was_set = [window(old, 50, 0, "aa", 2, 1), window(old, 50, 0, "aa", 2, 2)]
    for values in permutations([*before_the_clock_was_set, window(new, 3, 10, "bb", 2, 2)]):
        before = before_of(values)
        assert before is not None
        assert before.policy == new.digest


def test_the_policy_document_beside_certificates_tells_all_that_was_promised(tmp_path: Path) -> None:
    old = _policy(tmp_path, k=5)
    document = PolicyDocument.of(old)
    certificate = _certificate(old, age=1)
    named = msgspec.json.encode(msgspec.json.decode(certificate) | {"promises": document.promises})

    before = before_of([*document.parts(), named])
    assert before is not None
    assert before.promises == stated_by(old)
    assert weaker_than(old, before, ledger=True) == ()

    without = before_of([named])
    assert without is not None
    assert not without.known
    assert "promises" in {each.place for each in weaker_than(_policy(tmp_path, k=6), without, ledger=True)}


def test_who_was_counted_and_the_terms_are_known_where_the_policy_document_is_gone(tmp_path: Path) -> None:
    old = _policy(tmp_path)
    sections: dict[str, dict[str, Any]] = {
        "attributes": {"person": {"role": "identifier", "path": ["event"]}},
        "window": {"max_records_per_individual": 101},
    }
    read_elsewhere = load_policy(write_policy(tmp_path, **sections))

    before = before_of([_certificate(old, **{"age": 1, "home.city": "Oslo"})])

    assert [each.place for each in weaker_than(read_elsewhere, before, ledger=True)] == [
        "privacy.individual",
        "window.max_records_per_individual",
    ]


def test_a_certificate_that_names_ids_without_a_place_is_no_reason_to_fail(tmp_path: Path) -> None:
    told = msgspec.json.decode(_certificate(_policy(tmp_path))) | {"individual": {"field": "person"}}

    found = weaker_than(_policy(tmp_path, k=6), before_of([msgspec.json.encode(told)]), ledger=True)

    assert [each.place for each in found] == ["privacy.individual"]


def test_another_engine_is_seen_where_the_policy_document_is_gone(tmp_path: Path) -> None:
    before = before_of([_certificate(_policy(tmp_path))])
    mondrian = load_policy(write_policy(tmp_path, engine={"name": "mondrian"}))

    assert [each.place for each in weaker_than(mondrian, before, ledger=True)] == ["engine.name"]


def test_windows_of_no_chosen_size_promise_what_they_hold_at_the_least(tmp_path: Path) -> None:
    """Whoever writes back the number that was the default before, at night, is not refused."""
    compared = {"sensitive": {"illness": {"t_closeness": {"t": 0.3, "distance": "equal"}}}}

    def policy(max_records: int | str) -> Policy:
        return load_policy(write_policy(tmp_path, privacy=compared, window={"max_records": max_records}))

    auto, default, large, small = (policy(records) for records in ("auto", 10_000, 500_000, 9_999))
    of_auto, of_large = (before_of([_certificate(each)]) for each in (auto, large))
    assert msgspec.json.decode(_certificate(auto))["terms"]["max_records"] == 10_000

    refuse_weaker(default, "", of_auto, ledger=True)
    assert weaker_than(auto, before_of([_certificate(default)]), ledger=True) == ()
    assert weaker_than(large, of_auto, ledger=True) == ()
    for weaker, before in ((auto, of_large), (small, of_auto)):
        assert [each.place for each in weaker_than(weaker, before, ledger=True)] == ["window.max_records"]


def test_the_same_policy_without_a_ledger_is_weaker_than_with_one_and_not_conversely(tmp_path: Path) -> None:
    policy = _policy(tmp_path)
    once, twice = (
        before_of([msgspec.json.encode(msgspec.json.decode(_certificate(policy)) | {"delivery": delivery})])
        for delivery in ("exactly-once", "at-least-once")
    )

    assert [each.place for each in weaker_than(policy, once, ledger=False)] == ["kafka.delivery"]
    assert weaker_than(policy, twice, ledger=False) == weaker_than(policy, twice, ledger=True) == ()
    with pytest.raises(SettingsError, match="may be published twice"):
        refuse_weaker(policy, "", once, ledger=False)
    refuse_weaker(policy, policy.digest, once, ledger=False)
    (found,) = rollout_findings(policy, once, "", ledger=False)
    assert (found.severity, found.place) == (Severity.FORBIDS, "privacy.accept_weaker")


def test_a_lower_k_is_refused_with_the_line_that_accepts_it(tmp_path: Path) -> None:
    before, policy = _before(_policy(tmp_path, k=10)), _policy(tmp_path, k=5)

    with pytest.raises(SettingsError) as refused:
        refuse_weaker(policy, "", before, ledger=True)

    assert "privacy.k was 10 and would fall to 5" in str(refused.value)
    assert f"`accept_weaker: {policy.digest}` under `privacy`" in str(refused.value)


def test_a_weaker_policy_that_was_accepted_is_not_refused(tmp_path: Path) -> None:
    before, policy = _before(_policy(tmp_path, k=10)), _policy(tmp_path, k=5)

    accepting = _policy(tmp_path, k=5, accept_weaker=policy.digest)

    assert accepting.digest == policy.digest
    refuse_weaker(accepting, policy.digest, before, ledger=True)


def test_an_acceptance_is_good_for_one_policy_only(tmp_path: Path) -> None:
    before, accepted = _before(_policy(tmp_path, k=10)), _policy(tmp_path, k=5)

    with pytest.raises(SettingsError, match=r"privacy\.k was 10 and would fall to 4"):
        refuse_weaker(_policy(tmp_path, k=4), accepted.digest, before, ledger=True)


def test_another_hash_is_no_setting(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"privacy\.accept_weaker"):
        _policy(tmp_path, accept_weaker="yes")


def test_a_quasi_identifier_that_leaves_as_it_is_is_weaker(tmp_path: Path) -> None:
    before = _before(_policy(tmp_path))
    passing = load_policy(write_policy(tmp_path, attributes={"home.city": {"role": "insensitive"}}))

    assert [each.place for each in weaker_than(passing, before, ledger=True)] == ["attributes.home.city"]


def test_the_same_policy_and_a_lower_revision_are_not_compared(tmp_path: Path) -> None:
    before = _before(_policy(tmp_path, k=10, revision=2))

    refuse_weaker(_policy(tmp_path, k=10, revision=2), "", before, ledger=True)
    refuse_weaker(
        _policy(tmp_path, k=5, revision=1), "", before, ledger=True
    )  # it stands by: see service/takeover/takeover_steps.py


def test_a_restarted_worker_of_a_lower_revision_stands_by_without_a_ledger_too(tmp_path: Path) -> None:
    """It does while workers are changed to exactly-once, and must not crash over and over then."""
    before, old = _before(_policy(tmp_path, revision=2)), _policy(tmp_path, revision=1)

    refuse_weaker(old, "", before, ledger=False)
    (found,) = rollout_findings(old, before, "", ledger=False)
    assert (found.severity, found.place) == (Severity.WARNS, "privacy.revision")


def test_an_old_worker_that_is_refused_during_a_change_to_exactly_once_is_told_what_to_do(tmp_path: Path) -> None:
    policy = _policy(tmp_path)
    with pytest.raises(SettingsError, match=r"this is an old one: stop it\. .* a higher privacy\.revision"):
        refuse_weaker(policy, "", _before(policy), ledger=False)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ({"k": 10, "revision": 2}, []),
        ({"k": 12, "revision": 3}, []),
        ({"k": 12, "revision": 2}, [(Severity.WARNS, "privacy.revision")]),
        ({"k": 5, "revision": 1}, [(Severity.WARNS, "privacy.revision")]),
        ({"k": 5, "revision": 3}, [(Severity.FORBIDS, "privacy.accept_weaker")]),
    ],
)
def test_check_tells_how_a_policy_follows_the_one_before(
    tmp_path: Path, after: dict[str, Any], expected: list[tuple[Severity, str]]
) -> None:
    before = _before(_policy(tmp_path, k=10, revision=2))

    found = rollout_findings(_policy(tmp_path, **after), before, "", ledger=True)

    assert [(each.severity, each.place) for each in found] == expected


def test_check_still_names_what_was_accepted(tmp_path: Path) -> None:
    before, policy = _before(_policy(tmp_path, k=10)), _policy(tmp_path, k=5, revision=1)

    (found,) = rollout_findings(policy, before, policy.digest, ledger=True)

    assert (found.severity, found.place) == (Severity.WARNS, "privacy.accept_weaker")


def test_parts_of_certificates_and_of_policy_documents_are_kept_and_nothing_else(tmp_path: Path) -> None:
    policy = _policy(tmp_path)
    parts = [_certificate(policy), *PolicyDocument.of(policy).parts()]
    assert all(map(_is_part, parts))
    assert not any(map(_is_part, (None, b"", b"{}", bytes(2**20), parts[0][:-1], parts[1][:-1])))


def _with_document(policy: Policy) -> bytes:
    """Return a certificate that names the policy's document."""
    promises = {"promises": PolicyDocument.of(policy).promises}
    return msgspec.json.encode(msgspec.json.decode(_certificate(policy)) | promises)


class _Topic:
    """A topic of certificates: what is read of it in each try."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *readings: TopicSample) -> None:
        self._readings = list(readings)
        monkeypatch.setattr(rollout, "sample_topic", self.read)

    async def read(self, *_: object, **__: object) -> TopicSample:
        return self._readings.pop(0)


def _sample(*values: bytes, whole: bool = True, complete: bool = True, unreadable: int = 0) -> TopicSample:
    offsets = np.arange(len(values))
    records = {0: Records(Texts.of(values), offsets, offsets)}
    return TopicSample(records, frozenset([0] if whole else []), complete, unreadable)


async def _published_before() -> Before | None:
    return await published_before(NewestCertificates(Connection("127.0.0.1:9", "group"), "certificates"))


async def test_beside_what_nobody_can_read_it_is_not_known_what_was_promised_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = _policy(tmp_path, k=4)
    told = [*PolicyDocument.of(policy).parts(), _with_document(policy)]
    _Topic(monkeypatch, _sample(*told))
    sound = await _published_before()
    assert sound is not None
    assert sound.known
    _Topic(monkeypatch, *[_sample(*told, unreadable=1)] * 3)
    damaged = await _published_before()
    assert damaged is not None
    assert not damaged.known
    other = _policy(tmp_path, k=5)
    assert not weaker_than(other, sound, ledger=True)
    assert [each.place for each in weaker_than(other, damaged, ledger=True)] == ["promises"]


async def test_where_nothing_can_be_read_and_something_is_there_nothing_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _Topic(monkeypatch, *[_sample(whole=False, unreadable=3)] * 3)
    with pytest.raises(BrokerError, match="nobody knows what was promised before"):
        await _published_before()
    _Topic(monkeypatch, _sample())
    assert await _published_before() is None


async def test_a_reading_that_was_cut_off_makes_no_older_policy_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer, older = _policy(tmp_path, k=9, revision=2), _policy(tmp_path, k=2)
    gone = msgspec.json.encode(msgspec.json.decode(_certificate(newer)) | {"promises": f"sha256:{'0' * 64}"})
    first = _sample(gone, whole=False)
    _Topic(monkeypatch, first, first, _sample(_certificate(older), complete=False))
    before = await _published_before()
    assert before is not None
    assert (before.policy, before.known) == (newer.digest, False)


async def _started(policy: Policy, parts: Sequence[bytes], monkeypatch: pytest.MonkeyPatch) -> tuple[Any, bool]:
    """Return how far back a start reads certificates, in turn, and whether it looks at a sample of the input."""
    reads, looks = list[int | None](), list[str]()

    async def sample_topic(_: Connection, topic: str, limits: SampleLimits, **__: Any) -> TopicSample:
        assert topic == "out.certificates"
        reads.append(limits.newest)
        newest = len(parts) if limits.newest is None else limits.newest
        return _sample(*parts[-newest:], whole=newest >= len(parts))

    async def look_at_deployment(*_: object) -> Deployment:
        return Deployment((), (), ("people",))

    async def look_at_sample(*_: object) -> Sampled:
        looks.append("sample")
        return Sampled(None, ())

    monkeypatch.setattr(rollout, "sample_topic", sample_topic)
    monkeypatch.setattr(conditions, "look_at_deployment", look_at_deployment)
    monkeypatch.setattr(conditions, "look_at_sample", look_at_sample)
    for module in (rollout, conditions):
        monkeypatch.setattr(module, "NEWEST", (2, 4, None))
    given = {"bootstrap_servers": "127.0.0.1:9", "group": "g", "input": "people", "output": "out"}
    accepting = SimpleNamespace(accept_weaker=policy.digest, returning=None)
    settings: Any = SimpleNamespace(kafka=KafkaSettings.model_validate(given), privacy=accepting)
    await permit_of(Connection("127.0.0.1:9", "g"), settings, policy)
    return reads, bool(looks)


@pytest.mark.parametrize(
    ("same", "far", "depths"),
    [(True, 0, [2]), (False, 0, [2, 4]), (False, 3, [2, 4]), (False, 9, [2, 4, None])],
    ids=["restarted", "changed", "document further back", "document at the start"],
)
async def test_a_start_reads_no_certificate_again_to_see_whether_a_sample_was_judged_before(
    same: bool, far: int, depths: list[int | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = _policy(tmp_path, k=4)
    parts = [_with_document(policy)] * 10
    parts[len(parts) - far : len(parts) - far] = PolicyDocument.of(policy).parts()
    started = policy if same else _policy(tmp_path, k=5)
    assert await _started(started, parts, monkeypatch) == (depths, not same)


async def test_a_sample_that_was_judged_long_ago_is_judged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again, between = _policy(tmp_path, k=5), _policy(tmp_path, k=4)
    long_ago = [*PolicyDocument.of(again).parts(), _with_document(again), *PolicyDocument.of(between).parts()]
    parts = [*long_ago, *[_with_document(between)] * 5]
    assert await _started(again, parts, monkeypatch) == ([2, 4, None], True)


def test_a_certificate_of_another_release_is_not_passed_over_as_if_it_were_none(tmp_path: Path) -> None:
    policy = _policy(tmp_path)
    told = [*PolicyDocument.of(policy).parts(), _with_document(policy)]
    later = msgspec.json.encode(msgspec.json.decode(_certificate(policy, 9)) | {"of_the_future": 1})
    assert _is_part(later)
    sound, unsure = before_of(told), before_of([*told, later])
    assert sound is not None
    assert unsure is not None
    assert (sound.known, unsure.known) == (True, False)
    assert not _is_part(b"junk")
