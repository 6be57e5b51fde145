"""The key that signs: where it lies, and that a file that holds none is refused without its content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream_anon.errors import SettingsError
from stream_anon.operations.check.checking import examine_deployment
from stream_anon.service.wiring.serving import prepare
from stream_anon.settings.loading import load_settings
from stream_anon.settings.policy_file import load_policy
from stream_anon.settings.sections.certificate_settings import signing_key_of
from tests.support.policies import write_policy
from tests.support.signing import key_of, secret_of

KAFKA = {"bootstrap_servers": "127.0.0.1:9", "group": "g", "input": "people", "output": "out"}
SIGN: dict[str, Any] = {"sign": {"key_file": "sign.key"}}


def test_the_key_lies_beside_its_settings(tmp_path: Path) -> None:
    path = write_policy(tmp_path, certificates=SIGN)
    (tmp_path / "sign.key").write_bytes(secret_of(1))
    settings = load_settings(path)
    assert settings.certificates.sign is not None
    assert settings.certificates.sign.key_file == str(tmp_path / "sign.key")
    key = signing_key_of(settings.certificates)
    assert key is not None
    assert key.name == key_of(1).name


def test_the_environment_names_a_key_as_the_chart_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mounted"
    monkeypatch.setenv("STREAM_ANON__CERTIFICATES__SIGN__KEY_FILE", str(file))
    sign = load_settings(write_policy(tmp_path)).certificates.sign
    assert sign is not None
    assert sign.key_file == str(file)


def test_without_a_key_nothing_is_read_and_with_one_the_policy_stays_the_same(tmp_path: Path) -> None:
    assert signing_key_of(load_settings(write_policy(tmp_path)).certificates) is None
    digest = load_policy(write_policy(tmp_path)).digest
    assert load_policy(write_policy(tmp_path, certificates=SIGN)).digest == digest


@pytest.mark.parametrize("content", [None, b"Mrs Smith, a secret of many bytes", key_of(1).public])
async def test_a_service_and_its_check_refuse_a_file_that_holds_no_key(
    content: bytes | None, tmp_path: Path
) -> None:
    path, file = write_policy(tmp_path, certificates=SIGN, kafka=KAFKA), tmp_path / "sign.key"
    if content is not None:
        file.write_bytes(content)
    for refusal in (lambda: prepare(path, []), lambda: signing_key_of(load_settings(path).certificates)):
        with pytest.raises(
            SettingsError, match=r"certificates\.sign\.key_file: (cannot be read|is no private key)"
        ) as told:
            refusal()
        assert str(file) in str(told.value)
        assert "Smith" not in str(told.value)
    with pytest.raises(SettingsError, match=r"certificates\.sign\.key_file"):
        await examine_deployment(path)
