"""Open text files of records to be read.

Everything that reads such a file opens it here. Nothing is unpacked before it is read, so that a small file which
holds a very long text takes no memory.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, count
from pathlib import Path
from typing import IO, TYPE_CHECKING, AnyStr, BinaryIO, cast

from stream_anon.errors import InputError
from stream_anon.formats.tables.format_names import PACKED, STANDARD, Format, is_packed
from stream_anon.formats.tables.json_arrays import array_begins, lines_of_array

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BLOCK = 1 << 16
_MOST_LINE = 1 << 26
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
ESCAPED = re.compile("[\udc80-\udcff]")
"""Bytes that are no UTF-8, as decoders represent them that escape them."""
_GUESSES = ("cp1252", "cp850")  # the second one has a sign for every byte


def open_records(name: str, form: Format) -> BinaryIO:
    """Open a text file of records, or standard input for `-`; it may be compressed by gzip.

    A file of JSON Lines that is one array of objects in truth is read as if each stood in a line.

    Parameters
    ----------
    form
        What it holds, not Parquet.

    Raises
    ------
    InputError
        If it cannot be opened, is compressed and not named so, or is UTF-16. Reading raises it where compressed
        data are damaged or end too early, or an array does.
    """
    told = "standard input" if name == STANDARD else name
    file = _opened(name)
    with ExitStack() as stack:
        stack.callback(file.close)
        begin = file.peek(_BLOCK)  # what a program has not written yet is not waited for
        _check(begin, told)
        stack.pop_all()
    if form is Format.JSONL and array_begins(begin):
        return io.BufferedReader(lines_of_array(file, told), _BLOCK)
    return file


def lines_of(file: IO[AnyStr], name: str) -> Iterator[AnyStr]:
    """Yield the lines of a file with their ends; InputError for one of more than 64 Mi bytes or characters."""
    for number in count(1):
        line = file.readline(_MOST_LINE + 1)
        if len(line) > _MOST_LINE:
            raise InputError(f"{name}: line {number} is longer than {_MOST_LINE // 2**20} MiB")
        if not line:
            return
        yield line


class TextLines:
    r"""The lines of a file of UTF-8 text, each with its end: `\n`, `\r\n` or `\r`.

    They are read in blocks, so that the work for a line is done in C. What a program has not written yet is not
    waited for.

    Parameters
    ----------
    file
        Opened for bytes, with or without a byte order mark.
    name
        What errors call the file.

    Attributes
    ----------
    damaged
        Whether bytes that are no UTF-8 have come so far. Lines represent them as `ESCAPED` says.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name = file, name
        self.damaged = False

    def __iter__(self) -> Iterator[str]:
        """Yield lines. Raise InputError for one of more than 64 Mi characters."""
        return chain.from_iterable(io.StringIO(text, newline="") for text in self._whole_lines())

    def _whole_lines(self) -> Iterator[str]:
        """Yield texts of several lines; the end of the last one may be missing."""
        begun, length, lines = list[str](), 0, 0  # a line of which only the begin is there, and lines before it
        for text in self._blocks():
            stop = max(text.rfind("\n"), text.rfind("\r")) + 1
            ended = io.StringIO(text[:stop], newline="").readline() if length else ""  # a block is far shorter
            if length + len(ended or text) > _MOST_LINE:
                raise InputError(f"{self._name}: line {lines + 1} is longer than {_MOST_LINE // 2**20} MiB")
            if stop:
                begun.append(text[:stop])
                yield "".join(begun)
                lines += text.count("\n") + text.count("\r") - text.count("\r\n")
                begun, length = [], 0
            begun.append(text[stop:])
            length += len(text) - stop
        yield "".join(begun)

    def _blocks(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
        read = getattr(self._file, "read1", self._file.read)
        held = ""  # what may be the first half of an end
        while data := read(_BLOCK):
            text = held + decoder.decode(data)
            held = "\r" if text.endswith("\r") else ""
            yield self._checked(text.removesuffix("\r"))
        yield self._checked(held + decoder.decode(b"", final=True))

    def _checked(self, text: str) -> str:
        if not text.isascii() and ESCAPED.search(text):
            self.damaged = True
        return text


def not_utf8(name: str, form: Format) -> str:
    """Say that a file is not UTF-8, which encoding it may be, and how to convert it."""
    told = "standard input" if name == STANDARD else name
    guess = _GUESSES[0]
    if name != STANDARD:
        with open_records(name, form) as file:
            guess = _guess(file)
    return f"{told}: is not UTF-8 text; it may be {guess}: {_converted(guess)}"


def _opened(name: str) -> io.BufferedReader:
    """Return an open file, unpacked if its name says that it is compressed."""
    if name == STANDARD:
        given = sys.stdin.buffer
        return given if isinstance(given, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", given))
    try:
        file = Path(name).open("rb")  # noqa: SIM115 - whoever reads it closes it
    except OSError as error:
        raise InputError(f"{name}: cannot be opened ({error.strerror})") from None
    return io.BufferedReader(_Unpacked(file, name), _BLOCK) if is_packed(name) else file


def _check(begin: bytes, told: str) -> None:
    """Raise InputError if a file begins as no UTF-8 text does."""
    if begin.startswith(_GZIP):
        raise InputError(f"{told}: is compressed by gzip: its name must end in {PACKED}, or unpack it")
    if begin.startswith(_ZIP):
        raise InputError(f"{told}: is a zip archive or a workbook, not text: export its table as CSV in UTF-8")
    if begin.startswith(_UTF16):
        raise InputError(f"{told}: is not UTF-8 text, but UTF-16: {_converted('utf-16')}")


def _guess(file: BinaryIO) -> str:
    """Return the first encoding that has a sign for each byte of the first mebibyte that is not ASCII."""
    block = file.read(1 << 20)
    return next((one for one in _GUESSES if _decodes(block, one)), _GUESSES[-1])


def _decodes(block: bytes, encoding: str) -> bool:
    try:
        block.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _converted(encoding: str) -> str:
    return f"convert it first, such as by `iconv -f {encoding} -t utf-8` (of a compressed file, what is in it)"


class _Unpacked(io.RawIOBase):
    """The content of a gzip file, unpacked as it is read.

    Parameters
    ----------
    file
        Open for bytes; closed with this.
    name
        What errors call it.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._packed = file
        self._inside = gzip.GzipFile(fileobj=file, mode="rb")
        self._name = name

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill a buffer; return how many bytes were there, 0 at the end."""
        try:
            return self._inside.readinto(buffer)
        except EOFError:
            raise InputError(f"{self._name}: ends in the midst of its gzip data; it was cut off") from None
        except (gzip.BadGzipFile, zlib.error):
            raise InputError(f"{self._name}: is not a gzip file, or a damaged one") from None

    def close(self) -> None:
        """Close the file."""
        try:
            self._inside.close()
            self._packed.close()
        finally:
            super().close()
