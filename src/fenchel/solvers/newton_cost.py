"""What the Newton method costs on a mean of losses, in data passes of dual coordinate descent.

It takes a number of data passes for each decimal digit of the gap, from R(0) on: after some epochs of descent 15 to 25
to a relative gap of 1e-3, and about twice as many to 1e-6 (a9a and w8a, C = 1 and 10).  The Hessians cost more than
products with X where there are hundreds of features.  With many features there are no Hessians, and the systems are
solved by conjugate gradients: for the logistic loss on 20news.binary and imdb, at C = 1 and 10, the Newton method takes
as long as 12 to 28 epochs of descent to 1e-3, and 15 to 45 to 1e-6.
"""

from __future__ import annotations

import math

from fenchel.problem import Problem
from fenchel.solvers.newton.direction import MOST_FEATURES

#: data passes for each decimal digit, and digits at least and at most
_PASSES_PER_DIGIT, _LEAST, _MOST = 7.0, 1.0, 16.0
#: features for which the Hessian of a step costs about as much as its products
_FEATURES = 250.0


def newton_passes(problem: Problem, target_gap: float) -> float:
    """The data passes of dual coordinate descent that take as long as the Newton method to this gap."""
    share = target_gap / problem.risk.value_at_zero if problem.risk.value_at_zero > 0.0 else 1.0
    digits = -math.log10(share) if share > 0.0 else _MOST
    features = problem.design.shape[1]
    hessians = features / _FEATURES if features <= MOST_FEATURES else 0.0
    return _PASSES_PER_DIGIT * min(max(digits, _LEAST), _MOST) * (1.0 + hessians)
