r"""Dual equalities of free directions: a map of dual points onto them, and a charge for their residuals.

With ``FreeDirections`` (and a free intercept, an additional constant column) a dual point is feasible if

.. math:: Z^T\theta = z, \qquad Z = [XC^T, \mathbf 1],\quad z = (\lambda b, 0),

which floats never satisfy exactly.  ``restored`` projects theta onto the domain and the equalities, in a norm that lets
an entry change the more, the farther it is from its bounds, so that entries on a bound stay there.

The residual :math:`\rho = Z^T\theta - z` is charged by a point that meets the equalities exactly, which exists but is
not computed.  Let :math:`\bar D(\theta) = -\lambda\bar h(X^T\theta/\lambda) - R^*(-\theta)`, concave, which is the dual
wherever the equalities hold; :math:`\bar h` is the conjugate of the base in the other directions.  Let points
:math:`\theta_0, \dots, \theta_m` of the domain have :math:`Z^T\theta_k - z` at the corners :math:`\tau e_1, \dots,
\tau e_m, -\tau\mathbf 1` of a simplex, up to errors of 1-norm :math:`\epsilon`.  Then the convex hull of their
residuals holds all :math:`|q|_1 \le r = \tau/m - \epsilon` (for :math:`|g|_\infty = 1` the largest :math:`g\cdot q`
over the corners is at least :math:`\tau/m`).  So some mixture of them has the residual :math:`-\rho(1-T)/T` for
:math:`T = |\rho|_1/(|\rho|_1 + r)`, and

.. math:: P^* \ge D\bigl((1-T)\theta + T\,\text{mixture}\bigr) \ge (1-T)\,\bar D(\theta) + T\min_k\bar D(\theta_k).

T is a few roundings over :math:`\tau`.  Such corners exist iff the free weights are bounded.  Without prices their
multiples :math:`t\theta_k` are corners of t times the simplex, with :math:`R^*(-t\theta_k) \le tR^*(-\theta_k) +
(1-t)R^*(0)`; a small t serves where :math:`\bar h` grows fast, as that of the entropies does.
Where all terms of an equality have one sign, they are zero in every dual point, and so they are here, exactly: those
columns, and columns that are exact integer combinations of others, are not part of :math:`\rho`.

====================  =============================================================
symbol                here
====================  =============================================================
Z, z                  ``sides``, ``target``; columns are scaled by ``sizes`` for :math:`\rho`
r                     ``Corners.radius``
:math:`\theta_k`      known by :math:`X^T\theta_k`, compressed, and :math:`R^*(-\theta_k)`
====================  =============================================================
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr

from fenchel.arrays import Array, Floats
from fenchel.certificate.corners import INSET, Corners, corners_of, inset
from fenchel.numerics.error_free import EXACT_PRODUCTS, two_product
from fenchel.numerics.limits import DOMAIN_TOLERANCE, EPS
from fenchel.problem import Problem
from fenchel.projections import onto_box_and_equalities
from fenchel.projections.zero_sum import column_sums
from fenchel.regularizers import FreeDirections
from fenchel.risks import MeanRisk

#: multiples of corners that are tried, until the charge is this share of the dual
_MULTIPLES, _NEGLIGIBLE_CHARGE = (1.0, 1e-1, 1e-2, 1e-4, 1e-6), 1e-12
#: error of the dual of a corner, relative to its terms: far more than roundings of sums and exponentials
_CORNER_ERROR = 1e-9
#: pivot of a QR factorization, relative to the largest, below which a column counts as linearly dependent
_SMALLEST_PIVOT = 1e-9
#: error of each term of an equality that counts as rounding, in units of EPS
_ROUNDINGS = 8.0


@dataclass(frozen=True, eq=False)
class _Output:
    """The domain of the dual variables of one output, and the columns of its residual."""

    low: Floats
    high: Floats
    #: whether R* is infinite on the bounds
    open_ended: bool
    #: independent columns whose equalities are not met trivially
    counted: NDArray[np.intp]
    corners: Corners | None


@dataclass(frozen=True, eq=False)
class Equalities:
    """Z and z of a problem, with the corners that determine the charge."""

    design: weakref.ref[Any]
    regularizer: FreeDirections
    intercept: bool
    #: lam, where z depends on it
    lam: float | None
    sides: Floats
    target: Floats
    sizes: Floats
    #: errors of the columns of Z, in units of the norms of the rows
    errors: Floats
    lengths: Floats
    shares: Floats
    outputs: list[_Output]

    def fits(self, problem: Problem) -> bool:
        if self.design() is not problem.design or self.intercept != problem.intercept:
            return False
        # identity first: comparing C is slow
        same = self.regularizer is problem.regularizer or self.regularizer == problem.regularizer
        return same and self.lam in (None, problem.lam)

    def residuals(self, theta: Array) -> Floats:
        """Bounds on the residuals of one output's theta, including the rounding of these sums."""
        products, errors = two_product(theta[:, None], self.sides)
        total, error = column_sums(np.concatenate([products, errors]))
        # products that underflow have errors of a few smallest floats; others none, so that a sum of zero is exact
        small = (np.abs(products) < EXACT_PRODUCTS) & (theta[:, None] != 0.0) & (self.sides != 0.0)
        lost = 2.0**-1070 * np.count_nonzero(small, axis=0)
        from_sides = self.errors * float(np.abs(theta) @ self.lengths)
        return np.abs(total - self.target) + error + 2.0 * EPS * np.abs(self.target) + lost + from_sides


#: equalities by risk, as long as the risk exists
_known: weakref.WeakKeyDictionary[Any, Equalities] = weakref.WeakKeyDictionary()


def restored(problem: Problem, theta: Array) -> tuple[Floats, Floats]:
    """Theta in the domain and on the equalities; |rho|_1 of each output in units of the sizes of the columns."""
    equalities = equalities_of(problem)
    columns = np.asarray(theta, dtype=np.float64).reshape(problem.design.shape[0], -1)
    pairs = zip(equalities.outputs, columns.T, strict=True)
    found = [_restored(equalities, output, column) for output, column in pairs]
    return np.stack([one for one, _ in found], axis=1).reshape(theta.shape), np.array(
        [residual for _, residual in found]
    )


def free_charge(problem: Problem, unbalanced: Array, value: float) -> float:
    """The charge for the residuals of the equalities: T (D(theta) - min D(theta_k))."""
    if not np.any(unbalanced):
        return 0.0
    known = []
    for output, residual in zip(equalities_of(problem).outputs, unbalanced, strict=True):
        if output.corners is None:
            return np.inf
        known.append((output.corners, float(residual)))
    least = np.inf
    for multiple in _MULTIPLES:
        least = min(_charge(problem, known, multiple, value), least)
        if least <= _NEGLIGIBLE_CHARGE * abs(value):
            break
    return least


def _charge(problem: Problem, known: list[tuple[Corners, float]], multiple: float, value: float) -> float:
    """The charge with multiples of the corners."""
    # every output is mixed with the same T, the largest
    share = max(residual / (residual + multiple * corners.radius) for corners, residual in known)
    found = [corners.lowest(problem, multiple) for corners, _ in known]
    lowest, sizes = sum(low for low, _ in found), sum(size for _, size in found)
    # the duals of the corners have rounding errors, which are multiplied by T; a bound better than D is not claimed
    charge = share * (max(value - lowest, 0.0) + _CORNER_ERROR * (abs(value) + sizes))
    return charge if np.isfinite(charge) else np.inf


def free_rounding(problem: Problem, theta: Array, value: float) -> float:
    """The charge for a few roundings of each term of the equalities, which no theta in floats avoids."""
    known = equalities_of(problem)
    columns = np.abs(theta).reshape(len(known.sides), -1)
    terms = columns.T @ np.abs(known.sides) + np.abs(known.target)
    noise = _ROUNDINGS * EPS * terms + np.outer(columns.T @ known.lengths, known.errors)
    outputs = zip(known.outputs, noise / known.sizes, strict=True)
    return free_charge(problem, np.array([np.sum(row[output.counted]) for output, row in outputs]), value)


def equalities_of(problem: Problem) -> Equalities:
    """Z, z and the corners, cached for problems that differ in lam only."""
    known = _known.get(problem.risk)
    if known is None or not known.fits(problem):
        known = _build(problem)
        _known[problem.risk] = known
    return known


def _build(problem: Problem) -> Equalities:
    regularizer, design, risk = problem.free_directions, problem.design, problem.mean_risk
    sparse = sp.issparse(regularizer.directions)
    rows = regularizer.directions.toarray() if sparse else regularizer.directions
    sides, target = design.scores(rows), problem.lam * regularizer.prices
    # an entry of X times one is exact; else a sum of k products is off by k roundings of its terms
    terms = np.count_nonzero(rows, axis=1)
    plain = (terms == 1) & np.all((rows == 0.0) | (np.abs(rows) == 1.0), axis=1)
    errors = np.where(plain, 0.0, 2.0 * EPS * terms * np.linalg.norm(rows, axis=1))
    if problem.intercept:
        sides, target = np.column_stack([sides, np.ones(len(sides))]), np.append(target, 0.0)
        errors = np.append(errors, 0.0)
    unbounded = np.full(problem.theta_shape, np.inf)
    low, high = (risk.project(sign * unbounded).reshape(len(sides), -1) for sign in (-1.0, 1.0))
    shares = np.asarray(risk.shares)
    sizes = shares @ np.abs(sides)
    sizes[sizes == 0.0] = 1.0
    known = Equalities(
        weakref.ref(design),
        regularizer,
        problem.intercept,
        problem.lam if regularizer.priced else None,
        np.ascontiguousarray(sides),
        target,
        sizes,
        errors,
        np.sqrt(design.squared_row_norms),
        shares,
        [],
    )
    labels = risk.labels.reshape(len(sides), -1)
    for k in range(low.shape[1]):
        column = MeanRisk(risk.loss, labels[:, k], known.shares)
        known.outputs.append(_output(known, problem, column, low[:, k].copy(), high[:, k].copy()))
    return known


def _output(known: Equalities, problem: Problem, risk: MeanRisk, low: Array, high: Array) -> _Output:
    """Fix rows that are zero in every dual point; then find the independent columns and their corners."""
    sides, exact, open_ended = known.sides, (known.errors == 0.0) & (known.target == 0.0), not risk.loss.bounded_below
    closed = True
    while closed:
        closed = False
        for j in np.flatnonzero(exact):
            touched = (sides[:, j] != 0.0) & ((low < 0.0) | (high > 0.0))
            side = sides[touched, j]
            up = np.where(side > 0.0, high[touched], -low[touched])
            down = np.where(side > 0.0, low[touched], -high[touched])
            # terms of one sign sum to zero only if all are zero
            if side.size and (np.all(down >= 0.0) or np.all(up <= 0.0)):
                low[touched] = high[touched] = 0.0
                closed = True
    open_rows = (low < 0.0) | (high > 0.0)
    used = np.flatnonzero(np.any(sides[open_rows] != 0.0, axis=0) | ~exact)
    counted = _independent(known, used, open_rows)
    if counted is None:
        return _Output(low, high, open_ended, used, None)
    if not counted.size:
        # every theta of the domain meets all equalities
        at_zero = risk.conjugate(np.zeros(len(low)))
        vector = problem.free_directions.compress(np.zeros(problem.design.shape[1]))
        return _Output(low, high, open_ended, counted, Corners(1.0, [vector], np.array([at_zero]), at_zero))
    return _Output(low, high, open_ended, counted, corners_of(known, problem, risk, low, high, counted))


def _independent(known: Equalities, used: Array, open_rows: Array) -> NDArray[np.intp] | None:
    """Columns of which all others are exact integer combinations; None if there are no such columns."""
    sides = known.sides[open_rows][:, used]
    if not sides.size:
        # without rows theta = 0, which meets all equalities without a price
        return None if np.any(known.target[used]) else used[:0]
    _, upper, order = qr(sides / known.sizes[used], mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(upper))
    rank = int(np.count_nonzero(diagonal > _SMALLEST_PIVOT * diagonal[0])) if diagonal[0] > 0.0 else 0
    kept, others = np.sort(order[:rank]), order[rank:]
    if others.size and (np.any(known.target[used]) or np.any(known.errors[used])):
        return None
    for j in others:
        whole = np.rint(np.linalg.lstsq(sides[:, kept], sides[:, j], rcond=None)[0])
        part, whole = sides[:, kept[whole != 0.0]], whole[whole != 0.0]
        # sums of integers, and single columns, are exact
        single = len(whole) <= 1 and np.max(np.abs(whole), initial=0.0) <= 1.0
        exactly = single or (np.array_equal(part, np.rint(part)) and np.max(np.abs(part) @ np.abs(whole)) < 2.0**52)
        if not exactly or np.any(part @ whole != sides[:, j]):
            return None
    return used[kept]


def _restored(known: Equalities, output: _Output, theta: Array) -> tuple[Floats, float]:
    """One output's theta on its equalities; entries on a bound change only if the others do not suffice."""
    low, high, counted = output.low, output.high, output.counted
    theta = np.clip(theta, low, high)
    if not counted.size:
        return theta, 0.0
    sides, target, sizes = known.sides[:, counted], known.target[counted], known.sizes[counted]
    slack = np.minimum(np.minimum(theta - low, high - theta), known.shares)
    if output.open_ended:
        low, high = inset(low, high, INSET * slack)
    best, least = theta, np.inf
    for ease in (slack, np.minimum(high - low, known.shares)):
        found = onto_box_and_equalities(theta, low, high, sides, target, ease)
        residual = float(np.sum(known.residuals(found)[counted] / sizes))
        if residual < least:
            best, least = found, residual
        terms = (np.abs(found) @ np.abs(sides) + np.abs(target)) / sizes
        if least <= DOMAIN_TOLERANCE * len(found) * float(np.sum(terms)):
            break
    return best, least
