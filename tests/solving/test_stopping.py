"""A limit ends a solve at any stop point; what it returns is proved.  No test depends on how long anything takes."""

import itertools
import math
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from agreement import assert_certified
from fenchel import Problem, Status, regularizers, solve
from fenchel.risks import F1, CrammerSinger, MeanRisk, Multinomial, OrdinalHinge, RocAUC, WestonWatkins
from fenchel.solvers import SOLVERS, STALLED, BlockCoordinate, DualCoordinate, Hint
from fenchel.solving.deadline import Deadline
from fenchel.stopping import Stopped, interruptible, seconds_left, stop_point, stops_when

N, D, LAM = 60, 4, 1e-3
rng = np.random.default_rng(0)
X = rng.standard_normal((N, D))
SCORES = X @ rng.standard_normal(D) + 0.3 * rng.standard_normal(N)
LABELS, CLASSES = np.where(SCORES > 0.0, 1.0, -1.0), np.digitize(SCORES, [-1.0, 1.0])


def problems():
    """One of each kind that some solver has a method of its own for."""
    for loss in ("hinge", "logistic", "squared"):
        for intercept in (False, True):
            yield loss, Problem(X, MeanRisk(loss, LABELS), LAM, intercept=intercept)
    for name, regularizer in {
        "l1": regularizers.L1(),
        "elastic_net": regularizers.ElasticNet(0.5),
        "q_norm": regularizers.QNorm(1.5),
        "free": regularizers.FreeDirections.of_features([0], D),
    }.items():
        yield name, Problem(X, MeanRisk("logistic", LABELS), LAM, regularizer, intercept=True)
    for risk in (WestonWatkins, CrammerSinger, Multinomial, OrdinalHinge):
        yield risk.name, Problem(X, risk(CLASSES), LAM, intercept=risk is not OrdinalHinge)
    yield "l1 hinge", Problem(X, MeanRisk("hinge", LABELS), LAM, regularizers.L1(), intercept=True)
    yield "l1 multinomial", Problem(X, Multinomial(CLASSES), LAM, regularizers.L1(), intercept=True)
    for risk in (F1, RocAUC):
        yield risk.name, Problem(X, risk(LABELS), LAM, intercept=risk is F1)
    yield "hard_margin", Problem(np.column_stack([X, LABELS]), MeanRisk("hard_margin", LABELS), 1.0)


CASES = [
    pytest.param(solver, problem, id=f"{solver}-{name}-{problem.intercept}")
    for (name, problem), solver in itertools.product(problems(), SOLVERS)
    if SOLVERS[solver]().supports(problem) is None
]


#: dual methods, which have no intercept but that of a certificate
WITHOUT_INTERCEPT = ("dual_coordinate", "augmented_lagrangian", "pragam", "dual_conjugate_gradient")


class Countdown:
    """Asks for a stop from the n-th question on."""

    def __init__(self, questions):
        self.questions = questions

    def __call__(self):
        self.questions -= 1
        return self.questions < 0


@pytest.mark.parametrize(("solver", "problem"), CASES)
@pytest.mark.meetings(1)
def test_any_stop_point_may_end_a_solve(solver, problem, portion):
    """From the first one in ``start`` to the middle of later steps: a model no worse than zero, certified."""
    points = np.array([*range(20), *range(20, 200, 17)])
    some = np.random.default_rng([*solver.encode()]).permutation(points)[: portion(len(points), 3)]
    for questions in np.sort(some):
        solution = solve(problem, solver, tol=0.0, max_iter=30, stop_requested=Countdown(questions))
        assert_certified(problem, solution)
        assert solution.certificate.primal <= problem.risk.value_at_zero * (1.0 + 1e-12)
        if solution.status is not Status.INTERRUPTED:
            break


def test_a_stop_in_the_start_costs_one_certificate():
    solution = solve(Problem(X, MeanRisk("logistic", LABELS), LAM, intercept=True), stop_requested=lambda: True)
    assert solution.status is Status.INTERRUPTED
    assert len(solution.trace) == 1
    np.testing.assert_array_equal(solution.model.weights, 0.0)


def test_a_solve_that_must_stop_is_not_begun():
    class Unused(DualCoordinate):
        def start(self, problem, warm):
            raise AssertionError

    solution = solve(Problem(X, MeanRisk("hinge", LABELS), LAM), Unused(), stop_requested=lambda: True)
    assert solution.status is Status.INTERRUPTED


class Slow(DualCoordinate):
    """Its third step takes longer than any limit: it comes to its stop points without end."""

    def step(self, state, hint):
        state.steps = getattr(state, "steps", 0) + 1
        while state.steps == 3:
            stop_point()
        return super().step(state, hint)


def test_a_step_that_is_ended_leaves_the_last_point():
    problem = Problem(X, MeanRisk("hinge", LABELS), LAM)
    solution = solve(problem, Slow(), tol=0.0, time_limit=0.1, certify_every=1.0)
    assert solution.status is Status.TIME_LIMIT
    assert solution.passes == 2.0
    assert_certified(problem, solution)


def test_no_certificate_follows_one_that_outlasts_the_limit(monkeypatch):
    from fenchel.solving import run

    clock = {"now": 0.0}
    monkeypatch.setattr("fenchel.compile.stopwatch.stopwatch.clock", lambda: clock["now"])

    def slow_judge(*arguments):
        clock["now"] += 10.0
        return judge(*arguments)

    judge = run.judge
    monkeypatch.setattr(run, "judge", slow_judge)
    problem = Problem(X, MeanRisk("hinge", LABELS), LAM)
    solution = solve(problem, "dual_coordinate", tol=0.0, time_limit=5.0)
    assert solution.status is Status.TIME_LIMIT
    assert len(solution.trace) == 1
    assert clock["now"] == 10.0


def test_stop_points_stop_their_own_thread_only():
    stop_point()
    others = []
    with stops_when(lambda: True):
        thread = threading.Thread(target=lambda: others.append(stop_point()))
        thread.start()
        thread.join()
        with pytest.raises(Stopped), stops_when(lambda: False):
            # the outer limit holds in a solve within a solve
            stop_point()
        with pytest.raises(Stopped):
            stop_point()
    stop_point()
    assert others == [None]


def test_foreign_code_is_left_at_a_stop():
    """The thread of the work does not end before the solve does."""
    may_end, ended = threading.Event(), []

    def work():
        may_end.wait()
        ended.append(True)

    with pytest.raises(Stopped), stops_when(Countdown(3)):
        interruptible(work)
    assert not ended
    may_end.set()


def test_the_end_of_the_process_waits_for_foreign_code():
    """C++ code at work in a daemon thread aborts a process that ends."""
    code = """
    import time
    from fenchel.stopping import Stopped, interruptible, stops_when
    def work():
        time.sleep(0.5)
        print("ended", flush=True)
    try:
        with stops_when(lambda: True):
            interruptible(work)
    except Stopped:
        print("left", flush=True)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["left", "ended"], done.stderr


def test_foreign_code_has_the_limits_and_the_error_state_of_its_caller():
    def work():
        np.float64(1e300) * np.float64(1e300)
        return seconds_left()

    assert seconds_left() == math.inf
    with stops_when(lambda: False, lambda: 7.0), stops_when(lambda: False, lambda: None), np.errstate(over="ignore"):
        assert interruptible(work) == 7.0
    with stops_when(lambda: False, lambda: 7.0), stops_when(lambda: False, lambda: 5.0):
        assert seconds_left() == 5.0
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)


PROGRAMS = pytest.mark.parametrize(
    ("solver", "loss"), [("basis_pursuit", "interpolation"), ("linear_program", "absolute")]
)


@PROGRAMS
def test_a_linear_program_is_told_its_time_limit(solver, loss, monkeypatch):
    given = []

    def linprog(*arguments, options, **constraints):
        given.append(options["time_limit"])
        return solved(*arguments, options=options, **constraints)

    solved = scipy.optimize.linprog
    monkeypatch.setattr(scipy.optimize, "linprog", linprog)
    problem = Problem(X[:3], MeanRisk(loss, LABELS[:3]), LAM, regularizers.L1())
    assert solve(problem, solver).converged
    assert solve(problem, solver, time_limit=1e6).converged
    assert given[0] is None
    assert 0.0 < given[1] <= 1e6


@PROGRAMS
def test_a_linear_program_ends_at_a_limit(solver, loss, monkeypatch):
    """HiGHS itself would not end."""
    may_end = threading.Event()
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *arguments, **options: may_end.wait())
    problem = Problem(X[:3], MeanRisk(loss, LABELS[:3]), LAM, regularizers.L1())
    solution = solve(problem, solver, stop_requested=Countdown(10))
    may_end.set()
    assert solution.status is Status.INTERRUPTED
    np.testing.assert_array_equal(solution.model.weights, 0.0)


@pytest.mark.parametrize(
    ("solver", "problem"),
    [case for case in CASES if case.values[1].intercept and case.values[0] not in WITHOUT_INTERCEPT],
)
def test_no_intercept_is_searched_after_a_stop(solver, problem, monkeypatch):
    """The search takes several passes: solvers propose the intercept that they have."""
    searches = []
    best, solved = Problem.best_intercept, SOLVERS[solver]()
    monkeypatch.setattr(Problem, "best_intercept", lambda self, scores: searches.append(1) or best(self, scores))
    state = solved.start(problem, None)
    for _ in range(3):
        solved.step(state, Hint(None, 0.0, lambda: False))
    del searches[:]
    model, _ = solved.propose_after_stop(state)
    assert model.intercept is not None
    assert not searches


@pytest.mark.parametrize("risk", [WestonWatkins, Multinomial])
def test_a_step_over_blocks_is_short(risk):
    """It comes to no stop point in between: at most 2^22 products of entries of X with classes, 30 ms or so."""
    examples, features, classes = 4000, 300, 10
    rows = sp.csr_array(np.random.default_rng(1).standard_normal((examples, features)))
    problem = Problem(rows, risk(np.arange(examples) % classes), LAM, intercept=True)
    solver = BlockCoordinate()
    passes = solver.step(solver.start(problem, None), Hint(None, 0.0, lambda: False))
    assert 0.0 < passes * examples * features * classes <= 2**22


def test_a_stalled_solver_within_a_limit_is_stalled():
    class Stuck(DualCoordinate):
        def step(self, state, hint):
            return STALLED

    problem = Problem(X, MeanRisk("hinge", LABELS), LAM)
    assert solve(problem, Stuck(), tol=0.0, time_limit=1e6).status is Status.STALLED


def test_shares_of_a_deadline(monkeypatch):
    clock = {"now": 100.0}
    monkeypatch.setattr("fenchel.compile.stopwatch.stopwatch.clock", lambda: clock["now"])
    deadline = Deadline(12.0)
    assert [deadline.share(k, 4) for k in range(4)] == [3.0, 4.0, 6.0, 12.0]
    assert deadline.share(0, 4, workers=2) == 6.0
    clock["now"] = 111.0
    assert deadline.remaining() == 1.0
    assert not deadline.passed
    clock["now"] = 112.0
    assert deadline.passed
    assert deadline.remaining() == deadline.share(2, 4) == 0.0
    assert Deadline(None).share(0, 1) is None
    assert not Deadline(None).passed
