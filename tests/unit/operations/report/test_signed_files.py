"""A file and its signature: only what was signed, by whom it was signed."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.errors import CertificateError, InputError
from stream_anon.operations.report.signed_files import signer_of, write_signed
from tests.support.signing import key_of, public_of


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    write_signed(path, b"{}\n", key_of(1).sign)
    return path


def test_a_signed_file_names_its_signer(signed: Path) -> None:
    assert signed.read_bytes() == b"{}\n"
    assert signer_of(signed, public_of(2, 1)) == key_of(1).name


@pytest.mark.parametrize("content", [b"{}", b"{}\n\n", b"[]\n", b""])
def test_a_changed_file_is_found(content: bytes, signed: Path) -> None:
    signed.write_bytes(content)
    with pytest.raises(CertificateError, match="somebody changed"):
        signer_of(signed, public_of(1))


def test_a_key_that_was_not_given_is_no_signer(signed: Path) -> None:
    with pytest.raises(CertificateError, match="not given"):
        signer_of(signed, public_of(2))


def test_a_signature_in_the_name_of_another_key_is_found(signed: Path) -> None:
    beside = signed.with_name("report.json.sig")
    beside.write_bytes(key_of(2).sign(b"{}\n").replace(key_of(2).name.encode(), key_of(1).name.encode()))
    with pytest.raises(CertificateError, match="somebody changed"):
        signer_of(signed, public_of(1, 2))


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff" * 5000])
def test_what_is_no_signature_is_named(content: bytes, signed: Path) -> None:
    signed.with_name("report.json.sig").write_bytes(content)
    with pytest.raises(CertificateError, match=r"report\.json\.sig: is no signature"):
        signer_of(signed, public_of(1))


def test_a_file_without_a_signature_is_refused(signed: Path) -> None:
    signed.with_name("report.json.sig").unlink()
    with pytest.raises(InputError, match="cannot be read"):
        signer_of(signed, public_of(1))


def test_a_file_that_is_written_anew_without_a_key_loses_its_signature(signed: Path) -> None:
    write_signed(signed, b"{}\n", None)
    assert [path.name for path in signed.parent.iterdir()] == ["report.json"]
