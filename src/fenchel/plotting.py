"""Pictures of a fit.  Needs matplotlib, the ``plot`` extra."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from fenchel.errors import FenchelError

#: values of C at which the proof between the points of a path is drawn, and weights that are drawn at most
_VALUES, _LINES = 400, 30


def plot_path(path: Any, axes: Any = None) -> Any:
    """Draw a regularization path: the weights, and the relative gap that is proved for every C.

    Parameters
    ----------
    path : what ``regularization_path`` returns; of many weights the 30 that become largest are drawn
    axes : two matplotlib axes, default new ones

    Returns the two axes.
    """
    if not hasattr(path, "coefs"):
        raise FenchelError(f"path must be what regularization_path returns, got {type(path).__name__}")
    plt = _pyplot("plot_path")
    if axes is None:
        axes = plt.subplots(2, 1, figsize=(6.4, 6.0), sharex=True, layout="constrained")[1]
    weights, proof = axes
    # those of all classes side by side
    coefs = path.coefs.reshape(len(path.Cs), -1)
    largest = np.sort(np.argsort(np.max(np.abs(coefs), axis=0))[-_LINES:])
    weights.plot(path.Cs, coefs[:, largest], linewidth=1)
    weights.axhline(0.0, color="0.4", linewidth=0.8)
    shown = "weights" if len(largest) == coefs.shape[1] else f"the {len(largest)} largest weights"
    weights.set(xscale="log", ylabel=shown)
    values = np.geomspace(path.Cs[0], path.Cs[-1], _VALUES)
    proof.plot(
        values, [max(path.at(C)[2].relative_gap, 1e-17) for C in values], linewidth=1, label="between the points"
    )
    gaps = [max(certificate.relative_gap, 1e-17) for certificate in path.certificates]
    proof.plot(path.Cs, gaps, "o", markersize=4, label="at the points")
    if path.accuracy is not None:
        proof.axhline(path.accuracy, linestyle="--", linewidth=1, color="0.4", label=f"accuracy = {path.accuracy:g}")
    proof.set(xscale="log", yscale="log", xlabel="C", ylabel="certified relative gap")
    proof.legend(frameon=False)
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    return axes


def _pyplot(wanted_by: str) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{wanted_by} needs matplotlib: pip install 'fenchel[plot]'") from error
    return plt


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
    plt = _pyplot("plot_convergence")
    several = isinstance(traces[0], list)
    if ax is None:
        ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")[1]
    names = getattr(model, "classes_", range(len(traces)))
    if several and len(names) != len(traces):
        # one problem for each pair of classes
        names = [f"{one}, {other}" for one, other in combinations(names, 2)]
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
