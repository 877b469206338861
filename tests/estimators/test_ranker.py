"""LinearRanker: the problem it solves, queries and weights, scikit-learn's conventions, limits, and measures."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import average_precision_score
from sklearn.metrics import ndcg_score as sklearn_ndcg
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fenchel import FenchelError, GapWarning, LinearRanker, Model, Problem, Witness, certify
from fenchel.metrics import mean_average_precision, mean_reciprocal_rank, ndcg_score
from fenchel.regularizers import L1
from fenchel.risks import RANKINGS
from versions import SKLEARN

every_loss = pytest.mark.parametrize("loss", RANKINGS)


#: without queries all rows are one query, whose rows have one weight
WEIGHTS_OF_ROWS = dict.fromkeys(
    (
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "weights are those of queries",
)


@pytest.mark.meetings(1)
@parametrize_with_checks(
    [LinearRanker(max_iter=200, tol=0.1), LinearRanker("pairwise_logistic", max_iter=200, tol=0.1)],
    expected_failed_checks=lambda estimator: WEIGHTS_OF_ROWS,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def data(seed=0, queries=30, size=8, d=5):
    rng = np.random.default_rng(seed)
    n = queries * size
    X, qid = rng.standard_normal((n, d)), rng.permutation(np.repeat(np.arange(queries), size))
    y = np.digitize(X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n), [0.0, 1.0, 2.0])
    return X, y, qid


@every_loss
def test_the_certificate_is_about_the_stated_problem(loss):
    X, y, qid = data()
    weights = np.random.default_rng(1).integers(1, 4, 30)[qid].astype(float)
    model = LinearRanker(loss, C=0.7, tol=1e-6).fit(X, y, qid=qid, sample_weight=weights)
    risk = RANKINGS[loss](y, qid, weights)
    counted = [q for q in range(30) if len(set(y[qid == q])) > 1]
    total = sum(weights[qid == q][0] for q in counted)
    assert model.n_queries_ == len(counted)
    problem = Problem(X, risk, 1.0 / (0.7 * total))
    witness = Witness(model.theta_, decomposition=model.decompositions_[0])
    again = certify(problem, Model(model.coef_, 0.0), witness)
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert again.gap == pytest.approx(model.certificate_.gap, rel=1e-6, abs=1e-12)
    assert model.converged_
    np.testing.assert_allclose(model.predict(X), X @ model.coef_)
    # rows in another order, sparse, with other names of queries: the same model
    order = np.random.default_rng(2).permutation(len(y))
    names = np.array([f"query {q}" for q in qid])
    other = LinearRanker(loss, C=0.7, tol=1e-6).fit(sp.csr_array(X[order]), y[order], weights[order], names[order])
    assert other.certificate_.primal == pytest.approx(model.certificate_.primal, rel=3e-6)


@every_loss
def test_whole_weights_repeat_queries_and_zero_removes_rows(loss):
    X, y, qid = data()
    times = np.random.default_rng(3).integers(0, 3, 30)
    weights = times[qid].astype(float)
    model = LinearRanker(loss, tol=1e-7).fit(X, y, qid=qid, sample_weight=weights)
    rows = np.concatenate([np.flatnonzero(qid == q) for q in range(30) for _ in range(times[q])])
    copies = np.concatenate([np.full(np.sum(qid == q), 100 * q + c) for q in range(30) for c in range(times[q])])
    repeated = LinearRanker(loss, tol=1e-7).fit(X[rows], y[rows], qid=copies)
    assert repeated.certificate_.primal == pytest.approx(model.certificate_.primal, rel=3e-7)
    kept = np.random.default_rng(4).random(len(y)) < 0.7
    some = LinearRanker(loss, tol=1e-7).fit(X[kept], y[kept], qid=qid[kept])
    zeros = LinearRanker(loss, tol=1e-7).fit(X, y, qid=qid, sample_weight=1.0 * kept)
    assert zeros.certificate_.primal == pytest.approx(some.certificate_.primal, rel=3e-7)
    assert zeros.n_queries_ == some.n_queries_


def test_queries_of_one_label_change_nothing():
    X, y, qid = data()
    model = LinearRanker(tol=1e-7).fit(X, y, qid=qid)
    more = LinearRanker(tol=1e-7).fit(np.vstack([X, 5 * X[:6]]), np.append(y, [1] * 6), qid=np.append(qid, [50] * 6))
    assert more.certificate_.primal == pytest.approx(model.certificate_.primal, rel=3e-7)
    assert more.n_queries_ == model.n_queries_
    assert not np.any(more.theta_[-6:])


def test_queries_matter():
    """A feature that grows from query to query, and falls with the grades of each."""
    rng, qid = np.random.default_rng(6), np.repeat(np.arange(20), 6)
    noise = rng.standard_normal(120)
    X, y = (10.0 * qid + noise)[:, None], 5 * qid + np.digitize(-noise, [-1.0, 0.0, 1.0])
    assert LinearRanker().fit(X, y, qid=qid).coef_[0] < 0 < LinearRanker().fit(X, y).coef_[0]


def test_lasso_and_elastic_net():
    X, y, qid = data()
    for loss in RANKINGS:
        model = LinearRanker(loss, C=0.05, l1_ratio=1.0, tol=1e-5).fit(X, y, qid=qid)
        assert model.converged_
        assert LinearRanker(loss, l1_ratio=0.5).fit(X, y, qid=qid).converged_
    assert np.count_nonzero(model.coef_) < 5
    assert L1().value(model.coef_) > 0


def test_clone_pickle_and_parameters():
    X, y, qid = data()
    model = LinearRanker("ndcg", k=5, gain="linear", C=2.0)
    assert clone(model).get_params() == model.get_params()
    model.fit(X, y, qid=qid)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificate_ == model.certificate_


def test_grid_search_routes_queries_to_the_folds():
    X, y, qid = data(queries=40)
    with config_context(enable_metadata_routing=True):
        ranker = (
            LinearRanker()
            .set_fit_request(qid=True, sample_weight=True)
            .set_score_request(qid=True, sample_weight=False)
        )
        search = GridSearchCV(ranker, {"C": [1e-3, 1.0]}, cv=GroupKFold(4), error_score="raise")
        search.fit(X, y, qid=qid, sample_weight=np.ones(len(y)), groups=qid)
        assert search.best_params_["C"] in (1e-3, 1.0)
        # each fold is scored by its own queries
        train, test = next(iter(GroupKFold(4).split(X, y, qid)))
        fold = LinearRanker(C=1.0).fit(X[train], y[train], qid=qid[train])
        expected = ndcg_score(y[test], fold.predict(X[test]), qid[test])
        assert search.cv_results_["split0_test_score"][1] == pytest.approx(expected, abs=1e-3)
        if SKLEARN < (1, 8):
            return  # whose pipelines do not pass queries on to score
        piped = make_pipeline(StandardScaler(), ranker.set_score_request(qid=True, sample_weight=True))
        scores = cross_val_score(piped, X, y, cv=GroupKFold(4), params={"qid": qid, "groups": qid})
        assert np.all(scores > 0.8)


@every_loss
def test_warm_start(loss):
    X, y, qid = data()
    model = LinearRanker(loss, tol=1e-6, warm_start=True).fit(X, y, qid=qid)
    first = model.n_iter_
    model.fit(X, y, qid=qid)
    assert model.n_iter_ <= max(2, 0.5 * first)
    assert model.converged_


def test_limits_end_a_fit_with_a_certificate():
    X, y, qid = data(queries=200, size=30, d=40)
    with pytest.warns(GapWarning):
        model = LinearRanker(tol=0.0, max_iter=3).fit(X, y, qid=qid)
    assert model.certificate_.gap > 0
    with pytest.warns(GapWarning):
        limited = LinearRanker("ndcg", tol=1e-12, C=100.0, time_limit=0.05).fit(X, y, qid=qid)
    assert np.isfinite(limited.certificate_.gap)


def test_a_bound_on_ndcg_that_says_nothing_is_reported():
    rng = np.random.default_rng(7)
    X, y, qid = rng.standard_normal((400, 2)), rng.integers(0, 3, 400), np.repeat(np.arange(20), 20)
    with pytest.warns(GapWarning, match="use a pairwise loss"):
        model = LinearRanker("ndcg", C=1e-3, tol=1e-2).fit(X, y, qid=qid)
    assert not np.any(model.coef_)


def test_proved_scores_of_ndcg():
    X, y, qid = data()
    model = LinearRanker("ndcg", tol=1e-9).fit(X, y, qid=qid)
    found, exact = model.certified_predictions(X), LinearRanker("ndcg", tol=0.0, solver="bundle").fit(X, y, qid=qid)
    np.testing.assert_array_equal(found.predictions, model.predict(X))
    assert np.all((found.lower <= exact.predict(X) + 1e-6) & (exact.predict(X) - 1e-6 <= found.upper))
    with pytest.raises(FenchelError, match="closed form"):
        LinearRanker().fit(X, y, qid=qid).certified_predictions(X)


def test_what_is_wrong_is_named():
    X, y, qid = data()
    wrong = [
        (LinearRanker("hinge"), {}, "did you mean 'pairwise_hinge'|loss='hinge' is unknown"),
        (LinearRanker(gain="log"), {}, "gain='log' is unknown"),
        (LinearRanker(k=3), {}, "k=3 is for loss='ndcg'"),
        (LinearRanker("ndcg", k=0), {}, "k must be"),
        (LinearRanker(C=-1), {}, "C must be"),
        (LinearRanker(), {"qid": qid[:-1]}, "one entry for each"),
        (LinearRanker(), {"qid": np.where(qid == 3, np.nan, qid)}, "missing values"),
        (LinearRanker(), {"qid": np.array([None, *qid[1:]], dtype=object)}, "missing values"),
        (LinearRanker(), {"qid": np.array(["NaT", *qid[1:]], dtype="M8[s]")}, "missing values"),
        (LinearRanker(), {"qid": np.array(["NaT", *qid[1:]], dtype="m8[s]")}, "missing values"),
        (LinearRanker(), {"qid": np.ma.masked_equal(qid, 3)}, "missing values"),
        (LinearRanker(), {"qid": ["a", np.nan] * (len(y) // 2)}, "one kind"),
        (LinearRanker(), {"qid": np.arange(len(y))}, "two different labels"),
        (LinearRanker(), {"qid": qid, "sample_weight": np.arange(1.0, len(y) + 1)}, "same for all rows of a query"),
        (LinearRanker(), {"qid": qid, "sample_weight": -np.ones(len(y))}, "Negative values"),
        (LinearRanker(), {"qid": qid, "sample_weight": np.full(len(y), 1e308)}, "sum of the sample weights, inf"),
    ]
    for model, more, message in wrong:
        with pytest.raises(FenchelError, match=message):
            model.fit(X, y, **more)
    with pytest.raises(FenchelError, match="not be negative"):
        LinearRanker("ndcg").fit(X, y - 5, qid=qid)
    for grades in (np.where(y > 1, "good", "bad"), np.where(y > 1, "good", "bad").astype(object), y.astype("M8[s]")):
        with pytest.raises(FenchelError, match=r"y must hold numbers for a ranking: .*; encode grades as 0, 1"):
            LinearRanker().fit(X, grades, qid=qid)


# --- measures


def test_measures_are_those_of_scikit_learn():
    rng = np.random.default_rng(5)
    for ties in (False, True):
        y, qid = rng.integers(0, 4, 120), rng.integers(0, 9, 120)
        y[qid == 8] = 0
        scores = rng.integers(0, 4, 120) / 2.0 if ties else rng.normal(size=120)
        for k in (None, 1, 5, 10):
            for gain, grades in (("exponential", 2.0**y - 1.0), ("linear", 1.0 * y)):
                expected = np.mean([sklearn_ndcg([grades[qid == q]], [scores[qid == q]], k=k) for q in range(8)])
                assert ndcg_score(y, scores, qid, k=k, gain=gain) == pytest.approx(expected, rel=1e-12)
        expected = np.mean([average_precision_score(y[qid == q] > 0, scores[qid == q]) for q in range(8)])
        assert mean_average_precision(y, scores, qid) == pytest.approx(expected, rel=1e-12)
        ranks = [min(np.sum(scores[qid == q] >= s) for s in scores[(qid == q) & (y > 0)]) for q in range(8)]
        assert mean_reciprocal_rank(y, scores, qid) == pytest.approx(np.mean(1.0 / np.array(ranks)), rel=1e-12)


def test_measures_weigh_queries():
    y, scores, qid = [1, 0, 1, 0], [1.0, 2.0, 2.0, 1.0], ["a", "a", "b", "b"]
    for measure, worst in ((ndcg_score, 1 / np.log2(3)), (mean_average_precision, 0.5), (mean_reciprocal_rank, 0.5)):
        assert measure(y, scores, qid) == pytest.approx((1 + worst) / 2)
        assert measure(y, scores, qid, sample_weight=[3, 3, 1, 1]) == pytest.approx((1 + 3 * worst) / 4)
        assert measure(y, scores, qid, sample_weight=[0, 0, 1, 1]) == 1.0
        assert np.isnan(measure([0, 0], [1.0, 2.0]))
        with pytest.raises(FenchelError, match="same for all rows"):
            measure(y, scores, qid, sample_weight=[1, 2, 1, 1])
        with pytest.raises(FenchelError, match="one entry"):
            measure(y, scores[:2], qid)
        with pytest.raises(FenchelError, match="one entry"):
            measure(y, scores, qid[:2])
        with pytest.raises(FenchelError, match="qid must not hold missing values"):
            measure(y, scores, [1.0, 1.0, np.nan, np.nan])
        with pytest.raises(FenchelError, match="finite"):
            measure(y, [1.0, 2.0, np.nan, 1.0], qid)
    with pytest.raises(FenchelError, match="not be negative"):
        ndcg_score([-1, 1], [1.0, 2.0])


def test_a_warm_start_survives_another_loss_and_other_grades():
    X = np.random.default_rng(0).standard_normal((8, 3))
    model = LinearRanker(warm_start=True).fit(X, np.arange(8) % 3)
    assert model.set_params(loss="pairwise_logistic").fit(X, np.arange(8) % 3).converged_
    model = LinearRanker(warm_start=True).fit(X, np.arange(8) % 3)
    assert model.fit(X, np.arange(8) % 2).converged_


def test_the_score_of_several_queries_needs_them():
    X, qid = np.random.default_rng(0).standard_normal((8, 3)), np.repeat([0, 1], 4)
    model = LinearRanker().fit(X, np.arange(8) % 3, qid=qid)
    assert 0.0 <= model.score(X, np.arange(8) % 3, qid=qid) <= 1.0
    with pytest.raises(FenchelError, match="score needs qid"):
        model.score(X, np.arange(8) % 3)
