"""Whether the bounds of a case's certificates hold, in exact arithmetic.

A certificate is wrong if the exact P of its model is above ``upper``, if ``lower`` is above the exact D of its witness,
or if ``lower`` is above the exact P of any model that is known: that of another solver, of an interior-point method for
cones or, for the squared loss with ridge, the exact optimum.
"""

import math
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np

from campaign import exact
from campaign.cases import random_case
from campaign.least_squares import by_moments
from campaign.loops import compiled_loops
from exact_losses import DIGITS, digits
from fenchel import FenchelError, Model, Witness, solve
from fenchel.certificate import judge
from fenchel.solvers import SOLVERS
from slow_conic import conic_solution

#: how a model and its witness are made, with the shares of the cases in percent
PAIRS = {"random": 35, "subgradient": 31, "fixed_point": 31, "zero": 2, "solver": 1}
#: the same where parts of theta bound the conjugate
PAIRS_IN_PARTS = {"random": 30, "subgradient": 30, "fixed_point": 28, "zero": 2, "solver": 10}
#: shares of the plain problems that an interior-point method for cones solves too (1% of all), and of other lam
CONIC, OTHER_LAM = 0.25, 0.1
#: the losses and regularizers of plain problems
CONIC_LOSSES = ("hinge", "squared_hinge", "squared", "absolute", "huber", "logistic", "poisson", "exponential")
CONIC_REGULARIZERS = ("l2", "l1", "elastic_net")
#: true errors below this are of underflow alone, and say nothing about rounding
UNDERFLOW = Decimal(2) ** -1000
#: share of the pairs whose model and dual point are multiplied by one of these: products and squares underflow
SHRUNK, FACTORS = 0.05, (1.0, 1e-100, 1e-160, 1e-300, 1e-315, 1e-320)
#: refusals that are right: the numbers overflow, or the weights have the wrong signs
ALLOWED_REFUSALS = ("overflow", "infinite at these weights")
#: and those of solvers: steps would overflow, the method that was drawn can't do without an intercept, or a store would
#: have to be copied
SOLVER_REFUSALS = ("lower C", "no solver supports", "memory_limit is")


@dataclass
class Outcome:
    """What was found for one case."""

    strata: dict
    #: wrong certificates, each in a sentence
    wrong: list = field(default_factory=list)
    #: exceptions, and refusals of what is in order
    unexpected: list = field(default_factory=list)
    #: certificates that contradict themselves
    contradictory: int = 0
    certificates: int = 0
    #: floor over true error, where both are known
    ratios: list = field(default_factory=list)
    refused: str | None = None


def run_case(seed, index, make=random_case):
    """The outcome of one case, which ``make`` draws."""
    try:
        case = make(seed, index)
    except FenchelError as error:
        return Outcome({}, refused=str(error))
    shares = PAIRS if case.problem.risk.closed_form() is not None else PAIRS_IN_PARTS
    kinds = list(shares)
    kind = kinds[int(np.searchsorted(np.cumsum([shares[one] for one in kinds]), 100 * case.rng.random()))]
    if case.kind == "mean" and case.problem.risk.loss.name == "squared" and case.strata["regularizer"] == "l2":
        kind = "optimum"
    if case.solver is not None:
        kind = "solver"
    case.strata["pair"] = kind
    return guarded(case.strata, lambda outcome: _judge_case(case, kind, outcome))


def guarded(strata, action, allowed=ALLOWED_REFUSALS):
    """The outcome of an action that is given it; what it raises is noted, but for allowed refusals."""
    outcome = Outcome(strata)
    with np.errstate(all="ignore"):
        try:
            action(outcome)
        except FenchelError as error:
            outcome.refused = str(error)
            if not any(words in str(error) for words in allowed):
                outcome.unexpected.append(f"refused: {error}")
        except Exception as error:
            outcome.unexpected.append(f"raised {type(error).__name__}: {error}")
    return outcome


def _judge_case(case, kind, outcome):
    problem = case.problem
    if kind == "solver":
        verdicts, known = solved(case), []
    elif kind == "optimum":
        verdicts, known = _at_the_optimum(case)
    else:
        verdicts, known = [judge(problem, *_shrunk(case, *_pair(case, kind)))], []
    conic = _conic(case) if case.rng.random() < CONIC else None
    compare_all(case, verdicts, [*known, *([] if conic is None else [conic])], outcome)
    if verdicts and case.rng.random() < OTHER_LAM:
        _check_other_lam(case, verdicts[0], outcome)
    for certificate, primal, dual in by_moments(case, verdicts[0].model) if verdicts else ():
        outcome.certificates += 1
        outcome.contradictory += certificate.contradictory
        compare(outcome, "upper", certificate.upper, primal, "the exact P of a certificate from moments")
        compare(outcome, "lower", certificate.lower, dual, "the exact D of the residuals")


def compare_all(case, verdicts, known, outcome):
    """Compare certificates with their own models and witnesses, and with all known values of P; returns the least."""
    known = [*known, *(check(case, verdict, outcome) for verdict in verdicts)]
    with digits(DIGITS):
        best = min((primal for primal in known if primal is not None), default=None)
    for verdict in verdicts:
        compare(outcome, "lower", verdict.certificate.lower, best, "the exact P of a known model")
    return best


def _pair(case, kind):
    """A model and a witness."""
    problem, rng = case.problem, case.rng
    if kind == "zero":
        return problem.zero_model(), Witness(np.zeros(problem.theta_shape))
    size = float(max(max(abs(entry) for entry in row) for row in case.rows))
    weights = (1.0, 1e-3, 30.0)[int(rng.integers(3))] / max(size, 1e-300) * rng.normal(size=problem.weights_shape)
    if not problem.regularizer.finite:
        weights = problem.regularizer.grad_conjugate(np.minimum(rng.normal(size=problem.weights_shape), 5.0))
    intercept = problem.no_intercept()
    if problem.intercept:
        intercept = None if rng.random() < 0.5 else rng.normal(size=np.shape(intercept))[()]
    if problem.risk.closed_form() is None:
        return _pair_in_parts(case, kind, weights, intercept)
    if kind == "random":
        shares = problem.risk.shares.reshape(-1, *[1] * (len(problem.theta_shape) - 1))
        return Model(weights, intercept), Witness(rng.normal(size=problem.theta_shape) * shares)
    theta = np.zeros(problem.theta_shape)
    for _ in range(1 if kind == "subgradient" else 3):
        scores = problem.design.scores(weights)
        if not np.all(np.isfinite(scores)):
            break
        b = problem.best_intercept(scores) if intercept is None else intercept
        found = -problem.risk.subgradient(scores + b)
        if not np.all(np.isfinite(found)):
            break
        theta = found
        if kind == "fixed_point":
            moved = problem.regularizer.grad_conjugate(problem.design.adjoint(theta) / problem.lam)
            if not np.all(np.isfinite(moved)):
                break
            weights = moved
    return Model(weights, intercept), Witness(theta)


def _shrunk(case, model, witness):
    """A pair, or one of its multiples whose numbers underflow."""
    problem, rng = case.problem, case.rng
    if not rng.random() < SHRUNK or not problem.regularizer.finite or witness.decomposition is not None:
        return model, witness
    first, second = (FACTORS[int(rng.integers(len(FACTORS)))] for _ in range(2))
    case.strata["shrunk"] = f"{first:.0e}"
    intercept = None if model.intercept is None else first * model.intercept
    return Model(first * model.weights, intercept), Witness(second * witness.theta)


def _pair_in_parts(case, kind, weights, intercept):
    """A model, and a witness of one cutting plane, or of the mixture of two."""
    problem, rng, parts = case.problem, case.rng, case.problem.risk.decomposable()
    model, planes = Model(weights, intercept), []
    for step in range({"random": 2, "subgradient": 1, "fixed_point": 3}[kind]):
        scores = problem.design.scores(weights)
        if not np.all(np.isfinite(scores)):
            break
        scores = scores + (problem.best_intercept(scores) if intercept is None else intercept)
        subgradient, offset, _ = problem.risk.cutting_plane(scores)
        if not np.all(np.isfinite([*subgradient, offset])):
            break
        planes.append((-subgradient, -offset, parts.decompose(scores, subgradient)))
        model = Model(weights, intercept)
        if kind == "random":
            weights = rng.normal(size=problem.weights_shape) * weights
            continue
        moved = problem.regularizer.grad_conjugate(problem.design.adjoint(-subgradient) / problem.lam)
        if kind == "subgradient" or step == 2 or not np.all(np.isfinite(moved)):
            break
        weights = moved
    if not planes:
        return model, Witness(np.zeros(problem.theta_shape))
    if kind != "random" or len(planes) == 1:
        return model, Witness(*planes[-1])
    shares = rng.dirichlet(np.ones(2))
    theta, bound = (sum(share * plane[k] for share, plane in zip(shares, planes, strict=True)) for k in range(2))
    return model, Witness(theta, bound, parts.mixed(shares, [plane[2] for plane in planes]))


def solved(case):
    """The verdicts of "auto" and another solver."""
    problem, rng = case.problem, case.rng
    able = [name for name, solver in SOLVERS.items() if solver().supports(problem) is None]
    names = [able[int(rng.integers(len(able)))]] if able else []
    if case.solver in able:
        names = [case.solver]
    if able and rng.random() < 0.5:
        names.insert(0, "auto")
    verdicts, used = [], []
    for name in names:
        tol = (1e-3, 1e-9, 0.0)[int(rng.integers(3))]
        try:
            solution = solve(problem, name, tol=tol, max_iter=30, time_limit=1.0)
        except FenchelError as error:
            if any(words in str(error) for words in (*ALLOWED_REFUSALS, *SOLVER_REFUSALS)):
                continue
            raise
        except ArithmeticError:
            # exp overflows in plain Python, where a compiled loop goes on with infinity
            if compiled_loops():
                raise
            continue
        used.append(solution.solver)
        # by the certificate of the solver itself, and by one that is computed again
        again = judge(problem, solution.model, solution.witness)
        verdicts += [again._replace(certificate=solution.certificate, witness=solution.witness), again]
    case.strata["solver"] = used[-1] if used else "refused"
    return verdicts


def _conic(case):
    """The exact P of the model that an interior-point method for cones finds."""
    problem, name = case.problem, case.strata["regularizer"]
    plain = case.kind == "mean" and problem.risk.loss.name in CONIC_LOSSES and name in CONIC_REGULARIZERS
    if not plain or case.strata["scale"] not in ("1", "0.001") or case.strata["offset"] != "0":
        return None
    if getattr(problem.risk.loss, "power", None) not in (None, 1.0) or "width=0.01" in repr(problem.risk.loss):
        return None
    X = np.array([[float(entry) for entry in row] for row in case.rows])
    labels = np.array([float(row[0]) for row in case.labels])
    ratio = problem.regularizer.l1_ratio
    w, b = conic_solution(problem.risk.loss.name, X, labels, problem.risk.shares, problem.lam, problem.intercept, ratio)
    case.strata["conic"] = problem.risk.loss.name
    if not np.all(np.isfinite([*w, b])):
        return None
    return exact.primal(case, [[Decimal(entry) for entry in w.tolist()]], [Decimal(float(b) * problem.intercept)])


def _at_the_optimum(case):
    """A verdict of the rounded optimum and its dual point, and the exact optimal P."""
    found = exact.ridge_optimum(case)
    if found is None:
        return [], []
    weights, intercept = found
    best = exact.primal(case, weights, intercept)
    with digits(DIGITS):
        theta = [
            -c * (sum(x * w for x, w in zip(row, weights[0], strict=True)) + intercept[0] - y[0])
            for c, row, y in zip(case.shares, case.rows, case.labels, strict=True)
        ]
    model = Model(np.array([float(w) for w in weights[0]]), float(intercept[0]))
    return [judge(case.problem, model, Witness(np.array([float(t) for t in theta])))], [best]


def check(case, verdict, outcome):
    """Compare one certificate with its own model and witness; returns the exact P of the model."""
    certificate, model, witness, _ = verdict
    outcome.certificates += 1
    outcome.contradictory += certificate.contradictory
    true, comparable = Decimal(0), math.isfinite(certificate.rounding_floor) and not case.problem.intercept
    loss = case.problem.risk.separable()
    primal = None
    if (loss is None or loss.loss.constraint is None) and math.isfinite(certificate.primal):
        weights, intercept = exact.model_numbers(model)
        primal = exact.primal(case, weights, intercept)
        compare(outcome, "upper", certificate.upper, primal, "the exact P of the model")
        true += _distance(primal, certificate.primal)
    else:
        comparable = False
    dual = None
    if math.isfinite(certificate.lower) and witness is not None:
        dual, itself = exact.witness_dual(case, witness, enough=Decimal(certificate.lower))
    if dual is not None:
        compare(outcome, "lower", certificate.lower, dual, "the exact D of the witness")
        true += _distance(dual, certificate.dual)
        if comparable and itself and true > UNDERFLOW:
            with digits(DIGITS):
                outcome.ratios.append(float(Decimal(certificate.rounding_floor) / true))
    return primal


def _check_other_lam(case, verdict, outcome):
    """The certificate of the same model and witness for another lam, which is computed without the data."""
    factor = 2.0 ** float(case.rng.integers(-3, 4))
    lam = factor * case.problem.lam
    if not (math.isfinite(lam) and lam > 0.0 and math.isfinite(verdict.certificate.primal)):
        return
    certificate = verdict.path_certificate.at(lam)
    loss = case.problem.risk.separable()
    if not math.isfinite(certificate.primal) or (loss is not None and loss.loss.constraint is not None):
        return
    with digits(DIGITS):
        moved = case.lam * Decimal(factor)
    primal = exact.primal(case, *exact.model_numbers(verdict.model), lam=moved)
    known = primal
    if case.strata["pair"] == "optimum":
        known = exact.primal(case, *exact.ridge_optimum(case, moved), lam=moved)
    case.strata["other lam"] = f"{factor:g}"
    outcome.certificates += 1
    compare(outcome, "upper", certificate.upper, primal, "the exact P for another lam")
    compare(outcome, "lower", certificate.lower, known, "the exact P of a known model for another lam")


def _distance(exact_value, computed):
    with digits(DIGITS):
        return abs(exact_value - Decimal(computed))


def compare(outcome, side, bound, against, what):
    """Note a bound on the wrong side of an exact number."""
    if against is None or not math.isfinite(bound):
        return
    with digits(DIGITS):
        excess = against - Decimal(bound) if side == "upper" else Decimal(bound) - against
        if excess > 0:
            outcome.wrong.append(f"{side}={bound!r} misses {what}, {against:.25g}, by {excess:.3g}")
