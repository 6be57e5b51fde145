"""What a build adds to the package: the revision of its source, and kernels for a wheel of one platform."""

import os
import re
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FILE = "stream_anon/_revision"
_COMMIT = ("git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=.dirty")


def revision(root: Path) -> str:
    """Return the revision of the source in a folder.

    STREAM_ANON_REVISION names it where the source comes without its history, as in the image.
    """
    given = os.environ.get("STREAM_ANON_REVISION", "")
    if not re.fullmatch(r"[0-9A-Za-z.]*", given):  # what may stand behind the + of a version
        raise ValueError("STREAM_ANON_REVISION: must be letters, digits and dots")
    if given:
        return re.sub(r"^([0-9a-f]{12})[0-9a-f]+", r"\1", given)
    if not (root / ".git").exists():  # git would look for a repository further up
        return "unknown"
    try:
        done = subprocess.run(_COMMIT, cwd=root, capture_output=True, text=True, timeout=30, check=True)  # noqa: S603
        return done.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


class Hook(BuildHookInterface[Any]):
    """Called by hatchling for sdists and wheels; `make wheel` compiles the kernels and names their folder."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add what belongs to the package; an editable install reads its checkout and compiles its own kernels."""
        if version != "standard":
            return
        if not Path(self.root, _FILE).exists():  # an sdist brings its own
            written = Path(self.directory, "_revision")
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(revision(Path(self.root)) + "\n", "ascii")
            build_data["force_include"][str(written)] = _FILE
        if self.target_name == "wheel" and (folder := os.environ.get("STREAM_ANON_KERNELS")):
            self._add_kernels(Path(self.root, folder), build_data)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Take away what only the artifact needs."""
        Path(self.directory, "_revision").unlink(missing_ok=True)

    def _add_kernels(self, kernels: Path, build_data: dict[str, Any]) -> None:
        """Add the folder, and tell the platform: kernels are of one version of Python and one kind of processor."""
        if not (kernels / "processor").is_file():
            raise FileNotFoundError(f"{kernels} holds no kernels; `make wheel` makes them")
        python = f"cp{sysconfig.get_config_var('py_version_nodot')}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"{python}-{python}-{platform}"
        build_data["pure_python"] = False
        build_data["force_include"][str(kernels)] = "stream_anon/_kernels"
