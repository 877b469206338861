r"""The losses of SVM-perf, and of its extension to quantification, as risks.

SVM-perf minimizes :math:`\tfrac12\|w\|^2 + C\xi` with the slack
:math:`\xi = \max_z \ell(z) + \tfrac{100}{2n}\sum_i s_i(z_i - y_i)`, where the loss :math:`\ell` is in percent.  This is
:math:`100\,C` times :math:`\tfrac{\lambda}{2}\|w\|^2 + R(s)` with :math:`\lambda = 1/(100\,C)` and
:math:`\Delta = \ell/100`, for every loss; for the error rate R is the mean hinge and C of LIBLINEAR is
:math:`100\,C/n`.  The zero/one loss is 1 and not 100 for a labelling with errors, and the Kullback-Leibler divergence
is not in percent: their :math:`\Delta` is a hundredth.

The losses 20 to 25 are those of the extension for quantification (Barranquero et al. 2015): with the number n of
predicted positives too many or too few, :math:`NAE = 1 - |fp - fn|/\max(n_+, n_-)`, and Q is the weighted harmonic mean
of NAE and recall, accuracy, F1 or the geometric mean GM of sensitivity and specificity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fenchel.arrays import Floats
from fenchel.frontends.refusal import Refusal
from fenchel.frontends.svmperf.options import LearnOptions, wrong
from fenchel.risks import (
    F1,
    AbsoluteError,
    BreakEven,
    CustomMeasure,
    ErrorRate,
    KullbackLeibler,
    NormalizedKullbackLeibler,
    PrecisionAtK,
    QMeasure,
    RecallAtK,
    RelativeAbsoluteError,
    Risk,
    RocAUC,
)

#: losses are in percent
PERCENT = 100.0


def risk_of(labels: Floats, options: LearnOptions) -> Risk:
    """The risk of a loss.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        The labels, -1 and +1.
    options : LearnOptions
        The number of the loss, and its parameters.

    Returns
    -------
    Risk
        The risk; an unknown number ends the program.
    """
    loss = options.loss
    named: dict[int, Callable[[Floats], Risk]] = {
        0: lambda y: CustomMeasure(y, _zero_one, linear=False),
        1: F1,
        2: ErrorRate,
        3: BreakEven,
        4: lambda y: PrecisionAtK(y, _k(y, options)),
        5: lambda y: RecallAtK(y, _k(y, options)),
        10: RocAUC,
        12: _kullback_leibler,
        13: NormalizedKullbackLeibler,
        20: lambda y: CustomMeasure(y, _gm_loss),
        21: lambda y: CustomMeasure(y, _nae_loss, linear=True),
        22: lambda y: QMeasure(y) if options.beta == 1.0 else _q(y, _recall, options.beta),
        23: lambda y: _q(y, _accuracy, options.beta),
        24: lambda y: _q(y, _f1, options.beta),
        25: lambda y: _q(y, _gm, options.beta),
        26: AbsoluteError,
        27: RelativeAbsoluteError,
    }
    if loss not in named:
        known = ", ".join(map(str, named))
        raise Refusal(1, f"ERROR: Unknown loss function '{loss}'; choose one of {known}")
    return named[loss](labels)


def _k(labels: Floats, options: LearnOptions) -> int:
    """k of precision and recall at k."""
    positives, fraction = int(np.sum(labels > 0)), options.fraction
    if options.loss == 4:
        fraction = fraction or 0.5
        if fraction > 1:
            raise wrong("ERROR: The value of option --p for Prec@k must not be larger than 1.0!")
    else:
        fraction = fraction or 2.0
        if fraction < 1:
            raise wrong("ERROR: The value of option --p for Rec@k must not be smaller than 1.0!")
    return min(max(1, int(positives * fraction)), len(labels))


def _kullback_leibler(labels: Floats) -> Risk:
    divergence = KullbackLeibler(labels)
    return CustomMeasure(labels, lambda fn, fp: divergence.delta(np.asarray(fn), np.asarray(fp)) / PERCENT, linear=True)


def _zero_one(fn: Any, fp: Any) -> Any:
    return np.where(np.asarray(fn) + fp > 0, 1.0 / PERCENT, 0.0)


def _nae(fn: Any, fp: Any, n_pos: int, n_neg: int) -> Any:
    return 1.0 - np.abs(np.asarray(fp) - fn) / max(n_pos, n_neg)


def _recall(fn: Any, fp: Any, n_pos: int, n_neg: int) -> Any:
    return 1.0 - np.asarray(fn) / n_pos


def _accuracy(fn: Any, fp: Any, n_pos: int, n_neg: int) -> Any:
    return 1.0 - (np.asarray(fn) + fp) / (n_pos + n_neg)


def _f1(fn: Any, fp: Any, n_pos: int, n_neg: int) -> Any:
    right = n_pos - np.asarray(fn)
    return 2.0 * right / (2.0 * right + fn + fp)


def _gm(fn: Any, fp: Any, n_pos: int, n_neg: int) -> Any:
    return np.sqrt((1.0 - np.asarray(fn) / n_pos) * (1.0 - np.asarray(fp) / n_neg))


def _gm_loss(fn: Any, fp: Any, n_pos: int, n_neg: int) -> Any:
    return 1.0 - _gm(fn, fp, n_pos, n_neg)


def _nae_loss(fn: Any, fp: Any, n_pos: int, n_neg: int) -> Any:
    return np.abs(np.asarray(fp) - fn) / max(n_pos, n_neg)


def _q(labels: Floats, quality: Callable[..., Any], beta: float) -> Risk:
    """1 - Q, with the quality of the classification."""

    def loss(fn: Any, fp: Any, n_pos: int, n_neg: int) -> Any:
        a, r = _nae(fn, fp, n_pos, n_neg), quality(fn, fp, n_pos, n_neg)
        total = beta**2 * r + a
        return 1.0 - (1.0 + beta**2) * a * r / np.where(total > 0.0, total, 1.0)

    return CustomMeasure(labels, loss)
