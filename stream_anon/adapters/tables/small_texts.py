"""Read small text files: settings, policies, hierarchies, secrets."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from stream_anon.errors import InputError

MOST_BYTES = 64 * 1024 * 1024


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file.

    Raises
    ------
    InputError
        If it is missing, a folder, larger than 64 MiB, or not UTF-8.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: larger than {MOST_BYTES // 2**20} MiB")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def read_table(path: Path) -> list[list[str]]:
    """Return the rows of a delimited file; the delimiter is `;` if the first line holds one, else `,`."""
    text = read_text(path)
    delimiter = ";" if ";" in text.partition("\n")[0] else ","
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    except csv.Error:
        raise InputError(f"{path}: is not a delimited table") from None
    return [[cell.strip() for cell in row] for row in rows if row]
