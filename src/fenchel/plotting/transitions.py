"""The weights of pairs of neighbouring labels of a chain, as a table of colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fenchel.arrays import Floats
from fenchel.errors import FenchelError
from fenchel.plotting.display import Display
from fenchel.plotting.models import attributes, fitted_part
from fenchel.plotting.style import colour_table, finish, one_axes, table_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class TransitionsDisplay(Display):
    """Picture of the weights of pairs of neighbouring labels.

    Parameters
    ----------
    weights : ndarray of shape (labels, labels), or one more each
        The label of a token in rows, that of the next token in columns; NaN is empty.
    rows, columns : sequence of str
        The names of the rows and of the columns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the picture.
    figure_ : matplotlib Figure
        Its figure.
    image_ : matplotlib AxesImage
        The table of colours.

    See Also
    --------
    plot_transitions : Draw it in one call.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from fenchel import SequenceClassifier
    >>> from fenchel.plotting import TransitionsDisplay
    >>> model = SequenceClassifier(random_state=0).fit([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
    >>> TransitionsDisplay.from_estimator(model).rows
    ['first', 'D', 'N']
    """

    weights: Floats
    rows: Sequence[str]
    columns: Sequence[str]

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Axes | None = None) -> Self:
        """Draw the transitions of a chain.

        Parameters
        ----------
        model : SequenceClassifier
            The fitted estimator.
        ax : matplotlib Axes, default=None
            The axes to draw on.

        Returns
        -------
        TransitionsDisplay
            The picture.
        """
        model = fitted_part(model)
        weights = attributes(model).get("transitions_")
        if weights is None:
            name = type(model).__name__
            advice = ": call fit first" if name == "SequenceClassifier" else ""
            raise FenchelError(f"plot_transitions needs a fitted SequenceClassifier, got {name}{advice}")
        rows = columns = [str(label) for label in model.classes_]
        if np.any(model.start_) or np.any(model.end_):
            # first labels above the others, last labels to the right of them
            weights = np.block([[model.start_[None, :], np.full((1, 1), np.nan)], [weights, model.end_[:, None]]])
            rows, columns = ["first", *rows], [*columns, "last"]
        return cls(weights, rows, columns).plot(ax)

    def _drawn(self, ax: Axes) -> Any:
        ax = one_axes("plot_transitions", ax, table_size(len(self.rows), len(self.columns)))
        self.image_ = colour_table(ax, self.weights, self.rows, self.columns)
        finish(ax, "Weights of transitions", xlabel="label of the next token", ylabel="label of a token")
        return ax


def plot_transitions(model: Any, *, ax: Axes | None = None) -> Any:
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
    plot_coefficients : Draw the largest weights of features.
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
    return TransitionsDisplay.from_estimator(model, ax=ax).ax_
