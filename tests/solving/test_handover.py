"""When a solver hands over: by its pace, sustained, and never because of one odd epoch."""

import math

import numpy as np
import pytest

from catalog import JointCase
from fenchel import Problem, solve
from fenchel.risks import MeanRisk
from fenchel.solvers import choose, facts
from fenchel.solvers.interior_point_cost import patience, predicted_passes
from fenchel.solvers.newton_cost import newton_passes, newton_passes_of_lbfgs
from fenchel.solving.handover import Pace


def paced(gap, until, step=1.0):
    pace = Pace()
    for passes in np.arange(step, until + 1e-9, step):
        pace.record(float(passes), gap(float(passes)))
    return pace


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_a_power_law_is_extrapolated(power):
    """g(q) = q^-a reaches 1e-4 at 10^(4/a); the largest gaps of the quarters lie at their beginnings."""
    pace = paced(lambda q: q**-power, 200.0)
    end = 10.0 ** (4.0 / power)
    assert pace.passes_left(1e-4) == pytest.approx(end, rel=0.2, abs=200.0)


def test_geometric_progress_is_not_called_slow():
    pace = paced(lambda q: math.exp(-0.1 * q), 60.0)
    # it takes 60 more: pessimistic, by less than a factor of six
    assert 60.0 <= pace.passes_left(math.exp(-12.0)) < 360.0


def test_no_progress_needs_for_ever():
    assert paced(lambda q: 1.0, 50.0).passes_left(0.1) == math.inf
    assert Pace().passes_left(0.1) == math.inf
    assert paced(lambda q: math.inf, 50.0).passes_left(0.1) == math.inf
    assert paced(lambda q: 1.0 / q, 50.0).passes_left(0.0) == math.inf


def test_slowness_has_to_be_sustained():
    pace, slow = Pace(), []
    for passes in range(1, 101):
        pace.record(float(passes), 1.0)
        if passes >= 50:
            slow.append(pace.is_slow(1e-3, 100.0))
    # from 50 on, and sustained at 50 / 0.8
    assert slow.index(True) + 50 == 63
    for passes in range(101, 161):
        pace.record(float(passes), (100.0 / passes) ** 8)
        if passes == 160:
            assert not pace.is_slow(1e-3, 1e3)


def test_one_slow_estimate_is_enough_after_what_the_next_solver_costs():
    for most, slow in ((150.0, False), (100.0, True)):
        assert paced(lambda q: 1.0, 100.0).is_slow(1e-3, most) == slow
    # progress that ends sooner than the next solver is no reason to leave, however long it has taken
    assert not paced(lambda q: math.exp(-0.1 * q), 100.0).is_slow(math.exp(-10.5), 50.0)


@pytest.mark.parametrize("risk", ["weston_watkins", "crammer_singer"])
def test_auto_stays_with_descent_that_is_about_to_end_and_leaves_one_that_is_not(risk):
    easy = solve(JointCase(risk, n=60, d=4, k=5, lam=0.1).problem(), tol=1e-3)
    assert easy.solver == "block_coordinate"
    # features of very different sizes: descent alone does not get there
    case = JointCase(risk, n=60, d=4, k=4, lam=1e-2, intercept=True)
    problem = case.problem()
    X = np.asarray(case.data()[0]) * np.array([1.0, 30.0, 1.0, 1e-2])
    hard = type(problem)(X, problem.risk, case.lam, intercept=True)
    alone = solve(hard, "block_coordinate", tol=1e-6)
    found = solve(hard, tol=1e-6)
    assert not alone.converged
    assert found.converged
    assert found.handovers
    # not before it has used a share of what the interior-point method costs
    assert float(found.handovers[0].split("after ")[1].split(" ")[0]) >= patience(hard)


def test_descent_has_a_share_of_the_cost_of_the_next_method_before_its_pace_decides():
    problems = [JointCase("weston_watkins", n=n, d=d, k=5).problem() for n, d in ((60, 2), (60, 100), (5000, 2))]
    for problem in problems:
        first = choose(problem, "auto")[0]
        assert first.solver.name == "block_coordinate"
        assert first.patience == patience(problem) == max(50.0, 0.3 * predicted_passes(problem))


def test_auto_leaves_slow_descent_on_a_smooth_loss_with_many_features():
    rng = np.random.default_rng(0)
    # fewer rows than features, which are much alike
    X = rng.standard_normal((120, 3)) @ rng.standard_normal((3, 150)) + 0.1 * rng.standard_normal((120, 150))
    y = np.where(X[:, 0] + rng.standard_normal(120) > 0.0, 1.0, -1.0)
    easy = solve(Problem(X, MeanRisk("logistic", y), 10.0), tol=1e-6)
    hard = solve(Problem(X, MeanRisk("logistic", y), 1e-5), tol=1e-6)
    assert easy.solver == "dual_coordinate"
    assert hard.converged
    assert hard.solver == "dual_coordinate, newton"


def test_the_cost_grows_with_the_features_and_the_classes():
    costs = [predicted_passes(JointCase("weston_watkins", n=60, d=d, k=5).problem()) for d in (2, 20, 200)]
    assert costs[0] < costs[1] < costs[2]
    assert predicted_passes(JointCase("crammer_singer", n=60, d=20, k=5).problem()) > costs[1]


def test_the_cost_of_newton_steps_grows_with_the_digits_and_the_features():
    random = np.random.default_rng(0)
    problems = [Problem(random.standard_normal((500, d)), MeanRisk("hinge", np.ones(500)), 0.1) for d in (40, 200)]
    costs = [newton_passes(problem, gap) for problem in problems for gap in (1e-3, 1e-6, 0.0)]
    assert 0.0 < costs[0] < costs[1] < costs[2] < np.inf
    assert all(few < many for few, many in zip(costs[:3], costs[3:], strict=True))


def test_descent_on_a_hinge_hands_over_by_its_pace():
    """Weak regularization of overlapping classes: descent needs thousands of epochs, and leaves after a few."""
    random = np.random.default_rng(1)
    X = random.standard_normal((400, 80)) * np.geomspace(1.0, 30.0, 80)
    y = np.where(X[:, 0] + 2.0 * random.standard_normal(400) > 0.0, 1.0, -1.0)
    found = solve(Problem(X, MeanRisk("hinge", y), 1e-5), tol=1e-3)
    assert found.converged
    assert found.handovers and found.solver == "dual_coordinate, newton"
    assert float(found.handovers[0].split("after ")[1].split(" ")[0]) < 40.0


def test_descent_on_a_hinge_that_is_about_to_end_goes_on():
    random = np.random.default_rng(2)
    X = random.standard_normal((400, 80))
    y = np.where(X[:, 0] + random.standard_normal(400) > 0.0, 1.0, -1.0)
    found = solve(Problem(X, MeanRisk("hinge", y), 0.1), tol=1e-4)
    assert found.converged and found.passes > 8.0
    assert not found.handovers


def test_lbfgs_on_long_rows_goes_on_if_they_are_well_conditioned_and_hands_over_if_not(monkeypatch):
    monkeypatch.setattr(facts, "_MANY_ENTRIES", 0)
    random = np.random.default_rng(3)
    X = random.standard_normal((1500, 80))
    y = np.where(X @ random.standard_normal(80) + 5.0 * random.logistic(size=1500) > 0.0, 1.0, -1.0)
    even = solve(Problem(X, MeanRisk("logistic", y), 1e-3), tol=1e-6)
    uneven = solve(Problem(X * np.geomspace(1.0, 1e-3, 80), MeanRisk("logistic", y), 1e-8), tol=1e-6)
    assert even.converged and even.solver == "smoothing"
    assert uneven.converged and uneven.solver == "smoothing, newton"
    assert uneven.handovers


def test_the_evaluations_of_lbfgs_that_a_newton_solve_is_worth_grow_with_the_digits():
    problem = Problem(np.eye(3), MeanRisk("logistic", np.array([1.0, -1.0, 1.0])), 0.1)
    costs = [newton_passes_of_lbfgs(problem, gap) for gap in (1e-3, 1e-6, 0.0)]
    assert 0.0 < costs[0] < costs[1] < costs[2] < np.inf
