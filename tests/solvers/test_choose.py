"""The table behind solver="auto": which row applies, which solver follows which, and the default seed and threads."""

import importlib
import itertools
import logging
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp

from catalog import Case
from fenchel import FenchelError, Problem, Solution, Status, solve, solvers
from fenchel.designs import ChainDesign, as_design
from fenchel.regularizers import ElasticNet, Entropy, FreeDirections, QNorm, QuadraticForm
from fenchel.risks import F1, BreakEven, ChainLogistic, CrammerSinger, MeanRisk, Multinomial, RocAUC, WestonWatkins
from fenchel.solvers import SOLVERS, DualCoordinate, Newton
from fenchel.solvers.base import STALLED
from fenchel.solvers.choose import Candidate, choose, processors
from fenchel.solvers.facts import Facts, facts_of
from fenchel.solvers.newton_cost import step_passes
from fenchel.solvers.rules import TABLE

#: the module: the package has the function of the same name
table = importlib.import_module("fenchel.solvers.choose")
TALL = {"examples": 10_000, "features": 200, "smooth": False, "tol": 1e-3, "curvature": 5.0}
TALL |= {"joint": False, "subgradient_only": False, "smoothable": False}
#: the row that is meant, and what has to be so for it
ROWS = {
    "free directions": {"free": True},
    "hard constraints": {"constraint": True},
    "lasso, piecewise linear loss, few rows": {"lasso": True, "smooth": False, "examples": 500, "features": 100},
    "lasso, piecewise linear loss": {"lasso": True, "smooth": False, "examples": 500, "features": 600},
    "lasso, piecewise linear loss, thousands of rows, unless that is easy": {"lasso": True, "smooth": False},
    "lasso": {"lasso": True, "smooth": True},
    "NDCG of queries": {"subgradient_only": True, "smoothable": True, "ndcg": True},
    "labelled sequences, log-loss, sparse tokens or small curvature": {
        "subgradient_only": True,
        "chains": True,
        "smooth": True,
        "features": 1000,
    },
    "labelled sequences, log-loss": {"subgradient_only": True, "chains": True, "smooth": True},
    "labelled sequences, max-margin, few weights, unless that is easy": {"subgradient_only": True, "chains": True},
    "labelled sequences, max-margin": {"subgradient_only": True, "chains": True, "features": 5000},
    "multilabel hinge, many features or small curvature": {"subgradient_only": True, "multilabel": True},
    "performance measure with a smoothing": {"subgradient_only": True, "smoothable": True},
    "losses of pairs in queries": {"subgradient_only": True, "ranking": True},
    "only a subgradient oracle is available": {"subgradient_only": True},
    "joint smooth multiclass risk, very few unknowns": {"joint": True, "smooth": True, "tiny_classes": True},
    "joint smooth multiclass risk, many features or small curvature": {"joint": True, "smooth": True},
    "joint smooth multiclass risk": {"joint": True, "smooth": True, "curvature": 50.0},
    "joint multiclass risk, few features of large scale": {"joint": True, "features": 20, "curvature": 1e5},
    "joint multiclass risk": {"joint": True},
    "q-norm with q > 2": {"steep": True},
    "smooth loss and very few features": {"smooth": True, "features": 20, "examples": 10},
    "smooth loss and many features, or fewer rows than features": {"smooth": True, "features": 5000},
    "many features, or fewer rows than features": {"features": 5000},
    "smooth loss with costly dual and Newton steps on dense rows": {
        "smooth": True,
        "ridge": True,
        "bounded_hess": True,
        "newton_step": 20.0,
        "entries": 2_000_000,
    },
    "smooth loss, and few epochs of cheap steps or costly Newton steps": {
        "smooth": True,
        "ridge": True,
        "bounded_hess": True,
        "newton_step": 20.0,
    },
    "smooth loss and many entries in long rows": {"smooth": True, "ridge": True, "entries": 10_000_000},
    "smooth loss": {"smooth": True},
    "very few features, unless that is easy, or few features and no strong regularization": {
        "features": 50,
        "curvature": 20.0,
    },
    "very small tolerance, unless the curvature is small": {"tol": 1e-9, "curvature": 50.0},
    "in files, in more than one block, and no strong regularization": {"in_blocks": True, "curvature": 50.0},
    "all other problems": {},
}


def row_of(**facts):
    known = {**TALL, **facts}
    curvature = known.pop("curvature")
    return next(row for row in TABLE if row.applies(Facts(**known, curvature_of=lambda: curvature)))


def test_every_row_is_reached_and_named():
    assert [row.why for row in TABLE] == list(ROWS)
    assert {why: row_of(**facts).why for why, facts in ROWS.items()} == {why: why for why in ROWS}


def test_solvers_have_their_names_and_are_public():
    for name, solver in SOLVERS.items():
        assert solver.name == name
        assert getattr(solvers, solver.__name__) is solver
        assert solver.__name__ in solvers.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = solvers.nothing


def test_every_plan_ends_with_all_passes_and_names_solvers():
    for row in TABLE:
        assert set(row.solvers) <= set(SOLVERS)
        assert len(row.solvers) > 1 or row.patience == np.inf


def test_facts_are_those_of_the_problem():
    case = Case("logistic", n=50, d=7, lam=0.01)
    facts = facts_of(case.problem(), 1e-5)
    X, _, _ = case.data()
    assert (facts.examples, facts.features, facts.smooth, facts.tol) == (50, 7, True, 1e-5)
    assert facts.curvature == pytest.approx(np.mean(np.sum(X**2, axis=1)) / (0.01 * 50), rel=1e-12)


def sparse_rows(rows, features, entries):
    """Ones in random places, and labels."""
    rng = np.random.default_rng(0)
    X = sp.random_array((rows, features), density=entries / features, format="csr", rng=rng)
    return X, np.where(rng.random(rows) < 0.5, 1.0, -1.0)


@pytest.mark.parametrize(
    ("loss", "features", "entries", "curvature", "first"),
    [
        # the factors of a Hessian take as long as many epochs; then its entries
        ("logistic", 600, 30, 50.0, "dual_coordinate"),
        ("squared_hinge", 600, 30, 50.0, "dual_coordinate"),
        ("logistic", 100, 90, 2.0, "dual_coordinate"),
        ("logistic", 100, 30, 2.0, "newton"),
        # at a large curvature descent may be in vain, and has to cost little beside Newton steps
        ("logistic", 100, 90, 50.0, "newton"),
        ("squared_hinge", 300, 100, 5.0, "newton"),
        # every entry of dense rows is stored
        ("logistic", 100, 100, 50.0, "newton"),
        # few epochs, of steps with and without logarithms
        ("squared_hinge", 100, 60, 0.2, "dual_coordinate"),
        ("squared_hinge", 100, 60, 0.5, "newton"),
        ("logistic", 100, 60, 0.2, "newton"),
        # dual steps are short where the second derivative is not bounded
        ("exponential", 600, 30, 50.0, "newton"),
        # one Newton step is the solution
        ("squared", 600, 30, 50.0, "newton"),
        ("squared", 100, 60, 0.2, "newton"),
        ("huber", 600, 30, 50.0, "dual_coordinate"),
        ("huber", 100, 60, 0.2, "dual_coordinate"),
        ("squared_epsilon_insensitive", 600, 30, 50.0, "dual_coordinate"),
    ],
)
def test_descent_begins_with_a_smooth_loss_if_its_epochs_are_few_or_newton_steps_costly(
    loss, features, entries, curvature, first
):
    X, y = sparse_rows(1500, features, entries)
    lam = float((X.data**2).mean()) * entries / (curvature * len(y))
    leading, following = choose(Problem(X, MeanRisk(loss, y), lam), "auto")
    names = ["dual_coordinate", "newton"]
    assert [leading.solver.name, following.solver.name] == (names if first == names[0] else names[::-1])


@pytest.mark.parametrize(
    ("tol", "curvature", "first"),
    [(1e-3, 0.28, "dual_coordinate"), (1e-6, 0.28, "newton"), (1e-6, 0.08, "dual_coordinate")],
)
def test_descent_begins_for_many_digits_of_a_smooth_loss_if_its_epochs_are_very_few(tol, curvature, first):
    X, y = sparse_rows(1500, 100, 60)
    lam = float((X.data**2).mean()) * 60 / (curvature * len(y))
    assert choose(Problem(X, MeanRisk("huber", y), lam), "auto", tol=tol)[0].solver.name == first


def test_hessian_and_factors_cost_what_their_shape_says():
    X, _ = sparse_rows(1000, 400, 20)
    few, many = (step_passes(as_design(one)) for one in (X, sp.vstack([X] * 10, format="csr")))
    # a fifth of half the entries of a row, whatever the rows; the factors are shared by all of them
    assert many - 2.0 == pytest.approx((few - 2.0) / 10.0, rel=1e-12)
    # a sample of ten thousand dense rows is enough, and one of a thousand is not smaller than all of them
    rows = X.toarray()
    assert step_passes(as_design(rows)) == pytest.approx(400 / 26 + 1.6 / 3.9, rel=0.1)
    assert step_passes(as_design(np.vstack([rows] * 10))) < 1.0


def test_descent_goes_on_as_long_as_one_newton_step_takes():
    rows = np.random.default_rng(0).normal(size=(3000, 600))
    for loss, first in (("logistic", "smoothing"), ("squared_hinge", "dual_coordinate")):
        problem = Problem(rows, MeanRisk(loss, np.sign(rows[:, 0])), 1e-6)
        leading, following = choose(problem, "auto")[:2]
        assert (leading.solver.name, following.solver.name) == (first, "newton")
        assert leading.patience == step_passes(problem.design) > 20.0


@pytest.mark.parametrize(
    ("dense", "C", "length", "expected"),
    [
        (False, 1.0, 10, "exponentiated_gradient"),
        (False, 500.0, 10, "exponentiated_gradient"),
        (False, 5000.0, 10, "smoothing"),
        # weights of pairs of labels for each sequence, which are as many as tokens
        (False, 1.0, 1, "smoothing"),
        (True, 1.0, 10, "exponentiated_gradient"),
        (True, 100.0, 10, "smoothing"),
    ],
)
def test_steps_of_single_sequences_need_sparse_tokens_or_a_small_curvature(dense, C, length, expected):
    rng, n, m = np.random.default_rng(0), 400, 10
    columns = rng.integers(200, size=(n, 4))
    X = sp.csr_array((np.full(4 * n, 0.5), columns.ravel(), np.arange(0, 4 * n + 1, 4)), shape=(n, 200))
    X.sum_duplicates()
    if dense:
        X = X @ rng.standard_normal((200, 50)) / np.sqrt(50)
    lengths = np.full(n // length, length)
    risk = ChainLogistic(rng.integers(m, size=n), lengths, m)
    assert choose(Problem(ChainDesign(X, m), risk, 1.0 / (C * len(lengths))), "auto")[0].solver.name == expected


def test_a_named_solver_and_an_object_are_alone():
    problem = Case("hinge").problem()
    assert [candidate.solver.name for candidate in choose(problem, "newton")] == ["newton"]
    (only,) = choose(problem, DualCoordinate(seed=3), seed=8)
    assert only == Candidate(DualCoordinate(seed=3))


def test_open_settings_are_filled_in_and_given_ones_kept():
    problem = Case("logistic").problem()
    first = choose(problem, "auto", seed=7, n_jobs=2)[0].solver
    assert first == Newton(seed=7, n_jobs=2)
    assert choose(problem, Newton(seed=1, n_jobs=3), seed=7, n_jobs=2)[0].solver == Newton(seed=1, n_jobs=3)


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, 1), (1, 1), (5, 5)])
def test_processors(n_jobs, expected):
    assert processors(n_jobs) == expected
    assert processors(-1) >= 1


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_bad_n_jobs_is_named(n_jobs):
    with pytest.raises(FenchelError, match="n_jobs must be None or an integer"):
        solve(Case("hinge").problem(), n_jobs=n_jobs)


@dataclass(frozen=True)
class Lazy(DualCoordinate):
    """Makes a few steps and then claims to stall."""

    steps: int = 2
    name = "lazy"

    def step(self, state, hint):
        if getattr(state, "made", 0) >= self.steps:
            return STALLED
        state.made = getattr(state, "made", 0) + 1
        return super().step(state, replace(hint, passes=1.0))


def chain(monkeypatch, first, patience):
    row = table.Row("anything", lambda facts: True, (first.name, "newton"), patience)
    monkeypatch.setattr(table, "TABLE", (row,))
    monkeypatch.setattr(table, "SOLVERS", {**SOLVERS, first.name: first})


def test_a_solver_that_stalls_hands_over_its_best_point_and_says_so(monkeypatch, caplog):
    chain(monkeypatch, Lazy, np.inf)
    starts = []
    plain = Newton.start

    def watched(self, problem, warm):
        starts.append(warm)
        return plain(self, problem, warm)

    monkeypatch.setattr(Newton, "start", watched)
    problem = Case("hinge", n=200, lam=0.01).problem()
    with caplog.at_level(logging.INFO, logger="fenchel"):
        solution = solve(problem, tol=1e-8)
    assert solution.converged
    assert solution.solver == "lazy, newton"
    (sentence,) = solution.handovers
    assert sentence.startswith("lazy stalled after")
    assert "newton continued" in sentence
    assert sentence in caplog.text
    (warm,) = starts
    assert warm.path_certificate.fits(problem)
    assert np.any(warm.model.weights)


def test_a_solver_that_uses_up_its_passes_hands_over(monkeypatch):
    chain(monkeypatch, DualCoordinate, 3.0)
    problem = Case("hinge", n=300, lam=1e-5).problem()
    solution = solve(problem, tol=1e-9)
    assert solution.converged
    assert "used up its share" in solution.handovers[0]
    assert solution.passes > 3.0


def test_the_limits_of_a_solve_hold_over_all_solvers(monkeypatch):
    chain(monkeypatch, DualCoordinate, 3.0)
    problem = Case("hinge", n=300, lam=1e-6).problem()
    solution = solve(problem, tol=1e-12, max_iter=2)
    assert solution.status is Status.MAX_ITER
    assert solution.handovers == []
    assert solve(problem, tol=1e-12, max_iter=4).passes <= 8


def test_a_named_solver_that_stalls_is_not_replaced():
    solution = solve(Case("hinge", n=200, lam=0.01).problem(), Lazy(), tol=1e-8)
    assert isinstance(solution, Solution)
    assert solution.status is Status.STALLED
    assert solution.handovers == []


def test_no_solver_hands_over_to_itself():
    rng = np.random.default_rng(0)
    risk = WestonWatkins(np.arange(30) % 3)
    few = [one.solver.name for one in choose(Problem(rng.normal(size=(30, 40)), risk, 0.1), "auto")]
    assert few == ["block_coordinate", "interior_point", "block_coordinate", "bundle"]
    # too many weights for the second
    many = choose(Problem(rng.normal(size=(30, 2000)), risk, 0.1), "auto")
    assert [(one.solver.name, one.patience) for one in many] == [("block_coordinate", np.inf), ("bundle", np.inf)]


def advised_problems():
    """Small problems of every kind of risk and regularizer, with and without an intercept."""
    X, y, k = np.arange(12.0).reshape(6, 2) % 5, np.array([1.0, -1.0] * 3), np.arange(6) % 3
    sums = [
        MeanRisk(loss, y) for loss in ("hinge", "logistic", "squared", "hard_margin", "negative_log", "exponential")
    ]
    others = [WestonWatkins(k), CrammerSinger(k), Multinomial(k), BreakEven(y), F1(y), RocAUC(y)]
    regularizers = ["l1", "l2", ElasticNet(0.5), Entropy(), QNorm(1.5), QuadraticForm(np.array([1.0, 2.0]))]
    free = [FreeDirections.of_features([0], 2, base) for base in (None, ElasticNet(0.5), QNorm(1.5))]
    alone = list(itertools.product(sums, free, (False, True)))
    for risk, regularizer, intercept in [*itertools.product([*sums, *others], regularizers, (False, True)), *alone]:
        if not intercept or risk.intercepts() is not None:
            yield Problem(X, risk, 0.1, regularizer, intercept)


def refusal_of(problem, solver):
    try:
        choose(problem, solver)
    except FenchelError as error:
        return str(error)
    return None


def test_advice_names_only_what_a_solver_supports():
    """Whoever follows "use ..." is not refused again, and no message names a solver by itself."""
    seen = set()
    for problem, name in itertools.product(advised_problems(), ["auto", *SOLVERS]):
        refusal = refusal_of(problem, name)
        if refusal is None:
            continue
        advice = refusal.partition("; use ")[2]
        assert not any(other in advice for other in SOLVERS), refusal
        if "solver='auto'" in refusal:
            seen.add("auto")
            assert refusal_of(problem, "auto") is None, refusal
        if "use intercept=False" in refusal and name != "auto":
            seen.add("intercept")
            without = Problem(problem.design, problem.risk, problem.lam, problem.regularizer)
            assert refusal_of(without, name) is None, refusal
        if "multi_class='ovr'" in refusal:
            seen.add("ovr")
            rest = np.where(problem.risk.classes == 0, 1.0, -1.0)
            loss = "logistic" if problem.risk.smooth else "hinge"
            alone = Problem(problem.design, MeanRisk(loss, rest), 0.1, problem.regularizer, problem.intercept)
            assert refusal_of(alone, "auto") is None, refusal
        elif problem.risk.multiclass() is not None and name == "auto":
            pytest.fail(f"no way out: {refusal}")
    assert seen == {"auto", "intercept", "ovr"}


def test_free_directions_of_a_joint_risk_are_refused_with_a_way_out():
    with pytest.raises(FenchelError, match=r"FreeDirections requires a mean of losses.*multi_class='ovr'"):
        Problem(np.eye(3), WestonWatkins(np.arange(3)), 1.0, FreeDirections.of_features([0], 3))
