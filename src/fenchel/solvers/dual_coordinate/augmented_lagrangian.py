r"""The augmented Lagrangian of Zhang (2002): Appendix D, Algorithms 2 and 3, eqs. (27)-(31) and (36)-(38).

Free directions.  The equality :math:`Cv = b` of ``FreeDirections``, with that of a free intercept, gets multipliers s
and a quadratic term,

.. math:: \bar h_{s,\mu}(v) = \bar h(v) + s\cdot(Cv - b) + \tfrac{\lambda n}{2\mu}\|Cv - b\|^2:

- Algorithm 3: after every epoch :math:`s \leftarrow s + \eta\tfrac{\lambda n}{\mu}(Cv - b)`;
- Algorithm 2 (``exactly=True``): solved for the present s first; then s moves with :math:`\eta = 1` if the largest
  entry of Cv - b has fallen to half of what it was, else :math:`\mu` becomes a fourth.

where :math:`\bar h` is half the squared norm, or the conjugate of another base (``free_mirror``); quadratic forms are
whitened first.  The directions are mixed and, for ridge, the rows centred, which changes neither the problem nor the
algorithms (``free_directions``); ``mu=None`` then chooses a tenth of the mean squared length of the centred rows for
:math:`\lambda n/\mu`, and ``eta=None`` is 1, as in ``dual_coordinate``.

A free intercept alone.

The equality :math:`\sum\theta = 0` of a free intercept gets a multiplier s and a quadratic term,

.. math:: \min_\alpha\; \tfrac1n\sum_i f^*(-\alpha_i, y_i) + \lambda\,\Omega^*(v)
    + \tfrac{s}{n}\sum_i\alpha_i + \tfrac{1}{2\mu n}\bigl(\textstyle\sum_i\alpha_i\bigr)^2,

which is minimized over one variable after the other as in ``solver`` (eq. 30 for the hinge and ridge), with rows that
are not centred:

- Algorithm 3 (``exactly=False``): after every epoch :math:`s \leftarrow s + \tfrac{\eta}{\mu}\sum\alpha` (31);
- Algorithm 2 (``exactly=True``): the problem is first solved for the present s; then s moves with :math:`\eta = 1` if
  :math:`|\sum\alpha|` has fallen to half of what it was, else :math:`\mu` becomes a fourth.

``dual_coordinate`` is the same method with centred rows, :math:`\mu` from the length of the rows and :math:`\eta = 1`:
faster, so this one is for comparison with the paper.  The certificate restores :math:`\sum\theta = 0` before it
evaluates the gap (:mod:`fenchel.certificate.equalities`): a nonzero sum makes the gap larger and never wrong.

=====================  =====================================================================
symbol                 here
=====================  =====================================================================
s                      ``intercept[CENTRE]``
:math:`\sum\alpha`     :math:`\lambda n S`, with S in ``intercept[SUM]``
:math:`\lambda n/\mu`  ``constant``, the square of the constant feature
=====================  =====================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fenchel.problem import Problem
from fenchel.regularizers import L2
from fenchel.solvers.base import Need, Warm
from fenchel.solvers.dual_coordinate.free_directions import FreeState
from fenchel.solvers.dual_coordinate.free_mirror import FreeMirrorState
from fenchel.solvers.dual_coordinate.loop import SUM
from fenchel.solvers.dual_coordinate.requirements import NEEDS
from fenchel.solvers.dual_coordinate.solver import DualCoordinate
from fenchel.solvers.dual_coordinate.state import OutputState, State
from fenchel.solvers.feasibility import Repair
from fenchel.solvers.whitening import whitened
from fenchel.validation import check_bool, check_number

#: Algorithm 2 solves for a multiplier until violations are this share of what the quadratic term adds to a score, and
#: the gap is this share of twice that term
_INNER_ACCURACY = 0.1
#: or for this many epochs
_INNER_EPOCHS = 100


def _has_free_directions(problem: Problem) -> bool:
    return problem.regularizer.free_directions() is not None


def _steps_as_ridge(problem: Problem) -> bool:
    """Whether the base of the free directions is ridge, or a quadratic form, which is ridge in other coordinates."""
    base = problem.free_directions.base
    return base.is_ridge or base.quadratic_form() is not None


def _of_base(need: Need) -> Need:
    """The need of the problem with the base of its free directions alone, if it has some."""

    def relaxed(problem: Problem) -> Problem:
        base = L2() if _steps_as_ridge(problem) else problem.free_directions.base
        return replace(problem, regularizer=base)

    def sentence(problem: Problem) -> str:
        return f"{need.refusal(relaxed(problem))} as the base of free directions"

    return Need(lambda problem: need.met(relaxed(problem)), sentence).unless(
        lambda problem: not _has_free_directions(problem)
    )


@dataclass(frozen=True)
class AugmentedLagrangian(DualCoordinate):
    """Dual coordinate descent with the augmented Lagrangian of the paper, for comparison.

    It handles the equality constraints of an intercept or of free directions as Algorithms 2 and 3 of [1]_ do.
    :class:`DualCoordinate` is the same method with centred rows, and faster.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether to skip examples whose dual variable is at a bound and satisfies the KKT conditions with a margin.
    rule : {"auto", "exact", "newton", "gradient"}, default="auto"
        The step of one dual variable: the exact minimizer of the dual (eq. 13 of [1]_); a Newton step that is certain
        to increase the dual; or a gradient step (eq. 11).  "auto" is "exact" for ridge, the minimizer of a quadratic
        bound for the elastic net, and "newton" otherwise.  In a gradient step the part of the loss is implicit, see
        :class:`DualCoordinate`.
    learning_rate : float, default=None
        The step size of ``rule="gradient"``, the same for all examples; None chooses one for each example ([1]_,
        Sec. 6.2).
    stretch : float, default=1.0
        The factor of an exact step: above 1 is over-relaxation ([1]_, Sec. 6.2).
    seed : int, default=None
        Seed of the order of the examples; None uses the ``seed`` of :func:`fenchel.solve`.
    shuffle : bool, default=True
        Whether each epoch visits the examples in a random order; False is the cyclic order of [1]_.
    n_jobs : int, default=1
        Threads for the epochs of large data with ridge, as in :class:`DualCoordinate`.
    mu : float, default=None
        The penalty parameter in the units of [1]_; None is 1 for an intercept, and chosen from the data for free
        directions.
    eta : float, default=None
        The step size of the multipliers; None is 0.1, as advised by [1]_, for an intercept, and 1 for free directions.
    exactly : bool, default=False
        Whether each subproblem is solved before the multipliers change (Algorithm 2), instead of one epoch (Algorithm
        3).

    See Also
    --------
    DualCoordinate : The default.

    References
    ----------
    .. [1] T. Zhang. "On the dual formulation of regularized linear systems with convex risks." Machine Learning 46,
           2002.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import MeanRisk
    >>> from fenchel.solvers import AugmentedLagrangian
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> y = np.where(X[:, 0] > 0, 1.0, -1.0)
    >>> solution = solve(Problem(X, MeanRisk("hinge", y), 0.1, intercept=True), AugmentedLagrangian(eta=0.5))
    >>> solution.solver, solution.converged
    ('augmented_lagrangian', True)
    """

    #: None is 1 for an intercept, and chosen from the data for free directions
    mu: float | None = None
    #: of the multiplier; None is the paper's advice, 0.1, for an intercept, and 1 for free directions
    eta: float | None = None
    #: Algorithm 2 instead of 3
    exactly: bool = False
    name: ClassVar[str] = "augmented_lagrangian"
    centres: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("mu", self.mu, above=0.0, optional=True)
        check_number("eta", self.eta, above=0.0, optional=True)
        check_bool("exactly", self.exactly)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            Need(
                lambda problem: problem.intercept or _has_free_directions(problem),
                "requires a free intercept or free directions",
            ),
            *(need.unless(_has_free_directions) for need in super().needs),
            # what the steps require of the problem without its equalities; of quadratic forms, of ridge
            *(_of_base(need) for need in NEEDS),
            Need(
                lambda problem: self.rule in ("auto", "exact"),
                f"requires rule='auto' or 'exact' with free directions and ridge, got rule={self.rule!r}",
            ).unless(lambda problem: not _has_free_directions(problem) or not _steps_as_ridge(problem)),
        )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        if not _has_free_directions(problem):
            return super().start(problem, warm)
        weight = None if self.mu is None else self._first_constant(problem, None)
        if not _steps_as_ridge(problem):
            return FreeMirrorState.begun(problem, warm, self, weight)
        plain, warm, root = whitened(problem, warm, diagonal=True)
        state = FreeState.of(plain, warm, self.seed or 0, weight, self.stretch, root)
        # models are those of the problem as it was given
        state.repair = Repair(problem)
        return state

    def _first_constant(self, problem: Problem, norms: Any) -> float:
        return problem.lam * np.count_nonzero(problem.risk.shares) / (1.0 if self.mu is None else self.mu)

    def _move_centre(self, state: State, output: OutputState) -> None:
        """The end of an epoch of Algorithm 3, or, if the problem is solved for the present s, of a round of 2."""
        free = _has_free_directions(state.problem)
        if not self.exactly:
            state.move_centre(output, (1.0 if free else 0.1) if self.eta is None else self.eta)
            if self.mu is None:
                state.adapt_constant(output)
            return
        residual = output.intercept[SUM]
        largest = float(np.max(np.abs(residual), initial=0.0))
        output.inner_epochs += 1
        # with free directions however long that takes: a larger weight would not help a problem that was not solved
        most = math.inf if free else _INNER_EPOCHS
        energy = state.problem.lam * output.constant * float(np.vdot(residual, residual))
        if not self._solved(output, output.constant * largest, energy, most):
            return
        # a residual at the level of rounding does not fall
        fallen = largest <= max(0.5 * output.last_residual, state.residual_rounding(output))
        output.inner_epochs, output.last_residual = 0, largest
        if fallen:
            state.move_centre(output, 1.0)
        else:
            # mu becomes a fourth
            state.raise_constant(output, 4.0, self.stretch)

    @staticmethod
    def _solved(output: OutputState, pull: float, energy: float, most: float) -> bool:
        """Whether the problem is solved for the present multipliers, beside what the quadratic term adds to them.

        Losses without bounds on their slopes tell no violations, but a gap.
        """
        active_set = output.active_set
        solved = (
            active_set.full
            and active_set.violation <= _INNER_ACCURACY * pull
            and not active_set.gap > _INNER_ACCURACY * energy
        )
        return bool(solved or active_set.unchanged or output.inner_epochs >= most)
