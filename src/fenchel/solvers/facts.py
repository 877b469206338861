"""The properties of a problem on which the table of ``solver="auto"`` depends (``solvers.rules``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fenchel.designs.chains import ChainDesign
from fenchel.problem import Problem
from fenchel.solvers.newton.direction import MOST_FEATURES
from fenchel.solvers.newton_cost import step_passes

if TYPE_CHECKING:
    from fenchel.risks.chains.sequences import Sequences

#: largest number of entries of X for a linear program: a few seconds of HiGHS, which returns nothing before its end
_PROGRAM_ENTRIES = 1 << 19
#: the same for data with fewer features (hinge: a9a, 10,000 rows 3 s and 20,000 rows 11 s, w8a, 10,000 rows 2 s)
_PROGRAM_ROWS, _MOST_PROGRAM_ENTRIES = 1 << 14, 1 << 22
#: rows and entries up to which HiGHS takes less than a bundle from the beginning (benchmarks/benchopt/README.md)
_TINY_PROGRAM_ROWS, _TINY_PROGRAM_ENTRIES = 1 << 9, 1 << 16

#: entries of X from which, and mean entries of a row above which, L-BFGS begins in place of Newton steps
_MANY_ENTRIES, _LONG_ROW = 1 << 22, 64

#: entries of X from which, and curvature up to which, a few epochs of dual coordinate descent take less time than
#: Newton steps: 0.35 to 0.8 of it with hinges, tubes and absolute errors on 8,200 to 150,000 rows of 8 to 30 made-up
#: features; fewer rows, or a free intercept, which descent finds slowly, took up to several times as long.  With smooth
#: piecewise quadratic losses 0.4 to 0.8 on a9a, w8a, mushrooms and connections@40000 to 1e-1 and 1e-3, and 0.45 to 1.16
#: to 1e-6; the steps of the logistic loss have logarithms, and took up to 1.8 times as long
_EPOCH_ENTRIES, _EASY_CURVATURE = 1 << 16, 0.3
#: curvature up to which that holds for smooth losses below this tolerance, where the last digits take Newton's method
#: one step each: at 0.28 descent took up to 2.1 times as long to 1e-6 and 1e-9 on 8,000 to 50,000 correlated rows
_EASIER_CURVATURE, _FEW_DIGITS = 0.15, 1e-4
#: data passes that take as long as a Newton step, from which descent is tried first with smooth losses: this many
#: passes, after which its pace decides, are less than one of the five to twenty Newton steps that follow
COSTLY_STEP = 8.0
#: the same where the curvature is above the second number, at which descent may be in vain: from steps of nine to
#: thirteen passes on, made-up rows with labels of much noise took up to 2.5 times as long
_COSTLIER_STEP, _MODERATE_CURVATURE = 14.0, 3.0
#: bounds of the rule of labelled sequences, measured by benchmarks/sequence_rules.py (docs/sequences.md).  Weights of
#: chains up to which L-BFGS is at most hundredths of a second behind exponentiated gradient steps, or ahead
_FEW_CHAIN_WEIGHTS = 256
#: tolerance below which a gap is rounding error: Newton steps would end with half of the digits of the weights
_TIGHT = 1e-12
#: curvature up to which exponentiated gradient steps are tried, of tokens that share few features and of others
_MOST_SPARSE_CURVATURE, _MOST_DENSE_CURVATURE = 1024.0, 5.0
#: tokens share few features if on average a feature is stored for at most 16 tokens, or 1 in 16 of them
_FEW_TOKENS, _FEW_OF_TOKENS = 16.0, 1.0 / 16.0
#: numbers of pairs of labels over those of tokens and labels up to which they are tried: pairs cost memory and time
_MOST_CHAIN_PAIRS = 8.0
#: weights of chains up to which a bundle takes less time than Frank-Wolfe steps, and the curvature from which, and the
#: tolerance below which, it does so
_MOST_BUNDLE_WEIGHTS, _LEAST_BUNDLE_CURVATURE, _BUNDLE_TOLERANCE = 1024, 5.0, 1e-3


@dataclass(frozen=True)
class Facts:
    """The properties of a problem on which the table depends."""

    examples: int
    features: int
    smooth: bool
    tol: float
    #: whether the risk is a joint one of several classes
    joint: bool
    #: whether the risk is not a sum over examples, so that only subgradients are available
    subgradient_only: bool
    #: whether the risk is a performance measure with a smoothing and a conjugate
    smoothable: bool
    #: returns ``curvature``, which reads X: the rules for small data do not ask for it
    curvature_of: Callable[[], float]
    #: whether the regularizer is the l1 norm, which is not strongly convex
    lasso: bool = False
    #: whether the regularizer is a q-norm with q > 2, whose conjugate has unbounded curvature where weights are zero
    steep: bool = False
    #: whether the loss is a hard constraint
    constraint: bool = False
    #: whether the risk is a mean over queries of a loss of pairs
    ranking: bool = False
    #: whether it is a mean over queries of a bound on the NDCG
    ndcg: bool = False
    #: whether some directions of the weights are free
    free: bool = False
    #: whether the risk is one of labelled sequences
    chains: bool = False
    #: of such a risk, the weights of pairs of labels times the sequences, over the pairs of a token and a label
    chain_pairs: float = 0.0
    #: whether the tokens of chains share few features
    sparse_chains: bool = False
    #: whether the risk is the multilabel hinge
    multilabel: bool = False
    #: whether X is in files, and larger than a block of rows in memory
    in_blocks: bool = False
    #: stored entries of X
    entries: int = 0
    #: vectors of weights of a mean of losses
    outputs: int = 1
    #: whether the regularizer is ridge
    ridge: bool = False
    #: whether there is an intercept, which is not regularized
    intercept: bool = False
    #: whether the conjugate of the loss of a mean is piecewise quadratic, so that dual steps are formulas
    cheap_steps: bool = False
    #: whether the second derivative of the loss is bounded: where it is not, dual steps are short
    bounded_hess: bool = False
    #: whether the loss is quadratic, so that one Newton step is the solution
    quadratic: bool = False
    #: data passes of dual coordinate descent that take as long as a Newton step
    newton_step: float = 0.0
    #: whether ``newton_cg`` solves a joint problem at once, with a Hessian of all its unknowns
    tiny_classes: bool = False

    @property
    def curvature(self) -> float:
        """Mean squared norm of a row over lam n; C times the mean squared norm for an estimator."""
        return self.curvature_of()

    @property
    def tall(self) -> bool:
        """Whether there are few features, and at least twice as many rows."""
        return self.features <= MOST_FEATURES and self.examples >= 2 * self.features

    @property
    def long_rows(self) -> bool:
        """Whether X is large and its rows are long, so that a Hessian of all rows costs more than many products."""
        return self.entries >= _MANY_ENTRIES and self.entries > _LONG_ROW * self.examples

    @property
    def few_epochs(self) -> bool:
        """Whether dual coordinate descent with piecewise quadratic losses ends after a few epochs, on enough data."""
        easy = self.entries > _EPOCH_ENTRIES and self.curvature <= _EASY_CURVATURE
        return easy and self._plain_mean and not self.intercept

    @property
    def few_smooth_epochs(self) -> bool:
        """Whether the same holds for a smooth loss, of which Newton's method needs few steps as well."""
        easy = self.curvature <= _EASIER_CURVATURE or self.tol >= _FEW_DIGITS
        return self.cheap_steps and self.few_epochs and easy

    @property
    def costly_newton(self) -> bool:
        """Whether a Newton step takes longer than the epochs after which the pace of descent is known.

        On many entries in long rows L-BFGS precedes Newton steps, and epochs with logarithms take as long (mnist, all
        rows: 0.6 to 1.2 of the time with the squared hinge, 0.7 to 1.4 with the logistic loss).
        """
        least = COSTLY_STEP if self.curvature <= _MODERATE_CURVATURE else _COSTLIER_STEP
        costly = self.newton_step >= least and self.bounded_hess and self._plain_mean
        return costly and (self.cheap_steps or not self.long_rows)

    @property
    def lbfgs_on_dense_rows(self) -> bool:
        """Whether a Newton step on dense rows takes as long as many gradients, and epochs have logarithms."""
        dense = self.entries == self.examples * self.features and not self.cheap_steps
        return dense and self.newton_step >= COSTLY_STEP and self.bounded_hess and self._plain_mean

    @property
    def _plain_mean(self) -> bool:
        """Whether there is one output, with ridge, and X is in memory."""
        return self.ridge and self.outputs == 1 and not self.in_blocks

    @property
    def dual_chain_steps(self) -> bool:
        """Whether steps of one sequence at a time on the dual of the log-loss of chains take less time than L-BFGS."""
        most = _MOST_SPARSE_CURVATURE if self.sparse_chains else _MOST_DENSE_CURVATURE
        return self.features > _FEW_CHAIN_WEIGHTS and self.curvature <= most and self.chain_pairs <= _MOST_CHAIN_PAIRS

    @property
    def chain_planes(self) -> bool:
        """Whether cutting planes of the max-margin risk of chains take less time than Frank-Wolfe steps."""
        hard = self.curvature >= _LEAST_BUNDLE_CURVATURE or self.tol < _BUNDLE_TOLERANCE
        return hard and self.features <= _MOST_BUNDLE_WEIGHTS

    @property
    def tiny_program(self) -> bool:
        """Whether a mean of non-smooth losses has so few rows and entries that a linear program is solved at once."""
        few = self.examples <= _TINY_PROGRAM_ROWS and self.examples * self.features <= _TINY_PROGRAM_ENTRIES
        return few and self._rough_mean

    @property
    def small_program(self) -> bool:
        """Whether a mean of non-smooth losses has many features for its rows, and few entries."""
        few = 2 * self.features >= self.examples and self.examples * self.features <= _PROGRAM_ENTRIES
        return few and self._rough_mean

    @property
    def medium_program(self) -> bool:
        """Whether it has so few rows and entries that a linear program takes seconds, where planes may take minutes."""
        few = self.examples <= _PROGRAM_ROWS and self.examples * self.features <= _MOST_PROGRAM_ENTRIES
        return few and self._rough_mean

    @property
    def _rough_mean(self) -> bool:
        return not (self.smooth or self.joint or self.subgradient_only)


def _chain_pairs(sequences: Sequences) -> float:
    return sequences.matrices * sequences.labels * len(sequences) / sequences.tokens


def _share_few_features(design: ChainDesign) -> bool:
    tokens, features = design.tokens.shape
    return design.tokens.stored_entries <= features * max(_FEW_TOKENS, _FEW_OF_TOKENS * tokens)


def _are_tiny(problem: Problem) -> bool:
    # here, since its risk takes longer to import than most fits of other ones
    from fenchel.solvers.newton.tiny_classes import are_tiny

    return are_tiny(problem)


def facts_of(problem: Problem, tol: float) -> Facts:
    """Return the properties of a problem; costs less than one data pass."""
    examples, features = problem.design.shape
    # an example of weight zero is the same as a removed one
    examples = int(np.count_nonzero(problem.risk.shares))
    risk, regularizer, mean = problem.risk, problem.regularizer, problem.risk.separable()
    joint = risk.multiclass() is not None
    subgradient_only = mean is None and not joint
    chains, tokens = risk.chains(), problem.design.chains()
    return Facts(
        examples=examples,
        features=features,
        smooth=risk.smooth,
        tol=tol,
        joint=joint,
        subgradient_only=subgradient_only,
        smoothable=subgradient_only and risk.smoothable() is not None and risk.closed_form() is not None,
        curvature_of=lambda: problem.design.mean_square / (problem.lam * examples),
        ndcg=risk.ndcg() is not None,
        ranking=risk.pairwise_ranking() is not None,
        lasso=regularizer.l1_ratio == 1.0,
        steep=regularizer.singular_hess,
        constraint=mean is not None and mean.loss.constraint is not None,
        free=regularizer.free_directions() is not None,
        chains=chains is not None,
        chain_pairs=0.0 if chains is None else _chain_pairs(chains.sequences),
        sparse_chains=tokens is not None and _share_few_features(tokens),
        multilabel=risk.multilabel() is not None,
        entries=problem.design.stored_entries,
        outputs=1 if mean is None or mean.labels.ndim == 1 else mean.labels.shape[1],
        ridge=regularizer.l1_ratio == 0.0 and regularizer.free_directions() is None,
        intercept=problem.intercept,
        cheap_steps=mean is not None and mean.loss.piecewise_quadratic() is not None,
        bounded_hess=mean is not None and bool(np.isfinite(mean.loss.largest_curvature)),
        quadratic=mean is not None and mean.conjugate_curvature is not None,
        newton_step=step_passes(problem.design),
        tiny_classes=joint and risk.smooth and regularizer.is_ridge and tol >= _TIGHT and _are_tiny(problem),
        in_blocks=problem.design.block_rows is not None and problem.design.block_rows < problem.design.shape[0],
    )
