"""Containers where they can be had: the image built for real, from a base that is made here.

No registry is asked. The base is a small Debian with its Python, made by mmdebstrap, in place of the slim Python
image that the Dockerfile names; all else is the Dockerfile's. Images are kept in the temporary folder, by a digest
of what they are made of, for the next one who tests the same sources.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.data import ROOT

PROGRAMS = ("podman", "buildah", "mmdebstrap", "runc")
STORE = Path(tempfile.gettempdir()) / "stream-anon-containers"
NAME = "localhost/stream-anon"
BASE, BUILDER = "localhost/stream-anon-base:bookworm-1", "localhost/stream-anon-builder:bookworm-1"
REVISION = "0123456789abcdef0123456789abcdef01234567"  # that the image is built with
_SLIM = ["force-unsafe-io", *(f"path-exclude=/usr/share/{part}/*" for part in ("man", "doc", "locale"))]
# The base with what the first stage needs and the second must not have.
_BUILDER = f"""FROM {BASE}
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv python3-pip binutils
"""
# How this machine reaches its package index is this machine's matter; the builder sees it too.
_HOST_FILES = ("/etc/ssl/certs", "/etc/pip.conf", "/etc/resolv.conf")
_CONFIGURATION = {
    "containers.conf": (
        '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n'
        '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
    ),
    "registries.conf": "unqualified-search-registries = []\n",
    "storage.conf": '[storage]\ndriver = "overlay"\ngraphroot = "{store}/root"\nrunroot = "{store}/run"\n',
}
_KEPT = 4  # images of sources that were tested last


@cache
def missing_parts() -> str:
    """Return why no container can be started here; empty if one can."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"containers need {', '.join(absent)} (not on the path)"
    if os.geteuid() != 0:
        return "containers need root here (mmdebstrap and podman with a store of its own)"
    tried = _run("podman", "info")
    return "" if tried.returncode == 0 else "podman does not work here: `podman info` fails"


def environment() -> dict[str, str]:
    """Return the environment in which podman and buildah use a store and a configuration of the tests' own."""
    STORE.mkdir(parents=True, exist_ok=True)
    for name, text in _CONFIGURATION.items():
        (STORE / name).write_text(text.replace("{store}", str(STORE)))
    own = {
        "CONTAINERS_CONF": "containers.conf",
        "CONTAINERS_REGISTRIES_CONF": "registries.conf",
        "CONTAINERS_STORAGE_CONF": "storage.conf",
    }
    return {**os.environ, **{variable: str(STORE / name) for variable, name in own.items()}}


def _run(*command: str, within: float = 60, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=environment(),
        input=text,
        capture_output=True,
        text=True,
        timeout=within,
        check=False,
        cwd=ROOT,
    )


def podman(*arguments: str, within: float = 60, text: str = "") -> str:
    """Run podman and return what it printed; fail with its last words if it fails. `text` is its input."""
    done = _run("podman", *arguments, within=within, text=text)
    assert done.returncode == 0, (arguments[:3], done.stderr[-2000:])
    return done.stdout


def log_lines(container: str) -> list[dict[str, Any]]:
    """Return the log lines of the service in a container; it writes them to standard error."""
    done = _run("podman", "logs", container)
    return [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{") and line.endswith("}")]


def exists(image: str) -> bool:
    """Whether the store has an image."""
    return _run("podman", "image", "exists", image).returncode == 0


def _make_base() -> None:
    with tempfile.TemporaryDirectory() as folder:
        tar = Path(folder) / "base.tar"
        options = [f"--dpkgopt={option}" for option in _SLIM]
        packages = "--include=python3,ca-certificates"
        made = _run("mmdebstrap", "--variant=minbase", *options, packages, "bookworm", str(tar), within=900)
        assert made.returncode == 0, made.stderr[-2000:]
        podman("import", "--quiet", str(tar), BASE, within=300)


def _build(name: str, *arguments: str, text: str = "") -> None:
    """Run a build as root of this machine's file system, without a network of its own."""
    volumes = [part for path in _HOST_FILES if Path(path).exists() for part in ("--volume", f"{path}:{path}:ro")]
    # The format of Docker: the other one knows no HEALTHCHECK.
    command = ["buildah", "bud", "--format", "docker", "--pull=never", "--isolation", "chroot"]
    built = _run(*command, *volumes, "--tag", name, *arguments, within=1200, text=text)
    assert built.returncode == 0, built.stderr[-3000:]


def _sources() -> str:
    digest = hashlib.sha256()
    named = ["Dockerfile", ".dockerignore", "pyproject.toml"]
    named += [f"requirements/{name}.txt" for name in ("pip", "image", "service")]
    folders = ("deploy/image", "deploy/wheel", "examples/clinic", "stream_anon")
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*")) if path.is_file()]
    for path in [*(ROOT / name for name in named), *(p for p in found if "__pycache__" not in p.parts)]:
        digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def mend() -> None:
    """Empty the store if a build that was killed left an image in it without its manifest.

    Podman then fails at whatever looks at all images, among it the inspection of one that is whole.
    """
    if _run("podman", "images", "--all", "--quiet").returncode != 0:
        podman("system", "reset", "--force", within=300)


def _remove_oldest() -> None:
    listed = podman("images", "--sort", "created", "--format", "{{.Repository}}:{{.Tag}}", NAME).split()
    for name in listed[_KEPT:]:  # the youngest are listed first
        _run("podman", "rmi", name)  # stays where another test still runs it


@cache
def image() -> str:
    """Build the image of the sources as they are, unless it was built before, and return its name.

    Other processes that want it meanwhile wait.
    """
    name = f"{NAME}:{_sources()}"
    environment()
    with (STORE / "lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # falls with the file
        mend()
        if exists(name):
            return name
        if not exists(BASE):
            _make_base()
        if not exists(BUILDER):
            _build(BUILDER, "--file", "-", str(STORE), text=_BUILDER)
        given = {"PYTHON_IMAGE": BASE, "BUILDER_IMAGE": BUILDER, "REVISION": REVISION}
        _build(name, *(part for key, value in given.items() for part in ("--build-arg", f"{key}={value}")), ".")
        _remove_oldest()
        return name
