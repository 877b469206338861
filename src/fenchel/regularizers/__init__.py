"""Regularizers Omega(w), convex functions of the weights; ``REGULARIZERS`` is the registry of names."""

from __future__ import annotations

from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.elastic_net import ElasticNet
from fenchel.regularizers.entropy import Entropy
from fenchel.regularizers.free_directions import FreeDirections
from fenchel.regularizers.l1 import L1
from fenchel.regularizers.l2 import L2
from fenchel.regularizers.q_norm import QNorm
from fenchel.regularizers.quadratic_form import QuadraticForm
from fenchel.regularizers.unnormalized_entropy import UnnormalizedEntropy

#: the regularizers that users can name
REGULARIZERS: dict[str, type[Regularizer]] = {
    regularizer.name: regularizer for regularizer in (L2, ElasticNet, L1, Entropy, UnnormalizedEntropy, QNorm)
}

__all__ = [
    "L1",
    "L2",
    "REGULARIZERS",
    "ElasticNet",
    "Entropy",
    "FreeDirections",
    "QNorm",
    "QuadraticForm",
    "Regularizer",
    "UnnormalizedEntropy",
]
