from pathlib import Path

import pytest

from stream_anon.secret_files import MOST_SECRET, SecretError, first_bytes, secret_of


def test_a_secret_comes_from_its_file_if_it_has_one(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(" from the file\n", encoding="utf-8")
    assert secret_of("given", file) == "from the file"
    assert secret_of("given", None) == "given"
    assert secret_of(None, None) is None


def test_a_secret_may_be_as_large_as_the_bound(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"s" * MOST_SECRET)
    assert secret_of(None, file) == "s" * MOST_SECRET
    file.write_bytes(b"s" * (MOST_SECRET + 1))
    with pytest.raises(SecretError, match=r"^is larger than 64 KiB$"):
        secret_of(None, file)


@pytest.mark.parametrize("content", [None, b"\xffhidden"])
def test_a_file_that_gives_no_secret_shows_neither_its_content_nor_its_name(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "named"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SecretError) as raised:
        secret_of(None, file)
    assert str(raised.value) == "cannot be read"
    assert raised.value.__context__ is None


def test_no_more_is_read_of_a_device_than_asked_for() -> None:
    assert first_bytes(Path("/dev/zero"), 5) == bytes(5)
