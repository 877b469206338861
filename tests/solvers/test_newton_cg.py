"""The truncated Newton method: right answers for every kind of multinomial problem, bounded steps, warm starts."""

import functools
import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp

import slow_multinomial as slow
from agreement import assert_same_optimum, distance_bound
from catalog import JointCase
from fenchel import FenchelError, Problem, Status, certify, solve
from fenchel.regularizers import ElasticNet
from fenchel.risks import MeanRisk, Multinomial
from fenchel.risks.multiclass.multinomial import softmax
from fenchel.solvers import STALLED, Hint, NewtonCG
from fenchel.solvers.newton import multinomial_direction as softmax_direction
from fenchel.solvers.newton import multinomial_sample as softmax_sample
from fenchel.solvers.newton.multinomial_sample import SoftmaxSample

with_and_without = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
#: the preconditioners
KINDS = ("joint", "per_class", "diagonal")


@dataclass(frozen=True)
class Case(JointCase):
    """A multinomial problem on the data of the other joint risks."""

    risk: str = "multinomial"


CASES = [
    Case(storage=storage, intercept=intercept, weighted=weighted)
    for storage, intercept, weighted in itertools.product(("dense", "sparse"), (False, True), (False, True))
]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


@functools.cache
def conic_answer(case):
    X, y, _, _ = case.data()
    return slow.optimum(X, y, case.k, case.problem().risk.shares, case.lam, case.intercept)


def use(monkeypatch, kind):
    monkeypatch.setattr(softmax_direction, "preconditioner_kind", lambda sample: kind)


def hint(stop=lambda: False):
    return Hint(None, 0.0, stop)


@pytest.mark.meetings(1)
@every_case
@pytest.mark.parametrize("kind", KINDS)
def test_the_conic_solvers_optimum(case, kind, monkeypatch):
    use(monkeypatch, kind)
    problem = case.problem()
    W, _, best = conic_answer(case)
    solution = solve(problem, "newton_cg", tol=0)
    certificate = solution.certificate
    assert solution.status in (Status.CONVERGED, Status.FLOOR)
    assert solution.solver == "newton_cg"
    assert certificate.primal == pytest.approx(best, rel=1e-8)
    assert certificate.dual <= best * (1 + 1e-12)
    apart = distance_bound(problem, certificate.gap + 1e-8 * best)
    assert np.linalg.norm(solution.model.weights - W) <= 2 * apart
    assert np.sum(solution.model.intercept) == pytest.approx(0.0, abs=1e-12)
    X, y, _, _ = case.data()
    model = solution.model
    primal = slow.primal(X, y, problem.risk.shares, case.lam, model.weights, model.intercept)
    assert abs(certificate.primal - float(primal)) <= certificate.rounding_floor
    dual = slow.dual(X, y, problem.risk.shares, case.lam, solution.witness.theta)
    assert certificate.dual <= float(dual) + certificate.rounding_floor


@with_and_without
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("kind", KINDS)
def test_preconditioners_are_what_they_say(intercept, storage, kind, monkeypatch):
    """On few rows they are made of all: the joint one is then the inverse of the Hessian, the others of its parts."""
    use(monkeypatch, kind)
    monkeypatch.setattr(softmax_sample, "_MEAN_SHARE", 0.0)
    case = Case(storage=storage, intercept=intercept, weighted=True, n=12, d=3, k=3)
    problem, rng = case.problem(), np.random.default_rng(0)
    X, _, _, _ = case.data()
    c = problem.risk.shares
    selected = np.flatnonzero(c > 0).astype(np.uint32)
    mean = c @ X if intercept else np.zeros(3)
    sample = SoftmaxSample(problem, selected, mean)
    sample.scores[:] = rng.standard_normal(sample.scores.shape)
    sample.update_dual_point()
    Z = np.hstack([X - mean, np.full((12, 1), float(intercept))])[selected]
    p = softmax(sample.scores)
    H = np.diag(np.tile(np.r_[np.full(3, 0.2), 0.0], 3))
    for x, q, share in zip(Z, p, sample.shares, strict=True):
        H += share * np.kron(np.diag(q) - np.outer(q, q), np.outer(x, x))
    direction = rng.standard_normal((4, 3))
    direction -= direction.mean(axis=1, keepdims=True)
    direction[3] *= intercept
    change = np.zeros_like(sample.scores)
    curved, total = sample.hess_product(np.ascontiguousarray(direction[:3]), direction[3], change)
    expected = (H @ direction.T.ravel()).reshape(3, 4).T
    np.testing.assert_allclose(curved + 0.2 * direction[:3], expected[:3], atol=1e-14)
    np.testing.assert_allclose(total * intercept, expected[3], atol=1e-14)
    np.testing.assert_allclose(change, Z @ direction, atol=1e-14)
    apply = softmax_direction.preconditioner(sample, 0.2, rng).apply
    # without intercepts directions have no row for them
    size = 3 + intercept
    found = apply(expected[:size])
    np.testing.assert_allclose(found.sum(axis=1), 0.0, atol=1e-13)
    if kind == "joint":
        np.testing.assert_allclose(found, direction[:size], atol=1e-10)
    else:
        blocks = np.array([H[4 * j : 4 * j + size, 4 * j : 4 * j + size] for j in range(3)])
        if kind == "diagonal":
            blocks = np.array([np.diag(np.diag(block)) for block in blocks])
        parts = np.stack([np.linalg.solve(blocks[j], expected[:size, j]) for j in range(3)], axis=1)
        np.testing.assert_allclose(found, parts - parts.mean(axis=1, keepdims=True), atol=1e-10)


def degenerate(name, rng):
    """X, y and weights of a problem that is odd in one way."""
    X, y, weights = rng.standard_normal((60, 5)), np.arange(60) % 4, None
    if name == "one feature":
        X = X[:, :1]
    elif name == "classes of one example":
        y = np.r_[np.zeros(57, dtype=int), 1, 2, 3]
    elif name == "empty rows":
        X[::3] = 0.0
    elif name == "nothing in X":
        X[:] = 0.0
    elif name == "repeated columns":
        X = np.hstack([X, X, X])
    elif name == "separable":
        X[:, :4] += 20.0 * np.eye(4)[y]
    elif name == "far away":
        X += 1e3
    elif name == "uneven columns":
        X *= np.array([1e-3, 1.0, 1.0, 30.0, 1e3])
    elif name == "weights":
        weights = 10.0 ** rng.uniform(-6, 3, 60)
        weights[::7] = 0.0
    elif name == "wide":
        X = rng.standard_normal((60, 300))
    elif name == "two classes":
        y = np.arange(60) % 2
    return X, y, weights


DEGENERATE = [
    "one feature",
    "classes of one example",
    "empty rows",
    "nothing in X",
    "repeated columns",
    "separable",
    "far away",
    "uneven columns",
    "weights",
    "wide",
    "two classes",
]


@pytest.mark.meetings(1)
@pytest.mark.parametrize("name", DEGENERATE)
@with_and_without
@pytest.mark.parametrize("lam", [1e-4, 0.1])
def test_odd_problems_are_solved_to_many_digits(name, intercept, lam):
    X, y, weights = degenerate(name, np.random.default_rng(0))
    for design in (X, sp.csr_array(X)):
        problem = Problem(design, Multinomial(y, None, weights), lam, intercept=intercept)
        solution = solve(problem, "newton_cg", tol=1e-8, max_iter=20_000)
        assert solution.converged, str(solution)
        assert solution.certificate.relative_gap <= 1e-8 or name == "far away"


@pytest.mark.meetings(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_random_problems_are_solved_to_many_digits(kind, seed, monkeypatch):
    use(monkeypatch, kind)
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(5, 300)), int(rng.integers(1, 20)), int(rng.integers(2, 9))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d)
    y = rng.integers(0, k, n)
    problem = Problem(X, Multinomial(y, k), 10.0 ** rng.uniform(-5, 1), intercept=bool(seed % 2))
    assert solve(problem, "newton_cg", tol=1e-8, max_iter=20_000).certificate.relative_gap <= 1e-8


def test_a_class_without_examples_is_driven_away():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((30, 3)), np.arange(30) % 2
    for weights in (None, np.where(np.arange(30) % 5 == 0, 0.0, 1.0)):
        three = solve(Problem(X, Multinomial(y, 3, weights), 0.1, intercept=True), "newton_cg", tol=1e-8)
        two = solve(Problem(X, Multinomial(y, 2, weights), 0.1, intercept=True), "newton_cg", tol=1e-10)
        assert three.converged
        assert three.certificate.primal == pytest.approx(two.certificate.primal, rel=1e-8)


@every_case
def test_weight_zero_is_a_removed_row_and_weight_two_a_repeated_one(case):
    X, y, _, _ = case.data()
    weights = np.arange(len(y)) % 3
    weights[: case.k] = 1
    one = solve(Problem(X, Multinomial(y, case.k, weights), 0.05, intercept=case.intercept), "newton_cg", tol=1e-12)
    problem = Problem(np.repeat(X, weights, axis=0), Multinomial(np.repeat(y, weights)), 0.05, intercept=case.intercept)
    other = solve(problem, "newton_cg", tol=1e-12)
    assert_same_optimum(problem, one, other, tol=1e-10)
    assert np.all(one.witness.theta[weights == 0] == 0.0)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("dtype", [np.float32, np.int16])
@with_and_without
def test_other_types_are_read_as_they_are(dtype, intercept, rarely_compiled):
    case = Case(intercept=intercept)
    X, y, _, _ = case.data()
    X = np.round(X * 8).astype(dtype)
    reference = Problem(X.astype(float), Multinomial(y), 0.05, intercept=intercept)
    for design in (X, sp.csr_array(X), np.asfortranarray(X), X[::-1][::-1]):
        found = solve(replace(reference, design=design), "newton_cg", tol=1e-11)
        assert_same_optimum(reference, solve(reference, "newton_cg", tol=1e-11), found)


def test_samples_lead_to_the_same_answer():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((20_000, 4))
    y = np.argmax(X @ rng.standard_normal((4, 3)) + rng.gumbel(size=(20_000, 3)), axis=1)
    problem = Problem(X, Multinomial(y), 1e-4, intercept=True)
    solver, whole = NewtonCG(seed=0), NewtonCG(seed=0, sampling=False)
    state = solver.start(problem, None)
    assert len(state.outputs[0].sample.selected) == 1250
    assert solver.expected_gap(state) == np.inf
    first, second = solve(problem, solver, tol=1e-10), solve(problem, whole, tol=1e-10)
    assert_same_optimum(problem, first, second)
    assert first.passes < second.passes


@pytest.mark.meetings(1)
@every_case
def test_a_solution_is_a_warm_start(case):
    problem = case.problem()
    cold = solve(problem, "newton_cg", tol=1e-10)
    again = solve(problem, "newton_cg", tol=1e-10, warm_start=cold)
    assert again.passes == 0 and again.converged
    near = replace(problem, lam=0.9 * case.lam)
    warm, fresh = solve(near, "newton_cg", tol=1e-9, warm_start=cold), solve(near, "newton_cg", tol=1e-9)
    assert_same_optimum(near, warm, fresh)
    assert warm.passes < fresh.passes


def test_steps_end_soon_after_a_stop_request():
    problem = Case(n=200, d=30, lam=1e-7).problem()
    state = NewtonCG().start(problem, None)
    used = NewtonCG().step(state, hint(lambda: True))
    # one preconditioner and one product, and what the line search and the gradient take
    assert used <= 4.0
    solution = solve(problem, "newton_cg", tol=0.0, stop_requested=lambda: True)
    assert solution.status is Status.INTERRUPTED
    assert np.isfinite(solution.certificate.gap)


def test_tol_zero_ends_at_the_floor():
    for case in CASES:
        solution = solve(case.problem(), "newton_cg", tol=0.0, max_iter=10_000)
        assert solution.status in (Status.FLOOR, Status.STALLED, Status.CONVERGED)
        assert solution.certificate.relative_gap <= 1e-13


def test_the_expected_gap_is_the_certified_one_without_intercepts():
    problem, solver = Case().problem(), NewtonCG()
    state = solver.start(problem, None)
    for _ in range(4):
        assert solver.step(state, hint()) != STALLED
        model, witness = solver.propose(state)
        assert certify(problem, model, witness).gap == pytest.approx(solver.expected_gap(state), rel=1e-6, abs=1e-14)


def test_anybodys_weights_are_certified():
    problem = Case(intercept=True).problem()
    best = solve(problem, "newton_cg", tol=1e-10)
    found = certify(problem, 1.01 * best.model.weights)
    assert best.certificate.dual * (1 - 1e-9) <= found.primal
    assert found.gap <= 2.0 * (found.primal - best.certificate.primal) + 1e-9


def test_what_is_refused():
    problem = Case().problem()
    with pytest.raises(FenchelError, match=r"newton_cg requires the regularizer 'l2' \(ridge\), got 'elastic_net'"):
        solve(replace(problem, regularizer=ElasticNet(0.5)), "newton_cg")
    with pytest.raises(FenchelError, match="newton_cg requires the multinomial risk"):
        solve(Problem(np.eye(2), MeanRisk("logistic", [1.0, -1.0]), 1.0), "newton_cg")
    with pytest.raises(FenchelError, match="too weak for the size of X: lower C"):
        solve(replace(problem, lam=1e-120), "newton_cg")
    with pytest.raises(FenchelError, match="NaN or infinity"):
        solve(replace(problem, design=np.full((40, 5), np.nan)), "newton_cg")
