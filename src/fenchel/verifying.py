"""Certificates of any model: from a given witness, or from one found by dual ascent."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.certificate import Certificate, Verdict, best_of, enclosures, judge, rigorous_certificate, scores_of
from fenchel.errors import FenchelError
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import DualCoordinate
from fenchel.solvers.base import Start
from fenchel.solving.loop import solve
from fenchel.solving.solution import Progress, Solution
from fenchel.validation import check_bool

#: data passes at most of the search for a witness
DEFAULT_EFFORT = 300.0
#: the search ends when the suboptimality is proved to be at least this share of the gap
_TIGHT = 0.9


def certify(
    problem: Problem,
    model: Model | Solution | ArrayLike,
    witness: Witness | ArrayLike | None = None,
    *,
    effort: float = DEFAULT_EFFORT,
    rigorous: bool = False,
) -> Certificate:
    """The certificate of a model, its intercept found if it is None, and its witness searched for if there is none.

    ``fenchel.certify`` has the parameters.  The search goes from the subgradient at the model, by gradient steps and
    dual ascent, for at most ``effort`` data passes; it ends sooner when more could reduce the gap by a tenth at most.
    """
    if not isinstance(problem, Problem):
        raise FenchelError(f"problem must be a Problem such as Problem(X, risk, lam), got {type(problem).__name__}")
    check_bool("rigorous", rigorous)
    if rigorous:
        # before the search, not after it
        enclosures(problem)
    if isinstance(model, Solution):
        witness = model.witness if witness is None else witness
        model = model.model
    if not isinstance(model, Model):
        model = Model(_numbers("model", model, "a Model, a Solution"), None)
    if witness is not None:
        given = witness if isinstance(witness, Witness) else Witness(_numbers("witness", witness, "a Witness"))
        return _finished(problem, judge(problem, model, given), rigorous)
    if isinstance(effort, bool) or not isinstance(effort, Real) or not effort >= 0:
        raise FenchelError(f"effort must be a number of data passes >= 0, got {effort!r}")
    return _finished(problem, _search(problem, model, float(effort)), rigorous)


def _finished(problem: Problem, verdict: Verdict, rigorous: bool) -> Certificate:
    return rigorous_certificate(problem, verdict) if rigorous else verdict.certificate


def _numbers(name: str, given: object, or_else: str) -> Floats:
    """An array of floats; raise an error that names the argument otherwise."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise FenchelError(
            f"{name} must be {or_else} or an array of numbers, got {type(given).__name__}. For a fitted estimator pass "
            "Model(coef_[0], intercept_[0])"
        ) from error


def _search(problem: Problem, model: Model, effort: float) -> Verdict:
    """The best certificate of this model within ``effort`` data passes."""
    known = judge(problem, model, _gradient_witness(problem, model))
    model, primal = known.model, known.certificate.primal
    best_primal = primal

    def tight() -> bool:
        # every primal objective is an upper bound on the optimum, so the difference is suboptimality
        certificate = known.certificate
        return certificate.at_floor or primal - best_primal >= _TIGHT * certificate.gap

    def improved(found: Certificate, witness: Witness) -> None:
        nonlocal known, best_primal
        best_primal = min(best_primal, found.primal)
        if found.dual > known.certificate.dual:
            known = best_of(known, judge(problem, model, witness))

    # the lasso has kinks, where gradient steps stall
    smooth = problem.risk.smooth and problem.regularizer.finite and problem.regularizer.l1_ratio != 1.0
    if effort > 0 and not tight() and smooth:
        try:
            descended = _descend(problem, model, int(effort / 2))
        except KeyboardInterrupt:
            return known
        verdict = judge(problem, descended, _gradient_witness(problem, descended))
        improved(verdict.certificate, verdict.witness)
        effort /= 2
    if effort > 0 and not tight():
        ascent = solve(
            problem,
            # each epoch increases the lower bound, so more effort is never worse
            "dual_coordinate" if DualCoordinate().supports(problem) is None else "auto",
            tol=0.0,
            max_iter=effort,
            warm_start=Start(model, known.witness),
            callback=lambda progress: _is_tight(progress, known.certificate),
        )
        improved(ascent.certificate, ascent.witness)
    return known


def _is_tight(progress: Progress, known: Certificate) -> bool:
    certified = known.primal - max(progress.certificate.dual, known.dual)
    return known.primal - min(progress.certificate.primal, known.primal) >= _TIGHT * certified


def _gradient_witness(problem: Problem, model: Model) -> Witness:
    """Minus the subgradient at the model, with what bounds R* there where that has no closed form."""
    scores = scores_of(problem, np.asarray(model.weights, dtype=np.float64))
    intercept = model.intercept
    if intercept is None:
        intercept = problem.best_intercept(scores)
    if problem.risk.closed_form() is not None:
        return Witness(-problem.risk.subgradient(scores + intercept))
    subgradient, offset, _ = problem.risk.cutting_plane(scores + intercept)
    parts = problem.risk.decomposable()
    return Witness(-subgradient, -offset, None if parts is None else parts.decompose(scores + intercept, subgradient))


def _descend(problem: Problem, model: Model, evaluations: int) -> Model:
    """Follow the gradient of a smooth objective from the model by SciPy's L-BFGS."""
    # here, since scipy.optimize takes longer to import than most fits
    from scipy.optimize import minimize

    size, free = int(np.prod(problem.weights_shape)), bool(problem.intercept)
    intercepts = np.atleast_1d(np.asarray(model.intercept, dtype=np.float64))

    def unpack(point: Array) -> Model:
        intercept = point[size:] if problem.risk.outputs is not None else float(point[size])
        return Model(point[:size].reshape(problem.weights_shape), intercept if free else problem.no_intercept())

    def objective(point: Array) -> tuple[float, Array]:
        at = unpack(point)
        scores = problem.design.scores(at.weights) + np.asarray(at.intercept)
        subgradient = problem.risk.subgradient(scores)
        value = problem.lam * problem.regularizer.value(at.weights) + problem.risk.value(scores)
        gradient = problem.lam * problem.regularizer.gradient(at.weights) + problem.design.adjoint(subgradient)
        if problem.design.kernel() is not None:
            # from the gradient in the feature space, in coefficients, to the gradient in the coefficients
            gradient = problem.design.scores(gradient).T
        by_intercept = np.atleast_1d(subgradient.sum(axis=0)) * free
        return value, np.concatenate([gradient.ravel(), by_intercept])

    start = np.concatenate([np.ravel(model.weights), intercepts])
    options = {"maxfun": max(1, evaluations), "maxiter": max(1, evaluations), "maxcor": 20, "ftol": 0.0, "gtol": 0.0}
    return unpack(minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x)
