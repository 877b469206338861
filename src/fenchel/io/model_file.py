"""Model files of the command line: arrays and plain text in a NumPy archive, nothing that could run code."""

from __future__ import annotations

import json
import sys
import zipfile
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

import fenchel
from fenchel.archive_damage import DAMAGES
from fenchel.arrays import Array
from fenchel.certificate import Certificate
from fenchel.errors import FenchelError
from fenchel.estimators import LinearClassifier, LinearRanker, LinearRegressor, MeasureClassifier, SequenceClassifier
from fenchel.features.base import features_of
from fenchel.io.encoding import Encoding
from fenchel.io.files import check_model
from fenchel.io.optimum_arrays import NOTHING_KNOWN, PREFIX, optimum_arrays, restored_optimum
from fenchel.io.readers import Layout
from fenchel.io.template import Template
from fenchel.losses import NAMED, Loss
from fenchel.replacing import replacing

#: what a model file can hold
KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (LinearClassifier, LinearRanker, LinearRegressor, MeasureClassifier, SequenceClassifier)
}
#: those whose witnesses may have a decomposition, and those without classes
_DECOMPOSED, _UNCLASSED = (
    {kind.__name__ for kind in kinds}
    for kinds in ((LinearRanker, MeasureClassifier, SequenceClassifier), (LinearRanker, LinearRegressor))
)
#: fitted attributes that are kept, where an estimator has them
_ARRAYS = (
    *("coef_", "intercept_", "classes_", "theta_", "thresholds_", "risk_intercept_", "positive_weights_"),
    *("transitions_", "start_", "end_"),
)
#: the decomposition of the k-th problem's witness, where it has one
_DECOMPOSITION = "decomposition_{}".format
#: of the arrays of features that are computed from raw data
_FEATURES = "features_"
_FORMAT = 2
#: bytes of an array from which a part of it, of this many bytes, says whether it is compressed: if that part shrinks to
#: this share
_LARGE, _SAMPLE, _WORTHWHILE = 1 << 20, 1 << 16, 0.5


@dataclass
class ModelFile:
    """A fitted estimator, and how its data were read."""

    estimator: Any
    #: of the features, if the data had a header or are sequences
    names: list[str] | None
    #: the column of the labels in a table
    label: str | int | None
    #: whether the features of its svmlight file were numbered from 0
    zero_based: bool
    #: the column of the queries of a ranking in a table
    query_column: str | int | None = None
    #: the features of the tokens of sequences, and the number of columns of their file with that of the labels
    template: str | None = None
    columns: int | None = None
    #: how the columns of a table became features
    encoding: Encoding | None = None

    @property
    def ranks(self) -> bool:
        """Whether the model is a ranking."""
        return isinstance(self.estimator, LinearRanker)

    def layout(self, label: str | None = None, header: bool | None = None, qid: str | None = None) -> Layout:
        """How a file is read for this model, by what the user says of it."""
        own, queries = (None if one is None else str(one) for one in (self.label, self.query_column))
        names = self.names if self.encoding is None else self.encoding.names
        features = self.estimator.n_features_in_
        return Layout(label, header, features, names, self.zero_based, self.ranks, qid, own, queries, self.encoding)


def save(path: Path, model: ModelFile) -> None:
    """Write a model file; an interrupted write leaves no half of one."""
    if not path.resolve().parent.is_dir():
        raise FenchelError(f"{path}: the folder {str(path.parent)!r} does not exist; create it first")
    with replacing(path) as stream:
        write(stream, model)


def write(stream: IO[bytes], model: ModelFile) -> None:
    """Write what a model file holds."""
    estimator = model.estimator
    if "theta_" not in vars(estimator):
        raise FenchelError("the model has no theta_, which a model file keeps: fit it again, or pickle the estimator")
    arrays = {name: _dense(getattr(estimator, name)) for name in _ARRAYS if hasattr(estimator, name)}
    if getattr(estimator, "surrogate_", "bound") == "bound":
        # NaN for every problem
        arrays.pop("positive_weights_", None)
    for k, decomposition in enumerate(getattr(estimator, "decompositions_", ())):
        if decomposition is not None:
            arrays[_DECOMPOSITION(k)] = decomposition
    # a file of the training, of no meaning for what reads the model
    parameters = {name: value for name, value in estimator.get_params(deep=False).items() if name != "checkpoint"}
    if isinstance(parameters.get("loss"), Loss):
        parameters["loss"] = {"name": parameters["loss"].name, **asdict(parameters["loss"])}
    if parameters.get("features") is not None:
        parameters["features"] = estimator.features_.specification()
        arrays.update({_FEATURES + name: array for name, array in estimator.features_.arrays().items()})
    proved, unproved = optimum_arrays(estimator)
    about = {
        "format": _FORMAT,
        "version": fenchel.__version__,
        "kind": type(estimator).__name__,
        "parameters": parameters,
        "features": int(estimator.n_features_in_),
        "multi_class": getattr(estimator, "multi_class_", None),
        "certificates": [vars(certificate) for certificate in estimator.certificates_],
        "converged": bool(estimator.converged_),
        "unproved": unproved,
        "names": model.names,
        "label": model.label,
        "zero_based": model.zero_based,
        "query_column": model.query_column,
        "template": model.template,
        "columns": model.columns,
        "encoding": None if model.encoding is None else model.encoding.as_json(),
    }
    members = {"about": np.array(json.dumps(about)), **arrays, **proved}
    # NumPy's own function compresses at level 6, which takes three times as long and gains a few percent on weights
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in members.items():
            archive.compression = zipfile.ZIP_DEFLATED if _shrinks(array) else zipfile.ZIP_STORED
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _shrinks(array: Array) -> bool:
    """Whether compression is worth its time, by a part of a large array: the digits of most dual variables are not."""
    if array.nbytes < _LARGE:
        return True
    begin = array.size // 2
    part = np.ravel(array)[begin : begin + max(1, _SAMPLE // array.itemsize)].tobytes()
    return len(zlib.compress(part, 1)) < _WORTHWHILE * len(part)


def _dense(array: Any) -> Array:
    """As an array; the dual variables of pairs of classes are a sparse one."""
    return array.toarray() if sp.issparse(array) else np.asarray(array)


def load(path: Path) -> ModelFile:
    """Read a model file."""
    check_model(path)
    try:
        # a damaged archive is closed too
        with path.open("rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            about = json.loads(str(archive["about"]))
            held = {name: archive[name] for name in archive if name != "about"}
        names = {*_ARRAYS, *map(_DECOMPOSITION, range(len(about["certificates"])))}
        arrays = {name: array for name, array in held.items() if name in names}
        proved = {name: array for name, array in held.items() if name.startswith(PREFIX)}
        learned = {name: array for name, array in held.items() if name.startswith(_FEATURES)}
        unknown = set(held) - set(arrays) - set(proved) - set(learned)
        if unknown:
            raise FenchelError(f"{path}: holds {min(unknown)!r}, which no model has: the file is damaged")
        if about["parameters"].get("features") is not None:
            _check_finite(learned)
            found = {name.removeprefix(_FEATURES): array for name, array in learned.items()}
            about["parameters"]["features"] = features_of(about["parameters"]["features"], found)
        return _restored(path, about, arrays, proved)
    except FenchelError:
        raise
    except DAMAGES as error:
        # NumPy recommends to load the objects, which would run their code
        why = "it holds Python objects, which are never loaded" if "allow_pickle" in str(error) else error
        raise FenchelError(f"{path}: is not a model that `fenchel train` wrote, or is damaged: {why}") from error


def _restored(path: Path, about: dict[str, Any], arrays: dict[str, Array], proved: dict[str, Array]) -> ModelFile:
    """The model of what a file holds."""
    if about["format"] != _FORMAT or about["kind"] not in KINDS:
        raise FenchelError(
            f"{path}: has format {about['format']} of fenchel {about['version']}; fenchel {fenchel.__version__} reads "
            f"format {_FORMAT}: train the model again"
        )
    chain = about["kind"] == SequenceClassifier.__name__
    if chain:
        _check_chain(arrays, about)
    else:
        _check_arrays(arrays, about["features"], has_classes=about["kind"] not in _UNCLASSED)
    if isinstance(about["parameters"].get("loss"), dict):
        loss = dict(about["parameters"]["loss"])
        about["parameters"]["loss"] = NAMED[loss.pop("name")](**loss)
    estimator: Any = KINDS[about["kind"]](**about["parameters"])
    for name in _ARRAYS:
        if name in arrays:
            setattr(estimator, name, arrays[name] if arrays[name].ndim else float(arrays[name]))
    if about["parameters"].get("features") is not None:
        estimator.features_ = estimator.features
    if about["kind"] in _DECOMPOSED:
        estimator.decompositions_ = [arrays.get(_DECOMPOSITION(k)) for k in range(len(about["certificates"]))]
        estimator.surrogate_ = "plug_in" if "positive_weights_" in arrays else "bound"
    if chain:
        # the features of tokens have names in the file alone, and none is that of a pair
        estimator.vectorizer_ = None
        estimator.edge_transitions_ = np.zeros((0, *arrays["transitions_"].shape))
    if about["kind"] == MeasureClassifier.__name__ and len(estimator.classes_) == 2:
        estimator.pos_label_ = estimator.classes_[1] if estimator.pos_label is None else estimator.pos_label
    estimator.n_features_in_ = about["features"]
    if about["multi_class"] is not None:
        estimator.multi_class_ = about["multi_class"]
    estimator.certificates_ = [Certificate(**values) for values in about["certificates"]]
    estimator.certificate_ = sum(estimator.certificates_[1:], start=estimator.certificates_[0])
    estimator.converged_ = about["converged"]
    classes = getattr(estimator, "classes_", None)
    estimator._optimum = restored_optimum(
        proved, about.get("unproved", NOTHING_KNOWN), estimator.certificates_, classes, about["features"]
    )
    encoding = None if about.get("encoding") is None else Encoding.from_json(about["encoding"])
    if encoding is not None and encoding.width != about["features"]:
        raise ValueError("the encoding of the columns and the number of features differ")
    layout = about["names"], about["label"], about["zero_based"], about.get("query_column")
    found = ModelFile(estimator, *layout, encoding=encoding)
    if chain:
        found.template, found.columns = about["template"], about["columns"]
    return found


def _check_arrays(arrays: dict[str, Array], features: int, *, has_classes: bool) -> None:
    """Raise unless the arrays are numbers, and their shapes belong together."""
    _check_finite(arrays)
    coef, theta = arrays["coef_"], arrays["theta_"]
    outputs = coef.shape[:-1]
    if coef.ndim not in (1, 2) or coef.shape[-1:] != (features,) or np.shape(arrays["intercept_"]) != outputs:
        raise ValueError("the weights, the intercepts and the number of features differ")
    if theta.ndim not in (1, 2) or not theta.size:
        raise ValueError("there are no dual variables")
    if has_classes:
        _check_classes(arrays["classes_"], outputs, least_outputs=1)


def _check_chain(arrays: dict[str, Array], about: dict[str, Any]) -> None:
    """Raise unless the arrays of a linear chain, its names and its template belong together."""
    _check_finite(arrays)
    coef, m = arrays["coef_"], len(arrays["classes_"])
    _check_classes(arrays["classes_"], coef.shape[:1], least_outputs=m)
    shapes = [arrays[name].shape for name in ("coef_", "transitions_", "start_", "end_")]
    if shapes != [(m, about["features"]), (m, m), (m,), (m,)]:
        raise ValueError("the weights, the transitions and the number of features differ")
    theta = arrays["theta_"]
    if theta.ndim != 1 or len(theta) % m or len(theta) < (m + 3) * m:
        raise ValueError("the dual variables are not those of tokens and labels")
    names, columns = about["names"], about["columns"]
    if not isinstance(names, list) or len(set(names)) != about["features"] or len(names) != about["features"]:
        raise ValueError("the names and the number of features differ")
    if not all(isinstance(name, str) for name in (*names, about["template"])) or not isinstance(columns, int):
        raise ValueError("the template is damaged")
    if about["parameters"].get("edge_features") is not None:
        raise ValueError("features of pairs of tokens have no weights in a model file")
    if about["parameters"].get("kernel") is not None:
        raise ValueError("a kernel of tokens has no coefficients in a model file")
    try:
        Template(about["template"], columns - 1)
    except FenchelError as error:
        raise ValueError(str(error)) from error


def _check_finite(arrays: dict[str, Array]) -> None:
    for name, array in arrays.items():
        if name != "classes_" and (array.dtype.kind not in "fiu" or not np.all(np.isfinite(array))):
            raise ValueError(f"{name} does not hold finite numbers")


def _check_classes(classes: Array, outputs: tuple[int, ...], *, least_outputs: int) -> None:
    """Raise unless there are weights for each class, or only ``least_outputs``."""
    allowed = (len(classes),), (least_outputs,)
    if classes.ndim != 1 or classes.dtype.kind == "O" or outputs not in allowed or len(classes) < 2:
        raise ValueError("the classes and the weights differ in number")
    if classes.dtype.kind == "U" and not _is_text(classes):
        raise ValueError("the classes are not text")


def _is_text(names: Array) -> bool:
    """Whether all numbers in an array of text are characters: others raise when they are printed."""
    codes = np.ascontiguousarray(names.astype(names.dtype.newbyteorder("="))).view(np.uint32)
    return not np.any((codes > sys.maxunicode) | ((codes >= 0xD800) & (codes <= 0xDFFF)))
