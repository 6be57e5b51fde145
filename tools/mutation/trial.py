"""A pytest plugin that tries each mutant in a forked process, on the tests that call its function."""

from __future__ import annotations

import importlib
import os
import pickle
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tools.mutation.mutants import Mutant
from tools.mutation.patching import interpret, put

PROFILE = "mutants"
_MOST_MEMORY = 8 << 30  # a mutant must not take the machine along
_LEAST_PATIENCE = 20.0  # seconds

Called = frozenset[tuple[str, str]]


@dataclass
class Trial:
    """Tries mutants instead of running the tests once.

    Parameters
    ----------
    mutants
        What to try.
    told
        Called with each mutant and its fate as soon as that is known.
    """

    mutants: Sequence[Mutant]
    told: Callable[[Mutant, str], None]
    jobs: int = 1
    fates: dict[str, str] = field(default_factory=dict)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self) -> None:
        """Let laws stop at the first example against them: the shortest one is not asked for."""
        from hypothesis import HealthCheck, Phase, settings

        settings.register_profile(
            PROFILE,
            derandomize=True,
            deadline=None,
            max_examples=20,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests once, then each mutant's tests until one fails."""
        paths = sorted({mutant.path for mutant in self.mutants})
        baseline = _in_child(lambda: _baseline(session.items, paths), None)
        if not isinstance(baseline, dict):
            raise pytest.UsageError(f"the tests fail without a mutant: {baseline}")
        running: dict[int, tuple[Mutant, int, float]] = {}
        for mutant in self.mutants:
            if len(running) == self.jobs:
                self._settle(running)
            chosen = [i for i in session.items if (mutant.path, mutant.function) in baseline[i.nodeid][1]]
            chosen.sort(key=lambda item: baseline[item.nodeid][0])
            patience = _LEAST_PATIENCE + 10 * sum(baseline[item.nodeid][0] for item in chosen)
            reading, pid = _fork(lambda m=mutant, c=chosen: _fate(m, c))
            running[reading] = mutant, pid, time.monotonic() + patience
        while running:
            self._settle(running)
        return True

    def _settle(self, running: dict[int, tuple[Mutant, int, float]]) -> None:
        """Wait until one mutant's fate is known."""
        while True:
            first = min(until for _, _, until in running.values())
            ready, _, _ = select.select(list(running), [], [], max(first - time.monotonic(), 0.0))
            late = [end for end, (_, _, until) in running.items() if until < time.monotonic()]
            for end in ready or late:
                mutant, pid, _ = running.pop(end)
                if end not in ready:
                    os.kill(pid, signal.SIGKILL)
                fate = _answer(end, pid)
                self.fates[mutant.name] = fate if end in ready and fate else "killed"
                self.told(mutant, self.fates[mutant.name])
            if ready or late:
                return


def _module(path: str) -> Any:
    return importlib.import_module(path.removesuffix(".py").replace("/", "."))


def _baseline(items: Sequence[pytest.Item], paths: Iterable[str]) -> Any:
    """Return the seconds of each test and what it calls of the modules; the first test that fails instead."""
    files = {_module(path).__file__: path for path in paths}
    for path in paths:
        interpret(_module(path))
    found: dict[str, tuple[float, Called]] = {}
    for item, after in zip(items, [*items[1:], None], strict=True):
        called: set[tuple[str, str]] = set()

        def note(frame: FrameType, _: str, __: object, called: set[tuple[str, str]] = called) -> None:
            if frame.f_code.co_filename in files:
                called.add((files[frame.f_code.co_filename], frame.f_code.co_qualname.partition(".<locals>")[0]))

        begun = time.monotonic()
        sys.settrace(note)
        reports = runtestprotocol(item, log=False, nextitem=after)
        sys.settrace(None)
        if any(report.failed for report in reports):
            return f"{item.nodeid}: {next(report.longreprtext for report in reports if report.failed)}"
        found[item.nodeid] = time.monotonic() - begun, frozenset(called)
    return found


def _fate(mutant: Mutant, items: Sequence[pytest.Item]) -> str:
    if not items:
        return "not run"
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    try:
        put(_module(mutant.path), mutant.function, mutant.code)
    except (LookupError, ValueError) as error:
        return f"not put: {error}"
    for item, after in zip(items, [*items[1:], None], strict=True):
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=after)):
            return "killed"
    return "survived"


def _fork(work: Callable[[], Any]) -> tuple[int, int]:
    """Do `work` in a child; return where its answer can be read, and its process id."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return reading, pid
    with suppress(BaseException), Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        answer = pickle.dumps(work())
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answer)
    os._exit(0)


def _answer(reading: int, pid: int) -> Any:
    """Return what a child answered, nothing if it died."""
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return pickle.loads(text) if text else None  # noqa: S301 - of our own child


def _in_child(work: Callable[[], Any], otherwise: Any) -> Any:
    answer = _answer(*_fork(work))
    return otherwise if answer is None else answer
