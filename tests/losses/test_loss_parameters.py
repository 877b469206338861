"""Losses away from their default parameters, and the intercept of many examples: against formulas of their own."""

import numpy as np
import pytest

from fenchel import FenchelError, LinearRegressor, Problem, solve
from fenchel.losses import EpsilonInsensitive, Huber, HuberHinge, Quantile, SquaredEpsilonInsensitive
from fenchel.losses.intercept import weighted_quantile
from fenchel.risks import MeanRisk
from slow_reference import minimize_convex


def pinball(level):
    return lambda s, y: np.where(s < y, level * (y - s), (1 - level) * (s - y))


def rounded(z, width):
    return np.where(z <= 0, 0.0, np.where(z <= width, z**2 / (2 * width), z - width / 2))


CASES = [
    (Quantile(0.9), pinball(0.9)),
    (Quantile(0.05), pinball(0.05)),
    (EpsilonInsensitive(0.7), lambda s, y: np.maximum(0, np.abs(s - y) - 0.7)),
    (EpsilonInsensitive(0.0), lambda s, y: np.abs(s - y)),
    (SquaredEpsilonInsensitive(0.7), lambda s, y: np.maximum(0, np.abs(s - y) - 0.7) ** 2),
    (Huber(0.3), lambda s, y: np.where(np.abs(s - y) <= 0.3, (s - y) ** 2 / 2, 0.3 * np.abs(s - y) - 0.045)),
    (HuberHinge(2.0), lambda s, y: rounded(1 - y * s, 2.0)),
]
every_case = pytest.mark.parametrize(("loss", "formula"), CASES, ids=[repr(loss) for loss, _ in CASES])


@every_case
def test_value_derivative_conjugate_and_steps(loss, formula, portion):
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], 200)
    s = 3 * rng.standard_normal(200)
    np.testing.assert_allclose(loss.value(s, y), formula(s, y), atol=1e-14)
    slope = loss.derivative(s, y)
    numeric = (formula(s + 1e-6, y) - formula(s - 1e-6, y)) / 2e-6
    np.testing.assert_allclose(slope, numeric, atol=1e-5)
    # Fenchel-Young holds with equality at the slope, and the conjugate is the supremum inside the domain
    np.testing.assert_allclose(loss.conjugate(slope, y), slope * s - formula(s, y), atol=1e-12)
    low, high = loss.domain(y)
    inside = np.clip(rng.uniform(-3, 3, 200), low * 0.99, high * 0.99)
    for u, label, found in zip(inside[: portion(40)], y, loss.conjugate(inside, y), strict=False):
        best = minimize_convex(lambda t, u=u, label=label: float(formula(t, label)) - u * t, -50.0, 50.0)
        assert found == pytest.approx(u * best - float(formula(best, label)), abs=1e-9)
    alpha, q = -inside, rng.choice([0.1, 1.0, 30.0], 200)
    kernel = loss.compiled()
    for i in range(portion(200)):

        def objective(a, i=i):
            return float(loss.conjugate(-a, y[i]) + s[i] * (a - alpha[i]) + q[i] / 2 * (a - alpha[i]) ** 2)

        best = minimize_convex(objective, max(-high[i], -200.0), min(-low[i], 200.0), rounds=100)
        assert objective(kernel.dual_step(y[i], alpha[i], s[i], q[i])) <= objective(best) + 1e-12
        excess = formula(s[i], y[i]) + loss.conjugate(-alpha[i], y[i]) + alpha[i] * s[i]
        assert kernel.fenchel_young_gap(y[i], alpha[i], s[i]) == pytest.approx(float(excess), abs=1e-12)


@pytest.mark.meetings(1)
@every_case
@pytest.mark.parametrize("intercept", [False, True])
def test_solved_to_the_brute_force_optimum_of_one_weight(loss, formula, intercept):
    rng = np.random.default_rng(1)
    x = rng.standard_normal(30)
    y = np.where(x + rng.standard_normal(30) > 0, 1.0, -1.0)
    solution = solve(Problem(x[:, None], MeanRisk(loss, y), 0.1, intercept=intercept), tol=1e-10, max_iter=1e5)

    def objective(w):
        def of_intercept(b):
            return 0.05 * w * w + float(np.mean(formula(w * x + b, y)))

        return of_intercept(minimize_convex(of_intercept, -20.0, 20.0, rounds=80) if intercept else 0.0)

    best = objective(minimize_convex(objective, -20.0, 20.0, rounds=80))
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(best, rel=1e-8)


def test_a_quantile_is_above_its_share_of_the_targets():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 2)), rng.exponential(size=2000)
    for level in (0.1, 0.9):
        model = LinearRegressor(Quantile(level), C=10.0, tol=1e-4, max_iter=1e4, random_state=0).fit(X, y)
        assert np.mean(y < model.predict(X)) == pytest.approx(level, abs=0.01)


@pytest.mark.parametrize(
    "make", [lambda: Quantile(1.0), lambda: EpsilonInsensitive(-1), lambda: Huber(0), lambda: HuberHinge(-1)]
)
def test_bad_parameters_are_named(make):
    with pytest.raises(FenchelError, match="must"):
        make()


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("level", [0.02, 0.3, 0.5, 0.97])
def test_the_quantile_of_many_kinks_equals_the_sorted_one(ties, level):
    """Beyond 20,000 kinks only those near the quantile are sorted."""
    rng = np.random.default_rng(2)
    kinks = rng.standard_normal(50_000)
    kinks = np.round(kinks, 1) if ties else kinks
    for jumps in (np.full(50_000, 2e-5), rng.random(50_000)):
        order = np.argsort(kinks)
        reached = np.cumsum(jumps[order]) / jumps.sum()
        mass = level * float(jumps.sum())
        first = kinks[order][np.searchsorted(reached, level - 1e-12)]
        last = kinks[order][np.searchsorted(reached, level + 1e-12, side="right")]
        assert weighted_quantile(kinks, jumps, mass) == pytest.approx((first + last) / 2, abs=1e-12)


@pytest.mark.parametrize("count", [1, 2, 7, 300])
@pytest.mark.parametrize("jump", [1.0, 1.0 / 3.0, 0.7])
def test_the_quantile_of_kinks_with_equal_jumps_is_an_order_statistic_or_the_middle_of_two(count, jump):
    rng = np.random.default_rng(count)
    for kinks in (rng.standard_normal(count), rng.integers(-3, 3, count).astype(float)):
        ordered = np.sort(kinks)
        for below in range(count + 1):
            ends = ordered[max(0, below - 1)], ordered[min(below, count - 1)]
            middle = ordered[0] if below == 0 else 0.5 * ends[0] + 0.5 * ends[1]
            assert weighted_quantile(kinks, np.full(count, jump), below * jump) == middle
            if below < count:
                assert weighted_quantile(kinks, np.full(count, jump), (below + 0.5) * jump) == ordered[below]


def test_the_middle_of_two_large_kinks_does_not_overflow():
    kinks = np.array([1.2e308, 1.6e308])
    assert weighted_quantile(kinks, np.ones(2), 1.0) == pytest.approx(1.4e308)
    assert weighted_quantile(-kinks, np.ones(2), 1.0) == pytest.approx(-1.4e308)
