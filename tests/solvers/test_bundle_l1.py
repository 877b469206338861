"""Bundle methods with the absolute values alone: the inner linear program, and measures against a conic solver."""

import numpy as np
import pytest
from scipy.optimize import linprog

from fenchel import FenchelError, Problem, solve
from fenchel.regularizers import L1
from fenchel.risks import F1, BreakEven, MeanRisk, RocAUC
from fenchel.solvers import Bundle
from fenchel.solvers.bundle.linear_program import minimize_model_l1
from fenchel.solvers.bundle.planes import Planes
from slow_measures import optimum

MEASURES = {"hinge": lambda y: MeanRisk("hinge", y), "roc_auc": RocAUC, "prbep": BreakEven, "f1": F1}


def planes_of(rng, count, features):
    planes = Planes(features)
    for _ in range(count):
        planes.add(rng.normal(size=3), float(rng.normal()), rng.normal(size=features) * (rng.random(features) < 0.7))
    return planes


@pytest.mark.parametrize("features", [1, 5, 300])
def test_the_linear_program_against_one_that_is_written_down_at_once(features):
    """Every value is a lower bound, and the best one is reached, however many features have to come in."""
    rng = np.random.default_rng(features)
    for count in (1, 2, 9):
        planes, lam, most = planes_of(rng, count, features), float(rng.uniform(0.05, 1.0)), 3.0
        start = rng.random(count) + 0.1
        found = minimize_model_l1(planes, lam, most, start, np.zeros(features))
        # w = p - q, then xi
        rows = np.hstack([planes.vectors, -planes.vectors, -np.ones((count, 1))])
        ball = np.append(np.ones(2 * features), 0.0)
        cost = np.append(np.full(2 * features, lam), 1.0)
        bounds = [(0, None)] * (2 * features) + [(None, None)]
        slow = linprog(cost, np.vstack([rows, ball]), np.append(-planes.offsets, most), bounds=bounds)
        assert found.value == pytest.approx(slow.fun, rel=1e-8, abs=1e-8)
        assert found.gap == pytest.approx(0.0, abs=1e-8)
        assert np.sum(found.combination) == pytest.approx(1.0)
        assert np.sum(np.abs(found.weights)) <= most * (1 + 1e-9)
        # never lower than what the start proves
        again = minimize_model_l1(planes, lam, most, found.combination, found.weights)
        assert again.value >= found.value - 1e-12


@pytest.mark.meetings(1)
@pytest.mark.parametrize("stabilisation", ["none", "segment", "level"])
@pytest.mark.parametrize("name", list(MEASURES))
def test_measures_reach_the_conic_optimum(name, stabilisation):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(9, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=9) > 0, 1.0, -1.0)
    for lam, intercept in ((0.1, False), (0.01, False), (0.05, True)):
        if intercept and name in ("roc_auc", "prbep"):
            continue
        problem = Problem(X, MEASURES[name](y), lam, L1(), intercept)
        solution = solve(problem, Bundle(stabilisation=stabilisation), tol=1e-7)
        assert solution.converged, str(solution)
        assert solution.certificate.relative_gap <= 1e-6
        assert solution.certificate.recomputed
        known = "accuracy" if name == "hinge" else name
        assert solution.certificate.primal == pytest.approx(conic(known, X, y, lam, intercept), rel=1e-5, abs=1e-8)
        path_certificate = solution.path_certificate.at(0.5 * lam)
        assert np.isfinite(path_certificate.dual)
        assert path_certificate.dual <= conic(known, X, y, 0.5 * lam, intercept) + 1e-7


def conic(name, X, y, lam, intercept):
    return optimum(name, X, y, lam, intercept, l1_ratio=1.0)[-1]


def test_a_line_search_is_refused():
    problem = Problem(np.eye(3), MeanRisk("hinge", [1, -1, 1]), 0.1, L1())
    with pytest.raises(FenchelError, match="strongly convex"):
        solve(problem, Bundle(inner="line_search"))


@pytest.mark.parametrize("seed", range(12))
def test_one_column_far_from_zero_loses_no_model(seed):
    """The minimizer of the model can be the best point itself, up to rounding."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 20))
    X, y = rng.normal(size=(n, 1)) + 10.0 ** rng.integers(0, 8), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    for intercept in (False, True):
        for lam in (1e-6, 1e-2, 1.0, 100.0):
            problem = Problem(X, MeanRisk("hinge", y), lam, "l1", intercept=intercept)
            certificate = solve(problem, "bundle", max_iter=50).certificate
            assert np.isfinite(certificate.gap) and not certificate.contradictory
