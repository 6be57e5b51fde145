"""A shadow run has a group and a file of its own, and sends nothing."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.writing.shadow_producer import ShadowProducer
from stream_anon.cli.run.run import run
from stream_anon.errors import SettingsError
from stream_anon.ports import Membership, Parcel
from stream_anon.service.shadow import Shadow
from stream_anon.settings.sections.kafka_settings import KafkaSettings

KAFKA = KafkaSettings(bootstrap_servers="127.0.0.1:9", group="g", input="people", output="out")
PARCELS = (
    Parcel("out", 0, [b"record"], 0),
    Parcel("out.certificates", 0, [b"part 1"], 0),
    Parcel("out.certificates", 0, [b"part 2"], 0),
    Parcel("out.dead-letters", 0, [b"letter"], 0),
)


class Requests:
    """Takes the offsets of a group; the producer beside it must not be touched."""

    def __init__(self) -> None:
        self.committed: dict[Any, int] = {}

    async def commit(self, offsets: dict[Any, int], membership: Membership) -> None:
        self.committed |= offsets


async def test_a_window_moves_offsets_and_leaves_its_certificate_and_nothing_else() -> None:
    kept: list[list[bytes]] = []
    sink: Any = ShadowProducer(
        Connection("127.0.0.1:9", "g.shadow"), "out.certificates", ["out"], lambda p: kept.append([*p])
    )
    requests = Requests()
    sink._producer, sink._requests, sink._shipment = SimpleNamespace(), requests, SimpleNamespace()

    await sink.begin()
    await sink.send(PARCELS)
    assert await sink.settle() == {}
    await sink.add_offsets()
    assert kept == [], "not before its offsets are committed"
    await sink.commit_offsets({("people", 0): 7}, Membership(1, "m"))
    await sink.commit()

    assert kept == [[b"part 1", b"part 2"]]
    assert requests.committed == {("people", 0): 7}


async def test_no_topic_that_a_service_publishes_to_is_asked_for() -> None:
    sink: Any = ShadowProducer(Connection("127.0.0.1:9", "g.shadow"), "out.certificates", ["out"], lambda _: None)

    assert await sink.partitions("out") == 1


def test_certificates_are_added_to_the_file_and_its_readers_see_them_at_once(tmp_path: Path) -> None:
    file = tmp_path / "certificates.jsonl"
    for part in (b"one", b"two"):
        with Shadow(file).beside(KAFKA) as beside:
            assert beside.group == "g.shadow"
            beside.keep([part])
            assert file.read_bytes().endswith(part + b"\n")

    assert file.read_bytes() == b"one\ntwo\n"


def test_the_group_of_the_service_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="take partitions"), Shadow(tmp_path / "c", "g").beside(KAFKA):
        pytest.fail("it began")


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be written"), Shadow(tmp_path).beside(KAFKA):
        pytest.fail("it began")


def test_a_fleet_is_no_shadow(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="single worker"):
        run(tmp_path / "policy.yaml", workers=2, shadow=Shadow(tmp_path / "c"))
