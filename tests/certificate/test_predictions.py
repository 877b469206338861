"""Proved predictions: no exact optimum contradicts one, and its scores lie in their intervals."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel import Model, Problem, Witness, solve
from fenchel.certificate import OptimumBall, certified_predictions, judge, optimum_ball
from fenchel.certificate.confinement import (
    brackets_at_scores,
    check_confined,
    sketch_around,
    sketch_at_scores,
    training_rows,
)
from fenchel.certificate.predictions import from_ball, kind_of
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.kernels import GramDesign, GramNorm
from fenchel.regularizers import L1, ElasticNet, Entropy, FreeDirections, QNorm, QuadraticForm, UnnormalizedEntropy
from fenchel.risks import CrammerSinger, MeanRisk, Multinomial, WestonWatkins
from slow_optimum import LOSSES, exact_optimum, optimal_intercepts, random_problem

#: distances from the optimum; gaps of smooth losses are their squares
NOISE = [0.3, 0.1, 1e-2, 3e-4, 1e-5, 1e-8, 1e-11]
every_loss = pytest.mark.parametrize("loss", LOSSES)
with_and_without = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])


def near(problem, weights, intercept, theta, noise, rng):
    """A model and a witness about ``noise`` from an optimum, relative to their sizes."""
    w, b = np.array(weights, dtype=float), float(intercept)
    moved = w + noise * (1 + np.abs(w)) * rng.normal(size=w.shape)
    scores = problem.design.scores(w) + b
    other = -problem.risk.subgradient(scores + noise * rng.normal(size=scores.shape))
    return Model(moved, None if problem.intercept else 0.0), Witness(theta + noise * (other - theta))


def at_scores(problem, model, witness, rows):
    """What is proved after a time limit: from the scores of the certificate, without a product with the data."""
    certificate, model, witness, known = judge(problem, model, witness)
    sizes = training_rows(problem)
    ball = sketch_at_scores(problem, sizes, certificate, model, witness, known.v, known.scores).ball()
    products = problem.design.scores(model.weights)
    # up to the roundings of the weights, which the other has not
    assert (
        ball.radius
        <= 1e-9 + (1.0 + 1e-6) * sketch_around(problem, sizes, certificate, model.weights, products).ball().radius
    )
    design = as_design(rows)
    return from_ball(ball, design, design.scores(model.weights) + model.intercept, kind_of(problem))


def exact_scores(rows, weights, intercept):
    return [sum(Fraction(float(a)) * v for a, v in zip(row, weights, strict=True)) + intercept for row in rows]


def assert_covers(found, scores):
    for low, high, score in zip(found.lower, found.upper, scores, strict=True):
        assert low <= score <= high
    if found.kind == "sign":
        for proved, predicted, score in zip(found.proved, found.predictions, scores, strict=True):
            assert not proved or (score > 0) == (predicted > 0)


@every_loss
@with_and_without
@pytest.mark.parametrize("storage", ["dense", "weighted", "float32", "offset", "scaled"])
@pytest.mark.meetings(1)
def test_every_exact_optimum_agrees(loss, intercept, storage, portion):
    tried, decided, ratios = 0, [], []
    for seed in range(portion(40, 20)):
        offset, dtype = 100.0 * (storage == "offset"), np.float32 if storage == "float32" else np.float64
        X, y, weights, lam = random_problem(seed, loss, offset, storage == "weighted", dtype)
        if storage == "scaled":
            # columns of sizes from 1e-2 to 1e2
            X = X * 10.0 ** np.random.default_rng([13, seed]).uniform(-2, 2, size=X.shape[1])
        problem = Problem(X, MeanRisk(loss, y, weights), lam, intercept=intercept)
        optimum = exact_optimum(loss, X.astype(np.float64), y, problem.risk.shares, lam, intercept)
        if optimum is None:
            continue
        tried += 1
        rng = np.random.default_rng([12, seed])
        rows = np.vstack([X, rng.normal(size=(30, X.shape[1])) + offset])
        scores = exact_scores(rows, *optimum)
        ends = [optimum[1]]
        if intercept:
            ends = optimal_intercepts(loss, X, y, problem.risk.shares, *optimum)
        # optimal intercepts that are not unique may disagree about a sign
        decidable = [(s - optimum[1] + ends[0] > 0) == (s - optimum[1] + ends[-1] > 0) for s in scores]
        theta = solve(problem, tol=0.0, max_iter=3000).witness.theta
        for noise in NOISE:
            pair = near(problem, *optimum, theta, noise, rng)
            found = certified_predictions(problem, *pair, rows)
            each = [found, at_scores(problem, *pair, rows)] if brackets_at_scores(problem) else [found]
            for b in ends:
                for one in each:
                    assert_covers(one, [score - optimum[1] + b for score in scores])
            half, away = 0.5 * (found.upper - found.lower), 0.5 * (found.upper + found.lower) - np.array(scores, float)
            ratios.append(float(np.median(half / np.maximum(np.abs(away), 1e-300))))
            if found.certificate.relative_gap <= 1e-10:
                decided += ((found.lower > 0) | (found.upper < 0))[decidable].tolist()
    assert tried >= portion(40, 20) // 2
    assert not decided or np.mean(decided) >= 0.9
    # shown by pytest -s: half-width over the distance of the score from the middle of its interval
    print(f"{loss}, {storage}, intercept={intercept}: half-width / deviation {np.median(ratios):.3g}")


def data(seed=0, n=60, d=4, k=3):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(n, d)), rng.normal(size=(200, d))
    noise = 0.5 * rng.normal(size=(n, k))
    return X, np.where(X[:, 0] + noise[:, 0] > 0, 1.0, -1.0), np.argmax(X[:, :k] + noise, axis=1), T


@pytest.mark.meetings(1)
@with_and_without
@pytest.mark.parametrize(
    "regularizer", ["l2", ElasticNet(0.4), QuadraticForm(np.array([1.0, 2.0, 4.0, 0.5])), QNorm(1.5)]
)
def test_a_tight_solve_of_the_logistic_loss_agrees(intercept, regularizer):
    X, y, _, T = data()
    problem = Problem(X, MeanRisk("logistic", y), 0.02, regularizer, intercept)
    tight = solve(problem, tol=0.0, max_iter=5000)
    scores = T @ tight.model.weights + tight.model.intercept
    for tol in (1e-2, 1e-5, 1e-9):
        solution = solve(problem, tol=tol, max_iter=5000)
        found = certified_predictions(problem, solution.model, solution.witness, T)
        allowed = 1e-6
        assert np.all(found.lower - allowed <= scores)
        assert np.all(scores <= found.upper + allowed)
        assert np.all((scores > 0)[found.proved] == (found.predictions > 0)[found.proved])
    assert found.share_proved > 0.95


@pytest.mark.meetings(1)
@with_and_without
@pytest.mark.parametrize("risk", [Multinomial, WestonWatkins, CrammerSinger])
def test_joint_classes(risk, intercept):
    X, _, classes, T = data()
    problem = Problem(X, risk(classes), 0.02, intercept=intercept)
    tight = solve(problem, tol=0.0, max_iter=5000)
    if intercept and risk is CrammerSinger:
        with pytest.raises(FenchelError, match="can't be bracketed"):
            optimum_ball(problem, tight.model, tight.witness)
        return
    scores = T @ tight.model.weights.T + tight.model.intercept
    differences = scores[:, :, None] - scores[:, None, :]
    for tol in (1e-2, 1e-5, 1e-10):
        solution = solve(problem, tol=tol, max_iter=5000)
        each = [certified_predictions(problem, solution.model, solution.witness, T)]
        if intercept:
            each.append(at_scores(problem, solution.model, solution.witness, T))
        for found in each:
            assert np.all(np.argmax(scores, axis=1)[found.proved] == found.predictions[found.proved])
            assert np.all(differences <= found.upper[:, :, None] - found.lower[:, None, :] + 1e-6)
    assert all(found.share_proved > 0.9 for found in each)


def test_a_witness_whose_weights_are_the_model_has_one_ball():
    X, y, _, T = data()
    problem = Problem(X, MeanRisk("hinge", y), 0.02, intercept=True)
    solution = solve(problem, "dual_coordinate", tol=1e-3)
    theta = judge(problem, solution.model, solution.witness).witness.theta
    pair = Model(problem.design.adjoint(theta) / problem.lam, solution.model.intercept), Witness(theta)
    found, known = certified_predictions(problem, *pair, T), at_scores(problem, *pair, T)
    assert known.radius == pytest.approx(found.radius, rel=1e-6)
    np.testing.assert_array_equal(known.proved, found.proved)


def test_what_has_no_bracket_is_refused_before_the_rows_are_read():
    X, _, classes, _ = data()
    problem = Problem(X, CrammerSinger(classes), 0.02, intercept=True)
    with pytest.raises(FenchelError, match="can't be bracketed"):
        check_confined(problem)
    check_confined(replace(problem, intercept=False))


def test_sparse_rows_have_the_same_intervals():
    X, y, _, T = data()
    for loss in ("hinge", "squared"):
        problem = Problem(X, MeanRisk(loss, y), 0.02, intercept=True)
        solution = solve(problem, tol=1e-6)
        dense = certified_predictions(problem, solution.model, solution.witness, T)
        sparse = certified_predictions(problem, solution.model, solution.witness, sp.csr_array(T))
        assert np.allclose(dense.lower, sparse.lower, rtol=1e-9, atol=1e-9)


def test_the_squared_loss_of_several_outputs():
    X, _, _, T = data()
    Y = X[:, :2] + 3.0
    problem = Problem(X, MeanRisk("squared", Y), 0.02, intercept=True)
    solution = solve(problem, tol=1e-8)
    found = certified_predictions(problem, solution.model, solution.witness, T)
    centred = X - X.mean(axis=0)
    w = np.linalg.solve(0.02 * np.eye(4) + centred.T @ centred / 60, centred.T @ (Y - Y.mean(axis=0)) / 60).T
    scores = T @ w.T + Y.mean(axis=0) - w @ X.mean(axis=0)
    assert np.all(found.lower - 1e-12 <= scores)
    assert np.all(scores <= found.upper + 1e-12)


def test_the_hessian_of_the_squared_loss_is_sharper_than_the_ball():
    X, y, _, T = data()
    problem = Problem(X, MeanRisk("squared", y), 1e-4)
    solution = solve(problem, tol=1e-3)
    ball = optimum_ball(problem, solution.model, Witness(0.999 * solution.witness.theta))
    assert ball.root is not None
    euclidean = ball.radius / np.sqrt(2e-4) * np.linalg.norm(T, axis=1)
    low, high = ball.score_intervals(problem.design.part(0, 1).__class__(T))
    assert np.median(0.5 * (high - low) / euclidean) < 0.1


def test_only_one_class_proves_nothing():
    X = data()[0]
    problem = Problem(X, MeanRisk("hinge", np.ones(60)), 0.1, intercept=True)
    solution = solve(problem)
    found = certified_predictions(problem, solution.model, solution.witness, X)
    assert np.all(np.isinf(found.upper))


@pytest.mark.parametrize(
    ("regularizer", "words"),
    [
        (L1(), "not strongly convex"),
        (UnnormalizedEntropy(), "not strongly convex"),
        (FreeDirections(np.eye(4)[:1]), "unregularized"),
        (Entropy(mass=1.0), "rounding"),
    ],
    ids=["l1", "unnormalized_entropy", "free_directions", "entropy"],
)
def test_regularizers_without_a_ball_are_refused(regularizer, words):
    X, y, _, T = data()
    problem = Problem(X, MeanRisk("logistic", y), 0.1, regularizer)
    with pytest.raises(FenchelError, match=words):
        certified_predictions(problem, problem.zero_model(), Witness(np.zeros(60)), T)


def test_other_refusals():
    X, y, _, T = data()
    gram = GramDesign(X @ X.T)
    kernel = Problem(gram, MeanRisk("hinge", y), 0.1, GramNorm(gram))
    with pytest.raises(FenchelError, match="Gram matrix"):
        certified_predictions(kernel, kernel.zero_model(), Witness(np.zeros(60)), T)
    plain = Problem(X, MeanRisk("hinge", y), 0.1)
    with pytest.raises(FenchelError, match="features"):
        certified_predictions(plain, plain.zero_model(), Witness(np.zeros(60)), T[:, :2])
    hard = Problem(X[:, :1], MeanRisk("hard_margin", np.sign(X[:, 0])), 0.1, intercept=True)
    solution = solve(hard)
    with pytest.raises(FenchelError, match="constraint"):
        certified_predictions(hard, solution.model, solution.witness, T[:, :1])


def test_a_ball_travels():
    X, y, _, T = data()
    problem = Problem(X, MeanRisk("hinge", y), 0.1, intercept=True)
    solution = solve(problem, tol=1e-6)
    ball = optimum_ball(problem, solution.model, solution.witness)
    again = pickle.loads(pickle.dumps(ball))
    assert isinstance(again, OptimumBall)
    assert len(pickle.dumps(ball)) < 3000
    found = certified_predictions(problem, solution.model, solution.witness, T)
    assert "of 200 predictions are proved" in str(found)
    assert np.array_equal(pickle.loads(pickle.dumps(found)).lower, found.lower)


def test_intervals_of_joint_risks_are_those_of_one_optimum_for_every_regularizer():
    """The elastic net has weights whose sum over the classes is not zero: its centre must not decide the shift."""
    rng = np.random.default_rng(457)
    X, y = rng.normal(size=(30, 3)) + 1000.0, np.arange(30) % 3
    problem = Problem(X, Multinomial(y, 3), 0.05, ElasticNet(0.5), intercept=True)
    found = [solve(problem, tol=tol, max_iter=10_000) for tol in (1e-2, 1e-9)]
    rough, accurate = (certified_predictions(problem, one.model, one.witness, X) for one in found)
    assert np.all(rough.lower <= accurate.upper)
    assert np.all(accurate.lower <= rough.upper)
    shift = np.mean(accurate.lower + accurate.upper) / 2.0
    np.testing.assert_allclose(shift, 0.0, atol=np.max(accurate.upper - accurate.lower))
