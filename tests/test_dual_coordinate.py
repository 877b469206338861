"""Dual coordinate descent: reaches its tolerance on every problem, agrees with other solvers and its slow twin."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import slow_reference as slow
from catalog import CASES, LOSS_OBJECTS, PLAIN_CASES, Case, loss_id
from fenchel import DualCoordinate, MeanRisk, Model, Problem, Status, as_design, solve
from fenchel.loops.dual_coordinate import ALPHA, shuffle, squared_norms, visit
from fenchel.losses import LOSSES
from fenchel.solvers.base import Start
from strategies import problem_data

every_case = pytest.mark.parametrize("case", CASES, ids=str)
plain_cases = pytest.mark.parametrize("case", PLAIN_CASES, ids=str)
SINGLE_OUTPUT = [case for case in CASES if case.outputs is None]


def assert_same_optimum(one, other, tol=1e-8):
    """Two solutions of the same problem (or of equivalent ones)."""
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=tol)
    scale = max(1.0, np.abs(one.model.weights).max())
    # strong convexity: lam/2 |w - w*|^2 <= gap, so weights agree to the root of the gap only
    np.testing.assert_allclose(one.model.weights, other.model.weights, atol=np.sqrt(tol) * scale)


@every_case
def test_every_problem_reaches_tol(case):
    solution = solve(case.problem(), "dual_coordinate", tol=1e-8)
    assert solution.status in (Status.CONVERGED, Status.FLOOR)
    assert solution.certificate.relative_gap <= 1e-8
    assert solution.certificate.gap >= -solution.certificate.rounding_floor


@plain_cases
def test_well_conditioned_problems_reach_ten_digits(case):
    solution = solve(case.problem(), tol=1e-10, max_iter=2000)
    assert solution.converged
    assert solution.certificate.relative_gap <= 1e-10


@pytest.mark.parametrize("case", SINGLE_OUTPUT, ids=str)
def test_agreement_with_a_conic_solver(case):
    X, y, weights = case.data()
    c = slow.shares(len(y), weights)
    w, b = slow.conic_solution(case.loss, X, y, c, case.lam, case.intercept)
    conic = float(slow.primal(case.loss, X, y, c, case.lam, w, b))
    solution = solve(case.problem(), tol=1e-9, max_iter=3000)
    certificate = solution.certificate
    assert certificate.primal == pytest.approx(conic, rel=1e-8)
    assert certificate.dual <= conic + certificate.rounding_floor
    np.testing.assert_allclose(solution.model.weights, w, atol=1e-3)


def scikit_learn_peer(case, n):
    """The estimator with this loss and the square regularizer, or None where scikit-learn has none."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import LinearSVC, LinearSVR

    C = 1 / (case.lam * n)
    # an intercept far less penalized than the weights is close to a free one
    liblinear = {"C": C, "tol": 1e-10, "max_iter": 10**6, "dual": True}
    liblinear |= {"intercept_scaling": 30.0} if case.intercept else {"fit_intercept": False}
    return {
        "hinge": lambda: LinearSVC(loss="hinge", **liblinear),
        "squared_hinge": lambda: LinearSVC(loss="squared_hinge", **liblinear),
        "logistic": lambda: LogisticRegression(C=C, tol=1e-10, max_iter=10**4, fit_intercept=case.intercept),
        "squared": lambda: Ridge(alpha=case.lam * n, tol=1e-12, fit_intercept=case.intercept),
        "absolute": lambda: LinearSVR(epsilon=0.0, loss="epsilon_insensitive", **liblinear),
        "epsilon_insensitive": lambda: LinearSVR(epsilon=0.1, loss="epsilon_insensitive", **liblinear),
        "squared_epsilon_insensitive": lambda: LinearSVR(
            epsilon=0.1, loss="squared_epsilon_insensitive", **(liblinear | {"dual": False})
        ),
    }.get(case.loss, lambda: None)()


PEERED = [case for case in SINGLE_OUTPUT if not case.weighted and scikit_learn_peer(case, 1) is not None]


@pytest.mark.parametrize("case", PEERED, ids=str)
def test_agreement_with_scikit_learn(case):
    """Ridge and LogisticRegression have a free intercept as we do; LIBLINEAR's estimators penalize theirs a little."""
    X, y, _ = case.data()
    data, n = (sp.csr_array(X) if case.storage == "sparse" else X), len(y)
    peer = scikit_learn_peer(case, n)
    peer.fit(data, y)
    b = float(np.ravel(peer.intercept_)[0]) if case.intercept else 0.0
    theirs = float(slow.primal(case.loss, X, y, slow.shares(n), case.lam, np.ravel(peer.coef_), b))
    certificate = solve(case.problem(), tol=1e-10, max_iter=3000).certificate
    slack = 1e-3 if case.intercept and hasattr(peer, "intercept_scaling") else 1e-7
    assert certificate.primal == pytest.approx(theirs, rel=slack)
    assert certificate.dual <= theirs + certificate.rounding_floor


#: kind of solver, factor of C, options
LIBLINEAR = {
    "hinge": (3, 1.0, ""),
    "squared_hinge": (1, 1.0, ""),
    "logistic": (7, 1.0, ""),
    "squared": (12, 0.5, " -p 0"),
    "absolute": (13, 1.0, " -p 0"),
    "epsilon_insensitive": (13, 1.0, " -p 0.1"),
    "squared_epsilon_insensitive": (12, 1.0, " -p 0.1"),
}


@pytest.mark.parametrize("loss", list(LIBLINEAR))
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_agreement_with_liblinear(loss, storage):
    """LIBLINEAR has no free intercept, so none here."""
    from liblinear.liblinearutil import train

    case = Case(loss, storage)
    X, y, _ = case.data()
    n = len(y)
    # its dual solvers by number; 12 is sum r^2 with epsilon 0, so half of our C
    kind, C, options = LIBLINEAR[loss]
    options = f"-s {kind} -c {C / (case.lam * n)!r} -e 1e-10 -B -1 -q" + options
    model = train(y, sp.csr_matrix(X), options)
    w = np.array(model.w[: case.d]) * (1 if LOSSES[loss].task == "regression" else model.label[0])
    theirs = float(slow.primal(loss, X, y, slow.shares(n), case.lam, w))
    certificate = solve(case.problem(), tol=1e-10, max_iter=3000).certificate
    assert certificate.primal == pytest.approx(theirs, rel=1e-7)
    assert certificate.dual <= theirs + certificate.rounding_floor


@pytest.mark.parametrize("loss", LOSS_OBJECTS, ids=loss_id)
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("constant", [None, 2.5], ids=["plain", "centred"])
def test_compiled_loop_equals_slow_reference(loss, storage, constant):
    """With a free intercept the loop centres the rows in passing; the reference works on centred rows."""
    case = Case(loss.name, storage, n=23, d=4)
    X, y, _ = case.data()
    c = slow.shares(len(y), np.random.default_rng(11).random(len(y)))
    design = as_design(sp.csr_array(X) if storage == "sparse" else X)
    gain = constant or 0.0
    mean = c @ X if constant else np.zeros(4)
    projection = X @ mean if constant else np.zeros(0)
    centred, scale = X - mean, c / case.lam
    curvature, spread = scale * ((centred**2).sum(axis=1) + gain), mean @ mean + gain
    book = np.column_stack([y, np.zeros(len(y)), curvature, scale])
    alpha, u, free = book[:, ALPHA], np.zeros(4), np.zeros(3)
    slow_alpha, slow_w, slow_b = alpha.copy(), u.copy(), 0.0
    order, state = np.arange(len(y), dtype=np.uint32), 88172645463325252
    random = np.array([state], dtype=np.uint64)
    for _ in range(3):
        expected, state = slow.shuffled(order, state)
        shuffle(order, len(order), random)
        np.testing.assert_array_equal(order, expected)
        assert int(random[0]) == state
        slow_alpha, slow_w, slow_b, slow_gap = slow.coordinate_pass(
            centred, y, loss, c, case.lam, gain, expected, slow_alpha, slow_w, slow_b
        )
        arguments = (design.rows(), loss.kernel(), book, u, free, projection, spread, order)
        kept, worst, changed, gap = visit(*arguments, 0, len(order), 0, np.inf)
        assert case.lam * gap == pytest.approx(slow_gap, rel=1e-9, abs=1e-13)
        np.testing.assert_allclose(alpha, slow_alpha, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(u - free[0] * mean, slow_w, rtol=1e-11, atol=1e-13)
        assert free[2] + gain * free[0] == pytest.approx(slow_b, rel=1e-11, abs=1e-13)
        assert kept == len(order)
        assert worst >= 0
        assert 0 <= changed <= kept
    np.testing.assert_allclose(u, X.T @ (c * alpha) / case.lam, rtol=1e-10, atol=1e-12)


def test_squared_norms_ask_for_care_where_columns_do_not_rise():
    norms = np.empty(3)
    assert squared_norms(as_design(np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]])).rows(), norms) == 0
    np.testing.assert_array_equal(norms, [5.0, 0.0, 25.0])
    repeated = sp.csr_array(
        (np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 1, 1, 0]), np.array([0, 1, 2, 4])), shape=(3, 2)
    )
    assert squared_norms(as_design(repeated).rows(), norms) == 1
    np.testing.assert_array_equal(norms, [1.0, 4.0, -1.0])


def test_shuffle_permutes_the_front_only():
    order, random = np.arange(20, dtype=np.uint32), np.array([5], dtype=np.uint64)
    shuffle(order, 8, random)
    assert sorted(order[:8]) == list(range(8))
    np.testing.assert_array_equal(order[8:], np.arange(8, 20))


def test_examples_that_rest_are_set_aside_but_not_lost():
    X, y = np.array([[3.0], [0.1], [4.0], [0.2]]), np.ones(4)
    order = np.arange(4, dtype=np.uint32)
    (loss,) = [loss for loss in LOSS_OBJECTS if loss.name == "hinge"]
    book = np.column_stack([y, np.zeros(4), np.ones(4), np.full(4, 1e-9)])
    arguments = (as_design(X).rows(), loss.kernel(), book)
    # margins 3, 0.1, 4, 0.2: the first and third rest by more than 1
    kept, worst, changed, _ = visit(*arguments, np.array([1.0]), np.zeros(3), np.zeros(0), 0.0, order, 0, 4, 0, 1.0)
    assert kept == 2
    assert set(order[:2]) == {1, 3}
    assert sorted(order) == [0, 1, 2, 3]
    assert worst == pytest.approx(0.9)
    assert changed == 2


@plain_cases
def test_deterministic_for_a_seed_and_right_for_each(case):
    problem = case.problem()
    first, again, other = (solve(problem, tol=1e-10, max_iter=3000, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.model.weights, again.model.weights)
    np.testing.assert_array_equal(first.witness.theta, again.witness.theta)
    assert first.passes == again.passes
    assert not np.array_equal(first.witness.theta, other.witness.theta)
    assert_same_optimum(first, other)


@plain_cases
def test_shrinking_changes_nothing_but_the_time(case):
    problem = case.problem()
    with_it, without = (solve(problem, DualCoordinate(shrinking=on), tol=1e-10, max_iter=20000) for on in (True, False))
    assert with_it.converged
    assert without.converged
    assert_same_optimum(with_it, without)


@every_case
def test_inputs_are_not_modified(case):
    X, y, weights = case.data()
    X = sp.csr_array(X) if case.storage == "sparse" else X
    arrays = [X.data, X.indices, X.indptr] if case.storage == "sparse" else [X]
    arrays += [y] if weights is None else [y, weights]
    before = [array.tobytes() for array in arrays]
    problem = Problem(X, MeanRisk(case.loss, y, weights), case.lam, intercept=case.intercept)
    warm = solve(problem, tol=1e-2)
    theta, w = warm.witness.theta.copy(), warm.model.weights.copy()
    solve(problem, tol=1e-9, warm_start=warm)
    assert [array.tobytes() for array in arrays] == before
    np.testing.assert_array_equal(warm.witness.theta, theta)
    np.testing.assert_array_equal(warm.model.weights, w)


@every_case
def test_warm_start_from_a_solution_stops_at_once(case):
    problem = case.problem()
    solution = solve(problem, tol=1e-6)
    again = solve(problem, tol=1e-6, warm_start=solution)
    assert again.passes == 0
    assert again.converged
    assert again.certificate.gap <= solution.certificate.gap + solution.certificate.rounding_floor
    further = solve(problem, tol=1e-9, warm_start=solution)
    assert further.converged


@plain_cases
@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_warm_start_after_lam_changed(case, factor):
    old = solve(case.problem(), tol=1e-8)
    changed = Problem(case.problem().design, case.problem().risk, case.lam * factor, intercept=case.intercept)
    warm, cold = (solve(changed, tol=1e-10, warm_start=start, max_iter=5000) for start in (old, None))
    assert_same_optimum(warm, cold)


@plain_cases
@pytest.mark.parametrize("rows", [25, 60])
def test_warm_start_from_other_rows_or_a_foreign_model(case, rows):
    problem = case.problem()
    cold = solve(problem, tol=1e-10, max_iter=5000)
    other = Case(case.loss, intercept=case.intercept, n=rows)
    warm = solve(other.problem(), tol=1e-4)
    assert_same_optimum(solve(problem, tol=1e-10, max_iter=5000, warm_start=warm), cold)
    foreign = Start(Model(np.ones(6), None), warm.witness)
    assert_same_optimum(solve(problem, tol=1e-10, max_iter=5000, warm_start=foreign), cold)
    misfit = solve(Case(case.loss, intercept=case.intercept, d=3).problem(), tol=1e-4)
    assert_same_optimum(solve(problem, tol=1e-10, max_iter=5000, warm_start=misfit), cold)


@plain_cases
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_zero_weight_is_a_removed_row_and_integer_weight_a_repeated_one(case, storage):
    X, y, _ = case.data()
    weights = np.random.default_rng(12).integers(0, 4, len(y))
    build = sp.csr_array if storage == "sparse" else np.asarray
    weighted = Problem(build(X), MeanRisk(case.loss, y, weights), case.lam, intercept=case.intercept)
    rows = np.repeat(np.arange(len(y)), weights)
    repeated = Problem(build(X[rows]), MeanRisk(case.loss, y[rows]), case.lam, intercept=case.intercept)
    one, other = (solve(problem, tol=0.0, max_iter=3000) for problem in (weighted, repeated))
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-11)
    np.testing.assert_allclose(one.model.weights, other.model.weights, atol=1e-8)
    assert one.model.intercept == pytest.approx(other.model.intercept, abs=1e-8)
    assert np.all(one.witness.theta[weights == 0] == 0)


@plain_cases
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_])
@pytest.mark.parametrize("layout", ["C", "F", "csr", "csr64"])
def test_every_dtype_gives_the_answer_of_its_values_in_float64(case, dtype, layout):
    X, y, _ = case.data()
    X = np.round(2 * X).astype(dtype)
    stored = np.array(X, order=layout) if layout in "CF" else sp.csr_array(X)
    if layout == "csr64":
        stored.indices, stored.indptr = stored.indices.astype(np.int64), stored.indptr.astype(np.int64)
    solutions = [
        solve(Problem(data, MeanRisk(case.loss, y), case.lam, intercept=case.intercept), tol=1e-9, max_iter=5000)
        for data in (stored, X.astype(np.float64))
    ]
    assert all(solution.converged for solution in solutions)
    assert_same_optimum(*solutions)


@given(problem_data(), st.booleans())
def test_odd_little_problems_are_solved(data, sparse):
    """Empty rows and columns, constants, duplicates, n = 1, one class, zero weights."""
    X, y, weights, loss, lam, intercept = data
    design = sp.csr_array(X) if sparse else X
    solution = solve(Problem(design, MeanRisk(loss, y, weights), lam, intercept=intercept), tol=1e-6, max_iter=20000)
    assert solution.converged, str(solution)
    c = slow.shares(len(y), weights)
    w, b = slow.conic_solution(loss.name, X, y, c, lam, intercept)
    conic = float(slow.primal(loss.name, X, y, c, lam, w, b))
    certificate = solution.certificate
    assert certificate.dual <= conic + certificate.rounding_floor + 1e-15 * abs(conic)
    # 1e-9 is what the interior-point method leaves where the optimum is zero
    assert certificate.primal <= conic + 2e-6 * max(abs(conic), certificate.primal) + certificate.rounding_floor + 1e-9
