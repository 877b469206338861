r"""The excessive gap technique over labellings, with the entropy: Zhang, Saha and Vishwanathan (2010), Sec. 5.1.

Solves :math:`\min_w J(w) = \tfrac\lambda2\|w\|^2 + \max_z\,[\Delta(z) - \theta(z)\cdot Xw]` for any measure of a
contingency table.  Its dual is over distributions :math:`\alpha` on the :math:`2^n` labellings,
:math:`D(\alpha) = E_\alpha\Delta - \|X^TE_\alpha\theta\|^2/(2\lambda)`, and the proximal function is the entropy
relative to the uniform distribution, whose range is :math:`D_2 = n\log 2`.  Only the distributions (21) are needed, and
only their means (``risks.measures.labellings``):

.. math:: \alpha_\mu(w):\quad p(z) \propto \exp\bigl([\Delta(z) - \theta(z)\cdot Xw]/\mu\bigr), \qquad
          R_\mu = \mu\log\,\text{mean}_z \exp(\cdot)

The paper's Bregman step starts from :math:`\hat\alpha = \alpha_{\mu_k}(w_k)` (from a convex combination the result
would not have this form):
:math:`\tilde\alpha \propto \hat\alpha\,e^{\kappa\nabla D(\beta)},\ \kappa = \tau/((1-\tau)\mu_k)`, which is
:math:`\alpha_{\mu_{k+1}}(w_{k+1})`, so that the method is that of ``averaging``, with :math:`L \le
\max_z\|X^T\theta(z)\|^2/\lambda`.  Each trial of L costs one product with X, one with its transpose and a sum of
:math:`O(n^2)` terms, which limits the method to a few thousand examples.

The max-margin risk of labelled sequences (Saha, Zhang and Vishwanathan 2009, App. E.1) is a mean of maxima over
labellings too, with a distribution for each sequence and the entropies weighted by :math:`c_q`: the distributions are
Gibbs distributions, their means are found by sum-product recursions (``risks.chains.markov``), :math:`D_2 =
\sum_q c_q L_q\log m`, and :math:`L \le \sum_q c_q \max_y\|X^T\phi_q(y)\|^2/\lambda`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenchel.arrays import Floats
from fenchel.problem import Problem
from fenchel.risks import ChainHinge
from fenchel.risks.chains.markov import gibbs_chain
from fenchel.risks.chains.sequences import ChainScores
from fenchel.risks.measures.labellings import moments
from fenchel.solvers import needs
from fenchel.solvers.base import Need, Warm
from fenchel.solvers.reference.averaging import Averages, Maximizer, first_averages
from fenchel.solvers.reference.excessive_gap import ExcessiveGapSolver


@dataclass(frozen=True)
class Bregman(ExcessiveGapSolver):
    """Excessive gap method with the entropy over labellings, for comparison.

    For performance measures of a contingency table with some thousand examples, where a step takes O(n^2), and for the
    max-margin risk of labelled sequences, where it takes a sum-product recursion.

    See Also
    --------
    Bundle : The default for measures.
    Pragam : The excessive gap method with other distances.

    References
    ----------
    .. [1] X. Zhang, A. Saha and S. V. N. Vishwanathan. "Lower bounds on rate of convergence of cutting plane methods."
           NIPS, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import F1
    >>> from fenchel.solvers import Bregman
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> y = np.where(X[:, 0] > 0, 1.0, -1.0)
    >>> solution = solve(Problem(X, F1(y), 0.1), Bregman())
    >>> solution.solver, solution.converged
    ('bregman', True)
    """

    name: ClassVar[str] = "bregman"

    @property
    def needs(self) -> tuple[Need, ...]:
        table = Need(
            lambda problem: problem.risk.contingency() is not None or needs.max_margin(problem) is not None,
            "requires a measure of a contingency table, or the risk ChainHinge of labelled sequences",
        )
        return (table, needs.ALIKE_PAIRS, needs.RIDGE, needs.NO_INTERCEPT)

    def start(self, problem: Problem, warm: Warm | None) -> Averages:
        design, risk, chains = problem.design, problem.risk.contingency(), needs.max_margin(problem)
        if chains is not None:
            return _chain_averages(problem, chains)
        assert risk is not None
        lipschitz_bound = float(np.mean(np.sqrt(design.squared_row_norms))) ** 2 / problem.lam or 1.0
        # the uniform distribution over the admissible labellings
        uniform = moments(risk, 0.0, np.zeros(risk.examples))

        def maximize(mu: float, scores: Floats) -> Maximizer:
            found = moments(risk, 1.0 / mu, scores / mu)
            mixture = found.mixture if risk.decomposable() is not None else None
            return Maximizer(mu * (found.log_total - uniform.log_total), found.theta, found.delta, mixture)

        return first_averages(problem, maximize, uniform.theta, lipschitz_bound, risk.examples * math.log(2.0))


def _chain_averages(problem: Problem, risk: ChainHinge) -> Averages:
    """Step 1 for labelled sequences: Gibbs distributions of (Hamming distance + score) / mu."""
    sequences, m = risk.sequences, risk.sequences.labels
    nothing = sequences.lengths * math.log(m)
    wrong = np.ones((sequences.tokens, m))
    wrong[np.arange(sequences.tokens), risk.labels] = 0.0

    def maximize(mu: float, scores: Floats) -> Maximizer:
        parts = sequences.split(scores)
        augmented = parts._replace(nodes=parts.nodes + wrong)
        logs, weights = gibbs_chain(sequences, ChainScores(*(part / mu for part in augmented)))
        form = risk.decomposed_form(np.zeros(0), weights)
        assert form is not None
        value = risk.mean(mu * (logs - nothing) - risk.gold_scores(parts))
        return Maximizer(value, form.theta, -form.conjugate(form.theta, feasible=True), weights)

    # |X^T phi(y)| is at most the sum of the norms of the largest rows
    with np.errstate(over="ignore", invalid="ignore"):
        norms = sequences.split(np.sqrt(problem.design.squared_row_norms))
        lengths = np.add.reduceat(np.max(norms.nodes, axis=1), sequences.begins)
        lengths += (sequences.lengths - 1) * np.max(norms.transitions) + np.max(norms.start) + np.max(norms.end)
        square = float(risk.shares @ lengths**2)
    needs.check_norms(square)
    needs.check_lam(problem, square)
    bound = square / problem.lam or 1.0
    uniform = maximize(1.0, -_scores_of(risk, wrong))
    return first_averages(problem, maximize, uniform.theta, bound, risk.mean(nothing))


def _scores_of(risk: ChainHinge, nodes: Floats) -> Floats:
    """Scores of tokens as one vector, with zero for pairs, first and last labels."""
    return np.concatenate([nodes.ravel(), np.zeros(risk.examples - nodes.size)])
