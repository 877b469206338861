"""``stop_when``: solves and fits that end once a share of predictions is proved."""

import numpy as np
import pytest
from sklearn.base import clone

from fenchel import LinearClassifier, LinearRegressor, Problem, ProvedShare, Status, solve
from fenchel.certificate import certified_predictions
from fenchel.errors import FenchelError, GapWarning
from fenchel.kernels import GramDesign, GramNorm
from fenchel.risks import MeanRisk, Multinomial


def data(k=2, n=300, seed=0):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(n, 5)), rng.normal(size=(200, 5))
    return X, np.argmax(X[:, :k] + 0.5 * rng.normal(size=(n, k)), axis=1), T


def problem_of(loss):
    X, y, T = data()
    return Problem(X, MeanRisk(loss, 2.0 * y - 1.0), 0.01, intercept=True), T


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
@pytest.mark.parametrize("share", [0.3, 0.95, 1.0])
def test_a_solve_ends_when_the_share_is_proved(loss, share):
    problem, T = problem_of(loss)
    solution = solve(problem, tol=1e-12, stop_when=ProvedShare(T, share))
    assert solution.status is Status.PREDICTIONS_PROVED
    assert certified_predictions(problem, solution.model, solution.witness, T).share_proved >= share
    # converged is about the gap
    assert solution.converged == solution.certificate.meets(1e-12)
    assert not solution.converged or share == 1.0 or loss == "squared_hinge"


def test_tol_does_not_end_it_and_a_warm_start_may():
    problem, T = problem_of("logistic")
    solution = solve(problem, tol=0.5, stop_when=ProvedShare(T, 0.98))
    assert solution.certificate.relative_gap < 1e-4
    assert solution.converged
    again = solve(problem, warm_start=solution, stop_when=ProvedShare(T, 0.98))
    assert again.status is Status.PREDICTIONS_PROVED
    assert again.passes == 0.0


def test_it_ends_at_the_rounding_floor_where_the_share_is_out_of_reach():
    problem, T = problem_of("logistic")
    # the score of this row is zero at the optimum, up to rounding
    exact = solve(problem, tol=0.0)
    w, b = exact.model.weights, exact.model.intercept
    boundary = (-b / (w @ w)) * w
    solution = solve(problem, stop_when=ProvedShare(boundary[None], 1.0))
    assert solution.status in (Status.FLOOR, Status.STALLED)
    assert solution.converged
    assert solution.certificate.relative_gap < 1e-12
    limited = solve(problem, stop_when=ProvedShare(boundary[None], 1.0), max_iter=4)
    assert limited.status is Status.MAX_ITER
    assert solve(problem, stop_when=ProvedShare(T[:0])).status is Status.PREDICTIONS_PROVED


@pytest.mark.meetings(1)
@pytest.mark.parametrize(("k", "form"), [(2, "auto"), (3, "auto"), (3, "ovr")])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_classifiers(loss, k, form):
    X, y, T = data(k)
    model = LinearClassifier(loss, multi_class=form, stop_when=ProvedShare(T, 0.9), random_state=0)
    model = clone(model).fit(X, np.array(["a", "b", "c"])[y])
    found = model.certified_predictions(T)
    assert found.share_proved >= 0.9
    assert model.converged_ == model.certificate_.meets(model.tol)
    tight = LinearClassifier(loss, multi_class=form, tol=1e-10, random_state=0, max_iter=10000).fit(
        X, model.classes_[y]
    )
    assert np.array_equal(found.predictions[found.proved], tight.predict(T)[found.proved])


def test_a_share_that_is_proved_early_is_no_reason_to_warn():
    X, y, T = data(3)
    for form in ("auto", "ovr"):
        model = LinearClassifier("logistic", multi_class=form, tol=1e-13, stop_when=ProvedShare(T, 0.1), random_state=0)
        assert not model.fit(X, y).converged_
        with pytest.warns(GapWarning, match="before share=1 of the predictions"):
            model.set_params(stop_when=ProvedShare(T, 1.0), max_iter=2).fit(X, y)


def test_a_regressor_needs_a_half_width():
    X, _, T = data()
    y = X[:, 0] + 3.0
    rule = ProvedShare(T, 0.9, half_width=1e-3)
    for loss in ("squared", "huber"):
        found = LinearRegressor(loss, stop_when=rule).fit(X, y).certified_predictions(T)
        assert np.mean(0.5 * (found.upper - found.lower) <= 1e-3) >= 0.9
    two = LinearRegressor(stop_when=rule).fit(X, np.column_stack([y, -y])).certified_predictions(T)
    assert np.mean(np.all(0.5 * (two.upper - two.lower) <= 1e-3, axis=1)) >= 0.9


def test_joint_problems():
    X, y, T = data(3)
    problem = Problem(X, Multinomial(y), 0.01, intercept=True)
    solution = solve(problem, stop_when=ProvedShare(T, 0.9))
    assert solution.status is Status.PREDICTIONS_PROVED


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (LinearClassifier(stop_when=0.95), "ProvedShare"),
        (LinearClassifier(stop_when=ProvedShare(np.ones((3, 5)), 1.5)), "share"),
        (LinearClassifier(stop_when=ProvedShare(np.ones((3, 5)), 0.0)), "share"),
        (LinearClassifier(stop_when=ProvedShare(np.ones((3, 5)), half_width=1.0)), "half_width"),
        (LinearRegressor(stop_when=ProvedShare(np.ones((3, 5)))), "half_width"),
        (LinearClassifier(stop_when=ProvedShare(np.ones((3, 4)))), "features"),
        (LinearClassifier(l1_ratio=1.0, stop_when=ProvedShare(np.ones((3, 5)))), "strongly convex"),
        (LinearClassifier(multi_class="ovo", stop_when=ProvedShare(np.ones((3, 5)))), "votes"),
    ],
)
def test_refusals_of_estimators(estimator, words):
    X, y, _ = data(3)
    with pytest.raises(ValueError, match=words):
        clone(estimator).fit(X, y)


def test_refusals_of_solve():
    problem, T = problem_of("hinge")
    with pytest.raises(FenchelError, match="ProvedShare"):
        solve(problem, stop_when=0.95)
    with pytest.raises(FenchelError, match="features"):
        solve(problem, stop_when=ProvedShare(T[:, :2]))
    gram = GramDesign(T @ T.T)
    with pytest.raises(FenchelError, match="kernel"):
        solve(Problem(gram, MeanRisk("hinge", np.sign(T[:, 0])), 0.1, GramNorm(gram)), stop_when=ProvedShare(T))
