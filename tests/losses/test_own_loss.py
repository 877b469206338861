"""A user's loss, word for word as in docs/custom-loss.md: trained, edited, removed."""

import contextlib
import io
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

import fenchel
import slow_reference as slow
from fenchel import FenchelError, LinearClassifier, LinearRegressor, Problem, solve
from fenchel.compile.dispatch import dual_step, kkt_margin, method_of, step_by_derivative
from fenchel.losses import LOSSES, CustomLoss
from fenchel.risks import MeanRisk

PAGE = Path(__file__).resolve().parents[2] / "docs" / "custom-loss.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
MODULE, CHECK, CLASSIFICATION = BLOCKS[0], BLOCKS[2], BLOCKS[3]


@pytest.fixture(scope="module")
def page():
    """The names that the page defines; its own check of the formulas is run."""
    names = {"__name__": "page"}
    exec(MODULE, names)
    exec(CHECK, names)
    return names


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    return X, X @ rng.standard_normal(4) + rng.standard_t(2, 60)


def optimum(X, y, lam, width, intercept):
    """By L-BFGS from the formula."""
    A = np.column_stack([X, np.ones(len(y))]) if intercept else X

    def objective(z):
        r = (A @ z - y) / width
        gradient = A.T @ (width * r / np.sqrt(1 + r * r)) / len(y)
        gradient[: X.shape[1]] += lam * z[: X.shape[1]]
        return lam / 2 * np.sum(z[: X.shape[1]] ** 2) + width**2 * np.mean(np.sqrt(1 + r * r) - 1), gradient

    return minimize(objective, np.zeros(A.shape[1]), jac=True, options={"gtol": 1e-10}).fun


@pytest.mark.parametrize("intercept", [False, True])
def test_it_is_trained_to_the_optimum(page, data, intercept):
    X, y = data
    problem = Problem(X, MeanRisk(page["PseudoHuber"](0.7), y), 0.05, intercept=intercept)
    solution = solve(problem, "dual_coordinate", tol=1e-9, max_iter=5000)
    assert solution.converged, str(solution)
    assert solution.certificate.primal == pytest.approx(optimum(X, y, 0.05, 0.7, intercept), rel=1e-8)


def test_estimators_take_it(page, data):
    X, y = data
    model = LinearRegressor(page["PseudoHuber"](0.7), C=1 / (60 * 0.05), tol=1e-6, random_state=0).fit(X, y)
    assert model.certificate_.primal == pytest.approx(optimum(X, y, 0.05, 0.7, True), rel=1e-5)
    with pytest.raises(FenchelError, match="method hess_conjugate"):
        LinearRegressor(page["PseudoHuber"](), solver="newton").fit(X, y)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_domain_may_be_two_numbers_for_all_labels(page, data, intercept):
    class OneInterval(page["PseudoHuber"]):
        def domain(self, y):
            return -self.width, self.width

    X, y = data
    found, expected = (
        solve(Problem(X, MeanRisk(kind(0.7), y), 0.05, intercept=intercept), tol=1e-6)
        for kind in (OneInterval, page["PseudoHuber"])
    )
    assert found.certificate.primal == expected.certificate.primal
    assert found.certificate.dual == expected.certificate.dual


def test_bounds_and_intercepts_are_found_from_the_formulas(page, data):
    loss, (_, y) = page["PseudoHuber"](0.7), data
    for level in (1e-9, 0.3, 50.0):
        low, high = loss.sublevel(np.full_like(y, level), y)
        # outside by at most a rounding
        np.testing.assert_allclose(loss.value(low, y), level, rtol=1e-6)
        np.testing.assert_allclose(loss.value(high, y), level, rtol=1e-6)
        assert np.all(loss.value(low - 1e-3, y) > level) and np.all(loss.value(high + 1e-3, y) > level)
    share = np.full(60, 1 / 60)
    b = loss.best_intercept(0 * y, y, share)
    assert abs(share @ loss.derivative(b + 0 * y, y)) < 1e-15


@pytest.fixture(scope="module")
def costs():
    """What the page's section on classification defines and prints."""
    names, said = {"__name__": "page"}, io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(CLASSIFICATION, names)
    return names, said.getvalue()


def test_a_loss_for_classification_is_certified_with_an_intercept(costs):
    names, said = costs
    assert "is proved to be within" in said
    model = LinearClassifier(names["CostLogistic"](), tol=1e-6, random_state=0).fit(names["X"], names["y"])
    assert model.converged_
    theirs = LinearClassifier("logistic", tol=1e-6).fit(names["X"], names["y"])
    assert model.certificate_.primal == pytest.approx(theirs.certificate_.primal, rel=2e-6)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, rtol=0.02)


def searched(loss, level, label):
    """The sublevel set of a loss of the package, as that of an CustomLoss is found."""
    return tuple(CustomLoss._end(loss, level, label, sign) for sign in (-1.0, 1.0))


@pytest.mark.parametrize("label", [-1.0, 1.0])
@pytest.mark.parametrize("loss", [LOSSES[name]() for name in ("logistic", "huber_hinge", "hinge", "squared", "huber")])
def test_bounds_are_those_of_the_packages_losses(loss, label):
    """Also where the loss only falls, so that its minimizer is infinitely far away."""
    level, labels = np.array([1e-6, 0.3, 1.0, 50.0, 1e9]), np.full(5, label)
    found, known = searched(loss, level, labels), loss.sublevel(level, labels)
    for mine, theirs in zip(found, known, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-15)


class WithoutMath(NamedTuple):
    width: float

    def derivative(self, label, score):
        return expit(score - label)


class WithoutDerivative(NamedTuple):
    width: float


class Misspelt(NamedTuple):
    width: float

    def derivative(self, label, score):
        return score - label

    def kkt_margn(self, label, alpha, score):
        return 0.0


@pytest.mark.parametrize(
    ("kernel", "match"),
    [
        (WithoutMath, "method derivative of WithoutMath can't be compiled.*math only"),
        (WithoutDerivative, r"WithoutDerivative needs the method derivative"),
        (Misspelt, r"Misspelt has an unknown method 'kkt_margn': did you mean 'kkt_margin'\?"),
        (None, r"PseudoHuber must define compiled\(\)"),
    ],
)
def test_a_kernel_that_can_not_be_compiled_is_named(page, data, monkeypatch, kernel, match):
    loss = page["PseudoHuber"]
    monkeypatch.setattr(loss, "compiled", CustomLoss.compiled if kernel is None else lambda self: kernel(self.width))
    X, y = data
    with pytest.raises(FenchelError, match=match):
        solve(Problem(X, MeanRisk(loss(), y), 0.1), "dual_coordinate")


class Slope:
    """The derivative of a loss of the package, by its vectorized derivative."""

    def __init__(self, loss):
        self.loss = loss

    def derivative(self, label, score):
        return float(self.loss.derivative(np.float64(score), np.float64(label)))


@given(
    st.sampled_from([loss() for loss in LOSSES.values()]),
    st.sampled_from([-1.0, 1.0]),
    st.floats(0, 1),
    st.floats(-20, 20),
    st.sampled_from([0.0, 1e-6, 0.1, 1.0, 50.0, 1e6]),
)
def test_the_step_by_the_derivative_is_the_exact_step(loss, y, fraction, s, q):
    """For every loss, those with kinks too (but for c = 0 at a kink, where any step is right)."""
    low, high = (max(min(float(end), 5.0), -5.0) for end in loss.domain(np.float64(y)))
    alpha = -(low + fraction * (high - low))
    if q == 0.0 and not loss.smooth:
        return
    found, exact = step_by_derivative(Slope(loss), y, alpha, s, q), loss.compiled().dual_step(y, alpha, s, q)
    if loss.smooth or q >= 0.1:
        assert found == pytest.approx(exact, rel=1e-9, abs=1e-9 * (1 + 1 / max(q, 1e-3)))
    objectives = [slow.step_objective(loss.name, y, alpha, s, q, a) for a in (found, exact)]
    assert objectives[0] <= objectives[1] + 1e-9 * (1 + abs(objectives[1]))


@pytest.mark.parametrize("loss", [loss() for loss in LOSSES.values()], ids=lambda loss: loss.name)
def test_the_packages_losses_take_no_compiled_default(loss):
    """A misnamed method of a built-in loss would otherwise be replaced by a default without a word."""
    names = {"dual_step", "kkt_margin", "fenchel_young_gap", "hess_conjugate"}
    assert names <= set(vars(type(loss.compiled())))
    with pytest.raises(TypeError, match="has no method 'derivative'"):
        method_of(type(loss.compiled()), "derivative")


def test_a_compiled_loss_with_a_derivative_alone_in_plain_python(page):
    loss = page["PseudoHuber"](0.7)
    assert kkt_margin(loss.compiled(), 0.0, 0.3, 1.0) == 0.0
    rng = np.random.default_rng(1)
    y, alpha, s, q = rng.normal(size=50), rng.uniform(-0.7, 0.7, 50), 3 * rng.normal(size=50), rng.exponential(size=50)
    steps = loss.dual_step(y, alpha, s, q)
    for i in range(50):
        assert dual_step(loss.compiled(), y[i], alpha[i], s[i], q[i]) == pytest.approx(steps[i], abs=1e-13)


CODE = """
    import importlib, pathlib, sys
    import numpy as np
    from fenchel import Problem, solve
    from fenchel.risks import MeanRisk
    X = np.random.default_rng(0).normal(size=(30, 3)); y = X[:, 0]
    def fit(loss): return solve(Problem(X, MeanRisk(loss, y), 0.1), "dual_coordinate", tol=1e-9).certificate.primal
    import my_losses
    print(fit(my_losses.PseudoHuber()))
    # edited within a process: the labels are moved by one
    path = pathlib.Path(my_losses.__file__)
    text = path.read_text()
    for old, new in (("s - y", "s - y - 1"), ("score - label", "score - label - 1"), ("u * y", "u * (y + 1)")):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    importlib.invalidate_caches(); importlib.reload(my_losses)
    print(fit(my_losses.PseudoHuber()))
"""


def run(code, home):
    paths = os.pathsep.join([str(Path(fenchel.__file__).parent.parent), str(home)])
    # what is asked is which code runs, not how fast
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_OPT": "0"}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.thorough
def test_edited_and_removed(tmp_path):
    module = tmp_path / "my_losses.py"
    module.write_text(MODULE, encoding="utf-8")
    done = run(CODE, tmp_path)
    assert done.returncode == 0, done.stderr
    before, edited = map(float, done.stdout.split())
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert before == pytest.approx(optimum(X, X[:, 0], 0.1, 1.0, False), rel=1e-8)
    assert edited == pytest.approx(optimum(X, X[:, 0] + 1.0, 0.1, 1.0, False), rel=1e-8)
    # a new process runs the edited code, not what was compiled before
    again = run(CODE.split("# edited")[0], tmp_path)
    assert float(again.stdout) == pytest.approx(edited, rel=1e-12)
    # removed: a fit of the package's own losses has never heard of it, and the import says what is missing
    module.unlink()
    code = CODE.replace("import my_losses", "").split("print(fit(my")[0]
    gone = run(code + "print(fit('squared'))\n    import my_losses", tmp_path)
    assert float(gone.stdout) > 0.0, gone.stderr
    assert "No module named 'my_losses'" in gone.stderr


def test_a_time_limit_begins_after_compilation(data):
    """A loss of a user's own is compiled in every process, which takes longer than this limit."""

    class Derivative(NamedTuple):
        factor: float

        def derivative(self, label, score):
            return self.factor * (score - label)

    @dataclass(frozen=True)
    class Half(CustomLoss):
        name, task, smooth = "half", "regression", True

        def value(self, score, label):
            return (score - label) ** 2 / 4

        def derivative(self, score, label):
            return (score - label) / 2

        def conjugate(self, u, label):
            return u**2 + u * label

        def domain(self, label):
            return np.full_like(label, -np.inf), np.full_like(label, np.inf)

        def compiled(self):
            return Derivative(0.5)

    X, y = data
    solution = solve(Problem(X, MeanRisk(Half(), y), 0.1), "dual_coordinate", time_limit=0.2)
    assert solution.converged
