"""Libraries that take scikit-learn estimators take ours; a test of a library that is not installed is skipped."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fenchel import LinearClassifier, LinearRegressor, LogisticRegression, MeasureClassifier
from fenchel.interop.skops import trusted_types

X, Y = make_classification(200, 6, weights=[0.8], random_state=0)


@pytest.fixture
def their_warnings():
    """Deprecations inside of other libraries are theirs to mend."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_shap_explains_linear_models(their_warnings):
    shap = pytest.importorskip("shap", reason="shap is not installed")
    for model in (
        LinearClassifier("logistic", random_state=0).fit(X, Y),
        LinearRegressor("huber", random_state=0).fit(X, Y),
        LogisticRegression().fit(X, Y),
        MeasureClassifier("roc_auc", random_state=0).fit(X, Y),
    ):
        values = shap.LinearExplainer(model, X[:100])(X)
        coef, intercept = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
        # of independent features: w_j (x_j - mean x_j) over the background rows, and the score of their mean
        np.testing.assert_allclose(values.values, coef * (X - X[:100].mean(axis=0)), atol=1e-8)
        np.testing.assert_allclose(values.values.sum(axis=1) + values.base_values, X @ coef + intercept, atol=1e-8)


def test_eli5_explains_the_stock_estimator(their_warnings):
    try:
        import eli5
    except ImportError as error:
        pytest.skip(f"eli5 is not installed or does not know this scikit-learn: {error}")
    model = LinearClassifier("logistic", random_state=0).fit(X, Y)
    weights = eli5.explain_weights(model.to_sklearn()).targets[0].feature_weights
    found = {one.feature: one.weight for one in [*weights.pos, *weights.neg]}
    assert found["<BIAS>"] == pytest.approx(model.intercept_[0])
    assert all(found[f"x{k}"] == pytest.approx(weight) for k, weight in enumerate(model.coef_[0]))


def test_optuna_searches_its_parameters(their_warnings):
    optuna = pytest.importorskip("optuna", reason="optuna is not installed")
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial):
        model = LinearClassifier(C=trial.suggest_float("C", 1e-3, 1e2, log=True), random_state=0)
        return cross_val_score(model, X, Y, cv=3, scoring="f1").mean()

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=4)
    assert study.best_value == max(trial.value for trial in study.trials)
    assert study.best_value > 0.5


def test_imbalanced_learn_resamples_before_a_fit(their_warnings):
    pytest.importorskip("imblearn", reason="imbalanced-learn is not installed")
    from imblearn.ensemble import BalancedBaggingClassifier
    from imblearn.pipeline import make_pipeline as resampling_pipeline
    from imblearn.under_sampling import RandomUnderSampler

    model = resampling_pipeline(
        StandardScaler(), RandomUnderSampler(random_state=0), MeasureClassifier("f1", cv=3, random_state=0)
    ).fit(X, Y)
    kept = 2 * np.count_nonzero(Y)
    assert model[-1].theta_.shape[0] == kept < len(Y)
    assert model[-1].certificate_.relative_gap <= 1e-3
    bagged = BalancedBaggingClassifier(LinearClassifier(random_state=0), n_estimators=3, random_state=0).fit(X, Y)
    assert bagged.predict(X).shape == Y.shape


def test_dask_ml_predicts_on_chunks(their_warnings):
    wrappers = pytest.importorskip("dask_ml.wrappers", reason="dask-ml is not installed", exc_type=ImportError)
    array = pytest.importorskip("dask.array")
    model = wrappers.ParallelPostFit(LinearClassifier("logistic", random_state=0)).fit(X, Y)
    chunks = array.from_array(X, chunks=(50, 6))
    np.testing.assert_array_equal(model.predict(chunks).compute(scheduler="synchronous"), model.estimator.predict(X))
    np.testing.assert_allclose(
        model.predict_proba(chunks).compute(scheduler="synchronous"), model.estimator.predict_proba(X)
    )


@pytest.mark.parametrize("serialization", ["cloudpickle", "skops"])
def test_mlflow_stores_and_loads(serialization, tmp_path, their_warnings):
    mlflow = pytest.importorskip("mlflow.sklearn", reason="mlflow is not installed")
    if serialization == "skops":
        pytest.importorskip("skops", reason="skops is not installed")
        if "skops" not in getattr(mlflow, "SUPPORTED_SERIALIZATION_FORMATS", []):
            pytest.skip("this mlflow does not store skops files")
    model = make_pipeline(StandardScaler(), LinearClassifier("logistic", random_state=0))
    model.fit(*load_breast_cancer(return_X_y=True))
    options = {"skops_trusted_types": trusted_types()} if serialization == "skops" else {}
    mlflow.save_model(model, tmp_path / "model", serialization_format=serialization, **options)
    loaded = mlflow.load_model(str(tmp_path / "model"))
    data, _ = load_breast_cancer(return_X_y=True)
    np.testing.assert_array_equal(loaded.predict_proba(data), model.predict_proba(data))
    assert loaded[-1].dual_gap_ == model[-1].dual_gap_
