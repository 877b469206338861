"""Fitted estimators in model files, for Python; the command line reads and writes the same files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from fenchel.errors import FenchelError
from fenchel.estimators import SequenceClassifier
from fenchel.io.model_file import KINDS, ModelFile, load, save

#: what to do with arguments that are not estimators of Fenchel, by their type
_WITHOUT_FILE = {
    **dict.fromkeys(("str", "PosixPath", "WindowsPath"), "the path comes first: save_model(path, estimator)"),
    "Pipeline": "save its last step, pipeline[-1], or pickle the whole, as with joblib.dump(pipeline, path)",
    "SequenceClassifier": "pickle it, or train it with `fenchel train`",
}


def save_model(path: Path | str, estimator: Any) -> None:
    """Write a fitted estimator to a model file: arrays and plain text, nothing that could run code.

    Parameters
    ----------
    path : path
        The file; one that exists is replaced as a whole.
    estimator : LinearClassifier, LinearRegressor, LinearRanker or MeasureClassifier
        The fitted estimator.  Its parameters must be numbers and text, and its ``features`` those that ship.

    See Also
    --------
    load_model : Read it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fenchel import LinearClassifier
    >>> from fenchel.features import KmerFeatures
    >>> from fenchel.io import load_model, save_model
    >>> model = LinearClassifier(features=KmerFeatures(k=2)).fit(["ACAC", "GTGT"], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(Path(folder) / "model.npz", model)
    ...     load_model(Path(folder) / "model.npz").predict(["GTGTGT"])
    array([1])
    """
    if type(estimator).__name__ not in KINDS or isinstance(estimator, SequenceClassifier):
        advice = _WITHOUT_FILE.get(type(estimator).__name__, "pickle it, as with joblib.dump(estimator, path)")
        raise FenchelError(f"estimator: a model file can't hold a {type(estimator).__name__}; {advice}")
    check_is_fitted(estimator)
    try:
        save(Path(path), ModelFile(estimator, None, None, zero_based=False))
    except TypeError as error:
        raise FenchelError(f"estimator: its parameters can't be stored: {error}; use names and numbers") from error


def load_model(path: Path | str) -> Any:
    """Read the fitted estimator of a model file, of ``save_model`` or of ``fenchel train``.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    estimator
        The estimator, with its certificates.

    See Also
    --------
    save_model : Write a model file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fenchel import LinearRegressor
    >>> from fenchel.io import load_model, save_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(Path(folder) / "model.npz", LinearRegressor().fit([[0.0], [1.0]], [0.0, 1.0]))
    ...     load_model(Path(folder) / "model.npz").predict([[0.5]])
    array([0.5])
    """
    return load(Path(path)).estimator
