"""Pictures of a fit.  Needs matplotlib, the ``plot`` extra."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.errors import FenchelError


def plot_convergence(model: Any, ax: Any = None, *, against: str = "seconds") -> Any:
    """Draw how the certified relative gap fell while fitting.

    Parameters
    ----------
    model : a fitted estimator (its ``trace_``) or a Solution (its ``trace``)
    ax : matplotlib axes to draw on, default new ones
    against : "seconds" or "passes"

    Returns the axes.
    """
    if against not in ("seconds", "passes"):
        raise FenchelError(f"against must be 'seconds' or 'passes', got {against!r}")
    traces = getattr(model, "trace_", None) or getattr(model, "trace", None)
    if not traces:
        raise FenchelError("plot_convergence needs a fitted estimator or a Solution: call fit or solve first")
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot_convergence needs matplotlib: pip install 'fenchel[plot]'") from error
    several = isinstance(traces[0], list)
    if ax is None:
        ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")[1]
    names = getattr(model, "classes_", range(len(traces)))
    for name, trace in zip(names, traces, strict=True) if several else [(None, traces)]:
        x = [p.seconds_solving + p.seconds_certifying if against == "seconds" else p.passes for p in trace]
        # the best model and the best bound so far, as the certificate keeps them
        primal = np.minimum.accumulate([p.primal for p in trace])
        dual = np.maximum.accumulate([p.dual for p in trace])
        gap = (primal - dual) / np.maximum(np.maximum(np.abs(primal), np.abs(dual)), np.finfo(float).tiny)
        ax.plot(x, np.maximum(gap, 1e-17), marker="o", markersize=3, label=None if name is None else str(name))
    if getattr(model, "tol", 0):
        ax.axhline(model.tol, linestyle="--", linewidth=1, color="0.4", label=f"tol = {model.tol:g}")
    ax.set(
        xlabel="seconds" if against == "seconds" else "passes over the data",
        ylabel="certified relative gap",
        yscale="log",
    )
    if ax.get_legend_handles_labels()[0] and (not several or len(traces) <= 12):
        ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
