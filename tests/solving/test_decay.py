"""The rule of Wang and Scott: stop when the gap is less than a share of the gap after the first pass over the data."""

import itertools

import pytest

from catalog import Case, JointCase
from fenchel import FenchelError, Status, solve
from fenchel.solvers import BlockCoordinate
from fenchel.solving.solution import Progress


def gaps(solution):
    return [point.primal - point.dual for point in solution.trace]


def joint_problem():
    return JointCase("weston_watkins", lam=1e-2).problem()


PLAIN = BlockCoordinate(shrinking=False)


@pytest.mark.parametrize("decay", [0.5, 0.09, 0.009, 0.0009])
def test_it_stops_at_the_first_certificate_below_the_share(decay):
    solution = solve(joint_problem(), PLAIN, tol=0.0, decay=decay, certify_every=1)
    assert solution.status is Status.DECAYED
    assert solution.converged
    assert solution.trace[0].passes == pytest.approx(1.0)
    first = gaps(solution)[0]
    # the best gap so far: the least primal with the greatest dual
    best = [
        min(point.primal for point in solution.trace[: count + 1])
        - max(point.dual for point in solution.trace[: count + 1])
        for count in range(len(solution.trace))
    ]
    assert best[-1] < decay * first
    assert all(gap >= decay * first for gap in best[:-1])
    assert solution.certificate.gap == pytest.approx(best[-1], rel=1e-9)


def test_without_certify_every_it_certifies_after_the_first_pass_and_when_it_expects_to_be_done():
    seldom = solve(joint_problem(), PLAIN, tol=0.0, decay=0.0009)
    always = solve(joint_problem(), PLAIN, tol=0.0, decay=0.0009, certify_every=1)
    assert seldom.status is Status.DECAYED
    assert seldom.trace[0].passes == pytest.approx(1.0)
    assert gaps(seldom)[0] == pytest.approx(gaps(always)[0], rel=1e-12)
    assert len(seldom.trace) < len(always.trace)
    assert seldom.passes >= always.passes


def test_certificates_come_after_every_so_many_passes():
    solution = solve(joint_problem(), PLAIN, tol=1e-8, certify_every=3, max_iter=40)
    passes = [point.passes for point in solution.trace]
    assert passes[0] == pytest.approx(1.0)
    assert [later - earlier for earlier, later in itertools.pairwise(passes[:-1])] == pytest.approx(
        [3.0] * (len(passes) - 2)
    )


def test_a_tolerance_that_is_met_first_ends_the_solve():
    solution = solve(joint_problem(), PLAIN, tol=0.5, decay=1e-9)
    assert solution.status is Status.CONVERGED


@pytest.mark.parametrize("solver", ["dual_coordinate", "newton"])
def test_every_solver_knows_the_rule(solver):
    solution = solve(Case("squared_hinge", lam=1e-3).problem(), solver, tol=0.0, decay=0.01)
    assert solution.converged
    # a gap that rounds to less than nothing has met tol=0.0 as well
    assert solution.status in (Status.DECAYED, Status.FLOOR) or solution.certificate.gap <= 0.0


def test_a_callback_is_told_the_present_model_and_its_time_does_not_count():
    import time

    seen: list[Progress] = []

    def slow(progress):
        seen.append(progress)
        time.sleep(0.05)
        return len(seen) == 4

    problem = joint_problem()
    solve(problem, PLAIN, tol=0.0, certify_every=1, callback=slow)
    assert len(seen) == 4
    for progress in seen:
        value = problem.lam * problem.regularizer.value(progress.model.weights)
        value += problem.risk.value(problem.design.scores(progress.model.weights))
        assert progress.present.primal == pytest.approx(value, rel=1e-12)
        assert progress.present.primal >= progress.certificate.primal
    spent = [progress.present.seconds_solving + progress.present.seconds_certifying for progress in seen[1:]]
    # three pauses of 0.05 s lie between the first and the last
    assert spent[-1] - spent[0] < 0.1


@pytest.mark.parametrize("options", [{"decay": 0.0}, {"decay": 1.0}, {"decay": True}, {"certify_every": 0}])
def test_bad_shares_are_named(options):
    with pytest.raises(FenchelError, match=next(iter(options))):
        solve(joint_problem(), PLAIN, **options)
