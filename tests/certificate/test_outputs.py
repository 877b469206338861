"""Certificates of several outputs at once are those of one output at a time."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel import Model, Problem, Witness, solve
from fenchel.certificate import judge, judge_all, judge_outputs
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.losses import NAMED
from fenchel.numerics.rounding import tree_sum, tree_sums
from fenchel.risks import MeanRisk

#: constraints are infinite at most models
LOSSES = [name for name, loss in NAMED.items() if not loss.infinite]
_COUNT = 3


def labels_of(loss, rng, rows):
    if NAMED[loss].task == "classification":
        return np.where(rng.random((rows, _COUNT)) < 0.4, 1.0, -1.0)
    return np.abs(rng.normal(size=(rows, _COUNT)))


def case_of(loss, seed, rows=40, intercept=True, storage=np.asarray, weighted=False, offset=0.0):
    """The problem of all outputs, and the problem of each made by itself."""
    rng = np.random.default_rng(seed)
    X, labels = storage(rng.normal(size=(rows, 4)) + offset), labels_of(loss, rng, rows)
    weights = rng.integers(0, 3, rows).astype(float) if weighted else None
    joint = Problem(X, MeanRisk(loss, labels, weights), 0.05, intercept=intercept)
    return joint, [Problem(X, MeanRisk(loss, column, weights), 0.05, intercept=intercept) for column in labels.T]


def pair_of(joint, rng, near):
    """A model and a witness: near the optimum of each output, or of no use."""
    if near:
        solution = solve(joint, "dual_coordinate", tol=1e-12, max_iter=300)
        return solution.model, solution.witness
    intercept = rng.normal(size=_COUNT) if joint.intercept else joint.no_intercept()
    return Model(rng.normal(size=joint.weights_shape), intercept), Witness(1e-2 * rng.normal(size=joint.theta_shape))


def assert_same(found, alone, problem):
    """The same bounds up to rounding, and no larger errors than the finer ones of one output."""
    (certificate, model, witness, known), one = found, alone.certificate
    assert abs(certificate.primal - one.primal) <= certificate.primal_error
    assert certificate.dual == pytest.approx(one.dual, rel=1e-12, abs=2 * certificate.dual_error)
    assert certificate.rounding_floor <= (1 + 1e-9) * one.rounding_floor
    if alone.path_certificate.errors.fine:
        assert certificate.rounding_floor == pytest.approx(one.rounding_floor, rel=1e-9)
    assert (certificate.recomputed, certificate.trivial) == (one.recomputed, one.trivial)
    np.testing.assert_array_equal(witness.theta, alone.witness.theta)
    np.testing.assert_array_equal(model.weights, alone.model.weights)
    assert model.intercept == pytest.approx(alone.model.intercept, rel=1e-9, abs=1e-12)
    assert known.problem.theta_shape == problem.theta_shape


@pytest.mark.parametrize("loss", LOSSES)
def test_verdicts_are_those_of_one_output_at_a_time(loss):
    cases = [{}, {"intercept": False, "rows": 150}, {"weighted": True}, {"storage": sp.csr_array, "rows": 300}]
    for seed, options in enumerate(cases):
        joint, problems = case_of(loss, seed, **options)
        # where certificates are needed, near the optimum, for losses whose loops other tests compile
        model, witness = pair_of(joint, np.random.default_rng(seed), not seed and loss in ("squared_hinge", "logistic"))
        for k, found in enumerate(judge_outputs(joint, model, witness)):
            alone = judge(problems[k], Model(model.weights[k], float(model.intercept[k])), Witness(witness.theta[:, k]))
            assert_same(found, alone, problems[k])


def test_outputs_without_use_are_judged_alone():
    """Theta of one output is NaN, of another zero, and of the last worse than zero: the others are not affected."""
    joint, problems = case_of("squared_hinge", 3)
    rng = np.random.default_rng(0)
    model, witness = pair_of(joint, rng, near=True)
    poor = np.tile(witness.theta[:, :1], (1, _COUNT))
    poor[:, 0], poor[:, 1] = 0.0, -100.0 * rng.random(len(poor))
    nan = witness.theta.copy()
    nan[0, 1] = np.nan
    for theta in (poor, nan):
        for k, found in enumerate(judge_outputs(joint, Model(model.weights, None), Witness(theta))):
            assert_same(found, judge(problems[k], Model(model.weights[k], None), Witness(theta[:, k])), problems[k])


def test_scores_that_overflow_and_other_shapes_are_errors():
    joint, _ = case_of("squared_hinge", 3)
    model, witness = pair_of(joint, np.random.default_rng(0), near=False)
    with pytest.raises(FenchelError, match="overflow"):
        judge_outputs(joint, Model(np.full_like(model.weights, 1e308), model.intercept), witness)
    with pytest.raises(FenchelError, match="shape"):
        judge_outputs(joint, Model(model.weights[:2], model.intercept), witness)
    with pytest.raises(FenchelError, match="intercept"):
        judge_outputs(joint, Model(model.weights, np.full(_COUNT, np.inf)), witness)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_certificates_are_not_below_the_exact_gap(intercept, offset):
    """The squared hinge in rational numbers, on rows that cancel badly."""
    for seed in range(3):
        joint, _ = case_of("squared_hinge", seed, rows=12, intercept=intercept, offset=offset)
        model, witness = pair_of(joint, np.random.default_rng(seed), near=seed > 0)
        for found in judge_outputs(joint, model, witness):
            certificate, one, theta, known = found
            assert Fraction(certificate.upper) - Fraction(certificate.lower) >= _exact_gap(known.problem, one, theta)


def _exact_gap(problem, model, witness):
    rows = [[Fraction(float(x)) for x in row] for row in problem.design.sparse().toarray()]
    weights, theta = ([Fraction(float(x)) for x in part] for part in (model.weights, witness.theta))
    lam, share, b = Fraction(problem.lam), Fraction(1, len(rows)), Fraction(model.intercept)
    primal, conjugate = lam * sum(w * w for w in weights) / 2, Fraction(0)
    for row, label, t in zip(rows, problem.risk.labels, theta, strict=True):
        label = Fraction(float(label))
        primal += share * max(Fraction(0), 1 - label * (sum(x * w for x, w in zip(row, weights, strict=True)) + b)) ** 2
        conjugate += t * t / share / 4 - label * t
    v = [sum(t * row[j] for t, row in zip(theta, rows, strict=True)) for j in range(len(weights))]
    # what an unbalanced theta costs at least
    return primal + sum(x * x for x in v) / (2 * lam) + conjugate + abs(sum(theta)) * abs(b)


def test_finer_bounds_are_those_of_one_output():
    """Beyond the size at which one certificate begins with rough bounds."""
    joint, problems = case_of("logistic", 5, rows=2500)
    model, witness = pair_of(joint, np.random.default_rng(5), near=True)
    for k, found in enumerate(judge_outputs(joint, model, witness)):
        alone = judge(problems[k], Model(model.weights[k], float(model.intercept[k])), Witness(witness.theta[:, k]))
        assert_same(found, alone, problems[k])


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize(
    ("loss", "regularizer", "rows"), [("squared", "l1", 3000), ("logistic", "l1", 40_000), ("squared", "l2", 300)]
)
def test_points_of_a_path_are_those_of_one_at_a_time(loss, regularizer, rows, intercept):
    """Near the optimum, where the multiple of theta is at its bound, and far from it; in one block or several."""
    rng = np.random.default_rng(8)
    X, labels = rng.normal(size=(rows, 3)), labels_of(loss, rng, rows)[:, 0]
    risk = MeanRisk(loss, labels + X[:, 0] if loss == "squared" else labels)
    problems = [Problem(X, risk, lam, regularizer, intercept=intercept) for lam in (0.5, 0.1, 0.03, 0.01)]
    # of other designs: what a solver keeps at one may serve certificates too
    near = [solve(replace(problem, design=as_design(X)), tol=1e-7).model for problem in problems]
    far = [Model(size * rng.normal(size=3), None if intercept else 0.0) for size in (0.0, 0.1, 1.0, 3.0)]
    for models in (near, far):
        for problem, model, found in zip(problems, models, judge_all(problems, models), strict=True):
            scores = X @ model.weights
            scores += problem.best_intercept(scores) if model.intercept is None else model.intercept
            alone = judge(problem, model, Witness(-risk.subgradient(scores)))
            certificate, one = found.certificate, alone.certificate
            assert certificate.primal == pytest.approx(one.primal, rel=1e-14)
            assert certificate.dual == pytest.approx(one.dual, rel=1e-12, abs=2 * one.dual_error)
            assert certificate.rounding_floor == pytest.approx(one.rounding_floor, rel=1e-6)
            assert (certificate.recomputed, certificate.trivial) == (one.recomputed, one.trivial)
            np.testing.assert_allclose(found.witness.theta, alone.witness.theta, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(("size", "offset"), [(1.0, 0.0), (1e-5, 1e7), (1e6, 1e3)])
def test_bounds_of_multiples_hold_in_rational_numbers(size, offset, weighted):
    """R* of all multiples of a dual point comes from two sums, which cancel where targets are far from zero."""
    rng = np.random.default_rng(4)
    X = size * rng.normal(size=(140, 2))
    weights = rng.integers(0, 3, len(X)).astype(float) if weighted else None
    risk = MeanRisk("squared", X[:, 0] / size + rng.normal(size=len(X)) + offset, weights)
    largest = float(np.max(np.abs(X.T @ (risk.shares * risk.labels))))
    problems = [Problem(X, risk, share * largest, "l1") for share in (1.0, 0.5, 1e-2, 1e-4)]
    near = [solve(problem, tol=1e-6, max_iter=100).model for problem in problems]
    far = [Model(rng.normal(size=2) / size, 0.0) for _ in problems]
    counts = [Fraction(1)] * len(X) if weights is None else [Fraction(x) for x in weights]
    shares, labels = [count / sum(counts) for count in counts], [Fraction(x) for x in risk.labels]
    for models in (near, far):
        for problem, (certificate, model, witness, _) in zip(problems, judge_all(problems, models), strict=True):
            lam, theta, rows = Fraction(problem.lam), [Fraction(x) for x in witness.theta], X.tolist()
            assert all(
                abs(sum(t * Fraction(row[j]) for t, row in zip(theta, rows, strict=True))) <= lam for j in (0, 1)
            )
            scores = [sum(Fraction(x) * Fraction(w) for x, w in zip(row, model.weights, strict=True)) for row in rows]
            terms = zip(shares, scores, labels, theta, strict=True)
            primal, conjugate = lam * sum(abs(Fraction(w)) for w in model.weights), Fraction(0)
            for share, score, label, t in terms:
                primal += share * (score - label) ** 2 / 2
                conjugate += (t * t / share / 2 if share else 0) - t * label
            assert Fraction(certificate.upper) >= primal
            assert Fraction(certificate.lower) <= -conjugate


@pytest.mark.parametrize("loss", LOSSES)
def test_conjugates_along_a_dual_point(loss):
    rng = np.random.default_rng(9)
    risk = MeanRisk(loss, labels_of(loss, rng, 50), rng.integers(0, 3, 50).astype(float))
    theta = risk.project(1e-2 * rng.normal(size=(50, _COUNT)))
    along = risk.conjugate_along(theta)
    # a conjugate of one quadratic is that of these losses alone
    assert (along is not None) == (loss == "squared")
    for t in () if along is None else (0.0, 0.3, 1.0, 2.0):
        linear, quadratic = along
        for k, part in enumerate(risk.outputs_apart()):
            assert t * linear[k] + t**2 * quadratic[k] == pytest.approx(part.conjugate(t * theta[:, k]), abs=1e-14)


@pytest.mark.parametrize("rows", [1, 7, 128, 129, 1000, 4095, 4096, 5000])
def test_sums_of_columns_are_those_of_one_column(rows):
    values = np.random.default_rng(rows).normal(size=(rows, 3)) * 10.0 ** np.arange(3)
    expected = [tree_sum(column.copy()) for column in values.T]
    np.testing.assert_array_equal(tree_sums(values.copy()), expected)
    np.testing.assert_array_equal(tree_sums(np.asfortranarray(values)), expected)
