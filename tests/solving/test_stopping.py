"""A limit ends a solve at any stop point; what it returns is proved.  No test depends on how long anything takes."""

import itertools
import threading

import numpy as np
import pytest

from agreement import assert_certified
from fenchel import Problem, Status, regularizers, solve
from fenchel.risks import F1, CrammerSinger, MeanRisk, Multinomial, OrdinalHinge, RocAUC, WestonWatkins
from fenchel.solvers import SOLVERS, STALLED, DualCoordinate
from fenchel.solving.deadline import Deadline
from fenchel.stopping import Stopped, stop_point, stops_when

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
    yield "l1 multinomial", Problem(X, Multinomial(CLASSES), LAM, regularizers.L1(), intercept=True)
    for risk in (F1, RocAUC):
        yield risk.name, Problem(X, risk(LABELS), LAM, intercept=risk is F1)
    yield "hard_margin", Problem(np.column_stack([X, LABELS]), MeanRisk("hard_margin", LABELS), 1.0)


CASES = [
    pytest.param(solver, problem, id=f"{solver}-{name}-{problem.intercept}")
    for (name, problem), solver in itertools.product(problems(), SOLVERS)
    if SOLVERS[solver]().supports(problem) is None
]


class Countdown:
    """Asks for a stop from the n-th question on."""

    def __init__(self, questions):
        self.questions = questions

    def __call__(self):
        self.questions -= 1
        return self.questions < 0


@pytest.mark.parametrize(("solver", "problem"), CASES)
def test_any_stop_point_may_end_a_solve(solver, problem):
    """From the first one in ``start`` to the middle of later steps: a model no worse than zero, certified."""
    for questions in [*range(20), *range(20, 200, 17)]:
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


class Slow(DualCoordinate):
    """Its third step takes longer than any limit: it comes to its stop points for ever."""

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
