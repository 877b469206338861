"""SequenceClassifier: every form of input, scikit-learn's conventions, and clear errors for bad input."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import slow_chains as slow
from fenchel import FenchelError, GapWarning, LinearClassifier, Model, Problem, SequenceClassifier, Witness, certify
from fenchel.designs import ChainDesign
from fenchel.risks import ChainHinge, ChainLogistic

every_loss = pytest.mark.parametrize("loss", ["hinge", "logistic"])


@pytest.fixture(scope="module")
def data():
    """Sequences whose labels depend on the neighbour, with one of a single token."""
    rng = np.random.default_rng(0)
    X = [rng.standard_normal((n, 4)) for n in [1, *rng.integers(1, 7, size=24)]]
    y = [np.where(x[:, 0] + np.r_[0.0, x[:-1, 1]] > 0, "a", np.where(x[:, 2] > 0, "b", "c")) for x in X]
    return X, y


def model(loss, **options):
    return SequenceClassifier(loss, **{"tol": 1e-4, "random_state": 0, **options})


@every_loss
def test_every_form_of_input_is_the_same_problem(data, loss):
    X, y = data
    expected = model(loss).fit(X, y)
    assert expected.converged_
    lengths = [len(x) for x in X]
    names = [[{f"f{j}": value for j, value in enumerate(token)} for token in x] for x in X]
    forms = [
        ([sp.csr_array(x) for x in X], y, None),
        ([x.tolist() for x in X], [one.tolist() for one in y], None),
        (names, y, None),
        (np.concatenate(X), np.concatenate(y), lengths),
        (sp.csr_array(np.concatenate(X)), np.concatenate(y).tolist(), np.array(lengths)),
        ([token for one in names for token in one], np.concatenate(y), lengths),
    ]
    for form, labels, given in forms:
        found = model(loss).fit(form, labels, lengths=given)
        np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)
        predicted = found.predict(form, lengths=given)
        together = predicted if given is not None else np.concatenate(predicted)
        np.testing.assert_array_equal(together, np.concatenate(expected.predict(X)))
        assert found.score(form, labels, lengths=given) == pytest.approx(expected.score(X, y))


def test_data_frames_series_and_other_sparse_formats(data):
    pandas = pytest.importorskip("pandas", reason="data frames need pandas")
    X, y = data
    expected = model("logistic").fit(X, y).coef_
    lengths = [len(x) for x in X]
    flat, labels = np.concatenate(X), np.concatenate(y)
    forms = [
        ([pandas.DataFrame(x) for x in X], [pandas.Series(one) for one in y], None),
        (pandas.Series([x.tolist() for x in X]), pandas.Series([one.tolist() for one in y]), None),
        (pandas.DataFrame(flat), pandas.Series(labels), lengths),
        (sp.coo_array(flat), labels, lengths),
        (sp.lil_array(flat), labels, lengths),
    ]
    for form, targets, given in forms:
        np.testing.assert_allclose(model("logistic").fit(form, targets, lengths=given).coef_, expected, atol=1e-9)
    words = [np.array(["the", "dog"]), np.array(["a"])]
    assert model("hinge").fit(words, [["D", "N"], ["D"]]).n_features_in_ == 3


def test_flat_arrays_are_not_copied(data):
    X, y = data
    flat = np.concatenate(X)
    task = model("hinge").encode(flat, np.concatenate(y), lengths=[len(x) for x in X])
    assert np.shares_memory(task.design.tokens.rows().values, flat)


@every_loss
def test_the_certificate_is_that_of_the_stated_problem(data, loss):
    X, y = data
    fitted = model(loss, C=0.3).fit(X, y)
    codes = np.searchsorted(fitted.classes_, np.concatenate(y))
    risk = {"hinge": ChainHinge, "logistic": ChainLogistic}[loss](codes, [len(x) for x in X])
    design = ChainDesign(np.concatenate(X), 3)
    problem = Problem(design, risk, 1.0 / (0.3 * len(X)))
    weights = design.joined(fitted.coef_.T, fitted.transitions_, fitted.start_, fitted.end_)
    found = certify(problem, Model(weights), Witness(fitted.theta_, None, fitted.decompositions_[0]))
    assert found.gap == pytest.approx(fitted.certificate_.gap, rel=1e-6, abs=1e-12)
    assert found.recomputed
    # the objective as in the docstring
    losses = slow.losses(loss, design.scores(weights), codes, [len(x) for x in X], 3)
    stated = 0.5 * weights @ weights + 0.3 * np.sum(losses)
    assert fitted.certificate_.primal * 0.3 * len(X) == pytest.approx(stated)


@every_loss
def test_predictions_are_the_best_labellings(data, loss):
    X, y = data
    fitted = model(loss).fit(X, y)
    tail = np.concatenate([fitted.transitions_.ravel(), fitted.start_, fitted.end_])
    for x, found in zip(X, fitted.predict(X), strict=True):
        nodes = x @ fitted.coef_.T
        best = max(slow.labellings(len(x), 3), key=lambda labels: slow.score(labels, nodes, tail, 3))
        assert found.tolist() == fitted.classes_[list(best)].tolist()


def test_marginals_are_those_of_all_labellings(data):
    X, y = data
    fitted = model("logistic").fit(X, y)
    tail = np.concatenate([fitted.transitions_.ravel(), fitted.start_, fitted.end_])
    for x, found in zip(X[:5], fitted.predict_marginals(X[:5]), strict=True):
        p = slow.gibbs(np.concatenate([(x @ fitted.coef_.T).ravel(), tail]), np.zeros(len(x), int), [len(x)], 3)[0]
        expected = np.zeros((len(x), 3))
        for labels, probability in p.items():
            expected[np.arange(len(x)), labels] += probability
        np.testing.assert_allclose(found, expected, atol=1e-12)
    with pytest.raises(FenchelError, match="logistic"):
        model("hinge").fit(X, y).predict_marginals(X)


def test_independent_tokens_are_multinomial_regression(data):
    X, y = data
    chain = model("logistic", transitions="none", tol=1e-8).fit(X, y)
    assert not np.any(chain.transitions_)
    assert not np.any(chain.start_)
    flat = LinearClassifier("logistic", multi_class="multinomial", fit_intercept=False, tol=1e-8)
    flat.fit(np.concatenate(X), np.concatenate(y))
    np.testing.assert_allclose(chain.coef_, flat.coef_, atol=1e-3)


@pytest.mark.parametrize(("transitions", "pairs", "ends"), [("full", True, True), ("pairs", True, False)])
def test_transitions(data, transitions, pairs, ends):
    X, y = data
    fitted = model("hinge", transitions=transitions).fit(X, y)
    assert np.any(fitted.transitions_) == pairs
    assert np.any(fitted.start_) == ends
    assert np.any(fitted.end_) == ends


@every_loss
def test_weights_of_sequences_count_as_repetitions(data, loss):
    X, y = data
    weights = np.arange(len(X)) % 3
    weighted = model(loss, tol=1e-7, max_iter=5000).fit(X, y, sample_weight=weights)
    repeated = model(loss, tol=1e-7, max_iter=5000).fit(
        [x for x, w in zip(X, weights, strict=True) for _ in range(w)],
        [one for one, w in zip(y, weights, strict=True) for _ in range(w)],
    )
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=5e-3)
    right = [(a == b).sum() for a, b in zip(weighted.predict(X), y, strict=True)]
    expected = weights @ right / (weights @ [len(x) for x in X])
    assert weighted.score(X, y, sample_weight=weights) == pytest.approx(expected)


def test_scores(data):
    X, y = data
    fitted = model("hinge").fit(X, y)
    predicted = fitted.predict(X)
    assert fitted.score(X, y) == np.mean(np.concatenate(predicted) == np.concatenate(y))
    assert fitted.sequence_score(X, y) == np.mean([np.array_equal(a, b) for a, b in zip(predicted, y, strict=True)])
    # a label that the fit has not seen is never right
    assert fitted.score(X[:1], [["unseen"]]) == 0.0


@every_loss
def test_scikit_learn_conventions(data, loss):
    X, y = data
    copied = clone(model(loss, C=2.0, transitions="pairs"))
    assert copied.get_params()["transitions"] == "pairs"
    search = GridSearchCV(model(loss), {"C": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ >= 0.4
    assert search.predict(X)[0].shape == (1,)
    assert len(cross_val_score(model(loss), X, y, cv=3)) == 3
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert again.score(X, y) == search.best_estimator_.score(X, y)


@every_loss
def test_warm_start_and_limits(data, loss):
    X, y = data
    first = model(loss, warm_start=True).fit(X, y)
    before = first.n_iter_
    assert first.fit(X, y).trace_[0].passes == 0
    assert first.n_iter_ <= before
    assert first.set_params(C=1.1).fit(X, y).converged_
    with pytest.warns(GapWarning, match="max_iter"):
        model(loss, tol=1e-9, max_iter=1).fit(X, y)
    with pytest.warns(GapWarning, match="time limit"):
        model(loss, tol=1e-12, time_limit=1e-9).fit(X, y)


def test_top_features_and_transitions():
    X = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
    y = [["D", "N", "V"], ["D", "N", "V"]]
    fitted = model("logistic").fit(X, y)
    best = fitted.top_features(3)
    assert len(best) == 3
    assert all(abs(one.weight) >= abs(other.weight) for one, other in itertools.pairwise(best))
    assert {one.feature for one in best} <= {"the", "dog", "barks", "a", "cat", "sleeps"}
    assert {(one.label, one.following) for one in fitted.top_transitions(2)} == {("D", "N"), ("N", "V")}
    # features that the fit has not seen are ignored
    assert [label.tolist() for label in fitted.predict([["some", "dog"]])] == [["D", "N"]]
    assert model("hinge").fit([["x", ["a", "b"]], [{"c": 2.0}]], [[0, 1], [1]]).n_features_in_ == 4


@pytest.mark.parametrize(
    ("X", "y", "lengths", "message"),
    [
        ([np.ones((2, 2)), np.ones((0, 2))], [[0, 1], []], None, "sequence 1 of X is empty"),
        ([], [], None, "no sequences"),
        ([np.ones((2, 2))], [[0, 0]], None, "at least two labels"),
        ([np.ones((2, 2)), np.ones((1, 3))], [[0, 1], [0]], None, "sequence 1 of X must have the shape"),
        ([np.array([[1.0, np.nan]]), np.ones((1, 2))], [[0], [1]], None, "NaN"),
        ([np.ones((2, 2))], [[0, 1, 1]], None, "sequence 0 of y has 3 labels"),
        ([np.ones((2, 2))], [[0, 1], [1]], None, "each of the 1 sequences"),
        ([np.ones(2)], [[0, 1]], None, "sequence 0 of X must have the shape"),
        (np.ones((2, 2)), [[0, 1]], None, "sequence 0 of X must have the shape"),
        ([["a", "b"], "cd"], [[0, 1], [0, 1]], None, "sequence 1 of X is a str"),
        (sp.csr_array(np.ones((2, 2))), [0, 1], None, "lengths="),
        (5, [0], None, "X must be a list"),
        ([[[1.0, 2.0], [1.0]]], [[0, 1]], None, "different numbers of features"),
        ([["a", 3.0]], [[0, 1]], None, "mixes"),
        ([np.ones((2, 2))], ["ab"], None, "list of labels"),
        ([np.ones((2, 2))], [[0, "a"]], None, None),
        ([np.ones((1, 2)), np.ones((1, 2))], [[0], ["a"]], None, "mixes labels"),
        ([np.ones((2, 2))], [[0.0, np.nan]], None, "NaN"),
        (np.ones((3, 2)), [0, 1, 1], [2, 2], "add up to 4"),
        (np.ones((3, 2)), [0, 1, 1], [3, 0], "lengths must be"),
        (np.ones((3, 2)), [0, 1, 1], [1.5, 1.5], "lengths must be"),
        (np.ones((3, 2)), [0, 1], [2, 1], "y has 2 labels"),
        (np.ones(3), [0, 1, 1], [2, 1], "shape"),
        ([np.array([["x", "y"]])], [[0]], None, "real numbers"),
    ],
)
def test_bad_input_is_refused_with_the_reason(X, y, lengths, message):
    if message is None:
        assert model("hinge").fit(X, y, lengths=lengths).classes_.tolist() == ["0", "a"]
        return
    with pytest.raises(FenchelError, match=message):
        model("hinge").fit(X, y, lengths=lengths)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "squared"}, "loss"),
        ({"transitions": "all"}, "transitions"),
        ({"C": 0.0}, "C"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"solver": "newton"}, "newton"),
    ],
)
def test_bad_parameters(data, options, message):
    X, y = data
    with pytest.raises(FenchelError, match=message):
        model(**{"loss": "hinge", **options}).fit(X, y)


@pytest.mark.parametrize("X", [[np.eye(2), np.eye(2)], [["a", "b"], [{"c": 1.0}, "a"]]])
def test_predictions_are_refused_with_the_reason(X):
    fitted = model("hinge").fit(X, [[0, 1], [1, 0]])
    for rows in (X, np.eye(2), None):
        with pytest.raises(FenchelError, match="predictions of sequences are not proved"):
            fitted.certified_predictions(rows)


def test_bad_weights_and_other_features(data):
    X, y = data
    with pytest.raises(FenchelError, match="sample_weight"):
        model("hinge").fit(X, y, sample_weight=[1.0])
    with pytest.raises(FenchelError, match="sample_weight"):
        model("hinge").fit(X, y, sample_weight=np.zeros(len(X)))
    fitted = model("hinge").fit(X, y)
    with pytest.raises(FenchelError, match="3 features"):
        fitted.predict([np.ones((2, 3))])
    with pytest.raises(FenchelError, match="fitted to arrays"):
        fitted.predict([["a"]])


@every_loss
def test_sequences_of_one_token(loss):
    rng = np.random.default_rng(3)
    X = [rng.standard_normal((1, 2)) for _ in range(12)]
    y = [[int(x[0, 0] > 0)] for x in X]
    assert model(loss, C=100.0).fit(X, y).score(X, y) == 1.0
