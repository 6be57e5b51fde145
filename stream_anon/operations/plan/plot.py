"""Draw what settings cost as an SVG: loss against delay, with the Pareto front of each k and l."""

from __future__ import annotations

import io
from itertools import groupby
from typing import Any

from stream_anon.extras import require
from stream_anon.operations.plan.planning import Plan
from stream_anon.operations.plan.trial import Figures, Setting

_SIZE = (7.2, 4.5)  # inches
_MARKERS = "osD^v*"


def plan_plot(plan: Plan) -> bytes:
    """Return the picture; the same plan gives the same bytes.

    Raises
    ------
    SettingsError
        If matplotlib is not installed; the message says how to install it.
    """
    require("--svg", "matplotlib")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "stream-anon", "svg.fonttype": "none"}):
        figure = Figure(figsize=_SIZE, layout="constrained")
        axes = figure.add_subplot()
        engines = list(dict.fromkeys(trial.setting.engine for trial in plan.trials))
        points = [
            (place, trial.setting, trial.figures)
            for place, trial in enumerate(plan.trials)
            if trial.figures is not None
        ]
        for number, (promise, group) in enumerate(groupby(points, key=lambda point: point[1].promise)):
            _draw(axes, promise, f"C{number}", list(group), engines, plan)
        axes.set_xlabel("longest delay until a window closes (s)")
        axes.set_ylabel("information loss (GCP)")
        axes.margins(0.1)
        axes.set_ylim(bottom=0)
        if points:
            title = "numbers: max_records\nfilled: on the Pareto front"
            axes.legend(title=title, fontsize="small", title_fontsize="small")
        axes.grid(alpha=0.3)
        drawn = io.BytesIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def _draw(
    axes: Any,
    promise: str,
    colour: str,
    points: list[tuple[int, Setting, Figures]],
    engines: list[str],
    plan: Plan,
) -> None:
    """Draw the settings of one k and l, and the steps of their front."""
    for engine in dict.fromkeys(setting.engine for _, setting, _ in points):
        own = [point for point in points if point[1].engine == engine]
        axes.scatter(
            [figures.longest_delay for _, _, figures in own],
            [figures.loss for _, _, figures in own],
            marker=_MARKERS[engines.index(engine) % len(_MARKERS)],
            facecolors=[colour if place in plan.front else "none" for place, _, _ in own],
            edgecolors=colour,
            label=f"{promise}, {engine}",
            zorder=3,
        )
    front = sorted((f.longest_delay, f.loss) for place, _, f in points if place in plan.front)
    best: list[tuple[float, float]] = []
    for delay, loss in front:  # suppression is a third axis: a point may be on the front and above the line
        if not best or loss < best[-1][1]:
            best.append((delay, loss))
    axes.step([delay for delay, _ in best], [loss for _, loss in best], where="post", color=colour, linewidth=1)
    for _, setting, figures in points:
        axes.annotate(
            f"{setting.max_records:,}",
            (figures.longest_delay, figures.loss),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize="x-small",
            color=colour,
        )
