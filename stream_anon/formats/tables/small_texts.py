"""Read small text files: settings, policies, hierarchies, secrets."""

from __future__ import annotations

import csv
import io
import os
import stat
from pathlib import Path

from stream_anon.errors import InputError

MOST_BYTES = 64 * 1024 * 1024
_CHUNK = 1024 * 1024


def read_text(path: Path, *, piped: bool = True) -> str:
    """Return the text of a UTF-8 file.

    Parameters
    ----------
    piped
        Whether it may be a pipe or a device, such as `<(sops -d policy.yaml)` in a shell. What a settings file
        names may not: a device has no end, and a pipe may never have a beginning.

    Raises
    ------
    InputError
        If it is missing, a folder, larger than 64 MiB, or not UTF-8.
    """
    try:
        if not piped:
            raise_unless_regular(path)
        data = bytearray()
        with path.open("rb") as file:
            while part := file.read(_CHUNK):
                data += part
                if len(data) > MOST_BYTES:
                    raise InputError(f"{path}: larger than {MOST_BYTES // 2**20} MiB")
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def raise_unless_regular(path: Path) -> None:
    """Raise InputError for a device, a pipe, a socket or a folder; OSError where there is nothing."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - follows links, as opening does
        raise InputError(f"{path}: is not a regular file")


def read_table(path: Path) -> list[list[str]]:
    """Return the rows of a delimited file; see `read_numbered_table`."""
    return [row for _, row in read_numbered_table(path)]


def read_numbered_table(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows of a delimited file, each with the line, counted from 1, in which it ends.

    The delimiter is `;` if the first line holds one, else `,`. Empty lines are left out.

    Raises
    ------
    InputError
        As `read_text`, and if it is not a regular file or no table; the message holds nothing of its content.
    """
    text = read_text(path, piped=False)
    delimiter = ";" if ";" in text.partition("\n")[0] else ","
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        return [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    except csv.Error:
        raise InputError(f"{path}: is not a delimited table (line {reader.line_num})") from None
