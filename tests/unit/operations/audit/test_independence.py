"""An audit shares nothing with the engines, not even in memory."""

from __future__ import annotations

import subprocess
import sys

_LOADED = """
import sys
import stream_anon.cli.prove.audit
print([name for name in sys.modules if name.startswith(("stream_anon.engine", "stream_anon.clustering"))])
"""


def test_the_audit_command_loads_no_module_of_the_engines() -> None:
    run = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
