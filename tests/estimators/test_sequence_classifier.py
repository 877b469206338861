"""SequenceClassifier: every form of input, scikit-learn's conventions, and clear errors for bad input."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import slow_chains as slow
from fenchel import FenchelError, GapWarning, LinearClassifier, Model, Problem, SequenceClassifier, Witness, certify
from fenchel.designs import ChainDesign
from fenchel.estimators.sequence_weights import largest
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


def test_flat_arrays_are_not_copied(data, own_storage):
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


def test_the_largest_weights_of_each_label(data):
    X, y = data
    fitted = model("logistic").fit(X, y)
    for k, label in enumerate(fitted.classes_.tolist()):
        order = np.argsort(-np.abs(fitted.coef_[k]))
        assert [(one.label, one.feature) for one in fitted.top_features(2, label)] == [(label, f) for f in order[:2]]
        (follows,) = fitted.top_transitions(1, label)
        assert abs(follows.weight) == np.max(np.abs(fitted.transitions_[k]))
    # a table with a row for each label, and with all weights if as many are asked for
    header, *rows = fitted.summary(99).split("\n")
    assert header.split() == ["label", "features", "following", "labels"]
    assert [row.split()[0] for row in rows] == fitted.classes_.tolist()
    assert all(row.count(",") == 3 + 2 for row in rows)
    with pytest.raises(FenchelError, match="label must be one of a, b, c; got 'd'"):
        fitted.top_features(label="d")
    with pytest.raises(FenchelError, match="count must be"):
        fitted.top_features(0)
    # weights that are zero are not shown
    assert model("logistic", transitions="none").fit(X, y).summary().count("+0.00") == 0


def test_equal_weights_are_in_order():
    weights = np.array([[1.0, -3.0, 2.0], [-2.0, 0.0, 2.0]])
    assert largest(weights, 3) == [[0, 1], [0, 2], [1, 0]]
    assert largest(weights, 100) == [[0, 1], [0, 2], [1, 0], [1, 2], [0, 0], [1, 1]]


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
        (np.ones((2, 2)), [[0, 1]], None, "X is one matrix of shape .2, 2.: pass lengths="),
        ([["a", "b"], "cd"], [[0, 1], [0, 1]], None, "sequence 1 of X is a str"),
        (sp.csr_array(np.ones((2, 2))), [0, 1], None, "pass lengths="),
        (5, [0], None, "X must be a list"),
        ([[[1.0, 2.0], [1.0]]], [[0, 1]], None, "different numbers of features"),
        ([["a", 3.0]], [[0, 1]], None, "mixes"),
        ([np.ones((2, 2))], ["ab"], None, "list of labels"),
        ([np.ones((2, 2))], [[0, "a"]], None, "mixes labels"),
        ([np.ones((2, 2))], [np.array([0, "a"], dtype=object)], None, "labels of different types"),
        ([np.ones((2, 2))], [[np.nan, "a"]], None, "mixes labels"),
        ([np.ones((2, 2))], [["a", None]], None, "every token needs a label"),
        ([np.ones((2, 2)), np.ones((1, 2))], [0, 1, 1], [2, 1], "omit lengths for a list of sequences"),
        ([np.ones((2, 2)), np.ones((2, 2))], [0, 1, 1, 0], [2, 2], "omit lengths for a list of sequences"),
        ([[{"a": 1j}, "b"]], [[0, 1]], None, "numbers, strings or lists of strings as values"),
        ([[{"a": [1, 2]}, "b"]], [[0, 1]], None, "numbers, strings or lists of strings as values"),
        ([[{"a": {"b": 1}}, "b"]], [[0, 1]], None, "numbers, strings or lists of strings as values"),
        ([[{1: 1.0}, "b"]], [[0, 1]], None, "strings as keys"),
        ([np.ma.masked_array(np.ones((2, 2)), np.eye(2))], [[0, 1]], None, "sequence 0 of X is a masked array"),
        ([np.ones((2, 2)) * 1j], [[0, 1]], None, "real numbers"),
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


def test_arrays_for_a_model_with_named_features_are_warned_of():
    fitted = model("hinge").fit([["a", "b"], ["b", "a"]], [[0, 1], [1, 0]])
    with pytest.warns(UserWarning, match="X does not have valid feature names") as caught:
        assert fitted.predict([np.eye(2)])[0].tolist() == [0, 1]
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert fitted.predict(sp.csr_array(np.eye(2)), lengths=[2]).tolist() == [0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict([["a", "b"]])


@pytest.mark.parametrize("X", [[np.eye(2), np.eye(2)], [["a", "b"], [{"c": 1.0}, "a"]]])
def test_predictions_are_refused_with_the_reason(X):
    fitted = model("hinge").fit(X, [[0, 1], [1, 0]])
    for rows in (X, np.eye(2), None):
        with pytest.raises(FenchelError, match="predictions of sequences are not proved"):
            fitted.certified_predictions(rows)


def test_bad_weights_and_other_features(data):
    X, y = data
    for weights in ([1.0], np.zeros(len(X)), "a", [1j] * len(X), np.full(len(X), 1e308), {"a": 1}):
        with pytest.raises(FenchelError, match="sample_weight"):
            model("hinge").fit(X, y, sample_weight=weights)
    fitted = model("hinge").fit(X, y)
    assert fitted.score(X, y, sample_weight=np.full(len(X), 1e308)) == pytest.approx(fitted.score(X, y))
    with pytest.raises(FenchelError, match="scores of X overflow"):
        fitted.predict([np.full((2, 4), 1e308)])
    for count in ("3", 2.5, -1, None):
        with pytest.raises(FenchelError, match="count must be an integer >= 1"):
            fitted.top_features(count)
        with pytest.raises(FenchelError, match="count must be an integer >= 1"):
            fitted.top_transitions(count)
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


@pytest.mark.meetings(1)
@every_loss
@pytest.mark.parametrize("transitions", ["full", "pairs"])
def test_edge_features(loss, transitions):
    """Whether the next label is that of the token before or the other one is said by a feature of the pair."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for length in rng.integers(2, 9, size=40):
        turns = rng.integers(0, 2, length)
        first = rng.integers(0, 2)
        labels = (first + np.cumsum(np.r_[0, turns[1:]])) % 2
        X.append(np.column_stack([np.where(np.arange(length), 0.0, 2.0 * first - 1.0), turns, rng.random(length)]))
        y.append(np.array(["a", "b"])[labels])
    plain = model(loss, C=10.0, tol=1e-2, transitions=transitions).fit(X, y)
    options = {"C": 10.0, "tol": 1e-2, "transitions": transitions, "edge_features": [1]}
    fitted = model(loss, **options).fit(X, y)
    assert fitted.converged_
    assert plain.score(X, y) < 0.9 < fitted.score(X, y)
    assert fitted.edge_transitions_.shape == (1, 2, 2)
    # "all", sparse matrices, a flat matrix and names are the same problem
    names = [[{"first": token[0], "turns": token[1], "noise": token[2]} for token in x] for x in X]
    flat, lengths = np.concatenate(X), [len(x) for x in X]
    problem_value = fitted.certificate_.primal
    for other in (
        model(loss, **options).fit([sp.csr_matrix(x) for x in X], y),
        model(loss, **options).fit(flat, np.concatenate(y), lengths=lengths),
        model(loss, **{**options, "edge_features": ["turns"]}).fit(names, y),
    ):
        assert other.certificate_.primal == pytest.approx(problem_value, rel=2e-2)
        assert other.edge_transitions_.shape == (1, 2, 2)
    assert model(loss, **{**options, "edge_features": "all"}).fit(X, y).edge_transitions_.shape == (3, 2, 2)
    # the certificate again, from theta_ and the distributions
    risk = {"hinge": ChainHinge, "logistic": ChainLogistic}[loss](
        np.concatenate(y) == "b", lengths, 2, None, flat[:, [1]]
    )
    design = ChainDesign(flat, 2, ends=transitions == "full", edge_features=1)
    weights = design.joined(
        fitted.coef_.T,
        np.concatenate([fitted.transitions_[None], fitted.edge_transitions_]),
        fitted.start_,
        fitted.end_,
    )
    again = certify(
        Problem(design, risk, 1.0 / (10.0 * len(X))),
        Model(weights),
        Witness(fitted.theta_, None, fitted.decompositions_[0]),
    )
    assert again.primal == pytest.approx(fitted.certificate_.primal, rel=1e-12)
    assert again.dual == pytest.approx(fitted.certificate_.dual, rel=1e-9)
    # warm starts, copies and marginals
    warm = clone(fitted).set_params(warm_start=True).fit(X, y)
    assert warm.fit(X, y).n_iter_ <= fitted.n_iter_
    copied = pickle.loads(pickle.dumps(fitted))
    assert all(map(np.array_equal, copied.predict(X), fitted.predict(X)))
    if loss == "logistic":
        np.testing.assert_allclose(np.sum(fitted.predict_marginals(X)[0], axis=1), 1.0)


@pytest.mark.parametrize("wrong", ["some", [4], [-1], ["a"], [True], [0, 0], 3.5, [[1]]])
def test_wrong_edge_features(data, wrong):
    with pytest.raises(FenchelError, match="edge_features"):
        model("logistic", edge_features=wrong).fit(*data)
    with pytest.raises(FenchelError, match="edge_features require weights of pairs"):
        model("logistic", edge_features=[0], transitions="none").fit(*data)


def test_a_fit_without_kernel_keeps_none_of_the_last_fit(data):
    fitted = model("hinge", kernel="rbf", gamma=5.0).fit(*data)
    fitted.set_params(kernel=None).fit(*data)
    fresh = model("hinge", gamma=5.0).fit(*data)
    assert not {"dual_coef_", "support_", "gamma_"} & set(vars(fitted))
    assert all(map(np.array_equal, fitted.predict(data[0]), fresh.predict(data[0])))
