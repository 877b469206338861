"""Dual coordinate descent in threads: the steps are those of a slow reference, safe, and the same in each run."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel import Problem, solve
from fenchel.compile.primitives.epoch import Part
from fenchel.designs import CSRDesign, csr
from fenchel.designs.threads import products_in_threads
from fenchel.regularizers import ElasticNet
from fenchel.risks import CrammerSinger, MeanRisk, WestonWatkins
from fenchel.solvers import BlockCoordinate, DualCoordinate, simultaneous
from fenchel.solvers.base import Hint
from fenchel.solvers.dual_coordinate.loop import ALPHA, LABEL, SCALE, SUM
from fenchel.solvers.simultaneous import Simultaneous, Sums

N, D = 60, 5


@pytest.fixture
def tiny_blocks(monkeypatch):
    """Threads for data of any size."""
    monkeypatch.setattr(simultaneous, "BLOCK_ENTRIES", 1)
    monkeypatch.setattr(simultaneous, "ENTRIES_PER_FEATURE", 0)


def some_problem(intercept=False, seed=0, lam=0.01):
    random = np.random.default_rng(seed)
    # rows have much in common: threads disturb each other
    X = random.standard_normal((N, D)) + 2.0
    y = np.where(X @ random.standard_normal(D) + random.standard_normal(N) > 0.0, 1.0, -1.0)
    return Problem(X, MeanRisk("hinge", y), lam, intercept=intercept)


def several_classes(risk, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((N, D)) + 1.0
    return Problem(X, risk(np.argmax(X[:, :3] + 0.5 * random.standard_normal((N, 3)), axis=1)), 0.1, intercept=True)


def slow_part(state, output, orders, sigma):
    """CoCoA+ as it is written: own u of each block, exact steps on G_k, then gamma times the sum of the changes."""
    X = np.asarray(state.rows.values) - state.mean if len(state.mean) else np.asarray(state.rows.values)
    table, centre = output.table, output.intercept[2]
    # the constant feature is a column, so that the intercept needs no care
    X = np.hstack([X, np.full((N, 1), np.sqrt(output.constant))])
    alpha, scale = table[:, ALPHA].copy(), table[:, SCALE]
    v = X.T @ (scale * alpha)
    changes = []
    for order in orders:
        u, change = v.copy(), np.zeros(N)
        for i in order:
            curvature = sigma * scale[i] * X[i] @ X[i]
            new = state.loss.dual_step(table[i, LABEL], alpha[i], X[i] @ u + centre, curvature)
            change[i] = new - alpha[i]
            u += sigma * scale[i] * change[i] * X[i]
        changes.append(change)
    deltas = [X.T @ (scale * change) for change in changes]
    overlap = np.sum(sum(deltas) ** 2) / sum(np.sum(delta**2) for delta in deltas)
    gamma = min(1.0, sigma / overlap)
    return alpha + gamma * sum(changes), v + gamma * sum(deltas), overlap


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("sigma", [1.0, 3.0])
def test_a_part_is_that_of_the_slow_reference(tiny_blocks, intercept, sigma):
    problem = some_problem(intercept)
    state = DualCoordinate(n_jobs=3).start(problem, None)
    (output,) = state.outputs
    output.simultaneous.sigma = sigma
    order = np.random.default_rng(1).permutation(N).astype(np.uint32)
    bounds = np.linspace(0, N, 4).astype(int)
    orders = [order[begin:end].copy() for begin, end in pairwise(bounds)]
    expected, v, overlap = slow_part(state, output, orders, sigma)
    assert overlap > 1.0  # with sigma = 1 the step is shortened
    found = state.epoch(output, Part(order, 0, N, 0, np.inf), D)
    assert found.remaining == N and found.changes > 0
    assert np.allclose(output.table[:, ALPHA], expected, rtol=0.0, atol=1e-12)
    centred = output.v - output.intercept[SUM] * state.mean if intercept else output.v
    assert np.allclose(centred, v[:-1], rtol=0.0, atol=1e-11)
    assert np.isclose(output.simultaneous.sigma, min(3.0, max(1.0, 1.1 * overlap)))


@pytest.mark.parametrize("seed", range(4))
def test_the_dual_never_falls_and_v_follows_alpha(tiny_blocks, seed):
    problem = some_problem(seed=seed, lam=10.0 ** -(seed + 1))
    solver = DualCoordinate(n_jobs=4, seed=seed)
    state, last = solver.start(problem, None), -np.inf
    (output,) = state.outputs
    for _ in range(60):
        solver.step(state, Hint(None, np.inf, lambda: False, passes=0.0))
        assert state.objective() >= last - 1e-13
        last = state.objective()
        v = problem.design.adjoint(state.theta()) / problem.lam
        assert np.allclose(output.v, v, rtol=0.0, atol=1e-12 * np.abs(v).max())
        assert np.array_equal(np.sort(output.active_set.order), np.arange(N))
        if output.active_set.stalled:
            break


SOLVES = {
    "hinge": (lambda: some_problem(lam=0.1), DualCoordinate),
    "hinge, intercept": (lambda: some_problem(True, lam=0.1), DualCoordinate),
    "weston_watkins": (lambda: several_classes(WestonWatkins), BlockCoordinate),
    "crammer_singer": (lambda: several_classes(CrammerSinger), BlockCoordinate),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if "," in name else pytest.mark.thorough) for name in SOLVES]
)
def test_threads_find_the_optimum_and_the_same_bits(tiny_blocks, name):
    make, solver = SOLVES[name]
    problem = make()
    serial, *threaded = (solve(problem, solver(n_jobs=jobs), tol=1e-6, max_iter=1e5) for jobs in (1, 2, 2, 3))
    for solution in (serial, *threaded):
        assert solution.converged
        assert abs(solution.certificate.primal - serial.certificate.primal) <= 2e-6 * serial.certificate.primal
    two, again, three = threaded
    assert two.certificate == again.certificate and two.passes == again.passes
    assert np.array_equal(two.model.weights, again.model.weights)
    # the threads were used
    assert not np.array_equal(two.model.weights, serial.model.weights)
    assert not np.array_equal(two.model.weights, three.model.weights)


@pytest.mark.parametrize("case", ["few entries", "elastic net", "n_jobs of solve"])
def test_where_there_are_no_threads_n_jobs_changes_nothing(case, request):
    problem = some_problem(True)
    if case != "few entries":
        request.getfixturevalue("tiny_blocks")
    if case == "elastic net":
        problem = Problem(problem.design, problem.risk, 0.01, ElasticNet(0.5))
    one, two = solve(problem, DualCoordinate()), solve(problem, DualCoordinate(n_jobs=2))
    if case == "n_jobs of solve":
        two = solve(problem, "dual_coordinate", n_jobs=2)
    assert np.array_equal(one.model.weights, two.model.weights) and one.certificate == two.certificate


def test_many_classes_take_whole_steps():
    # lists of classes are for alpha after a whole step
    random = np.random.default_rng(0)
    problem = Problem(random.standard_normal((150, 4)), WestonWatkins(np.arange(150) % 130), 0.1)
    state = BlockCoordinate(n_jobs=2).start(problem, None)
    assert not state.simultaneous.measures and state.simultaneous.sigma == 2.0


def test_without_measuring_steps_are_whole():
    blocks, sums = Simultaneous(2, measures=False), Sums(np.zeros(2), np.zeros(3))
    alpha = np.zeros(4)

    def run(part, own):
        own.v[:] += part.sigma * len(part.order)
        alpha[part.order] = 1.0
        return len(part.order), 0.5, 2, 1.0

    order = np.arange(4, dtype=np.uint32)
    tally = blocks.epoch(Part(order, 0, 4, 0, np.inf), sums, alpha, run, lambda change: float(change.v @ change.v))
    assert tally == (4, 0.5, 4, 2.0) and np.array_equal(sums.v, [4.0, 4.0]) and blocks.sigma == 2.0
    assert np.array_equal(alpha, np.ones(4))


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        # example 0 stayed in an earlier part, example 1 was shrunk in it
        (2, 8, [0, 2, 5, 1, 3, 4, 6, 7]),
        # of the four that were shrunk before only two move
        (5, 8, [0, 5, 6, 3, 4, 1, 2, 7]),
        (1, 8, [0, 1, 4, 2, 3, 5, 6, 7]),
    ],
)
def test_shrunk_examples_of_all_blocks_come_last(begin, end, expected):
    blocks, sums = Simultaneous(2), Sums(np.zeros(1), np.zeros(3))

    def run(part, own):
        # the first example of each block stays
        return 1, 0.0, 0, 0.0

    order = np.arange(8, dtype=np.uint32)
    tally = blocks.epoch(Part(order, begin, end, 1, 1.0), sums, np.zeros(8), run, lambda change: 0.0)
    assert tally.remaining == 3 and order.tolist() == expected


@pytest.mark.parametrize(("room", "expected"), [(4, [9, 1, 3, 5]), (3, [9, 1, 3]), (1, [9]), (0, [])])
def test_blocks_list_violators_in_one_list(room, expected):
    blocks, sums = Simultaneous(2), Sums(np.zeros(1), np.zeros(3))

    def run(part, own):
        assert part.listed_from == 0.5
        odd = part.order[part.order % 2 == 1][: len(part.worst) - 1]
        part.worst[: len(odd)], part.worst[-1] = odd, len(odd)
        return len(part.order), 0.0, 0, 0.0

    order, worst = np.array([9, 0, 1, 2, 3, 4, 5, 7], dtype=np.uint32), np.zeros(room + 1, dtype=np.uint32)
    # example 9 was listed in an earlier part
    worst[0], worst[-1] = (9, 1) if room else (0, 0)
    part = Part(order, 1, 8, 1, np.inf, worst=worst, listed_from=0.5)
    blocks.epoch(part, sums, np.zeros(10), run, lambda change: 0.0)
    assert worst[:-1].tolist() == expected and worst[-1] == room


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_products_in_threads_have_the_same_bits(monkeypatch, kind):
    for name in ("BLOCK", "_SHARED", "_SHORT_SUMS"):
        monkeypatch.setattr(csr, name, 40)
    monkeypatch.setattr(csr, "_ENTRIES_PER_FEATURE", 1)
    random = np.random.default_rng(0)
    X = sp.random_array((70, 9), density=0.4, random_state=random, format="csr", dtype=np.float64)
    X = CSRDesign(X.astype(kind))
    w, W, theta, Theta = (random.standard_normal(shape) for shape in (9, (3, 9), 70, (70, 3)))

    def products():
        return [X.scores(w), X.scores(W), X.adjoint(theta), X.adjoint(Theta), X.adjoint_by_feature(Theta)]

    alone = products()
    with products_in_threads(3):
        assert all(np.array_equal(*pair) for pair in zip(alone, products(), strict=True))


def test_an_error_in_a_thread_is_raised():
    X = CSRDesign(sp.eye_array(3, format="csr"))
    with products_in_threads(2), pytest.raises(ValueError, match="mismatch"):
        X.scores(np.zeros(4))
