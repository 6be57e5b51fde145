"""A signature holds by the public key of the key that made it, of these bytes and no others."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from hypothesis import given
from hypothesis import strategies as st

from stream_anon import extras
from stream_anon.errors import CertificateError, SettingsError
from stream_anon.privacy.signing.public_keys import PublicKeys
from stream_anon.privacy.signing.signature import (
    SIGNATURE_BYTES,
    read_signature,
    signed_parts,
    with_signatures,
)
from stream_anon.privacy.signing.signing_key import SigningKey
from tests.support.signing import key_of, public_of, secret_of

KEY, OTHER = key_of(1), key_of(2)
BOTH = public_of(1, 2)


@given(st.binary(max_size=200), st.data())
def test_a_signature_holds_for_its_bytes_and_for_no_others(document: bytes, data: st.DataObject) -> None:
    signature = read_signature(KEY.sign(document))
    assert BOTH.holds(document, signature)
    place, bits = data.draw(st.integers(0, len(document))), data.draw(st.integers(1, 255))
    longer = bytearray(document + b"\0")[: max(place + 1, len(document))]  # the byte behind the end may be added
    longer[place] ^= bits
    assert not BOTH.holds(bytes(longer), signature)


def test_a_key_is_pickled_into_no_task_and_no_state_of_a_host() -> None:
    for held in (KEY, KEY.sign):
        with pytest.raises(TypeError, match="cannot pickle") as told:
            pickle.dumps(held)
        assert secret_of(1).decode() not in str(told.value)


def test_a_signature_names_its_key_and_holds_by_no_other() -> None:
    signature = read_signature(KEY.sign(b"x"))
    assert signature.key == KEY.name != OTHER.name
    assert signature.key in public_of(1)
    assert not public_of(2).holds(b"x", signature)
    in_anothers_name = type(signature)(1, OTHER.name, signature.signature)
    assert not BOTH.holds(b"x", in_anothers_name)


def test_a_signature_is_always_the_same_and_fits_beside_a_part() -> None:
    assert KEY.sign(b"x") == key_of(1).sign(b"x") != KEY.sign(b"y")
    assert len("signature") + len(KEY.sign(b"x")) + 8 < SIGNATURE_BYTES


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"key": "sha256:0"},
        {"signature": base64.b64encode(b"0" * 63).decode()},
        {"signature": "no Base64"},
        {"more": 1},
    ],
)
def test_what_is_no_signature_is_refused_without_its_content(change: dict[str, object]) -> None:
    told = json.loads(KEY.sign(b"x"))
    with pytest.raises(CertificateError, match=r"^is no signature of schema version 1$"):
        read_signature(json.dumps(told | change).encode())


@given(
    st.one_of(st.binary(max_size=300), st.binary(max_size=3).map(lambda some: KEY.sign(b"x").replace(b"s", some)))
)
def test_any_bytes_are_a_signature_or_refused(text: bytes) -> None:
    try:
        assert read_signature(text).key.startswith("sha256:")
    except CertificateError:
        assert text != KEY.sign(b"x")


def test_a_text_that_is_too_long_is_no_signature() -> None:
    longest = KEY.sign(b"x").ljust(SIGNATURE_BYTES - 1)
    assert read_signature(longest).key == KEY.name
    with pytest.raises(CertificateError):
        read_signature(longest + b" ")


@given(st.lists(st.binary(max_size=5), max_size=6))
def test_lines_of_a_file_give_the_parts_again_each_with_its_signature(parts: list[bytes]) -> None:
    assert list(signed_parts(with_signatures(parts, KEY.sign))) == [(part, KEY.sign(part)) for part in parts]
    assert list(signed_parts(with_signatures(parts, None))) == [(part, None) for part in parts]


def test_a_signature_of_nothing_is_a_part() -> None:
    stray = KEY.sign(b"x")
    assert list(signed_parts([stray, b"a", stray, stray])) == [(stray, None), (b"a", stray), (stray, None)]


# Keys ------------------------------------------------------------------------------------------------------------


def _pem(key: Ed25519PrivateKey | Ed448PrivateKey, password: bytes = b"") -> bytes:
    hidden = BestAvailableEncryption(password) if password else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden)


SECRET = secret_of(1)
REFUSED = {
    "empty": (b"", "is no private key in PEM"),
    "a text": (b"a secret of sixteen bytes or more", "is no private key in PEM"),
    "cut": (SECRET[:60], "is no private key in PEM"),
    "public": (KEY.public, "is no private key in PEM"),
    "another curve": (_pem(Ed448PrivateKey.generate()), "is no private key of Ed25519"),
    "with a password": (_pem(Ed25519PrivateKey.generate(), b"secret"), "has a password"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_private_key_is_refused_without_its_content(name: str) -> None:
    secret, message = REFUSED[name]
    with pytest.raises(ValueError, match=message) as caught:
        SigningKey(secret)
    error = caught.value
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    lines = [line for line in secret.decode().splitlines() if line and "-----" not in line]
    assert not any(line in str(error) for line in lines)


@pytest.mark.parametrize("text", [b"", SECRET, KEY.public[:50], KEY.public.replace(b"MC", b"MD"), b"cut" + SECRET])
def test_what_is_no_public_key_is_refused_without_its_content(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"^holds something else than public keys of Ed25519 in PEM$"):
        PublicKeys([KEY.public, text])


@given(st.integers(0, 200), st.binary(max_size=3))
def test_a_key_that_was_damaged_in_any_way_is_refused_or_another_key(place: int, some: bytes) -> None:
    for read, text in ((SigningKey, SECRET), (lambda public: PublicKeys([public]), KEY.public)):
        damaged = text[:place] + some + text[place + len(some) + 1 :]
        try:
            read(damaged)
        except ValueError as error:
            assert "\n" not in str(error)  # noqa: PT017 - what it may say is in the tests above


def test_a_public_key_of_another_curve_is_refused_also_beside_a_right_one() -> None:
    other = Ed448PrivateKey.generate().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(ValueError, match="something else"):
        PublicKeys([KEY.public + other])


def test_the_keys_of_two_are_the_keys_of_both() -> None:
    keys = PublicKeys([KEY.public]) | PublicKeys([OTHER.public])
    assert len(keys) == 2
    assert all(key.name in keys for key in (KEY, OTHER))


def test_a_text_may_hold_several_public_keys() -> None:
    keys = PublicKeys([b"the first\n" + KEY.public + b"\n" + OTHER.public])
    assert len(keys) == 2
    assert all(key.name in keys for key in (KEY, OTHER))


def test_a_key_is_not_shown() -> None:
    assert repr(KEY) == "SigningKey(...)"
    assert not hasattr(KEY, "__dict__")


def test_a_new_key_is_another_each_time() -> None:
    names = {SigningKey(SigningKey.drawn()).name for _ in range(3)}
    assert len(names) == 3


@pytest.mark.skipif(which("openssl") is None, reason="needs openssl")
def test_openssl_checks_a_signature_and_gives_the_name_of_its_key(tmp_path: Path) -> None:
    (tmp_path / "public.pem").write_bytes(KEY.public)
    (tmp_path / "part").write_bytes(b'{"schema":2}')
    (tmp_path / "signature").write_bytes(read_signature(KEY.sign(b'{"schema":2}')).signature)
    check = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "public.pem", "-rawin", "-in", "part"]
    assert subprocess.run([*check, "-sigfile", "signature"], cwd=tmp_path, check=False).returncode == 0
    der = subprocess.run(
        ["openssl", "pkey", "-pubin", "-in", "public.pem", "-outform", "DER"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    assert KEY.name == "sha256:" + hashlib.sha256(der.stdout).hexdigest()


@pytest.mark.skipif(which("openssl") is None, reason="needs openssl")
def test_a_key_that_openssl_made_signs(tmp_path: Path) -> None:
    file = tmp_path / "key"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", file], check=True, capture_output=True)
    key = SigningKey(file.read_bytes())
    assert PublicKeys([key.public]).holds(b"x", read_signature(key.sign(b"x")))


def test_without_cryptography_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    for making in (lambda: SigningKey(SECRET), lambda: PublicKeys([KEY.public]), SigningKey.drawn):
        with pytest.raises(SettingsError, match="extra `sign` installs: pip install cryptography"):
            making()


_LOADED = """
import sys
import stream_anon.cli.prove.audit, stream_anon.service.wiring.serving, stream_anon.library
print("cryptography" in sys.modules)
"""


def test_whoever_has_no_key_does_not_load_what_signs() -> None:
    run = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
