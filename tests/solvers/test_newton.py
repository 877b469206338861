"""Newton's method: its steps, samples, threads, warm starts and outputs.

What every solver must do is in ``test_every_problem`` and ``test_every_solver``.
"""

import gc
import math
import threading
from dataclasses import replace

import numpy as np
import pytest

import fenchel.solvers.newton.sampling as sampling
import fenchel.solvers.threads as parts_module
from agreement import assert_same_optimum
from catalog import Case
from fenchel import Problem, Status, solve
from fenchel.losses import LOSSES
from fenchel.regularizers import L2, ElasticNet
from fenchel.risks import MeanRisk
from fenchel.solvers import Newton
from newton_parts import EPS, WAYS, Interrupting, both_plain_cases, choose_way, every_loss, intercepts, smoothed_value


def objective(problem, output):
    """The smoothed objective of one output at its weights, with the scores taken from the data."""
    sample = output.sample
    scores = problem.design.scores(output.weights)[sample.selected] + output.intercept
    np.testing.assert_allclose(sample.scores, scores, rtol=1e-9, atol=1e-9)
    value, _ = smoothed_value(problem.risk.loss, sample.labels, sample.centre, scores, output.mu)
    return problem.lam * problem.regularizer.value(output.weights) + float(sample.shares @ value)


@pytest.mark.meetings(1)
@both_plain_cases
@pytest.mark.parametrize("mu", [1.0, 0.05])
def test_the_smoothed_objective_falls_with_every_step_to_its_minimum(case, mu):
    """At a fixed mu and centre a step is a descent, and the steps end where the gradient vanishes."""
    problem, newton = replace(case, n=80).problem(), Newton(sampling=False)
    state = newton.start(problem, None)
    (output,) = state.outputs
    if not problem.risk.smooth:
        rng = np.random.default_rng(13)
        low, high = problem.risk.loss.domain(output.sample.labels)
        output.sample.centre[:] = -(low + rng.random(80) * (high - low))
        output.mu = mu
    output.update_dual_point()
    values = [objective(problem, output)]
    for _ in range(25):
        output.newton_step(state.random)
        values.append(objective(problem, output))
        assert values[-1] <= values[-2] + 8 * EPS * max(1.0, abs(values[-2]))
    assert values[-1] < values[0]
    # lam grad Omega(w) = X^T theta, up to the absolute values
    x_theta, ratio = problem.lam * output.v, case.l1_ratio
    rest = problem.lam * (1 - ratio) * output.weights - x_theta
    at_zero = np.maximum(np.abs(rest) - problem.lam * ratio, 0.0)
    rest = np.where(output.weights == 0.0, at_zero, rest + problem.lam * ratio * np.sign(output.weights))
    assert np.max(np.abs(rest)) <= 1e-6
    if case.intercept:
        assert abs(output.theta_sum) <= 1e-6


@pytest.mark.meetings(1)
@both_plain_cases
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_samples_change_nothing_but_the_way(case, storage, monkeypatch):
    monkeypatch.setattr(sampling, "_FEWEST_ROWS", 10)
    monkeypatch.setattr(sampling, "_FEW_ENTRIES", 0)
    monkeypatch.setattr(Newton, "rows_per_feature", 2)
    problem = replace(case, storage=storage, n=400).problem()
    state = Newton().start(problem, None)
    assert 12 <= len(state.outputs[0].sample.selected) < 100
    assert math.isinf(Newton().expected_gap(state))
    with_them, without = (solve(problem, Newton(sampling=on), tol=1e-9, max_iter=3000) for on in (True, False))
    assert with_them.converged
    assert without.converged
    assert_same_optimum(problem, with_them, without)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "logistic"])
def test_the_sampling_error_is_what_the_optimum_of_a_sample_loses_on_all_rows(loss, monkeypatch):
    """In the mean over samples, within a third: the scalars stand for matrices, and samples are finite."""
    monkeypatch.setattr(sampling, "_FEWEST_ROWS", 500)
    monkeypatch.setattr(sampling, "_FEW_ENTRIES", 0)
    rng = np.random.default_rng(5)
    X = rng.standard_normal((8000, 8))
    scores = X @ rng.standard_normal(8) / 2
    labels = np.where(rng.random(8000) < 1 / (1 + np.exp(-scores)), 1.0, -1.0)
    problem = Problem(X, MeanRisk(loss, scores + rng.standard_normal(8000) if loss == "squared" else labels), 1e-6)
    best, lost, stated = solve(problem, tol=1e-9).certificate.primal, [], []
    for seed in range(20):
        (output,) = Newton(seed=seed).start(problem, None).outputs
        assert len(output.sample.selected) == 500
        output.small_steps(0.0, 30, 10**6)
        value = problem.risk.value(problem.design.scores(output.weights))
        lost.append(value + problem.lam * problem.regularizer.value(output.weights) - best)
        stated.append(output.sampling_error)
    assert 2 / 3 <= np.mean(stated) / np.mean(lost) <= 3 / 2


def test_the_witness_of_a_sample_claims_nothing(monkeypatch):
    monkeypatch.setattr(sampling, "_FEW_ENTRIES", 0)
    problem = Case("hinge", n=6000, d=3).problem()
    newton = Newton()
    state = newton.start(problem, None)
    assert len(state.outputs[0].sample.selected) < 6000
    _, witness = newton.propose(state)
    np.testing.assert_array_equal(witness.theta, 0.0)


def test_rows_without_weight_are_in_no_sample(monkeypatch):
    monkeypatch.setattr(sampling, "_FEW_ENTRIES", 0)
    X, y, _ = Case("hinge", n=6000, d=3).data()
    weights = np.where(np.arange(6000) % 2 == 0, 0.0, 1.0)
    state = Newton().start(Problem(X, MeanRisk("hinge", y, weights), 0.1, intercept=True), None)
    assert np.all(state.outputs[0].sample.selected % 2 == 1)
    assert len(state.order) == 3000


@pytest.mark.meetings(1)
@pytest.mark.parametrize("tol", [1e-3, 0.0])
@pytest.mark.parametrize("loss", ["hinge", "logistic", pytest.param("squared_hinge", marks=pytest.mark.thorough)])
def test_a_class_that_the_first_samples_miss(loss, tol):
    """With three positive examples in 40000 the first samples hold one class only; no sample may end the method."""
    X, y, _ = Case(loss, n=40000, d=3).data()
    first = Newton(seed=0).start(Problem(X, MeanRisk(loss, y), 1e-5), None).outputs[0].sample.selected
    y[:] = -1.0
    y[np.setdiff1d(np.arange(40000), first)[[7, 11111, 33333]]] = 1.0
    problem = Problem(X, MeanRisk(loss, y), 1e-5, intercept=True)
    state = Newton(seed=0).start(problem, None)
    assert np.all(state.outputs[0].sample.labels < 0)
    solution = solve(problem, "newton", tol=tol)
    assert solution.converged
    exact = solve(problem, Newton(sampling=False), tol=1e-8)
    assert solution.certificate.primal <= (1.0 + tol + 1e-8) * exact.certificate.primal
    if tol == 0.0:
        assert_same_optimum(problem, solution, exact)


THREADED = [
    Case(loss, storage, intercept, outputs=outputs, weighted=weighted, n=300, l1_ratio=l1_ratio)
    for loss, storage, intercept, outputs, weighted, l1_ratio in [
        ("hinge", "dense", True, None, False, 0.0),
        ("hinge", "sparse", True, None, True, 0.0),
        ("logistic", "sparse", False, None, False, 0.0),
        ("logistic", "dense", True, None, True, 0.5),
        ("absolute", "sparse", True, 3, True, 0.0),
        ("squared", "sparse", True, 3, False, 0.5),
        ("epsilon_insensitive", "dense", False, 2, False, 0.0),
    ]
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", THREADED, ids=str)
@pytest.mark.meetings(1)
def test_threads_do_not_change_a_bit(case, way, monkeypatch):
    if way == "many" and case.l1_ratio:
        pytest.skip("the elastic net always forms its matrix")
    choose_way(way, monkeypatch, residual=0.1)
    monkeypatch.setattr(parts_module, "PART_ENTRIES", 60)
    monkeypatch.setattr(parts_module, "ENTRIES_PER_GRAM_ENTRY", 0)
    problem = case.problem()
    state = Newton().start(problem, None)
    assert state.outputs[0].sample.parts.count > 3
    one, three = (solve(problem, "newton", tol=1e-8, n_jobs=n_jobs) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one.model.weights, three.model.weights)
    np.testing.assert_array_equal(one.model.intercept, three.model.intercept)
    np.testing.assert_array_equal(one.witness.theta, three.witness.theta)
    assert one.certificate == three.certificate
    assert one.passes == three.passes
    assert one.converged


def test_threads_without_monkeypatching_anything():
    """Data large enough for several parts as they are."""
    problem = Case("hinge", n=30000, d=40, intercept=True, lam=1e-3).problem()
    assert Newton(sampling=False).start(problem, None).outputs[0].sample.parts.count > 1
    one, two = (solve(problem, Newton(n_jobs=n_jobs, sampling=False), tol=1e-3) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.model.weights, two.model.weights)
    assert one.certificate == two.certificate


@pytest.mark.parametrize("end", ["converged", "interrupted"])
def test_no_thread_is_left(end, monkeypatch):
    monkeypatch.setattr(parts_module, "PART_ENTRIES", 60)
    problem, before = Case("hinge", n=300, outputs=None).problem(), threading.active_count()
    solver = Newton(n_jobs=3) if end == "converged" else Interrupting(n_jobs=3, after=4)
    seen = []
    solution = solve(problem, solver, tol=1e-8, callback=lambda progress: seen.append(threading.active_count()) and 0)
    assert solution.converged == (end == "converged")
    gc.collect()
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and "ThreadPool" in thread.name:
            thread.join(timeout=5)
    assert threading.active_count() <= before
    assert end == "interrupted" or max(seen) > before


@pytest.mark.meetings(1)
@both_plain_cases
def test_a_warm_start_needs_fewer_passes(case):
    case = replace(case, n=200, lam=0.01)
    old = solve(replace(case, lam=0.012).problem(), "newton", tol=1e-8)
    problem = case.problem()
    warm, cold = (solve(problem, "newton", tol=1e-5, warm_start=start) for start in (old, None))
    assert warm.converged
    assert cold.converged
    assert warm.passes <= cold.passes


@pytest.mark.meetings(1)
@both_plain_cases
def test_a_warm_start_from_a_problem_with_or_without_intercept(case):
    """The intercept of the other problem must not stay in the scores."""
    old = solve(replace(case, intercept=not case.intercept).problem(), "newton", tol=1e-6)
    problem = case.problem()
    warm, cold = (solve(problem, "newton", tol=1e-9, warm_start=start) for start in (old, None))
    assert warm.converged, str(warm)
    assert_same_optimum(problem, warm, cold)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("loss", list(LOSSES))
@intercepts
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5], ids=["l2", "elastic_net"])
def test_features_of_very_different_sizes(loss, intercept, l1_ratio):
    X, y, _ = Case(loss, n=300, d=9, seed=3).data()
    X = X * np.logspace(-4, 4, 9)
    regularizer = ElasticNet(l1_ratio) if l1_ratio else L2()
    problem = Problem(X, MeanRisk(loss, y), 1e-3, regularizer, intercept=intercept)
    solution = solve(problem, "newton", tol=1e-6)
    assert solution.status is Status.CONVERGED, str(solution)
    assert solution.certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("loss", list(LOSSES))
def test_several_outputs_are_as_many_problems(loss):
    case = Case(loss, intercept=True, outputs=3, weighted=True, n=80)
    X, y, weights = case.data()
    problem = case.problem()
    together = solve(problem, "newton", tol=1e-10)
    alone = [
        solve(Problem(X, MeanRisk(loss, column, weights), case.lam, intercept=True), "newton", tol=1e-10)
        for column in y.T
    ]
    assert together.certificate.primal == pytest.approx(sum(one.certificate.primal for one in alone), rel=1e-9)
    stacked = np.stack([one.model.weights for one in alone])
    apart = math.sqrt(2 * (together.certificate.gap + sum(one.certificate.gap for one in alone) + 1e-13) / case.lam)
    assert np.linalg.norm(together.model.weights - stacked) <= 2 * apart
    assert together.witness.theta.shape == y.shape


@every_loss
def test_one_output_that_is_done_does_not_stop_the_others(loss):
    """An output whose target fits without weights is optimal at once; the other one takes steps."""
    X, y, _ = Case(loss.name, n=60).data()
    still = np.ones(60) if loss.task == "classification" else np.zeros(60)
    problem = Problem(X, MeanRisk(loss, np.column_stack([still, y])), 0.01, intercept=True)
    solution = solve(problem, "newton", tol=1e-9)
    assert solution.converged, str(solution)
    alone = solve(Problem(X, MeanRisk(loss, y), 0.01, intercept=True), "newton", tol=1e-9)
    assert solution.certificate.primal == pytest.approx(alone.certificate.primal, rel=1e-8, abs=1e-9)


def test_separable_data_need_hardly_more_steps_for_a_weaker_penalty(load_shared):
    """Their scores move by more than the curvature of the squared hinge is local."""
    X, classes = load_shared("mushrooms.svm.xz")
    y = np.where(classes == 1, 1.0, -1.0)
    lams = [1.0 / (C * len(y)) for C in (1.0, 100.0)]
    first, last = (solve(Problem(X, MeanRisk("squared_hinge", y), lam), "newton", tol=1e-3) for lam in lams)
    assert first.converged and last.converged
    assert last.passes <= 1.5 * first.passes
