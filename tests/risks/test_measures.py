"""Measures as risks: values, planes and intercepts against every labelling; bad input."""

import itertools
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import slow_measures as slow
from fenchel import FenchelError, Problem
from fenchel.risks import (
    F1,
    MEASURES,
    BreakEven,
    CustomMeasure,
    ErrorRate,
    FBeta,
    MeanRisk,
    PrecisionAtK,
    RecallAtK,
    RocAUC,
)
from fenchel.risks.measures import custom as own_measure
from fenchel.risks.measures.contingency import DiagonalRisk
from fenchel.risks.measures.separation import Diagonals
from measure_cases import every_risk, jagged, labels_of

#: sums of up to ten moderate scores
EXACT = 1e-14


#: scores with many ties, at margins where something happens
ties = st.sampled_from((0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0))
anything = st.floats(-20, 20, allow_nan=False, allow_subnormal=False)


@st.composite
def labelled_scores(draw, largest=7):
    n = draw(st.integers(2, largest))
    bits = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    bits[0], bits[-1] = True, False
    scores = draw(st.lists(draw(st.sampled_from((ties, anything))), min_size=n, max_size=n))
    return labels_of(bits), np.array(scores)


def check_against_enumeration(y, scores, others):
    for name, parameter, risk in every_risk(y):
        where = (name, parameter)
        expected = slow.value(name, scores, y, parameter)
        size = EXACT * (1 + np.max(np.abs(scores)))
        assert risk.value(scores) == pytest.approx(expected, abs=size), where
        slope, offset, found = risk.cutting_plane(scores)
        assert found == pytest.approx(expected, abs=size), where
        assert slope @ scores + offset == pytest.approx(expected, abs=size), where
        np.testing.assert_array_equal(risk.subgradient(scores), slope)
        for other in others:
            room = EXACT * (1 + np.max(np.abs(other)))
            assert slope @ other + offset <= slow.value(name, other, y, parameter) + room, where
        if name != "roc_auc":
            # the plane belongs to a labelling
            slopes, offsets = slow.planes(name, y, parameter)
            near = np.max(np.abs(slopes - slope), axis=1) + np.abs(offsets - offset)
            assert np.min(near) < 1e-14, where


@given(labelled_scores(), st.integers(0, 2**32 - 1))
def test_value_and_plane_are_those_of_the_worst_labelling(case, seed):
    y, scores = case
    rng = np.random.default_rng(seed)
    others = [*(rng.normal(size=(6, len(y))) * 3), np.zeros(len(y)), scores + rng.normal(size=len(y)) * 0.1]
    check_against_enumeration(y, scores, others)


@pytest.mark.parametrize("n_pos", [1, 3, 5, 9])
def test_ten_examples(n_pos):
    rng = np.random.default_rng(n_pos)
    y = rng.permutation(labels_of(np.arange(10) < n_pos))
    for scores in (rng.normal(size=10), np.round(rng.normal(size=10) * 2), np.full(10, 0.7), 5.0 * y, -5.0 * y):
        check_against_enumeration(y, scores, rng.normal(size=(3, 10)) * 2)


def test_a_risk_is_never_negative_and_falls_to_zero():
    y = labels_of([1, 0, 0, 1, 0, 1])
    for name, parameter, risk in every_risk(y):
        assert risk.value(1e3 * y) == 0.0 == -risk.conjugate_at_zero, (name, parameter)
        assert risk.value_at_zero == pytest.approx(slow.value(name, 0 * y, y, parameter), abs=EXACT)
        slope, offset, value = risk.cutting_plane(1e3 * y)
        assert (offset, value) == (0.0, 0.0)
        assert not np.any(slope)
        assert risk.smooth is False
        assert risk.outputs is None
        assert risk.examples == 6
        np.testing.assert_allclose(risk.shares, 1 / 6)


def test_the_error_rate_is_the_mean_hinge_loss_exactly():
    rng = np.random.default_rng(2)
    for n in (2, 9, 1000):
        y, scores = rng.permutation(labels_of(np.arange(n) < (n + 2) // 3)), rng.normal(size=n) * 2
        for weights in (None, rng.integers(0, 3, n) + (y * np.arange(n) == 0) + 0.5):
            risk, mean = ErrorRate(y, weights), MeanRisk("hinge", y, weights)
            assert risk.value(scores) == mean.value(scores) == risk.cutting_plane(scores)[2]
            np.testing.assert_array_equal(risk.subgradient(scores), mean.subgradient(scores))
            assert risk.best_intercept(scores) == mean.best_intercept(scores)
    # the same from the general search
    general = CustomMeasure(y, lambda fn, fp: (fn + fp) / n)
    assert general.linear
    assert general.value(scores) == pytest.approx(mean_hinge(scores, y), rel=1e-13)


def mean_hinge(scores, y):
    return np.mean(np.maximum(0.0, 1.0 - y * scores))


def test_ties_count_against_the_model():
    # all margins are exactly at the kink: every pair and every example is taken as wrong
    y = labels_of([1, 1, 0, 0])
    assert RocAUC(y).cutting_plane(y / 2)[1] == 1.0
    assert ErrorRate(y).cutting_plane(y)[1] == 1.0
    # flipping one of each costs nothing and gains nothing: 1/2 - (2 + 0)/4 = 0
    slope, offset, value = BreakEven(y).cutting_plane(np.array([1.0, 1.0, -1.0, -1.0]))
    assert (offset, value) == (1.0, 0.0)
    np.testing.assert_array_equal(slope, -y / 4)


@pytest.mark.parametrize("n", [3, 20, 120, 300])
def test_the_fast_search_finds_what_the_whole_table_holds(n):
    rng = np.random.default_rng(n)
    for round in range(12):
        n_pos = int(rng.integers(1, n))
        y = rng.permutation(labels_of(np.arange(n) < n_pos))
        scores = rng.normal(size=n) * 10.0 ** rng.integers(-2, 3) + rng.choice([0.0, 1.0, 5.0]) * y
        scores = np.round(scores) if round % 2 else scores
        beta = float(rng.choice([0.0, 0.3, 1.0, 4.0]))
        table = slow.table("fbeta", n_pos, n - n_pos, beta)
        expected = slow.table_value(scores, y, table)
        room = {"rel": 1e-13, "abs": 1e-13 * np.max(np.abs(scores))}
        assert FBeta(y, beta).value(scores) == pytest.approx(expected, **room)
        by_table, by_lines = CustomMeasure(y, table, linear=False), CustomMeasure(y, table)
        assert (by_table.linear, by_lines.linear) == (False, True)
        for risk in (by_table, by_lines):
            assert risk.value(scores) == pytest.approx(expected, **room)
            slope, offset, _ = risk.cutting_plane(scores)
            assert slope @ scores + offset == pytest.approx(expected, **room)


@pytest.mark.parametrize("weighted", [False, True])
def test_roc_area_is_the_sum_over_all_pairs(weighted):
    rng = np.random.default_rng(11)
    for n in (2, 5, 60, 200):
        y = rng.permutation(labels_of(np.arange(n) < max(1, n // 3)))
        weights = rng.integers(1, 5, n) * rng.choice([0.1, 1.0], n) if weighted else None
        for scores in (rng.normal(size=n), np.round(rng.normal(size=n) * 2) / 2, np.full(n, 3.0), 40.0 * y + 1e4):
            expected = slow.value("roc_auc", scores, y, None, weights)
            risk = RocAUC(y, weights)
            room = 1e-15 * n * (1 + np.max(np.abs(scores)))
            assert risk.value(scores) == pytest.approx(expected, abs=room)
            slope, offset, _ = risk.cutting_plane(scores)
            D, prices = slow.pair_planes(y, weights)
            np.testing.assert_allclose(slope, -D.T @ (prices * (D @ scores <= 1.0)), atol=1e-15)
            assert offset == pytest.approx(prices @ (D @ scores <= 1.0), abs=1e-14)


def test_slopes_that_rise_with_the_surplus():
    rng = np.random.default_rng(7)
    for _ in range(40):
        n_pos, n_neg = (int(count) for count in rng.integers(1, 40, 2))
        y = labels_of(np.arange(n_pos + n_neg) < n_pos)
        base, slope = rng.normal(size=(2, len(y) + 1))
        base[n_pos] = 0.0
        risk = F1(y)
        risk.diagonals = Diagonals(-n_pos, base, slope)
        fn, fp = np.meshgrid(np.arange(n_pos + 1), np.arange(n_neg + 1), indexing="ij")
        table = base[fp - fn + n_pos] + slope[fp - fn + n_pos] * fn
        scores = np.round(rng.normal(size=len(y)) * 3)
        assert risk.value(scores) == pytest.approx(slow.table_value(scores, y, table), rel=1e-12)


@given(labelled_scores(6))
def test_the_best_intercept(case):
    y, scores = case
    for name, parameter, risk in every_risk(y):
        if risk.intercepts() is None:
            assert not hasattr(risk, "best_intercept") or name == "prbep"
            continue
        slopes, offsets = slow.planes(name, y, parameter)
        # minimize t over (b, t) with every plane below t
        rows = np.column_stack([slopes.sum(axis=1), -np.ones(len(offsets))])
        best = linprog([0.0, 1.0], rows, -(offsets + slopes @ scores), bounds=(None, None)).fun
        b = risk.best_intercept(scores)
        size = 1 + np.max(np.abs(scores))
        assert np.isfinite(b)
        assert risk.value(scores + b) == pytest.approx(best, abs=1e-12 * size), (name, parameter)
        # some best intercept, this one, is within the bound for any level that R reaches there
        bound = risk.intercept_bound(risk.value(scores + b), np.abs(scores))
        assert bound.shape == (1,)
        assert abs(b) <= bound[0] + 1e-12 * size, (name, parameter)


def test_the_middle_of_an_interval_of_intercepts():
    # R = 0 where 1 - (10 + b)/2 <= 0 and 1/3 + (b - 10)/2 <= 0: for b from -8 to 28/3
    y = labels_of([1, 0])
    assert F1(y).best_intercept(10.0 * y) == pytest.approx(2 / 3, abs=1e-12)
    assert F1(y).best_intercept(10.0 * y + 3.0) == pytest.approx(2 / 3 - 3.0, abs=1e-12)
    # with at least as many predicted positives as positives R is flat for small b: the end 10 - 2/2 of that
    assert PrecisionAtK(y, 1).best_intercept(10.0 * y) == pytest.approx(9.0, abs=1e-12)


def test_seeds_are_planes_that_hold_the_intercept():
    rng = np.random.default_rng(3)
    y = labels_of([1, 0, 1, 0, 0, 1, 0])
    for name, parameter, risk in every_risk(y):
        if not hasattr(risk, "seeds"):
            continue
        sums = []
        for slope, offset in risk.seeds():
            sums.append(float(np.sum(slope)))
            for scores in rng.normal(size=(20, 7)) * 4:
                assert slope @ scores + offset <= slow.value(name, scores, y, parameter) + EXACT
        if name in ("f1", "fbeta", "accuracy"):
            assert min(sums) < 0 < max(sums)


def test_own_measures():
    y = labels_of([1, 1, 0, 0, 0])
    table = np.array([[jagged(b, c) for c in range(4)] for b in range(3)])
    scores = np.random.default_rng(0).normal(size=5)
    # for arrays, for numbers only, and wrong for arrays
    for delta in (
        jagged,
        lambda fn, fp: jagged(fn, fp) if fn or fp else 0.0,
        lambda fn, fp: jagged(fn, fp) if isinstance(fn, int) else 0.0 * (fn + fp),
    ):
        risk = CustomMeasure(y, delta)
        assert not risk.linear
        assert risk.value(scores) == CustomMeasure(y, table).value(scores)
    n_pos = 2
    vouched = CustomMeasure(y, lambda fn, fp: (fp + fn) / (2 * n_pos + fp - fn), linear=True)
    assert vouched.linear
    assert vouched.value(scores) == pytest.approx(F1(y).value(scores), rel=1e-14)
    assert isinstance(F1(y), DiagonalRisk)


def test_bad_input(monkeypatch):
    y = labels_of([1, 1, 0, 0, 0])
    for kind in MEASURES.values():
        arguments = (1,) if "k" in kind.__init__.__annotations__ else ()
        for same in (1.0, -1.0):
            with pytest.raises(FenchelError, match="needs both classes"):
                kind(np.full(4, same), *arguments)
        for wrong in ([0, 1, 1], [1, -1, 2]):
            with pytest.raises(FenchelError, match=r"labels -1 and \+1"):
                kind(wrong, *arguments)
        with pytest.raises(FenchelError, match="numbers"):
            kind(["a", "b"], *arguments)
        with pytest.raises(FenchelError, match="not empty"):
            kind([], *arguments)
    for kind, wrong in ((PrecisionAtK, (0, 3, -1)), (RecallAtK, (1, 6, 0))):
        for k in wrong:
            with pytest.raises(FenchelError, match="k must be between"):
                kind(y, k)
        for k in (1.5, True, "2"):
            with pytest.raises(FenchelError, match="k must be an integer"):
                kind(y, k)
    for beta in (-1.0, np.nan, np.inf, "1", True):
        with pytest.raises(FenchelError, match="beta"):
            FBeta(y, beta)
    with pytest.raises(FenchelError, match="overflows"):
        FBeta(y, 1e200)
    with pytest.raises(FenchelError, match="takes no weights"):
        F1(y, weights=np.ones(5))
    with pytest.raises(FenchelError, match="weight zero"):
        RocAUC(y, weights=[0, 0, 1, 1, 1])
    zeros = np.zeros((3, 4))
    spoilt = {"NaN": np.nan, "only finite values": np.inf}
    for words, value in spoilt.items():
        table = zeros.copy()
        table[1, 2] = value
        for delta in (table, lambda fn, fp, table=table: table[fn, fp]):
            with pytest.raises(FenchelError, match=words):
                CustomMeasure(y, delta)
    with pytest.raises(FenchelError, match="NaN"):
        CustomMeasure(y, lambda fn, fp: fn * np.nan if fn else 0.0, linear=True)
    with pytest.raises(FenchelError, match=r"delta\(0, 0\) must be 0"):
        CustomMeasure(y, zeros + 0.5)
    with pytest.raises(FenchelError, match="shape"):
        CustomMeasure(y, zeros.T)
    for delta in (jagged, [[jagged(b, c) for c in range(4)] for b in range(3)]):
        with pytest.raises(FenchelError, match="not linear"):
            CustomMeasure(y, delta, linear=True)
    monkeypatch.setattr(own_measure, "LARGEST_TABLE", 5)
    with pytest.raises(FenchelError, match="linear=True"):
        # not a function of arrays
        CustomMeasure(y, lambda fn, fp: 1.0 if fn > fp else 0.0)
    for risk in (RocAUC(y), BreakEven(y)):
        with pytest.raises(FenchelError, match="does not depend on an intercept"):
            Problem(np.eye(5), risk, 1.0, intercept=True)


@pytest.mark.parametrize("huge", [-1e14, -1e20, -np.inf])
def test_a_huge_cell_does_not_make_a_table_linear(huge):
    """Another cell may be far below its line while it is near beside the huge one."""
    y = np.array([1.0, 1.0, -1.0, -1.0])
    table = np.zeros((3, 3))
    table[1, 1], table[2, 0] = 1.0, huge
    risk = CustomMeasure(y, table)
    for seed in range(5):
        scores = np.random.default_rng(seed).normal(size=4)
        worst = max(
            table[sum(z[y > 0] < 0), sum(z[y < 0] > 0)] + 0.125 * float(scores @ (z - y))
            for z in (np.array(signs) for signs in itertools.product([-1.0, 1.0], repeat=4))
        )
        np.testing.assert_allclose(risk.value(scores), worst, rtol=1e-12)


def test_a_table_that_crosses_zero_along_its_diagonals_is_linear_to_rounding():
    """0.1 fn - 0.3 is not zero at fn = 3: the rounding of small entries is that of the large ones beside them."""
    fn, fp = np.mgrid[0:8, 0:8]
    table = (0.1 * fn - 0.3) * (fp - fn)
    assert np.any(table[3]), "this law needs entries that are rounding errors"
    assert CustomMeasure(np.repeat([1.0, -1.0], 7), table).linear


def test_a_custom_measure_may_see_the_numbers_of_both_classes():
    def miss_rate(fn, fp, n_pos, n_neg):
        return 0.5 * fn / n_pos + 0.5 * fp / n_neg

    rng = np.random.default_rng(0)
    for bits in ([1, 0, 0, 0, 1, 0], [1, 1, 1, 0, 1, 1, 0]):
        y = labels_of(bits)
        n_pos, n_neg = int(np.sum(y > 0)), int(np.sum(y < 0))
        scores = rng.normal(size=len(y))
        for linear in (None, True):
            risk = CustomMeasure(y, miss_rate, linear)
            closed = CustomMeasure(y, lambda fn, fp, p=n_pos, n=n_neg: 0.5 * fn / p + 0.5 * fp / n)
            assert risk.value(scores) == pytest.approx(closed.value(scores), abs=1e-15)
            assert risk.value(scores) == pytest.approx(
                slow.value("own", scores, y, lambda fn, fp, p=n_pos, n=n_neg: miss_rate(fn, fp, p, n)), abs=1e-12
            )


@pytest.mark.parametrize("name", ["ae", "rae", "kld", "nkld", "q"])
def test_measures_of_the_prevalence_in_every_cell(name):
    for n_pos, n_neg in ((1, 1), (3, 5), (40, 7)):
        risk = MEASURES[name](np.repeat([1.0, -1.0], [n_pos, n_neg]))
        fn, fp = np.meshgrid(np.arange(n_pos + 1), np.arange(n_neg + 1), indexing="ij")
        found, expected = risk.delta(fn, fp), slow.table(name, n_pos, n_neg)
        # the other formula has logarithms of sums, which round too
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
        assert np.all(risk.delta_error(fn, fp) <= 1e-13 * (1 + np.abs(found)))
        assert risk.delta(0, 0) == 0.0


def test_no_table_of_a_large_q_measure_is_kept():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(2000) < 0.1, 1.0, -1.0)
    scores = rng.normal(size=2000) + 0.5 * y
    risk = MEASURES["q"](y)
    table = slow.table("q", risk.n_pos, risk.n_neg)
    assert risk.value(scores) == pytest.approx(slow.table_value(scores, y, table), abs=1e-12)
    assert all(np.size(value) <= 2 * len(y) for value in vars(risk).values())


@pytest.mark.parametrize("name", ["kld", "nkld"])
def test_errors_of_divergences_where_all_positives_are_missed(name):
    """At a predicted prevalence near zero the logarithm enlarges the rounding of its argument."""
    for n_pos, n_neg in ((20_011, 19_997), (50_000, 49_000), (100_003, 200_017)):
        risk = MEASURES[name](np.repeat([1.0, -1.0], [n_pos, n_neg]))
        with localcontext(prec=50):
            half = Decimal("0.5")
            x, z = -Decimal(n_pos) / (n_pos + half), Decimal(n_pos) / (n_neg + half)
            exact = ((n_pos + half) * (x - (1 + x).ln()) + (n_neg + half) * (z - (1 + z).ln())) / (n_pos + n_neg + 1)
            if name == "nkld":
                exact = 2 / (1 + (-exact).exp()) - 1
            error = abs(Decimal(float(risk.delta(n_pos, 0))) - exact)
        assert error <= Decimal(float(risk.delta_error(n_pos, 0)))
