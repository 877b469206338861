r"""Newton steps on small problems, several in one compiled call.

The steps of ``newton.solver`` for ridge and few features.  On small data the calls of NumPy and SciPy in
``newton.step`` take a hundred times as long as its arithmetic.  Where this loop can't go on (a direction overflows, H
is not positive definite, a gap may be rounding error) it returns, and ``newton.step`` continues from the same state.
The Cholesky factorization is written out because SciPy's can't be called from a loop.

=====================  =====================================================================
symbol                 here
=====================  =====================================================================
w, v                   ``small.weights``, ``small.v``
b, :math:`\mu`, …      entries of ``small.numbers``, at the positions INTERCEPT, MU, …
H                      ``matrix``, the first rows of ``small.system``, then its factor
p, r                   ``direction``, the row after ``matrix`` and its scale
=====================  =====================================================================
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from fenchel.arrays import Floats
from fenchel.compile.loop import helper, loop
from fenchel.compile.primitives.dense_gram import add_gram, dense_dot
from fenchel.compile.primitives.example_sums import sum_average_hess, sum_derivatives, sum_dual_points
from fenchel.compile.primitives.newton_root import following_step
from fenchel.solvers.newton.rules import INNER_ACCURACY, INNER_GAP, LINE_SEARCH_TOLERANCE, MU_FACTOR

#: positions in ``numbers``
INTERCEPT, MU, RISK_GAP, REGULARIZER_GAP, THETA_SUM, RADIUS, PREDICTED = range(7)
NUMBERS = 7
#: evaluations of a line search
_EVALUATIONS = 60


class Small(NamedTuple):
    """A problem with few features, and the state of the method, as in ``Sample`` and ``OutputState``."""

    lam: float
    #: whether the intercept is free
    free: bool
    #: the share of the last change of the scores over which the Hessian is averaged
    averaging: float
    #: the selected rows as a dense array in float64, in C order and read-only: one storage, so one loop for each loss
    X: Floats
    labels: Floats
    shares: Floats
    centre: Floats
    scores: Floats
    change: Floats
    theta: Floats
    hess: Floats
    weights: Floats
    v: Floats
    numbers: Floats
    #: room for H and the direction
    system: Floats


@helper
def _gap(small: Any) -> float:
    """``OutputState.gap``."""
    numbers = small.numbers
    gap = numbers[RISK_GAP] + numbers[REGULARIZER_GAP]
    return gap + abs(numbers[THETA_SUM]) * (1.0 + abs(numbers[INTERCEPT])) if small.free else gap


@helper
def _non_zeros(values: Any) -> int:
    """The number of entries that are not zero."""
    count = 0
    for value in values:
        count += value != 0.0
    return count


@helper
def _update_dual_point(loss: Any, small: Any) -> int:
    """``OutputState.update_dual_point``; for ridge the gap of the regularizer is |w - v|^2 / 2."""
    numbers, n = small.numbers, len(small.labels)
    numbers[RISK_GAP], numbers[THETA_SUM] = sum_dual_points(
        loss, small.labels, small.shares, small.centre, small.scores, numbers[MU], small.theta, small.hess, 0, n
    )
    small.v[:] = 0.0
    for t in range(n):
        if small.theta[t] != 0.0:
            for j in range(len(small.v)):
                small.v[j] += small.theta[t] * small.X[t, j]
    square = 0.0
    for j in range(len(small.v)):
        small.v[j] /= small.lam
        away = small.weights[j] - small.v[j]
        square += away * away
    numbers[REGULARIZER_GAP] = 0.5 * small.lam * square
    return _non_zeros(small.theta)


@helper
def _factorize(matrix: Any, scale: Any, size: int, ridge: float) -> bool:
    """Overwrite the lower triangle by the Cholesky factor of the matrix scaled to a unit diagonal plus a ridge."""
    for j in range(size):
        scale[j] = math.sqrt(max(matrix[j, j], 1e-300))
    for j in range(size):
        for k in range(j + 1):
            total = matrix[j, k] / scale[j] / scale[k] + (ridge if j == k else 0.0)
            for m in range(k):
                total -= matrix[j, m] * matrix[k, m]
            if j == k:
                if not total > ridge:
                    return False
                matrix[j, j] = math.sqrt(total)
            else:
                matrix[j, k] = total / matrix[k, k]
    return True


@helper
def _solve(matrix: Any, scale: Any, direction: Any, size: int) -> None:
    """Solve the system of a factor in place."""
    for j in range(size):
        total = direction[j] / scale[j]
        for k in range(j):
            total -= matrix[j, k] * direction[k]
        direction[j] = total / matrix[j, j]
    for j in range(size - 1, -1, -1):
        total = direction[j]
        for k in range(j + 1, size):
            total -= matrix[k, j] * direction[k]
        direction[j] = total / matrix[j, j]
    for j in range(size):
        direction[j] /= scale[j]


@helper
def _direction(small: Any, ridge: float) -> bool:
    """The direction of ``Quadratic.solve``, and minus half the derivative along it; False if H is not definite."""
    d, n, numbers = len(small.weights), len(small.labels), small.numbers
    size = d + 1 if small.free else d
    small.system[:] = 0.0
    matrix, scale, direction = small.system[:size], small.system[size], small.system[size + 1]
    total = 0.0
    for t in range(n):
        total += small.hess[t]
    if total == 0.0:
        # no row is active: H is regular all the same
        total = min(small.lam, 1.0)
    add_gram(small.X, small.hess, matrix, size)
    for j in range(d):
        matrix[j, j] += small.lam
    if small.free:
        matrix[d, d] = total
    if not _factorize(matrix, scale, size, ridge):
        return False
    for j in range(d):
        direction[j] = small.lam * (small.v[j] - small.weights[j])
    if small.free:
        direction[d] = numbers[THETA_SUM]
    derivative = 0.0
    gradient = direction[:size].copy()
    _solve(matrix, scale, direction, size)
    for j in range(size):
        derivative -= gradient[j] * direction[j]
    numbers[PREDICTED] = -0.5 * derivative
    return derivative < 0.0


@helper
def _line_search(loss: Any, small: Any, direction: Any) -> float:
    """``numerics.line_search`` for the smoothed objective along the direction."""
    d, n, lam = len(small.weights), len(small.labels), small.lam
    along, square = 0.0, 0.0
    for j in range(d):
        along += small.weights[j] * direction[j]
        square += direction[j] * direction[j]
    initial = -2.0 * small.numbers[PREDICTED]
    low, high, step = 0.0, math.inf, 1.0
    for _ in range(_EVALUATIONS):
        first, second = sum_derivatives(
            loss, small.labels, small.shares, small.centre, small.scores, small.change, step, small.numbers[MU], 0, n
        )
        first, second = first + lam * (along + step * square), second + lam * square
        if abs(first) <= LINE_SEARCH_TOLERANCE * abs(initial):
            return step
        if first > 0.0:
            high = step
        else:
            low = step
        following = following_step(step, first, second, low, high)
        if following == step:
            break
        step = following
    return low


@helper
def _move_centre(loss: Any, small: Any) -> int:
    """4. the centre moves to the dual point, and mu is halved; return the rows read."""
    for t in range(len(small.labels)):
        small.centre[t] = small.theta[t] / small.shares[t]
    small.numbers[MU] *= MU_FACTOR
    small.numbers[PREDICTED] = math.inf
    return _update_dual_point(loss, small)


@helper
def _is_solved(small: Any, target: float) -> bool:
    """Whether the smoothed problem is solved well enough for another centre."""
    numbers = small.numbers
    inner = numbers[PREDICTED] <= INNER_ACCURACY * numbers[RISK_GAP] and numbers[RISK_GAP] > 0.5 * target
    return inner or numbers[REGULARIZER_GAP] <= INNER_GAP * numbers[RISK_GAP]


@helper
def _move(loss: Any, small: Any, direction: Any) -> int:
    """Minimize the smoothed objective along the direction; return the rows read, 0 if nothing changes."""
    d, n = len(small.weights), len(small.labels)
    shift = direction[d] if small.free else 0.0
    for t in range(n):
        small.change[t] = dense_dot(small.X[t], direction) + shift
    step = _line_search(loss, small, direction)
    if not 0.0 < step < math.inf:
        return 0
    square = 0.0
    for t in range(n):
        moved = step * small.change[t]
        small.scores[t] += moved
        square += moved * moved
    for j in range(d):
        small.weights[j] += step * direction[j]
    small.numbers[INTERCEPT] += step * shift
    small.numbers[RADIUS] = math.sqrt(square / n)
    return n + _update_dual_point(loss, small)


@loop
def newton_steps(
    loss: Any, small: Any, ridge: float, least: float, target: float, most: int, rows: int
) -> tuple[int, int]:
    """Make steps until the gap is at most ``target``, at most ``most``; return their number and the rows read.

    No step begins once ``rows`` rows are read.  Where no gap is known the dual point is computed first; its rows count
    if no step is asked for.  Gaps below ``least`` may be rounding errors, and ``ridge`` is added to the diagonal of H.
    """
    numbers, d, n = small.numbers, len(small.weights), len(small.labels)
    steps = read = 0
    if math.isinf(numbers[RISK_GAP]):
        first = _update_dual_point(loss, small)
        read = 0 if most else first
    while steps < most and (steps == 0 or read < rows) and _gap(small) > max(target, least):
        if numbers[MU] > 0.0 and _is_solved(small, target):
            if numbers[RISK_GAP] <= least:
                break
            read += _move_centre(loss, small)
        radius = small.averaging * numbers[RADIUS]
        if radius > 0.0:
            # 3. the Hessian, averaged over as far as the scores are expected to move
            sum_average_hess(
                loss, small.labels, small.shares, small.centre, small.scores, numbers[MU], radius, small.hess, 0, n
            )
        # 2. the minimizer of the quadratic model
        active = _non_zeros(small.hess)
        if not _direction(small, ridge):
            break
        moved = _move(loss, small, small.system[d + 2] if small.free else small.system[d + 1])
        if moved == 0:
            break
        steps, read = steps + 1, read + active + moved
    return steps, read
