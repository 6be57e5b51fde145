"""Auditing files: what the engine releases passes as JSON Lines and as CSV, and nothing else does."""

from __future__ import annotations

import copy
import csv
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from pycanon import anonymity
from rich.console import Console

from stream_anon.audit.formats.table_rows import CellReader
from stream_anon.audit.verdict import Kind
from stream_anon.cli.prove.audit import SHOWN, show
from stream_anon.errors import InputError
from stream_anon.microdata.policy import Policy
from stream_anon.operations.audit.auditing import audit_files
from tests.support.audited_files import SETTINGS, Files, cell, visits
from tests.support.data import shared_data


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("made"), SETTINGS, visits(700))


def test_a_release_of_the_engine_passes(files: Files) -> None:
    verdict = audit_files(files.policy_path, files.output, files.certificates).verdict
    assert verdict.violations == ()
    assert verdict.counts.windows == 4
    assert verdict.counts.records == len(files.lines) > 300
    published = b"\n".join(files.lines)
    assert b'"plan":["' in published  # sets, intervals and the root are among what was read
    assert b'"min":' in published
    assert b'"*"' in published


def test_nodes_raised_at_random_pass_and_lose_more(tmp_path: Path) -> None:
    plain: dict[str, Any] = copy.deepcopy(SETTINGS)
    del plain["attributes"]["plan"]["publish"], plain["attributes"]["weight"]["numeric"]["publish"]
    raised = {**plain, "privacy": {**plain["privacy"], "extra_levels": 2}}
    losses = []
    for name, settings in (("plain", plain), ("raised", raised)):
        folder = tmp_path / name
        folder.mkdir()
        files = Files(folder, settings, visits(400))
        verdict = audit_files(files.policy_path, files.output, files.certificates).verdict
        assert verdict.violations == ()
        certificates = [json.loads(part) for part in files.parts]
        assert min(one["records"] for c in certificates for one in c["classes"]) >= 4
        losses.append(sum(certificate["gcp"] for certificate in certificates))
    assert losses[1] > losses[0] + 0.1


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_the_same_release_as_csv_passes(delimiter: str, files: Files) -> None:
    files.write_csv(delimiter)
    assert files.kinds() == set()


def test_another_judge_counts_the_same_k_and_l(files: Files) -> None:
    # One window: k holds per window, and a judge of tables knows no windows.
    first = json.loads(files.parts[0])
    rows = [json.loads(line) for line in files.lines[: first["released"]]]
    names = [attribute.name for attribute in files.policy.quasi_identifiers]
    frame = pd.DataFrame([{name: cell(row, name) for name in names} | {"result": row["result"]} for row in rows])
    assert anonymity.k_anonymity(frame, names) == min(one["records"] for one in first["classes"])
    assert anonymity.k_anonymity(frame, names) >= 4
    assert anonymity.l_diversity(frame, names, ["result"]) == first["achieved"]["distinct_l"]["result"]


def test_the_census_in_many_windows_passes(tmp_path: Path) -> None:
    folder = shared_data("arx-adult")
    roles: dict[str, Any] = {"salary-class": {"role": "sensitive"}}
    with (folder / "adult.csv").open() as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file, delimiter=";"))[:6000]
    for name in rows[0]:
        if name != "salary-class":
            hierarchy = folder / "hierarchies" / f"adult_hierarchy_{name}.csv"
            roles[name] = {"role": "quasi-identifier", "hierarchy": str(hierarchy)}
    settings = {
        "privacy": {"k": 10, "individual": "every-record", "sensitive": {"salary-class": {"distinct_l": 2}}},
        "window": {"max_records": 2000},
        "attributes": roles,
    }
    files = Files(tmp_path, settings, rows)
    verdict = audit_files(files.policy_path, files.output, files.certificates).verdict
    assert verdict.violations == ()
    assert verdict.counts.windows == 3


def test_a_changed_line_is_found(files: Files) -> None:
    record = json.loads(files.lines[5])
    record["patient"]["age"] = 41
    files.lines[5] = json.dumps(record).encode()
    files.write()
    assert Kind.UNCERTIFIED_CLASS in files.kinds()


def test_a_key_that_is_written_twice_is_found(files: Files) -> None:
    files.lines[5] = b'{"visits":"Mrs Smith",' + files.lines[5][1:]
    files.write()
    assert Kind.MALFORMED_RECORD in files.kinds()


def _rewrite(files: Files, **changes: Any) -> None:
    files.policy_path.write_text(yaml.safe_dump(SETTINGS | changes, sort_keys=False))


def test_a_change_that_promises_nothing_makes_no_old_window_fail(files: Files) -> None:
    _rewrite(files, window={"max_records": 300, "max_delay": "5m"}, engine={"seed": 5})
    verdict = audit_files(files.policy_path, files.output, files.certificates).verdict
    assert verdict.violations == ()
    assert [(period.k, period.change) for period in verdict.periods] == [(4, None)]


def test_windows_of_an_older_k_are_sound(files: Files) -> None:
    for k in (3, 9):
        _rewrite(files, privacy=SETTINGS["privacy"] | {"k": k})
        verdict = audit_files(files.policy_path, files.output, files.certificates).verdict
        assert verdict.violations == ()
        assert [period.k for period in verdict.periods] == [4]


def test_a_window_is_judged_by_the_document_that_it_names(files: Files) -> None:
    _rewrite(files, privacy=SETTINGS["privacy"] | {"k": 2})
    files.parts = [part.replace(b'"k":4', b'"k":2') for part in files.parts]
    files.write()
    assert Kind.WRONG_CRITERIA in files.kinds()


def test_a_missing_document_is_named(files: Files) -> None:
    _rewrite(files, privacy=SETTINGS["privacy"] | {"k": 3})
    files.document = []
    files.write()
    assert files.kinds() == {Kind.MISSING_POLICY}


def test_certificates_that_name_no_document_are_judged_on_trust_by_what_they_asked(files: Files) -> None:
    files.parts = [_without_document(part) for part in files.parts]
    files.document = []
    files.write()
    first = audit_files(files.policy_path, files.output, files.certificates).verdict
    assert {one.kind for one in first.violations} == {Kind.UNKNOWN_PREVIOUS}  # the parts are others now
    assert first.counts.on_trust == 0  # the digest is that of the settings file
    _rewrite(files, privacy=SETTINGS["privacy"] | {"k": 9})
    verdict = audit_files(files.policy_path, files.output, files.certificates).verdict
    assert {one.kind for one in verdict.violations} == {Kind.UNKNOWN_PREVIOUS}
    assert verdict.counts.on_trust == verdict.counts.windows == 4
    assert [(period.k, period.on_trust) for period in verdict.periods] == [(4, True)]
    record = json.loads(files.lines[5])
    record["patient"]["age"] = 41
    files.lines[5] = json.dumps(record | {"person": 7}).encode()
    files.write()
    assert files.kinds() >= {Kind.UNCERTIFIED_CLASS, Kind.IDENTIFYING_FIELD, Kind.TOO_FEW_RECORDS}


def _without_document(part: bytes) -> bytes:
    return json.dumps(json.loads(part) | {"promises": None}).encode()


def test_an_additional_column_is_found(files: Files) -> None:
    files.write_csv()
    lines = files.output.read_text().splitlines(keepends=True)
    header = lines[0].replace("visits", "visits,person", 1)
    files.output.write_text(header + "".join(lines[1:]))
    assert Kind.MALFORMED_RECORD in files.kinds()


@pytest.mark.parametrize(
    ("name", "kind"),
    [("person", Kind.IDENTIFYING_FIELD), ("note", Kind.UNDECLARED_FIELD), ("paid", Kind.MALFORMED_RECORD)],
)
def test_a_renamed_column_is_found(name: str, kind: Kind, files: Files) -> None:
    names = [attribute.name for attribute in files.policy.published]
    files.write_csv(header=[name if known == "visits" else known for known in names])
    assert kind in files.kinds()


def _reader(policy: Policy) -> CellReader:
    return CellReader(policy, [attribute.name for attribute in policy.published])


@pytest.mark.parametrize(
    ("name", "cell", "value"),
    [
        ("patient.age", '{"min": 1, "max": 2}', {"min": 1, "max": 2}),
        ("patient.age", '{"min": 1, "min": 1, "max": 2}', '{"min": 1, "min": 1, "max": 2}'),
        ("patient.age", "25", 25),
        ("patient.age", "025", "025"),
        ("patient.age", "*", "*"),
        ("patient.age", "NaN", "NaN"),
        ("patient.age", "null", "null"),
        ("patient.age", "-Infinity", "-Infinity"),
        ("cost", "1e999", "1e999"),
        ("cost", "1" * 5000, "1" * 5000),
        ("patient.age", "", None),
        ("patient.zip", "02*", "02*"),
        ("patient.zip", "127", "127"),
        ("plan", '["b", "c"]', ["b", "c"]),
        ("plan", "[a]", "[a]"),
        ("plan", "[b", "[b"),
        ("ward", "3", 3),
        ("ward", "03", "03"),
        ("ward", "inner", "inner"),
        ("smoker", "true", True),
        ("smoker", "True", "True"),
        ("weight", "70.0", 70.0),
        ("day", "2024", "2024"),
        ("result", "12", "12"),
        ("result", '"quoted"', '"quoted"'),
        ("paid", "false", False),
        ("visits", "3", 3),
        ("visits", "three", "three"),
        ("cost", "0.125", 0.125),
    ],
)
def test_a_cell_is_read_back_as_its_value(name: str, cell: str, value: object, files: Files) -> None:
    cells = [cell if attribute.name == name else "" for attribute in files.policy.published]
    record: Any = _reader(files.policy).read(cells)
    for key in name.split("."):
        record = record[key]
    assert (record, type(record)) == (value, type(value))


def test_a_header_with_a_parent_beside_its_children_or_a_name_twice_has_no_records(files: Files) -> None:
    names = [attribute.name for attribute in files.policy.published]
    assert CellReader(files.policy, ["patient", *names[:2]]).read(["x", "1", "2"]) is None
    assert CellReader(files.policy, ["patient.age", "patient.age"]).read(["1", "2"]) is None


@pytest.mark.parametrize("which", ["output", "certificates"])
def test_a_missing_file_is_an_error_and_no_clean_audit(which: str, files: Files) -> None:
    getattr(files, which).unlink()
    with pytest.raises(InputError, match="cannot be opened"):
        files.kinds()


@pytest.mark.parametrize("content", [b"\xff\xfe", b'patient.age\n"unclosed', b"patient.age\n\xff\n"])
def test_a_broken_csv_file_is_an_input_error(content: bytes, files: Files) -> None:
    files.output = files.output.with_suffix(".csv")
    files.output.write_bytes(content)
    with pytest.raises(InputError) as caught:
        files.kinds()
    assert "unclosed" not in str(caught.value)


def test_an_empty_output_with_certificates_is_found(files: Files) -> None:
    for content in (b"", b"\n"):
        files.output.write_bytes(content)
        assert Kind.NO_RECORDS in files.kinds()


def test_the_exit_code_and_the_print_show_a_violation(files: Files) -> None:
    text = io.StringIO()
    console = Console(file=text, width=160, markup=False)
    assert show(audit_files(files.policy_path, files.output, files.certificates), console) == 0
    assert "no violation found" in text.getvalue()
    assert "number of individuals in each class" in text.getvalue()
    files.lines = [b"[]" for _ in files.lines]
    files.write()
    report = audit_files(files.policy_path, files.output, files.certificates)
    verdict = report.verdict
    assert show(report, console) == 1
    batch = json.loads(files.parts[0])["batch"]
    assert batch in text.getvalue()
    assert Kind.MALFORMED_RECORD.value in text.getvalue()
    assert len(verdict.violations) > SHOWN
    assert "not shown" in text.getvalue()
