r"""Smoothed risks: Nesterov's smoothing of a maximum over dual points.

.. math::
    R_\mu(s) = \max_\theta\; -\theta\cdot s - R^*(-\theta) - \mu\,d(\theta), \qquad
    R_\mu \le R \le R_\mu + \mu D, \quad D = \max d

Its maximizer :math:`\hat\theta` is unique and feasible, :math:`\nabla R_\mu = -\hat\theta`, and it certifies the
*unsmoothed* problem with the gap :math:`[R(s) + R^*(-\hat\theta) + \hat\theta\cdot s] + \|\lambda w -
X^T\hat\theta\|^2/(2\lambda)` (Zhang, Saha and Vishwanathan 2012, Sec. 3 and 4).

The prox functions d weight each dual variable by the weight of its example, so that :math:`\mu` is in units of scores:
the width over which kinks are smoothed.

=================  ==========================================================  ================================
risk               d                                                           D
=================  ==========================================================  ================================
mean of a loss     :math:`\sum c_i\,\alpha_i^2/2,\ \theta_i = c_i\alpha_i`      that of the loss, for each output
ROC area           :math:`\sum a_i b_j\,\beta_{ij}^2/2`                        1/2
ordered classes    :math:`\sum c_i c_j\,\beta_{ij}^2/(2M)`                     1/2
pairwise hinge     :math:`\sum_q c_q\sum\beta_{ij}^2/(2M_q)`                  1/2
NDCG               :math:`\sum_q c_q\|a - a^*\|^2/2`                         of the worst ranking
break-even         :math:`\sum\beta_i^2/(2n),\ \beta_i = n y_i\theta_i`        :math:`\min(n_+, n_-)/n`
recall at k        the same                                                    :math:`(n_+ + \min(n_-, k))/(2n)`
F-beta, prec. at   the mean of that over surpluses p with weights q, and      1
k                  :math:`\sum_p q_p\ln(Pq_p)/(2\ln P)`
=================  ==========================================================  ================================

The paper's :math:`d` is :math:`\|\beta\|^2/2`: its :math:`\mu` is the one here over n (break-even) or over
:math:`n_+n_-` (ROC area), and :math:`\mu D` is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats


class Smoothed(NamedTuple):
    """A risk smoothed with mu, at some scores."""

    #: R_mu(s)
    value: float
    #: the maximizer: feasible, and minus the gradient of R_mu
    theta: Floats
    #: R(s) itself
    risk: float
    #: R(s) + R*(-theta) + theta . s >= 0, the Fenchel-Young gap of smoothing
    excess: float
    #: the decomposition of theta, where the risk has them (``decomposition``)
    decompose: Callable[[], Floats] | None = None

    @property
    def gradient(self) -> Floats:
        """The gradient of R_mu in the scores."""
        return -self.theta

    def conjugate(self, scores: Array) -> float:
        """R*(-theta), or the upper bound on it that belongs to the excess; ``scores`` are those of this result."""
        return self.excess - self.risk - float(np.vdot(self.theta, scores))
