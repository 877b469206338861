"""The loop of all solvers: it obeys its limits, keeps the best model and witness, and certifies its answer."""

import itertools
import math

import numpy as np
import pytest

from agreement import assert_certified
from catalog import PLAIN_CASES, SOLVER_NAMES, Case
from fenchel import FenchelError, Model, Problem, Status, Witness, certify, solve
from fenchel.regularizers import L2, Regularizer
from fenchel.risks import CrammerSinger, MeanRisk, WestonWatkins
from fenchel.solvers import STALLED, DualCoordinate, Hint, Need, Newton, Solver
from fenchel.solvers.dual_coordinate import solver as module
from fenchel.solving.schedule import Schedule

plain_cases = pytest.mark.parametrize("case", PLAIN_CASES, ids=str)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("solver", SOLVER_NAMES)
@plain_cases
def test_every_solver_that_supports_a_problem_solves_it(solver, case):
    solution = solve(case.problem(), solver, tol=1e-6)
    assert solution.status is Status.CONVERGED
    assert solution.converged
    assert solution.solver == solver
    assert_certified(case.problem(), solution)


def test_callback_sees_increasing_passes_and_can_stop():
    problem, seen = Case("hinge", intercept=True).problem(), []
    solve(problem, "dual_coordinate", tol=1e-10, callback=seen.append)
    passes = [progress.passes for progress in seen]
    assert passes == sorted(set(passes))
    assert all(a.seconds <= b.seconds for a, b in itertools.pairwise(seen))
    assert all(b.certificate.gap <= a.certificate.gap for a, b in itertools.pairwise(seen))
    calls = []

    def third_time(progress):
        calls.append(progress)
        return len(calls) == 3

    solution = solve(problem, "dual_coordinate", tol=1e-10, callback=third_time)
    assert solution.status is Status.CALLBACK
    assert not solution.converged
    assert len(calls) == 3
    assert solution.certificate == calls[-1].certificate
    assert_certified(problem, solution)


@pytest.mark.parametrize("limit", [0, 0.0, 0.02])
def test_time_limit(limit, monkeypatch):
    monkeypatch.setattr(module, "_STEP_ENTRIES", 200)
    problem = Case("hinge", lam=1e-6, n=300, d=50).problem()
    solution = solve(problem, "dual_coordinate", tol=0.0, max_iter=10**9, time_limit=limit)
    assert solution.status is Status.TIME_LIMIT
    assert not solution.converged
    # a step under way and one certificate, no more
    last = solution.trace[-1]
    assert last.seconds_solving + last.seconds_certifying <= limit + 1.0
    assert_certified(problem, solution)


class Waiting(DualCoordinate):
    """A step lasts until somebody wants an end of it."""

    def step(self, state, hint):
        while not hint.stop_requested():
            pass
        return super().step(state, hint)


def test_a_step_hears_that_time_is_up():
    problem = Case("hinge").problem()
    solution = solve(problem, Waiting(), tol=0.0, time_limit=0.02)
    assert solution.status is Status.TIME_LIMIT
    assert_certified(problem, solution)


@plain_cases
def test_max_iter_zero_gives_the_certified_start(case):
    solution = solve(case.problem(), tol=1e-6, max_iter=0)
    assert solution.status is Status.MAX_ITER
    assert solution.passes == 0
    np.testing.assert_array_equal(solution.model.weights, 0)
    assert_certified(case.problem(), solution)


@pytest.mark.parametrize("max_iter", [1, 2.5, 7])
def test_max_iter_is_kept(max_iter, monkeypatch):
    monkeypatch.setattr(module, "_STEP_ENTRIES", 6)
    problem = Case("hinge", lam=1e-4).problem()
    solution = solve(problem, "dual_coordinate", tol=1e-12, max_iter=max_iter)
    assert solution.status is Status.MAX_ITER
    assert max_iter <= solution.passes <= max_iter + 1 / 40 + 1e-9


class Interrupting(DualCoordinate):
    """Ctrl-C arrives in the m-th step."""

    def __init__(self, after):
        super().__init__()
        object.__setattr__(self, "after", after)
        object.__setattr__(self, "steps", [])

    def step(self, state, hint):
        self.steps.append(1)
        if len(self.steps) > self.after:
            raise KeyboardInterrupt
        return super().step(state, hint)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("after", [0, 1, 2, 5, 12])
@plain_cases
def test_ctrl_c_returns_a_certified_solution(case, after, monkeypatch):
    monkeypatch.setattr(module, "_STEP_ENTRIES", 50)
    problem = case.problem()
    solution = solve(problem, Interrupting(after), tol=0.0)
    assert solution.status is Status.INTERRUPTED
    assert_certified(problem, solution)
    resumed = solve(problem, tol=1e-8, warm_start=solution)
    assert resumed.converged


def test_ctrl_c_before_the_first_step():
    class Late(DualCoordinate):
        def start(self, problem, warm):
            raise KeyboardInterrupt

    problem = Case("hinge", intercept=True).problem()
    solution = solve(problem, Late())
    assert solution.status is Status.INTERRUPTED
    np.testing.assert_array_equal(solution.model.weights, 0)
    assert_certified(problem, solution)


def test_stop_requested_ends_like_ctrl_c_and_reaches_the_solver():
    problem, asked, hints = Case("hinge").problem(), [], []

    class Watching(DualCoordinate):
        def step(self, state, hint):
            hints.append(hint)
            return super().step(state, hint)

    def stop():
        asked.append(1)
        return len(asked) >= 150

    solution = solve(problem, Watching(), tol=0.0, stop_requested=stop)
    assert solution.status is Status.INTERRUPTED
    questions = len(asked)
    assert questions >= 150
    assert all(hint.stop_requested() for hint in hints)
    assert len(asked) == questions + len(hints)
    assert hints[0].certificate is None
    assert hints[-1].certificate is not None


@plain_cases
def test_trace_and_best(case):
    problem = case.problem()
    solution = solve(problem, "dual_coordinate", tol=1e-9, max_iter=3000, callback=lambda progress: False)
    assert len(solution.trace) > 1
    for a, b in itertools.pairwise(solution.trace):
        assert a.seconds_solving <= b.seconds_solving
        assert a.seconds_certifying <= b.seconds_certifying
        assert a.passes < b.passes
    assert solution.certificate.primal <= min(point.primal for point in solution.trace) + 1e-15
    assert solution.certificate.dual >= max(point.dual for point in solution.trace) - 1e-15
    assert solution.trace[-1].passes == solution.passes


class Scripted(Solver):
    """A solver that proposes what a script says: models w = value * ones, witnesses theta = value * ones."""

    name = "scripted"

    def __init__(self, script, reason=None):
        self.script, self.reason = script, reason

    @property
    def needs(self):
        return () if self.reason is None else (Need(lambda problem: False, self.reason),)

    def start(self, problem, warm):
        return {"problem": problem, "turn": -1}

    def step(self, state, hint):
        if state["turn"] + 1 == len(self.script):
            return STALLED
        state["turn"] += 1
        return 2.0

    def propose(self, state):
        w, theta = self.script[state["turn"]]
        problem = state["problem"]
        return Model(np.full(problem.weights_shape, w)), Witness(np.full(problem.theta_shape, theta))


def test_a_minimal_solver_of_ones_own_and_the_best_of_both_halves():
    problem = Problem(np.array([[1.0], [1.0]]), MeanRisk("squared", [1.0, 1.0]), 1.0)
    # P(w) = w^2/2 + (w - 1)^2/2 is best at 1/2; theta_i = (y - s)/n is best at 1/4
    script = [(0.0, 0.0), (0.5, 0.9), (9.0, 0.25), (7.0, 0.7)]
    solution = solve(problem, Scripted(script), tol=0.0)
    assert solution.solver == "scripted"
    np.testing.assert_array_equal(solution.model.weights, [0.5])
    np.testing.assert_allclose(solution.witness.theta, [0.25, 0.25])
    assert solution.certificate.primal == pytest.approx(0.25)
    assert solution.certificate.dual == pytest.approx(0.25)
    assert solution.status in (Status.CONVERGED, Status.FLOOR)
    assert_certified(problem, solution)
    stalled = solve(problem, Scripted(script[:2]), tol=1e-9)
    assert stalled.status is Status.STALLED
    assert not stalled.converged


@pytest.mark.parametrize("status", list(Status))
def test_every_status_is_a_sentence(status):
    assert status.value
    assert "\n" not in status.value
    assert not status.value.endswith(".")
    assert status.value[0].islower()


def test_solution_prints_certificate_solver_and_status():
    text = str(solve(Case("hinge").problem(), "dual_coordinate", tol=1e-6))
    assert "dual_coordinate" in text
    assert Status.CONVERGED.value in text
    assert "no model is below" in text


@pytest.mark.parametrize("name", ["tol", "max_iter", "time_limit"])
@pytest.mark.parametrize("value", [-1, -1e-9, math.nan, "1", True, [1]])
def test_bad_limits_are_named(name, value):
    with pytest.raises(FenchelError, match=name):
        solve(Case("hinge").problem(), **{name: value})


@pytest.mark.parametrize("value", [np.float64(1e-4), np.float32(1e-4), np.int64(5)])
def test_numpy_numbers_are_numbers(value):
    assert solve(Case("hinge").problem(), max_iter=value, tol=1e-4, time_limit=value) is not None


@pytest.mark.parametrize("solver", ["sgd", "", 3, None, DualCoordinate.name.upper()])
def test_unknown_solver_is_named(solver):
    with pytest.raises(FenchelError, match="solver"):
        solve(Case("hinge").problem(), solver)


def test_unsupported_problems_say_why():
    problem = Case("hinge").problem()
    with pytest.raises(FenchelError, match="does not support this problem: scripted works only on Sundays"):
        solve(problem, Scripted([], reason="works only on Sundays"))

    class Other(Regularizer):
        name = "other"
        value = gradient = conjugate = conjugate_derivative = radius = grad_conjugate = L2.value
        strong_convexity = 1.0

    with pytest.raises(FenchelError, match="'other'"):
        solve(Problem(problem.design, problem.risk, 0.1, Other()))


@pytest.mark.parametrize("lam", [0, -1.0, math.nan, math.inf, "1", None, True])
def test_bad_lam_is_named(lam):
    with pytest.raises(FenchelError, match="lam"):
        Problem(np.eye(2), MeanRisk("hinge", [1, -1]), lam)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("hinge", [1, -1, 1]), "rows"),
        (("hinge", [1, 0]), "-1 and"),
        (("hinge", []), "labels"),
        (("squared", [1, math.nan]), "labels"),
        (("nope", [1, -1]), "loss"),
        ((3, [1, -1]), "loss"),
        (("hinge", [1, -1], [1]), "weights"),
        (("hinge", [1, -1], [1, -1]), "weights"),
        (("hinge", [1, -1], [0, 0]), "weights"),
        (("hinge", [1, -1], [1, math.inf]), "weights"),
    ],
)
def test_bad_risks_are_named(arguments, word):
    with pytest.raises(FenchelError, match=word):
        Problem(np.eye(2), MeanRisk(*arguments), 1.0)


def test_a_certificate_of_small_data_waits_until_it_may_end_the_solve():
    """As many passes as take its time, which are few of large data; it does not wait for an unknown gap."""
    for entries, patient, expected, waits in (
        (1 << 13, True, 4.0, 64.0),
        (1 << 15, True, 4.0, 16.0),
        (1 << 15, True, 2.0, 16.0),
        (1 << 15, True, math.inf, 0.0),
        (1 << 24, True, 4.0, 1.0 / 32.0),
    ):
        schedule = Schedule(1000.0, patient, None, entries)
        schedule.begin(0.0, after_one=False)
        due = 4.0 * schedule.due + waits
        assert schedule.is_early(due - 0.01, expected, 1.0, on_time=False)
        assert not schedule.is_early(due, expected, 1.0, on_time=False)
    impatient = Schedule(1000.0, False, None, 1 << 13)
    impatient.begin(0.0, after_one=False)
    assert not impatient.is_early(impatient.due, 4.0, 1.0, on_time=False)


def test_a_certificate_waits_longer_for_a_solver_that_computes_its_gap():
    """No certificate would be smaller than its gap; one that estimates it is certified earlier."""
    schedule = Schedule(1000.0, True, None, 1 << 24)
    for computed, factor in ((False, 4.0), (True, 16.0), (False, 4.0)):
        schedule.begin(0.0, after_one=False, computed=computed)
        due = factor * schedule.due
        assert schedule.is_early(due - 0.01, 2.0, 1.0, on_time=False)
        # the time of a certificate of data of this size
        assert not schedule.is_early(due + 1.0 / 32.0, 2.0, 1.0, on_time=False)
        assert schedule.passes_left(0.0, on_time=False) == due
        # the target gap is certified at once
        assert not schedule.is_early(1.0, 0.5, 1.0, on_time=False)


@pytest.mark.parametrize("risk", [WestonWatkins, CrammerSinger])
def test_block_coordinate_expects_about_the_gap_of_its_certificate(risk):
    """So its certificates can wait: one is enough, and it does not prove much more than was asked for."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 5, 1000)
    X = rng.standard_normal((5, 12))[y] + rng.standard_normal((1000, 12))
    for tol in (1e-1, 1e-2, 1e-3):
        solution = solve(Problem(X, risk(y), 1e-3), "block_coordinate", tol=tol, max_iter=10_000)
        assert solution.converged
        assert len(solution.trace) <= 2
        assert solution.certificate.relative_gap > 0.2 * tol


@pytest.mark.parametrize("intercept", [False, True])
def test_newton_computes_the_gap_of_its_point(intercept):
    """So its certificates can wait: its expected gap is that of the certificate of what it proposes."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 70))
    y = np.where(X[:, 0] + rng.normal(size=400) > 0, 1.0, -1.0)
    problem, solver = Problem(X, MeanRisk("logistic", y), 1e-3, intercept=intercept), Newton(sampling=False)
    state = solver.start(problem, None)
    assert solver.computes_gap
    for _ in range(6):
        solver.step(state, Hint(None, 0.0, lambda: False))
        expected, certificate = solver.expected_gap(state), certify(problem, *solver.propose(state))
        # the certificate takes the best multiple of theta, which matters at the beginning only
        assert certificate.gap <= (1.0 + 1e-6) * expected + certificate.rounding_floor
        if expected < 1e-2 * certificate.primal and not intercept:
            assert certificate.gap == pytest.approx(expected, rel=0.1, abs=1e-13)
    assert expected < 1e-2 * certificate.primal
