"""A file is released again and again: `anonymize --series`."""

from __future__ import annotations

import json
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stream_anon.audit.verdict import Kind
from stream_anon.cli.main import app
from stream_anon.errors import InputError, Refused, SettingsError
from stream_anon.files.series.folder import PENDING, STATE, SeriesFolder
from stream_anon.files.series.series_job import SeriesJob
from stream_anon.files.series.state import SeriesState, SeriesTerms, pseudonyms
from stream_anon.formats.tables.new_files import NewFile
from stream_anon.microdata.keys import keyed_by, text_keys
from stream_anon.operations.audit.auditing import audit_files
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_document, write_json_lines, write_records

ILLNESSES = ["flu", "cold", "gout", "pox", "mumps"]
POLICY: dict[str, Any] = {
    "privacy": {"k": 3, "individual": "person", "sensitive": {"illness": {"distinct_l": 2}}},
    "window": {"max_records_per_individual": 1},
    "attributes": {
        "person": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}, "missing": "leaf"},
        "city": {
            "role": "quasi-identifier",
            "hierarchy": {"north": ["Oslo", "Bergen"], "south": ["Rome", "Bari"]},
        },
        "illness": {"role": "sensitive"},
    },
}


def person(i: int) -> dict[str, Any]:
    """Return one person's record, always the same."""
    city = ["Oslo", "Bergen", "Rome", "Bari"][i % 4]
    return {"person": f"p{i}", "age": 37 * i % 100, "city": city, "illness": ILLNESSES[i * i % 11 % 5]}


class Series:
    """A policy, a folder of a series and the files of its releases."""

    def __init__(self, folder: Path, suffix: str = ".jsonl") -> None:
        self.folder, self.suffix, self.number = folder, suffix, 0
        self.policy_path = write_document(folder, POLICY)
        self.policy = load_policy(self.policy_path)
        self.state_path = folder / "series" / STATE

    def job(self, records: list[dict[str, Any]]) -> SeriesJob:
        self.number += 1
        source = write_records(self.folder / f"in{self.number}{self.suffix}", records)
        return SeriesJob(
            self.policy, str(source), str(self.output), self.certificates, series=self.folder / "series"
        )

    @property
    def output(self) -> Path:
        return self.folder / f"out{self.number}{self.suffix}"

    @property
    def certificates(self) -> Path:
        return self.folder / f"certificates{self.number}.jsonl"

    @property
    def state(self) -> SeriesState:
        return SeriesState.read(self.state_path.read_bytes())

    def release(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        job = self.job(records)
        assert job.run(lambda _: None).written
        return [json.loads(line) for line in self.output.read_text().splitlines()]

    @property
    def certificate(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.certificates.read_text().splitlines()[-1])
        return found

    def kinds(self) -> set[Kind]:
        verdict = audit_files(self.policy_path, self.output, self.certificates).verdict
        return {violation.kind for violation in verdict.violations}


@pytest.fixture
def series(tmp_path: Path) -> Series:
    return Series(tmp_path)


def _classes(records: list[dict[str, Any]]) -> list[Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for record in records:
        found.setdefault(json.dumps([record["age"], record["city"]]), Counter())[record["illness"]] += 1
    return list(found.values())


def test_people_leave_and_come_and_counterfeits_keep_the_signatures_of_the_others(series: Series) -> None:
    everybody = [person(i) for i in range(60)]
    releases = [everybody, everybody[20:], [*everybody[30:], *map(person, range(60, 75))], everybody]
    before: dict[str, int] = {}
    made = 0
    for number, records in enumerate(releases, start=1):
        released = series.release(records)
        certificate = series.certificate
        assert certificate["series"]["release"] == number
        assert certificate["series"]["least"] == 2
        counterfeits = certificate["series"]["counterfeits"]
        made += counterfeits
        assert certificate["released"] == len(released)
        assert certificate["in"] == len(records) == len(released) - counterfeits + certificate["suppressed"]
        assert min(one["individuals"] for one in certificate["classes"]) >= 3
        for shown in _classes(released):
            assert 2 * max(shown.values()) <= shown.total()
        assert all(record.keys() == {"age", "city", "illness"} for record in released)
        assert series.kinds() == set()
        state = series.state
        assert state.releases == number
        assert before.items() <= state.people.items()
        before = dict(state.people)
    assert made > 0


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_one_person_has_one_pseudonym_in_every_run(suffix: str, tmp_path: Path) -> None:
    series = Series(tmp_path, suffix)
    records = [person(i) for i in range(40)]
    job = series.job(records)
    job.run(lambda _: None)
    people = series.state.people
    assert series.kinds() == set()
    assert series.job(records[::-1]).run(lambda _: None).released >= len(people)
    assert series.state.people.keys() >= people.keys()
    assert len(series.state.people) <= 40
    assert series.kinds() == set()


def test_the_state_names_nobody_and_only_its_owner_reads_it(series: Series) -> None:
    series.release([person(i) for i in range(40)])
    text = series.state_path.read_text()
    assert all(f'"p{i}"' not in text for i in range(40))
    for path in (series.folder / "series").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {path.name for path in (series.folder / "series").iterdir()} == {"key", "lock", STATE}


def test_who_comes_with_another_value_is_left_out_and_a_warning_says_how_many(series: Series) -> None:
    records = [person(i) for i in range(60)]
    series.release(records)
    state = series.state
    job = series.job([*records[:-1], {**records[-1], "illness": "scurvy"}, {**person(90), "illness": None}])
    report = job.run(lambda _: None)
    assert report.suppressed["unplaced"] == 2
    assert len(report.warnings) == 2
    assert all(text.startswith("1 records") for text in report.warnings)
    assert series.state.people == state.people
    assert series.kinds() == set()


def test_a_release_that_would_leave_too_many_out_publishes_nobody(series: Series) -> None:
    records = [person(i) for i in range(60)]
    series.release(records)
    before = series.state
    asked = {"max_suppressed": 0, "above_max_suppressed": "suppress"}
    series.policy = load_policy(write_document(series.folder, _privacy(**asked)))
    report = series.job([*records[20:-1], {**records[-1], "illness": "scurvy"}]).run(lambda _: None)
    assert (report.released, report.counterfeits) == (0, 0)
    assert report.suppressed == {"max-suppressed": 39, "unplaced": 1}
    assert series.state.people == before.people
    assert series.kinds() == set()


def test_of_several_records_of_a_person_one_is_released(series: Series) -> None:
    records = [person(i) for i in range(40)]
    report = series.job([*records, *records[:5]]).run(lambda _: None)
    assert report.suppressed["over-limit"] == 5
    assert series.kinds() == set()


def test_a_missing_quasi_identifier_of_a_counterfeits_class_is_counted(series: Series) -> None:
    records = [{**person(i), "age": None if i % 3 else 30} for i in range(60)]
    series.release(records)
    series.release(records[25:])
    classes = [one for one in series.certificate["classes"] if one["values"]["age"] is None]
    assert any(one["records"] > one["individuals"] for one in classes)
    assert series.kinds() == set()


def test_a_release_that_fails_leaves_the_state_as_it_was(series: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [person(i) for i in range(40)]
    series.release(records)
    before = series.state_path.read_bytes()
    job = series.job([*records, *({"person": "x", "age": "?"} for _ in range(40))])
    assert not job.run(lambda _: None).written  # too many rejects
    assert series.state_path.read_bytes() == before

    def fail(_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SeriesJob, "_judge", lambda *_: fail(None))
    with pytest.raises(InputError):
        series.job(records).run(lambda _: None)
    assert series.state_path.read_bytes() == before
    assert not (series.folder / "series" / PENDING).exists()


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("stands", [False, True])
def test_a_run_that_is_killed_beside_its_release_leaves_what_people_may_be_published_among(
    stands: bool, series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [person(i) for i in range(40)]
    publish = NewFile.publish

    def die(file: NewFile) -> None:
        if stands:
            publish(file)
        raise Killed

    monkeypatch.setattr("stream_anon.files.job.NewFile.publish", die)
    with pytest.raises(Killed):
        series.job(records).run(lambda _: None)
    monkeypatch.undo()
    pending = SeriesState.read((series.folder / "series" / PENDING).read_bytes())
    assert series.state.releases == 0
    series.release(records[10:])
    assert pending.people.items() <= series.state.people.items()
    assert series.state.releases == 2
    assert series.kinds() == set()


def test_two_runs_at_once_are_refused(series: Series) -> None:
    job = series.job([person(i) for i in range(40)])
    with SeriesFolder(series.folder / "series"), pytest.raises(Refused, match="another run"):
        job.run(lambda _: None)
    assert job.run(lambda _: None).written


def test_a_series_whose_key_is_gone_is_refused(series: Series) -> None:
    records = [person(i) for i in range(40)]
    series.release(records)
    key = series.folder / "series" / "key"
    kept = key.read_bytes()
    key.unlink()
    with pytest.raises(Refused, match="key"):
        series.job(records).run(lambda _: None)
    key.write_bytes(kept[::-1].strip() + b"\n")
    with pytest.raises(Refused, match="another key file"):
        series.job(records).run(lambda _: None)


def test_a_series_whose_state_is_gone_is_refused(series: Series) -> None:
    records = [person(i) for i in range(40)]
    series.release(records)
    series.state_path.unlink()
    with pytest.raises(Refused, match="state of the series is gone"):
        series.job(records).run(lambda _: None)
    assert not series.output.exists()
    series.state_path.symlink_to(series.folder / "nowhere")
    with pytest.raises(InputError):
        series.job(records).run(lambda _: None)


def test_a_series_of_which_nothing_was_released_begins_anew_after_any_crash(
    series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = series.folder / "series"
    with pytest.raises(InputError):
        SeriesJob(series.policy, "nowhere.jsonl", str(series.output), series=folder).run(lambda _: None)
    assert {path.name for path in folder.iterdir()} == {"lock"}

    def die(*_: object) -> None:
        raise Killed

    monkeypatch.setattr("stream_anon.files.series.folder.make_key", die)
    with pytest.raises(Killed):
        series.job([person(i) for i in range(40)]).run(lambda _: None)
    assert {path.name for path in folder.iterdir()} == {"lock", STATE}
    monkeypatch.undo()
    assert series.release([person(i) for i in range(40)])


@pytest.mark.parametrize("part", ["signatures", "values", "people", "schema"])
def test_a_damaged_state_is_refused_without_a_word_of_it(part: str, series: Series) -> None:
    records = [person(i) for i in range(40)]
    series.release(records)
    state = json.loads(series.state_path.read_text())
    signatures, values = state["signatures"], state["values"]
    damaged = {
        "signatures": [
            [*signatures[:-1], [0, 99]],
            [*signatures[:-1], [1, 0]],
            [*signatures[:-1], [1]],
            [*signatures, signatures[0]],
        ],
        "values": [[*values, values[0]]],
        "people": [{**state["people"], "f" * 16: 99}, {**state["people"], "somebody": 0}],
        "schema": [2],
    }
    for other in damaged[part]:
        series.state_path.write_text(json.dumps({**state, part: other}))
        with pytest.raises(InputError, match="damaged") as refused:
            series.job(records).run(lambda _: None)
        assert not any(value in str(refused.value) for value in (*values, "somebody"))
    series.state_path.write_text("{")
    with pytest.raises(InputError, match="damaged"):
        series.job(records).run(lambda _: None)


def test_new_people_wait_until_they_have_enough_values_and_then_share_them(series: Series) -> None:
    records = [person(i) for i in range(60)]
    series.release(records)
    before = series.state
    come = [{**person(i), "illness": "scurvy"} for i in range(60, 72)]
    report = series.job([*records, *come]).run(lambda _: None)
    assert report.suppressed == {"unplaced": 12}
    assert [text[:20] for text in report.warnings] == ["12 new people wait f"]
    state = series.state
    assert (state.values, state.people, len(state.waiting)) == (before.values, before.people, 12)
    # One of them is away when the others are published: among the same values.
    later = [{**person(i), "illness": "lumbago"} for i in range(72, 84)]
    report = series.job([*records, *come[1:], *later]).run(lambda _: None)
    assert not report.suppressed
    state = series.state
    assert not state.waiting
    assert {state.people[name] for name in set(state.people).difference(before.people)} == {len(before.signatures)}
    assert len(state.people) == 84
    assert series.kinds() == set()


def test_counterfeits_stand_beside_new_people_of_whom_too_many_have_one_value(series: Series) -> None:
    records = [{**person(i), "illness": "scurvy" if i % 3 else "lumbago"} for i in range(60)]
    report = series.job(records).run(lambda _: None)
    assert (report.released, report.counterfeits) == (80, 20)
    assert ["smaller distinct_l" in text for text in report.warnings] == [True]
    assert series.kinds() == set()


def test_a_release_that_publishes_nobody_tells_later_ones_who_came(series: Series) -> None:
    """Else those who come again would show by their classes who had one value among those who were left out."""
    asked = {"max_suppressed": 0, "above_max_suppressed": "suppress"}
    records = [*(person(i) for i in range(60)), {**person(60), "illness": None}]
    series.policy = load_policy(write_document(series.folder, _privacy(**asked)))
    assert series.job(records).run(lambda _: None).released == 0
    assert len(series.state.waiting) == 60
    series.policy = load_policy(write_document(series.folder, POLICY))
    series.release(records)
    assert (len(series.state.signatures), len(series.state.people)) == (1, 60)
    assert series.kinds() == set()


def test_a_run_that_releases_nothing_leaves_the_terms_open(series: Series) -> None:
    records = [person(i) for i in range(40)]
    assert not series.job([*records, *({"person": "x", "age": "?"} for _ in range(40))]).run(lambda _: None).written
    changed = _privacy(sensitive={"illness": {"distinct_l": 3}})
    series.policy = load_policy(write_document(series.folder, changed))
    series.release(records)
    assert series.state.terms.least == 3


def test_a_series_that_noted_no_path_goes_on_and_notes_it(series: Series) -> None:
    records = [person(i) for i in range(40)]
    series.release(records)
    state = json.loads(series.state_path.read_text())
    del state["terms"]["path"], state["waiting"]
    series.state_path.write_text(json.dumps(state))
    series.release(records)
    assert series.state.terms.path == ["illness"]
    assert series.state.people.keys() == state["people"].keys()


@pytest.mark.parametrize("name", ["target", "certificates", "rejects"])
def test_files_of_a_run_lie_outside_the_folder_of_the_series(name: str, series: Series) -> None:
    folder = series.folder / "series"
    files: dict[str, Any] = {"target": str(series.output), "certificates": series.certificates, "rejects": None}
    files[name] = str(folder / "key.csv") if name == "target" else folder / "key"
    with pytest.raises(InputError, match="elsewhere"):
        SeriesJob(series.policy, "in.jsonl", **files, series=folder)


@pytest.mark.parametrize("errno", [22, 5])
def test_a_folder_that_cannot_be_synchronized_is_left_alone_and_a_broken_disk_is_told(
    errno: int, series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno, "no")

    monkeypatch.setattr("stream_anon.formats.tables.new_files.os.fsync", fail)
    job = series.job([person(i) for i in range(40)])
    if errno == 22:
        assert job.run(lambda _: None).written
    else:
        with pytest.raises(InputError):
            job.run(lambda _: None)


def test_counterfeits_count_neither_for_losses_nor_for_shares_nor_as_missing(series: Series) -> None:
    records = [{**person(i), "age": None if i % 3 else 30, "illness": ILLNESSES[i % 2]} for i in range(60)]
    series.release(records)
    # Who has the other illness leaves: as many counterfeits as people.
    asked = {"max_suppressed": "3%", "above_max_suppressed": "suppress"}
    series.policy = load_policy(write_document(series.folder, _privacy(**asked)))
    stayed = records[::2]
    series.release([*stayed, {**person(90), "illness": None}])
    certificate = series.certificate
    assert certificate["series"]["counterfeits"] == certificate["released"] == 0
    assert certificate["suppressed"] == 31  # one of 31 is above 3 %, though it is not of 61
    assert series.kinds() == set()
    series.policy = load_policy(write_document(series.folder, POLICY))
    series.release(stayed)
    certificate = series.certificate
    assert (certificate["released"], certificate["series"]["counterfeits"]) == (60, 30)
    assert certificate["missing"] == {"age": 20}
    losses = sum(one["ncp"] * one["individuals"] for one in certificate["classes"])
    assert certificate["gcp"] == pytest.approx(losses / 30)
    assert series.kinds() == set()


@pytest.mark.parametrize(("before", "now"), [((1e17, 2e17), (10**17, 2 * 10**17)), ((1.0, 2.0), (1, 2))])
def test_a_counterfeit_is_written_as_all_records_are(
    before: tuple[float, float], now: tuple[int, int], series: Series
) -> None:
    numbered = {**POLICY["attributes"], "illness": {"role": "sensitive", "type": "number"}}
    series.policy = load_policy(write_document(series.folder, {**POLICY, "attributes": numbered}))
    series.release([{**person(i), "illness": before[i % 2]} for i in range(60)])
    series.release([{**person(i), "illness": now[i % 2]} for i in range(1, 60, 2)])
    assert series.certificate["series"]["counterfeits"] == 30
    shown = {line.split('"illness":')[1] for line in series.output.read_text().splitlines()}
    assert len(shown) == 2
    assert len({"e" in text for text in shown}) == 1


def test_numbers_that_are_one_to_the_gate_are_one_to_the_series(series: Series) -> None:
    numbered = {**POLICY["attributes"], "illness": {"role": "sensitive", "type": "number"}}
    series.policy = load_policy(write_document(series.folder, {**POLICY, "attributes": numbered}))
    values = [2**70, 2**70 + 1, 5, 6]
    report = series.job([{**person(i), "illness": values[i % 4]} for i in range(60)]).run(lambda _: None)
    assert report.gate_violations == 0
    assert len(series.state.values) == 3


def test_a_release_whose_files_cannot_be_completed_leaves_the_state_as_it_was(
    series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [person(i) for i in range(40)]
    series.release(records)
    before = series.state_path.read_bytes()

    def full(path: Path) -> None:
        if path.name.endswith(".jsonl.part") or ".out" in path.name:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("stream_anon.formats.tables.new_files.keep", full)
    with pytest.raises(InputError, match="cannot be written"):
        series.job(records).run(lambda _: None)
    assert series.state_path.read_bytes() == before
    assert not (series.folder / "series" / PENDING).exists()
    assert not series.output.exists()


def test_what_a_series_needs_is_on_the_disk_before_the_next_step(
    series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    def kept(path: Path) -> None:
        steps.append(path.name.strip(".").split(".")[0])

    publish = NewFile.publish
    for module in ("formats.tables.new_files", "files.series.folder", "files.series.series_job", "files.key_files"):
        monkeypatch.setattr(f"stream_anon.{module}.keep", kept)
    monkeypatch.setattr(NewFile, "publish", lambda file: (steps.append("publish"), publish(file)))
    series.release([person(i) for i in range(40)])
    first = [series.folder.name, "state", "series", "series", "key", "series"]
    files = ["certificates1", "out1", "state", "series", "publish", "publish", series.folder.name, "series"]
    assert steps == [*first, *files]


def test_a_series_goes_on_as_it_was_begun(series: Series) -> None:
    records = [person(i) for i in range(40)]
    series.release(records)
    changes = {
        "another distinct_l": _privacy(sensitive={"illness": {"distinct_l": 3}}),
        "another path": _attributes(illness={"role": "sensitive", "path": ["other"]}),
        "another type": _attributes(illness={"role": "sensitive", "type": "integer"}),
        "another individual": _attributes(person={"role": "identifier", "path": ["other"]}),
    }
    for message, changed in changes.items():
        series.policy = load_policy(write_document(series.folder, changed))
        with pytest.raises(Refused, match=message):
            series.job(records).run(lambda _: None)


def _attributes(**changes: Any) -> dict[str, Any]:
    return {**POLICY, "attributes": {**POLICY["attributes"], **changes}}


def _privacy(**changes: Any) -> dict[str, Any]:
    return {**POLICY, "privacy": {**POLICY["privacy"], **changes}}


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ({**POLICY, "window": {}}, "window.max_records_per_individual"),
        (_privacy(individual="every-record"), "privacy.individual"),
        (_privacy(extra_levels=1), "privacy.extra_levels"),
        (_privacy(sensitive={"illness": {"distinct_l": 2, "alpha": 0.5}}), "privacy.sensitive.illness.alpha"),
        (_privacy(sensitive={"illness": {"alpha": 0.5}}), "privacy.sensitive.illness.distinct_l"),
        ({**POLICY, "privacy": {"k": 3, "individual": "person"}}, "privacy.sensitive.illness.distinct_l"),
        (_privacy(shields=[{"attributes": ["age"], "k": 5}]), "privacy.shields"),
        (_privacy(presence={"population": "counts.csv", "most": 0.5}), "privacy.presence"),
        (_privacy(returning={"most": 3, "period": "30d"}), "privacy.returning"),
        ({**POLICY, "method": {"name": "samarati"}}, "method"),
        (
            _privacy(
                sensitive={
                    "illness": {"distinct_l": 2, "invariant": 2, "families": [["flu", "cold"], ["gout", "pox"]]}
                }
            ),
            "attributes.illness",
        ),
        (_attributes(visits={"role": "insensitive", "type": "integer"}), "attributes.visits"),
        (_attributes(drug={"role": "sensitive"}), "attributes"),
        (
            _attributes(city={**POLICY["attributes"]["city"], "max_level": 1}),
            "attributes.city.max_level",
        ),
    ],
)
def test_a_policy_that_does_not_suit_is_refused_by_the_setting_at_fault(
    document: dict[str, Any], key: str, tmp_path: Path
) -> None:
    (tmp_path / "counts.csv").write_text("age,city,count\n30,Oslo,9\n")
    policy = load_policy(write_document(tmp_path, document))
    with pytest.raises(SettingsError) as refused:
        SeriesJob(policy, "in.jsonl", str(tmp_path / "out.jsonl"), series=tmp_path / "series")
    assert refused.value.key == key


def test_a_release_that_cannot_stand_whole_is_refused(series: Series) -> None:
    with pytest.raises(InputError, match="output file"):
        SeriesJob(series.policy, "in.jsonl", "-", series=series.folder / "series")


def test_the_state_after_a_release_is_read_back_as_it_was(series: Series) -> None:
    folder = SeriesFolder(series.folder / "series")
    with folder, keyed_by(folder.key.of_ids):
        names = pseudonyms(folder.key, text_keys(["a", "b", "c"]))
        terms = SeriesTerms.of(series.policy, 2, folder.key)
        state = folder.state(terms).after(["flu", "cold", "gout"], names[:2], [(0, 2), (0, 1)])
        folder.prepare(state)
        folder.commit()
    with SeriesFolder(series.folder / "series") as folder:
        again = folder.state(terms)
    assert again == state
    assert again.signatures_of(names) == [(0, 2), (0, 1), None]
    # A signature stays, whatever a later release says.
    assert again.after(again.values, names[:1], [(1, 2)]).signatures_of(names[:1]) == [(0, 2)]


def test_the_audit_finds_a_false_number_of_counterfeits_and_an_uneven_class(series: Series) -> None:
    records = [person(i) for i in range(40)]
    series.release(records)
    series.release(records[15:])
    lines = series.certificates.read_text().splitlines()
    certificate = json.loads(lines[-1])
    fewer = {**certificate, "series": {**certificate["series"], "counterfeits": 0}}
    series.certificates.write_text("\n".join([*lines[:-1], json.dumps(fewer)]) + "\n")
    assert {Kind.WRONG_SERIES, Kind.WRONG_IN} <= series.kinds()
    series.certificates.write_text("\n".join(lines) + "\n")
    released = [json.loads(line) for line in series.output.read_text().splitlines()]
    first = released[0]
    alike = [one for one in released if (one["age"], one["city"]) == (first["age"], first["city"])]
    for one in alike[:-1]:
        one["illness"] = first["illness"]
    write_json_lines(series.output, released)
    assert Kind.UNEVEN_VALUES in series.kinds()


def test_the_command_makes_one_release_after_the_other(series: Series) -> None:
    folder, records = series.folder, [person(i) for i in range(60)]
    for number, chosen in enumerate((records, records[20:]), start=1):
        source = write_json_lines(folder / f"in{number}.jsonl", chosen)
        arguments = ["anonymize", "-c", str(series.policy_path), str(source), str(folder / "out.csv")]
        found = CliRunner().invoke(
            app, [*arguments, "--series", str(folder / "s"), "--report", str(folder / "report.json")]
        )
        assert found.exit_code == 0, found.output
    report = json.loads((folder / "report.json").read_text())
    assert report["counterfeits"] > 0
    assert f"{report['counterfeits']} of them counterfeits" in found.output
    assert json.loads((folder / "s" / STATE).read_text())["releases"] == 2
    assert not (folder / "policy.yaml.draws-key").exists()


@pytest.mark.parametrize("option", [["--by-arrival"], ["--draws-key", "x"], ["--sensitive-table", "y.csv"]])
def test_options_that_are_not_for_a_series_are_refused(option: list[str], series: Series) -> None:
    source = write_json_lines(series.folder / "in.jsonl", [person(i) for i in range(9)])
    arguments = ["anonymize", "-c", str(series.policy_path), str(source), str(series.folder / "out.csv")]
    found = CliRunner().invoke(app, [*arguments, "--series", str(series.folder / "s"), *option])
    assert isinstance(found.exception, SettingsError)
    assert found.exception.key == option[0]
    assert not (series.folder / "s").exists()
