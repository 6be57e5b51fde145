from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.data import ROOT

PROGRAM = """
import numpy as np
from stream_anon.clustering.forest.cut import cut_line
from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.microdata.domains import CategoricalDomain
from stream_anon.microdata.hierarchy import Hierarchy
from stream_anon.privacy.cost import cost_model
model = cost_model((QuasiIdentifier("a", CategoricalDomain(Hierarchy.flat(["x", "y"]))),))
loss = np.empty(3)
cut_line(np.array([[0], [1]], np.int32), np.arange(2), np.full(2, 2), model, 2, 3, loss)
print(loss[2])
"""


def _run(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, text=True, timeout=240, check=True
    )
    return done.stdout.strip()


def test_a_kernel_runs_with_the_old_code_of_one_in_another_file(tmp_path: Path) -> None:
    """`cut_line` has `table_cost` of another file compiled into it."""
    shutil.copytree(
        ROOT / "stream_anon", tmp_path / "stream_anon", ignore=shutil.ignore_patterns("__pycache__", "_examples")
    )
    assert _run(tmp_path) == "2.0"
    changed = tmp_path / "stream_anon" / "privacy" / "cost.py"
    text = changed.read_text()
    line = "        return float(model.table[model.start[j] + low * (model.domain[j] + 2) + high])\n"
    assert line in text
    changed.write_text(text.replace(line, line.replace("return float(", "return 5.0 * float(")))
    assert _run(tmp_path) == "10.0"
