"""Kernel models whose Gram matrix is not in memory: the same optimum, the same certificates, within the limit."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from fenchel import FenchelError, KernelClassifier, KernelRegressor, Problem, certify, solve
from fenchel.compile.primitives.epoch import Part, Tally
from fenchel.kernels import CachedGram, GramDesign, GramNorm, rbf
from fenchel.kernels.cached_gram import KernelRows, cached_gram
from fenchel.kernels.rbf import Radial
from fenchel.losses import Hinge
from fenchel.regularizers import L2
from fenchel.risks import CrammerSinger, MeanRisk, WestonWatkins
from fenchel.solvers import BlockCoordinate, DualCoordinate, Hint
from fenchel.solvers.block_coordinate.cached_gram import _block_gaps
from fenchel.solvers.block_coordinate.loop import CENTRING
from fenchel.solvers.block_coordinate.loop_intercepts import INTERCEPT, OFFSET, SUM
from fenchel.solvers.choose import SOLVERS
from fenchel.solvers.dual_coordinate.loop import Intercept, epoch
from fenchel.solvers.dual_coordinate.loop_cached_gram import (
    Cache,
    LeastViolations,
    epoch_cached_gram,
    missing_rows,
)
from fenchel.solving.solution import Status
from slow_multiclass import optimum as conic_classes

N = 120
TIGHT = {"tol": 1e-6, "max_iter": 1e5, "random_state": 0}
#: megabytes of the cached rows
LIMIT = {rows: rows * 8 * N / 2**20 for rows in (1, 2, 3, 8, 20, 60)}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3)) + 1.0
    y = np.sin(2 * X[:, 0]) + X[:, 1] - 1.0 + 0.3 * rng.standard_normal(N)
    return X, y


class Source:
    """Rows of a matrix, with a count of what was asked for."""

    def __init__(self, gram, interrupt_at=None):
        self.gram, self.asked, self.interrupt_at = gram, [], interrupt_at

    def __call__(self, examples):
        self.asked.append(len(examples))
        if len(self.asked) == self.interrupt_at:
            raise KeyboardInterrupt
        return self.gram[examples].copy()


def cached(gram, rows, **settings):
    source = Source(gram, **settings)
    return CachedGram(source, np.diagonal(gram), rows * 8 * len(gram) / 2**20), source


def problem_of(design, loss, y, lam=0.02, intercept=False):
    labels = np.where(y > 0, 1.0, -1.0) if loss in ("hinge", "logistic") else y
    return Problem(design, MeanRisk(loss, labels), lam, GramNorm(design), intercept)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic", "absolute"])
@pytest.mark.parametrize("rows", [3, 40])
@pytest.mark.meetings(1)
def test_the_optimum_is_that_of_the_matrix_in_memory(data, loss, intercept, rows):
    X, y = data
    gram = rbf_kernel(X, gamma=0.3)
    whole = problem_of(GramDesign(gram), loss, y, intercept=intercept)
    expected = solve(whole, "dual_coordinate", tol=1e-6, max_iter=1e5)
    design, source = cached(gram, rows)
    found = solve(problem_of(design, loss, y, intercept=intercept), tol=1e-6, max_iter=1e5)
    assert found.solver == "dual_coordinate"
    assert found.certificate.relative_gap <= 1e-6
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=2e-6)
    # the certificate is what the whole matrix says, in float64
    again = certify(whole, found.model, found.witness)
    assert again.primal == pytest.approx(found.certificate.primal, rel=1e-13)
    assert again.dual == pytest.approx(found.certificate.dual, rel=1e-13)
    # what is kept and what is computed at once stay within the limit
    assert design.descending().values.nbytes + 8 * N * max(source.asked) <= rows * 8 * N
    assert max(source.asked) <= design.together
    assert design.computed == sum(source.asked)


def test_a_product_to_the_rounding_floor(data):
    X, y = data
    design, _ = cached(rbf_kernel(X), 10)
    found = solve(problem_of(design, "squared", y, intercept=True), tol=0.0, max_iter=1e5)
    assert found.converged
    assert found.certificate.relative_gap < 1e-13


def test_the_least_recently_moved_make_room():
    rng = np.random.default_rng(1)
    gram = rng.standard_normal((30, 30))
    gram = gram @ gram.T
    design, _ = cached(gram, 12)
    assert (design.capacity, design.together) == (9, 3)
    for _ in range(60):
        absent = np.flatnonzero(design.slots < 0)
        moved = rng.permutation(np.flatnonzero(design.slots >= 0))[:4]
        design.clock += 1
        design.stamps[design.slots[moved]] = design.clock
        brought = rng.permutation(absent)[: rng.integers(1, 4)]
        design.bring(brought)
        here = np.flatnonzero(design.slots >= 0)
        assert set(moved) | set(brought) <= set(here)
        assert len(set(design.slots[here])) == len(here) <= 9
        np.testing.assert_array_equal(design.descending().values[design.slots[here]], gram[here])


@pytest.mark.parametrize("outputs", [None, 3])
def test_products_look_at_rows_that_count(outputs):
    rng = np.random.default_rng(2)
    gram = rbf_kernel(rng.standard_normal((40, 3)))
    design, source = cached(gram, 12)
    shape = (40,) if outputs is None else (outputs, 40)
    assert not np.any(design.scores(np.zeros(shape)))
    weights = rng.standard_normal(shape)
    weights[..., 10:] = 0.0
    np.testing.assert_allclose(design.scores(weights), gram @ weights.T, atol=1e-14)
    assert sum(source.asked) == 10
    np.testing.assert_allclose(design.scores(weights), gram @ weights.T, atol=1e-14)
    assert sum(source.asked) == 10
    design.bring(np.array([5, 6]))
    for k in (3, 5, 20, 30):
        weights[..., k] += 1.0
        np.testing.assert_allclose(design.scores(weights), gram @ weights.T, atol=1e-13)
    # each is added to a sum of at most two: 3; nothing, as 5 is here; 20 to the one with 3; 30, and 20 again
    assert sum(source.asked) == 12 + 1 + 0 + 1 + 2
    np.testing.assert_allclose(design.scores(weights), gram @ weights.T, atol=1e-13)
    assert sum(source.asked) == 12 + 1 + 0 + 1 + 2


@pytest.mark.parametrize("centred", [False, True])
def test_one_pass_is_that_over_the_whole_matrix(centred):
    """Rows that are fetched on the way change nothing: the same order gives the same numbers."""
    rng = np.random.default_rng(3)
    n = 50
    gram = rbf_kernel(rng.standard_normal((n, 2)))
    table = np.column_stack([rng.choice([-1.0, 1.0], n), np.zeros(n), np.full(n, 0.4), np.full(n, 0.4)])
    projection = rng.uniform(size=n) if centred else np.zeros(0)
    loss, order = Hinge().compiled(), rng.permutation(n).astype(np.uint32)
    design, source = cached(gram, 8)
    whole, parts = [
        (table.copy(), np.zeros(n), Intercept(np.zeros(3), projection, 1.5), order.copy()) for _ in range(2)
    ]
    rows, buffer = GramDesign(gram).descending(), np.empty(design.together, dtype=np.int64)
    for threshold in (np.inf, 0.1):
        expected = Tally(*epoch(rows, loss, L2().compiled(), *whole[:3], Part(whole[3], 0, n, 0, threshold)))
        remaining, position, violation, changes, gap = 0, 0, 0.0, 0, 0.0
        while position < n:
            part, cache = (
                Part(parts[3], position, n, remaining, threshold),
                Cache(design.slots, design.stamps, design.clock),
            )
            numbers, position = epoch_cached_gram(
                design.descending(), cache, loss, *parts[:3], part, LeastViolations(0.0, 0.0)
            )
            tally = Tally(*numbers)
            remaining, violation = tally.remaining, max(violation, tally.violation)
            changes, gap = changes + tally.changes, gap + tally.gap
            if position < n:
                count = missing_rows(cache, loss, *parts[:3], part._replace(begin=position), 0.0, buffer)
                assert buffer[0] == parts[3][position]
                design.bring(buffer[:count].copy())
        assert (remaining, changes) == (expected.remaining, expected.changes)
        assert (violation, gap) == pytest.approx((expected.violation, expected.gap), rel=1e-12)
        np.testing.assert_array_equal(parts[3], whole[3])
        for found, true in zip((*parts[:2], parts[2].state), (*whole[:2], whole[2].state), strict=True):
            np.testing.assert_allclose(found, true, rtol=1e-12, atol=1e-14)
    assert max(source.asked) <= design.together


def test_who_does_not_move_needs_no_row(data):
    X, y = data
    gram = rbf_kernel(X, gamma=0.3)
    first = solve(problem_of(GramDesign(gram), "hinge", y, lam=0.05), "dual_coordinate", tol=1e-12, max_iter=1e5)
    design, source = cached(gram, 60)
    problem = problem_of(design, "hinge", y, lam=0.05)
    found = solve(problem, tol=1e-13, max_iter=3, warm_start=first)
    between = np.count_nonzero((first.witness.theta != 0) & (np.abs(first.witness.theta) < (1 - 1e-12) / N))
    support = np.count_nonzero(first.witness.theta)
    assert found.passes >= 2
    assert between < support < N
    # the products of the warm start and of the last certificate need the support, passes the few that move
    assert sum(source.asked) <= 2 * support + between


@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_a_certificate_needs_each_row_of_the_support_once(data, loss):
    X, y = data
    design, source = cached(rbf_kernel(X), 8)
    problem = problem_of(design, loss, y, intercept=True)
    solver = DualCoordinate(seed=0)
    state = solver.start(problem, None)
    hint = Hint(None, 0.0, lambda: False)
    for _ in range(5):
        for _ in range(20):
            solver.step(state, hint)
        before, (model, witness) = sum(source.asked), solver.propose(state)
        # what the objective is guessed to be needs none
        guess = solver.expected_objective(state)
        assert sum(source.asked) == before
        dual = certify(problem, model, witness).dual
        assert sum(source.asked) <= before + np.count_nonzero(witness.theta) + 1
    assert guess == pytest.approx(dual, rel=1e-6)


@pytest.mark.parametrize("at", [1, 7, 30])
def test_an_interrupt_returns_the_best_so_far(data, at):
    X, y = data
    gram = rbf_kernel(X)
    design, _ = cached(gram, 6, interrupt_at=at)
    found = solve(problem_of(design, "squared", y, intercept=True), tol=1e-9, max_iter=1e4)
    assert found.status is Status.INTERRUPTED
    whole = problem_of(GramDesign(gram), "squared", y, intercept=True)
    assert certify(whole, found.model, found.witness).gap == pytest.approx(found.certificate.gap, rel=1e-6, abs=1e-12)


def test_a_time_limit_returns_after_a_step(data):
    X, y = data
    design, _ = cached(rbf_kernel(X), 6)
    found = solve(problem_of(design, "squared", y), tol=1e-9, time_limit=0.0)
    assert found.status is Status.TIME_LIMIT
    assert np.isfinite(found.certificate.gap)


@pytest.mark.parametrize(
    "name", [name for name in SOLVERS if name not in ("dual_coordinate", "augmented_lagrangian", "smoothing")]
)
def test_other_solvers_say_why_not(data, name):
    X, y = data
    design, _ = cached(rbf_kernel(X), 6)
    with pytest.raises(FenchelError, match=f"solver='{name}' does not support this problem"):
        solve(problem_of(design, "squared", y), name)


def kernels():
    return [
        {"kernel": "rbf"},
        {"kernel": "linear"},
        {"kernel": "poly", "coef0": 1.0, "degree": 2},
        {"kernel": lambda A, B: rbf_kernel(A, B, gamma=0.5)},
        {"kernel": lambda A, B: rbf_kernel(A, B, gamma=0.5).astype(np.float32)},
    ]


@pytest.mark.meetings(1)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("settings", kernels())
def test_every_kernel_and_weights(data, settings, storage):
    X, y = data
    weights = np.random.default_rng(4).integers(0, 3, N).astype(float)
    fits = [
        KernelRegressor("squared", C=0.3, memory_limit=limit, **settings, **TIGHT).fit(storage(X), y, weights)
        for limit in (1, LIMIT[20])
    ]
    assert fits[1].certificate_.primal == pytest.approx(fits[0].certificate_.primal, rel=2e-6)
    np.testing.assert_allclose(fits[1].predict(storage(X)), fits[0].predict(storage(X)), atol=0.02)
    assert np.all(weights[fits[1].support_] > 0)


def test_two_classes_several_classes_several_targets(data):
    X, y = data
    for labels in (y > 0, np.digitize(y, [-0.5, 0.5])):
        fits = [
            KernelClassifier(C=0.5, memory_limit=limit, multi_class="ovr", **TIGHT).fit(X, labels)
            for limit in (1, LIMIT[20])
        ]
        assert fits[1].certificate_.primal == pytest.approx(fits[0].certificate_.primal, rel=2e-6)
        np.testing.assert_allclose(fits[1].decision_function(X), fits[0].decision_function(X), atol=0.02)
    # the joint hinge of two classes is the usual one
    two = KernelClassifier(C=0.5, memory_limit=LIMIT[20], **TIGHT).fit(X, y > 0)
    one = KernelClassifier(C=0.5, multi_class="ovr", **TIGHT).fit(X, y > 0)
    assert two.certificate_.primal == pytest.approx(one.certificate_.primal, rel=2e-6)
    both = KernelRegressor(memory_limit=LIMIT[20], **TIGHT).fit(X, np.column_stack([y, -2.0 * y]))
    np.testing.assert_allclose(both.predict(X)[:, 1], -2.0 * both.predict(X)[:, 0], atol=0.02)


def test_a_warm_start_has_nothing_left_to_do(data):
    X, y = data
    model = KernelClassifier("logistic", warm_start=True, memory_limit=LIMIT[20], **TIGHT).fit(X, y > 0)
    first = model.n_iter_
    assert model.fit(X, y > 0).n_iter_ < first
    # with the matrix in memory two classes of hinges have two scores each: no start from there
    model = KernelClassifier(warm_start=True, memory_limit=LIMIT[20], **TIGHT).fit(X, y > 0)
    model.theta_ = np.column_stack([-model.theta_, model.theta_])
    assert model.fit(X, y > 0).converged_


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"memory_limit": LIMIT[1]}, "too small: two rows of the Gram matrix of 120 examples"),
        ({"memory_limit": 0.5 * LIMIT[1]}, "Increase memory_limit"),
        ({"kernel": "precomputed"}, "the Gram matrix of 120 examples takes 0.1 MB, more than memory_limit"),
        ({"kernel": lambda A, B: -rbf_kernel(A, B)}, "negative"),
        ({"kernel": lambda A, B: A @ B[:5].T}, "kernel must return a matrix of shape"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "negative or infinite entries"),
        ({"kernel": lambda A, B: -np.square(A[:, :1] - B[:, 0])}, "not positive semi-definite"),
        ({"kernel": lambda A, B: A @ B.T + 5.0 * A[:, :1]}, "not symmetric"),
    ],
)
def test_what_is_refused(data, settings, match):
    X, y = data
    X = rbf_kernel(X) if settings.get("kernel") == "precomputed" else X
    with pytest.raises(FenchelError, match=match):
        KernelRegressor(**{"memory_limit": LIMIT[20], **settings}).fit(X, y)


def test_rows_show_what_a_sample_does_not():
    """The sample of the examples does not hold all: rows that are computed later are looked at, too."""
    diagonal = np.ones(6)
    for entry, match in ((np.nan, "NaN or infinity"), (1.1, "K_ij exceeds")):
        gram = np.eye(6)
        gram[4, 5] = gram[5, 4] = entry
        design = CachedGram(Source(gram), diagonal, 1.0, checked=True)
        with pytest.raises(FenchelError, match=match):
            design.bring(np.array([4]))


def test_the_rows_of_an_rbf_kernel_are_those_of_scikit_learn(data):
    X, _ = data
    design = cached_gram(KernelRows(rbf_kernel, X, 0.7), LIMIT[20], named=True)
    expected = rbf_kernel(X, gamma=0.7)
    np.testing.assert_allclose(design.compute(np.arange(4)), expected[:4], rtol=1e-13)
    np.testing.assert_array_equal(design.diagonal, np.diagonal(expected))


def test_what_a_kernel_returned_is_left_alone():
    gram = np.full((6, 6), 0.5) + 0.5 * np.eye(6)
    kept = gram.copy()
    design = CachedGram(lambda examples: gram[examples[0] : examples[-1] + 1], np.full(6, 1.25), 1.0, checked=True)
    assert design.compute(np.arange(2))[1, 1] == 1.25
    np.testing.assert_array_equal(gram, kept)


@pytest.mark.parametrize(("storage", "zeros"), [(np.asarray, 0), (sp.csr_array, 0), (sp.csr_array, 40)])
def test_an_rbf_kernel_far_from_the_origin(data, storage, zeros):
    """An offset, two distant clusters, an outlier twice, and lengths whose squares overflow."""
    X = data[0][:20]
    outliers = np.zeros((2, X.shape[1]))
    outliers[:, 0] = 1e15, 1e15 + 1.0
    clusters = np.concatenate([X[:10] + 1e8, X[10:] - 1e8])
    for some in (X, X + 3e7, clusters, np.concatenate([X, outliers]), 1e170 * X):
        rows = np.pad(some, ((0, 0), (0, zeros)))
        with np.errstate(over="ignore"):
            expected = np.exp(-0.7 * np.sum((rows[:, None] - rows) ** 2, axis=2))
        radial = Radial(storage(rows), 0.7)
        np.testing.assert_allclose(radial.gram(), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(radial.rows(np.array([3, 7])), expected[[3, 7]], rtol=0, atol=1e-12)
        for other in (np.asarray, sp.csr_array):
            np.testing.assert_allclose(radial(other(rows[-4:])), expected[-4:], rtol=0, atol=1e-12)


def test_a_gram_matrix_without_rows_is_refused():
    with pytest.raises(FenchelError, match="diagonal of the Gram matrix is empty"):
        CachedGram(lambda examples: examples, np.empty(0), 1.0)


@pytest.mark.parametrize("entries", [1, 100, 1 << 18])
@pytest.mark.parametrize(("storage", "zeros"), [(np.asarray, 0), (sp.csr_array, 0), (sp.csr_array, 90)])
def test_an_rbf_gram_matrix_by_blocks_of_rows(monkeypatch, storage, zeros, entries):
    """Few and many zeros, more columns than rows, and blocks that do not divide the rows."""
    monkeypatch.setattr(rbf, "_GRAM_ENTRIES", entries)
    rows = np.pad(np.random.default_rng(0).standard_normal((37, 4)), ((0, 0), (0, zeros)))
    found = Radial(storage(rows), 0.3).gram()
    expected = np.exp(-0.3 * np.sum((rows[:, None] - rows) ** 2, axis=2))
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diagonal(found), 1.0)


def test_pairs_with_cached_rows_agree_with_the_whole_matrix(data):
    """Steps on pairs of examples with cached rows: the same optimum, and running sums that are those of theta."""
    X, y = data[0], np.sign(data[1])
    for intercept in (False, True):
        whole = GramDesign(Radial(X, 0.5).gram())
        rows = cached_gram(KernelRows(partial(rbf_kernel, gamma=0.5), X, 0.5), 8e-6 * 20 * len(y), named=True)
        problems = [Problem(gram, MeanRisk("hinge", y), 1e-3, GramNorm(gram), intercept) for gram in (whole, rows)]
        first, second = (solve(one, DualCoordinate(), tol=1e-6, max_iter=20000).certificate for one in problems)
        assert first.meets(1e-6) and second.meets(1e-6)
        assert first.lower <= second.upper and second.lower <= first.upper


JOINT = {"weston_watkins": WestonWatkins, "crammer_singer": CrammerSinger}


@pytest.mark.meetings(1)
@pytest.mark.parametrize(
    ("name", "intercept", "rows"),
    [
        ("weston_watkins", True, None),
        ("weston_watkins", True, 6),
        ("weston_watkins", False, 20),
        ("crammer_singer", True, 2),
        ("crammer_singer", True, 20),
        ("crammer_singer", False, None),
    ],
)
def test_joint_forms_have_the_optimum_of_a_conic_solver(name, intercept, rows):
    rng = np.random.default_rng(3)
    X, lam, n = rng.standard_normal((40, 3)) + 1.0, 0.05, 40
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.standard_normal(n), [0.8, 2.0])
    gram = X @ X.T
    design = GramDesign(gram) if rows is None else cached(gram, rows)[0]
    problem = Problem(design, JOINT[name](y), lam, GramNorm(design), intercept)
    solution = solve(problem, "block_coordinate", tol=1e-6, max_iter=5000)
    _, _, value = conic_classes(name, X, y, 3, np.full(n, 1.0 / n), lam, intercept)
    certificate = solution.certificate
    assert solution.converged
    assert certificate.dual - certificate.dual_error <= value * (1 + 1e-8)
    assert certificate.primal == pytest.approx(value, rel=2e-6)
    assert certify(problem, solution.model, solution.witness).gap <= 1e-6 * value + certificate.rounding_floor
    # a warm start has little to do
    again = solve(problem, "block_coordinate", tol=1e-6, warm_start=solution)
    assert again.passes <= 0.5 * solution.passes


@pytest.mark.parametrize("name", list(JOINT))
def test_the_gaps_that_choose_rows_are_those_of_the_blocks(name):
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((30, 2)), rng.integers(0, 3, 30)
    design, _ = cached(X @ X.T, 10)
    problem = Problem(design, JOINT[name](y), 0.1, GramNorm(design), True)
    solver = BlockCoordinate()
    state = solver.start(problem, None)
    for _ in range(3):
        solver.step(state, Hint(None, 0.0, lambda: False))
        state.refresh()
        gaps, _ = _block_gaps(state, np.arange(30))
        theta, part = state.alpha / 30.0, state.intercepts.state[:, :3]
        scores = state.blocks.v[:, :3] + part[INTERCEPT] - part[OFFSET]
        scores = scores + np.outer(state.blocks.table[:, CENTRING], part[SUM])
        total = problem.risk.value(scores) + problem.risk.conjugate(theta) + np.sum(theta * scores)
        assert np.mean(gaps) == pytest.approx(total, abs=1e-12)
        np.testing.assert_allclose(part[SUM], theta.sum(axis=0) / 0.1, atol=1e-12)


def test_rows_at_hand_are_never_replaced_by_those_that_are_computed():
    gram = rbf_kernel(np.random.default_rng(5).standard_normal((30, 2)))
    design, source = cached(gram, 8)
    rng = np.random.default_rng(6)
    for _ in range(200):
        examples = rng.choice(30, design.together, replace=False)
        np.testing.assert_array_equal(design.cached_rows(examples), gram[examples])
    assert sum(source.asked) < 200 * design.together


@pytest.mark.parametrize("multi_class", ["weston_watkins", "crammer_singer", "ovr"])
def test_a_classifier_beyond_memory_is_the_one_in_memory(data, multi_class):
    X, y = data
    labels = np.digitize(y, [-0.5, 0.5])
    settings = {"multi_class": multi_class, "fit_intercept": True, "tol": 1e-5, "max_iter": 1e4, "random_state": 0}
    whole = KernelClassifier(**settings).fit(X, labels)
    parts = KernelClassifier(memory_limit=LIMIT[20], **settings).fit(X, labels)
    assert whole.converged_ and parts.converged_
    assert parts.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=2e-5)
    assert parts.intercept_.shape == (3,)
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=0.05)
    without = KernelClassifier(multi_class=multi_class, tol=1e-5, max_iter=1e4, random_state=0).fit(X, labels)
    assert without.certificate_.primal > whole.certificate_.dual
    assert not hasattr(without, "intercept_")


def test_two_classes_with_an_intercept_are_those_of_libsvm(data):
    X, y = data
    labels = np.where(y > 0.3, "b", "a")
    ours = KernelClassifier(C=2.0, gamma=0.5, fit_intercept=True, tol=1e-7, max_iter=1e4).fit(X, labels)
    theirs = SVC(C=2.0, gamma=0.5, tol=1e-8).fit(X, labels)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-3)
