"""A key from its making to the audit: `signing-key`, `anonymize` with certificates, `audit --public-key`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from stream_anon.privacy.signing.signature import read_signature, signed_parts
from tests.support.commands import FileRun, run
from tests.support.data import ROOT
from tests.support.policies import people, write_json_lines, write_policy
from tests.support.signing import key_of, public_of, secret_of

ONE = key_of(1)


class Signed(FileRun):
    """A file that was released with signed certificates, beside the public keys 1 and 2."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        policy = write_policy(folder, certificates={"sign": {"key_file": "sign.key"}})
        for number in (1, 2):
            (folder / f"{number}.pub").write_bytes(key_of(number).public)
        (folder / "sign.key").write_bytes(secret_of(1))
        super().__init__(policy, people(160))
        assert self.anonymize(*options) == 0


@pytest.fixture
def signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Signed:
    monkeypatch.setenv("COLUMNS", "200")
    return Signed(tmp_path, "--by-arrival")


def test_certificates_of_a_file_are_signed_and_hold_by_the_public_key(
    signed: Signed, capsys: pytest.CaptureFixture[str]
) -> None:
    (signed.folder / "sign.key").unlink()  # the auditor has no secret
    parts = list(signed_parts(signed.certificates.read_bytes().splitlines()))
    assert len(parts) == 5  # a document and four windows
    assert all(signature and public_of(1).holds(part, read_signature(signature)) for part, signature in parts)
    capsys.readouterr()
    assert signed.audit("--public-key", signed.folder / "1.pub") == 0
    text = capsys.readouterr().out
    assert "hold in 4 of 4 windows" in text
    assert ONE.name in text
    assert signed.audit("--public-key", signed.folder / "2.pub", "--public-key", signed.folder / "1.pub") == 0


def test_ten_lines_of_the_page_on_the_audit_check_a_file_without_this_software(signed: Signed) -> None:
    page = (ROOT / "docs" / "explain" / "audit.md").read_text()
    (script,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (signed.folder / "sign.pub").write_bytes(ONE.public)

    def check() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "ignore", "-c", script]
        return subprocess.run(command, cwd=signed.folder, capture_output=True, text=True, check=False)

    assert check().stdout.split() == ["holds"] * 5
    changed = signed.certificates.read_bytes().replace(b'"schema":2', b'"schema": 2', 1)
    signed.certificates.write_bytes(changed)
    failed = check()
    assert (failed.returncode, failed.stdout.split()) == (1, ["holds"])  # the policy document is as it was
    assert "InvalidSignature" in failed.stderr


def test_without_a_public_key_the_audit_says_that_it_checked_no_signature(
    signed: Signed, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert signed.audit() == 0
    text = capsys.readouterr().out
    assert "who wrote the certificates of 4 windows: they are signed, and no public key was given" in text
    assert "hold in" not in text


def test_who_signs_and_what_does_not_hold_stand_in_the_report(
    signed: Signed, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = Draft202012Validator(json.loads((ROOT / "schemas" / "audit.schema.json").read_text()))

    def report(public: str, code: int) -> dict[str, Any]:
        capsys.readouterr()
        assert signed.audit("--public-key", signed.folder / public, "--json") == code
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert list(schema.iter_errors(found)) == []
        return found

    found = report("1.pub", 0)
    assert found["counts"]["signed"] == 4
    assert [(signer["key"], signer["windows"]) for signer in found["signers"]] == [(ONE.name, 4)]
    found = report("2.pub", 1)
    assert found["kinds"] == {"unknown-signer": 5}
    assert (found["counts"]["signed"], found["signers"]) == (0, [])
    lines = signed.certificates.read_bytes().splitlines(keepends=True)
    signed.certificates.write_bytes(b"".join(lines[::2]))
    assert report("1.pub", 1)["kinds"] == {"unsigned": 5}


def test_one_table_is_signed_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = Signed(tmp_path)
    assert table.audit("--public-key", tmp_path / "1.pub") == 0
    assert "hold in 1 of 1 windows" in capsys.readouterr().out


def test_a_key_is_read_only_where_certificates_are_written(tmp_path: Path) -> None:
    policy = write_policy(tmp_path, certificates={"sign": {"key_file": "absent"}})
    source = write_json_lines(tmp_path / "in.jsonl", people(60))
    assert run("anonymize", "-c", policy, source, tmp_path / "out.jsonl") == 0
    proof = ("--certificates", tmp_path / "c.jsonl")
    assert run("anonymize", "-c", policy, source, tmp_path / "other.jsonl", *proof) == 2
    assert not (tmp_path / "other.jsonl").exists()


@pytest.mark.parametrize("content", [None, secret_of(1), b"Mrs Smith"])
def test_a_file_that_holds_no_public_key_is_an_error_without_its_content(
    content: bytes | None, signed: Signed, capsys: pytest.CaptureFixture[str]
) -> None:
    file = signed.folder / "wrong"
    if content is not None:
        file.write_bytes(content)
    assert signed.audit("--public-key", signed.folder / "1.pub", "--public-key", file) == 2
    text = capsys.readouterr().err
    assert f"stream-anon: {file}: --public-key: " in text
    assert "1.pub" not in text
    assert not any(line in text for line in (content or b"nothing").decode().splitlines())


# The command -----------------------------------------------------------------------------------------------------


def test_a_new_key_is_for_its_owner_only_and_its_public_key_is_printed_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sign.key"
    assert run("signing-key", file, "--new") == 0
    made = capsys.readouterr()
    assert file.stat().st_mode & 0o777 == 0o600
    assert made.out.startswith("-----BEGIN PUBLIC KEY-----\n")
    assert "keep it secret" in made.err
    assert run("signing-key", file) == 0
    again = capsys.readouterr()
    assert again.out == made.out
    (name,) = again.err.split()[1:]
    assert name in made.err
    assert name.startswith("sha256:")
    secret = file.read_text().splitlines()[1]
    assert all(secret not in text for text in (made.out, made.err, again.out, again.err))


def test_a_key_is_never_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sign.key"
    file.write_bytes(secret_of(1))
    assert run("signing-key", file, "--new") == 2
    assert "is there already" in capsys.readouterr().err
    assert file.read_bytes() == secret_of(1)
    assert run("signing-key", tmp_path / "nowhere" / "sign.key", "--new") == 2
    assert "no key can be made there" in capsys.readouterr().err


def test_the_public_key_of_what_is_no_key_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("signing-key", tmp_path / "absent") == 2
    file = tmp_path / "text"
    file.write_text("Mrs Smith")
    assert run("signing-key", file) == 2
    text = capsys.readouterr().err
    assert "certificates.sign.key_file" in text
    assert "Smith" not in text
