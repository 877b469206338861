r"""The table behind ``solver="auto"``, and the solvers by name.

Measured by ``benchmarks/solvers.py`` (the figures are in benchmarks/README.md):

- a Newton step costs the same whatever C is, and a handful of them is enough for a smooth loss; dual coordinate
  descent takes a number of passes that grows with C times the squared length of the rows, the ``curvature`` below;
- with few features Newton's method therefore takes over wherever the loss is smooth or the curvature is large, or
  where many digits are asked for;
- with free directions ``augmented_lagrangian`` is the one method;
- for the joint hinges of several classes block coordinate descent is as fast where it needs few passes; an
  interior-point method takes about as long whatever the sizes of the features and C, so descent has some hundred passes
  before that is tried, and where few features are large none;
- measures that can be smoothed have one solver that takes them all, ``smoothing``;
- q-norms with q > 2 have a dual on which descent hardly gets on, and a Newton method that takes few steps;
- with the absolute values alone, smooth losses have one method, and all other risks have planes;
- constraints are met by dual coordinate descent with a square, if that is easy, and otherwise by ``barrier``; with the
  absolute values they are a linear program, ``basis_pursuit``;
- the multinomial risk has block steps on its dual where rows have few features in common or little curvature, else
  truncated Newton steps;
- with many features, as in text, rows have few features in common: dual coordinate descent needs few passes, and the
  linear systems of Newton's method are large.

A solver that stalls, or that has used up the passes that the table gives it, hands its best point to the next one in
the row.  The solution names all that took part, and the log says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fenchel.errors import FenchelError
from fenchel.problem import Problem
from fenchel.solvers.base import Solver
from fenchel.solvers.block_coordinate.solver import BlockCoordinate
from fenchel.solvers.bundle.solver import Bundle
from fenchel.solvers.constrained.barrier import Barrier
from fenchel.solvers.constrained.basis_pursuit import BasisPursuit
from fenchel.solvers.dual_coordinate.augmented_lagrangian import AugmentedLagrangian
from fenchel.solvers.dual_coordinate.solver import DualCoordinate
from fenchel.solvers.interior_point.solver import InteriorPoint
from fenchel.solvers.l1.prox_newton import ProxNewton
from fenchel.solvers.newton.direction import MOST_FEATURES
from fenchel.solvers.newton.multinomial import NewtonCG
from fenchel.solvers.newton.solver import Newton
from fenchel.solvers.reference.agm import AGM
from fenchel.solvers.reference.bregman import Bregman
from fenchel.solvers.reference.dual_conjugate_gradient import DualConjugateGradient
from fenchel.solvers.reference.pegasos import Pegasos
from fenchel.solvers.reference.pragam import Pragam
from fenchel.solvers.smoothing.solver import Smoothing
from fenchel.validation import check_seed, processors

#: the solvers that users can name
SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver
    for solver in (
        DualCoordinate,
        AugmentedLagrangian,
        Newton,
        BlockCoordinate,
        InteriorPoint,
        NewtonCG,
        ProxNewton,
        Smoothing,
        AGM,
        Bundle,
        Pegasos,
        Pragam,
        Bregman,
        DualConjugateGradient,
        Barrier,
        BasisPursuit,
    )
}


@dataclass(frozen=True)
class Facts:
    """What the table looks at."""

    examples: int
    features: int
    smooth: bool
    tol: float
    #: whether the classes have one risk together
    joint: bool
    #: whether the risk is no sum over examples, so that only planes below it are known
    planes: bool
    #: whether the risk is a measure of all scores that can be smoothed, with a conjugate, and no mean of losses
    smoothable: bool
    #: mean squared length of a row, over lam n: C times it for an estimator
    curvature: float
    #: whether the regularizer is that of the lasso, so that no weights follow from a dual point
    lasso: bool = False
    #: whether the regularizer is a q-norm with q > 2, whose dual is infinitely steep where weights are zero
    steep: bool = False
    #: whether the loss is a constraint
    constraint: bool = False
    #: whether some directions of the weights are free
    free: bool = False

    @property
    def tall(self) -> bool:
        """Few features, and more rows than features."""
        return self.features <= MOST_FEATURES and self.examples >= 2 * self.features


class Candidate(NamedTuple):
    """A solver with the data passes that it gets before the next one is tried."""

    solver: Solver
    patience: float = np.inf


class Row(NamedTuple):
    """One line of the table: when it applies, and the solvers to try in turn with their patience."""

    why: str
    applies: Callable[[Facts], bool]
    plan: tuple[tuple[str, float], ...]


_NEWTON_FIRST = ((Newton.name, np.inf), (DualCoordinate.name, np.inf))
_DESCENT_FIRST = ((DualCoordinate.name, np.inf), (Newton.name, np.inf))
#: what the first can not take, such as the elastic net, is left to bundle
_BLOCKS_FIRST = (
    (BlockCoordinate.name, 200.0),
    (InteriorPoint.name, np.inf),
    (BlockCoordinate.name, np.inf),
    (Bundle.name, np.inf),
)
#: the first row that applies counts
TABLE = (
    Row("free directions", lambda facts: facts.free, ((AugmentedLagrangian.name, np.inf),)),
    Row(
        "constraints instead of losses",
        lambda facts: facts.constraint,
        ((DualCoordinate.name, 300.0), (Barrier.name, np.inf), (BasisPursuit.name, np.inf)),
    ),
    Row(
        "lasso",
        lambda facts: facts.lasso,
        ((ProxNewton.name, np.inf), (Bundle.name, np.inf)),
    ),
    Row(
        "a measure that can be smoothed",
        lambda facts: facts.smoothable,
        ((Smoothing.name, np.inf), (Bundle.name, np.inf)),
    ),
    Row("only a subgradient oracle is available", lambda facts: facts.planes, ((Bundle.name, np.inf),)),
    Row(
        "one smooth risk for several classes, and rows with little in common",
        lambda facts: facts.joint and facts.smooth and (not facts.tall or facts.curvature <= 10.0),
        ((BlockCoordinate.name, 100.0), (NewtonCG.name, np.inf), (Bundle.name, np.inf)),
    ),
    Row(
        "one smooth risk for several classes",
        lambda facts: facts.joint and facts.smooth,
        ((NewtonCG.name, np.inf), (Bundle.name, np.inf)),
    ),
    Row(
        "one risk for several classes, few features of large size",
        lambda facts: facts.joint and facts.features <= 32 and facts.curvature >= 1e4,
        _BLOCKS_FIRST[1:],
    ),
    Row("one risk for several classes", lambda facts: facts.joint, _BLOCKS_FIRST),
    Row("a q-norm with q > 2", lambda facts: facts.steep, _NEWTON_FIRST),
    Row("smooth loss and very few features", lambda facts: facts.smooth and facts.features <= 64, _NEWTON_FIRST),
    Row("many features, or fewer rows than features", lambda facts: not facts.tall, _DESCENT_FIRST),
    Row("smooth loss", lambda facts: facts.smooth, _NEWTON_FIRST),
    Row("very few features", lambda facts: facts.features <= 64, _NEWTON_FIRST),
    Row("weak regularization", lambda facts: facts.curvature >= 300.0, _NEWTON_FIRST),
    Row("many digits, unless it is easy", lambda facts: facts.tol < 1e-4 and facts.curvature >= 10.0, _NEWTON_FIRST),
    Row("anything else", lambda facts: True, ((DualCoordinate.name, 40.0), (Newton.name, np.inf))),
)


def choose(
    problem: Problem, solver: str | Solver, *, tol: float = 1e-3, seed: int = 0, n_jobs: int | None = None
) -> list[Candidate]:
    """Return the solvers to try in turn for a problem.

    Parameters
    ----------
    problem : Problem
        The problem to solve.
    solver : str or Solver
        The name of a solver, a solver, or "auto".
    tol : float, default=1e-3
        The relative duality gap asked for, on which "auto" depends.
    seed : int, default=0
        The seed for solvers without one.
    n_jobs : int, default=None
        The number of threads for solvers without one.

    Returns
    -------
    list of Candidate
        Solvers that support the problem, each with the data passes before the next one is tried.

    See Also
    --------
    fenchel.solve : Calls this function.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem
    >>> from fenchel.risks import F1
    >>> from fenchel.solvers import choose
    >>> [candidate.solver.name for candidate in choose(Problem(np.eye(2), F1([1, -1]), 1.0), "auto")]
    ['bundle']
    """
    candidates = _candidates(problem, solver, tol)
    reasons = {candidate.solver.name: candidate.solver.supports(problem) for candidate in candidates}
    able = [candidate for candidate in candidates if reasons[candidate.solver.name] is None]
    if not able:
        raise FenchelError(_refusal(problem, solver, tol, reasons))
    # where what comes between does not support the problem, a solver does not hand over to itself
    following = [candidate.solver.name for candidate in able[1:]] + [""]
    able = [one for one, after in zip(able, following, strict=True) if one.solver.name != after]
    # the last one has all the passes that there are
    able[-1] = able[-1]._replace(patience=np.inf)
    check_seed(seed)
    threads = processors(n_jobs)
    return [candidate._replace(solver=candidate.solver.with_defaults(seed, threads)) for candidate in able]


def _refusal(problem: Problem, solver: str | Solver, tol: float, reasons: dict[str, str | None]) -> str:
    """Why there is no solver for this, and what to do."""
    if solver != "auto":
        ((name, reason),) = reasons.items()
        others = [candidate.solver.supports(problem) for candidate in _candidates(problem, "auto", tol)]
        advice = "; use solver='auto'" if None in others else ""
        return f"solver={name!r} does not support this problem: {reason}{advice}"
    why = "; ".join(reason for reason in reasons.values() if reason is not None)
    joint = problem.risk.multiclass() is not None
    advice = "; use a problem for each class, which is multi_class='ovr' of an estimator" if joint else ""
    return f"no solver supports this problem ({why}){advice}"


def _candidates(problem: Problem, solver: str | Solver, tol: float) -> list[Candidate]:
    if isinstance(solver, str):
        if solver == "auto":
            facts = facts_of(problem, tol)
            plan = next(row.plan for row in TABLE if row.applies(facts))
            return [Candidate(SOLVERS[name](), patience) for name, patience in plan]
        if solver in SOLVERS:
            return [Candidate(SOLVERS[solver]())]
        names = ", ".join(repr(name) for name in ("auto", *SOLVERS))
        raise FenchelError(f"solver={solver!r} is unknown; choose one of {names} or pass a solver object")
    if isinstance(solver, Solver):
        return [Candidate(solver)]
    raise FenchelError(f"solver must be a name or a solver object, got {type(solver).__name__}")


def facts_of(problem: Problem, tol: float) -> Facts:
    """What the table needs to know of a problem; cheap beside one pass over the data."""
    examples, features = problem.design.shape
    # an example of weight zero is as if removed
    examples = int(np.count_nonzero(problem.risk.shares))
    risk, regularizer, mean = problem.risk, problem.regularizer, problem.risk.separable()
    joint = risk.multiclass() is not None
    planes = mean is None and not joint
    return Facts(
        examples=examples,
        features=features,
        smooth=risk.smooth,
        tol=tol,
        joint=joint,
        planes=planes,
        smoothable=planes and risk.smoothable() is not None and risk.closed_form() is not None,
        curvature=problem.design.mean_square / (problem.lam * examples),
        lasso=regularizer.l1_ratio == 1.0,
        steep=regularizer.singular_hess,
        constraint=mean is not None and mean.loss.constraint is not None,
        free=regularizer.free_directions() is not None,
    )
