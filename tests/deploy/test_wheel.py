"""The wheel of `make wheel` in an environment of its own: its first command finds every kernel compiled."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.data import ROOT

_POLICY = """
privacy: {k: 10, individual: patient_id, sensitive: {diagnosis: {distinct_l: 2}}}
attributes:
  patient_id: {role: identifier}
  age: {role: quasi-identifier, numeric: {min: 0, max: 120, step: 1, levels: [5, 10, 20]}}
  zip: {role: quasi-identifier, prefix: {length: 5}}
  diagnosis: {role: sensitive}
"""
_COMPILED = "compiling kernels"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with the wheel of this tree in it."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(["make", f"PYTHON={sys.executable}", "wheel"], cwd=ROOT, check=True, timeout=1500)
    wheel = max((ROOT / "dist").glob("*.whl"), key=lambda path: path.stat().st_mtime)
    assert re.search(r"-cp3\d+-cp3\d+-", wheel.name), "kernels are of one Python and one platform"
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip = [folder / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    requirements = ROOT / "requirements" / "service.txt"
    subprocess.run([*pip, "--require-hashes", "-r", requirements], check=True, timeout=600)
    subprocess.run([*pip, "--no-deps", wheel], check=True, timeout=120)
    return folder


def _anonymized(folder: Path) -> tuple[float, str]:
    (folder / "policy.yaml").write_text(_POLICY)
    command = ["stream-anon", "anonymize", "-c", "policy.yaml", ROOT / "examples/quickstart/visits.csv", "out.csv"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment["PATH"] = f"{folder / 'venv' / 'bin'}:{environment['PATH']}"
    begun = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return time.perf_counter() - begun, done.stderr


@pytest.mark.soak
@pytest.mark.timeout(1500)
def test_the_first_command_after_an_install_of_the_wheel_compiles_nothing(installed: Path) -> None:
    first, said = _anonymized(installed)
    second, _ = _anonymized(installed)
    assert _COMPILED not in said
    assert first < 3 * second + 2, f"{first:.1f} s and {second:.1f} s; the first one compiles modules of Python too"


@pytest.mark.soak
@pytest.mark.timeout(1500)
def test_an_install_of_the_wheel_brings_the_templates_of_its_pages(installed: Path) -> None:
    code = "from stream_anon.pages.templates import rendered; rendered('adapters/http/status_page.html.j2')"
    subprocess.run([installed / "venv" / "bin" / "python", "-c", code], cwd=installed, check=True, timeout=60)
