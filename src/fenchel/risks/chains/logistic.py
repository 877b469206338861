r"""The log-loss of labelled sequences (linear-chain conditional random field).

.. math:: f_q(s) = \log\sum_y e^{\mathrm{score}(y)} - \mathrm{score}(y_q) = -\log P(y_q)

Lafferty, McCallum and Pereira, ICML 2001.  The gradient is the mean of the features under P less those of
:math:`y_q`, from forward-backward recursions (``oracles``).  The conjugate is minus the largest entropy of
distributions with these means, :math:`R^*(-\theta) = -\sum_q c_q H(P_q)` at :math:`-\theta = \nabla R(s)` (``gibbs``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.risks.base import CuttingPlane
from fenchel.risks.chains.base import ChainRisk
from fenchel.risks.chains.enclosures import EnclosedChainRisk, enclosed_chains
from fenchel.risks.chains.gibbs import GibbsMixture, gibbs_form, gibbs_point, mixed
from fenchel.risks.chains.oracles import log_partitions
from fenchel.risks.protocols import Smoothable
from fenchel.risks.smoothing import Smoothed


class ChainLogistic(ChainRisk):
    r"""Log-loss of labelled sequences: that of a linear-chain conditional random field.

    .. math:: f_q(s) = \log\sum_y e^{\mathrm{score}(y)} - \mathrm{score}(y_q)

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels of all tokens, integers from 0 to m - 1, sequence after sequence.
    lengths : array-like of shape (sequences,), default=None
        The number of tokens of each sequence; None for one sequence.
    count : int, default=None
        The number m of labels; None is the largest label plus 1.
    weights : array-like of shape (sequences,), default=None
        Non-negative weights of the sequences; None is the same weight for all.
    edges : array-like or sparse matrix of shape (n, K), default=None
        Features of pairs of neighbouring tokens, in the row of the second one; None is none.

    See Also
    --------
    ChainHinge : The max-margin risk.
    fenchel.designs.ChainDesign : The scores of a linear model.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import ChainLogistic
    >>> risk = ChainLogistic([0, 1, 1], lengths=[2, 1])
    >>> round(float(risk.value(np.zeros(risk.examples))), 4)  # 1.5 log(2)
    1.0397
    """

    name = "chain_logistic"
    smooth = True

    def enclosure(self) -> EnclosedChainRisk | None:
        return enclosed_chains(self.sequences, self.labels, self._weights, max_margin=False)

    def value(self, scores: Array) -> float:
        parts = self.sequences.split(scores)
        return self.mean_excess(log_partitions(self.sequences, parts), parts)

    def subgradient(self, scores: Array) -> Floats:
        theta = gibbs_point(self, scores)[1]
        return np.negative(theta, out=theta)

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        value, theta = gibbs_point(self, scores)
        return -theta, value + float(np.vdot(theta, scores)), value

    def smoothable(self) -> Smoothable:
        return self

    @property
    def smoothing_range(self) -> float:
        """Zero: the risk is smooth itself."""
        return 0.0

    def smoothed(self, scores: Array, mu: float) -> Smoothed:
        """R itself, whatever mu is."""
        value, theta = gibbs_point(self, scores)
        return Smoothed(value, theta, value, 0.0, partial(self.decompose, scores, theta))

    def decompose(self, scores: Array, subgradient: Array) -> Floats:
        """The Gibbs distribution of the scores."""
        return np.concatenate([[1.0], scores])[None]

    def mixed(self, weights: Array, decompositions: Sequence[Array]) -> Floats:
        return mixed(weights, decompositions)

    def decomposed_form(
        self, theta: Array, decomposition: Array | None, *, balanced: bool = False
    ) -> GibbsMixture | None:
        return None if decomposition is None else gibbs_form(self, decomposition)
