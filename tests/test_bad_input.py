"""Bad input gets a clear error that names the argument, or a right answer; nothing crashes."""

import dataclasses
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fenchel import (
    FenchelError,
    GapWarning,
    KernelClassifier,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    MeasureClassifier,
    Model,
    OrdinalClassifier,
    Problem,
    certify,
    solve,
)
from fenchel.metrics import mean_average_precision, mean_reciprocal_rank, ndcg_score
from fenchel.risks import F1, MeanRisk, micro
from fenchel.solvers import DualCoordinate, Newton
from fenchel.solvers.choose import SOLVERS, choose, processors
from fenchel.solving.solution import Status

X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, -1.0], [3.0, 0.0]])
y = np.array([0, 0, 1, 1])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_values_that_are_not_finite(bad, make):
    data = X.copy()
    data[1, 0] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        LinearClassifier().fit(make(data), y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        MeasureClassifier("f1").fit(make(data), y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        LinearRegressor().fit(X, [1.0, bad, 2.0, 3.0])


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"C": 0}, "C must be a positive"),
        ({"C": -1.0}, "C must be a positive"),
        ({"C": np.inf}, "C must be a positive"),
        ({"C": "1"}, "C must be a positive"),
        ({"C": True}, "C must be a positive"),
        ({"loss": "hingle"}, "loss='hingle' is unknown.*'hinge'"),
        ({"loss": "squared"}, "loss='squared' is for regression"),
        ({"loss": 3}, "loss must be a name"),
        ({"solver": "simplex"}, "solver='simplex' is unknown.*dual_coordinate"),
        ({"solver": 3}, "solver must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"tol": np.nan}, "tol must be"),
        ({"max_iter": -1}, "max_iter must be"),
        ({"time_limit": -1}, "time_limit must be"),
        ({"time_limit": "soon"}, "time_limit must be"),
        ({"class_weight": {0: -1.0, 1: 1.0}}, "class_weight must give"),
        ({"class_weight": {0: 0.0, 1: 1.0}}, "class_weight=.* is positive for one class only"),
        ({"fit_intercept": "no"}, "fit_intercept must be"),
        ({"n_jobs": "all"}, "n_jobs must be"),
        ({"solver": DualCoordinate}, "solver must be"),
        ({"C": 1e300}, "lower C"),
    ],
)
def test_parameters_are_named(parameters, match):
    with pytest.raises(FenchelError, match=match):
        LinearClassifier(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        ([-1, 1, 1, 1], "sample_weight"),
        ([0, 0, 0, 0], "[Ss]ample.weight"),
        ([np.nan, 1, 1, 1], "sample_weight|NaN"),
        ([1, 1], "sample_weight"),
        ([[1, 1, 1, 1]], "[Ss]ample.weight"),
    ],
)
def test_sample_weights_are_named(weights, match):
    with pytest.raises(ValueError, match=match):
        LinearClassifier().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    "model",
    [
        LinearClassifier(),
        LinearClassifier("logistic", multi_class="multinomial"),
        LinearRegressor(),
        KernelClassifier(),
        OrdinalClassifier(),
        LinearClassifierCV(cv=2),
    ],
    ids=str,
)
@pytest.mark.parametrize("size", [1e308, 5e-324])
def test_weights_whose_sum_is_no_float_are_named(model, size):
    with pytest.raises(FenchelError, match=r"sum of the sample weights, .*: divide sample_weight by its largest"):
        model.fit(X, y, sample_weight=np.full(4, size))


def test_class_weights_whose_sum_is_no_float_are_named():
    with pytest.raises(FenchelError, match="sum of the sample weights, inf"):
        LinearClassifier(class_weight={0: 1e308, 1: 1e308}).fit(X, y)


@pytest.mark.parametrize("measure", [ndcg_score, mean_average_precision, mean_reciprocal_rank])
@pytest.mark.parametrize("size", [1e308, 1e-323])
def test_measures_of_rankings_take_weights_of_any_size(measure, size):
    qid, weights = [0, 0, 1, 1], np.array([1.0, 1.0, 0.5, 0.5])
    scores, grades = [1.0, 2.0, 2.0, 1.0], [1, 0, 1, 0]
    assert measure(grades, scores, qid, sample_weight=size * weights) == pytest.approx(
        measure(grades, scores, qid, sample_weight=weights)
    )


@pytest.mark.parametrize(("name", "value"), [("C", 10**400), ("tol", -(10**400))])
def test_integers_beyond_floats_are_named(name, value):
    with pytest.raises(FenchelError, match=f"{name} must be"):
        LinearClassifier(**{name: value}).fit(X, y)


def test_shapes_and_sizes(rarely_compiled):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LinearClassifier().fit(X, y[:3])
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        LinearRegressor().fit(np.empty((0, 2)), [])
    with pytest.raises(ValueError, match="Expected 2D array"):
        LinearClassifier().fit(X[:, 0], y)
    model = LinearClassifier().fit(X, y)
    with pytest.raises(ValueError, match="2 features"):
        model.predict(np.zeros((1, 3)))


def test_one_class_is_named():
    with pytest.raises(FenchelError, match="y must hold at least two classes"):
        LinearClassifier().fit(X, np.zeros(4))
    # other classes without weight are no mistake, as in a bootstrap: the model is constant
    assert set(LinearClassifier().fit(X, y, sample_weight=[1, 1, 0, 0]).predict(X)) == {y[0]}
    with pytest.raises(FenchelError, match="two classes with positive weight"):
        MeasureClassifier("accuracy").fit(X, y, sample_weight=[1, 1, 0, 0])


def test_parts_of_a_problem_are_named():
    risk = MeanRisk("hinge", np.where(y == 1, 1.0, -1.0))
    with pytest.raises(FenchelError, match="risk must be"):
        Problem(X, "hinge", 0.1)
    with pytest.raises(FenchelError, match="regularizer='l3' is unknown"):
        Problem(X, risk, 0.1, "l3")
    assert solve(Problem(X, risk, 0.1, "l2")).converged
    with pytest.raises(FenchelError, match="labels must be numbers"):
        MeanRisk("hinge", ["a", "b"])
    with pytest.raises(FenchelError, match="X holds NaN"):
        solve(Problem(np.full((4, 2), np.nan), risk, 0.1))
    problem = Problem(X, risk, 0.1, intercept=True)
    for intercept in (np.ones(4), np.nan, np.ones(1)):
        with pytest.raises(FenchelError, match="intercept must be finite and of shape"):
            certify(problem, Model(np.zeros(2), intercept), np.zeros(4))
    with pytest.raises(FenchelError, match="intercept must be True or False, got 'no'"):
        Problem(X, risk, 0.1, intercept="no")
    assert Problem(X, risk, 0.1, intercept=np.True_).intercept is True
    for seed in (-1, "a", 1.5, True):
        with pytest.raises(FenchelError, match="seed must be an integer"):
            solve(problem, "dual_coordinate", seed=seed)
    with pytest.raises(FenchelError, match=r"l1_ratio must be a number from 0 to 1, got 1\.5"):
        LinearClassifier(l1_ratio=1.5).fit(X, y)
    with pytest.raises(FenchelError, match="warm_start must be"):
        solve(problem, warm_start=np.zeros(2))
    with pytest.raises(FenchelError, match="callback must be"):
        solve(problem, callback=3)


OPTIONS = {
    "AGM": ("epsilon", "c_mu", "fixed", "n_jobs"),
    "AugmentedLagrangian": ("mu", "eta", "exactly", "stretch", "seed", "n_jobs"),
    "BlockCoordinate": ("inner", "shrinking", "single", "accuracy", "seed", "n_jobs"),
    "Bundle": ("inner", "stabilisation", "most_planes", "inner_share", "n_jobs"),
    "DualConjugateGradient": ("preconditioned",),
    "DualCoordinate": ("rule", "stretch", "learning_rate", "shrinking", "seed", "n_jobs"),
    "Newton": ("seed", "n_jobs", "sampling"),
    "NewtonCG": ("seed", "sampling"),
    "Pegasos": ("batch", "seed"),
    "Pragam": ("lipschitz", "restart"),
    "ProxNewton": ("screening",),
    "Smoothing": ("memory", "curvature", "epsilon"),
}


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=list(SOLVERS))
def test_options_of_solvers_are_named(solver):
    options = OPTIONS.get(solver.__name__, ())
    for option in (field.name for field in dataclasses.fields(solver)):
        assert option in options or solver.__base__ is not object, f"{option} is not checked"
    for option in options:
        for bad in ("x", ["x"], 0.0, -2.5):
            if isinstance(bad, float) and option in ("inner_share",):
                continue
            with pytest.raises(FenchelError, match=f"^{option}[ =]"):
                solver(**{option: bad})
    solver(**{field.name: field.default for field in dataclasses.fields(solver)})


def test_a_solver_with_threads_of_its_own_counts_them_as_solve_does():
    risk = MeanRisk("hinge", np.where(y == 1, 1.0, -1.0))
    (candidate,) = choose(Problem(X, risk, 0.1), Newton(n_jobs=-1), n_jobs=1)
    assert candidate.solver.n_jobs == processors(-1)


@pytest.mark.parametrize("scale", [1.0, 1e30])
def test_what_the_arithmetic_can_not_resolve_is_not_called_optimal(scale):
    """Separable, with an objective of about 1e-59: far below the rounding of scores and losses."""
    risk = MeanRisk("logistic", np.where(y == 1, 1.0, -1.0))
    solution = solve(Problem(X * scale, risk, 0.1, intercept=True), tol=1e-6)
    assert solution.converged == (scale == 1.0)
    if not solution.converged:
        assert solution.status is Status.UNRESOLVED
        assert "known only up to rounding errors" in str(solution.certificate)
        with pytest.warns(GapWarning, match=r"rounding errors are too large .* .scale X"):
            assert not LinearClassifier("logistic").fit(X * scale, y).converged_


@pytest.mark.parametrize("loss", ["squared", "poisson", "absolute"])
@pytest.mark.parametrize("scale", [1.0, 1e30])
@pytest.mark.filterwarnings("error")
def test_labels_that_are_all_the_same_need_no_weights_and_no_warning(loss, scale, rarely_compiled):
    """The objective is zero up to rounding, and so is that of the model without weights."""
    model = LinearRegressor(loss, tol=1e-9).fit(X * scale, np.full(4, 0.1))
    assert model.converged_
    assert "optimal to the accuracy of the arithmetic" in str(model.certificate_)


@pytest.mark.parametrize("index", [np.int8, np.uint16, np.int64])
def test_odd_index_types_are_read_right(index):
    odd = sp.csr_array(X)
    odd.indices = odd.indices.astype(index)
    reference = LinearClassifier(random_state=0).fit(X, y)
    np.testing.assert_allclose(LinearClassifier(random_state=0).fit(odd, y).coef_, reference.coef_)


def test_broken_sparse_matrices():
    broken = sp.csr_array(X)
    broken.indices[0] = 7
    with pytest.raises(FenchelError, match="broken sparse matrix"):
        LinearClassifier().fit(broken, y)


def test_duplicate_and_unsorted_entries_are_summed_without_touching_x():
    row, column = [0, 0, 1, 1, 2, 3, 3], [1, 1, 1, 0, 0, 0, 0]
    values = [1.0, 2.0, 0.5, 1.0, -2.0, 1.5, -3.0]
    indptr = np.array([0, 2, 4, 5, 7])
    doubled = sp.csr_array((np.array(values), np.array(column), indptr), shape=(4, 2))
    before = (doubled.data.copy(), doubled.indices.copy())
    model = LinearClassifier(tol=1e-10, random_state=0).fit(doubled, y)
    dense = LinearClassifier(tol=1e-10, random_state=0).fit(
        sp.coo_array((values, (row, column)), shape=(4, 2)).toarray(), y
    )
    np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(doubled.data, before[0])
    np.testing.assert_array_equal(doubled.indices, before[1])


def test_empty_rows_columns_and_constant_features():
    data = np.array([[0.0, 0.0, 5.0], [1.0, 0.0, 5.0], [0.0, 0.0, 5.0], [3.0, 0.0, 5.0]])
    model = LinearClassifier(random_state=0, tol=1e-8).fit(data, [0, 0, 1, 1])
    assert model.converged_
    assert model.coef_[0, 1] == 0.0
    # a constant feature adds nothing to what a free intercept does
    assert abs(model.coef_[0, 2]) < 1e-6


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30])
@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
def test_extreme_scales_have_a_sound_certificate(scale):
    model = LinearRegressor(random_state=0).fit(X * scale, y.astype(float))
    assert np.isfinite(model.certificate_.gap)
    assert model.certificate_.dual <= np.var(y) / 2


def test_overflow_is_named():
    with pytest.raises(FenchelError, match=r"overflow.*scale X"):
        LinearClassifier().fit(X * 1e200, y)
    with pytest.raises(FenchelError, match=r"overflow.*scale"):
        LinearRegressor().fit(X, [1e200, -1e200, 0.0, 1.0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_overflow_in_a_cutting_plane_is_named(plain_loops):
    data, signs = 1e150 * np.random.default_rng(0).normal(size=(4, 2)), np.array([1.0, -1.0, 1.0, -1.0])
    with pytest.raises(FenchelError, match=r"overflow.*scale X"):
        solve(Problem(data, F1(signs), 1e-13, intercept=True), "bundle", max_iter=30)


@pytest.mark.parametrize("outputs", [0, -0.0, 5, "2", None])
def test_the_outputs_of_a_micro_average_are_named(outputs):
    with pytest.raises(FenchelError, match="outputs must be an integer that divides 6"):
        micro(F1([1, -1, 1, -1, 1, 1]), outputs)


def test_one_example_is_enough_for_regression():
    model = LinearRegressor(random_state=0).fit([[2.0]], [3.0])
    assert model.predict([[2.0]]) == pytest.approx(3.0)


@given(
    arrays.arrays(np.float64, st.tuples(st.integers(2, 7), st.integers(1, 3)), elements=st.floats(-1e3, 1e3, width=32)),
    st.sampled_from(["hinge", "logistic"]),
    st.booleans(),
    st.booleans(),
)
def test_strange_data_gives_a_model_with_a_sound_certificate(data, loss, fit_intercept, sparse):
    labels = np.arange(len(data)) % 2
    model = LinearClassifier(loss, fit_intercept=fit_intercept, random_state=0, max_iter=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        model.fit(sp.csr_array(data) if sparse else data, labels)
    assert np.all(np.isfinite(model.coef_))
    assert model.certificate_.gap >= -model.certificate_.rounding_floor
    assert set(model.predict(data)) <= {0, 1}
