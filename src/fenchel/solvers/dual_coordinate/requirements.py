"""What dual coordinate descent requires of a problem, whatever its options are."""

from __future__ import annotations

from fenchel.problem import Problem
from fenchel.solvers import needs
from fenchel.solvers.base import Need


def _unconstrained(problem: Problem) -> bool:
    return problem.mean_risk.loss.constraint is None


NEEDS: tuple[Need, ...] = (
    needs.MEAN_OF_LOSSES,
    needs.BOUNDED_INTERCEPT,
    needs.ONE_OUTPUT.unless(_unconstrained),
    Need(
        lambda problem: problem.regularizer.l1_ratio is not None or problem.design.kernel() is not None,
        lambda problem: (
            f"requires 'l2', 'elastic_net' or a Gram matrix with the loss {problem.mean_risk.loss.name!r}, got "
            f"{problem.regularizer.name!r}"
        ),
    ).unless(_unconstrained),
    Need(
        lambda problem: problem.mean_risk.loss.constraint != "residual" or problem.regularizer.is_ridge,
        lambda problem: (
            f"requires the regularizer 'l2' (ridge) with the loss {problem.mean_risk.loss.name!r}, got "
            f"{problem.regularizer.name!r}"
        ),
    ),
    needs.GRAM_IN_MEMORY.unless(_unconstrained),
)
