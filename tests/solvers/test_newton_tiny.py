"""Newton's steps in NumPy on tiny problems, against derivatives by differences and against the other solvers."""

import subprocess
import sys

import numpy as np
import pytest

from fenchel import Problem, certify, solve
from fenchel.losses import Huber as HuberLoss
from fenchel.losses import HuberHinge, Logistic, Squared, SquaredEpsilonInsensitive, SquaredHinge
from fenchel.risks import MEASURES, MULTICLASS, RANKINGS, MeanRisk, Multinomial
from fenchel.solvers import Newton, NewtonCG
from fenchel.solvers.newton import sample as sample_module
from fenchel.solvers.newton.tiny import is_tiny

LOSSES = [SquaredHinge(), HuberHinge(0.5), Logistic(), Squared(), HuberLoss(0.7), SquaredEpsilonInsensitive(0.2)]


def _case(loss, intercept, weighted=False, n=60, d=4, seed=0, C=10.0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d))
    scores = X @ random.standard_normal(d) + 0.5 * random.standard_normal(n) + 0.3
    labels = np.where(scores > 0, 1.0, -1.0) if loss.task == "classification" else scores
    weights = random.integers(0, 3, n).astype(float) if weighted else None
    return Problem(X, MeanRisk(loss, labels, weights), 1.0 / (C * n), intercept=intercept)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_derivatives_are_those_of_the_value(loss):
    random = np.random.default_rng(1)
    score = 3.0 * random.standard_normal(400)
    label = np.where(random.random(400) < 0.5, 1.0, -1.0)
    first, second = loss.derivatives(score, label)
    np.testing.assert_allclose(first, loss.derivative(score, label), rtol=1e-14, atol=1e-15)
    step = 1e-6
    lower, upper = loss.derivative(score - step, label), loss.derivative(score + step, label)
    # none of the scores is within a step of a kink of the derivative
    np.testing.assert_allclose(second, (upper - lower) / (2.0 * step), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_tiny_steps_reach_the_optimum_of_the_other_steps(loss, intercept, weighted, monkeypatch):
    problem = _case(loss, intercept, weighted)
    assert is_tiny(problem, problem.design.shape[0])
    found = Newton().solve_outputs(problem, 1e-9, 1000.0)
    certificate = certify(problem, found.model, found.witness)
    assert certificate.relative_gap <= 1e-8
    monkeypatch.setattr(sample_module, "is_tiny", lambda *_: False)
    other = solve(problem, Newton(), tol=1e-9)
    assert other.certificate.primal == pytest.approx(certificate.primal, rel=1e-8)
    np.testing.assert_allclose(found.model.weights, other.model.weights, rtol=1e-3, atol=1e-3)


def test_outputs_that_end_at_different_steps_are_those_of_each_alone():
    random = np.random.default_rng(3)
    X, W = random.standard_normal((80, 3)), random.standard_normal((3, 4)) * [0.1, 1.0, 10.0, 100.0]
    labels = np.where(X @ W + random.standard_normal((80, 4)) > 0, 1.0, -1.0)
    problem = Problem(X, MeanRisk("squared_hinge", labels), 1e-3, intercept=True)
    together = Newton().solve_outputs(problem, 1e-6, 1000.0)
    assert len(set(together.passes)) > 1
    for k, alone in enumerate(problem.outputs_apart):
        found = Newton().solve_outputs(alone, 1e-6, 1000.0)
        np.testing.assert_array_equal(found.model.weights, together.model.weights[k])
        np.testing.assert_array_equal(found.witness.theta, together.witness.theta[:, k])
        assert found.model.intercept == together.model.intercept[k]
        assert found.passes == [together.passes[k]]


def test_a_loss_that_is_linear_at_all_scores_is_minimized():
    """Its Hessian is zero at the start: every target is far beyond the width."""
    random = np.random.default_rng(4)
    X = random.standard_normal((30, 2))
    labels = np.where(random.random(30) < 0.5, -1e3, 1e3)
    problem = Problem(X, MeanRisk(HuberLoss(1.0), labels), 1e-2, intercept=True)
    found = Newton().solve_outputs(problem, 1e-6, 1000.0)
    if found is not None:
        assert certify(problem, found.model, found.witness).relative_gap <= 1e-5
    assert solve(problem, tol=1e-6).converged


def test_data_passes_are_limited():
    problem = _case(Logistic(), intercept=True)
    assert Newton().solve_outputs(problem, 1e-9, 1.0) is None
    joint = Problem(problem.design, Multinomial(np.arange(60) % 3), 1e-3, intercept=True)
    assert NewtonCG().solve_outputs(joint, 1e-12, 1.0) is None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_tiny_classes_reach_the_optimum_of_block_coordinate_descent(intercept, weighted, C):
    random = np.random.default_rng(5)
    y = np.arange(50) % 4
    X = random.standard_normal((50, 3)) + np.eye(4, 3)[y] + 2.0
    weights = random.integers(0, 3, 50).astype(float) if weighted else None
    problem = Problem(X, Multinomial(y, 4, weights), 1.0 / (C * 50), intercept=intercept)
    found = NewtonCG().solve_outputs(problem, 1e-9, 1000.0)
    certificate = certify(problem, found.model, found.witness)
    assert certificate.relative_gap <= 1e-8
    other = solve(problem, "block_coordinate", tol=1e-5, max_iter=np.inf)
    assert certificate.primal <= other.certificate.primal * (1.0 + 1e-8)
    assert certificate.primal >= other.certificate.dual * (1.0 - 1e-8)
    assert np.sum(found.model.intercept) == pytest.approx(0.0, abs=1e-9)


def test_a_class_without_examples_is_left_to_the_other_steps():
    """Its intercept has no finite optimum, and no curvature where its probability is zero."""
    problem = Problem(
        np.random.default_rng(6).standard_normal((30, 2)), Multinomial(np.arange(30) % 2, 3), 0.1, "l2", True
    )
    found = NewtonCG().solve_outputs(problem, 1e-9, 1000.0)
    assert found is None or certify(problem, found.model, found.witness).relative_gap <= 1e-8
    assert solve(problem, "newton_cg", tol=1e-6).converged


_IMPORTS = """
import sys
import numpy as np
from sklearn.datasets import load_iris
import fenchel
X, y = load_iris(return_X_y=True)
for model in (fenchel.LinearSVC(), fenchel.LogisticRegression(), fenchel.LinearRegressor("huber", C=0.1)):
    model.fit(X, y).predict(X)
fenchel.LinearSVC().fit(X, y == 1)
absent = ("numba", "fenchel.risks.chains", "fenchel.risks.measures", "fenchel.risks.ranking", "fenchel.kernels")
print([name for name in absent if name in sys.modules])
"""


def test_tiny_fits_import_neither_the_compiler_nor_other_risks():
    done = subprocess.run([sys.executable, "-c", _IMPORTS], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("registry", [MULTICLASS, MEASURES, RANKINGS])
def test_registries_have_the_names_of_the_classes(registry):
    assert [registry[name].name for name in registry] == list(registry)
