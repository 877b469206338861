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
from fenchel.solvers.newton.direction import MOST_FEATURES

#: data passes for each decimal digit, and digits at least and at most
_PASSES_PER_DIGIT, _LEAST, _MOST = 7.0, 1.0, 16.0
#: features for which the Hessian of a step costs about as much as its products
_FEATURES = 250.0
#: what a Newton step computes beside its products, in the time that descent takes for an entry of X: a product of two
#: entries of a sparse row, and an operation of the factorization (mnist, w8a, and made-up sparse rows of 600 to 1,000
#: features).  The Hessian of dense rows is a matrix product, which takes as long as a few passes
_HESSIAN_ENTRY, _FACTOR_OPERATION = 0.2, 1.0 / 130.0
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
    row = entries / rows if entries < rows * features else 0.0
    return _HESSIAN_ENTRY * row / 2.0 + _FACTOR_OPERATION * features**3 / (3.0 * entries)


def newton_passes(problem: Problem, target_gap: float) -> float:
    """The data passes of dual coordinate descent that take as long as the Newton method to this gap."""
    features = problem.design.shape[1]
    hessians = features / _FEATURES if features <= MOST_FEATURES else 0.0
    return _PASSES_PER_DIGIT * _digits(problem, target_gap) * (1.0 + hessians)


def newton_passes_of_lbfgs(problem: Problem, target_gap: float) -> float:
    """The evaluations of L-BFGS, on long rows, that take as long as the Newton method to this gap."""
    return _EVALUATIONS + _EVALUATIONS_PER_DIGIT * _digits(problem, target_gap)
