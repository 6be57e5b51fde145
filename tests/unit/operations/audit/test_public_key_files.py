"""The files of public keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.errors import SettingsError
from stream_anon.operations.audit.public_key_files import read_public_keys
from stream_anon.privacy.signing import public_keys
from tests.support.signing import key_of

serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")


def test_each_key_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parse, parsed = serialization.load_pem_public_key, list[bytes]()

    def counted(block: bytes) -> object:
        parsed.append(block)
        return parse(block)

    monkeypatch.setattr(serialization, "load_pem_public_key", counted)
    signers = [key_of(number) for number in (1, 2, 3)]
    (tmp_path / "two").write_bytes(signers[0].public + signers[1].public)
    (tmp_path / "one").write_bytes(signers[2].public)
    found = read_public_keys([tmp_path / "two", tmp_path / "one"])
    assert len(found) == len(parsed) == 3
    assert all(signer.name in found for signer in signers)


@pytest.mark.parametrize("content", [None, b"Mrs Smith"])
def test_a_file_without_keys_is_named_and_its_content_is_not(content: bytes | None, tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_bytes(key_of(1).public)
    if content is not None:
        bad.write_bytes(content)
    with pytest.raises(SettingsError) as refused:
        read_public_keys([good, bad])
    assert (refused.value.key, refused.value.place) == (public_keys.OPTION, str(bad))
    assert "Smith" not in str(refused.value)
