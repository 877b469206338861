"""Certificates for anybody's weights: with a witness at once, without one after some dual ascent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fenchel.certificate import Certificate, best_of, judge
from fenchel.errors import FenchelError
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.base import Start
from fenchel.solving import Progress, solve

#: data passes of dual ascent that ``certify`` spends at most when no witness is given
DEFAULT_EFFORT = 300.0
#: the ascent ends when the true gap is known to be at least this share of the certified one
_TIGHT = 0.9


def certify(
    problem: Problem,
    model: Model | ArrayLike,
    witness: Witness | ArrayLike | None = None,
    *,
    effort: float = DEFAULT_EFFORT,
) -> Certificate:
    """Prove how far a model is from the optimum of a problem.

    Parameters
    ----------
    problem : the problem that the model is meant to solve
    model : a ``Model``, or an array of weights (then the best intercept is used, if the problem has one)
    witness : a ``Witness`` or an array theta, such as a Solution keeps.  Without one, as for weights of another
        library, the search starts from the subgradient at the model, which alone proves very little, and improves it
        by dual ascent.
    effort : data passes of dual ascent at most.  The ascent ends sooner when it is known that more of it could make
        the gap at most a tenth smaller: the gap is then that close to the model's true distance from the optimum.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import MeanRisk, Problem, certify
    >>> problem = Problem(np.array([[1.0], [-1.0]]), MeanRisk("hinge", [1, -1]), lam=0.5)
    >>> print(certify(problem, np.array([1.0])))
    The objective 0.25 is optimal to the accuracy of the arithmetic: no model is below 0.25.
    """
    if not isinstance(model, Model):
        model = Model(np.asarray(model, dtype=np.float64), None)
    if witness is not None:
        witness = witness if isinstance(witness, Witness) else Witness(np.asarray(witness, dtype=np.float64))
        return judge(problem, model, witness).certificate
    if isinstance(effort, bool) or not isinstance(effort, (int, float)) or not effort >= 0:
        raise FenchelError(f"effort must be a number of data passes >= 0, got {effort!r}")

    known = judge(problem, model, Witness(_subgradient_witness(problem, model)))
    model = known.model

    def tight(progress: Progress) -> bool:
        # the ascent's own primal value bounds the optimum from above, so gap(model) - gap(ascent) is truly lost
        certified = known.certificate.primal - max(progress.certificate.dual, known.certificate.dual)
        truly_lost = known.certificate.primal - min(progress.certificate.primal, known.certificate.primal)
        return truly_lost >= _TIGHT * certified

    if known.certificate.at_floor or effort == 0:
        return known.certificate
    ascent = solve(problem, tol=0.0, max_iter=effort, warm_start=Start(model, known.witness), callback=tight)
    return best_of(known, judge(problem, model, ascent.witness)).certificate


def _subgradient_witness(problem: Problem, model: Model) -> Any:
    scores = problem.design.scores(model.weights)
    intercept = model.intercept
    if intercept is None:
        intercept = problem.risk.best_intercept(scores) if problem.intercept else 0.0
    return -problem.risk.subgradient(scores + intercept)
