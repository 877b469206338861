"""The largest weights of a model with the names of their features: bars, or a table of colours for several classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.plotting.display import Display
from fenchel.plotting.models import attributes, feature_names, fitted_part, names_from_steps, problem_names
from fenchel.plotting.style import NEGATIVE, POSITIVE, colour_table, counted, finish, one_axes, short, table_size
from fenchel.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: most classes of a table; of more, those with the largest weights
_MOST_COLUMNS = 26
#: most features of a table, however many classes chose theirs
_MOST_ROWS = 45


@dataclass
class CoefficientsDisplay(Display):
    """Picture of the largest weights of features.

    Parameters
    ----------
    weights : ndarray of shape (features,) or (features, outputs)
        The weights that are drawn.
    features : sequence of str
        The names of these features.
    outputs : sequence of str
        The names of the outputs: classes, pairs of classes, labels or targets; of one output what positive and negative
        weights speak for, if that is known.
    title : str, default=""
        The title of the picture.
    output_kind : str, default="output"
        What the outputs are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the picture.
    figure_ : matplotlib Figure
        Its figure.
    bars_ : matplotlib BarContainer or None
        The bars of one output.
    image_ : matplotlib AxesImage or None
        The table of colours of several outputs.

    See Also
    --------
    plot_coefficients : Draw it in one call.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import LinearClassifier
    >>> from fenchel.plotting import CoefficientsDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearClassifier(random_state=0).fit(X, y)
    >>> CoefficientsDisplay.from_estimator(model, count=2).outputs
    ['0', '1', '2']
    """

    weights: Floats
    features: Sequence[str]
    outputs: Sequence[str]
    title: str = ""
    output_kind: str = "output"

    @classmethod
    def from_estimator(
        cls, model: Any, *, count: int = 20, feature_names: Sequence[str] | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw the largest weights of a fitted linear model.

        Parameters
        ----------
        model : fitted estimator
            Any estimator with ``coef_``.
        count : int, default=20
            The number of features.
        feature_names : sequence of str, default=None
            Names of all features.
        ax : matplotlib Axes, default=None
            The axes to draw on.

        Returns
        -------
        CoefficientsDisplay
            The picture.
        """
        return cls(*_largest(model, "plot_coefficients", feature_names, count)).plot(ax)

    def _drawn(self, ax: Axes) -> Any:
        self.bars_, self.image_ = None, None
        if self.weights.ndim == 1:
            ax = one_axes("plot_coefficients", ax, (6.4, 1.5 + 0.22 * max(4, len(self.weights))))
            self._draw_bars(ax)
        else:
            ax = one_axes("plot_coefficients", ax, table_size(*self.weights.shape))
            self.image_ = colour_table(ax, self.weights, self.features, self.outputs)
            finish(ax, self.title, xlabel=self.output_kind, ylabel="feature")
        return ax

    def _draw_bars(self, ax: Axes) -> None:
        colours = [POSITIVE if weight > 0.0 else NEGATIVE for weight in self.weights]
        self.bars_ = ax.barh(range(len(self.weights)), self.weights, color=colours, height=0.7)
        ax.set_yticks(range(len(self.weights)), [short(name) for name in self.features])
        ax.margins(y=0.02)
        if len(self.weights):
            ax.axvline(0.0, color="0.4", linewidth=0.8)
        else:
            ax.set(xticks=[], yticks=[])
            ax.text(0.5, 0.6, "all weights are zero", ha="center", va="center", transform=ax.transAxes)
        if len(self.outputs) == 2 and len(self.weights):
            # what the signs mean, in the place of a legend that would cover bars
            low, high = (short(name, 18) for name in self.outputs)
            finish(ax, self.title, xlabel=f"weight (← {low} | {high} →)")
        else:
            finish(ax, self.title, xlabel="weight")


def plot_coefficients(
    model: Any, *, count: int = 20, feature_names: Sequence[str] | None = None, ax: Axes | None = None
) -> Any:
    """Draw the weights of largest absolute value with the names of their features.

    Parameters
    ----------
    model : fitted estimator
        Any linear estimator, of this library or another one with ``coef_``.  One row of weights is drawn as bars;
        several (classes, labels, targets, pairs of classes) as a table of colours.
    count : int, default=20
        The number of features.  Of several rows each chooses its own largest ones in turn.
    feature_names : sequence of str, default=None
        Names of all features; None takes those of the training data, those that the steps of a pipeline before the
        estimator make, or x0, x1, ….
    ax : matplotlib Axes, default=None
        The axes to draw on; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes of the drawing.

    See Also
    --------
    plot_transitions : Draw the weights of pairs of labels of a chain.
    fenchel.plotting.CoefficientsDisplay : The same with access to its bars.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fenchel import LinearClassifier, plot_coefficients
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = LinearClassifier(random_state=0).fit(X / X.max(), y)
    >>> ax = plot_coefficients(model, count=5)
    >>> len(ax.get_yticklabels())
    5
    """
    return CoefficientsDisplay.from_estimator(model, count=count, feature_names=feature_names, ax=ax).ax_


def plot_features(model: Any, *, count: int = 3, ax: Axes | None = None) -> Any:
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
    plot_coefficients : Draw the largest weights of any linear model.

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
    if "transitions_" not in attributes(fitted_part(model)):
        raise FenchelError(f"plot_features needs a fitted SequenceClassifier, got {type(fitted_part(model)).__name__}")
    return CoefficientsDisplay(*_largest(model, "plot_features", None, None, count)).plot(ax).ax_


def _largest(
    model: Any, wanted_by: str, names: Sequence[str] | None, count: int | None, of_each: int | None = None
) -> tuple[Floats, list[str], list[str], str, str]:
    """The weights, the features and the outputs to draw, and the title: ``count`` in all or ``of_each`` output."""
    check_integer("count", count if of_each is None else of_each, least=1)
    names, model = names_from_steps(model) if names is None else names, fitted_part(model)
    coef = attributes(model).get("coef_")
    if coef is None:
        raise FenchelError(_why_none(model, wanted_by))
    weights = np.atleast_2d(coef.toarray() if sp.issparse(coef) else np.asarray(coef, dtype=np.float64))
    known = feature_names(model, weights.shape[1], names)
    used = int(np.count_nonzero(weights))
    if len(weights) == 1:
        order = _order(weights[0])[: count or of_each]
        order = order[weights[0, order] != 0.0]
        # negative ones first, so that the largest bar of all is at an end
        order = order[np.argsort(weights[0, order], kind="stable")]
        title = _title(len(order), used, weights.size, type(model).__name__)
        return weights[0, order], [known[k] for k in order], _sides(model), title, "output"
    outputs = problem_names(model, len(weights))
    places = np.arange(len(weights))
    if of_each is None and len(weights) > _MOST_COLUMNS:
        places = np.sort(np.argsort(-np.max(np.abs(weights), axis=1), kind="stable")[:_MOST_COLUMNS])
    assert count is not None or of_each is not None
    most = max(1, -(-min(count, _MOST_ROWS) // len(places))) if of_each is None and count is not None else of_each
    chosen = _of_each(weights[places], int(most or 1), None if of_each is not None else count)
    title = _title(len(chosen), used, weights.size, type(model).__name__, int(np.sum(np.any(weights, axis=0))))
    drawn, names_drawn = weights[np.ix_(places, chosen)].T, [known[k] for k in chosen]
    return drawn, names_drawn, [outputs[k] for k in places], title, _kind(model, len(weights))


def _of_each(weights: Floats, most: int, count: int | None) -> NDArray[np.int64]:
    """The features of largest absolute weight of each output, without repetitions."""
    orders = [_order(row) for row in weights]
    if count is None:
        found = [k for order in orders for k in order[:most].tolist()]
        return np.array(list(dict.fromkeys(found)))
    chosen: dict[int, int] = {}
    for rank in range(weights.shape[1]):
        for output, order in enumerate(orders):
            if len(chosen) >= min(count, _MOST_ROWS):
                break
            if weights[output, order[rank]] != 0.0:
                chosen.setdefault(int(order[rank]), output)
        if len(chosen) >= min(count, _MOST_ROWS):
            break
    # by the output that chose them, the first ones first
    return np.array(sorted(chosen, key=lambda k: chosen[k]) or [0])


def _order(row: Array) -> NDArray[np.int64]:
    return np.argsort(-np.abs(row), kind="stable")


def _sides(model: Any) -> list[str]:
    """What negative and positive weights speak for, of one row of weights."""
    fitted = attributes(model)
    order = fitted.get("order_")
    if order is not None:
        return [f"lower, {order[0]}", f"higher, {order[-1]}"]
    classes = list(fitted.get("classes_", ()))
    if len(classes) != 2:
        return []
    return [str(one) for one in (classes[::-1] if fitted.get("pos_label_") == classes[0] else classes)]


def _kind(model: Any, count: int) -> str:
    """What the rows of weights belong to."""
    fitted = attributes(model)
    if "varying_" in fitted or "transitions_" in fitted:
        return "label"
    classes = len(fitted.get("classes_", ()))
    return "class" if classes == count else "pair of classes" if classes else "target"


def _title(shown: int, used: int, total: int, name: str, features: int | None = None) -> str:
    of = f"{used:,} of {total:,} weights are not zero" if used < total else counted(total, "weight")
    if shown >= (used if features is None else features):
        return f"{name}: {of}"
    number = "" if shown == 1 else f"{shown:,} "
    if features is None and used == total:
        return f"{name}: the {number}largest of {of}"
    noun = ("weight" if features is None else "feature") + ("" if shown == 1 else "s")
    return f"{name}: the {number}largest {noun}{'' if features is None else ' by weight'} ({of})"


def _why_none(model: Any, wanted_by: str) -> str:
    name = type(model).__name__
    if "dual_coef_" in attributes(model):
        return f"{wanted_by} needs weights of features, and {name} with a kernel has none: use a linear model"
    return f"{wanted_by} needs a fitted linear estimator with coef_, got {name}: call fit first"
