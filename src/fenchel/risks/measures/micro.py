"""Micro averaging: one contingency table for the n k scores of all classes.

Each class has a weight vector; only the table is shared.  Intercepts would require cutting planes whose subgradients
sum to zero for every class, which these measures do not provide: there are none, and one threshold for all scores is
chosen afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.risks.base import CuttingPlane, Risk
from fenchel.risks.decomposition import Decomposable, DecomposedForm
from fenchel.risks.protocols import ClosedForm
from fenchel.validation import is_integer


class MicroRisk(Risk):
    """One contingency table for the scores of all classes (micro averaging); made by :func:`micro`.

    Parameters
    ----------
    table : Risk
        The risk of n k scores, example by example.
    outputs : int
        The number k of classes.

    See Also
    --------
    micro : Makes a MicroRisk.
    fenchel.MeasureClassifier : Has ``average="micro"``.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import F1, MicroRisk
    >>> MicroRisk(F1([1, -1, -1, 1]), 2).outputs
    2
    """

    conjugate_at_zero = 0.0
    outputs: int

    def __init__(self, table: Risk, outputs: int) -> None:
        if not is_integer(outputs, least=1) or table.examples % outputs:
            raise FenchelError(f"outputs must be an integer that divides {table.examples}, got {outputs!r}")
        #: the risk of all scores in one row
        self.table, self._form, self._parts = table, table.closed_form(), table.decomposable()
        self.outputs = outputs
        self.examples = table.examples // outputs
        self.name = f"micro {table.name}"

    def closed_form(self) -> ClosedForm | None:
        return None if self._form is None else self

    def decomposable(self) -> Decomposable | None:
        return None if self._parts is None else self

    @cached_property
    def shares(self) -> Floats:
        """c_i: the sum of the shares of the scores of each example."""
        return self._wide(self.table.shares).sum(axis=1)

    @cached_property
    def value_at_zero(self) -> float:
        """R(0): the natural scale of the objective."""
        return float(self.table.value_at_zero)

    def value(self, scores: Array) -> float:
        """R(s)."""
        return float(self.table.value(scores.ravel()))

    def subgradient(self, scores: Array) -> Floats:
        """One element of the subdifferential of R at s."""
        return self._wide(self.table.subgradient(scores.ravel()))

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        """The cutting plane of the most violated labelling: subgradient, offset and R(s)."""
        subgradient, offset, value = self.table.cutting_plane(scores.ravel())
        return self._wide(subgradient), offset, value

    def decompose(self, scores: Array, subgradient: Array) -> Floats:
        assert self._parts is not None
        return self._parts.decompose(scores.ravel(), subgradient.ravel())

    def mixed(self, weights: Array, decompositions: Sequence[Array]) -> Floats:
        assert self._parts is not None
        return self._parts.mixed(weights, decompositions)

    def decomposed_form(
        self, theta: Array, decomposition: Array | None, *, balanced: bool = False
    ) -> DecomposedForm | None:
        assert self._parts is not None
        assert not balanced
        form = self._parts.decomposed_form(theta.ravel(), decomposition)
        return None if form is None else _WideForm(form, self.outputs)

    @property
    def roundings(self) -> float:
        return self.table.roundings

    @property
    def dual_roundings(self) -> float:
        return self.table.dual_roundings

    def label_sizes(self) -> Floats:
        sizes = np.broadcast_to(self.table.label_sizes(), (self.examples * self.outputs,))
        return self._wide(sizes)

    def subgradient_norm_bound(self) -> float:
        """A bound on the 1-norm of a subgradient at s."""
        return float(self.table.subgradient_norm_bound())

    def subgradient_bounds(self, scores: Array, radius: Array) -> Floats:
        """Bounds on the absolute entries of subgradients at any scores within ``radius`` of these."""
        scores, radius = scores.ravel(), np.broadcast_to(radius, scores.shape).ravel()
        return self._wide(self.table.subgradient_bounds(scores, radius))

    def conjugate(self, theta: Array, *, feasible: bool = False) -> float:
        assert self._form is not None
        return self._form.conjugate(theta.ravel(), feasible=feasible)

    def project(self, theta: Array) -> Floats:
        assert self._form is not None
        return self._wide(self._form.project(theta.ravel()))

    def _wide(self, values: Array) -> Floats:
        return values.reshape(-1, self.outputs)

    def conjugate_error(self, theta: Array, conjugate: float, *, fine: bool = True) -> float:
        return self.table.conjugate_error(theta.ravel(), conjugate, fine=fine)


class _WideForm:
    """The bound of a decomposition, for theta of shape (n, k)."""

    def __init__(self, form: DecomposedForm, outputs: int) -> None:
        self._form, self._outputs = form, outputs

    def conjugate(self, theta: Array, *, feasible: bool = False) -> float:
        return self._form.conjugate(theta.ravel(), feasible=feasible)

    def project(self, theta: Array) -> Floats:
        return self._form.project(theta.ravel()).reshape(-1, self._outputs)

    def conjugate_error(self, theta: Array, conjugate: float, *, fine: bool = True) -> float:
        return self._form.conjugate_error(theta.ravel(), conjugate, fine=fine)

    def largest_scale(self, theta: Array) -> float:
        return self._form.largest_scale(theta.ravel())

    @property
    def decomposition(self) -> Floats:
        return self._form.decomposition

    def domain_distance(self, theta: Array) -> float:
        return self._form.domain_distance(theta.ravel())

    def unbalanced(self, theta: Array) -> Floats:
        return np.zeros(self._outputs)


def micro(table: Risk, outputs: int) -> MicroRisk:
    """Return the risk of n k scores, example by example, as a risk of scores of shape (n, k).

    Parameters
    ----------
    table : Risk
        The risk of n k scores, such as ``F1(labels.ravel())``.
    outputs : int
        The number k of classes.

    Returns
    -------
    MicroRisk
        The risk of scores of shape (n, k).

    See Also
    --------
    MicroRisk : The class of the result.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import F1, micro
    >>> labels = np.array([[1, -1], [-1, 1]])
    >>> float(micro(F1(labels.ravel()), 2).value(np.zeros((2, 2))))
    1.0
    """
    return MicroRisk(table, outputs)
