"""F-beta and precision at k, smoothed: one projection for each surplus, and a soft maximum of them, by brute force."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from fenchel import Problem, solve
from fenchel.risks import F1, FBeta, PrecisionAtK
from fenchel.solvers import AGM, Smoothing

MEASURES = {
    "f1": F1,
    "f0": lambda y: FBeta(y, beta=0.0),
    "f2": lambda y: FBeta(y, beta=2.0),
    "precision": lambda y: PrecisionAtK(y, k=2),
}
every_measure = pytest.mark.parametrize("name", list(MEASURES))
#: tied scores, scores far apart, and a class of one
CASES = {
    "random": (np.array([1, -1, 1, -1, -1, 1, -1]), np.array([0.3, 0.1, -0.8, 1.2, -0.4, 0.9, 0.05])),
    "tied": (np.array([1, 1, -1, -1, 1, -1]), np.zeros(6)),
    "far": (np.array([1, 1, -1, -1, 1]), np.array([40.0, -30.0, 20.0, -50.0, 1.0])),
    "separated": (np.array([1, 1, -1, -1]), np.array([5.0, 4.0, -4.0, -5.0])),
}
every_case = pytest.mark.parametrize("case", list(CASES))


def best_flips(gains, total, mu, n):
    """max (gains . z - mu/2 |z|^2)/n over 0 <= |z| <= 1 with the signs of the labels, sum z = total: by bisection."""
    (gain, low, high) = gains
    ends = np.min(gain) - mu - 1.0, np.max(gain) + mu + 1.0
    for _ in range(200):
        middle = 0.5 * (ends[0] + ends[1])
        z = np.clip((gain - middle) / mu, low, high)
        ends = (middle, ends[1]) if np.sum(z) > total else (ends[0], middle)
    return float(gain @ z - 0.5 * mu * z @ z) / n, z


def brute_force(risk, scores, mu):
    """R_mu and its theta: every surplus with its own projection, and the soft maximum of the definition."""
    n, y = risk.examples, risk.labels
    surplus = [p for p in range(-risk.n_pos, risk.n_neg + 1) if np.isfinite(_line(risk, p)[0])]
    phi, points = [], []
    for p in surplus:
        base, slope = _line(risk, p)
        gain = np.where(y > 0, n * slope, 0.0) - scores
        value, z = best_flips((gain, np.minimum(y, 0.0), np.maximum(y, 0.0)), -p, mu, n)
        phi.append(base + value)
        points.append(z)
    nu = mu / (2.0 * np.log(len(surplus)))
    total = logsumexp(np.array(phi) / nu)
    q = np.exp(np.array(phi) / nu - total)
    return nu * (total - np.log(len(surplus))), q @ np.array(points) / n


def _line(risk, p):
    """Delta = base + slope fn for this surplus, from two of its cells; any slope where there is one cell."""
    cells = [fn for fn in range(risk.n_pos + 1) if 0 <= fn + p <= risk.n_neg]
    first = float(risk.delta(np.array([cells[0]]), np.array([cells[0] + p]))[0])
    if len(cells) == 1:
        return first, 0.0
    second = float(risk.delta(np.array([cells[1]]), np.array([cells[1] + p]))[0])
    return first - (second - first) * cells[0], second - first


@pytest.mark.meetings(1)
@every_measure
@every_case
@pytest.mark.parametrize("mu", [1e-3, 0.3, 20.0])
def test_it_is_the_soft_maximum_of_the_projections(name, case, mu):
    y, scores = CASES[case]
    risk = MEASURES[name](y.astype(float))
    found, (value, theta) = risk.smoothed(scores, mu), brute_force(risk, scores, mu)
    assert found.value == pytest.approx(value, abs=1e-9 * (1 + mu))
    np.testing.assert_allclose(found.theta, theta, atol=1e-9)
    assert found.risk == pytest.approx(risk.value(scores), abs=1e-14)
    assert found.value <= found.risk + 1e-12
    assert found.risk <= found.value + mu * risk.smoothing_range + 1e-12
    assert -1e-12 <= found.excess <= mu * risk.smoothing_range + 1e-12


@pytest.mark.meetings(1)
@every_measure
@every_case
@pytest.mark.parametrize("mu", [1e-5, 1e-2])
def test_scores_that_are_much_larger_than_mu(name, case, mu):
    y, scores = CASES[case]
    risk, far = MEASURES[name](y.astype(float)), 1e5 + mu * scores
    found = risk.smoothed(far, mu)
    # a hundredth of mu, which is 1e-12 of the scores or more, is no rounding
    assert -0.01 * mu <= found.risk - found.value <= 1.01 * mu
    assert found.excess <= 1.01 * mu
    # convex along a line
    values = [risk.smoothed(1e5 + t * mu * scores, mu).value for t in np.linspace(-1.0, 1.0, 9)]
    assert np.all(np.diff(values, 2) >= -0.01 * mu)


@every_measure
def test_the_gradient_is_that_of_differences(name):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(15) < 0.4, 1.0, -1.0)
    risk, scores, step = MEASURES[name](y), rng.standard_normal(15), 1e-5
    found = risk.smoothed(scores, 0.5)
    for i in range(15):
        ahead, behind = (risk.smoothed(scores + t * np.eye(15)[i], 0.5).value for t in (step, -step))
        assert found.gradient[i] == pytest.approx((ahead - behind) / (2 * step), abs=1e-7)


@pytest.mark.meetings(1)
@every_measure
@every_case
def test_the_decomposition_proves_the_excess(name, case):
    y, scores = CASES[case]
    risk = MEASURES[name](y.astype(float))
    for mu in (0.01, 1.0):
        found = risk.smoothed(scores, mu)
        form = risk.decomposed_form(found.theta, found.decompose())
        np.testing.assert_allclose(form.project(found.theta), found.theta, atol=1e-12)
        bound = form.conjugate(form.project(found.theta))
        assert bound == pytest.approx(found.conjugate(scores), abs=1e-10)
        # Fenchel's inequality at other scores: the bound is one on the conjugate
        for other in (np.zeros_like(scores), -scores, scores + 0.5):
            assert risk.value(other) >= -found.theta @ other - bound - 1e-10


@pytest.mark.parametrize(("name", "intercept"), [("f1", False), ("precision", False), ("f2", True)])
def test_smoothing_proves_the_optimum_of_the_bundle(name, intercept):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 4))
    y = np.where(X[:, 0] + 0.7 * rng.standard_normal(60) > 0.6, 1.0, -1.0)
    problem = Problem(X, MEASURES[name](y), 0.05, intercept=intercept)
    smoothed = solve(problem, Smoothing(), tol=1e-3, max_iter=5000)
    planes = solve(problem, "bundle", tol=1e-5, max_iter=5000)
    assert smoothed.converged and planes.converged
    assert planes.certificate.dual <= smoothed.certificate.primal * (1 + 1e-9)
    assert smoothed.certificate.dual <= planes.certificate.primal * (1 + 1e-9)
    if not intercept:
        assert solve(problem, AGM(fixed=True, epsilon=1e-2), tol=0.3, max_iter=3000).converged


@pytest.mark.thorough
def test_the_smoothed_objective_has_the_minimum_of_a_general_solver(full_products):
    rng = np.random.default_rng(2)
    # all labellings are enumerated at each point
    n = 10 if full_products else 6
    X, y = rng.standard_normal((n, 2)), np.where(np.arange(n) < 4, 1.0, -1.0)
    X[:, 0] += 0.5 * y
    risk, lam, mu = F1(y), 0.1, 0.2
    objective = lambda w: 0.5 * lam * w @ w + brute_force(risk, X @ w, mu)[0]  # noqa: E731
    general = minimize(objective, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10})
    ours = minimize(
        lambda w: (0.5 * lam * w @ w + risk.smoothed(X @ w, mu).value, lam * w - X.T @ risk.smoothed(X @ w, mu).theta),
        np.zeros(2),
        jac=True,
        tol=1e-10,
    )
    assert ours.fun == pytest.approx(general.fun, abs=1e-8)
