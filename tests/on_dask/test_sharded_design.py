"""Laws of rows in groups: products, norms and certificates are those of the whole matrix, whatever the groups are."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from fenchel import FenchelError, Problem, certify, solve
from fenchel.dask import LBFGS, CoCoA, NewtonCG
from fenchel.dask.in_process import in_groups
from fenchel.dask.shard import Shard, facts
from fenchel.designs import as_design
from fenchel.losses import LOSSES
from fenchel.risks import BreakEven, CrammerSinger, MeanRisk, Multinomial, RocAUC, WestonWatkins
from fenchel.solvers import SOLVERS, Hint

#: ends of 1, 2 and 7 groups of 90 rows, of uneven sizes, one of them a single row
GROUPS = {"one": [], "two": [31], "seven": [1, 5, 40, 41, 60, 75]}
LAM = 0.05


def data(kind: str = "dense"):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 6))
    # ties: equal rows in different groups
    X[50:60] = X[:10]
    X = np.round(X, 1)
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(90) > 0.2, 1.0, -1.0)
    # groups of one class
    y[:5], y[75:] = 1.0, -1.0
    return (sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)) if kind == "sparse" else X), y


def _mean_of(loss):
    # some of the examples have no weight
    shift = 0.0 if loss.task == "classification" else 1.0 + np.arange(90) / 50.0
    return lambda y: MeanRisk(loss(), y + shift, np.arange(90) % 4)


MEASURES, JOINT = ("roc_auc", "prbep"), ("weston_watkins", "crammer_singer")
RISKS = {
    **{name: _mean_of(loss) for name, loss in LOSSES.items()},
    "multinomial": lambda y: Multinomial((np.arange(90) * 7) % 3),
    "weston_watkins": lambda y: WestonWatkins((np.arange(90) * 7) % 3, weights=np.arange(90) % 3),
    "crammer_singer": lambda y: CrammerSinger((np.arange(90) * 7) % 3),
    "roc_auc": lambda y: RocAUC(y),
    "prbep": lambda y: BreakEven(y),
}
#: every solver for data on workers, by the name that estimators take
METHODS = ("lbfgs", "newton_cg", "cocoa", "smoothing", "proximal_gradient", "bundle", "agm")
OWN = {"lbfgs": LBFGS(), "newton_cg": NewtonCG(), "cocoa": CoCoA(), "cocoa_safe": CoCoA(aggregation="safe", epochs=2)}


#: of each solver; ridge for the others
PENALTIES = {"proximal_gradient": "elastic_net"}


def problem_of(X, solver, name, intercept=False):
    """A problem for a solver on the rows X or on groups of them."""
    return Problem(X, RISKS[name](data()[1]), LAM, PENALTIES.get(solver, "l2"), intercept=intercept)


def supported(solver, name, intercept=False):
    problem = problem_of(in_groups(data()[0], [40]), solver, name, intercept)
    return (OWN[solver] if solver in OWN else SOLVERS[solver]()).supports(problem) is None


#: every method with every loss and risk that it supports
CASES = [(solver, name) for solver in METHODS for name in RISKS if supported(solver, name)]


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_products_and_norms_are_those_of_the_whole(kind, groups):
    X, _ = data(kind)
    whole, split = as_design(X), in_groups(X, GROUPS[groups])
    rng = np.random.default_rng(0)
    w, W, theta, many = (rng.standard_normal(shape) for shape in (6, (3, 6), 90, (90, 3)))
    for found, expected in (
        (split.scores(w), whole.scores(w)),
        (split.scores(W), whole.scores(W)),
        (split.adjoint(theta), whole.adjoint(theta)),
        (split.adjoint(many), whole.adjoint(many)),
        (split.column_squares(theta**2), whole.column_squares(theta**2)),
    ):
        assert found.shape == expected.shape
        assert np.max(np.abs(found - expected)) <= 1e-13 * np.max(np.abs(expected))
    assert split.shape == whole.shape
    assert split.stored_entries == whole.stored_entries
    assert_allclose(split.squared_row_norms, whole.squared_row_norms, rtol=1e-14)
    assert_allclose(split.row_magnitudes, whole.row_magnitudes, rtol=1e-14)
    assert split.largest_row_norm >= np.sqrt(np.max(whole.squared_row_norms)) * (1 - 1e-14)
    assert_array_equal(split.part(3, 70).scores(w), as_design(sp.csr_array(X)[3:70]).scores(w))
    # the bounds on rounding cover another order of the sums
    assert split.adjoint_roundings >= 2


def test_scores_are_those_of_the_weights_they_are_asked_for():
    X, _ = data()
    split, whole = in_groups(X, [30]), as_design(X)
    w = np.ones(6)
    split.scores(w)[:] = np.nan
    # products with fewer rows may be summed in another order
    assert_allclose(split.scores(w), whole.scores(w), rtol=0.0, atol=1e-13)
    w[0] = 2.0
    assert_allclose(split.scores(w), whole.scores(w), rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", RISKS)
def test_certificates_are_those_of_the_whole(name, intercept):
    X, y = data()
    risk = RISKS[name](y)
    intercept = intercept and risk.intercepts() is not None
    whole = Problem(X, risk, LAM, intercept=intercept)
    solution = solve(whole, tol=1e-2)
    split = Problem(in_groups(X, GROUPS["seven"]), risk, LAM, intercept=intercept)
    found, expected = (certify(one, solution.model, solution.witness) for one in (split, whole))
    assert_allclose([found.primal, found.dual], [expected.primal, expected.dual], rtol=1e-12)


def test_every_loss_has_its_methods():
    of = {name: {solver for solver in METHODS if (solver, name) in CASES} for name in RISKS}
    for name, loss in LOSSES.items():
        expected = {"newton_cg", "cocoa", "smoothing", "bundle", "agm"} | ({"lbfgs"} if loss().smooth else set())
        assert of[name] >= expected, name
    assert of["multinomial"] == {"lbfgs", "newton_cg", "proximal_gradient", "bundle"}
    assert all(of[name] == {"cocoa", "bundle"} for name in JOINT)
    assert all(of[name] == {"smoothing", "bundle", "agm"} for name in MEASURES)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("solver", "name"), CASES, ids=["-".join(case) for case in CASES])
def test_gaps_overlap_with_those_of_the_whole(solver, name, intercept, groups):
    X, y = data("sparse" if groups == "two" else "dense")
    # bundle has no intercepts of several classes, and agm none at all
    intercept = intercept and RISKS[name](y).intercepts() is not None and supported(solver, name, intercept=True)
    split = problem_of(in_groups(X, GROUPS[groups]), solver, name, intercept)
    found = solve(split, OWN.get(solver, solver), tol=1e-3, max_iter=20_000)
    assert found.converged, found
    expected = solve(problem_of(X, solver, name, intercept), tol=1e-6).certificate
    assert found.certificate.dual <= expected.primal + 1e-12
    assert expected.dual <= found.certificate.primal + 1e-12


@pytest.mark.meetings(1)
@pytest.mark.parametrize("groups", ["two", "seven"])
@pytest.mark.parametrize(
    ("solver", "name"), [case for case in CASES if case[0] != "cocoa"], ids=lambda value: str(value)
)
def test_iterates_agree_with_those_of_the_whole(solver, name, groups):
    # those of CoCoA+ depend on the groups: it solves a problem of each
    X, _ = data()
    # L-BFGS and Newton-CG have a method of their own on workers: with one group it is serial
    whole = in_groups(X, []) if solver in OWN else X
    found = []
    for rows in (in_groups(X, GROUPS[groups]), whole):
        method = OWN[solver] if solver in OWN else SOLVERS[solver]()
        state = method.start(problem_of(rows, solver, name), None)
        for _ in range(5):
            method.step(state, Hint(None, target_gap=0.0, stop_requested=lambda: False))
        found.append(np.asarray(method.propose(state)[0].weights))
    assert np.max(np.abs(found[0] - found[1])) <= 1e-10 * np.max(np.abs(found[1]))
    # the best of five cutting planes of this joint hinge is the first one
    assert np.any(found[1]) or (solver, name) == ("bundle", "crammer_singer")


def test_groups_of_one_class_and_safe_sums():
    X, y = data()
    order = np.argsort(y, kind="stable")
    risk = MeanRisk("hinge", y[order])
    split = Problem(in_groups(X[order], [int(np.sum(y < 0))]), risk, LAM, intercept=True)
    for solver in (OWN["cocoa"], OWN["cocoa_safe"]):
        assert solve(split, solver, tol=1e-3, max_iter=20_000).converged


@pytest.mark.parametrize("name", ["hinge", "crammer_singer"])
@pytest.mark.parametrize("aggregation", ["safe", "overlap"])
def test_rounds_never_decrease_the_dual(aggregation, name):
    X, y = data()
    risk = RISKS[name](y)
    problem = Problem(in_groups(X, GROUPS["seven"]), risk, 1e-3)
    solver = CoCoA(aggregation=aggregation)
    state, last = solver.start(problem, None), -np.inf
    for _ in range(10):
        solver.step(state, None)
        theta = state.theta
        v = X.T @ theta / problem.lam
        # minus the conjugate of both hinges at -theta: each example's theta of its own class, or times its label
        linear = y @ theta if theta.ndim == 1 else np.sum(theta[np.arange(len(theta)), risk.classes])
        value = -0.5 * problem.lam * np.sum(v**2) + linear
        assert value >= last - 1e-13
        last = value
        assert_allclose(state.v, v, rtol=1e-10, atol=1e-12)


def test_repeated_groups_overlap_fully_and_orthogonal_ones_not():
    X, y = data()
    none = np.zeros_like(X)
    for rows, overlap in ((np.vstack([X, X]), 2.0), (np.block([[X, none], [none, X]]), 1.0)):
        problem = Problem(in_groups(rows, [len(X)]), MeanRisk("squared_hinge", np.tile(y, 2)), 1e-3, intercept=False)
        state = CoCoA().start(problem, None)
        state.round(1.0, measures=True)
        # orders differ between the groups, so that repeated rows change nearly alike
        assert state.sigma == pytest.approx(min(2.0, 1.1 * overlap), rel=0.1 if overlap > 1.0 else 1e-12)


def test_facts_of_entries_whose_squares_are_near_overflow():
    # sums of squares of 1e300, whose square overflows
    assert facts(Shard(as_design(np.full((3, 2), 1e150)))).evenness == 1.0
    assert facts(Shard(as_design(1e70 * np.eye(2)[[0, 0]]))).evenness == 0.5


def test_solvers_that_read_rows_are_refused():
    X, y = data()
    problem = Problem(in_groups(X, [40]), MeanRisk("logistic", y), LAM)
    with pytest.raises(FenchelError, match="lie on several workers"):
        solve(problem, "newton")
    with pytest.raises(FenchelError, match="rows on workers"):
        solve(Problem(X, MeanRisk("logistic", y), LAM), LBFGS())


def test_a_checkpoint_knows_the_rows_of_all_groups(tmp_path):
    X, y = data()
    risk, path = MeanRisk("logistic", y), tmp_path / "long.npz"
    first = solve(Problem(in_groups(X, [40]), risk, LAM), LBFGS(), tol=1e-10, checkpoint=path)
    again = solve(Problem(in_groups(X, [40]), risk, LAM), LBFGS(), tol=1e-10, checkpoint=path)
    assert again.passes == 0
    assert_allclose(again.certificate.primal, first.certificate.primal, rtol=1e-10)
    other = X.copy()
    other[77, 2] += 1.0
    with pytest.raises(FenchelError, match="checksum of X"):
        solve(Problem(in_groups(other, [40]), risk, LAM), LBFGS(), checkpoint=path)


@pytest.mark.parametrize("name", [name for name in RISKS if name not in MEASURES])
def test_the_terms_of_parts_add_up_to_the_risk(name):
    _, y = data()
    risk = RISKS[name](y)
    scores = np.random.default_rng(5).standard_normal((90,) if risk.outputs is None else (90, risk.outputs))
    spans = [slice(0, 1), slice(1, 33), slice(33, 90)]
    parts = [risk.part(span) for span in spans]
    values = [part.value(scores[span]) for part, span in zip(parts, spans, strict=True)]
    assert_allclose(sum(values), risk.value(scores), rtol=1e-13)
    slopes = [part.subgradient(scores[span]) for part, span in zip(parts, spans, strict=True)]
    # exponentials of the last few of an array may be rounded otherwise than those before
    assert_allclose(np.concatenate(slopes), risk.subgradient(scores), rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("name", MEASURES)
def test_measures_are_no_sums_over_examples(name):
    _, y = data()
    assert RISKS[name](y).part(slice(0, 10)) is None
