r"""Exponentiated gradient steps on the dual of the log-loss of labelled sequences (conditional random fields).

.. math::
    \max_p\; -\tfrac\lambda2\|v\|^2 + \sum_q c_q H(p_q), \qquad
    v = \tfrac1\lambda\sum_q c_q\bigl(\phi_q(y_q) - E_{p_q}\phi_q(y)\bigr)

with a distribution :math:`p_q` over the labellings of each sequence.  Collins, Globerson, Koo, Carreras and Bartlett,
"Exponentiated gradient algorithms for conditional random fields and max-margin Markov networks", JMLR 9, 2008.
:math:`p_q` is the Gibbs distribution of natural parameters :math:`(u_q, U_q)`, scores of its tokens and of pairs of
labels.  A visit of a sequence moves them towards the scores of w = v,

.. math:: (u_q, U_q) \leftarrow (1 - \eta_q)(u_q, U_q) + \eta_q\,(s_q, T)

computes the marginals by forward-backward and moves v by the change of the means of the features.  A step that
decreases the dual objective is undone and halved, one that does not makes the next step of the sequence longer by a
tenth.  The parameters of pairs stay those of one matrix for each sequence, since T is the same for all its pairs; so
nothing has an entry for each token and pair of labels.  With K features of pairs of tokens, :math:`U_q` and T are 1 + K
matrices, and so are the sums of the features of pairs: the scores of every pair are linear in them.

At first :math:`p_q` is the labelling of the data, of which v is zero.  It has no finite parameters: a sequence that is
visited for the first time has :math:`u_{t,y_t} = 8`, or more if that decreases the dual objective, and zero elsewhere.

The gain of a step of length :math:`\eta` at fixed v is :math:`KL(p_q, P_q) - KL(p_q', P_q)` with the Gibbs distribution
:math:`P_q` of the scores, and about :math:`(1 - (1 - \eta)^2)\,KL(p_q, P_q)`; :math:`\sum_q c_qKL(p_q, P_q)` is the
duality gap of v and p.  The witness that is certified is that of P at w = v, whose gap is the squared norm of the
gradient over :math:`2\lambda`: larger, by one to two orders of magnitude on text.

===================================  ====================================================
symbol                               here
===================================  ====================================================
v                                    ``weights.W``, ``weights.T``, ``weights.ends``
:math:`u, U`                         ``dual.u``, ``dual.U``
marginals of tokens, sums of pairs'  ``dual.nodes``, ``dual.pairs``
:math:`H(p_q), \eta_q`               ``dual.entropies``, ``dual.steps``
===================================  ====================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Floats
from fenchel.designs.chains import ChainDesign
from fenchel.designs.rows import CSRRows
from fenchel.problem import Model, Problem, Witness
from fenchel.risks.chains.base import ChainRisk
from fenchel.risks.decomposition import normalized
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.chain_edges import edge_rows
from fenchel.solvers.exponentiated_gradient.loop import FIRST_STEP, Dual, Scratch, Weights, marginals, visits
from fenchel.validation import check_seed

#: the first score of the labels of the data
_FIRST_SCORE = 8.0
#: visits of one call of the loop, so that limits are obeyed
_VISITS = 512
#: epochs after which v is computed from the marginals again, without the rounding errors of many steps
_RECOMPUTE_EPOCHS = 50
#: gap of the witness over that of v and p that is expected
_LOOSENESS = 10.0


def _log_loss(problem: Problem) -> bool:
    risk = problem.risk.chains()
    return risk is not None and risk.max_margin() is None


@dataclass
class State:
    """The distributions and the weights v."""

    problem: Problem
    design: ChainDesign
    risk: ChainRisk
    #: the first token of each sequence, and the number of tokens
    begins: NDArray[np.int64]
    edges: CSRRows
    dual: Dual
    weights: Weights
    scratch: Scratch
    random: np.random.Generator
    epochs: int = 0
    stalled: bool = False

    def flat_weights(self) -> Floats:
        """V as weights of the problem."""
        return self.design.joined(self.weights.W, self.weights.T, *self.weights.ends)


@dataclass(frozen=True)
class ExponentiatedGradient(Solver):
    """Dual exponentiated gradient steps of one sequence at a time, for the log-loss of labelled sequences.

    A data pass visits every sequence once, at the cost of the scores of its tokens, forward-backward and an update of
    their weights.

    Parameters
    ----------
    seed : int, default=None
        The seed of the order of visits; None uses that of :func:`fenchel.solve`.

    See Also
    --------
    Smoothing : L-BFGS on the primal problem.
    FrankWolfe : The max-margin risk.

    References
    ----------
    .. [1] M. Collins, A. Globerson, T. Koo, X. Carreras and P. L. Bartlett. "Exponentiated gradient algorithms for
           conditional random fields and max-margin Markov networks." JMLR 9, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.designs import ChainDesign
    >>> from fenchel.risks import ChainLogistic
    >>> X = np.random.default_rng(0).standard_normal((6, 3))
    >>> problem = Problem(ChainDesign(X, labels=2), ChainLogistic([0, 1, 1, 0, 0, 1], lengths=[2, 3, 1]), 0.1)
    >>> solution = solve(problem, "exponentiated_gradient")
    >>> solution.solver, solution.converged
    ('exponentiated_gradient', True)
    """

    seed: int | None = None
    name: ClassVar[str] = "exponentiated_gradient"

    def __post_init__(self) -> None:
        if self.seed is not None:
            check_seed(self.seed)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            Need(_log_loss, "requires the risk ChainLogistic of labelled sequences"),
            Need(lambda problem: problem.design.chains() is not None, "requires a ChainDesign"),
            needs.MATCHING_CHAINS,
            needs.RIDGE,
        )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        needs.check_scale(problem)
        design, risk = problem.design.chains(), problem.risk.chains()
        assert design is not None
        assert risk is not None
        state = _initial(problem, design, risk, np.random.default_rng(self.seed))
        scores = None if warm is None else _scores_of(problem, warm)
        if scores is not None:
            parts = risk.sequences.split(scores)
            dual, begins, lasts = state.dual, risk.sequences.begins, risk.sequences.lasts
            dual.u[...], dual.U[...] = parts.nodes, parts.transitions
            dual.u[begins] += parts.start
            dual.u[lasts] += parts.end
            marginals(state.edges, state.begins, dual, state.scratch)
            _recompute(state)
        return state

    def step(self, state: State, hint: Hint) -> float:
        if state.stalled:
            return STALLED
        if state.epochs and state.epochs % _RECOMPUTE_EPOCHS == 0:
            _recompute(state)
        order, moved = state.random.permutation(np.flatnonzero(state.risk.shares > 0.0)), 0
        rows, lam = state.design.tokens.rows(), state.problem.lam
        dual = state.dual, state.weights, state.scratch
        for first in range(0, len(order), _VISITS):
            part = order[first : first + _VISITS]
            moved += visits(rows, state.edges, part, state.begins, state.risk.shares, lam, *dual)
        state.epochs += 1
        state.stalled = moved == 0
        return 1.0

    def expected_gap(self, state: State) -> float:
        return _LOOSENESS * float(state.risk.shares @ state.dual.gaps)

    def propose(self, state: State) -> tuple[Model, Witness]:
        """Return v, and the Gibbs distributions of its scores."""
        weights = state.flat_weights()
        # the scores of the decomposition, of which there is no second array
        decomposition = state.risk.decompose(state.design.scores(weights), np.zeros(0))
        slope = state.risk.subgradient(decomposition[0, 1:])
        return Model(weights), Witness(np.negative(slope, out=slope), None, decomposition)


def _initial(problem: Problem, design: ChainDesign, risk: ChainRisk, random: np.random.Generator) -> State:
    """The labellings of the data."""
    sequences, tokens = risk.sequences, np.arange(risk.sequences.tokens)
    n, count, m = sequences.tokens, len(sequences), sequences.labels
    nodes, pairs = np.zeros((n, m)), np.zeros((count, sequences.matrices, m, m))
    nodes[tokens, risk.labels] = 1.0
    _add_gold_pairs(risk, pairs)
    # gaps of zero weights
    gaps = np.where(risk.shares > 0.0, sequences.lengths * np.log(m), 0.0)
    parameters = _FIRST_SCORE * nodes, np.zeros(pairs.shape)
    rest = np.zeros(count), np.full(count, FIRST_STEP), np.zeros(count, dtype=bool), gaps
    tail = np.array([design.has_transitions, design.has_ends])
    weights = Weights(np.zeros((design.tokens.shape[1], m)), np.zeros(pairs.shape[1:]), np.zeros((2, m)), tail)
    scratch = _scratch(int(np.max(sequences.lengths)), m, sequences.matrices)
    begins, dual = np.append(sequences.begins, n), Dual(*parameters, nodes, pairs, *rest)
    return State(problem, design, risk, begins, edge_rows(sequences), dual, weights, scratch, random)


def _add_gold_pairs(risk: ChainRisk, pairs: Floats) -> None:
    """Add the features of the pairs of labels of the data to those of each sequence."""
    sequences, inner = risk.sequences, risk.sequences.inner
    owners, before, after = sequences.owners[inner], risk.labels[inner], risk.labels[inner + 1]
    np.add.at(pairs[:, 0], (owners, before, after), 1.0)
    if sequences.edges is not None:
        rows, features, values = sequences.edges.entries(inner + 1)
        np.add.at(pairs, (owners[rows], 1 + features, before[rows], after[rows]), values)


def _scratch(longest: int, m: int, matrices: int) -> Scratch:
    return Scratch(
        s=np.empty((longest, m)),
        u=np.empty((longest, m)),
        U=np.empty((matrices, m, m)),
        E=np.empty((m, m)),
        e=np.empty((longest, m)),
        f=np.empty((longest, m)),
        inverses=np.empty(longest),
        b=np.empty(m),
        B=np.empty(m),
        nodes=np.empty((longest, m)),
        pairs=np.empty((matrices, m, m)),
        squares=np.empty(m),
        room=np.empty((m, m)),
    )


def _scores_of(problem: Problem, warm: Warm) -> Floats | None:
    """The mean scores of the Gibbs distributions of a warm start, those of its model, or None."""
    given = warm.witness.decomposition
    if given is not None and given.ndim == 2 and given.shape[1] == problem.risk.examples + 1 and np.any(given[:, 0]):
        scores: Floats = normalized(given[:, 0]) @ given[:, 1:]
        return scores
    return problem.design.scores(warm.model.weights) if problem.fits(warm.model) else None


def _recompute(state: State) -> None:
    """V from the marginals."""
    risk, dual, sequences = state.risk, state.dual, state.risk.sequences
    means = np.empty(risk.examples)
    parts = sequences.split(means)
    np.multiply(dual.nodes, risk.token_shares[:, None], out=parts.nodes)
    parts.transitions[...] = np.tensordot(risk.shares, dual.pairs, axes=1).reshape(parts.transitions.shape)
    parts.start[...], parts.end[...] = (risk.shares @ dual.nodes[at] for at in (sequences.begins, sequences.lasts))
    theta = risk.theta_of(means)
    W, T, a, z = state.design.split(state.design.adjoint(theta / state.problem.lam))
    state.weights.W[...], state.weights.T[...], state.weights.ends[...] = W, T, (a, z)
