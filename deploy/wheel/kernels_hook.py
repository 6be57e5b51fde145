"""Put compiled kernels into the wheel where the environment names their folder: a wheel for one platform."""

import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsHook(BuildHookInterface[Any]):
    """Called by hatchling; `make wheel` compiles the kernels and names their folder."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the folder, and tell the platform: kernels are of one version of Python and one kind of processor."""
        folder = os.environ.get("STREAM_ANON_KERNELS")
        if not folder or version != "standard":  # an editable install compiles its own
            return
        kernels = Path(self.root, folder)
        if not (kernels / "processor").is_file():
            raise FileNotFoundError(f"{folder} holds no kernels; `make wheel` makes them")
        python = f"cp{sysconfig.get_config_var('py_version_nodot')}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"{python}-{python}-{platform}"
        build_data["pure_python"] = False
        build_data["force_include"][str(kernels)] = "stream_anon/_kernels"
