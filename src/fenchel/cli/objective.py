"""What the options ask to be minimized: the estimator, its loss or measure and their parameters."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from fenchel.cli.names import (
    LOSSES,
    MEASURES,
    MULTICLASS,
    RANKING,
    REGRESSION,
    REGULARIZERS,
    SOLVERS,
    Chosen,
    check_one_of,
    chosen,
)
from fenchel.errors import FenchelError


def settle(options: Namespace) -> None:
    """Check the names in the options and set what they stand for; this imports nothing but for an error."""
    if options.positive is not None and options.measure is None:
        raise FenchelError("--positive is for --measure: a loss treats both labels alike")
    if options.measure is not None and options.loss is not None:
        raise FenchelError("--loss and --measure both choose the objective; set only one")
    for option, known in (("solver", SOLVERS), ("multi_class", MULTICLASS), ("regularizer", REGULARIZERS)):
        name = getattr(options, option)
        if name is not None:
            check_one_of(option, name, known)
    if options.measure is not None:
        found = chosen("measure", options.measure, MEASURES)
        options.measure = found.name
        _set_parameters(options, found, MEASURES)
    else:
        found = chosen("loss", options.loss or "hinge", LOSSES)
        if found.name in RANKING:
            options.loss = found.name
            _set_parameters(options, found, RANKING)
        else:
            options.loss = found
    if options.qid is not None and not is_ranking(options):
        raise FenchelError(f"--qid is for rankings: choose --loss {', '.join(RANKING)}")


def _set_parameters(options: Namespace, found: Chosen, known: dict[str, tuple[str, ...]]) -> None:
    """Set the options that a measure's or a ranking's parameters have."""
    for name, value in zip(known[found.name], found.values, strict=False):
        if getattr(options, name) is not None:
            raise FenchelError(f"--{name} and {found} both set {name}; set only one")
        if name == "k" and value != int(value):
            raise FenchelError(f"{found}: k must be a whole number")
        setattr(options, name, int(value) if name == "k" else value)


def is_ranking(options: Namespace) -> bool:
    """Whether the loss is one of rankings."""
    return options.loss in RANKING


def is_regression(options: Namespace) -> bool:
    """Whether numbers are predicted."""
    return isinstance(options.loss, Chosen) and options.loss.name in REGRESSION


def loss_of(found: Chosen) -> Any:
    """The name of a loss, or the loss with its parameters."""
    from fenchel.losses import NAMED

    return NAMED[found.name](*found.values) if found.values else found.name


def kind_of_estimator(options: Namespace) -> Any:
    """The class of estimators that the options ask for."""
    from fenchel.estimators import LinearClassifier, LinearRanker, LinearRegressor, MeasureClassifier

    if options.measure is not None:
        return MeasureClassifier
    if is_ranking(options):
        return LinearRanker
    return LinearRegressor if is_regression(options) else LinearClassifier


def estimator_of(options: Namespace, kind: Any = None) -> Any:
    """The estimator that the options ask for; of another class with the same parameters if one is given."""
    from fenchel.cli.fits import configured

    kind = kind or kind_of_estimator(options)
    if isinstance(options.loss, Chosen):
        options = Namespace(**{**vars(options), "loss": loss_of(options.loss)})
    return configured(kind, options)


def label_of(text: str, y: Any) -> Any:
    """The label that is written like this."""
    import numpy as np

    labels = np.unique(y).tolist()
    found = [label for label in labels if str(label) == text]
    if not found:
        raise FenchelError(f"--positive must be one of the labels {', '.join(map(str, labels[:10]))}; got {text}")
    return found[0]
