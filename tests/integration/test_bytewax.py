"""Releases of a Bytewax dataflow, on Bytewax itself: interrupted, resumed, and begun anew."""

from __future__ import annotations

import base64
import importlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stream_anon import Anonymizer, Policy
from stream_anon.demo.clinic import visits
from stream_anon.errors import Refused, SettingsError
from stream_anon.hosts.release_folder import ReleaseFolder, StoredRelease
from tests.support.clock import FakeClock
from tests.support.data import ROOT
from tests.support.meddling import ONE, OTHER, check_each_meddling_is_named
from tests.support.modules import module_of
from tests.support.policies import people, write_policy
from tests.support.signing import secret_of
from tests.support.stored import as_a_file, audited, contents, rows_of, signers_of

op = pytest.importorskip("bytewax.operators")
Dataflow = pytest.importorskip("bytewax.dataflow").Dataflow
recovery, testing = pytest.importorskip("bytewax.recovery"), pytest.importorskip("bytewax.testing")
TestingSource = testing.TestingSource
host = pytest.importorskip("stream_anon.hosts.bytewax")

WINDOW, EACH = 50, {"engine": {"name": "mondrian", "seed": 1}}


NUMBERED = {"visits": {"role": "insensitive", "type": "integer", "accept_linkable": True}}


@pytest.fixture
def policy_path(tmp_path: Path) -> Path:
    return write_policy(tmp_path, **EACH, attributes=NUMBERED)


class Flow:
    """A dataflow over a list of records, with a store for its recovery."""

    def __init__(self, policy: Path, items: Sequence[Any], folder: Path, key: bytes | None = None) -> None:
        self.policy, self.items, self.released, self.key = policy, items, folder / "released", key
        self.signing_key: Path | None = None
        self.recovery = folder / "recovery"
        self.recovery.mkdir(exist_ok=True)
        if not any(self.recovery.iterdir()):
            recovery.init_db_dir(self.recovery, 1)
        self.given: list[tuple[str, StoredRelease]] = []

    def run(self, snapshots: timedelta = timedelta(0)) -> None:
        """Run until the input ends or aborts; snapshots are taken after every five items unless told."""
        flow = Dataflow("flow")
        items = op.input("in", flow, TestingSource(self.items, batch_size=5))
        keyed = op.map("keyed", items, lambda item: item if isinstance(item, tuple) else ("all", item))
        op.output(
            "out",
            host.released_windows(
                "anonymize",
                keyed,
                Policy.load(self.policy),
                self.released,
                draws_key=self.key,
                signing_key_file=self.signing_key,
            ),
            testing.TestingSink(self.given),
        )
        testing.run_main(flow, epoch_interval=snapshots, recovery_config=recovery.RecoveryConfig(self.recovery))

    @property
    def stored(self) -> list[Path]:
        return sorted((self.released / "_private" / "releases").iterdir())


def numbered(count: int) -> list[dict[str, Any]]:
    """Return records of as many people, each with a number that is published."""
    return [{**person, "visits": number} for number, person in enumerate(people(count))]


def numbers(folders: Sequence[Path]) -> Counter[int]:
    """Return the numbers that are published in some releases."""
    return Counter(
        n for folder in folders for n in pq.read_table(folder / "released.parquet")["visits"].to_pylist()
    )


def test_who_imports_the_host_hears_that_it_is_deprecated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, host.__name__)
    with pytest.warns(FutureWarning, match=r"stream_anon\.hosts\.bytewax is deprecated") as told:
        importlib.import_module(host.__name__)
    assert len(told) == 1


def test_each_window_is_the_release_of_its_records_and_passes_the_audit(policy_path: Path, tmp_path: Path) -> None:
    records = numbered(2 * WINDOW + 20)
    flow = Flow(policy_path, records, tmp_path)
    flow.run()
    policy = Policy.load(policy_path)
    for number, (key, made) in enumerate(flow.given):
        own = records[number * WINDOW : (number + 1) * WINDOW]
        assert (key, made.private.name) == ("all", f"key=all.window={number:08d}")
        assert made.records_in == len(own)
        (release,) = [*Anonymizer(policy).add(own), *_closed(policy, own)]
        assert rows_of(made.records) == Counter(map(repr, release.to_arrow().to_pylist()))
        assert audited(policy_path, made)
    assert len(flow.given) == len(flow.stored) == 3


def _closed(policy: Policy, records: list[Any]) -> Iterator[Any]:
    """Yield the release of a window that does not fill."""
    if len(records) < WINDOW:
        anonymizer = Anonymizer(policy)
        yield from anonymizer.add(records)
        yield from anonymizer.close()


def test_windows_of_a_key_hold_records_of_that_key_only(policy_path: Path, tmp_path: Path) -> None:
    records = numbered(4 * WINDOW)
    flow = Flow(policy_path, [(f"p/{number % 2}", record) for number, record in enumerate(records)], tmp_path)
    flow.run()
    names = [path.name for path in flow.stored]
    assert names == [f"key=p%2F{key}.window={window:08d}" for key in (0, 1) for window in (0, 1)]
    assert all(number % 2 == 0 for number in numbers(flow.stored[:2]))


@pytest.mark.parametrize("often", [timedelta(0), timedelta(hours=1)], ids=["often", "never"])
@pytest.mark.parametrize("place", [30, WINDOW + 1, 2 * WINDOW + 10])
def test_what_is_read_again_after_a_crash_is_not_released_again(
    policy_path: Path, tmp_path: Path, place: int, often: timedelta
) -> None:
    records: list[Any] = numbered(3 * WINDOW)
    flow = Flow(policy_path, [*records[:place], TestingSource.ABORT(), *records[place:]], tmp_path)
    flow.run(often)
    before = contents(flow.released)
    assert len(flow.stored) == place // WINDOW
    flow.run(often)
    after = contents(flow.released)
    assert before.items() <= after.items()
    assert [made.records_in for made in map(_stored(flow), flow.stored)] == [WINDOW] * 3
    published = numbers(flow.stored)
    assert max(published.values()) == 1
    assert len(published) > 2.5 * WINDOW


def _stored(flow: Flow) -> Any:
    releases = ReleaseFolder(flow.released, Policy.load(flow.policy), (flow.released / "_origin").read_text())
    return lambda path: releases.stored(path.name)


@pytest.mark.parametrize("lost", [False, True], ids=["resumed", "begun anew"])
def test_a_window_that_ended_early_ends_there_again(policy_path: Path, tmp_path: Path, lost: bool) -> None:
    # The input ends after 20 records, which are released. Then more follow, and what came before is read again.
    records: list[Any] = numbered(3 * WINDOW)
    first = Flow(policy_path, [*records[:20], TestingSource.EOF(), *records[20:]], tmp_path)
    first.run(timedelta(hours=1))
    assert [made.records_in for _, made in first.given] == [20]
    before = contents(first.released)
    if lost:
        for path in first.recovery.iterdir():
            path.unlink()
        recovery.init_db_dir(first.recovery, 1)
        first.items = records
    first.given = []
    first.run()
    assert before.items() <= contents(first.released).items()
    sizes = [made.records_in for made in map(_stored(first), first.stored)]
    assert sizes == [20, 50, 50, 30]
    assert max(numbers(first.stored).values()) == 1


def test_a_window_is_released_when_it_is_old_enough_and_ends_there_again(tmp_path: Path) -> None:
    policy = write_policy(tmp_path, **EACH, attributes=NUMBERED, window={"max_records": 50, "max_delay": "0.05s"})
    records: list[Any] = numbered(60)
    pause = TestingSource.PAUSE(timedelta(seconds=0.4))
    flow = Flow(policy, [*records[:20], pause, *records[20:40], TestingSource.ABORT(), *records[40:]], tmp_path)
    flow.run(timedelta(hours=1))
    sizes = [made.records_in for _, made in flow.given]
    assert sizes[0] <= 20
    before = contents(flow.released)
    flow.items = records
    flow.given = []
    flow.run(timedelta(hours=1))
    assert before.items() <= contents(flow.released).items()
    again = [made.records_in for _, made in flow.given]
    assert again[: len(sizes)] == sizes
    assert sum(again) == 60


def test_the_age_at_which_a_window_is_released_is_drawn_so_that_it_does_not_tell_when_it_began(
    policy_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "SystemClock", lambda: FakeClock(wall=1_000_000.0))
    policy = Policy.load(policy_path)
    releases = ReleaseFolder(tmp_path / "released", policy, "flow")
    ages = set()
    for key in range(40):
        windows = host._KeyWindows(releases, policy.window, None)
        windows.on_batch([(str(key), numbered(1)[0])])
        ages.add((windows.notify_at().timestamp() - 1_000_000) / policy.window.max_delay)
    assert len(ages) > 30
    assert 0.9 <= min(ages) < 0.93
    assert 0.97 < max(ages) <= 1


@pytest.mark.parametrize("step", [7200.0, -7200.0])
def test_a_clock_that_is_set_neither_delays_nor_hastens_the_end_of_a_window(
    policy_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: float
) -> None:
    clock = FakeClock()
    monkeypatch.setattr(host, "SystemClock", lambda: clock)
    policy = Policy.load(policy_path)
    windows = host._KeyWindows(ReleaseFolder(tmp_path / "released", policy, "flow"), policy.window, None)
    windows.on_batch([("all", record) for record in numbered(20)])
    clock.set_wall(step)
    assert windows.on_notify()[0] == []
    waits = windows.notify_at().timestamp() - clock.wall()
    assert 0.9 * policy.window.max_delay - 0.001 <= waits <= policy.window.max_delay
    clock.advance(policy.window.max_delay)
    assert [made.records_in for made in windows.on_notify()[0]] == [20]


def test_a_window_that_is_suppressed_is_not_seen_and_is_not_made_again(policy_path: Path, tmp_path: Path) -> None:
    flow = Flow(policy_path, [*numbered(2), TestingSource.EOF(), *numbered(40)], tmp_path)
    flow.run(timedelta(hours=1))
    flow.run(timedelta(hours=1))
    assert [made.released > 0 for _, made in flow.given] == [False, True]
    assert sorted(path.name for path in flow.released.iterdir()) == [
        "_origin",
        "_private",
        "key=all.window=00000001",
    ]


@pytest.mark.parametrize("others", [12, 8])
def test_a_worker_that_another_has_overtaken_stops_and_releases_nothing_twice(
    policy_path: Path, tmp_path: Path, others: int
) -> None:
    policy, records = Policy.load(policy_path), numbered(20)
    releases = ReleaseFolder(tmp_path / "released", policy, "flow")
    windows = host._KeyWindows(releases, policy.window, None)
    assert windows.on_batch([("all", record) for record in records[:10]]) == ([], windows.RETAIN)
    releases.release("key=all.window=00000000", records[:others])
    with pytest.raises(Refused, match="another number of records"):
        windows.on_eof()
    # Resumed from its snapshot, the window ends where the other has ended it, if it is not beyond that.
    resumed = host._KeyWindows(releases, policy.window, windows.snapshot())
    assert (resumed.notify_at() is not None) == (others < 10)
    if others > 10:
        made, _ = resumed.on_batch([("all", record) for record in records[10:]])
        assert [one.records_in for one in made] == [others]
        assert len(resumed.snapshot().records) == 20 - others
    else:
        with pytest.raises(Refused, match="another number of records"):
            resumed.on_notify()


def test_another_dataflow_may_not_use_the_folder(policy_path: Path, tmp_path: Path) -> None:
    ReleaseFolder(tmp_path / "released", Policy.load(policy_path), "another")
    with pytest.raises(Refused, match="another origin"):
        Flow(policy_path, numbered(3), tmp_path).run()


def test_a_first_window_that_a_condition_forbids_ends_the_dataflow_unless_somebody_accepts_it(
    tmp_path: Path,
) -> None:
    policy, released = Policy.load(write_policy(tmp_path, **EACH)), tmp_path / "released"
    items = [("0", record) for record in numbered(60)]

    def flow(**options: Any) -> Any:
        dataflow, out = Dataflow("judged"), list[Any]()
        keyed = op.input("in", dataflow, TestingSource(items))
        made = host.released_windows("anonymize", keyed, policy, released, **options)
        op.output("out", made, testing.TestingSink(out))
        return dataflow, out

    dataflow, out = flow()
    with pytest.raises(Exception, match="on_batch") as failed:  # Bytewax's own, of which ours is the cause
        testing.run_main(dataflow)
    assert isinstance(failed.value.__cause__, Refused)
    assert out == []
    assert not list(released.glob("key=*"))
    dataflow, out = flow(accept_risks=["rare-values"])
    testing.run_main(dataflow)
    assert [one.released for _, one in out] == [50, 10]


def test_the_example_releases_a_file_of_visits(tmp_path: Path) -> None:
    example = module_of(ROOT / "examples" / "engines" / "bytewax_flow.py")
    source, released = tmp_path / "visits.jsonl", tmp_path / "released"
    good = [json.loads(visit) for visit in visits(2100) if visit.endswith(b"}")][:2000]
    source.write_text("".join(json.dumps(visit) + "\n" for visit in good))
    testing.run_main(example.dataflow(str(source), str(released)))
    (window,) = released.glob("key=*")
    policy = Policy.load(example.POLICY)
    made = ReleaseFolder(released, policy, (released / "_origin").read_text()).stored(window.name)
    assert made is not None
    expected, rows = as_a_file(policy, source, tmp_path)
    assert made.report["gcp"] == pytest.approx(expected.gcp)
    assert rows_of(made.records) == rows
    assert made.released == expected.released > 1500
    assert audited(example.POLICY, made)


def test_by_a_key_another_dataflow_releases_windows_of_the_same_records_alike(tmp_path: Path) -> None:
    path, found = write_policy(tmp_path, window={"max_records": WINDOW}, attributes=NUMBERED), []
    records = people(WINDOW)
    for number, items in enumerate((records, records[::-1])):
        folder = tmp_path / str(number)
        folder.mkdir()
        flow = Flow(path, items, folder, b"k" * 32)
        flow.run()
        found.append([release.records.read_bytes() for _, release in flow.given])
    assert len(found[0]) == 1
    assert found[0] == found[1]


def test_windows_are_signed_by_the_key_that_the_dataflow_began_with_and_no_snapshot_holds_it(
    policy_path: Path, tmp_path: Path
) -> None:
    records: list[Any] = numbered(2 * WINDOW)
    flow = Flow(policy_path, [*records[:70], TestingSource.ABORT(), *records[70:]], tmp_path)
    flow.signing_key, public = tmp_path / "sign.key", tmp_path / "public.pem"
    public.write_bytes(ONE.public + OTHER.public)
    for number in (1, 2):
        flow.signing_key.write_bytes(secret_of(number))
        flow.run()
    found = {made.private.name: signers_of(policy_path, made, public) for _, made in flow.given}
    assert found == {f"key=all.window={number:08d}": [key.name] for number, key in ((0, ONE), (1, OTHER))}
    first = flow.given[0][1]
    check_each_meddling_is_named(policy_path, first.records, first.certificates, tmp_path)
    snapshots = b"".join(path.read_bytes() for path in flow.recovery.iterdir())
    assert b"p69" in snapshots, "records of the open window are there"
    bare = b"".join(secret_of(1).splitlines()[1:-1])
    assert not any(hidden in snapshots for hidden in (bare, base64.b64decode(bare), bytes([1]) * 32, b"sign.key"))


def test_a_key_that_is_none_is_refused_before_the_dataflow_begins(policy_path: Path, tmp_path: Path) -> None:
    flow = Flow(policy_path, numbered(3), tmp_path)
    flow.signing_key = tmp_path / "sign.key"
    with pytest.raises(SettingsError, match="key_file: cannot be read"):
        flow.run()
    assert not flow.released.exists()
