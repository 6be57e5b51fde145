"""Compile kernels: with `compiled_within` the only module that imports numba.

A kernel is a free function on arrays without branches on configuration. It runs without the interpreter
lock, so that a window can be partitioned while the next one fills.

Compiled kernels are kept on disk. numba drops one when its own file changes, but not when a kernel in another file
that was compiled into it does, nor when the environment asks for other checks; so the folder is named after all
sources and these checks, and an update never runs old code. A wheel of `make wheel` brings that folder along,
compiled for any processor of the architecture.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, cast

import numba
import numpy as np
from numba.core import event
from numba.core.caching import _CacheLocator

from stream_anon.compiled_within import Kernel

_F = TypeVar("_F", bound=Callable[..., object])
_V = TypeVar("_V", bool, int)
_PACKAGE = Path(__file__).parent
_ROOMS = (
    "microdata",
    "privacy",
    "clustering",
    "windowing",
    "engine",
    "formats/json",
    "formats/writing",
    "formats/avro",
    "formats/protobuf",
    "formats/registry",
)
_SOURCES = (
    *(f"{room}/**/*.py" for room in _ROOMS),
    "adapters/kafka/*/*_kernels.py",
    "adapters/kafka/bulk/batch_head.py",
    "compiled*.py",
)


CARRIED = _PACKAGE / "_kernels"
PROCESSOR = "processor"  # a file of CARRIED: which one its kernels were compiled for


class _NumbaSettings(Protocol):
    CACHE_DIR: str
    CACHE_LOCATOR_CLASSES: str
    BOUNDSCHECK: int | None
    CPU_NAME: str | None
    CPU_FEATURES: str | None


_SETTINGS = cast("_NumbaSettings", numba.config)
_ONE_AT_A_TIME = threading.RLock()  # or threads restore the setting that another one had changed


def _for_carried_kernels() -> None:
    """Compile for the processor of the kernels that the wheel brought; numba takes none of another one."""
    try:
        processor = (CARRIED / PROCESSOR).read_text(encoding="ascii").strip()
    except OSError:
        return
    if _SETTINGS.CPU_NAME is None:
        _SETTINGS.CPU_NAME, _SETTINGS.CPU_FEATURES = processor, ""


_for_carried_kernels()
# NUMBA_BOUNDSCHECK may ask for more checks than the decorators below do, not for fewer.
_SETTINGS.BOUNDSCHECK = _SETTINGS.BOUNDSCHECK or None


@cache
def _sources() -> str:
    """Return a digest of every source that may hold a kernel."""
    digest = hashlib.sha256()
    for pattern in _SOURCES:
        for path in sorted(_PACKAGE.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _build() -> str:
    """Return what a folder of kernels is named after: their sources, and whether all of them are checked."""
    bounds = _SETTINGS.BOUNDSCHECK
    return f"kernels-{_sources()}" + ("" if bounds is None else f"-bounds-{bounds}")


class KernelFolder(_CacheLocator):
    """The first folder that can be written, of those in which a kernel of this package may be kept.

    numba names folders after the place of the sources, and kernels that a wheel brings were compiled elsewhere.
    """

    own: ClassVar[tuple[Path, ...]] = (CARRIED, _PACKAGE / "__pycache__", Path.home() / ".cache" / "stream-anon")

    def __init__(self, folder: Path, line: int) -> None:
        self._folder = folder
        self._line = line

    @classmethod
    def from_function(cls, py_func: Callable[..., object], py_file: str) -> KernelFolder | None:
        """Return the folder of a function of this package; None where none can be written."""
        room = Path(py_file).parent.relative_to(_PACKAGE)
        folders = (
            [Path(_SETTINGS.CACHE_DIR)] if _SETTINGS.CACHE_DIR else [each for each in cls.own if _is_used(each)]
        )
        for folder in folders:
            found = cls(folder / _build() / room, py_func.__code__.co_firstlineno)
            try:
                cast("Any", found).ensure_cache_path()
            except OSError:
                continue
            return found
        return None

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """Return what the folder is named after already."""
        return _sources()

    def get_disambiguator(self) -> str:
        """Return what tells two functions of one name in a file apart."""
        return str(self._line)


def _is_used(folder: Path) -> bool:
    return folder != CARRIED or CARRIED.exists()


def constant(value: _V) -> _V:
    """Return a constant to call kernels with.

    A plain one is a type of its own to numba, and each kernel that it is passed to is compiled once more for it.
    """
    return cast("_V", np.array(value)[()])


def kernel(function: _F) -> _F:
    """Compile `function` at its first call, without the interpreter lock, cached on disk.

    The cache lies in numba's own folder if one is set, else beside this file, else in the user's folder of caches;
    where no place can be written each process compiles for itself.
    """
    return _compiled(function, within=False)


def inlined(function: _F) -> _F:
    """Compile `function` into each kernel that calls it.

    For small functions in hot loops: a call that passes a named tuple of arrays counts references to each of them,
    about 8 ns an array.
    """
    return _compiled(function, within=True)


def bare_kernel(function: _F) -> _F:
    """Compile a kernel that makes no array and returns none.

    A part of an array that it takes is there while the call lasts. It counts no references to its arrays, which
    costs an ordinary kernel more than a short inner function does: about 10 ns for each array at each call, inlined
    or not, and every array of a named tuple counts.
    """
    return _compiled(function, within=False, counted=False)


def bare_inlined(function: _F) -> _F:
    """Compile such a function into each kernel that calls it."""
    return _compiled(function, within=True, counted=False)


def checked_kernel(function: _F) -> _F:
    """Compile a bare kernel that reads bytes from anybody: IndexError where it would leave the bounds of an array.

    Indices from `-len` to -1 count from the end, as everywhere in Python, and raise nothing. A function is checked
    if it was decorated so itself, wherever it is compiled into.
    """
    return _compiled(function, within=False, counted=False, checked=True)


def checked_inlined(function: _F) -> _F:
    """Compile such a function into each kernel that calls it."""
    return _compiled(function, within=True, counted=False, checked=True)


class _Notice(event.Listener):
    """Call `tell` at the first kernel that is compiled."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell: Callable[[], None] | None = tell

    def on_start(self, _event: object) -> None:
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()

    def on_end(self, _event: object) -> None:
        pass


@contextmanager
def when_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` once if a kernel is compiled while the block lasts, since no cache holds it.

    It is called in the thread that compiles, before it does; it must not raise.
    """
    notice = _Notice(tell)
    events = cast("Any", event)  # its functions have no types
    events.register("numba:compile", notice)
    try:
        yield
    finally:
        events.unregister("numba:compile", notice)


def _nothing() -> None:
    pass


def is_kept() -> bool:
    """Return whether compiled kernels are kept on disk: not where no folder can be written."""
    return cast("Any", kernel(_nothing)).stats.cache_path is not None


def _compiled(function: _F, *, within: bool, counted: bool = True, checked: bool = False) -> _F:
    # Nobody calls a kernel from C; a wrapper for that costs a twentieth of the time of a compilation.
    # numba's own tests switch reference counts off in this way; its types know nothing of it.
    options = {"nopython": True, "nogil": True, "forceinline": within, "_nrt": counted, "no_cfunc_wrapper": True}
    made = Kernel(function, {**options, "boundscheck": True if checked else None})
    with _ONE_AT_A_TIME:
        chosen = _SETTINGS.CACHE_LOCATOR_CLASSES
        if Path(function.__code__.co_filename).is_relative_to(_PACKAGE):  # and no kernel of a test
            _SETTINGS.CACHE_LOCATOR_CLASSES = f"{__name__}.{KernelFolder.__name__}"
        try:
            with suppress(RuntimeError):  # no folder can be written, as on a read-only file system
                made.enable_caching()
        finally:
            _SETTINGS.CACHE_LOCATOR_CLASSES = chosen
    return cast("_F", made)
