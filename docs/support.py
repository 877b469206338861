"""Writes docs/support.md: which solver takes which risk and regularizer.  A test keeps it current."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from fenchel.designs import ChainDesign
from fenchel.losses import NAMED
from fenchel.problem import Problem
from fenchel.regularizers import REGULARIZERS, FreeDirections, Regularizer
from fenchel.risks import (
    MEASURES,
    MULTICLASS,
    RANKINGS,
    ChainHinge,
    ChainLogistic,
    CustomMeasure,
    MeanRisk,
    MultilabelHinge,
    OrdinalHinge,
    Risk,
)
from fenchel.solvers import SOLVERS

PAGE = Path(__file__).with_name("support.md")
_HEAD = """# What supports what

Written by `make pages`. Every fit ends with a certificate. The solvers of a cell can be named; `auto` chooses
one of them. A solver that is missing from a cell refuses the problem with one of the reasons of the last section.

"""
_LOSSES = """## Losses

A mean of losses, `MeanRisk(loss, labels)`, as `LinearClassifier` and `LinearRegressor` fit it.

"""
_OBJECTS = """
Objects take parameters: `Hinge(power=p)` and `EpsilonInsensitive(epsilon, power=p)` are supported for every p >= 1 as
`squared_hinge` and `squared_epsilon_insensitive` are, except that `smoothing` and `agm` require p >= 2. A loss of
your own: [custom losses](custom-loss.md). On a Gram matrix (`KernelClassifier`, `KernelRegressor`) `dual_coordinate`
supports every loss of this table but `interpolation`, and `dual_conjugate_gradient` supports `squared`.
`QuadraticForm(K)` is supported by `dual_coordinate`, and with constraints by `barrier`: [maximum
entropy](maximum-entropy.md). `QNorm(q)` with q > 2 is also supported by `newton`, for up to 4000 features and the
losses that `newton` supports with ridge; `auto` chooses it, since dual coordinate descent converges slowly there.
`FreeDirections(C)` leaves directions of the weights unregularized: [free directions](free-directions.md). With another
`base` than ridge, of which the directions are features, `augmented_lagrangian` supports the losses that
`dual_coordinate` supports with that base; with a quadratic form all of them.

"""
_JOINT = """## Joint risks of several classes

`LinearClassifier(multi_class=...)`.

"""
_MEASURES = """
## Measures

`MeasureClassifier(measure=...)`; `custom` is `CustomMeasure`, any Delta(fn, fp). Where the conjugate has no closed form
(`f1`, `fbeta`, `precision_at_k`, `custom`), the witness holds the mixture of labellings that proves its bound.
`roc_auc` and `prbep` do not depend on an intercept: `Problem` refuses a free one, and the estimator chooses the
threshold afterwards.

"""
_ORDERS = """
## Ordered classes, and several labels for an example

`OrdinalClassifier` fits `OrdinalHinge(labels)`, which does not depend on an intercept.
`MultilabelHinge(labels)` is a risk for `solve`; `bundle` has its free intercepts, with ridge.

"""
_RANKINGS = """
## Rankings

`LinearRanker(loss=...)`: means over queries, which do not depend on an intercept. [ranking.md](ranking.md) says what is
minimized.

"""
_SEQUENCES = """
## Sequences

`ChainHinge(labels, lengths)` and `ChainLogistic(labels, lengths)` with `ChainDesign(X, m)`, as `SequenceClassifier`
fits them with the square: [sequences.md](sequences.md). All weights are regularized.

"""
_REASONS = """
## Why a solver is missing

"""


def table() -> str:
    """The page, from the registries and from what each solver answers."""
    reasons: dict[str, None] = {}
    free = FreeDirections.of_features([0], 2)
    parts = [_HEAD, _LOSSES, _rows("loss", _losses(), reasons, free), _OBJECTS, _JOINT]
    parts += [_rows("risk", _joint_risks(), reasons), _MEASURES, _rows("measure", _measures(), reasons)]
    parts += [_ORDERS, _rows("risk", _orders(), reasons), _RANKINGS, _rows("loss", _rankings(), reasons)]
    parts += [_SEQUENCES, _rows("risk", _chains(), reasons), _REASONS]
    return "".join([*parts, *(f"- {reason}\n" for reason in _collected(reasons))])


def _collected(reasons: Iterable[str]) -> list[str]:
    """The reasons, those that differ in their last quoted name alone as one."""
    names: dict[tuple[str, str], list[str]] = {}
    for reason in sorted(reasons):
        begin, name, end = re.fullmatch(r"(.*?)('\w+')?([^']*)", reason).groups()
        names.setdefault((begin, end), []).append(name or "")
    listed = {ends: " or ".join(filter(None, (", ".join(some[:-1]), some[-1]))) for ends, some in names.items()}
    return [begin + some + end for (begin, end), some in listed.items()]


def _losses() -> Iterator[tuple[str, Risk]]:
    for name, kind in NAMED.items():
        loss = kind()
        yield name, MeanRisk(loss, np.array([1.0, -1.0] if loss.refusal(np.array([-1.0])) is None else [1.0, 2.0]))


def _joint_risks() -> Iterator[tuple[str, Risk]]:
    for name, kind in MULTICLASS.items():
        yield name, kind(np.arange(3))


def _measures() -> Iterator[tuple[str, Risk]]:
    more = {"precision_at_k": (1,), "recall_at_k": (2,), "custom": (lambda fn, fp: (fn + 2 * fp) / 3,)}
    for name, kind in {**MEASURES, "custom": CustomMeasure}.items():
        yield name, kind(np.array([1.0, -1.0, -1.0]), *more.get(name, ()))


def _orders() -> Iterator[tuple[str, Risk]]:
    yield OrdinalHinge.name, OrdinalHinge(np.arange(3))
    yield MultilabelHinge.name, MultilabelHinge(np.eye(3))


def _rankings() -> Iterator[tuple[str, Risk]]:
    for name, kind in RANKINGS.items():
        yield name, kind(np.arange(3))


def _chains() -> Iterator[tuple[str, Risk]]:
    for kind in (ChainHinge, ChainLogistic):
        yield kind.name, kind([0, 1, 1], [2, 1])


def _rows(what: str, risks: Iterator[tuple[str, Risk]], reasons: dict[str, None], *more: Regularizer) -> str:
    """One table of the named regularizers and some more: risks that the same solvers take share a line."""
    known, lines = (
        list(risks),
        [f"| regularizer | {what} | without an intercept | with a free intercept |", "|---" * 4 + "|"],
    )
    for regularizer in (*(kind() for kind in REGULARIZERS.values()), *more):
        groups: dict[tuple[str, str], list[str]] = {}
        for name, risk in known:
            cells = tuple(_solvers(risk, regularizer, intercept, reasons) for intercept in (False, True))
            groups.setdefault(cells, []).append(f"`{name}`")
        lines += [
            f"| `{regularizer.name}` | {', '.join(names)} | {cells[0]} | {cells[1]} |"
            for cells, names in groups.items()
        ]
    return "\n".join(lines) + "\n"


def _solvers(risk: Risk, regularizer: Regularizer, intercept: bool, reasons: dict[str, None]) -> str:
    """The solvers that take this problem; what the others say is added to the reasons."""
    if intercept and risk.intercepts() is None:
        return "none" if risk.intercept_refusal != Risk.intercept_refusal else "not seen"
    design = np.eye(risk.examples) if risk.chains() is None else ChainDesign(np.eye(3), 2)
    problem = Problem(design, risk, 1.0, regularizer, intercept)
    answers = {name: solver().supports(problem) for name, solver in SOLVERS.items()}
    reasons.update(dict.fromkeys(answer for answer in answers.values() if answer is not None))
    return ", ".join(f"`{name}`" for name, answer in answers.items() if answer is None) or "none"


if __name__ == "__main__":
    PAGE.write_text(table(), encoding="utf-8")
