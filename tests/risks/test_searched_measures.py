"""Measures without a table: searches over monotone matrices and over blocks find what enumeration finds."""

import numpy as np
import pytest

import fenchel.risks.measures.custom as custom
from fenchel import FenchelError, MeasureClassifier, Problem, solve
from fenchel.risks import MEASURES, CustomMeasure, QMeasure
from fenchel.risks.measures.blocks import Blocks
from fenchel.risks.measures.monotone import monotone_columns
from fenchel.risks.measures.separation import best_cells_of_rows
from fenchel.risks.measures.shifts import best_shift


def labelled(rng, trial):
    n = int(rng.integers(2, 30))
    y = np.where(rng.random(n) < rng.random(), 1.0, -1.0)
    y[:2] = 1.0, -1.0
    # ties, and scores of very different size
    scores = rng.integers(-3, 4, n) / 2.0 if trial % 3 == 0 else rng.normal(size=n) * 10 ** rng.uniform(-2, 1.5)
    return y, scores


def test_columns_of_monotone_matrices():
    rng = np.random.default_rng(0)
    for trial in range(200):
        rows, columns = (int(k) for k in rng.integers(1, 14, 2))
        # sums of a product of rising numbers and of any row and column: inverse Monge
        M = np.outer(np.cumsum(rng.random(rows)), np.cumsum(rng.random(columns)))
        M = M + rng.normal(size=(rows, 1)) + rng.normal(size=columns) * columns
        M = np.round(M) if trial % 2 else M
        low, high = np.zeros(rows, dtype=np.int64), np.full(rows, columns - 1)
        if trial % 3 == 0:
            # a staircase that lacks the upper right corner
            high = np.sort(rng.integers(0, columns, rows))
        found = monotone_columns(lambda i, j, M=M: M[i, j], low, high)
        expected = [int(np.argmax(M[i, : high[i] + 1])) for i in range(rows)]
        if trial % 2:
            # rounding breaks the inequality
            assert all(
                abs(M[i, j] - M[i, k]) <= 2 * 0.5 * 5 for i, (j, k) in enumerate(zip(found, expected, strict=True))
            )
        else:
            assert found.tolist() == expected


def test_the_q_measure_is_monotone_where_it_is_searched():
    """Mixed differences of Delta: not positive in (d, fn) for d >= 0, not negative in (fn, fp) for d <= 0."""
    for n_pos, n_neg in ((1, 1), (1, 9), (9, 1), (7, 12), (12, 7), (10, 10)):
        risk = QMeasure(np.repeat([1.0, -1.0], [n_pos, n_neg]))
        fn, fp = np.meshgrid(np.arange(n_pos + 1), np.arange(n_neg + 1), indexing="ij")
        table = risk.delta(fn, fp)
        mixed = table[1:, 1:] - table[1:, :-1] - table[:-1, 1:] + table[:-1, :-1]
        # the corner with the largest d of a square is its first row and second column
        inside = (fp[:-1, 1:] - fn[:-1, 1:]) <= 0
        assert np.all(mixed[inside] >= -1e-15)
        for d in range(n_neg):
            counts = np.arange(min(n_pos, n_neg - d - 1))
            at = [table[counts + a, counts + a + d + b] for a in (0, 1) for b in (0, 1)]
            assert np.all(at[3] - at[2] - at[1] + at[0] <= 1e-15)


def test_the_q_measure_of_every_cell():
    rng = np.random.default_rng(1)
    for trial in range(120):
        y, scores = labelled(rng, trial)
        risk = QMeasure(y)
        cells = best_cells_of_rows(risk._ranked(scores), risk.delta)
        size = 1e-14 * (1 + np.max(np.abs(scores)))
        assert risk.value(scores) == pytest.approx(np.max(cells.height), abs=size)
        slope, offset, value = risk.cutting_plane(scores)
        assert slope @ scores + offset == pytest.approx(value, abs=10 * size)
        assert risk.best_intercept(scores) == pytest.approx(best_shift(cells, len(y)), rel=1e-9, abs=1e-9)
        zero = best_cells_of_rows(risk._ranked(np.zeros(len(y))), risk.delta)
        assert risk.value_at_zero == np.max(zero.height)
        assert [end.fp - end.fn for end in risk.ends] == [-risk.n_pos, risk.n_neg]


def table_of(rng, n_pos, n_neg):
    table = rng.random((n_pos + 1, n_neg + 1))
    table[rng.random(table.shape) < 0.2] = -np.inf
    table[0, 0] = 0.0
    return table


def test_blocks_find_what_the_table_has(monkeypatch):
    rng = np.random.default_rng(2)
    for trial in range(80):
        y, scores = labelled(rng, trial)
        table = table_of(rng, int(np.sum(y > 0)), int(np.sum(y < 0)))
        expected = CustomMeasure(y, table, linear=False)
        with monkeypatch.context() as patch:
            patch.setattr(custom, "LARGEST_TABLE", 0)
            patch.setattr(custom, "Blocks", lambda *given: Blocks(*given, side=3))
            found = CustomMeasure(y, lambda fn, fp, table=table: table[fn, fp])
        assert not found.linear
        assert found.value(scores) == expected.value(scores)
        assert found.value_at_zero == expected.value_at_zero
        assert sorted(found.ends) == sorted(expected.ends)
        if found.ends:
            b = expected.best_intercept(scores)
            assert found.best_intercept(scores) == pytest.approx(b, rel=1e-9, abs=1e-9)
        fn, fp = rng.integers(0, table.shape[0], 5), rng.integers(0, table.shape[1], 5)
        np.testing.assert_array_equal(found.delta(fn, fp), table[fn, fp])


def test_fits_without_a_table(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0.7, 1.0, -1.0)

    def missed(fn, fp, n_pos, n_neg):
        return (fn / n_pos) ** 2 + (fp / n_neg) ** 1.5

    expected = solve(Problem(X, CustomMeasure(y, missed), 0.02, intercept=True), tol=1e-6)
    monkeypatch.setattr(custom, "LARGEST_TABLE", 100)
    found = solve(Problem(X, CustomMeasure(y, missed), 0.02, intercept=True), tol=1e-6)
    assert found.converged
    assert found.certificate.recomputed
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=2e-6)
    with pytest.raises(FenchelError, match="Make it a function of arrays"):
        CustomMeasure(y, lambda fn, fp: float(fn > fp))
    with pytest.raises(FenchelError, match="delta is NaN"):
        CustomMeasure(y, lambda fn, fp: np.where(fn + fp > 5, np.nan, 0.0))
    with pytest.raises(FenchelError, match="must be 0"):
        CustomMeasure(y, lambda fn, fp: 0.5 + 0 * fn)


@pytest.mark.thorough
def test_q_measure_of_many_examples():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(100_000, 3))
    y = X[:, 0] + rng.normal(size=100_000) > 0.5
    model = MeasureClassifier("q", surrogate="bound", C=1e-4, tol=1e-2).fit(X, y)
    assert model.converged_


@pytest.mark.parametrize("name", ["f1", "fbeta", "prbep"])
def test_zero_scores_have_the_cells_of_the_search(name):
    """On every diagonal the same cell, without sorting; R(0) is the largest of them."""
    for seed in range(20):
        rng = np.random.default_rng([3, seed])
        y = np.where(rng.random(int(rng.integers(2, 30))) < rng.random(), 1.0, -1.0)
        y[:2] = 1.0, -1.0
        made = MEASURES[name](y)
        searched, found = made._cells(made._ranked(np.zeros(len(y)))), made._zero_cells()
        for part, one, other in zip(searched._fields, searched, found, strict=True):
            assert np.array_equal(one, other), part
        assert made.value(np.zeros(len(y))) == made.value_at_zero == float(np.max(searched.height))
