"""Estimators with ``features``: raw data at fit and at predict, in pipelines, searches and model files."""

import json
import math
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fenchel import FenchelError, KernelClassifier, LinearClassifier, LinearRegressor, MeasureClassifier
from fenchel.features import Features, HashedTextFeatures, KmerFeatures, PolynomialFeatures
from fenchel.io import load_model, save_model
from slow_features import kmer_matrix

RNG = np.random.default_rng(5)
STRINGS = ["".join(RNG.choice(list("ACGT"), RNG.integers(3, 20))) for _ in range(60)]
LABELS = np.array(["GT" in string for string in STRINGS])
#: with the counts of KmerRows that tests/designs compiles
FEATURES = KmerFeatures(k=3, shortest=1)
TEXTS = ["good film", "bad film", "good", "bad", "film"] * 6


def classifier(**options):
    return LinearClassifier(features=FEATURES, random_state=0, tol=1e-6, **options)


def test_scores_are_those_of_a_fit_to_the_matrix():
    model = classifier().fit(STRINGS, LABELS)
    other = LinearClassifier(random_state=0, tol=1e-6).fit(sp.csr_array(kmer_matrix(FEATURES, STRINGS)), LABELS)
    assert math.isclose(model.certificate_.primal, other.certificate_.primal, rel_tol=2e-6)
    assert model.n_features_in_ == model.coef_.shape[1] == 84
    assert model.score(np.array(STRINGS), LABELS) == other.score(kmer_matrix(FEATURES, STRINGS), LABELS)
    new = ["ACGT", "", "NNN", b"GTGT"]
    np.testing.assert_allclose(
        model.decision_function(new), kmer_matrix(FEATURES, new) @ model.coef_[0] + model.intercept_, atol=1e-12
    )
    found = model.certified_predictions(STRINGS)
    np.testing.assert_array_equal(found.predictions, model.predict(STRINGS))


def test_weights_and_repetition():
    weights = RNG.integers(0, 3, len(STRINGS))
    repeated = np.repeat(np.arange(len(STRINGS)), weights)
    model = classifier().fit(STRINGS, LABELS, weights)
    other = classifier().fit([STRINGS[i] for i in repeated], LABELS[repeated])
    assert math.isclose(model.certificate_.primal, other.certificate_.primal, rel_tol=2e-6)


def test_clone_pipeline_and_search():
    model = classifier()
    assert clone(model).features == FEATURES
    pipeline = make_pipeline(FunctionTransformer(lambda X: [string.upper() for string in X]), model)
    lower = [string.lower() for string in STRINGS]
    assert pipeline.fit(lower, LABELS).score(lower, LABELS) > 0.8
    assert np.all(np.isfinite(cross_val_score(classifier(), STRINGS, LABELS, cv=2)))
    # more features than strings: dual coordinate descent alone
    values = [KmerFeatures(k=3, alphabet="AXYZ"), KmerFeatures(k=3)]
    search = GridSearchCV(classifier(), {"features": values}, cv=2).fit(STRINGS, LABELS)
    assert search.best_params_["features"] == KmerFeatures(k=3)


def test_another_fit_without_features_forgets_them():
    model = classifier().fit(STRINGS, LABELS)
    X = kmer_matrix(FEATURES, STRINGS)
    assert model.set_params(features=None).fit(sp.csr_array(X), LABELS).predict(X).shape == (60,)
    assert not hasattr(model, "features_")


@pytest.mark.thorough
def test_held_out_folds_of_a_measure():
    model = MeasureClassifier("f1", features=FEATURES, random_state=0, cv=2).fit(STRINGS, LABELS)
    assert model.score(STRINGS, LABELS) > 0.5


def test_texts_learn_their_idf_from_the_training_texts_alone():
    learned, _ = HashedTextFeatures(2**8, tfidf=True).learned(TEXTS)
    counts = HashingVectorizer(n_features=2**8, norm=None)
    theirs = TfidfTransformer().fit(counts.transform(TEXTS))
    np.testing.assert_allclose(learned.idf, theirs.idf_, rtol=1e-15)
    new = ["bad bad film", "unknown words", ""]
    ours = learned.design(new).sparse().toarray()
    np.testing.assert_allclose(ours, theirs.transform(counts.transform(new)).toarray(), atol=1e-15)


class OwnFeatures(Features):
    def design(self, X):
        return FEATURES.design([string[::-1] for string in X])


MODELS = [
    (classifier(), STRINGS, LABELS),
    (LinearClassifier(features=HashedTextFeatures(2**8, tfidf=True), random_state=0), TEXTS, np.arange(30) % 5 % 2),
    (LinearRegressor(features=PolynomialFeatures(hash_bits=6)), RNG.standard_normal((20, 3)), RNG.standard_normal(20)),
]


@pytest.mark.parametrize(("model", "X", "y"), MODELS, ids=["kmers", "texts", "polynomials"])
def test_a_model_file_stores_the_specification(model, X, y, tmp_path):
    model = clone(model).fit(X, y)
    save_model(tmp_path / "model.npz", model)
    with np.load(tmp_path / "model.npz", allow_pickle=False) as archive:
        about = json.loads(str(archive["about"]))
        assert about["parameters"]["features"]["kind"] == type(model.features).__name__
    again = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificate_.gap == model.certificate_.gap


def test_damaged_specifications_are_refused(tmp_path):
    save_model(tmp_path / "model.npz", classifier().fit(STRINGS, LABELS))
    with np.load(tmp_path / "model.npz", allow_pickle=False) as archive:
        arrays = dict(archive)
    about = json.loads(str(arrays.pop("about")))
    for features in ({"kind": "NoFeatures"}, {"kind": "KmerFeatures", "size": 3}, {}):
        about["parameters"]["features"] = features
        np.savez(tmp_path / "damaged.npz", about=np.array(json.dumps(about)), **arrays)
        with pytest.raises(FenchelError, match="damaged"):
            load_model(tmp_path / "damaged.npz")


def test_what_is_refused(tmp_path):
    with pytest.raises(FenchelError, match="features must be None or Features"):
        LinearClassifier(features="kmers").fit(STRINGS, LABELS)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        classifier().fit(STRINGS[:3], LABELS)
    with pytest.raises(FenchelError, match="must be a sequence of strings"):
        classifier().fit(np.eye(2), [0, 1])
    with pytest.raises(NotFittedError):
        classifier().predict(STRINGS)
    model = LinearClassifier(features=OwnFeatures()).fit(STRINGS, LABELS)
    assert model.predict(STRINGS).shape == (60,)
    with pytest.raises(FenchelError, match="your own"):
        save_model(tmp_path / "model.npz", model)
    with pytest.raises(FenchelError, match="can't hold a KernelClassifier"):
        save_model(tmp_path / "model.npz", KernelClassifier())


@pytest.mark.parametrize(
    ("features", "name"),
    [
        *(
            (partial(KmerFeatures, **{name: value}), name)
            for name, value in [
                *(("k", 2**31), ("k", 10**30), ("windows", 3), ("windows", [1, 2]), ("windows", ["AA"])),
                *(("windows", np.zeros(3)), ("alphabet", 4), ("alphabet", b"AC"), ("alphabet", ["A", "C"])),
                *(("weighting", np.zeros(2)), ("weighting", "degre")),
            ]
        ),
        *(
            (partial(HashedTextFeatures, **{name: value}), name)
            for name, value in [
                *(("analyzer", "wrod"), ("analyzer", str.split), ("ngram_range", 2), ("ngram_range", (2, 1))),
                *(("ngram_range", ("a", "b")), ("ngram_range", (1, 2, 3)), ("strip_accents", True)),
                *(("stop_words", "german"), ("stop_words", 5), ("token_pattern", None), ("token_pattern", "(")),
                *(("token_pattern", "(a)(b)"), ("lowercase", np.zeros(2)), ("binary", None), ("norm", np.zeros(2))),
            ]
        ),
        (partial(HashedTextFeatures, tfidf=True, idf=["a"]), "idf"),
    ],
)
def test_wrong_arguments_are_refused_by_name(features, name):
    with pytest.raises(FenchelError, match=rf"^{name}\b"):
        features().design(["ACGT", "good words"])


def test_numbers_of_numpy_are_numbers():
    features = KmerFeatures(k=np.int64(2), positions=np.int64(2), windows=[np.array([0, 3])])
    assert features.design(["ACGT"]).shape == (1, 48)
