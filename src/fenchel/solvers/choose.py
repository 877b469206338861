r"""The table of ``solver="auto"``, and the solvers by name.

The rules are based on ``benchmarks/solvers.py`` (results in benchmarks/README.md):

- Mean of losses: the cost of a Newton step does not depend on C, and a smooth loss needs few of them.  Dual coordinate
  descent needs a number of epochs that grows with C times the squared norm of the rows, the ``curvature`` below.  With
  few features Newton's method is therefore used if the loss is smooth, the features are very few, or the tolerance is
  very small; but descent begins where a smooth loss needs few epochs of cheap steps, and where a Newton step, whose
  Hessian of long sparse rows or factorization is costly, takes as long as several epochs.  With other losses descent
  begins, with very few features only where few epochs suffice (``Facts.few_epochs``): it is fast on separable data,
  and elsewhere Newton's method takes over at its present pace (``solving.handover``, ``newton_cost``) and needs fewer
  steps from there than from zero.  Over files larger than memory it begins at once, with samples, since every epoch
  reads all of them: 20 passes instead of 32 in ``benchmarks/larger_than_memory.py``.  With many features, as in text,
  rows share few features: dual coordinate descent needs few epochs, and the linear systems of Newton's method are
  large.  With a large C a smooth loss needs more of them, and there too the pace decides.  Elsewhere, with many entries
  in long rows, which are few features but hundreds, L-BFGS needs less than ten evaluations if the features are well
  conditioned, and Newton's method several products for each step: L-BFGS begins, and its pace decides
  (``benchmarks/solvers.py --family "long rows"``).
- Free directions: only ``augmented_lagrangian`` supports them.
- Joint hinges of several classes: block coordinate descent is fast where it needs few epochs.  The time of the
  interior-point method hardly depends on the scale of the features and on C, so it takes over when descent, at its
  present pace, would take longer (``solving.handover``), or at once with few features of large scale.
- Multilabel hinge: ``label_blocks``, whose epochs cost about as much as a step of ``bundle`` and of which few suffice
  where rows share few features or the curvature is small (``benchmarks/multilabel.py``); else ``bundle``.
- Multinomial risk: with very few unknowns Newton's method with their whole Hessian (``newton.tiny_classes``), in half
  the time of the others and without compiled loops, which take longer to load (``benchmarks/small.py``).  Else block
  coordinate descent on the dual where rows share few features or the curvature is small, and the truncated Newton
  method elsewhere.
- Labelled sequences: with the log-loss ``exponentiated_gradient``, whose epochs cost less than a step of L-BFGS and of
  which tens are enough on text (benchmarks/sequences.py); where tokens share their features and the curvature is not
  small, where it is very large, and where pairs of labels would need most of the memory, as in short sequences of many
  labels, L-BFGS (``smoothing``, at mu = 0).  With the max-margin risk ``frank_wolfe``; with few weights, unless the
  curvature is small and the tolerance is not, ``bundle`` needs tens of passes, and ``frank_wolfe`` thousands
  (benchmarks/sequence_rules.py).
- Performance measures that can be smoothed, and losses of pairs in queries: ``smoothing``, in which a smooth loss needs
  no smoothing (``benchmarks/ranking.py``).  With many features and weak regularization the smoothed NDCG converges
  slowly, and ``bundle`` takes over after 300 data passes.  Other risks that are not sums over examples: ``bundle``.
- q-norms with q > 2: dual coordinate descent converges slowly, and Newton's method needs few steps.
- Lasso: ``prox_newton`` for smooth losses, ``bundle`` for other risks, ``barrier`` for the negative logarithm.  With a
  piecewise linear loss and few rows a linear program takes less time than a bundle, and is exact.  With about as many
  features as rows, or more, a bundle is quick if few features have weights, and else needs too many planes: a linear
  program of moderate size takes over after 50 data passes.
- Hard constraints: with ridge dual coordinate descent, then ``barrier``; with the lasso a linear program,
  ``basis_pursuit``.

A solver that stalls, or that has used the data passes of the table, hands its best point over to the next one in the
row.  ``Solution.handovers`` and the log record this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from fenchel.errors import FenchelError
from fenchel.problem import Problem
from fenchel.risks import MeanRisk
from fenchel.solvers.base import Solver
from fenchel.solvers.facts import Facts, facts_of
from fenchel.solvers.interior_point_cost import patience, predicted_passes
from fenchel.solvers.named import SOLVERS
from fenchel.solvers.newton_cost import newton_passes, newton_passes_of_lbfgs, passes_of_a_step
from fenchel.validation import check_seed, did_you_mean, processors

#: from the problem and the gap to reach
NextCost = Callable[[Problem, float], float]


class Candidate(NamedTuple):
    """A solver, and the number of data passes after which the next one is tried."""

    solver: Solver
    patience: float = np.inf
    #: data passes of this solver that take as long as the next one: it goes on while fewer of them would be enough;
    #: None does not look at its pace
    next_cost: NextCost | None = None


#: how a solver is chosen: its name or "auto", a solver, or solvers to try in turn
Choice = str | Solver | Sequence[Candidate]


class Row(NamedTuple):
    """A rule of the table: its name, its condition, the solvers in order, and the data passes of the first one."""

    why: str
    applies: Callable[[Facts], bool]
    solvers: tuple[str, ...]
    patience: float = np.inf
    #: ``Candidate.next_cost`` of the first one
    next_cost: NextCost | None = None
    #: the data passes of the first one, where they depend on the problem
    patience_of: Callable[[Problem], float] | None = None


_NEWTON_FIRST = ("newton", "dual_coordinate")
#: bundle supports the problems that the others do not, such as those with the elastic net
_BLOCKS_LAST = ("interior_point", "block_coordinate", "bundle")
#: the first is for ridge, the second for lasso and elastic net, the last for any other regularizer
_MULTINOMIAL = ("newton_cg", "proximal_gradient", "bundle")
#: the first rule that applies is used
TABLE = (
    Row("free directions", lambda facts: facts.free, ("augmented_lagrangian",)),
    Row("hard constraints", lambda facts: facts.constraint, ("dual_coordinate", "barrier", "basis_pursuit"), 300.0),
    Row(
        "lasso, piecewise linear loss, few rows",
        lambda facts: facts.lasso and facts.tiny_program,
        ("linear_program", "bundle", "barrier"),
    ),
    Row(
        "lasso, piecewise linear loss",
        lambda facts: facts.lasso and facts.small_program,
        ("bundle", "linear_program", "bundle", "barrier"),
        50.0,
    ),
    Row(
        "lasso, piecewise linear loss, thousands of rows, unless that is easy",
        lambda facts: facts.lasso and facts.medium_program,
        ("bundle", "linear_program", "bundle", "barrier"),
        100.0,
    ),
    Row("lasso", lambda facts: facts.lasso, ("prox_newton", "proximal_gradient", "bundle", "barrier")),
    Row("NDCG of queries", lambda facts: facts.ndcg, ("smoothing", "bundle"), 300.0),
    Row(
        "labelled sequences, log-loss, sparse tokens or small curvature",
        lambda facts: facts.chains and facts.smooth and facts.dual_chain_steps,
        ("exponentiated_gradient", "smoothing", "bundle"),
        100.0,
    ),
    Row("labelled sequences, log-loss", lambda facts: facts.chains and facts.smooth, ("smoothing", "bundle")),
    Row(
        "labelled sequences, max-margin, few weights, unless that is easy",
        lambda facts: facts.chains and facts.chain_planes,
        ("bundle", "frank_wolfe", "bundle"),
        500.0,
    ),
    Row("labelled sequences, max-margin", lambda facts: facts.chains, ("frank_wolfe", "bundle"), 2000.0),
    Row(
        "multilabel hinge, many features or small curvature",
        lambda facts: facts.multilabel and (not facts.tall or facts.curvature <= 10.0),
        ("label_blocks", "bundle"),
        100.0,
    ),
    Row("performance measure with a smoothing", lambda facts: facts.smoothable, ("smoothing", "bundle")),
    Row("losses of pairs in queries", lambda facts: facts.ranking, ("smoothing", "bundle")),
    Row("only a subgradient oracle is available", lambda facts: facts.subgradient_only, ("bundle",)),
    Row("joint smooth multiclass risk, very few unknowns", lambda facts: facts.tiny_classes, _MULTINOMIAL),
    Row(
        "joint smooth multiclass risk, many features or small curvature",
        lambda facts: facts.joint and facts.smooth and (not facts.tall or facts.curvature <= 10.0),
        ("block_coordinate", *_MULTINOMIAL),
        100.0,
    ),
    Row("joint smooth multiclass risk", lambda facts: facts.joint and facts.smooth, _MULTINOMIAL),
    Row(
        "joint multiclass risk, few features of large scale",
        lambda facts: facts.joint and facts.features <= 32 and facts.curvature >= 1e4,
        _BLOCKS_LAST,
    ),
    Row(
        "joint multiclass risk",
        lambda facts: facts.joint,
        ("block_coordinate", *_BLOCKS_LAST),
        next_cost=lambda problem, target_gap: predicted_passes(problem),
        patience_of=patience,
    ),
    Row("q-norm with q > 2", lambda facts: facts.steep, _NEWTON_FIRST),
    Row("smooth loss and very few features", lambda facts: facts.smooth and facts.features <= 64, _NEWTON_FIRST),
    Row(
        "smooth loss and many features, or fewer rows than features",
        lambda facts: facts.smooth and not facts.tall,
        ("dual_coordinate", "newton"),
        next_cost=newton_passes,
        patience_of=passes_of_a_step,
    ),
    Row("many features, or fewer rows than features", lambda facts: not facts.tall, ("dual_coordinate", "newton")),
    Row(
        "smooth loss with costly dual and Newton steps on dense rows",
        lambda facts: facts.smooth and not facts.quadratic and facts.lbfgs_on_dense_rows,
        ("smoothing", *_NEWTON_FIRST),
        next_cost=newton_passes,
        patience_of=passes_of_a_step,
    ),
    Row(
        "smooth loss, and few epochs of cheap steps or costly Newton steps",
        lambda facts: facts.smooth and not facts.quadratic and (facts.few_smooth_epochs or facts.costly_newton),
        ("dual_coordinate", "newton"),
        next_cost=newton_passes,
        patience_of=passes_of_a_step,
    ),
    Row(
        "smooth loss and many entries in long rows",
        lambda facts: facts.smooth and facts.ridge and facts.long_rows and facts.outputs == 1 and not facts.in_blocks,
        ("smoothing", *_NEWTON_FIRST),
        6.0,
        newton_passes_of_lbfgs,
    ),
    Row("smooth loss", lambda facts: facts.smooth, _NEWTON_FIRST),
    Row(
        "very few features, unless that is easy, or few features and no strong regularization",
        lambda facts: (
            not facts.few_epochs and (facts.features <= 32 or (facts.features <= 64 and facts.curvature >= 10.0))
        ),
        _NEWTON_FIRST,
    ),
    Row(
        "very small tolerance, unless the curvature is small",
        lambda facts: facts.tol < 1e-8 and facts.curvature >= 10.0,
        _NEWTON_FIRST,
    ),
    Row(
        "in files, in more than one block, and no strong regularization",
        lambda facts: facts.in_blocks and facts.curvature >= 10.0,
        _NEWTON_FIRST,
    ),
    Row("all other problems", lambda facts: True, ("dual_coordinate", "newton"), 8.0, newton_passes),
)


def choose(
    problem: Problem, solver: Choice, *, tol: float = 1e-3, seed: int = 0, n_jobs: int | None = None
) -> list[Candidate]:
    """Return the solvers to try in turn for a problem.

    Parameters
    ----------
    problem : Problem
        The problem to solve.
    solver : str, Solver or sequence of Candidate
        The name of a solver, a solver, "auto", or solvers to try in turn.
    tol : float, default=1e-3
        The target of the relative duality gap, on which "auto" depends.
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
    if not isinstance(problem, Problem):
        raise FenchelError(f"problem must be a Problem, got {type(problem).__name__}")
    candidates = _candidates(problem, solver, tol)
    reasons = {candidate.solver.name: candidate.solver.supports(problem) for candidate in candidates}
    able = [candidate for candidate in candidates if reasons[candidate.solver.name] is None]
    if not able:
        raise FenchelError(_refusal(problem, solver, tol, reasons))
    # a solver does not hand over to itself if the solver between does not support the problem
    following = [candidate.solver.name for candidate in able[1:]] + [""]
    able = [one for one, after in zip(able, following, strict=True) if one.solver.name != after]
    # the last solver has no limit of its own
    able[-1] = able[-1]._replace(patience=np.inf)
    check_seed(seed)
    threads = processors(n_jobs)
    return [candidate._replace(solver=_completed(candidate.solver, seed, threads)) for candidate in able]


def first_choice(problem: Problem, solver: Choice, *, tol: float, seed: int, n_jobs: int | None) -> Solver:
    """The first solver that ``choose`` returns; the others are not imported unless it refuses the problem."""
    if isinstance(solver, str) and solver == "auto":
        first = _default(_row(problem, tol).solvers[0])
        if first.supports(problem) is None:
            # of a seed that stays, since every other one is another object: solvers of small data draw nothing
            return _completed(first, 0, processors(n_jobs))
    return choose(problem, solver, tol=tol, seed=seed, n_jobs=n_jobs)[0].solver


@cache
def _default(name: str) -> Solver:
    """The solver of this name with its default options; solvers never change."""
    return SOLVERS[name]()


def _completed(solver: Solver, seed: int, threads: int) -> Solver:
    """The solver with a seed and a number of threads, the same object for the same default solver."""
    if solver.name in SOLVERS and solver is _default(solver.name):
        return _completed_default(solver.name, seed, threads)
    return solver.with_defaults(seed, threads)


@lru_cache
def _completed_default(name: str, seed: int, threads: int) -> Solver:
    return _default(name).with_defaults(seed, threads)


def _refusal(problem: Problem, solver: Choice, tol: float, reasons: dict[str, str | None]) -> str:
    """Return the error message: why no solver supports the problem, and what to do."""
    if isinstance(solver, (str, Solver)) and solver != "auto":
        ((name, reason),) = reasons.items()
        advice = "; use solver='auto'" if _has_solver(problem, tol) else _one_against_rest(problem, tol)
        return f"solver={name!r} does not support this problem: {reason}{advice}"
    why = "; ".join(reason for reason in reasons.values() if reason is not None)
    return f"no solver supports this problem ({why}){_one_against_rest(problem, tol)}"


def _has_solver(problem: Problem, tol: float) -> bool:
    return any(candidate.solver.supports(problem) is None for candidate in _candidates(problem, "auto", tol))


def _one_against_rest(problem: Problem, tol: float) -> str:
    """Return the advice to use a problem for each class, where a solver supports that."""
    joint = problem.risk.multiclass()
    if joint is None:
        return ""
    labels = np.where(joint.classes == joint.classes[0], 1.0, -1.0)
    risk = MeanRisk("logistic" if joint.smooth else "hinge", labels, joint.shares)
    alone = Problem(problem.design, risk, problem.lam, problem.regularizer, problem.intercept)
    advice = "; use a problem for each class, which is multi_class='ovr' of an estimator"
    return advice if _has_solver(alone, tol) else ""


def _row(problem: Problem, tol: float) -> Row:
    """The rule of the table for a problem."""
    facts = facts_of(problem, tol)
    return next(row for row in TABLE if row.applies(facts))


def _candidates(problem: Problem, solver: Choice, tol: float) -> list[Candidate]:
    if isinstance(solver, str):
        if solver == "auto":
            row = _row(problem, tol)
            first, *others = row.solvers
            passes = row.patience if row.patience_of is None else row.patience_of(problem)
            leading = Candidate(_default(first), passes, row.next_cost)
            return [leading, *(Candidate(_default(other)) for other in others)]
        if solver in SOLVERS:
            return [Candidate(_default(solver))]
        known = ("auto", *SOLVERS)
        names, near = ", ".join(map(repr, known)), did_you_mean(solver, known)
        raise FenchelError(f"solver={solver!r} is unknown{near}; choose one of {names} or pass a solver object")
    if isinstance(solver, Solver):
        return [Candidate(solver)]
    listed = [one for one in solver if isinstance(one, Candidate)] if isinstance(solver, Sequence) else []
    if listed and len(listed) == len(solver):
        return listed
    raise FenchelError(f"solver must be a name or a solver object, got {type(solver).__name__}")
