"""The parameters C, l1_ratio and regularizer of an estimator, as the lam and the regularizer of a Problem."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fenchel.arrays import Floats
from fenchel.errors import FenchelError
from fenchel.problem import Problem
from fenchel.regularizers import L1, L2, REGULARIZERS, ElasticNet, Regularizer
from fenchel.validation import as_float, check_number, did_you_mean, is_number

#: lam beyond this, or below its inverse, would not be rounded to a relative error of u
_LARGEST_LAM = 2.0**1020


def lam_of(C: Any, total_weight: float | Fraction) -> float:
    """``lam = 1 / (C * total_weight)``; the same formula turns lam back into C."""
    checked_positive(C)
    total = as_float(total_weight)
    product = float(C) * total
    lam = 1.0 / product if product > 0.0 else math.inf
    if not 1.0 / _LARGEST_LAM <= lam <= _LARGEST_LAM:
        raise FenchelError(
            f"C={C!r} is too extreme for the sum of the sample weights, {total:.3g}: divide sample_weight by its "
            "largest entry, or choose another C"
        )
    return lam


def with_exact_lam(problem: Problem, C: float) -> Problem:
    """The problem with lam = 1 / (C * total weight) exactly, where its lam is that number up to rounding."""
    exact = 1 / (Fraction(float(C)) * problem.risk.total_weight)
    if not math.isclose(exact, problem.lam, rel_tol=1e-12):
        return problem
    # a float for everything but rigorous certificates
    return replace(problem, lam=exact)  # type: ignore[arg-type]


def checked_positive(value: Any, name: str = "C") -> float:
    """The value as a float; raise unless it is positive and finite."""
    check_number(name, value, above=0.0)
    return float(value)


def checked_values(Cs: Any) -> Floats:
    """The values of C in a list or an array, each once and rising."""
    values = np.unique([checked_positive(C, "Cs") for C in np.ravel(np.asarray(Cs, dtype=object))])
    if not len(values):
        raise FenchelError("Cs must hold at least one value")
    return values


def elastic_net(l1_ratio: Any) -> Regularizer:
    """The regularizer of an estimator's ``l1_ratio``: 0 is ridge, 1 is the lasso, anything between a mixture."""
    if is_number(l1_ratio) and l1_ratio == 1:
        return L1()
    mixture = ElasticNet(l1_ratio)
    return mixture if l1_ratio else L2()


def as_regularizer(regularizer: str | Regularizer | None, l1_ratio: Any) -> Regularizer:
    """The regularizer that both parameters of an estimator ask for; only the elastic net takes ``l1_ratio``."""
    if regularizer is None:
        return elastic_net(l1_ratio)
    if isinstance(regularizer, str) and regularizer in REGULARIZERS:
        if regularizer == ElasticNet.name:
            return ElasticNet(l1_ratio) if l1_ratio else ElasticNet()
        regularizer = REGULARIZERS[regularizer]()
    if not isinstance(regularizer, Regularizer):
        near, names = did_you_mean(regularizer, REGULARIZERS), ", ".join(map(repr, REGULARIZERS))
        raise FenchelError(f"regularizer={regularizer!r} is unknown{near}; choose one of {names} or pass a Regularizer")
    if l1_ratio:
        raise FenchelError(
            f"l1_ratio={l1_ratio!r} and regularizer={regularizer.name!r} both choose the regularization; set only one"
        )
    return regularizer
