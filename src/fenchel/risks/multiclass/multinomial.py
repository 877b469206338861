r"""Multinomial logistic loss (softmax, cross-entropy).

With a score for each class, label y and :math:`p = \operatorname{softmax}(s)` the loss of an example is

.. math:: f(s) = \log\sum_j e^{s_j} - s_y = -\log p_y

Its gradient is :math:`p - e_y`.  The conjugate is the negative entropy on the simplex,

.. math:: f^*(-\alpha) = \sum_j p_j\log p_j, \qquad \alpha = e_y - p, \quad p \ge 0, \quad \textstyle\sum p = 1

and infinite elsewhere.  :math:`R(s) = \sum c_i f(s_i)` and :math:`\theta_i = c_i\alpha_i`, whose rows add up to zero.
As for the other joint risks, :math:`\beta_j = p_j` are the entries beside the label; :math:`p_y = 1 - \sum\beta` is
never formed, which would cancel where it is nearly one.

With free intercepts the columns of theta add up to zero: every class has, on average, the probability that it has in
the data.  The best intercepts are the minimizer of a smooth convex function of k numbers.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import xlog1py, xlogy

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import EPS
from fenchel.numerics.rounding import FUNCTION, SMALLEST_SIZE, UNIT, gamma, tree_sum
from fenchel.risks.multiclass.base import MulticlassRisk
from fenchel.risks.multiclass.rows import row_maxima, row_sums
from fenchel.stopping import stop_point

#: Newton steps for the best intercepts at most; about five suffice
_STEPS = 200
#: probability of a class without examples is at most exp(-this): its finite stand-in for an intercept of -infinity
_ABSENT_CLASS_MARGIN = 40.0
#: range of scores above which they are divided by a temperature, and the factor by which it falls
_LARGEST_RANGE, _COOLING = 8.0, 3.0
#: smallest probability whose logarithm is taken
_TINY = 1e-300
#: bound on 3 + |log beta| + |log(1 - sum beta)| of floats: logarithms of at least -745 and -37
_LARGEST_SLOPE = 800.0


class Multinomial(MulticlassRisk):
    r"""Multinomial logistic loss: minus the log-probability of the label under the softmax.

    .. math:: f(s) = \log\sum_j e^{s_j} - s_y

    Parameters
    ----------
    classes : array-like of shape (n,)
        The classes, integers from 0 to k - 1.
    count : int, default=None
        The number k of classes; None is the largest class plus 1.
    weights : array-like of shape (n,), default=None
        Non-negative weights of the examples; None is the same weight for all.

    See Also
    --------
    fenchel.losses.Logistic : The loss of two classes.
    fenchel.solvers.NewtonCG : The truncated Newton solver.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import Multinomial
    >>> round(float(Multinomial([0, 1]).value(np.zeros((2, 2)))), 4)
    0.6931
    """

    name = "multinomial"
    dual_block = "entropy"
    smooth = True
    margin = 0.0

    def probabilities(self, scores: Array) -> Floats:
        """The softmax of each row."""
        return softmax(scores)

    def best_intercept(self, scores: Array) -> Floats:
        """The intercepts that minimize R(s + b); they add up to zero.

        A Newton step, full or of length one, is taken if it decreases R; where probabilities are too extreme,
        :math:`b_j \\mathrel{+}= \\log(\\bar y_j / \\bar p_j)`, which never increases it: by Jensen's inequality
        :math:`\\log\\sum_j \\bar p_j e^{\\delta_j} - \\bar y\\cdot\\delta` bounds the change of R from above.
        """
        targets = np.bincount(self.classes, self.shares, self.outputs)
        present, counted = np.flatnonzero(targets > 0), self.shares > 0
        found = np.zeros(self.outputs)
        if np.all(scores == scores[0]):
            # as without weights: the probabilities are the frequencies of the classes
            found[present] = np.log(targets[present]) - scores[0, present]
        else:
            own = np.searchsorted(present, self.classes[counted])
            reduced = np.ascontiguousarray(scores[np.ix_(counted, present)])
            found[present] = _best_intercept(reduced, own, self.shares[counted], targets[present])
        if len(present) < self.outputs:
            absent = np.flatnonzero(targets == 0)
            room = np.max(scores[:, present] + found[present], axis=1)[:, None] - scores[:, absent]
            found[absent] = np.min(room, axis=0) - _ABSENT_CLASS_MARGIN
        return found - np.mean(found)

    def subgradient_bounds(self, scores: Array, radius: Array) -> Floats:
        rows, width = np.arange(self.examples), 2.0 * np.max(radius, axis=1)
        # log-probabilities are Lipschitz in the scores, with the constant 2
        with np.errstate(over="ignore", invalid="ignore"):
            beta = np.minimum(self._best_beta(self._margins(scores)) * np.exp(width)[:, None], 1.0)
        beta[rows, self.classes] = 0.0
        beta[rows, self.classes] = np.minimum(np.sum(beta, axis=1), 1.0)
        return self.shares[:, None] * np.nan_to_num(beta, nan=1.0)

    def _losses(self, margins: Array) -> Floats:
        # log-sum-exp with the largest margin factored out, accurate where the others are small
        rows, worst = np.arange(len(margins)), np.argmax(margins, axis=1)
        largest = margins[rows, worst]
        rest = np.exp(margins - largest[:, None])
        rest[rows, worst] = 0.0
        return largest + np.log1p(row_sums(rest))

    def _best_beta(self, margins: Array) -> Floats:
        beta = softmax(margins)
        beta[np.arange(self.examples), self.classes] = 0.0
        return beta

    def _conjugate(self, theta: Array) -> float:
        return math.fsum(part._entropy(theta[rows]) for rows, part in self.parts())

    def _entropy(self, theta: Array) -> float:
        shares = self.shares[:, None]
        beta = np.divide(-theta, shares, out=np.zeros(theta.shape), where=shares > 0)
        beta[np.arange(self.examples), self.classes] = 0.0
        mass = np.minimum(row_sums(beta), 1.0)
        entropy = row_sums(xlogy(beta, beta)) + xlog1py(1.0 - mass, -mass)
        return tree_sum(self.shares * entropy)

    @property
    def roundings(self) -> float:
        """Those of exp, of a sum of k terms and of its logarithm, of a weight and of the sum."""
        return 2.0 * FUNCTION + 1.0 + self.outputs + self._mean_roundings

    @property
    def score_roundings(self) -> float:
        """Those of s_j - s_y, and of its difference from the largest one, which stands for k - 1 others."""
        return 1.0 + self.outputs

    def conjugate_error(self, theta: Array, conjugate: float, *, fine: bool = True) -> float:
        if not fine:
            # a logarithm of at most 2^-53 counts at most 37, twice
            return gamma(self.roundings) * (abs(conjugate) + 80.0)
        sizes = 0.0
        for rows, part in self.parts():
            shares = part.shares[:, None]
            beta = np.divide(np.abs(theta[rows]), shares, out=np.zeros(theta[rows].shape), where=shares > 0)
            beta[np.arange(part.examples), part.classes] = 0.0
            rest = np.maximum(1.0 - np.sum(beta, axis=1), UNIT)
            # an error of beta moves its own logarithm and that of 1 - sum beta
            slopes = 3.0 + np.abs(np.log(np.maximum(beta, _TINY))) + np.abs(np.log(rest))[:, None]
            sizes += tree_sum(shares * beta * slopes)
        # beta may underflow
        return gamma(self.roundings) * (abs(conjugate) + sizes + _LARGEST_SLOPE * SMALLEST_SIZE * theta.size)


def softmax(scores: Array) -> Floats:
    """exp(s) over its sum, for each row."""
    found = scores - row_maxima(scores)[:, None]
    np.exp(found, out=found)
    found /= row_sums(found)[:, None]
    return found


def _best_intercept(scores: Array, classes: Array, shares: Array, targets: Array) -> Floats:
    """Minimize sum_i c_i [log sum_j exp(s_ij + b_j)] - targets . b, with positive targets.

    Where scores are far apart this is nearly piecewise linear, and Newton's method would diverge: it is solved
    for scores divided by a temperature that decreases to one.
    """
    temperature = max(1.0, float(np.max(np.ptp(scores, axis=1), initial=0.0)) / _LARGEST_RANGE)
    intercept = np.zeros(len(targets))
    while True:
        found = _newton(scores / temperature, intercept / temperature, classes, shares, targets)
        intercept = temperature * found
        if temperature == 1.0:
            return intercept
        temperature = max(1.0, temperature / _COOLING)


def _newton(scores: Array, intercept: Array, classes: Array, shares: Array, targets: Array) -> Floats:
    """The minimizer, by Newton's method from a start near it."""
    count = len(targets)

    def evaluate(intercept: Array) -> tuple[float, Array, Array]:
        stop_point()
        shifted = scores + intercept
        p = softmax(shifted)
        largest = np.max(shifted, axis=1)
        normalizers = np.log(np.sum(np.exp(shifted - largest[:, None]), axis=1)) + largest
        own = shifted[np.arange(len(classes)), classes]
        return float(shares @ (normalizers - own)), p, shares @ p

    value, p, mean = evaluate(intercept)
    for _ in range(_STEPS):
        gradient = mean - targets
        error = float(np.max(np.abs(gradient)))
        if error <= EPS:
            break
        matrix = np.diag(mean) - p.T @ (shares[:, None] * p)
        # the sum of the intercepts does not matter; a ridge far below the curvature
        matrix += np.max(mean) / count + np.diag(np.full(count, EPS * float(np.max(mean))))
        try:
            step = cho_solve(cho_factor(matrix, check_finite=False), -gradient, check_finite=False)
        except LinAlgError:
            step = np.full(count, np.inf)
        lifts = np.log(targets) - np.log(np.maximum(mean, _TINY))
        # the Hessian changes by a bounded factor within a distance of one
        capped = step / max(float(np.ptp(step)), 1.0)
        for direction in (step, capped, lifts):
            if not np.all(np.isfinite(direction)):
                continue
            tried = intercept + direction
            found = evaluate(tried - np.mean(tried))
            better = found[0] < value - 0.1 * abs(float(gradient @ direction))
            # near the minimum the value is at its rounding, but the gradient still decreases
            flat = abs(found[0] - value) <= 8.0 * EPS * abs(value) and np.max(np.abs(found[2] - targets)) < 0.5 * error
            if better or flat:
                intercept = tried - np.mean(tried)
                value, p, mean = found
                break
        else:
            break
    return intercept
