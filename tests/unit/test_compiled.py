from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.data import ROOT

PROGRAM = """
import numpy as np
from stream_anon.clustering.legality import Ledger, is_legal
from stream_anon.privacy.criteria import Criteria
from stream_anon.clustering.legality import ledger_of
from stream_anon.clustering.forest.classes import box_cost
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.cost import table_cost, cost_model
from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.microdata.domains import CategoricalDomain
from stream_anon.microdata.hierarchy import Hierarchy
model = cost_model((QuasiIdentifier("a", CategoricalDomain(Hierarchy.flat(["x", "y"]))),))
print(box_cost(np.array([[0], [1]], np.int32), np.arange(2), model))
"""


def _run(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, text=True, timeout=240, check=True
    )
    return done.stdout.strip()


def test_a_kernel_runs_with_the_old_code_of_one_in_another_file(tmp_path: Path) -> None:
    """`box_cost` has `table_cost` of another file compiled into it."""
    shutil.copytree(
        ROOT / "stream_anon", tmp_path / "stream_anon", ignore=shutil.ignore_patterns("__pycache__", "_examples")
    )
    assert _run(tmp_path) == "1.0"
    changed = tmp_path / "stream_anon" / "privacy" / "cost.py"
    text = changed.read_text()
    line = "        return float(model.table[model.start[j] + low * (model.domain[j] + 2) + high])\n"
    assert line in text
    changed.write_text(text.replace(line, line.replace("return float(", "return 5.0 * float(")))
    assert _run(tmp_path) == "5.0"
