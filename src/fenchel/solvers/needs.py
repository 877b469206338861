"""Requirements that several solvers have of a problem, with the messages for problems that do not meet them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fenchel.errors import FenchelError
from fenchel.numerics.limits import LARGEST_CURVATURE
from fenchel.problem import Problem
from fenchel.solvers.base import Need

if TYPE_CHECKING:
    from fenchel.risks import ChainHinge


def check_scale(problem: Problem) -> None:
    """Raise FenchelError if X is not finite, or too large for lam in double precision."""
    check_norms([problem.design.largest_row_norm, problem.design.mean_square])
    check_lam(problem, problem.design.mean_square)


def check_norms(norms: ArrayLike) -> None:
    """Raise FenchelError if the squared norms of rows or columns are not finite."""
    if not np.all(np.isfinite(norms)):
        raise FenchelError("X holds NaN or infinity, or its squared norms overflow: repair or scale X")


def check_lam(problem: Problem, square: float) -> None:
    """Raise FenchelError if a squared norm is too large for lam in double precision."""
    if not square / problem.lam < LARGEST_CURVATURE:
        raise FenchelError(
            "the regularization is too weak for the size of X: lower C (in a Problem, raise lam), or scale X"
        )


def _constraint(problem: Problem) -> bool:
    mean = problem.risk.separable()
    return mean is not None and mean.loss.constraint is not None


def _overflows(problem: Problem) -> bool:
    mean = problem.risk.separable()
    return mean is not None and mean.loss.overflows


def _loss(problem: Problem) -> str:
    return repr(problem.mean_risk.loss.name)


def dual_block(problem: Problem) -> str | None:
    """Return the dual set of an example ('box', 'simplex' or 'entropy') of a joint multiclass risk, else None."""
    risk = problem.risk.multiclass()
    return None if risk is None else risk.dual_block


def max_margin(problem: Problem) -> ChainHinge | None:
    """Return the risk if it is the max-margin risk of labelled sequences."""
    risk = problem.risk.chains()
    return None if risk is None else risk.max_margin()


def _pairs_are_alike(problem: Problem) -> bool:
    risk = problem.risk.chains()
    return risk is None or risk.sequences.edges is None


def _chains_match(problem: Problem) -> bool:
    """Whether the numbers of tokens, labels and features of pairs are the same; sizes alone may agree by chance."""
    risk, design, kernel = problem.risk.chains(), problem.design.chains(), problem.design.kernel()
    gram = None if kernel is None else kernel.chain_gram()
    if risk is None or (design is None and gram is None):
        return True
    known = risk.sequences
    if design is not None:
        own = design.tokens.shape[0], design.labels, design.edge_features
    else:
        assert gram is not None
        own = gram.tokens.shape[0], gram.labels, 0
    return own == (known.tokens, known.labels, known.matrices - 1)


def unsupported_regularizer(problem: Problem) -> str:
    """Return the end of an error message that names the regularizer."""
    return f"does not support the regularizer {problem.regularizer.name!r}"


MEAN_OF_LOSSES = Need(
    lambda problem: problem.risk.separable() is not None, "requires a mean of losses, MeanRisk(loss, labels)"
)
#: must follow MEAN_OF_LOSSES
HESS_CONJUGATE = Need(
    lambda problem: problem.mean_risk.loss.has_hess_conjugate,
    lambda problem: (
        f"requires a compiled loss with the method hess_conjugate (and has_hess_conjugate = True), which "
        f"{_loss(problem)} does not have"
    ),
)
NO_OVERFLOW = Need(
    lambda problem: not _overflows(problem),
    lambda problem: f"does not support losses that overflow, such as {_loss(problem)}",
)
CONSTRAINT = Need(_constraint, "is for constraints: it requires the loss 'hard_margin' or 'interpolation'")
#: must follow CONSTRAINT
ONE_OUTPUT = Need(
    lambda problem: problem.risk.outputs is None,
    lambda problem: f"requires one output with the loss {_loss(problem)}",
)


def _bounded_intercept(problem: Problem) -> bool:
    """Whether each output has examples of both signs, or needs none, since its loss is bounded below."""
    mean = problem.mean_risk
    if mean.loss.bounded_below or not problem.intercept:
        return True
    labels = np.atleast_2d(mean.labels[mean.shares > 0].T)
    return bool(np.all(np.any(labels > 0, axis=1) & np.any(labels < 0, axis=1)))


#: must follow MEAN_OF_LOSSES
BOUNDED_INTERCEPT = Need(
    _bounded_intercept,
    lambda problem: (
        f"requires examples of both classes for a free intercept with the loss {_loss(problem)}, which is not bounded "
        "below: use intercept=False (of an estimator: fit_intercept=False)"
    ),
)
MATCHING_CHAINS = Need(
    _chains_match, "requires a design with as many tokens, labels and features of pairs as the risk of the sequences"
)
ALIKE_PAIRS = Need(_pairs_are_alike, "does not support features of pairs of tokens")
RIDGE = Need(
    lambda problem: problem.regularizer.is_ridge,
    lambda problem: f"requires the regularizer 'l2' (ridge), got {problem.regularizer.name!r}",
)
LASSO = Need(
    lambda problem: problem.regularizer.l1_ratio == 1.0,
    lambda problem: f"requires the regularizer 'l1' (lasso), got {problem.regularizer.name!r}",
)
RIDGE_OR_KERNEL = Need(
    lambda problem: problem.regularizer.is_ridge or problem.design.kernel() is not None,
    lambda problem: f"requires the regularizer 'l2' (ridge) or a Gram matrix, got {problem.regularizer.name!r}",
)
NO_KERNEL = Need(lambda problem: problem.design.kernel() is None, "does not support Gram matrices")
GRAM_IN_MEMORY = Need(
    lambda problem: problem.cached_gram is None, "requires the whole Gram matrix in memory: raise memory_limit"
)
NO_INTERCEPT = Need(
    lambda problem: not problem.intercept,
    "does not support a free intercept, which is not regularized: use intercept=False (of an estimator: "
    "fit_intercept=False)",
)
