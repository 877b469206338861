"""Exponentiated gradient steps on the dual of the log-loss of labelled sequences."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import slow_chains as slow
from chain_cases import CASES, matrix_of, problem_of
from fenchel import FenchelError, Problem, solve
from fenchel.designs import ChainDesign
from fenchel.risks import ChainHinge, ChainLogistic
from fenchel.solvers import ExponentiatedGradient, Hint
from fenchel.solvers.choose import choose

NAME = "exponentiated_gradient"
HINT = Hint(None, target_gap=1e-3, stop_requested=lambda: False)


def _text(sentences=60, labels=4, features=90, C=1.0, seed=0):
    """Indicators, a few for each token, as in text."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, sentences)
    y = rng.integers(0, labels, int(np.sum(lengths)))
    own = y[:, None] * (features // labels) + rng.integers(features // labels, size=(len(y), 2))
    columns = np.hstack([own, rng.integers(features, size=(len(y), 2))])
    X = sp.csr_array((np.ones(columns.size), columns.ravel(), 4 * np.arange(len(y) + 1)), (len(y), features))
    X.sum_duplicates()
    return Problem(ChainDesign(X, labels), ChainLogistic(y, lengths, labels), 1.0 / (C * sentences))


def _dual_objective(problem, state):
    """That of the natural parameters, by enumeration of labellings, and v of their means."""
    risk, m = problem.risk, problem.risk.sequences.labels
    own = (risk.labels, risk.sequences.lengths, m)
    sizes = risk.sequences.tokens * m
    p = []
    for q in range(len(risk.sequences)):
        scores = np.concatenate([state.dual.u.ravel(), state.dual.U[q].ravel(), np.zeros(2 * m)])
        assert len(scores) == sizes + m * m + 2 * m
        p.append(slow.gibbs(scores, *own)[q])
    mean = slow.mean_features(lambda q, y: risk.shares[q] * p[q][y], *own)
    gold = slow.mean_features(lambda q, y: risk.shares[q] * (y == _own(risk, q)), *own)
    v = matrix_of(problem).T @ (gold - mean) / problem.lam
    entropy = sum(-risk.shares[q] * sum(x * math.log(x) for x in one.values()) for q, one in enumerate(p))
    return entropy - 0.5 * problem.lam * v @ v, v


def _own(risk, q):
    begin = risk.sequences.begins[q]
    return tuple(risk.labels[begin : begin + risk.sequences.lengths[q]].tolist())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_epoch_increases_the_dual_objective_of_enumerated_labellings(case):
    problem = problem_of(case, "logistic")
    solver, values = ExponentiatedGradient(seed=0), []
    state = solver.start(problem, None)
    for _ in range(4):
        assert solver.step(state, HINT) == 1.0
        value, v = _dual_objective(problem, state)
        values.append(value)
        # the weights that steps move are those of the distributions
        np.testing.assert_allclose(state.flat_weights(), v, atol=1e-9 * max(1.0, np.max(np.abs(v))))
    assert np.all(np.diff(values) >= -1e-12)
    assert values[-1] > values[0]


def test_text_needs_few_epochs_and_agrees_with_lbfgs():
    problem = _text()
    found, other = (solve(problem, name, tol=1e-6) for name in (NAME, "smoothing"))
    assert found.converged
    assert found.passes <= 60
    assert found.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-6)
    assert found.certificate.dual <= other.certificate.primal * (1 + 1e-12)


@pytest.mark.parametrize("C", [1e-4, 1e3])
def test_extreme_strengths_end_with_a_proof_or_with_what_was_reached(C):
    found = solve(_text(30, C=C), NAME, max_iter=40)
    assert math.isfinite(found.certificate.primal)
    assert found.certificate.primal >= found.certificate.dual
    assert found.converged or C > 1.0


def test_scores_beyond_exponentials_do_not_spoil_the_weights():
    problem = _text(20, features=20)
    tokens = problem.design.tokens.sparse()
    large = Problem(ChainDesign(1e4 * tokens, 4), problem.risk, problem.lam)
    found = solve(large, NAME, max_iter=20)
    assert np.all(np.isfinite(found.model.weights))
    assert math.isfinite(found.certificate.primal)


def test_warm_start_takes_the_distributions_or_the_model():
    problem = _text(40)
    first = solve(problem, NAME, tol=1e-5)
    again = solve(problem, NAME, tol=1e-5, warm_start=first)
    assert again.passes <= 3
    from_primal = solve(problem, "smoothing", tol=1e-7)
    assert solve(problem, NAME, tol=1e-5, warm_start=from_primal).passes < first.passes


def test_sequences_of_weight_zero_are_removed_ones():
    plain, weights = _text(30), np.ones(30)
    weights[::3] = 0.0
    lengths, labels = plain.risk.sequences.lengths, plain.risk.labels
    kept = np.repeat(weights > 0.0, lengths)
    weighted = Problem(plain.design, ChainLogistic(labels, lengths, 4, weights), 0.1)
    fewer = Problem(
        ChainDesign(plain.design.tokens.sparse()[kept], 4), ChainLogistic(labels[kept], lengths[weights > 0], 4), 0.1
    )
    one, other = (solve(problem, NAME, tol=1e-7) for problem in (weighted, fewer))
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-7)


def test_auto_takes_it_for_many_weights_and_moderate_curvature():
    def first(problem):
        return choose(problem, "auto")[0].solver.name

    assert first(_text()) == NAME
    assert first(_text(C=1e2)) == NAME
    assert first(_text(C=1e3)) == "smoothing"
    assert first(_text(features=12)) == "smoothing"
    # 40 labels in sequences of one token: a matrix of pairs for each token
    short = Problem(ChainDesign(np.eye(40), 40), ChainLogistic(np.arange(40), np.ones(40), 40), 0.1)
    assert first(short) == "smoothing"


def test_refusals_name_what_is_required():
    problem = _text(5)
    hinge = Problem(problem.design, ChainHinge(problem.risk.labels, problem.risk.sequences.lengths, 4), 0.1)
    with pytest.raises(FenchelError, match="ChainLogistic"):
        solve(hinge, NAME)
    with pytest.raises(FenchelError, match="ChainDesign"):
        solve(Problem(np.eye(problem.risk.examples), problem.risk, 0.1), NAME)
    with pytest.raises(FenchelError, match="seed"):
        ExponentiatedGradient(seed=-1)
