r"""The augmented Lagrangian of Zhang (2002) for a free intercept: Appendix D, Algorithms 2 and 3, eqs. (27)-(31).

The equality :math:`\sum\theta = 0` of a free intercept gets a multiplier s and a quadratic term,

.. math:: \min_\alpha\; \tfrac1n\sum_i f^*(-\alpha_i, y_i) + \lambda\,\Omega^*(v)
    + \tfrac{s}{n}\sum_i\alpha_i + \tfrac{1}{2\mu n}\bigl(\textstyle\sum_i\alpha_i\bigr)^2,

whose variables are visited as in ``dual_coordinate`` (eq. 30 for the hinge and the square), with rows as they are:

- Algorithm 3 (``exactly=False``): after every pass :math:`s \leftarrow s + \tfrac{\eta}{\mu}\sum\alpha` (31);
- Algorithm 2 (``exactly=True``): the problem is first solved for the present s; then s moves with :math:`\eta = 1` if
  :math:`|\sum\alpha|` has fallen to half of what it was, else :math:`\mu` becomes a fourth.

``dual_coordinate`` is the same method with centred rows, :math:`\mu` from the length of the rows and :math:`\eta = 1`:
faster, so this one is for comparison with the paper.  The certificate restores :math:`\sum\theta = 0` before it
judges (``certificate.judging``), so what is left of the sum costs accuracy and never soundness.

=====================  =====================================================================
symbol                 here
=====================  =====================================================================
s                      ``free[CENTRE]``
:math:`\sum\alpha`     :math:`\lambda n S`, with S in ``free[SUM]``
:math:`\lambda n/\mu`  ``constant``, the square of the constant feature
=====================  =====================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fenchel.errors import FenchelError
from fenchel.loops.dual_coordinate import CENTRE, CURVE, SCALE, SUM
from fenchel.problem import Problem
from fenchel.solvers.dual_coordinate import DualCoordinate
from fenchel.solvers.dual_coordinate_state import OutputState, State

#: Algorithm 2 solves for a multiplier until violations are this share of what the quadratic term adds to a score
_INNER = 0.1
#: or for so many passes
_PASSES = 100


@dataclass(frozen=True)
class AugmentedLagrangian(DualCoordinate):
    """Options of the augmented Lagrangian; ``mu`` is in the units of the paper."""

    mu: float = 1.0
    #: of the multiplier; the paper's advice
    eta: float = 0.1
    #: Algorithm 2 instead of 3
    exactly: bool = False
    name: ClassVar[str] = "augmented_lagrangian"
    centres: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("mu", "eta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not 0 < value < math.inf:
                raise FenchelError(f"{name} must be positive and finite, got {value!r}")

    def supports(self, problem: Problem) -> str | None:
        if not problem.intercept:
            return "augmented_lagrangian is for a free intercept; dual_coordinate is the same without one"
        reason = super().supports(problem)
        return None if reason is None else reason.replace(DualCoordinate.name, self.name)

    def _first_constant(self, problem: Problem, norms: Any) -> float:
        return problem.lam * np.count_nonzero(problem.risk.shares) / self.mu

    def _move_centre(self, state: State, output: OutputState) -> None:
        total = output.free[SUM]
        if not self.exactly:
            output.free[CENTRE] += self.eta * output.constant * total
            return
        output.inner_passes += 1
        solved = output.descent.full and output.descent.worst <= _INNER * abs(output.constant * total)
        if not (solved or output.descent.at_rest or output.inner_passes >= _PASSES):
            return
        output.inner_passes = 0
        if abs(total) > 0.5 * output.last_sum:
            # mu becomes a fourth: the curvatures of all examples follow
            grown = 3.0 * output.constant
            output.constant += grown
            if output.transfer is None:
                output.book[:, CURVE] += output.book[:, SCALE] * grown / self.stretch
        else:
            output.free[CENTRE] += output.constant * total
        output.last_sum = abs(total)
