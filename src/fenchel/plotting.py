"""Plots of paths, of convergence and of the weights of chains; requires matplotlib, the ``plot`` extra."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from fenchel.errors import FenchelError

#: values of C at which the gap between the points of a path is drawn, and weights that are drawn at most
_VALUES, _LINES = 400, 30
#: rows of a table of colours whose weights are written as numbers
_NUMBERED = 16


def plot_path(path: Any, *, ax: Any = None) -> Any:
    """Draw a regularization path: the weights, and the relative duality gap proved for every C.

    Parameters
    ----------
    path : RegularizationPath
        The result of :func:`regularization_path`.  With more than 30 weights, the 30 that become largest are drawn.
    ax : sequence of two matplotlib Axes, default=None
        The axes to draw on, the weights on the first and the gap on the second; None makes a new figure.

    Returns
    -------
    sequence of two matplotlib Axes
        The axes of the weights and of the certified relative gap.

    See Also
    --------
    regularization_path : Fit a model for many values of C.
    plot_convergence : Draw the duality gap of one fit over time.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import make_classification
    >>> from fenchel import plot_path, regularization_path
    >>> X, y = make_classification(60, 5, random_state=0)
    >>> path = regularization_path(X, y, Cs=[0.01, 0.1, 1.0], random_state=0)
    >>> weights, gap = plot_path(path)
    >>> gap.get_ylabel()
    'certified relative gap'
    """
    if getattr(path, "coefs", None) is None:
        raise FenchelError(
            f"path must be a RegularizationPath, as regularization_path returns, got {type(path).__name__}"
        )
    plt = _pyplot("plot_path")
    if ax is None:
        ax = plt.subplots(2, 1, figsize=(6.4, 6.0), sharex=True, layout="constrained")[1]
    if np.size(ax) != 2:
        raise FenchelError(f"ax must be two matplotlib Axes, for the weights and for the gap, got {np.size(ax)}")
    weights, proof = ax
    # the weights of all classes side by side
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
    for each in (weights, proof):
        each.spines[["top", "right"]].set_visible(False)
    return ax


def _pyplot(wanted_by: str) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{wanted_by} needs matplotlib: pip install 'fenchel[plot]'") from error
    return plt


def plot_convergence(model: Any, *, ax: Any = None, against: str = "seconds") -> Any:
    """Draw how the certified relative duality gap fell during a fit.

    Parameters
    ----------
    model : fitted estimator or Solution
        Its ``trace_`` or ``trace`` is drawn: one line for each problem that was solved.
    ax : matplotlib Axes, default=None
        The axes to draw on; None makes a new figure.
    against : {"seconds", "passes"}, default="seconds"
        The horizontal axis: seconds, or passes over the data.

    Returns
    -------
    matplotlib Axes
        The axes of the drawing.

    See Also
    --------
    plot_path : Draw a regularization path.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import LinearClassifier, plot_convergence
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_convergence(LinearClassifier(random_state=0).fit(X[:100], y[:100]), against="passes")
    >>> ax.get_xlabel()
    'passes over the data'
    """
    if against not in ("seconds", "passes"):
        raise FenchelError(f"against must be 'seconds' or 'passes', got {against!r}")
    traces = vars(model).get("trace_") or vars(model).get("trace") if hasattr(model, "__dict__") else None
    if not traces:
        raise FenchelError(
            f"model must be a fitted estimator or a Solution, whose trace is drawn, got {type(model).__name__}: call "
            "fit or solve first"
        )
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


def plot_transitions(model: Any, *, ax: Any = None) -> Any:
    """Draw the weights of pairs of neighbouring labels, and those of first and last labels, as a table of colours.

    Parameters
    ----------
    model : SequenceClassifier
        The fitted estimator.
    ax : matplotlib Axes, default=None
        The axes to draw on; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes of the drawing: the label of a token in rows, that of the next token in columns.

    See Also
    --------
    SequenceClassifier.summary : The largest weights as text.
    plot_features : Draw the largest weights of features.
    plot_convergence : Draw the duality gap of one fit over time.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from fenchel import SequenceClassifier, plot_transitions
    >>> model = SequenceClassifier(random_state=0).fit([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
    >>> ax = plot_transitions(model)
    >>> ax.get_xlabel()
    'label of the next token'
    """
    weights = getattr(model, "transitions_", None)
    if weights is None:
        raise FenchelError(f"plot_transitions needs a fitted SequenceClassifier, got {type(model).__name__}")
    plt = _pyplot("plot_transitions")
    rows = columns = [str(label) for label in model.classes_]
    if np.any(model.start_) or np.any(model.end_):
        # first labels above the others, last labels to the right of them
        weights = np.block([[model.start_[None, :], np.full((1, 1), np.nan)], [weights, model.end_[:, None]]])
        rows, columns = ["first", *rows], [*columns, "last"]
    ax = _colours(plt, ax, weights, rows, columns)
    ax.set(xlabel="label of the next token", ylabel="label of a token")
    return ax


def plot_features(model: Any, *, count: int = 3, ax: Any = None) -> Any:
    """Draw the features of largest absolute weight of each label of a chain as a table of colours.

    Parameters
    ----------
    model : SequenceClassifier
        The fitted estimator, without a kernel.
    count : int, default=3
        The features of each label.
    ax : matplotlib Axes, default=None
        The axes to draw on; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes of the drawing: features in rows, in the order of the labels that chose them, and labels in columns.

    See Also
    --------
    SequenceClassifier.top_features : The same as a list.
    plot_transitions : Draw the weights of pairs of labels.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from fenchel import SequenceClassifier
    >>> from fenchel.plotting import plot_features
    >>> model = SequenceClassifier(random_state=0).fit([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
    >>> ax = plot_features(model, count=4)
    >>> sorted(tick.get_text() for tick in ax.get_yticklabels())
    ['a', 'cat', 'dog', 'the']
    """
    if getattr(model, "transitions_", None) is None:
        raise FenchelError(f"plot_features needs a fitted SequenceClassifier, got {type(model).__name__}")
    chosen = [one.feature for label in model.classes_.tolist() for one in model.top_features(count, label)]
    features = list(dict.fromkeys(chosen))
    names = model.vectorizer_
    weights = model.coef_[:, features if names is None else [names.vocabulary_[name] for name in features]].T
    ax = _colours(_pyplot("plot_features"), ax, weights, [str(name) for name in features], model.classes_)
    ax.set(xlabel="label", ylabel="feature")
    return ax


def _colours(plt: Any, ax: Any, weights: Any, rows: Any, columns: Any) -> Any:
    """Axes with a table of colours, and numbers in it if it is small."""
    if ax is None:
        width, height = (2.4 + 0.34 * len(names) for names in (columns, rows))
        ax = plt.subplots(figsize=(width + 0.8, height), layout="constrained")[1]
    most = float(np.nanmax(np.abs(weights))) or 1.0
    image = ax.imshow(weights, cmap="RdBu_r", vmin=-most, vmax=most)
    ax.figure.colorbar(image, ax=ax, label="weight", shrink=0.8)
    if len(rows) <= _NUMBERED:
        for i, j in np.argwhere(np.isfinite(weights)):
            shade = "white" if abs(weights[i, j]) > 0.6 * most else "black"
            ax.text(j, i, f"{weights[i, j]:.1f}", ha="center", va="center", fontsize=8, color=shade)
    ax.set_xticks(range(len(columns)), [str(name) for name in columns], rotation=90)
    ax.set_yticks(range(len(rows)), rows)
    return ax
