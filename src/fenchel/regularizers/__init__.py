"""Regularizers Omega(w), convex functions of the weights; ``REGULARIZERS`` is the registry of names."""

from __future__ import annotations

from fenchel.registry import named, public, without_arguments
from fenchel.regularizers.base import Regularizer as Regularizer
from fenchel.regularizers.checking import check_regularizer as check_regularizer
from fenchel.regularizers.elastic_net import ElasticNet as ElasticNet
from fenchel.regularizers.entropy import Entropy as Entropy
from fenchel.regularizers.free_directions import FreeDirections as FreeDirections
from fenchel.regularizers.l1 import L1 as L1
from fenchel.regularizers.l2 import L2 as L2
from fenchel.regularizers.q_norm import QNorm as QNorm
from fenchel.regularizers.quadratic_form import QuadraticForm as QuadraticForm
from fenchel.regularizers.unnormalized_entropy import UnnormalizedEntropy as UnnormalizedEntropy

#: the regularizers that users can name: those imported above that need no argument
REGULARIZERS: dict[str, type[Regularizer]] = {
    name: kind for name, kind in named(globals(), Regularizer).items() if without_arguments(kind)
}

__all__ = public(globals())
