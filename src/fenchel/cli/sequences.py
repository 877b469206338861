"""The commands for files of labelled sequences: a token in each line, blank lines between sequences."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenchel.cli.output import PROVED, save_model, say, tell, write
from fenchel.errors import FenchelError
from fenchel.io.kinds import CONLL, kind_of

if TYPE_CHECKING:
    from fenchel.certificate import Certificate
    from fenchel.io.columns import ColumnFile
    from fenchel.io.model_file import ModelFile

#: options that have no meaning for sequences, and their defaults
_OTHERS: dict[str, Any] = {
    **dict.fromkeys(("measure", "positive", "k", "regularizer", "class_weight", "label", "header", "qid")),
    **dict.fromkeys(("impute", "delimiter", "beta")),
    **dict.fromkeys(("scores", "proved", "decimal_comma"), False),
    **dict.fromkeys(("multi_class", "surrogate"), "auto"),
    "gain": "exponential",
    "intercept": True,
    "l1_ratio": 0.0,
    "text": [],
    "drop": [],
}
#: options of ``train`` for sequences alone
_OWN = ("template", "transitions")


def asked_for(options: Namespace) -> bool:
    """Whether the training file has sequences, by its name or by what the user says."""
    if options.sequences or kind_of(options.data, options.format) == CONLL:
        return True
    for name in _OWN:
        if getattr(options, name) is not None:
            raise FenchelError(f"--{name} is for labelled sequences: name the file *.conll, or add --sequences")
    return False


def train(options: Namespace, output: Path) -> int:
    """Train a model on a file of labelled sequences; the exit status."""
    from fenchel.cli.fits import configured, fit, report
    from fenchel.estimators import SequenceClassifier
    from fenchel.io.columns import read_columns
    from fenchel.io.model_file import ModelFile
    from fenchel.io.template import Template, default_template, indicators

    _check_options(options)
    options.loss, options.transitions = options.loss or "hinge", options.transitions or "full"
    estimator = configured(SequenceClassifier, options)
    text = None if options.template is None else _template_text(options.template)
    data = read_columns(options.data)
    template = Template(default_template(data.width - 1) if text is None else text, data.width - 1)
    if text is not None and template.pairs and options.transitions == "none":
        raise FenchelError("--transitions none contradicts the line B of the template; remove one of them")
    index: dict[str, int] = {}
    X = indicators(template.features(data.tokens, data.lengths), index, grow=True)
    interrupted = fit(estimator, X, data.labels, lengths=data.lengths)
    save_model(ModelFile(estimator, list(index), None, False, template=template.text, columns=data.width), output)
    name = options.names.get(str(options.data), options.data.name)
    tell(f"{name}: {_size(data)}, {X.shape[1]:,} features, {len(estimator.classes_):,} labels", output)
    return report(estimator, output, interrupted=interrupted)


def predict(options: Namespace, model: ModelFile) -> int:
    """Predict the labels of the tokens of a file, a line each and a blank line between sequences."""
    from fenchel.io.template import indicators

    _check_options(options)
    estimator: Any = model.estimator
    if options.probabilities and estimator.loss != "logistic":
        raise FenchelError("--probabilities needs a model that was trained with --loss logistic")
    data, features = _read(options.data, model)
    X = indicators(features, _index(model), grow=False)
    predicted = estimator.predict(X, lengths=data.lengths)
    shown = predicted[:, None]
    if options.probabilities:
        shown = estimator.predict_marginals(X, lengths=data.lengths)
    write(_lines(shown.tolist(), data.lengths), options.output)
    if data.labels is not None:
        say(_how_good(data, predicted.tolist()))
    return PROVED


def evaluate(options: Namespace, model: ModelFile) -> tuple[int, dict[str, float]]:
    """The number of tokens of a file, and the scores of the predicted labels."""
    from fenchel.io.template import indicators

    _check_options(options)
    data, features = _read(options.data, model)
    if data.labels is None:
        raise FenchelError(f"{options.data}: has no column of labels to compare with")
    X = indicators(features, _index(model), grow=False)
    return len(data.labels), _scores(data, model.estimator.predict(X, lengths=data.lengths).tolist())


def prove_again(options: Namespace, model: ModelFile) -> Certificate:
    """The certificate of a model on the file that it was trained on."""
    from fenchel.cli.fits import prove_again
    from fenchel.io.template import indicators

    _check_options(options)
    data, features = _read(options.data, model)
    if data.labels is None:
        raise FenchelError(
            f"{options.data}: has no column of labels, and a certificate needs those that the model was trained on"
        )
    classes = model.estimator.classes_.tolist()
    known = set(classes)
    for label, line in zip(data.labels, data.lines, strict=True):
        if label not in known:
            names = ", ".join(classes[:10]) + (", …" if len(classes) > 10 else "")
            raise FenchelError(
                f"{options.data}: line {line}: the label {label} is not among the labels of the model: {names}"
            )
    trained = len(model.estimator.theta_) // len(classes) - len(classes) - 2
    if trained != len(data.labels):
        raise FenchelError(
            f"{options.data}: the model was trained on {trained} tokens and these are {len(data.labels)}: a "
            "certificate is about the training data; use `fenchel predict` for others"
        )
    index = _index(model)
    X = indicators(features, index, grow=True)
    if len(index) > model.estimator.n_features_in_:
        first = list(index)[model.estimator.n_features_in_]
        raise FenchelError(
            f"{options.data}: the model has no feature {first!r}: a certificate is about the training data"
        )
    return prove_again(model.estimator, X, data.labels, {"lengths": data.lengths}, rigorous=options.rigorous)


def _check_options(options: Namespace) -> None:
    """Raise for an option that sequences do not have."""
    given = vars(options)
    for name, default in _OTHERS.items():
        if given.get(name, default) != default:
            option = f"--{'no-' if default is True else ''}{name.replace('_', '-')}"
            raise FenchelError(f"{option} is not for labelled sequences; omit it")


def _template_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FenchelError(f"--template: {path} is not text in UTF-8: {error}") from error


def _read(path: Path, model: ModelFile) -> tuple[ColumnFile, Iterator[list[str]]]:
    """The tokens of a file for a model, and the names of their features."""
    from fenchel.io.columns import read_columns
    from fenchel.io.template import Template

    assert model.template is not None
    assert model.columns is not None
    data = read_columns(path, model.columns)
    return data, Template(model.template, model.columns - 1).features(data.tokens, data.lengths)


def _index(model: ModelFile) -> dict[str, int]:
    """The number of each feature of a model."""
    assert model.names is not None
    return {name: number for number, name in enumerate(model.names)}


def _split(values: Sequence[Any], lengths: Sequence[int]) -> Iterator[Sequence[Any]]:
    """The values of each sequence."""
    begin = 0
    for length in lengths:
        yield values[begin : begin + length]
        begin += length


def _lines(rows: Sequence[Sequence[Any]], lengths: Sequence[int]) -> Iterator[str]:
    for q, own in enumerate(_split(rows, lengths)):
        if q:
            yield ""
        yield from (" ".join(map(str, row)) for row in own)


def _size(data: ColumnFile) -> str:
    tokens, sequences = len(data.tokens), len(data.lengths)
    return f"{tokens:,} token{'s' * (tokens != 1)} in {sequences:,} sequence{'s' * (sequences != 1)}"


def _scores(data: ColumnFile, predicted: list[str]) -> dict[str, float]:
    """The share of right labels, and F1 of phrases if the labels are those of phrases."""
    from fenchel.metrics import phrase_f1_score

    assert data.labels is not None
    right = [label == one for label, one in zip(data.labels, predicted, strict=True)]
    found = {"accuracy": sum(right) / len(right)}
    if all(label == "O" or label.startswith(("B-", "I-")) for label in (*data.labels, *predicted)):
        parts = [list(_split(labels, data.lengths)) for labels in (data.labels, predicted)]
        found["phrase F1"] = float(phrase_f1_score(*parts))
    return found


def _how_good(data: ColumnFile, predicted: list[str]) -> str:
    """What was predicted against the labels of the file."""
    found = _scores(data, predicted)
    said = f"{_size(data)}: {100 * found.pop('accuracy'):.2f}% right"
    return said + "".join(f"; {name} {value:.4f}" for name, value in found.items())
