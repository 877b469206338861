"""Where the objective and its lower bound stand: the gap, the gap asked for and the rounding floor, on one scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from fenchel.certificate import Certificate
from fenchel.errors import FenchelError
from fenchel.plotting.display import Display
from fenchel.plotting.gap_curves import certificates_of
from fenchel.plotting.models import attributes, fitted_part, not_drawn, problem_names
from fenchel.plotting.style import NOTE, PALETTE, PROVED, WRONG, below, finish, narrow, one_axes, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: rows of a picture; of more certificates the worst ones are drawn
_MOST_ROWS = 12
#: the rounding floor of an exact certificate, as drawn
_SMALLEST = 1e-17


class Bounds(NamedTuple):
    """A certificate with its name, and the relative gap that was asked for; 0 if unknown."""

    label: str
    certificate: Certificate
    tol: float = 0.0

    @property
    def gap(self) -> float:
        """The relative gap, or the rounding floor where it is larger."""
        return max(self.certificate.relative_gap, self.floor)

    @property
    def floor(self) -> float:
        """The rounding floor relative to the objective."""
        return max(self.certificate.rounding_floor / (self.certificate.scale or 1.0), _SMALLEST)

    def words(self, brief: bool) -> str:
        """Where P and D stand; in brief without their values."""
        one = self.certificate
        # adding zero turns -0.0 into 0
        values = "" if brief else f"P = {one.primal + 0.0:.7g}, D = {one.dual + 0.0:.7g}: "
        if one.contradictory:
            return f"{values}inconsistent"
        if math.isinf(one.primal):
            return f"P is infinite, D = {one.dual:.7g}"
        if one.at_floor:
            return f"{values}equal up to rounding"
        share = _percent(one.relative_gap)
        return f"gap {one.gap:.2g} ({share})" if brief else f"{values}gap {one.gap:.2g} ({share} of the objective)"


def _percent(share: float) -> str:
    """A share in percent, without an exponent if it is large."""
    return f"{100.0 * share:.2g}%" if share < 0.1 else f"{100.0 * share:.0f}%"


@dataclass
class CertificateDisplay(Display):
    """Picture of certificates: the distance of the objective P from its lower bound D, relative to the objective.

    Parameters
    ----------
    bounds : sequence of Bounds
        The certificates with their names.
    title : str, default=""
        The title of the picture.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the picture.
    figure_ : matplotlib Figure
        Its figure.
    bars_ : list of matplotlib BarContainer
        The intervals in which the optimum is proved to lie, one for each row.

    See Also
    --------
    plot_certificate : Draw it in one call.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from fenchel import Certificate
    >>> from fenchel.plotting import CertificateDisplay
    >>> display = CertificateDisplay.from_certificate(Certificate(1.0, 0.998), tol=0.01)
    >>> len(display.bars_)
    1
    """

    bounds: Sequence[Bounds]
    title: str = ""

    @classmethod
    def from_certificate(
        cls, certificate: Any, *, labels: Any = None, tol: float | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw a certificate, or several.

        Parameters
        ----------
        certificate : Certificate, Solution, Judgement, fitted estimator, or a sequence or mapping of them
            What is drawn.
        labels : sequence of str, default=None
            Names of several certificates.
        tol : float, default=None
            The relative gap that was asked for; None is that of the estimator.
        ax : matplotlib Axes, default=None
            The axes to draw on.

        Returns
        -------
        CertificateDisplay
            The picture.
        """
        return cls(*_bounds(certificate, labels, tol)).plot(ax)

    from_estimator = from_certificate

    def _drawn(self, ax: Axes) -> Any:
        shown, title = list(self.bounds), self.title
        if len(shown) > _MOST_ROWS:
            worst = sorted(range(len(shown)), key=lambda k: -shown[k].gap)[:_MOST_ROWS]
            title = f"{title}: the worst {_MOST_ROWS} of {len(shown)}"
            shown = [shown[k] for k in sorted(worst)]
        ax = one_axes("plot_certificate", ax, (8.0, 1.3 + 0.62 * len(shown)))
        finite = [one.gap for one in shown if math.isfinite(one.gap)]
        tols = sorted({one.tol for one in shown if one.tol > 0.0})
        left = 0.1 * min([*finite, *tols, *(one.floor for one in shown)])
        right = 10.0 * max([*finite, *tols, 1e-12])
        self.bars_ = [self._draw_row(ax, row, one, left, right) for row, one in enumerate(shown)]
        for tol in tols:
            # across the bars alone, where it crosses no words
            rows = [row for row, one in enumerate(shown) if one.tol == tol]
            ax.vlines([tol] * len(rows), *([row + side for row in rows] for side in (-0.2, 0.24)), linestyle="dashed",
                      linewidth=1.8, color=PALETTE[1], label=f"tol = {tol:g}")  # fmt: skip
        labels = [short(one.label, 24) for one in shown]
        finish(ax, title, xscale="log", xlim=(left, right), ylim=(len(shown) - 0.35, -0.75))
        sentence = "distance from the lower bound D, relative to the objective"
        ax.set_xlabel("relative distance from D" if narrow(ax) else sentence)
        ax.set_yticks(range(len(shown)), labels if len(shown) > 1 else [""])
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        below(ax)
        return ax

    def _draw_row(self, ax: Axes, row: int, one: Bounds, left: float, right: float) -> Any:
        """A bar from D, which is infinitely far to the left, to P; grey where it may be rounding."""
        first, wrong = row == 0, one.certificate.contradictory
        end = right if math.isinf(one.gap) else one.gap
        shade = WRONG if wrong else PROVED
        label = "proved: the optimum is here" if first else None
        bar = ax.barh(row, end - left, left=left, height=0.34, color=shade, alpha=0.35, linewidth=0, label=label)
        ax.barh(row, min(one.floor, end) - left, left=left, height=0.34, color=NOTE, alpha=0.5, linewidth=0,
                label="rounding" if first else None)  # fmt: skip
        ax.plot([end], [row], "X" if wrong else ">" if math.isinf(one.gap) else "o", color=PALETTE[0], markersize=8,
                linestyle="none", clip_on=False, label="objective P of the model" if first else None)  # fmt: skip
        words = one.words(narrow(ax))
        ax.annotate(words, (0.0, row - 0.25), xycoords=("axes fraction", "data"), fontsize="small", va="bottom")
        return bar


def plot_certificate(certificate: Any, *, labels: Any = None, tol: float | None = None, ax: Axes | None = None) -> Any:
    """Draw where the objective P of a model stands above its lower bound D, with tol and the rounding floor.

    Parameters
    ----------
    certificate : Certificate, Solution, Judgement, fitted estimator, or a sequence or mapping of them
        What is drawn, one row each.  An estimator that solved several problems has a row for each.
    labels : sequence of str, default=None
        Names of several certificates.
    tol : float, default=None
        The relative gap that was asked for; None is the ``tol`` of the estimator.
    ax : matplotlib Axes, default=None
        The axes to draw on; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes of the drawing.

    See Also
    --------
    plot_convergence : How the gap fell during the fit.
    fenchel.plotting.CertificateDisplay : The same with access to its bars.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import LinearClassifier, plot_certificate
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_certificate(LinearClassifier(multi_class="ovr", random_state=0).fit(X, y))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['0', '1', '2']
    """
    return CertificateDisplay.from_certificate(certificate, labels=labels, tol=tol, ax=ax).ax_


def _bounds(given: Any, labels: Any, tol: float | None) -> tuple[list[Bounds], str]:
    if isinstance(given, Mapping):
        if labels is not None:
            raise FenchelError("labels are for a sequence of certificates: the keys of a mapping are the labels")
        given, labels = list(given.values()), list(given)
        if not given:
            raise FenchelError("certificate must hold at least one certificate, got an empty mapping")
    if isinstance(given, (list, tuple)):
        names = [None] * len(given) if labels is None else list(labels)
        if not given or len(names) != len(given):
            raise FenchelError(f"labels must have a name for each of the {len(given)} certificates, got {len(names)}")
        return [
            _total(one, name, k, tol) for k, (one, name) in enumerate(zip(given, names, strict=True))
        ], "Certificates"
    model = fitted_part(given)
    found = _certificates(model)
    if len(found) == 1:
        return [Bounds(type(model).__name__, found[0], _tol(model, tol))], _title(model)
    problems = problem_names(model, len(found))
    return [Bounds(name, one, _tol(model, tol)) for name, one in zip(problems, found, strict=True)], _title(model)


def _total(given: Any, name: Any, k: int, tol: float | None) -> Bounds:
    """One of several: the sum of its problems."""
    model = fitted_part(given)
    label = name or (type(model).__name__ if _has_name(model) else str(k))
    return Bounds(str(label), reduce(add, _certificates(model)), _tol(model, tol))


def _certificates(model: Any) -> list[Certificate]:
    if isinstance(model, Certificate):
        return [model]
    # a judgement of another library's model has a tuple of them
    found = certificates_of(model) or list(attributes(model).get("certificates", ()))
    if not found:
        raise not_drawn(
            "certificate",
            "a Certificate, a Solution, what certify returns, or a fitted estimator",
            model,
            "pass what certify(model, X, y) returns",
        )
    return found


def _tol(model: Any, tol: float | None) -> float:
    return float(attributes(model).get("tol", 0.0) or 0.0) if tol is None else float(tol)


def _title(model: Any) -> str:
    return f"Certificate of {type(model).__name__}" if _has_name(model) else "Certificate"


def _has_name(model: Any) -> bool:
    """Whether the class says what was solved; what ``certify`` returns does not."""
    return not isinstance(model, Certificate) and "objective" not in attributes(model)
