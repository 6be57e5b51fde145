"""The audit reads each shape: a release is clean, and one that was tampered with is accused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stream_anon.audit.verdict import Kind
from stream_anon.files.job import FileJob
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.schemas.json_schema import released_schema
from stream_anon.operations.audit.auditing import audit_files
from stream_anon.operations.studied_records import read_released
from stream_anon.settings.policy_file import load_policy
from tests.support.audited_files import SETTINGS, Files, visits

SHAPES = [Shape.TYPED, Shape.FLAT]
shapes = pytest.mark.parametrize("shape", SHAPES)


def settings_of(shape: Shape) -> dict[str, Any]:
    two_years = {"role": "quasi-identifier", "date": {"min": "2024-01-01", "max": "2025-12-31"}}
    attributes = SETTINGS["attributes"] | {"day": two_years}
    return SETTINGS | {"attributes": attributes, "output": {"shape": str(shape)}}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> dict[Shape, Files]:
    made = {}
    for shape in Shape:
        files = Files(tmp_path_factory.mktemp(str(shape)), settings_of(shape), visits(300))
        assert len(files.lines) > 150
        made[shape] = files
    return made


@shapes
def test_an_audit_of_a_typed_release_is_clean(released: dict[Shape, Files], shape: Shape) -> None:
    assert released[shape].kinds() == set()


def test_shapes_differ_in_records_and_not_in_certificates(released: dict[Shape, Files]) -> None:
    natural, typed, flat = (json.loads(released[shape].lines[0]) for shape in Shape)
    assert set(typed) == set(natural)
    assert set(typed["patient"]["age"]) == {"min", "max"}
    assert {"patient_age_min", "patient_age_max", "patient_zip"} <= set(flat)
    kept = [[json.loads(part)["asked"] for part in files.parts] for files in released.values()]
    assert kept[0] == kept[1] == kept[2]


def changed(
    typed: Callable[[dict[str, Any]], object], flat: Callable[[dict[str, Any]], object]
) -> dict[Shape, Any]:
    return {Shape.TYPED: typed, Shape.FLAT: flat}


def _age(low: Any, high: Any) -> dict[Shape, Any]:
    ends = {"min": low, "max": high}
    columns = {f"patient_age_{end}": one for end, one in ends.items()}
    return changed(lambda record: record["patient"].update(age=ends), lambda record: record.update(columns))


TAMPERED: dict[str, tuple[dict[Shape, Any], Kind]] = {
    "an interval that is no node": (_age(31, 32), Kind.ILLEGAL_VALUE),
    "ends the wrong way round": (_age(49, 25), Kind.ILLEGAL_VALUE),
    "a whole number written as a decimal": (_age(25.0, 25.0), Kind.ILLEGAL_VALUE),
    "half of a missing value": (_age(None, 49), Kind.ILLEGAL_VALUE),
    "a range that exceeds the domain": (_age(0, 120), Kind.ILLEGAL_VALUE),
    "anything, as natural records write it": (_age("*", "*"), Kind.ILLEGAL_VALUE),
    "another class": (_age(17, 17), Kind.UNCERTIFIED_CLASS),
    "a category in its type": (changed(lambda r: r.update(ward=1), lambda r: r.update(ward=1)), Kind.ILLEGAL_VALUE),
    "a set in another order": (
        changed(lambda r: r.update(plan=["c", "b"]), lambda r: r.update(plan=["c", "b"])),
        Kind.ILLEGAL_VALUE,
    ),
    "a set without a list": (
        changed(lambda r: r.update(plan="b"), lambda r: r.update(plan="b")),
        Kind.ILLEGAL_VALUE,
    ),
    "a year that is no node's end": (
        changed(
            lambda r: r.update(day={"min": "2024-01-02", "max": "2024-12-31"}),
            lambda r: r.update(day_min="2024-01-02", day_max="2024-12-31"),
        ),
        Kind.ILLEGAL_VALUE,
    ),
    "a field that is gone": (changed(lambda r: r.pop("day"), lambda r: r.pop("day_max")), Kind.MISSING_FIELD),
    "a field of the other shape": (
        changed(lambda r: r.update(patient_age_min=1), lambda r: r.update(patient={"age": 1})),
        Kind.UNDECLARED_FIELD,
    ),
    "something beside the ends": (
        changed(
            lambda r: r["day"].update(exact="2024-02-03"),
            lambda r: r.update(day="2024-02-03"),
        ),
        Kind.ILLEGAL_VALUE,
    ),
    "an individual": (changed(lambda r: r.update(person=7), lambda r: r.update(person=7)), Kind.IDENTIFYING_FIELD),
}


@shapes
@pytest.mark.parametrize("name", TAMPERED)
def test_what_a_policy_cannot_publish_is_accused(
    released: dict[Shape, Files], tmp_path: Path, shape: Shape, name: str
) -> None:
    change, kind = TAMPERED[name]
    files = released[shape].copied(tmp_path)
    record = json.loads(files.lines[5])
    change[shape](record)
    files.lines[5] = json.dumps(record, separators=(",", ":")).encode()
    files.write()
    expected = Kind.UNDECLARED_FIELD if name == "something beside the ends" and shape is Shape.FLAT else kind
    assert expected in files.kinds()


@pytest.mark.parametrize("shape", list(Shape))
@pytest.mark.parametrize("other", list(Shape))
def test_records_of_another_shape_than_the_window_was_released_in_are_accused(
    released: dict[Shape, Files], tmp_path: Path, shape: Shape, other: Shape
) -> None:
    files = released[shape].copied(tmp_path)
    files.lines = list(released[other].lines)
    files.write()
    assert bool(files.kinds()) == (shape is not other)


def test_windows_of_each_shape_are_read_as_the_document_of_each_says(
    released: dict[Shape, Files], tmp_path: Path
) -> None:
    joined = released[Shape.FLAT].copied(tmp_path)
    joined.lines = [line for files in released.values() for line in files.lines]
    joined.parts = [part for files in released.values() for part in [*files.document, *files.parts]]
    joined.write()
    verdict = audit_files(joined.policy_path, joined.output, joined.certificates).verdict
    # One input was released three times over: that is all that is wrong.
    assert {violation.kind for violation in verdict.violations} == {Kind.OVERLAP}


@shapes
def test_a_window_on_trust_is_read_as_the_given_policy_reads_it(
    released: dict[Shape, Files], tmp_path: Path, shape: Shape
) -> None:
    found = []
    for kind in (Shape.NATURAL, shape):
        folder = tmp_path / str(kind)
        folder.mkdir()
        files = released[kind].copied(folder)
        files.policy_path.write_text(files.policy_path.read_text().replace("k: 4", "k: 5"))
        files.document = []
        files.write()
        found.append(files.kinds())
    assert found[0] == found[1]
    assert Kind.UNCERTIFIED_CLASS not in found[0]


@shapes
def test_every_record_fits_the_printed_schema(released: dict[Shape, Files], shape: Shape) -> None:
    from jsonschema import Draft7Validator

    files = released[shape]
    validator = Draft7Validator(released_schema(files.policy), format_checker=Draft7Validator.FORMAT_CHECKER)
    assert all(validator.is_valid(json.loads(line)) for line in files.lines)
    assert not any(validator.is_valid(json.loads(line)) for line in released[Shape.NATURAL].lines)


@shapes
def test_a_csv_file_is_natural_whatever_the_shape(
    released: dict[Shape, Files], tmp_path: Path, shape: Shape
) -> None:
    headers = []
    for kind in (Shape.NATURAL, shape):
        folder = tmp_path / str(kind)
        folder.mkdir()
        source, target, proof = folder / "in.jsonl", folder / "out.csv", folder / "certificates.jsonl"
        source.write_text("".join(json.dumps(visit) + "\n" for visit in visits(300)))
        path = folder / "policy.yaml"
        path.write_text(released[kind].policy_path.read_text() + "engine: {seed: 1}\n")
        report = FileJob(load_policy(path), str(source), str(target), proof).run(lambda _: None)
        assert report.written
        assert audit_files(path, target, proof).verdict.clean
        assert read_released(load_policy(path), target).records == report.released
        headers.append(target.read_text().splitlines()[0])
    assert headers[0] == headers[1]
    assert "patient.age,patient.zip" in headers[1]


@shapes
def test_a_typed_file_is_measured_as_a_natural_one(released: dict[Shape, Files], shape: Shape) -> None:
    files = released[shape]
    found = read_released(files.policy, files.output)
    assert found.records == len(files.lines)
