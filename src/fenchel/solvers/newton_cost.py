"""What the Newton method costs on a mean of losses, in data passes of dual coordinate descent.

It takes a number of data passes for each decimal digit of the gap, from R(0) on: after some epochs of descent 15 to 25
to a relative gap of 1e-3, and about twice as many to 1e-6 (a9a and w8a, C = 1 and 10).  The Hessians cost more than
products with X where there are hundreds of features.  With many features there are no Hessians, and the systems are
solved by conjugate gradients: for the logistic loss on 20news.binary and imdb, at C = 1 and 10, the Newton method takes
as long as 12 to 28 epochs of descent to 1e-3, and 15 to 45 to 1e-6.

In dense rows of hundreds of features a Newton step is several products with X more than one of L-BFGS, which is done in
seven to nine evaluations if the features are well conditioned, and in hundreds if not.  On 40,000 x 300 Gaussian
features whose deviations differ by factors of 1 to 300 the Newton method takes as long as 10 to 20 evaluations to 1e-3
and 16 to 25 to 1e-6 (logistic loss, lam = 1e-3 and 1e-6).
"""

from __future__ import annotations

import math

from fenchel.designs import Design
from fenchel.problem import Problem
from fenchel.solvers.newton.direction import FEWEST_ROWS_PER_UNKNOWN, MOST_FEATURES

#: data passes for each decimal digit, and digits at least and at most
_PASSES_PER_DIGIT, _LEAST, _MOST = 7.0, 1.0, 16.0
#: features for which the Hessian of a step costs about as much as its products
_FEATURES = 250.0
#: what a Newton step computes beside its products, in the time that descent takes for an entry of X: a product of two
#: entries of a sparse row, and an operation of the factorization (mnist, w8a, and made-up sparse rows of 600 to 1,000
#: features).  The Hessian of a sample of dense rows is a matrix product that takes as long as a few passes
_HESSIAN_ENTRY, _FACTOR_OPERATION = 0.2, 1.0 / 130.0
#: features of dense rows for which the matrix product of all of them takes as long as a pass (w8a, 2,000 rows, and
#: mnist, 2,000 and 4,000 rows), and data passes of a step beside it
_DENSE_FEATURES, _PASSES_PER_STEP = 26.0, 3.0
#: data passes after which the pace of a solver is known
_FEW_PASSES = 8.0
#: evaluations of L-BFGS that take as long as the Newton method: for all gaps, and for each decimal digit
_EVALUATIONS, _EVALUATIONS_PER_DIGIT = 10.0, 2.0


def _digits(problem: Problem, target_gap: float) -> float:
    """The decimal digits from R(0) to this gap, within bounds."""
    share = target_gap / problem.risk.value_at_zero if problem.risk.value_at_zero > 0.0 else 1.0
    return min(max(-math.log10(share) if share > 0.0 else _MOST, _LEAST), _MOST)


def step_passes(design: Design) -> float:
    """The data passes of dual coordinate descent that take as long as the Hessian of a Newton step and its factors."""
    (rows, features), entries = design.shape, max(1, design.stored_entries)
    if features > MOST_FEATURES:
        return 0.0
    products = _HESSIAN_ENTRY * entries / rows / 2.0
    if entries == rows * features:
        products = features / _DENSE_FEATURES if _all_rows(design) else 0.0
    return products + _FACTOR_OPERATION * features**3 / (3.0 * entries)


def _all_rows(design: Design) -> bool:
    """Whether the Hessian of dense rows is that of all of them, which are too few for a sample of four per feature."""
    return design.shape[0] <= 2 * FEWEST_ROWS_PER_UNKNOWN * design.shape[1]


def passes_of_a_step(problem: Problem) -> float:
    """The data passes after which the pace of a first solver decides: those of a Newton step, and a few at least."""
    return max(_FEW_PASSES, step_passes(problem.design))


def newton_passes(problem: Problem, target_gap: float) -> float:
    """The data passes of dual coordinate descent that take as long as the Newton method to this gap."""
    design, features = problem.design, problem.design.shape[1]
    hessians = features / _FEATURES if features <= MOST_FEATURES else 0.0
    if features <= MOST_FEATURES and design.stored_entries == design.shape[0] * features and _all_rows(design):
        hessians = max(hessians, step_passes(design) / _PASSES_PER_STEP)
    return _PASSES_PER_DIGIT * _digits(problem, target_gap) * (1.0 + hessians)


def newton_passes_of_lbfgs(problem: Problem, target_gap: float) -> float:
    """The evaluations of L-BFGS, on long rows, that take as long as the Newton method to this gap."""
    return _EVALUATIONS + _EVALUATIONS_PER_DIGIT * _digits(problem, target_gap)
