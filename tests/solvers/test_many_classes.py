"""Many classes: working in blocks of rows and in single precision changes what is needed, not what is found."""

import tracemalloc

import numpy as np
import pytest

from catalog import JOINT_RISKS, PLAIN_JOINT_CASES, joint_risk
from fenchel import Model, Problem, Witness, solve
from fenchel.certificate import judge, rounding
from fenchel.certificate import primal as judging
from fenchel.risks import WestonWatkins
from fenchel.risks.multiclass import base as joint
from fenchel.solvers import BlockCoordinate, Hint
from fenchel.solvers.block_coordinate import solver as module

every_risk = pytest.mark.parametrize("name", JOINT_RISKS)
plain_cases = pytest.mark.parametrize("case", PLAIN_JOINT_CASES, ids=str)


def random_parts(name, rng, n=23, k=5):
    y, weights = rng.integers(0, k, n), rng.integers(0, 4, n) + (np.arange(n) == 0)
    costs = rng.uniform(0.1, 2.0, (k, k)) if name == "costs" else None
    return y, joint_risk(name, y, k, weights, costs)


@pytest.mark.meetings(1)
@every_risk
@pytest.mark.parametrize("at_once", [1, 5, 17, 40])
def test_risks_in_blocks_of_rows(name, at_once, monkeypatch):
    rng = np.random.default_rng(0)
    for _ in range(10):
        _, risk = random_parts(name, rng)
        scores, theta = rng.standard_normal((2, 23, 5))
        theta, near = -np.abs(theta) / 23, np.full((23, 5), 1e-3)
        whole = (
            risk.value(scores),
            risk.subgradient(scores),
            risk.project(theta),
            risk.subgradient_bounds(scores, near),
        )
        value, balanced = risk.value_at_zero, risk.balance(risk.project(theta))
        with monkeypatch.context() as patch:
            patch.setattr(joint, "BLOCK_ENTRIES", at_once)
            assert sum(1 for _ in risk.parts()) == -(-23 // max(1, at_once // 5))
            assert risk.value(scores) == pytest.approx(whole[0], rel=1e-14)
            # sums of rows are matrix products, which round as their shape decides
            np.testing.assert_allclose(risk.subgradient(scores), whole[1], rtol=1e-15)
            np.testing.assert_allclose(risk.project(theta), whole[2], rtol=1e-15)
            np.testing.assert_array_equal(risk.project(theta.astype(np.float32)).shape, (23, 5))
            slopes = [part.subgradient_bounds(scores[rows], near[rows]) for rows, part in risk.parts()]
            np.testing.assert_allclose(np.concatenate(slopes), whole[3], rtol=1e-15)
            del risk.__dict__["value_at_zero"]
            assert risk.value_at_zero == pytest.approx(value, rel=1e-14)
            for found, expected in zip(risk.balance(risk.project(theta)), balanced, strict=True):
                np.testing.assert_allclose(found, expected, atol=1e-16)
            assert np.isinf(risk.conjugate(theta))
            assert np.isfinite(risk.conjugate(whole[2]))


@pytest.mark.meetings(1)
@plain_cases
def test_certificates_in_blocks_of_rows(case, monkeypatch):
    """Near the floor too, where scores that were not kept are computed again."""
    problem = case.problem()
    for tol in (1e-2, 1e-12):
        solution = solve(problem, tol=tol, max_iter=20_000)
        whole = judge(problem, solution.model, solution.witness).certificate
        with monkeypatch.context() as patch:
            patch.setattr(joint, "BLOCK_ENTRIES", 30)
            patch.setattr(judging, "MANY_SCORES", 50)
            patch.setattr(rounding, "MANY_SCORES", 50)
            blocks = judge(problem, solution.model, solution.witness).certificate
        assert blocks.primal == pytest.approx(whole.primal, rel=1e-14)
        assert blocks.dual == pytest.approx(whole.dual, rel=1e-13)
        assert blocks.rounding_floor == pytest.approx(whole.rounding_floor, rel=1e-6)


@pytest.mark.meetings(1)
@plain_cases
def test_solves_in_blocks_of_rows(case, monkeypatch):
    problem = case.problem()
    whole = solve(problem, tol=1e-9, max_iter=20_000)
    start = solve(case.problem(lam=2 * case.lam), tol=1e-4, max_iter=20_000)
    monkeypatch.setattr(joint, "BLOCK_ENTRIES", 30)
    for options in ({}, {"warm_start": start}):
        blocks = solve(problem, tol=1e-9, max_iter=20_000, **options)
        assert blocks.converged
        assert blocks.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-8)


@pytest.mark.meetings(1)
@plain_cases
def test_a_witness_in_single_precision_proves_what_it_is(case):
    problem = case.problem()
    solution = solve(problem, tol=1e-8, max_iter=20_000)
    theta = solution.witness.theta.astype(np.float32)
    found, same = (judge(problem, solution.model, Witness(t)) for t in (theta, theta.astype(np.float64)))
    assert found.certificate == same.certificate
    assert found.witness.theta.dtype == np.float64


@pytest.mark.meetings(1)
@plain_cases
def test_many_dual_variables_are_kept_in_single_precision_while_that_is_enough(case, monkeypatch):
    problem, solver = case.problem(), BlockCoordinate()
    assert solver.start(problem, None).blocks.alpha.dtype == np.float64
    monkeypatch.setattr(module, "_MANY", 100)
    assert BlockCoordinate(single=False).start(problem, None).blocks.alpha.dtype == np.float64
    state = solver.start(problem, None)
    solver.step(state, Hint(None, 1e-3, lambda: False))
    assert state.blocks.alpha.dtype == np.float32
    solver.step(state, Hint(None, 1e-9, lambda: False))
    assert state.blocks.alpha.dtype == np.float64
    rough = solve(problem, tol=1e-3, max_iter=20_000)
    assert rough.converged
    fine = solve(problem, tol=1e-10, max_iter=20_000)
    assert fine.converged
    assert fine.certificate.dual <= rough.certificate.primal
    least = solve(problem, tol=0.0, max_iter=100_000)
    assert least.certificate.at_floor
    assert least.passes < 10_000


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_a_certificate_needs_room_for_one_array_of_the_size_of_theta(intercept, monkeypatch):
    """Beside a few blocks: the scores are gone when theta is made feasible."""
    n, d, k = 3000, 4, 300
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, d)).astype(np.float32), rng.permutation(np.arange(n) % k)
    problem = Problem(X, WestonWatkins(y, k), 0.1, intercept=intercept)
    model = Model(rng.standard_normal((k, d)), np.zeros(k))
    theta = np.where(rng.random((n, k)) < 0.01, -0.01 / n, 0.0)
    witness = Witness(theta.astype(np.float32))
    monkeypatch.setattr(joint, "BLOCK_ENTRIES", 20 * k)
    monkeypatch.setattr(judging, "MANY_SCORES", 20 * k)
    monkeypatch.setattr(rounding, "MANY_SCORES", 20 * k)
    judge(problem, model, witness)
    tracemalloc.start()
    try:
        verdict = judge(problem, model, witness)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert verdict.certificate.dual > 0
    # masses of pairs with intercepts: (k, k), a tenth of theta here, and a few of them
    assert peak <= (2.2 if intercept else 1.3) * 8 * n * k
