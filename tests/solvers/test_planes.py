"""Planes below a risk with its intercept minimized away, and the search between two points."""

import itertools

import numpy as np
import pytest

from catalog import Case
from fenchel import FenchelError, Problem
from fenchel.losses import LOSSES
from fenchel.risks import MeanRisk
from fenchel.solvers.bundle.line_search import point_at, segment_search
from fenchel.solvers.bundle.oracle import PlaneOracle, cutting_plane
from slow_planes import ListedPlanes, listed_hinge


def assert_supports(plane, risk, best, scores, rng, scale=1.0):
    """The plane has slopes that add up to zero, touches min_b R(s + b) at s, and is below it elsewhere."""
    assert np.max(np.abs(np.sum(plane.slope, axis=0))) <= 1e-13 * max(np.sum(np.abs(plane.slope)), 1.0)
    at = np.vdot(plane.slope, scores) + plane.offset
    lowest = best(scores)
    assert at == pytest.approx(lowest, abs=1e-10 * scale)
    assert plane.value == pytest.approx(lowest, abs=1e-10 * scale)
    assert risk.value(scores + plane.intercept) == pytest.approx(lowest, abs=1e-10 * scale)
    for spread in (1e-3, 0.1, 1.0, 10.0):
        other = scores + spread * rng.normal(size=scores.shape)
        assert np.vdot(plane.slope, other) + plane.offset <= best(other) + 1e-11 * scale * (1 + spread)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_planes_of_mean_risks_are_balanced_tight_and_below(loss, outputs, weighted):
    case = Case(loss, intercept=True, outputs=outputs, weighted=weighted)
    problem = case.problem()
    oracle, risk = PlaneOracle(problem), problem.risk
    for seed, size in itertools.product(range(4), (0.0, 1.0, 30.0)):
        rng = np.random.default_rng([3, seed])
        scores = size * rng.normal(size=problem.theta_shape)
        scores = np.round(scores) if seed % 2 else scores
        plane = oracle.plane(scores)
        assert_supports(plane, risk, lambda s: risk.value(s + risk.best_intercept(s)), scores, rng, (1 + size) ** 2)


def test_planes_alone_are_enough_to_find_the_intercept():
    for seed in range(30):
        rng = np.random.default_rng([4, seed])
        y = np.where(rng.random(7) < 0.5, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        problem = Problem(np.eye(7), listed_hinge(y), 1.0, intercept=True)
        problem.risk.best_intercept = lambda scores: 0.0
        mean = MeanRisk("hinge", y)
        scores = [rng.normal(size=7), np.round(rng.normal(size=7)), 1e3 * rng.normal(size=7), np.zeros(7)][seed % 4]
        plane = PlaneOracle(problem).plane(scores)
        best = np.max(np.abs(scores)) + 1.0
        assert_supports(plane, problem.risk, lambda s: mean.value(s + mean.best_intercept(s)), scores, rng, best)  # noqa: B023


def test_a_risk_that_does_not_see_the_intercept_has_none():
    risk = ListedPlanes([[1.0, -1.0], [-1.0, 1.0]], [0.5, 0.0])
    with pytest.raises(FenchelError, match="does not depend on an intercept"):
        Problem(np.eye(2), risk, 1.0, intercept=True)
    plane = PlaneOracle(Problem(np.eye(2), risk, 1.0)).plane(np.array([0.3, 0.1]))
    assert (plane.intercept, plane.offset, plane.value) == (0.0, 0.5, pytest.approx(0.7))


@pytest.mark.parametrize("loss", list(LOSSES))
def test_planes_stay_below_at_scores_where_differences_lose_all_digits(loss):
    case = Case(loss)
    problem = case.problem()
    for size in (1e6, 1e12):
        scores = size * np.random.default_rng(5).normal(size=case.n)
        plane = PlaneOracle(problem).plane(scores)
        # at zero the plane is its offset, and zero is where the risk is small
        assert plane.offset <= problem.risk.value_at_zero * (1 + 1e-12)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("case", [Case(loss, l1_ratio=ratio) for loss in LOSSES for ratio in (0.0, 0.5)], ids=str)
def test_the_search_between_two_points_finds_the_lowest(case):
    problem = case.problem()

    def objective(w):
        return problem.lam * problem.regularizer.value(w) + problem.risk.value(problem.design.scores(w))

    for seed in range(8):
        rng = np.random.default_rng([6, seed])
        w0, w1 = 0.3 * rng.normal(size=(2, case.d)) * [[1.0], [3.0]]
        scores = [problem.design.scores(w) for w in (w0, w1)]
        one, other = (
            point_at(problem, w, s, cutting_plane(problem.risk, s, 0.0)) for w, s in zip((w0, w1), scores, strict=True)
        )
        t, point = segment_search(problem, one, other, 1e-9)
        np.testing.assert_allclose(point.weights, (1 - t) * w0 + t * w1, atol=1e-14)
        np.testing.assert_allclose(point.scores, problem.design.scores(point.weights), atol=1e-12)
        assert point.value == pytest.approx(objective(point.weights), rel=1e-12)
        lowest = min(objective((1 - u) * w0 + u * w1) for u in np.linspace(0, 1, 400))
        # up to a share of what it wins
        assert point.value <= lowest + 0.3 * (one.value - lowest) + 1e-9
        assert point.value <= one.value
