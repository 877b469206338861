r"""Proved predictions of kernel models: the ball of ``certificate.confinement`` in the RKHS.

The score of a new row x is :math:`\langle\phi(x), w^*\rangle + b^*`, which is within :math:`r\sqrt{k(x, x)}` of the
score of the centre.  Kernel values are taken as they are computed, and the kernel to be positive semi-definite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.certificate.optimum import OptimumBall
from fenchel.certificate.optimum_of_fit import OptimumOfFit
from fenchel.certificate.predictions import CertifiedPredictions
from fenchel.designs import DenseDesign, as_design
from fenchel.errors import FenchelError

#: covers the rounding of a norm
_UPWARDS = 1.0 + 1e-9
#: rows whose kernel with each other is computed at once, for its diagonal
_SQUARE = 64


def of_support(optimum: OptimumOfFit, used: Array) -> OptimumOfFit:
    """The same with coefficients of the support vectors alone, and one score for two classes."""

    def restricted(ball: OptimumBall) -> OptimumBall:
        if optimum.kind == "sign" and ball.centre.ndim == 2:
            # two scores of a joint problem: their difference is the one score
            zero = np.zeros(1)
            ball = replace(
                ball,
                centre=ball.centre[1] - ball.centre[0],
                radius=math.sqrt(2.0) * _UPWARDS * ball.radius,
                intercept_lower=zero,
                intercept_upper=zero,
                intercept_spread=None,
            )
        unused = np.ones(ball.centre.shape[-1], dtype=bool)
        unused[used] = False
        if np.any(ball.centre[..., unused]):
            raise FenchelError(
                "the dual variables have support vectors that the model lacks, and a fit keeps only those of the "
                "model: fit with a smaller tol"
            )
        return replace(ball, centre=ball.centre[..., used], reference=np.zeros(len(used)))

    return replace(optimum, sketches=tuple(one.mapped(restricted) for one in optimum.sketches))


def self_products(kernel: str | Callable[..., Any], X: Any, values: Callable[[Any, Any], Array]) -> Floats:
    """k(x, x) for each row; ``values`` computes the kernel between two matrices."""
    if kernel == "rbf":
        return np.ones(X.shape[0])
    if kernel == "linear":
        return as_design(X).squared_row_norms
    parts = [X[begin : begin + _SQUARE] for begin in range(0, X.shape[0], _SQUARE)]
    return np.concatenate([np.diagonal(values(part, part)) for part in parts])


def proved_rows(
    optimum: OptimumOfFit, kernel_values: Array, squares: Array, coefficients: Array, intercept: Any
) -> CertifiedPredictions:
    """The proved predictions of rows with these kernel values with the support vectors and with themselves."""
    design = DenseDesign(kernel_values)
    scores = design.scores(coefficients) + intercept
    single = optimum.sketches[0].ball().centre.ndim == 1
    return optimum.predict(design, scores[:, 0] if single else scores, _UPWARDS * np.sqrt(squares))


def joined(parts: Sequence[CertifiedPredictions]) -> CertifiedPredictions:
    """The predictions of consecutive rows in one object."""
    return replace(
        parts[0],
        predictions=np.concatenate([part.predictions for part in parts]),
        proved=np.concatenate([part.proved for part in parts]),
        lower=np.concatenate([part.lower for part in parts]),
        upper=np.concatenate([part.upper for part in parts]),
    )
