"""Every loss with the entropies, q-norms and squares with an operator: solved, proved, and equal to a conic solver."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import slow_reference as slow
from catalog import STORAGES, labels_from
from fenchel import FenchelError, LinearClassifier, LinearRegressor, Problem, certify, solve
from fenchel.certificate import judge
from fenchel.losses import LOSSES
from fenchel.regularizers import L2, ElasticNet, Entropy, QNorm, QuadraticForm, UnnormalizedEntropy
from fenchel.risks import MeanRisk
from fenchel.solvers import DualCoordinate, Hint
from slow_conic import conic_with, entropy_cone, norm_cone

MU = np.array([0.3, 0.05, 1.0, 0.65, 0.4])
REGULARIZERS = {
    "unnormalized": (UnnormalizedEntropy(MU), entropy_cone(MU, None, False)),
    "unnormalized-balanced": (UnnormalizedEntropy(0.1, balanced=True), entropy_cone(np.full(5, 0.1), None, True)),
    "normalized": (Entropy(prior=MU), entropy_cone(MU, 2.4, False)),
    "normalized-balanced": (Entropy(3.0, balanced=True), entropy_cone(np.full(5, 0.3), 3.0, True)),
    "q=1.5": (QNorm(), norm_cone(1.5, 2.0)),
    "q=1.2": (QNorm(1.2, power=1.5), norm_cone(1.2, 1.5)),
    "q=2.5": (QNorm(2.5, power=3.0), norm_cone(2.5, 3.0)),
}
#: one of each way to compute the weights
PLAIN = ("unnormalized-balanced", "normalized", "q=1.5")
#: each compiled form of a loss once with both storages, and all losses on dense data
CASES = [
    (loss, name, "dense", intercept) for loss, name, intercept in itertools.product(LOSSES, REGULARIZERS, (False, True))
] + [("hinge", name, "sparse", intercept) for name, intercept in itertools.product(REGULARIZERS, (False, True))]


def data_of(loss, storage="dense", n=30, d=5, seed=0):
    rng = np.random.default_rng([seed, n, d])
    X = rng.standard_normal((n, d))
    if storage == "sparse":
        X[rng.random(X.shape) < 0.5] = 0.0
    return X, labels_from(LOSSES[loss].task, X @ rng.standard_normal(d) + 0.4, rng)


def problem_of(loss, regularizer, storage="dense", intercept=False, lam=0.1, **size):
    X, y = data_of(loss, storage, **size)
    return Problem(sp.csr_array(X) if storage == "sparse" else X, MeanRisk(loss, y), lam, regularizer, intercept)


def dual_value(problem, theta):
    penalty = problem.lam * problem.regularizer.conjugate(problem.design.adjoint(theta) / problem.lam)
    return -penalty - problem.risk.conjugate(theta, feasible=True)


@pytest.mark.parametrize(("loss", "name", "storage", "intercept"), CASES)
@pytest.mark.meetings(1)
def test_every_pair_is_solved_to_the_conic_optimum(loss, name, storage, intercept, request):
    # the loops of one loss, in both storages, are compiled in every run
    if loss != "hinge":
        request.getfixturevalue("rarely_compiled")
    regularizer, cone = REGULARIZERS[name]
    problem = problem_of(loss, regularizer, storage, intercept)
    solution = solve(problem, tol=1e-8, max_iter=3000)
    certificate = solution.certificate
    assert solution.solver == ("newton" if name == "q=2.5" else "dual_coordinate")
    assert certificate.relative_gap <= 1e-6
    assert certificate.gap >= -certificate.rounding_floor
    X, y = data_of(loss, storage)
    w, b = conic_with(loss, X, y, slow.shares(len(y)), problem.lam, intercept, cone)
    losses = slow.FORMULAS[loss]
    if isinstance(regularizer, Entropy) and not regularizer.balanced:
        w = w * (2.4 / w.sum())
    optimum = problem.lam * regularizer.value(w) + float(np.mean(losses(X @ w + b, y)))
    assert certificate.primal == pytest.approx(optimum, rel=2e-6)
    assert certificate.dual <= optimum + certificate.rounding_floor


@pytest.mark.parametrize("name", PLAIN)
def test_several_outputs_and_weights(name, rarely_compiled):
    """Several outputs with sample weights, and one example of weight zero."""
    regularizer = REGULARIZERS[name][0]
    X, y = data_of("hinge")
    labels, weights = np.column_stack([y, -y]), np.arange(30.0)
    both = solve(Problem(X, MeanRisk("hinge", labels, weights), 0.1, regularizer), tol=1e-7, max_iter=3000)
    parts = [
        solve(Problem(X, MeanRisk("hinge", one, weights), 0.1, regularizer), tol=1e-7, max_iter=3000)
        for one in labels.T
    ]
    assert both.certificate.primal == pytest.approx(sum(part.certificate.primal for part in parts), rel=1e-6)
    assert both.witness.theta[0] == pytest.approx(0.0)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("lam", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize(
    "regularizer", [UnnormalizedEntropy(balanced=True), Entropy(50.0, balanced=True), QNorm()], ids=lambda one: one.name
)
def test_a_small_lam_does_not_overflow(regularizer, lam):
    """More features than examples: the classes are separable, and the dual vector becomes long."""
    solution = solve(problem_of("hinge", regularizer, lam=lam, d=60), tol=1e-3, max_iter=2000)
    assert solution.converged, str(solution)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("loss", ["hinge"])
@pytest.mark.parametrize("operator", ["diagonal", "dense", "solve"])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_square_with_an_operator_is_the_plain_square_of_a_whitened_design(loss, operator, intercept, plain_loops):
    rng = np.random.default_rng(3)
    root = np.diag(rng.uniform(0.5, 2.0, 5)) if operator == "diagonal" else rng.normal(size=(5, 5)) + 2 * np.eye(5)
    matrix = np.linalg.inv(root @ root.T)

    class Solver:
        def solve(self, v):
            return np.linalg.solve(matrix, v)

    given = {"diagonal": np.diag(matrix), "dense": 0.5 * (matrix + matrix.T), "solve": Solver()}[operator]
    for storage in STORAGES:
        problem = problem_of(loss, QuadraticForm(given), storage, intercept)
        plain = Problem(problem.design.scores(root.T), problem.risk, problem.lam, L2(), intercept)
        one, other = (solve(each, "dual_coordinate", tol=1e-9, max_iter=3000) for each in (problem, plain))
        assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-8)
        np.testing.assert_allclose(one.model.weights, root @ other.model.weights, atol=1e-4)
        assert solve(problem, "dual_coordinate", tol=1e-8, warm_start=one).passes == 0


@pytest.mark.meetings(1)
@pytest.mark.parametrize("rule", ["exact", "newton"])
@pytest.mark.parametrize(
    "regularizer",
    [REGULARIZERS[name][0] for name in ("unnormalized", "normalized-balanced", "q=1.2", "q=2.5")]
    + [ElasticNet(0.3), QuadraticForm(MU)],
    ids=lambda one: one.name,
)
@pytest.mark.parametrize("lam", [0.1, 1e-3])
def test_every_step_raises_the_dual(regularizer, rule, lam, monkeypatch, plain_loops):
    from fenchel.solvers.dual_coordinate import solver as module

    monkeypatch.setattr(module, "_STEP_ENTRIES", 1)
    problem, solver = problem_of("hinge", regularizer, lam=lam), DualCoordinate(rule=rule)
    state, last, first = solver.start(problem, None), -np.inf, None
    for _ in range(300):
        solver.step(state, Hint(None, 0.0, lambda: False))
        value = dual_value(problem, solver.propose(state)[1].theta)
        first = value if first is None else first
        assert value >= last - 1e-13 * max(1.0, abs(value))
        last = value
    assert last > first


@pytest.mark.parametrize("name", ["unnormalized-balanced", "normalized", "q=1.5"])
def test_an_exact_step_is_the_best_of_its_variable(name, monkeypatch, plain_loops):
    from fenchel.solvers.dual_coordinate import solver as module

    monkeypatch.setattr(module, "_STEP_ENTRIES", 1)
    problem, solver = problem_of("squared_hinge", REGULARIZERS[name][0]), DualCoordinate(rule="exact")
    state = solver.start(problem, None)
    before = solver.propose(state)[1].theta
    for _ in range(40):
        solver.step(state, Hint(None, 0.0, lambda: False))
        after = solver.propose(state)[1].theta
        (moved,) = np.flatnonzero(before != after) if np.any(before != after) else (None,)
        if moved is not None:
            for shift in (-1e-5, 1e-5):
                other = after.copy()
                other[moved] += shift
                assert dual_value(problem, problem.risk.project(other)) <= dual_value(problem, after) + 1e-15
        before = after


@pytest.mark.meetings(1)
@pytest.mark.parametrize(
    "options",
    [
        {"rule": "exact"},
        {"rule": "gradient"},
        {"rule": "gradient", "learning_rate": 0.05},
        {"rule": "exact", "stretch": 0.3},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "regularizer", [REGULARIZERS["normalized-balanced"][0], QNorm(), L2()], ids=lambda one: one.name
)
def test_every_rule_comes_to_the_same_optimum(regularizer, options):
    problem = problem_of("hinge", regularizer, intercept=True)
    solution = solve(problem, DualCoordinate(**options), tol=1e-6, max_iter=20000)
    assert solution.converged, str(solution)
    reference = solve(problem, tol=1e-8, max_iter=5000)
    assert solution.certificate.primal == pytest.approx(reference.certificate.primal, rel=2e-6)


def test_the_gradient_rule_of_the_hinge_is_eq_23(plain_loops):
    problem, rate = problem_of("hinge", UnnormalizedEntropy(0.1)), 0.01
    solver = DualCoordinate(rule="gradient", learning_rate=rate, shrinking=False)
    state = solver.start(problem, None)
    solver.step(state, Hint(None, 0.0, lambda: False))
    # the same pass by hand
    X, y = data_of("hinge")
    v, alpha, factor = np.zeros(5), np.zeros(30), problem.lam * 30
    for i in state.outputs[0].active_set.order:
        w = 0.1 * np.exp(v)
        new = y[i] * np.clip(y[i] * (alpha[i] - rate * factor * (X[i] @ w - y[i])), 0.0, 1.0)
        v, alpha[i] = v + (new - alpha[i]) * X[i] / factor, new
    np.testing.assert_allclose(solver.propose(state)[1].theta, alpha / 30, rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(solver.propose(state)[0].weights, 0.1 * np.exp(v), rtol=1e-10)


@pytest.mark.parametrize("name", PLAIN)
def test_certificates_hold_for_other_lam_and_foreign_weights(name, rarely_compiled, full_products):
    problem = problem_of("logistic", REGULARIZERS[name][0], intercept=True)
    solution = solve(problem, tol=1e-6, max_iter=3000)
    path_certificate = judge(problem, solution.model, solution.witness).path_certificate
    for lam in (1e-3, 0.03, 0.3, 10.0) if full_products else (1e-3, 10.0):
        moved, other = path_certificate.at(lam), Problem(problem.design, problem.risk, lam, problem.regularizer, True)
        optimum = solve(other, tol=1e-7 if full_products else 1e-5, max_iter=5000).certificate
        assert moved.dual <= optimum.primal + moved.rounding_floor
        assert moved.primal >= optimum.dual - moved.rounding_floor
        assert moved.dual >= -1e-12
    assert certify(problem, solution.model.weights).relative_gap <= 1e-4


ODD = {
    "zero_column": (lambda rng: rng.normal(size=(12, 3)) * [1.0, 0.0, 1.0], 0.1),
    "all_zero": (lambda rng: np.zeros((6, 2)), 0.1),
    "one_example": (lambda rng: rng.normal(size=(1, 2)), 0.1),
    "wide": (lambda rng: rng.normal(size=(5, 12)), 0.1),
    "huge_lam": (lambda rng: rng.normal(size=(12, 3)), 1e6),
}


@pytest.mark.meetings(1)
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize(
    "regularizer",
    [UnnormalizedEntropy(0.1), Entropy(2.0), Entropy(3.0, balanced=True), QNorm(1.2, power=1.5), QNorm(3.0)],
    ids=["unnormalized", "normalized", "balanced", "q=1.2", "q=3"],
)
def test_odd_data_have_sound_certificates(kind, regularizer, plain_loops):
    build, lam = ODD[kind]
    X = build(np.random.default_rng(5))
    y = np.where(np.arange(len(X)) % 3 == 0, 1.0, -1.0)
    for loss, intercept, design in itertools.product(("hinge", "squared"), (False, True), (X, sp.csr_array(X))):
        solution = solve(Problem(design, MeanRisk(loss, y), lam, regularizer, intercept), tol=1e-5, max_iter=300)
        certificate = solution.certificate
        # an optimum of zero is approached and never met
        assert solution.converged or certificate.primal <= 1e-12, (loss, intercept, str(solution))
        assert certificate.gap >= -certificate.rounding_floor
        assert np.all(np.isfinite(solution.model.weights))


def test_repeated_entries_of_a_row_count_as_their_sum(rarely_compiled):
    X, y = data_of("hinge", "sparse")
    whole = sp.csr_array(X)
    data, indices = (
        np.concatenate([[row / 2, row / 2] for row in whole.data[:, None]], axis=0),
        np.repeat(whole.indices, 2),
    )
    doubled = sp.csr_array((data.ravel(), indices, 2 * whole.indptr), shape=X.shape)
    for regularizer in (UnnormalizedEntropy(MU), QNorm()):
        one, other = (
            solve(Problem(design, MeanRisk("hinge", y), 0.1, regularizer), tol=1e-8, max_iter=3000)
            for design in (doubled, whole)
        )
        assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-7)


def test_estimators_take_names_and_objects(rarely_compiled, full_products):
    X, y = data_of("hinge")
    for regularizer in ("unnormalized_entropy", "q_norm", Entropy(3.0, balanced=True))[:: 1 if full_products else 2]:
        model = LinearClassifier(regularizer=regularizer, C=10.0, tol=1e-6, random_state=0).fit(X, y)
        assert model.converged_
        assert model.solver_ == "dual_coordinate"
        assert model.score(X, y) > 0.6
        target = X @ np.arange(1.0, 6.0) / 10
        assert LinearRegressor(regularizer=regularizer, tol=1e-4, random_state=0).fit(X, target).converged_
    assert np.all(LinearClassifier(regularizer="entropy", random_state=0).fit(X, y).coef_ > 0)
    with pytest.raises(FenchelError, match="l1_ratio"):
        LinearClassifier(regularizer="entropy", l1_ratio=0.5).fit(X, y)
    with pytest.raises(FenchelError, match="regularizer"):
        LinearClassifier(regularizer="entropie").fit(X, y)


@pytest.mark.parametrize(
    "options",
    [
        {"rule": "best"},
        {"learning_rate": 0.1},
        {"rule": "gradient", "learning_rate": 0.0},
        {"rule": "newton", "stretch": 2.0},
    ],
)
def test_bad_options_are_named(options):
    with pytest.raises(FenchelError):
        DualCoordinate(**options)
