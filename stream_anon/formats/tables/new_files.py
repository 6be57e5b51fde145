"""Files that appear under their name only once they are complete."""

from __future__ import annotations

import errno
import gzip
import os
import secrets
import stat
import sys
from pathlib import Path
from typing import IO, BinaryIO, Self, cast

from stream_anon.errors import InputError
from stream_anon.formats.tables.format_names import STANDARD, is_packed


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears under its name at once; InputError if it cannot be written."""
    with NewFile(str(path)) as new:
        new.file.write(content)
        new.publish()


class NewFile:
    """Writes a file beside its final name and renames it by `publish`; a block that ends before leaves no file.

    An older file of the name stays until then. What is written so far is for its owner only, also where a killed
    process leaves it; the whole file gets the mode of the older one, or that of any new file. Standard output
    (`-`), and anything but a regular file, such as a pipe or a device, is written at once, and nothing of it can be
    taken back. A file whose name ends in `.gz` is compressed; its gzip header holds no name and no time.

    Parameters
    ----------
    name
        A path, or `-`.

    Raises
    ------
    InputError
        If it cannot be opened.

    Examples
    --------
    >>> with NewFile("out.csv") as new:  # doctest: +SKIP
    ...     new.file.write(b"complete")
    ...     new.publish()
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._final = Path(name).resolve()
        self._part: Path | None = None
        self.owned = name != STANDARD
        if not self.owned:
            self.file: BinaryIO = sys.stdout.buffer
            return
        if not self._final.exists() or self._final.is_file():
            self._part = self._final.with_name(f".{self._final.name}.{secrets.token_hex(4)}.part")
        try:
            plain = self._final.open("wb") if self._part is None else private_file(self._part)
            self.file = cast("BinaryIO", _Packed(plain) if is_packed(name) else plain)
        except OSError as error:
            raise InputError(f"{name}: cannot be opened ({error.strerror})") from None

    @property
    def can_be_taken_back(self) -> bool:
        """Return whether nobody sees what is written before `publish`."""
        return self._part is not None

    def complete(self) -> None:
        """Close the file, which still has no name; all of it is on the disk then, also after a power cut.

        Raises
        ------
        InputError
            If it cannot be written to its end.
        """
        try:
            if self.owned:
                self.file.close()
                if self._part is not None:
                    keep(self._part)
        except OSError as error:
            raise InputError(f"{self._name}: cannot be written ({error.strerror})") from None

    def publish(self) -> None:
        """Close the file and give it its name.

        Raises
        ------
        InputError
            If it cannot be written to its end or renamed.
        """
        try:
            if not self.owned:
                self.file.flush()
                return
            self.file.close()
            if self._part is not None:
                mode = _mode_of(self._final)
                if mode != stat.S_IMODE(self._part.stat().st_mode):  # some file systems know one mode only
                    self._part.chmod(mode)
                self._part.replace(self._final)
                self._part = None
        except OSError as error:
            raise InputError(f"{self._name}: cannot be written ({error.strerror})") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.owned:
            return
        try:
            self.file.close()
        except OSError:  # a full disk; the file is thrown away
            pass
        finally:
            if self._part is not None:
                self._part.unlink(missing_ok=True)


def keep(path: Path) -> None:
    """Have what is written of a file, or which names a folder has, on the disk, also after a power cut. OSError.

    Some file systems cannot do that for a folder: they are left alone.
    """
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(opened)


def private_file(path: Path) -> BinaryIO:
    """Create a file that only its owner may read; raises OSError, also if it exists."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, stat.S_IRUSR | stat.S_IWUSR), "wb")


def _mode_of(path: Path) -> int:
    """Return the mode of a file, or what it would get if it were created now.

    Only creating an empty file tells: the umask cannot be asked for without changing it for other threads, and the
    folder may have default access rights.
    """
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    empty = path.with_name(f".{path.name}.{secrets.token_hex(4)}.mode")
    try:
        empty.touch(exist_ok=False)
        return stat.S_IMODE(empty.stat().st_mode)
    finally:
        empty.unlink(missing_ok=True)


class _Packed(gzip.GzipFile):
    """Compresses what is written into a file, which is closed with it."""

    def __init__(self, plain: IO[bytes]) -> None:
        super().__init__(filename="", mode="wb", compresslevel=6, fileobj=plain, mtime=0)
        self._plain = plain

    def close(self) -> None:
        """Write what is left, and close the file."""
        try:
            super().close()
        finally:
            self._plain.close()
