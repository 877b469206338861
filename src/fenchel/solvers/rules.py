r"""The rules of ``solver="auto"``: which solvers to try, for which problems.

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
  (``benchmarks/solvers.py --family "long rows"``).  On few dense rows of hundreds of features a Newton step takes as
  long as tens of passes; the logistic loss begins with L-BFGS there, losses with cheap steps on the dual with descent,
  and each goes on for as many passes before its pace decides.
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
  program of moderate size takes over after 50 data passes, and on thousands of rows after 100.
- Hard constraints: with ridge dual coordinate descent, then ``barrier``; with the lasso a linear program,
  ``basis_pursuit``.

A solver that stalls, or that has used the data passes of the table, hands its best point over to the next one in the
row.  ``Solution.handovers`` and the log record this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fenchel.problem import Problem
from fenchel.solvers.facts import Facts
from fenchel.solvers.interior_point_cost import patience, predicted_passes
from fenchel.solvers.newton_cost import newton_passes, newton_passes_of_lbfgs, passes_of_a_step

#: from the problem and the gap to reach
NextCost = Callable[[Problem, float], float]


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
