"""Laws of Newton-CG on groups of rows with losses that have kinks: what travels, hostile groups, warm starts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel import FenchelError, Problem, solve
from fenchel.dask import CoCoA, NewtonCG
from fenchel.dask import local_points as local
from fenchel.dask.choosing import choose_solver
from fenchel.dask.in_process import in_groups
from fenchel.losses import EpsilonInsensitive, Quantile
from fenchel.risks import MeanRisk, Multinomial
from fenchel.solvers import Hint, Start
from fenchel.solvers.choose import Candidate

LAM, ROWS, FEATURES = 0.02, 160, 5
#: groups of uneven sizes, two of them of a single row and one of one class
ENDS = [1, 40, 41, 120]
LOSSES = {
    "hinge": "hinge",
    "absolute": "absolute",
    "epsilon_insensitive": EpsilonInsensitive(epsilon=0.2),
    "quantile": Quantile(0.8),
    "huber_hinge": "huber_hinge",
}


def data():
    rng = np.random.default_rng(8)
    X = np.round(rng.standard_normal((ROWS, FEATURES)), 1)
    signal = X[:, 0] + 0.5 * rng.standard_normal(ROWS)
    y = np.where(signal > 0.1, 1.0, -1.0)
    # a group of one class, and rows without any entry
    y[120:], X[50:55] = 1.0, 0.0
    return X, y, signal


def risk_of(name):
    _, y, signal = data()
    return MeanRisk(LOSSES[name], y if "hinge" in name else signal, np.arange(ROWS) % 3)


def as_kind(kind):
    X, _, _ = data()
    if kind == "float32":
        return X.astype(np.float32)
    if kind == "dense":
        return X
    rows = sp.csr_array(X.astype(np.float32))
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def overlaps(found, expected):
    return found.dual <= expected.primal + 1e-7 and expected.dual <= found.primal + 1e-7


@pytest.mark.parametrize("kind", ["dense", "float32", "int64"])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("intercept", [False, True])
def test_kinks_are_solved_to_high_accuracy_on_hostile_groups(name, kind, intercept):
    X, risk = as_kind(kind), risk_of(name)
    found = solve(Problem(in_groups(X, ENDS), risk, LAM, intercept=intercept), NewtonCG(), tol=1e-7)
    assert found.converged, found
    # kinks need many products by a smoothing around zero; around the dual point they do not
    assert found.passes < 200
    assert overlaps(found.certificate, solve(Problem(X, risk, LAM, intercept=intercept), tol=1e-6).certificate)


def test_no_numbers_of_examples_are_exchanged_in_a_step(monkeypatch):
    X, _, _ = data()
    split = Problem(in_groups(X, [70]), risk_of("hinge"), LAM, intercept=True)
    solver, largest, sent = NewtonCG(), [], []
    state = solver.start(split, None)
    # of d x d numbers is the matrix of the preconditioner
    most = FEATURES**2
    assert most < 70
    groups = split.design.groups
    original = groups.map

    def counted(function, *each, **common):
        found = original(function, *each, **common)
        largest.append(max(np.size(value) for result in found for value in result if value is not None))
        sent.append(max((np.size(value) for value in common.values()), default=0))
        return found

    monkeypatch.setattr(groups, "map", counted)
    moved, mu = 0, state.mu
    for _ in range(8):
        solver.step(state, Hint(None, target_gap=1e-6, stop_requested=lambda: False))
        moved, mu = moved + (state.mu < mu), state.mu
    assert moved >= 2
    assert len(largest) > 8
    assert max(largest) <= most
    assert max(sent) <= FEATURES


@pytest.mark.parametrize("outputs", [None, 2])
def test_second_derivatives_are_not_averaged_over_a_radius_below_the_rounding_of_the_scores(outputs):
    X, y, _ = data()
    shard = in_groups(X, []).groups.shards[0]
    part = MeanRisk("hinge", y if outputs is None else np.column_stack([y, -y]))
    shape, mu = (FEATURES,) if outputs is None else (outputs, FEATURES), 0.5
    at = {"weights": np.full(shape, 0.3), "intercept": np.array(0.1), "mu": mu}
    point = local.local_point(shard, part, None, **at)
    narrow, wide = (local.averaged(shard, part, None, point, mu=mu, radius=radius) for radius in (1e-16, 1e-6))
    assert np.any(point.hess)
    np.testing.assert_array_equal(narrow.hess, point.hess)
    # away from kinks the average is the same
    np.testing.assert_allclose(wide.hess, point.hess, rtol=1e-6)


def test_a_warm_start_begins_at_its_dual_point():
    X, _, _ = data()
    split = Problem(in_groups(X, ENDS), risk_of("hinge"), LAM)
    first = solve(split, NewtonCG(), tol=1e-6)
    again = solve(split, NewtonCG(), tol=1e-6, warm_start=Start(first.model, first.witness))
    assert again.passes == 0
    near = solve(split.with_lam(1.1 * LAM), NewtonCG(), tol=1e-6, warm_start=Start(first.model, first.witness))
    cold = solve(split.with_lam(1.1 * LAM), NewtonCG(), tol=1e-6)
    assert near.converged
    assert overlaps(near.certificate, cold.certificate)
    # a dual point of another shape is not used
    bad = Start(first.model, type(first.witness)(np.full(3, np.nan)))
    assert np.all([centre is None for centre in NewtonCG().start(split, bad).centres])


@pytest.mark.parametrize("name", ["hinge", "absolute"])
def test_losses_with_kinks_are_left_to_newton_cg_unless_groups_are_few_and_rows_short(name):
    X, _, _ = data()
    many = Problem(in_groups(X, list(range(10, ROWS, 10))), risk_of(name), LAM)
    assert [one.solver.name for one in choose_solver(many, "auto")] == ["newton_cg", "bundle"]
    few = Problem(in_groups(X, [70]), risk_of(name), 2.0)
    assert [one.solver.name for one in choose_solver(few, "auto")] == ["cocoa", "newton_cg", "bundle"]


def test_smooth_losses_are_left_to_lbfgs_for_some_passes_where_columns_are_alike_and_else_to_newton_cg():
    X, _, signal = data()
    for scale, order in ((1.0, ["lbfgs", "newton_cg"]), (100.0, ["newton_cg", "lbfgs"])):
        rows = np.hstack([X[:, :1] * scale, X[:, 1:]])
        for risk in (MeanRisk("logistic", np.sign(signal)), Multinomial((signal > 0.0).astype(int))):
            chosen = choose_solver(Problem(in_groups(rows, list(range(10, ROWS, 10))), risk, LAM), "auto")
            assert [one.solver.name for one in chosen[:2]] == order
            # the multinomial risk is left to the one that begins
            limited = order[0] == "lbfgs" and risk.separable() is not None
            assert chosen[0].patience == (20.0 if limited else np.inf)
    rows = X @ np.random.default_rng(0).standard_normal((FEATURES, 40))
    many = Problem(in_groups(rows, list(range(10, ROWS, 10))), MeanRisk("squared", signal), 1e-6)
    found = solve(many, choose_solver(many, "auto"), tol=1e-9)
    assert found.converged


def test_newton_cg_continues_after_some_rounds_of_cocoa():
    X, _, _ = data()
    # repeated columns, so that the groups disturb each other
    split = Problem(in_groups(np.hstack([X, X]), [70]), risk_of("hinge"), 1e-3)
    chosen = [Candidate(CoCoA(), 10.0), Candidate(NewtonCG())]
    found = solve(split, chosen, tol=1e-6)
    assert found.converged
    assert found.solver == "cocoa, newton_cg"
    assert "cocoa used up its share of data passes" in found.handovers[0]
    with pytest.raises(FenchelError, match="solver must be"):
        solve(split, [])
