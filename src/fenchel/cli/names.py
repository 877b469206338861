"""The names that options know, written down so that ``--help`` and errors import nothing; a test compares them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from fenchel.errors import FenchelError

#: losses by their task, each with the names of its parameters
CLASSIFICATION: dict[str, tuple[str, ...]] = {
    "logistic": (),
    "hinge": ("power",),
    "huber_hinge": ("width",),
    "squared_hinge": (),
    "exponential": (),
    "hard_margin": (),
    "negative_log": (),
}
REGRESSION: dict[str, tuple[str, ...]] = {
    "epsilon_insensitive": ("epsilon", "power"),
    "squared_epsilon_insensitive": ("epsilon",),
    "absolute": (),
    "quantile": ("quantile",),
    "huber": ("width",),
    "squared": (),
    "poisson": (),
    "interpolation": ("tolerance",),
}
RANKING: dict[str, tuple[str, ...]] = {
    "pairwise_hinge": (),
    "pairwise_squared_hinge": (),
    "pairwise_logistic": (),
    "ndcg": ("k",),
}
LOSSES = {**CLASSIFICATION, **REGRESSION, **RANKING}
MEASURES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("prbep", "accuracy", "f1"), ()),
    "fbeta": ("beta",),
    **dict.fromkeys(("ae", "kld", "nkld", "q", "rae", "roc_auc"), ()),
    "precision_at_k": ("k",),
    "recall_at_k": ("k",),
}
REGULARIZERS = ("elastic_net", "entropy", "l1", "l2", "q_norm", "unnormalized_entropy")
MULTICLASS = ("auto", "ovr", "ovo", "crammer_singer", "weston_watkins", "multinomial")
SOLVERS = (
    *("auto", "dual_coordinate", "augmented_lagrangian", "newton", "block_coordinate", "label_blocks"),
    *("interior_point", "newton_cg", "prox_newton", "proximal_gradient", "linear_program", "frank_wolfe"),
    *("exponentiated_gradient", "smoothing"),
    *("agm", "bundle", "pegasos", "pragam", "bregman", "dual_conjugate_gradient", "barrier", "basis_pursuit"),
)
IMPUTATIONS = ("median", "mean", "most-frequent")
FORMATS = ("svmlight", "csv", "tsv", "parquet", "conll")


class Chosen(NamedTuple):
    """A name with parameters, as in ``quantile:0.9``."""

    name: str
    values: tuple[float, ...]

    def __str__(self) -> str:
        """As the user wrote it."""
        return self.name + (":" if self.values else "") + ",".join(f"{value:g}" for value in self.values)


def chosen(option: str, text: str, known: Mapping[str, tuple[str, ...]]) -> Chosen:
    """The name and the parameters of an option; raise for unknown ones."""
    name, colon, rest = text.partition(":")
    if name not in known:
        from fenchel.validation import did_you_mean

        near = did_you_mean(name, known)
        raise FenchelError(f"--{option}: {option}={name!r} is unknown{near}; choose one of {', '.join(known)}")
    parameters = known[name]
    if not colon:
        return Chosen(name, ())
    if not parameters:
        raise FenchelError(f"--{option}: {name} has no parameter, got {text!r}; omit what follows the colon")
    values = [_number(option, text, one) for one in rest.split(",")]
    if len(values) > len(parameters):
        raise FenchelError(f"--{option}: {name} has the parameter{'s' * (len(parameters) > 1)} "
                           f"{', '.join(parameters)}, got {text!r}")  # fmt: skip
    return Chosen(name, tuple(values))


def _number(option: str, text: str, part: str) -> float:
    try:
        found = float(part)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise FenchelError(f"--{option}: {part!r} in {text!r} is not a number; write it as quantile:0.9")
    return found


def numbers(option: str, text: str) -> list[float]:
    """Numbers with commas between them."""
    return [_number(option, text, one) for one in text.split(",")]


def check_one_of(option: str, name: str, known: tuple[str, ...]) -> None:
    """Raise unless this is a known name."""
    if name not in known:
        from fenchel.validation import did_you_mean

        near = did_you_mean(name, known)
        raise FenchelError(f"--{option.replace('_', '-')}: {name!r} is unknown{near}; choose one of {', '.join(known)}")
