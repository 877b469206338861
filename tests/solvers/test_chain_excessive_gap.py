"""Excessive gap methods on max-margin Markov networks: the invariant at every step, with both prox functions."""

import math

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

import slow_chain_marginals
import slow_chains as slow
from chain_cases import CASES, conic_optimum, matrix_of, problem_of
from fenchel import FenchelError, Problem, Witness, solve
from fenchel.risks import ChainHinge
from fenchel.solvers import Bregman, Pragam
from fenchel.solvers.base import Hint
from fenchel.solvers.reference.chain_sets import CliqueMarginals

HINT = Hint(None, 0.0, lambda: False)


def random_point(duals, rng, concentration=1.0):
    """A stored point of a random distribution over labellings of each sequence."""
    risk, m = duals.risk, duals.risk.sequences.labels
    labellings, weights = [], []
    for q, (_, own) in enumerate(slow.sequences_of(risk.labels, risk.sequences.lengths)):
        for weight in rng.dirichlet(np.full(3, concentration)):
            labellings.append((q, rng.integers(0, m, size=len(own))))
            weights.append(weight)
    stored = np.concatenate([[len(weights)], [q for q, _ in labellings], weights, *(y for _, y in labellings)])
    return duals.start(Witness(np.zeros(risk.examples), None, stored)), stored


@pytest.mark.parametrize("case", CASES, ids=str)
def test_points_have_the_image_of_their_distributions(case):
    problem, rng = problem_of(case, "hinge", weighted=True), np.random.default_rng(0)
    duals = CliqueMarginals(problem.risk)
    point, stored = random_point(duals, rng)
    form = problem.risk.decomposed_form(np.zeros(0), stored)
    np.testing.assert_allclose(duals.image(point), form.theta, atol=1e-14)
    assert duals.conjugate(point) == pytest.approx(form.conjugate(form.theta), abs=1e-14)
    witness = duals.witness(point)
    np.testing.assert_allclose(witness.theta, form.theta, atol=1e-14)
    np.testing.assert_allclose(duals.start(witness), point, atol=1e-14)
    assert not np.any(duals.image(duals.zero()))
    # the scores of cliques are the adjoint, and their sum is the score of a labelling
    scores, any_point = rng.standard_normal(problem.risk.examples), rng.standard_normal(point.shape)
    any_point[~duals._pair, 1:] = 0.0
    cliques = duals.clique_scores(problem.risk.sequences.split(scores))
    assert np.vdot(cliques, any_point) == pytest.approx(scores @ duals.image(any_point), abs=1e-12)


def by_conic_solver(duals, centre, scores, curvature):
    """The step of one sequence by Clarabel: min R*(-theta) + s . theta + curvature d(point - centre)."""
    risk = duals.risk
    (length,), m = risk.sequences.lengths, risk.sequences.labels
    if length == 1:
        E, right = np.zeros((1, m * m)), np.ones(1)
        E[0, :m] = 1.0
        fixed = np.eye(m * m)[m:]
        E, right = np.vstack([E, fixed]), np.append(right, np.zeros(len(fixed)))
    else:
        E, right = slow_chain_marginals.equalities(length - 1, m)
    size = E.shape[1]
    gold = duals._gold.ravel()
    slope = duals._distance.ravel() + duals.clique_scores(risk.sequences.split(scores)).ravel()
    # delta = gold - alpha, c = 1
    linear = -slope - curvature * (gold - centre.ravel())
    A = sp.vstack([sp.csr_matrix(E), -sp.identity(size, format="csr")]).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    cones = [clarabel.ZeroConeT(len(right)), clarabel.NonnegativeConeT(size)]
    P = sp.csc_matrix(curvature * sp.identity(size))
    answer = clarabel.DefaultSolver(P, linear, A, np.append(right, np.zeros(size)), cones, settings).solve()
    return (gold - np.array(answer.x)).reshape(centre.shape)


@pytest.mark.parametrize("length", [1, 2, 4])
@pytest.mark.parametrize("curvature", [0.1, 3.0])
def test_steps_are_those_of_a_conic_solver(length, curvature):
    rng, m = np.random.default_rng(length), 3
    duals = CliqueMarginals(ChainHinge(rng.integers(0, m, size=length), [length], m))
    for _ in range(3):
        centre, scores = random_point(duals, rng)[0], rng.standard_normal(duals.risk.examples)
        found = duals.step(centre, scores, curvature)
        np.testing.assert_allclose(found, by_conic_solver(duals, centre, scores, curvature), atol=1e-5)


def lifted_matrix(problem):
    """The map from sqrt(c) alpha to X^T theta, whose squared norm over lam is L."""
    duals, A = CliqueMarginals(problem.risk), matrix_of(problem)
    columns = []
    shape, shares = duals._gold.shape, duals._shares[:, 0, 0]
    for k in range(math.prod(shape)):
        point = np.zeros(shape)
        point.ravel()[k] = 1.0
        clique = k // (shape[1] * shape[2])
        columns.append(math.sqrt(shares[clique]) * (A.T @ duals.image(point)))
    return np.array(columns).T


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_bound_on_the_lipschitz_constant(case):
    for weighted in (False, True):
        problem = problem_of(case, "hinge", weighted=weighted)
        exact = np.linalg.norm(lifted_matrix(problem), 2) ** 2
        assert exact <= CliqueMarginals(problem.risk).squared_norm(problem.design) * (1 + 1e-12)
        dense = Problem(matrix_of(problem), problem.risk, 1.0)
        assert exact <= CliqueMarginals(problem.risk).squared_norm(dense.design) * (1 + 1e-12)


def widest(duals, centre):
    """A bound on D_2 seen from the centre."""
    return (math.sqrt(duals.d_range) + math.sqrt(duals.squared_length(centre) / 2)) ** 2


@pytest.mark.meetings(1)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("lipschitz", ["adaptive", "data", "given"])
def test_the_excessive_gap_holds_at_every_step(case, lipschitz):
    problem = problem_of(case, "hinge", weighted=lipschitz == "data")
    A, lam, risk = matrix_of(problem), problem.lam, problem.risk
    given = np.linalg.norm(lifted_matrix(problem), 2) ** 2 / lam
    solver = Pragam(given if lipschitz == "given" else lipschitz)
    state, duals = solver.start(problem, None), CliqueMarginals(risk)
    own = (risk.labels, risk.sequences.lengths, risk.sequences.labels)
    for k in range(40):
        scores = A @ state.weights
        best = duals.step(state.centre, scores, state.mu)
        penalty = 0.5 * lam * float(state.weights @ state.weights)
        smoothed = penalty - duals.image(best) @ scores - duals.conjugate(best)
        smoothed -= 0.5 * state.mu * duals.squared_length(best - state.centre)
        pull = A.T @ duals.image(state.theta)
        dual = -float(pull @ pull) / (2 * lam) - duals.conjugate(state.theta)
        assert smoothed <= dual + 1e-11 * risk.value_at_zero
        gap = penalty + risk.shares @ slow.losses("hinge", scores, *own) - dual
        bound = widest(duals, state.centre)
        assert -1e-11 <= gap <= state.mu * bound + 1e-11
        if lipschitz != "adaptive":
            assert gap <= 4 * state.lipschitz * bound / ((k + 1) * (k + 2)) + 1e-11
        assert solver.step(state, HINT) > 0


@pytest.mark.meetings(1)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_excessive_gap_with_the_entropy_holds_at_every_step(case, weighted):
    problem = problem_of(case, "hinge", weighted=weighted)
    A, lam, risk = matrix_of(problem), problem.lam, problem.risk
    own = (risk.labels, risk.sequences.lengths, risk.sequences.labels)
    range_of_entropy = risk.shares @ (risk.sequences.lengths * math.log(own[2]))
    solver = Bregman()
    state = solver.start(problem, None)
    # the length of the features of the worst labellings
    n, m = risk.sequences.tokens, own[2]
    worst = 0.0
    for q, (begin, labels) in enumerate(slow.sequences_of(*own[:2])):
        lengths = []
        for y in slow.labellings(len(labels), m):
            nodes, tail = slow.features(y, m)
            phi = np.zeros(len(A))
            phi[begin * m : (begin + len(y)) * m], phi[n * m :] = nodes.ravel(), tail
            lengths.append(float(np.sum((A.T @ phi) ** 2)))
        worst += risk.shares[q] * max(lengths)
    assert worst / lam <= state.lipschitz_bound * (1 + 1e-12)
    for _ in range(30):
        scores = A @ state.weights
        penalty = 0.5 * lam * float(state.weights @ state.weights)
        smoothed = penalty + risk.shares @ smoothed_losses(scores, state.mu, *own)
        pull = A.T @ state.theta
        dual = state.negative_conjugate - float(pull @ pull) / (2 * lam)
        assert smoothed <= dual + 1e-11 * risk.value_at_zero
        gap = penalty + risk.shares @ slow.losses("hinge", scores, *own) - dual
        assert -1e-11 <= gap <= state.mu * range_of_entropy + 1e-11
        assert solver.step(state, HINT) > 0


def smoothed_losses(scores, mu, labels, lengths, count):
    """mu log of the mean over all labellings of exp((Hamming distance + score) / mu), less the score of the data."""
    n = len(labels)
    nodes, tail = scores[: n * count].reshape(n, count), scores[n * count :]
    found = []
    for begin, own in slow.sequences_of(labels, lengths):
        local = nodes[begin : begin + len(own)]
        values = [slow.hamming(y, own) + slow.score(y, local, tail, count) for y in slow.labellings(len(own), count)]
        top = max(values)
        mean = math.fsum(math.exp((value - top) / mu) for value in values) / len(values)
        found.append(top + mu * math.log(mean) - slow.score(own, local, tail, count))
    return np.array(found)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(
    ("solver", "tol"), [("pragam", 1e-3), ("bregman", 1e-2), pytest.param("pragam", 1e-6, marks=pytest.mark.thorough)]
)
def test_the_optimum_is_that_of_a_conic_solver(case, solver, tol):
    problem = problem_of(case, "hinge", weighted=True)
    solution = solve(problem, solver, tol=tol, max_iter=5000)
    assert solution.converged
    assert solution.certificate.recomputed
    expected = conic_optimum(problem)
    assert solution.certificate.primal == pytest.approx(expected, rel=2 * tol)
    assert solution.certificate.dual <= expected * (1 + 1e-8) + solution.certificate.rounding_floor


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES[:2], ids=str)
def test_the_entropy_proves_small_gaps(case):
    """To 1e-6, like every solver; without restarts it takes some ten thousand passes."""
    problem = problem_of(case, "hinge", weighted=True)
    solution = solve(problem, "bregman", tol=1e-6, max_iter=40000)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(conic_optimum(problem), rel=2e-6)


@pytest.mark.thorough
def test_warm_starts_from_the_witness_of_another_solver():
    problem = problem_of(CASES[0], "hinge")
    first = solve(problem, "frank_wolfe", tol=1e-5, max_iter=20000)
    near = Problem(problem.design, problem.risk, 1.01 * problem.lam)
    cold, warm = (solve(near, "pragam", tol=1e-4, max_iter=5000, warm_start=start) for start in (None, first))
    assert warm.converged
    assert warm.passes < cold.passes
    # and Frank-Wolfe steps from Markov chains, which it does not read
    assert solve(near, "frank_wolfe", tol=1e-3, max_iter=5000, warm_start=warm).converged


def test_any_matrix_can_be_the_design():
    problem = problem_of(CASES[0], "hinge")
    dense = Problem(matrix_of(problem), problem.risk, problem.lam)
    for solver in ("pragam", "bregman"):
        one, other = (solve(p, solver, tol=1e-2, max_iter=3000).certificate.primal for p in (problem, dense))
        assert one == pytest.approx(other, rel=2e-2)


@pytest.mark.parametrize("solver", [Bregman(), Pragam()])
def test_features_whose_norms_overflow_are_refused(solver):
    problem = problem_of(CASES[0], "hinge")
    huge = Problem(1e200 * matrix_of(problem), problem.risk, problem.lam)
    with pytest.raises(FenchelError, match="scale X"):
        solve(huge, solver)
