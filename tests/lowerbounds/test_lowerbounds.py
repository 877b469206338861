"""The lower-bound laboratory: theorems as exact assertions, for several accuracies."""

import math
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

import slow_bundle
from fenchel import FenchelError, solve
from fenchel.certificate import judge
from fenchel.lowerbounds import CONSTRUCTIONS, FourPoints, Hadamard, HingeLoss, gaps, weights_of
from fenchel.lowerbounds.__main__ import main
from fenchel.lowerbounds.construction import bundle
from fenchel.lowerbounds.four_points import recursion
from fenchel.lowerbounds.report import Check, Rate, draw, formula_checks, rate, rate_check, steps_to
from fenchel.lowerbounds.subgradient import Subgradient
from fenchel.solvers import Bundle, Hint, Pegasos

ACCURACIES = (0.33, 0.2, 0.07, 1 / 16, 1 / 48)
every_kind = pytest.mark.parametrize("kind", CONSTRUCTIONS.values(), ids=lambda kind: kind.name)


@pytest.mark.meetings(1)
@every_kind
@pytest.mark.parametrize("epsilon", ACCURACIES)
def test_iterates_and_gaps_are_the_closed_forms(kind, epsilon):
    construction = kind.for_accuracy(epsilon)
    count = min(construction.last, 100)
    found = list(islice(weights_of(construction.solver, construction), count))
    assert len(found) == count
    for k, weights in enumerate(found, start=1):
        np.testing.assert_allclose(weights, construction.iterate(k), rtol=0, atol=1e-9)
        gap = construction.objective(weights) - construction.optimum
        assert gap == pytest.approx(construction.gap(k), rel=0, abs=1e-9)


@every_kind
def test_the_line_search_sees_the_same_on_every_construction(kind):
    construction = kind.for_accuracy(0.06)
    count = min(construction.last, 16)
    expected = [construction.gap(k) for k in range(1, count + 1)]
    np.testing.assert_allclose(gaps(bundle("line_search"), construction, count), expected, atol=1e-9)


@every_kind
@pytest.mark.parametrize("epsilon", [0.33, 0.11])
def test_the_optimum_is_certified(kind, epsilon):
    construction = kind.for_accuracy(epsilon)
    solution = solve(construction.problem, Bundle(), tol=1e-10, max_iter=3000)
    assert solution.certificate.dual - 1e-10 <= construction.optimum <= solution.certificate.primal + 1e-10
    assert solution.certificate.gap <= 1e-8


@every_kind
@pytest.mark.parametrize("epsilon", ACCURACIES)
def test_the_theorem_holds_before_that_many_steps_no_iterate_is_accurate(kind, epsilon):
    """The first accurate iterate comes no earlier than the theorem says, by the formulas themselves."""
    share = {"Hadamard": 1 / 2, "hinge": 2 / 3, "F1": 1 / 3, "PRBEP": 1 / 5, "ROC area": 2 / 3}.get(kind.name)
    if share is None:
        pytest.skip("its theorem is a limit")
    construction = kind.for_accuracy(epsilon)
    before = range(1, min(construction.last + 1, math.ceil(share / epsilon)))
    assert all(construction.gap(k) > epsilon for k in before)


def test_the_recursion_of_the_four_points_is_exact():
    expected = slow_bundle.line_search(14)
    for (w, alpha), (slow_w, slow_alpha) in zip(recursion(Fraction(1)), expected, strict=False):
        assert w == slow_w
        assert alpha is None or alpha == slow_alpha
    # eq. (12) as printed lacks a factor
    w, alpha = expected[0]
    printed = (w**2 + 16 * alpha**2) / (w + 4 * alpha) ** 2 * alpha
    assert expected[2][1] != printed


def test_the_limits_of_the_four_points(full_products):
    construction, k = FourPoints(), 200_000 if full_products else 20_000
    (w, alpha), (next_w, _) = islice(recursion(1.0), k - 2, k)
    # k is even: alpha belongs to w_{k-1}, which is w_{2m-1} with m = k/2
    assert k / 2 * alpha == pytest.approx(1 / 8, rel=1e-3)
    assert k * abs(2 - next_w) == pytest.approx(1, rel=1e-3)
    assert (k - 1) * abs(2 - w) == pytest.approx(1, rel=1e-3)
    for at in (k, k - 1):
        assert at * construction.gap(at) == pytest.approx(FourPoints.limit, rel=1e-3)
    steps = 2000 if full_products else 500
    track = gaps(construction.solver, construction, steps)
    assert steps * track[-1] == pytest.approx(1 / 8, rel=2e-2)


@pytest.mark.parametrize("lam", [0.1, 1.0, 7.0])
def test_hadamard_at_any_lam_with_its_lower_bounds(lam):
    construction = Hadamard(16, lam)
    state = construction.solver.start(construction.problem, None)
    for k in range(1, 16):
        assert state.model.value == pytest.approx(construction.bound(k), rel=1e-9)
        np.testing.assert_allclose(state.model.weights, construction.iterate(k), atol=1e-9 / lam)
        construction.solver.step(state, Hint(None, 0.0, lambda: False))
    # after d steps the optimum itself
    assert construction.objective(state.model.weights) == pytest.approx(construction.optimum, rel=1e-9)


def test_the_start_of_the_hinge_is_better_than_what_follows():
    construction = HingeLoss.for_accuracy(0.05)
    at_start = construction.objective(construction.start) - construction.optimum
    assert at_start == pytest.approx(1 / (4 * construction.n))
    assert all(construction.gap(k) > at_start for k in range(1, construction.last + 1))


def test_rates_are_fitted_and_judged():
    found = rate("line-search bundle", bundle("line_search"), FourPoints)
    assert found.exponent == pytest.approx(1.0, abs=0.05)
    assert rate_check(found).holds
    assert rate("qp bundle", bundle("qp"), FourPoints).exponent == 0.0
    steep = Rate(FourPoints, "line-search bundle", (0.1, 0.01), (10, 1000), "Θ(1/ε)")
    assert steep.exponent == pytest.approx(2.0)
    assert not rate_check(steep).holds
    assert math.isnan(Rate(FourPoints, "qp bundle", (0.1, 0.01), (10, None), "open").exponent)
    assert steps_to(bundle("line_search"), FourPoints(), 1e-9, 10) is None


def test_checks_can_fail(monkeypatch):
    monkeypatch.setattr(HingeLoss, "gap", lambda self, k: 1 / (2 * k))
    iterates, gap, optimum = formula_checks(HingeLoss, 0.2)
    assert (iterates.holds, gap.holds, optimum.holds) == (True, False, True)
    assert str(Check("so", False)) == "  FAILS: so"


@pytest.mark.thorough
def test_the_command_prints_how_many_checks_hold(capsys, monkeypatch, tmp_path):
    from fenchel.lowerbounds import __main__ as command
    from fenchel.lowerbounds import report

    few = {name: CONSTRUCTIONS[name] for name in ("four points", "ROC area")}
    for module in (command, report):
        monkeypatch.setattr(module, "CONSTRUCTIONS", few)
    monkeypatch.setattr(command, "ACCURACIES", (0.3,))
    monkeypatch.setattr(report, "_FAR", 2000)
    drawn = []
    monkeypatch.setattr(command, "_plot", drawn.append)
    assert main(["--plot", str(tmp_path / "gaps.png")]) == 0
    lines = capsys.readouterr().out.splitlines()
    count = int(lines[-1].split()[0])
    assert lines[-1] == f"{count} of {count} checks hold"
    assert any("Θ(1/ε)" in line for line in lines)
    assert drawn == [tmp_path / "gaps.png"]


def test_a_picture_has_the_formula_and_every_solver():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.subplots()
    draw(axes, FourPoints)
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names[:3] == ["formula", "line-search bundle", "qp bundle"]


def test_bad_arguments_are_named():
    with pytest.raises(FenchelError, match="epsilon must be between"):
        FourPoints.for_accuracy(1.5)
    with pytest.raises(FenchelError, match="power of two"):
        Hadamard(12)
    with pytest.raises(FenchelError, match="n must be at least 2"):
        HingeLoss(1)


@pytest.mark.parametrize("d", [2, 8, 32])
def test_subgradient_descent_has_the_iterates_of_the_bundle_method_on_orthonormal_pieces(d):
    construction = Hadamard(d, lam=0.5)
    found = list(islice(weights_of(Subgradient(), construction), d - 1))
    for k, weights in enumerate(found, start=1):
        np.testing.assert_allclose(weights, construction.iterate(k), atol=1e-12)
        assert construction.objective(weights) - construction.optimum == pytest.approx(construction.gap(k), abs=1e-12)
    # an average, and any other combination of the pieces that were seen, has J >= 0 as long as one is unseen
    rng = np.random.default_rng(d)
    averages = list(islice(weights_of(Subgradient(averages=True), construction), d - 1))
    mixed = [rng.normal(size=t) @ np.array(found[:t]) for t in range(1, d)]
    for weights in [*found, *averages, *mixed]:
        assert construction.objective(weights) - construction.optimum >= 1 / (2 * 0.5 * d) - 1e-12


def test_the_mean_of_the_subgradients_is_the_dual_point_of_subgradient_descent():
    construction, solver = Hadamard(16), Subgradient()
    state = solver.start(construction.problem, None)
    for _ in range(12):
        solver.step(state, Hint(None, 0.0, lambda: False))
    certificate = judge(construction.problem, *solver.propose(state)).certificate
    assert certificate.dual - 1e-12 <= construction.optimum <= certificate.primal + 1e-12
    # J(w_12) = 1/24 and D = -1/24
    assert certificate.gap == pytest.approx(1 / 12, abs=1e-9)


@pytest.mark.parametrize("kind", [FourPoints, HingeLoss], ids=["four points", "hinge"])
def test_pegasos_keeps_its_upper_bound_where_cutting_planes_are_slow(kind):
    """J(w_t) - J* <= L^2 (1 + ln t)/(2 lam t) for some t' <= t (Shalev-Shwartz et al., Theorem 1, all examples)."""
    found = rate("pegasos", Pegasos(batch="all"), kind)
    assert found.paper == "O*(1/ε)"
    assert rate_check(found).holds
    construction = kind.for_accuracy(1 / 32)
    problem = construction.problem
    length = problem.design.largest_row_norm + math.sqrt(problem.lam)
    best = np.minimum.accumulate(gaps(Pegasos(batch="all"), construction, 60))
    steps = np.arange(1, 61)
    assert np.all(best <= length**2 * (1 + np.log(steps)) / (2 * problem.lam * steps))
