"""Solvers of labelled sequences with features of pairs of tokens: enumeration, a conic solver, and other solvers."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import slow_chain_edges as slow
from chain_cases import conic_optimum_of
from fenchel import FenchelError, Problem, solve
from fenchel.designs import ChainDesign
from fenchel.risks import ChainHinge, ChainLogistic
from fenchel.solvers import ExponentiatedGradient, FrankWolfe, Hint
from fenchel.solvers.choose import choose

HINT = Hint(None, target_gap=1e-9, stop_requested=lambda: False)
CASES = [
    # (labels, lengths, features, edge features, lam, ends)
    (2, [3, 1, 2, 4], 3, 1, 0.3, True),
    (3, [4, 3, 2, 3], 6, 3, 0.05, False),
    (3, [1, 4, 1, 2], 2, 2, 0.2, True),
]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def problem_of(case, kind, *, weighted=False):
    """The problem, the matrix of its design, and {labelling: features} of each sequence."""
    m, lengths, features, K, lam, ends = case
    rng = np.random.default_rng([m, K])
    n = sum(lengths)
    X = rng.standard_normal((n, features)) * (rng.random((n, features)) < 0.7)
    edges = rng.standard_normal((n, K)) * (rng.random((n, K)) < 0.7)
    labels = rng.integers(0, m, n)
    weights = rng.integers(1, 4, len(lengths)) if weighted else None
    risk = kind(labels, lengths, m, weights, edges)
    design = ChainDesign(sp.csr_array(X), m, ends=ends, edge_features=K)
    tail = (1 + K) * m * m + 2 * m
    kept = tail if ends else tail - 2 * m
    A = np.block(
        [
            [np.kron(X, np.eye(m)), np.zeros((n * m, kept))],
            [np.zeros((tail, features * m)), np.eye(tail)[:, :kept]],
        ]
    )
    return Problem(design, risk, lam), A, slow.every(labels, lengths, edges, m)


def mean_of(risk, every, probabilities):
    """sum_q c_q (phi(y_q) - E phi(y))."""
    return slow.theta(probabilities, every, risk.shares, risk.examples)


@every_case
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["frank_wolfe", "bundle", "auto"])
def test_max_margin_optimum_is_that_of_a_conic_solver(case, weighted, solver):
    problem, A, every = problem_of(case, ChainHinge, weighted=weighted)
    solution = solve(problem, solver, tol=1e-6, max_iter=20000)
    assert solution.converged
    assert solution.certificate.recomputed
    labellings = []
    for q, (own, features) in enumerate(every):
        for y, one in features.items():
            difference = np.zeros(problem.risk.examples)
            for sign, parts in ((1.0, one), (-1.0, features[own])):
                for place, value in parts.items():
                    difference[place] += sign * value
            labellings.append((q, A.T @ difference, slow.hamming(y, own)))
    expected = conic_optimum_of(problem, labellings)
    assert solution.certificate.primal == pytest.approx(expected, rel=2e-6)
    assert solution.certificate.dual <= expected * (1 + 1e-8) + solution.certificate.rounding_floor


@every_case
def test_frank_wolfe_steps_are_those_of_enumerated_labellings(case):
    """v is that of the labellings with their weights, no step decreases D, and block gaps bound D(optimum) - D."""
    problem, A, every = problem_of(case, ChainHinge)
    risk, lam, solver = problem.risk, problem.lam, FrankWolfe(seed=0, gap_sampling=False)
    state, values = solver.start(problem, None), []
    for _ in range(8):
        solver.step(state, HINT)
        p, distance = [], 0.0
        for q, (own, _) in enumerate(every):
            begin, end = risk.sequences.begins[q], risk.sequences.begins[q] + len(own)
            mixture = {}
            for k in range(state.counts[q]):
                y = tuple(state.labels[k, begin:end].tolist())
                mixture[y] = mixture.get(y, 0.0) + state.weights[k, q]
                distance += risk.shares[q] * state.weights[k, q] * slow.hamming(y, own)
            assert math.fsum(mixture.values()) == pytest.approx(1.0, abs=1e-12)
            p.append(mixture)
        v = A.T @ mean_of(risk, every, p) / lam
        np.testing.assert_allclose(problem.design.joined(state.W, state.T, *state.ends), v, atol=1e-10)
        values.append(distance - 0.5 * lam * v @ v)
    assert np.all(np.diff(values) >= -1e-12)
    assert values[-1] > 0.0
    # nothing is left of a difference of labellings
    assert not any(np.any(part) for part in state.difference)


@every_case
def test_exponentiated_gradient_steps_are_those_of_enumerated_labellings(case):
    """The marginals, the entropies and v are those of the natural parameters, and no epoch decreases D."""
    problem, A, every = problem_of(case, ChainLogistic, weighted=True)
    risk, m, lam, solver = problem.risk, problem.design.labels, problem.lam, ExponentiatedGradient(seed=0)
    state, values = solver.start(problem, None), []
    for _ in range(5):
        assert solver.step(state, HINT) == 1.0
        p = []
        for q, one in enumerate(every):
            scores = np.concatenate([state.dual.u.ravel(), state.dual.U[q].ravel(), np.zeros(2 * m)])
            (own,) = slow.gibbs(scores, [one])
            entropy = -math.fsum(x * math.log(x) for x in own.values() if x)
            assert state.dual.entropies[q] == pytest.approx(entropy, abs=1e-10)
            p.append(own)
        v = A.T @ mean_of(risk, every, p) / lam
        np.testing.assert_allclose(state.flat_weights(), v, atol=1e-9 * max(1.0, np.max(np.abs(v))))
        values.append(risk.shares @ state.dual.entropies - 0.5 * lam * v @ v)
    assert np.all(np.diff(values) >= -1e-12)


@every_case
@pytest.mark.parametrize("weighted", [False, True])
def test_solvers_of_the_log_loss_agree(case, weighted):
    problem, _, _ = problem_of(case, ChainLogistic, weighted=weighted)
    found = [solve(problem, name, tol=1e-7, max_iter=5000) for name in ("exponentiated_gradient", "smoothing")]
    for solution in found:
        assert solution.converged
        assert solution.certificate.recomputed
    assert found[0].certificate.primal == pytest.approx(found[1].certificate.primal, rel=2e-7)


@pytest.mark.parametrize("kind", [ChainHinge, ChainLogistic])
def test_warm_starts_keep_what_was_proved(kind):
    problem, _, _ = problem_of(CASES[1], kind)
    name = "frank_wolfe" if kind is ChainHinge else "exponentiated_gradient"
    first = solve(problem, name, tol=1e-6, max_iter=20000)
    again = solve(problem, name, tol=1e-6, warm_start=first)
    assert again.passes <= 3
    assert again.certificate.primal == pytest.approx(first.certificate.primal, rel=2e-6)


@pytest.mark.parametrize("kind", [ChainHinge, ChainLogistic])
def test_features_that_are_zero_change_no_step(kind):
    rng = np.random.default_rng(3)
    lengths, m = [4, 2, 5, 1], 3
    n = sum(lengths)
    X, labels, zeros = rng.standard_normal((n, 4)), rng.integers(0, m, n), np.zeros((n, 2))
    name = "frank_wolfe" if kind is ChainHinge else "exponentiated_gradient"
    plain = Problem(ChainDesign(X, m), kind(labels, lengths, m), 0.2)
    same = Problem(ChainDesign(X, m, edge_features=2), kind(labels, lengths, m, None, zeros), 0.2)
    one, other = (solve(problem, name, max_iter=20, tol=0.0, seed=1) for problem in (plain, same))
    W, T, a, z = same.design.split(other.model.weights)
    assert not np.any(T[1:])
    for expected, got in zip(plain.design.split(one.model.weights), (W, T[0], a, z), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-9)


def test_auto_takes_the_fast_solvers():
    rng = np.random.default_rng(0)
    lengths, m, K = [20] * 5, 4, 2
    n = sum(lengths)
    X, labels, edges = rng.standard_normal((n, 80)), rng.integers(0, m, n), rng.standard_normal((n, K))
    for kind, name in ((ChainHinge, "frank_wolfe"), (ChainLogistic, "exponentiated_gradient")):
        problem = Problem(ChainDesign(X, m, edge_features=K), kind(labels, lengths, m, None, edges), 4.0)
        assert choose(problem, "auto")[0].solver.name == name
    # so many features of pairs that those of every sequence would take the most memory
    many = ChainLogistic(labels, lengths, m, None, rng.standard_normal((n, 60)))
    wide = Problem(ChainDesign(X, m, edge_features=60), many, 4.0)
    assert choose(wide, "auto")[0].solver.name == "smoothing"


@pytest.mark.parametrize("kind", [ChainHinge, ChainLogistic])
def test_a_design_of_other_tokens_is_refused(kind):
    """12 tokens of 2 labels have as many scores as 2 of 4: the loops would read rows that do not exist."""
    risk = kind([0, 1] * 6, [12], 2)
    design = ChainDesign(np.ones((2, 3)), 4)
    assert design.shape[0] == risk.examples
    with pytest.raises(FenchelError, match="as many tokens, labels and features of pairs"):
        solve(Problem(design, risk, 0.1), "frank_wolfe" if kind is ChainHinge else "exponentiated_gradient")
