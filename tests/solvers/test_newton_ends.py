"""How Newton's method ends: Ctrl-C, time limits, stalls, numbers near overflow; and what it does not take."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel.solvers.newton.direction as direction_module
import fenchel.solvers.newton.sample as sample_module
import fenchel.solvers.newton.solver as newton_module
import fenchel.solvers.quadratic_l1 as l1_module
import fenchel.solvers.threads as parts_module
from agreement import assert_certified, assert_same_optimum
from catalog import Case
from fenchel import FenchelError, Problem, Status, solve
from fenchel.certificate import judge
from fenchel.losses import Loss
from fenchel.regularizers import ElasticNet, Entropy
from fenchel.risks import MeanRisk, RocAUC
from fenchel.solvers import DualCoordinate, Newton
from fenchel.solvers.base import STALLED, Hint
from fenchel.solvers.newton.sample import Sample
from newton_parts import Interrupting, both_plain_cases, both_storages


@pytest.mark.meetings(1)
@pytest.mark.parametrize("after", [0, 1, 3])
@both_plain_cases
def test_ctrl_c_between_steps(case, after):
    problem = case.problem()
    solution = solve(problem, Interrupting(after=after), tol=0.0)
    # a quadratic is solved by its second step
    assert solution.status is Status.INTERRUPTED or solution.certificate.at_floor
    assert_certified(problem, solution)
    assert solve(problem, "newton", tol=1e-8, warm_start=solution).converged


@pytest.mark.meetings(1)
@pytest.mark.parametrize(
    "method", ["adjoint", "update_dual_point", "multiply", "directional_derivatives", "gram", "average_hess"]
)
@pytest.mark.parametrize("after", [0, 2, 5])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_ctrl_c_within_a_step(method, after, n_jobs, monkeypatch):
    """Wherever it is interrupted, the state still makes a model with a sound certificate."""
    monkeypatch.setattr(parts_module, "PART_ENTRIES", 60)
    plain, calls = getattr(Sample, method), []

    def impatient(self, *arguments, **options):
        calls.append(1)
        if len(calls) > after:
            raise KeyboardInterrupt
        return plain(self, *arguments, **options)

    monkeypatch.setattr(Sample, method, impatient)
    problem = Case("hinge", n=300, intercept=True, lam=1e-3).problem()
    solution = solve(problem, "newton", tol=0.0, n_jobs=n_jobs)
    assert solution.status is Status.INTERRUPTED
    assert_certified(problem, solution)
    optimum = solve(problem, "dual_coordinate", tol=1e-9, max_iter=1e4).certificate
    assert solution.certificate.dual <= optimum.primal
    assert solution.certificate.primal >= optimum.dual


@both_plain_cases
def test_a_time_limit_of_nothing_is_one_step(case):
    problem = case.problem()
    solution = solve(problem, "newton", tol=0.0, time_limit=0.0)
    assert solution.status is Status.TIME_LIMIT or solution.certificate.at_floor
    assert len(solution.trace) <= 2
    assert_certified(problem, solution)


def test_a_stop_that_is_requested_is_an_interruption(monkeypatch):
    problem, asked = Case("hinge", n=200, lam=1e-4).problem(), []

    def stop():
        asked.append(1)
        return len(asked) > 3

    # no compiled steps, of which a call makes several
    monkeypatch.setattr(sample_module, "_FEW_FEATURES", 0)
    solution = solve(problem, "newton", tol=0.0, stop_requested=stop)
    assert solution.status is Status.INTERRUPTED
    # the question that ends the solve, and the one for the reason
    assert len(asked) == 5
    assert_certified(problem, solution)


def test_a_stop_before_the_first_compiled_step_leaves_a_dual_point():
    """The first compiled step computes the dual point; without one the proposal does."""
    problem, asked = Case("hinge", n=200, lam=10.0).problem(), []

    def stop():
        asked.append(1)
        # once before the start, twice in it, and then in the first step
        return len(asked) > 3

    solution = solve(problem, "newton", tol=0.0, stop_requested=stop)
    assert solution.status is Status.INTERRUPTED
    assert len(asked) == 5
    assert np.any(solution.witness.theta)
    assert_certified(problem, solution)


@pytest.mark.meetings(1)
@both_plain_cases
def test_it_says_when_it_stalls(case):
    """Without a target the solver stalls at the accuracy of floats, and its point is optimal."""
    problem, newton = case.problem(), Newton()
    state = newton.start(problem, None)
    hint = Hint(None, 0.0, lambda: False)
    for _ in range(2000):
        if newton.step(state, hint) == STALLED:
            break
    assert newton.step(state, hint) == STALLED
    certificate = judge(problem, *newton.propose(state)).certificate
    assert certificate.relative_gap <= 1e-9


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_the_floor_is_reached_in_few_passes(loss):
    """tol=0 asks for one more round at the floor, not for as many passes as max_iter allows."""
    problem = Case(loss, n=2000, d=4, intercept=True, lam=1e-3).problem()
    solution = solve(problem, Newton(sampling=False), tol=0.0)
    assert solution.converged
    assert solution.passes < 300


def test_a_broken_x_is_refused():
    X, y, _ = Case("hinge").data()
    X[3, 2] = np.nan
    with pytest.raises(FenchelError, match="NaN"):
        solve(Problem(X, MeanRisk("hinge", y), 0.1), "newton")


@pytest.mark.parametrize("size", [1e100, 1e160, 1e300])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
@both_storages
def test_numbers_near_overflow_are_refused_or_certified(loss, size, storage):
    """Never an endless loop, never a warning of NumPy's, never a number that is not finite."""
    X, y, _ = Case(loss, n=50).data()
    X = X * size
    problem = Problem(sp.csr_array(X) if storage == "sparse" else X, MeanRisk(loss, y), 0.1, intercept=True)
    try:
        solution = solve(problem, "newton")
    except FenchelError as error:
        assert "scale" in str(error)
        return
    assert np.all(np.isfinite(solution.model.weights))
    assert math.isfinite(solution.certificate.primal)


class PlainKernel(NamedTuple):
    """Half the squared residual without ``curve``."""

    one: float

    def dual_step(self, label, alpha, score, curvature):
        return alpha - (alpha + score - label) / (1.0 + curvature)

    def kkt_margin(self, label, alpha, score):
        return 0.0


@dataclass(frozen=True)
class Plain(Loss):
    """A user's loss: what Loss asks for, and no more."""

    name: ClassVar[str] = "plain"
    task: ClassVar[str] = "regression"
    smooth: ClassVar[bool] = True

    def value(self, s, y):
        return 0.5 * (s - y) ** 2

    def derivative(self, s, y):
        return s - y

    def conjugate(self, u, y):
        return 0.5 * u**2 + u * y

    def domain(self, y):
        return np.full_like(y, -np.inf), np.full_like(y, np.inf)

    def dual_step(self, y, alpha, s, q):
        return alpha - (alpha + s - y) / (1 + q)

    def sublevel(self, level, y):
        return y - np.sqrt(2 * level), y + np.sqrt(2 * level)

    def best_intercept(self, s, y, c):
        return float(c @ (y - s) / c.sum())

    def compiled(self):
        return PlainKernel(1.0)


def test_a_users_loss_without_curve_goes_to_dual_coordinate_descent():
    X, y, _ = Case("squared").data()
    problem = Problem(X, MeanRisk(Plain(), y), 0.1, intercept=True)
    assert "'plain'" in Newton().supports(problem)
    assert "hess_conjugate" in Newton().supports(problem)
    with pytest.raises(FenchelError, match=r"solver='newton' does not support.*hess_conjugate.*'plain'"):
        solve(problem, "newton")
    solution = solve(problem, tol=1e-9)
    assert solution.solver == "dual_coordinate"
    assert solution.handovers == []
    known = Problem(X, MeanRisk("squared", y), 0.1, intercept=True)
    assert solve(known, tol=1e-9).solver == "newton"
    assert solution.certificate.primal == pytest.approx(solve(known, tol=1e-9).certificate.primal, rel=1e-8)


def test_supports_gives_reasons(monkeypatch):
    case = Case("hinge")
    problem = case.problem()
    assert Newton().supports(problem) is None
    assert "mean of losses" in Newton().supports(replace(problem, risk=RocAUC(problem.risk.labels)))
    assert "'entropy'" in Newton().supports(replace(problem, regularizer=Entropy()))
    monkeypatch.setattr(newton_module, "MOST_FEATURES", 5)
    assert Newton().supports(problem) is None
    assert "up to 5 features" in Newton().supports(replace(case, l1_ratio=0.5).problem())
    assert Newton().supports(replace(case, l1_ratio=0.5, d=5).problem()) is None
    # the elastic net without absolute values is the ridge
    assert Newton().supports(Problem(problem.design, problem.risk, 0.1, ElasticNet(0.0))) is None
    assert DualCoordinate().supports(replace(case, l1_ratio=0.5).problem()) is None


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "absolute"])
def test_more_features_than_it_forms_a_matrix_for(loss, intercept, monkeypatch):
    monkeypatch.setattr(direction_module, "MOST_FEATURES", 3)
    problem = Case(loss, "sparse", intercept, n=60, d=12).problem()
    solution = solve(problem, "newton", tol=1e-8)
    assert solution.converged, str(solution)
    assert_same_optimum(problem, solution, solve(problem, "dual_coordinate", tol=1e-9, max_iter=1e4))


@pytest.mark.parametrize(("loss", "seed"), [("hinge", 0), ("quantile", 2), ("absolute", 0)])
def test_a_small_mu_needs_no_factorizations_of_rounding_errors(loss, seed, monkeypatch):
    """The model of the elastic net is minimized up to the rounding errors of H w, which grow as mu decreases."""
    factorizations = []
    factorize = l1_module.cholesky_solver
    monkeypatch.setattr(l1_module, "cholesky_solver", lambda matrix: factorizations.append(1) or factorize(matrix))
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 6))
    y = X @ rng.standard_normal(6) + 0.3 * rng.standard_normal(60)
    risk = MeanRisk(loss, np.sign(y) if loss == "hinge" else y)
    solution = solve(Problem(X, risk, 0.01, ElasticNet(0.5), intercept=True), Newton(), tol=1e-14)
    assert solution.certificate.gap <= 1e-12
    assert len(factorizations) <= 300
