"""The figures of docs/explain/utility.md as SVG."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

_STYLE = {
    "svg.hashsalt": "stream-anon",
    "svg.fonttype": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")  # Okabe, Ito: told apart by all
_MARKERS = "osD^v*"


def draw(
    folder: Path,
    means: Sequence[dict[str, Any]],
    found: Mapping[str, Mapping[str, Any]],
    tasks: Sequence[str],
    shown: Sequence[str],
) -> None:
    """Write utility-correlation.svg and utility-accuracy.svg; the same figures give the same bytes.

    Parameters
    ----------
    means
        A row a release.
    found
        The correlations of each measure.
    shown
        The measures against which the accuracy is drawn.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(_STYLE):
        (folder / "utility-correlation.svg").write_bytes(_svg(_correlation(found, tasks)))
        (folder / "utility-accuracy.svg").write_bytes(_svg(_accuracy(means, tasks, shown)))


def _correlation(found: Mapping[str, Mapping[str, Any]], tasks: Sequence[str]) -> Figure:
    """Draw each measure's mean correlation with its interval, and that of each task as a point."""
    names = sorted(found, key=lambda name: found[name]["mean"].rho)
    figure = Figure(figsize=(7.2, 5.2), layout="constrained")
    axes = figure.add_subplot()
    for number, task in enumerate(tasks):
        rho = [found[name]["tasks"][task].rho for name in names]
        colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
        axes.scatter(rho, range(len(names)), s=22, color=colour, marker=marker, alpha=0.8, label=task, zorder=2)
    for place, name in enumerate(names):
        mean = found[name]["mean"]
        axes.plot(
            [mean.low, mean.high], [place, place], color="#333", linewidth=3, solid_capstyle="round", zorder=3
        )
        axes.scatter([mean.rho], [place], s=40, color="#333", zorder=4)
    axes.axvline(0.7, color="#888", linestyle="--", linewidth=1)
    axes.axvline(0, color="#888", linewidth=0.8)
    axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.set_xlabel("Spearman's correlation with the accuracy kept (black: mean, 95 %)")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(fontsize="small", loc="lower left")
    return figure


def _accuracy(means: Sequence[dict[str, Any]], tasks: Sequence[str], shown: Sequence[str]) -> Figure:
    """Draw the accuracy kept of each release against some measures, a colour a task."""
    figure = Figure(figsize=(3.6 * len(shown), 3.6), layout="constrained")
    for place, name in enumerate(shown):
        axes = figure.add_subplot(1, len(shown), place + 1)
        for number, task in enumerate(tasks):
            own = [row for row in means if row["task"] == task and row["measures"][name] is not None]
            colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
            axes.scatter([row["measures"][name] for row in own], [row["mean"] for row in own],
                         s=14, color=colour, marker=marker, alpha=0.7, label=task)  # fmt: skip
        axes.set_xlabel(name.replace("_", " "))
        axes.grid(alpha=0.3)
        if place == 0:
            axes.set_ylabel("accuracy kept")
            axes.legend(fontsize="small")
    return figure


def _svg(figure: Figure) -> bytes:
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()
