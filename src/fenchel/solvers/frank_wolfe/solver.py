r"""Block-coordinate Frank-Wolfe with pairwise steps for the max-margin risk of labelled sequences.

Solves :math:`\min_w \tfrac\lambda2\|w\|^2 + \sum_q c_q\max_y[\mathrm{Hamming}(y, y_q) + w\cdot\phi_q(y) -
w\cdot\phi_q(y_q)]` through its dual, with a distribution :math:`p_q` over labellings for each sequence,

.. math::
    \max_p\; -\tfrac\lambda2\|v\|^2 + \sum_q c_q\sum_k p_{qk}\,\mathrm{Hamming}(y_k, y_q), \qquad
    v = \tfrac1\lambda\sum_q c_q\sum_k p_{qk}\bigl(\phi_q(y_q) - \phi_q(y_k)\bigr)

Lacoste-Julien, Jaggi, Schmidt and Pletscher, "Block-coordinate Frank-Wolfe optimization for structural SVMs", ICML
2013; Osokin, Alayrac, Lukasewitz, Dokania and Lacoste-Julien, "Minding the gaps for block Frank-Wolfe optimization of
structured SVMs", ICML 2016.  A visit of a sequence

1. computes the scores of its tokens for w = v and, by the loss-augmented Viterbi recursion, the labelling y* of largest
   height :math:`h(y) = \mathrm{Hamming}(y, y_q) + v\cdot\phi_q(y)`; its block gap is :math:`h(y^*) - \sum_k p_kh(y_k)`;
2. moves weight from the active labelling of least height to y* (a pairwise step), by the exact line search
   :math:`\gamma = \min(p_{low}, \lambda(h(y^*) - h(y_{low})) / (c_q\|\phi_q(y_{low}) - \phi_q(y^*)\|^2))`;
3. repeats 2 among the labellings that are active already, the cache of the oracle's answers, without the recursion.

Epochs alternate: all sequences in a random order, then as many that are drawn with probabilities proportional to
:math:`c_q` times their last block gap (gap sampling).  The gaps add up to the duality gap of v, up to the changes since
the visits: an estimate that decides when to certify.

===================  ==================================================================
symbol               here
===================  ==================================================================
v                    ``state.W``, ``state.T``, ``state.ends``
:math:`y_k, p_k`     ``state.labels[k]``, ``state.weights[k]``, of all sequences
:math:`h(y_k)`       ``heights``
===================  ==================================================================

The labels of the k-th labelling of all sequences are one row of an array with a column for each token; it has as many
rows as the sequence with most labellings needs, up to a limit.  At the limit a sequence takes steps among the
labellings that it has, until one has lost its weight.

With a kernel v has coefficients of the tokens instead of weights of features, and ``state.W`` holds the scores of all
tokens for v, which a step moves along rows of the Gram matrix (``space``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.designs.rows import CSRRows
from fenchel.problem import Model, Problem, Witness
from fenchel.risks import ChainHinge
from fenchel.risks.chains.labellings import Labellings, labellings_of
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.chain_edges import edge_rows
from fenchel.solvers.frank_wolfe.loop import Active, Chains, Scratch, Vector, visits
from fenchel.solvers.frank_wolfe.space import Space, has_space, space_of
from fenchel.validation import check_bool, check_integer, check_seed

#: labellings of a sequence at first, and at most
_FEW_LABELLINGS, _MOST_LABELLINGS = 8, 512
#: visits of one call of the loop, so that limits are obeyed
_VISITS = 512
#: epochs after which v is computed from the labellings again, without the rounding errors of many steps
_RECOMPUTE_EPOCHS = 50
#: epochs in which no weight moves, after which the method stalls
_MAX_STILL_EPOCHS = 3


@dataclass
class State:
    """The weights v, and the active labellings with their weights."""

    problem: Problem
    space: Space
    risk: ChainHinge
    edges: CSRRows
    W: Floats
    #: the weights of pairs of labels, and those of each feature of pairs
    T: Floats
    ends: Floats
    labels: NDArray[np.int16]
    weights: Floats
    counts: NDArray[np.int64]
    gaps: Floats
    random: np.random.Generator
    #: zero, for differences of two labellings
    difference: Vector
    scratch: Scratch
    epochs: int = 0
    still_epochs: int = 0

    def stored(self) -> Floats:
        """The active labellings of all sequences as a decomposition: the first of each, then the second, ..."""
        sequences, total = self.risk.sequences, int(np.sum(self.counts))
        found = np.empty(1 + 2 * total + int(self.counts @ sequences.lengths))
        found[0], place, label = total, 1, 1 + 2 * total
        for k in range(int(np.max(self.counts))):
            owners = np.flatnonzero(self.counts > k)
            found[place : place + len(owners)] = owners
            found[place + total : place + total + len(owners)] = self.weights[k, owners]
            own = self.labels[k, np.repeat(self.counts > k, sequences.lengths)]
            found[label : label + len(own)] = own
            place, label = place + len(owners), label + len(own)
        return found

    def grow(self) -> None:
        """Twice as many rows of labellings."""
        rows = min(len(self.labels), _MOST_LABELLINGS - len(self.labels))
        self.labels = np.concatenate([self.labels, np.zeros((rows, self.labels.shape[1]), dtype=np.int16)])
        self.weights = np.concatenate([self.weights, np.zeros((rows, self.weights.shape[1]))])


@dataclass(frozen=True)
class FrankWolfe(Solver):
    """Block-coordinate Frank-Wolfe with pairwise steps, for the max-margin risk of labelled sequences.

    A data pass visits as many sequences as there are.  A visit costs the scores of its tokens, a Viterbi recursion and
    a few steps among labellings that were found before.

    Parameters
    ----------
    repeats : int, default=5
        Steps in a visit: the first uses the Viterbi recursion, the others the labellings that are active already.
    gap_sampling : bool, default=True
        Whether every other epoch draws sequences by their block gaps [2]_.
    seed : int, default=None
        The seed of the order of visits; None uses that of :func:`fenchel.solve`.

    See Also
    --------
    Bundle : Any risk with a subgradient.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher. "Block-coordinate Frank-Wolfe optimization for
           structural SVMs." ICML 2013.
    .. [2] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania and S. Lacoste-Julien. "Minding the gaps for block
           Frank-Wolfe optimization of structured SVMs." ICML 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.designs import ChainDesign
    >>> from fenchel.risks import ChainHinge
    >>> X = np.random.default_rng(0).standard_normal((6, 3))
    >>> problem = Problem(ChainDesign(X, labels=2), ChainHinge([0, 1, 1, 0, 0, 1], lengths=[2, 3, 1]), 0.1)
    >>> solution = solve(problem, "frank_wolfe")
    >>> solution.solver, solution.converged
    ('frank_wolfe', True)
    """

    repeats: int = 5
    gap_sampling: bool = True
    seed: int | None = None
    name: ClassVar[str] = "frank_wolfe"

    def __post_init__(self) -> None:
        check_integer("repeats", self.repeats, least=1)
        check_bool("gap_sampling", self.gap_sampling)
        if self.seed is not None:
            check_seed(self.seed)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            Need(
                lambda problem: needs.max_margin(problem) is not None,
                "requires the risk ChainHinge of labelled sequences",
            ),
            Need(
                lambda problem: problem.design.chains() is not None or problem.design.kernel() is not None,
                "requires a ChainDesign or a ChainGram",
            ),
            needs.MATCHING_CHAINS,
            needs.RIDGE_OR_KERNEL,
            Need(has_space, "requires the whole Gram matrix of the tokens in memory: raise memory_limit"),
        )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        needs.check_scale(problem)
        space, risk = space_of(problem), needs.max_margin(problem)
        assert risk is not None
        sequences = risk.sequences
        given = None if warm is None or warm.witness.decomposition is None else warm.witness.decomposition
        found = None if given is None or given.ndim != 1 else labellings_of(sequences, given)
        return _initial(problem, space, risk, found, np.random.default_rng(self.seed))

    def step(self, state: State, hint: Hint) -> float:
        if state.still_epochs >= _MAX_STILL_EPOCHS:
            return STALLED
        if state.epochs and state.epochs % _RECOMPUTE_EPOCHS == 0:
            _recompute(state)
        before = state.weights.copy()
        self._epoch(state, self._order(state))
        state.epochs += 1
        moved = before.shape != state.weights.shape or not np.array_equal(before, state.weights)
        state.still_epochs = 0 if moved else state.still_epochs + 1
        return 1.0

    def _order(self, state: State) -> NDArray[np.int64]:
        """The sequences to visit: all in a random order, or drawn by their gaps."""
        count, chances = len(state.gaps), state.risk.shares * state.gaps
        total = float(np.sum(chances))
        if not self.gap_sampling or state.epochs % 2 == 0 or not total > 0.0:
            weighted = np.flatnonzero(state.risk.shares > 0.0)
            return state.random.permutation(weighted)
        return state.random.choice(count, size=count, p=chances / total)

    def _epoch(self, state: State, order: NDArray[np.int64]) -> None:
        sequences, gold = state.risk.sequences, state.risk.labels.astype(np.int16)
        chains = Chains(np.append(sequences.begins, sequences.tokens), gold, state.risk.shares)
        v = _vector(state.W, state.T, state.ends)
        for begin in range(0, len(order), _VISITS):
            part, first = order[begin : begin + _VISITS], 0
            while first < len(part):
                first = visits(
                    state.space.rows,
                    state.space.images,
                    state.edges,
                    part,
                    first,
                    chains,
                    state.problem.lam,
                    self.repeats,
                    Active(state.labels, state.weights, state.counts, state.gaps),
                    v,
                    state.difference,
                    state.scratch,
                )
                if first < len(part):
                    if len(state.labels) == _MOST_LABELLINGS:
                        first += 1
                    else:
                        state.grow()

    def expected_gap(self, state: State) -> float:
        return float(state.risk.shares @ state.gaps)

    def propose(self, state: State) -> tuple[Model, Witness]:
        stored = state.stored()
        form = state.risk.decomposed_form(np.zeros(0), stored)
        assert form is not None
        weights = state.space.weights(state.W, state.T, state.ends, form.theta / state.problem.lam)
        return Model(weights), Witness(form.theta, None, stored)


def _initial(
    problem: Problem, space: Space, risk: ChainHinge, found: Labellings | None, random: np.random.Generator
) -> State:
    """The labellings of a warm start, or those of the data."""
    sequences = risk.sequences
    rows = _FEW_LABELLINGS
    if found is not None:
        counts = np.bincount(found.owners, minlength=len(sequences))
        if np.max(counts) > _MOST_LABELLINGS:
            found = None
        else:
            rows = max(rows, int(np.max(counts)))
    labels = np.zeros((rows, sequences.tokens), dtype=np.int16)
    weights = np.zeros((rows, len(sequences)))
    if found is None:
        labels[0], weights[0] = risk.labels, 1.0
        counts = np.ones(len(sequences), dtype=np.int64)
    else:
        counts = _fill(risk, found, labels, weights)
    # those of zero weights; sequences of weight zero are never visited
    gaps = np.where(risk.shares > 0.0, sequences.lengths, 0.0)
    parts, difference = _zeros(space, risk), _vector(*_zeros(space, risk))
    edges, scratch = edge_rows(sequences), _scratch(space, risk)
    state = State(problem, space, risk, edges, *parts, labels, weights, counts, gaps, random, difference, scratch)
    if found is not None:
        _recompute(state)
    return state


def _zeros(space: Space, risk: ChainHinge) -> tuple[Floats, Floats, Floats]:
    """W, T and the ends of v = 0."""
    m, matrices = risk.sequences.labels, risk.sequences.matrices
    return np.zeros((space.width, m)), np.zeros((matrices, m, m)), np.zeros((2, m))


def _vector(W: Array, T: Array, ends: Array) -> Vector:
    return Vector(W, T[0], T[1:], ends[0], ends[1])


def _scratch(space: Space, risk: ChainHinge) -> Scratch:
    m, longest = risk.sequences.labels, int(np.max(risk.sequences.lengths))
    return Scratch(
        tail=space.tail,
        u=np.empty((longest, m)),
        table=np.empty((longest, m)),
        pointers=np.zeros((longest, m), dtype=np.int16),
        best=np.empty(longest, dtype=np.int16),
        heights=np.empty(_MOST_LABELLINGS),
        pairs=np.empty((m, m)),
    )


def _fill(risk: ChainHinge, found: Labellings, labels: Array, weights: Array) -> NDArray[np.int64]:
    """Write labellings with positive weights, normalized, to the arrays; return their numbers."""
    sequences = risk.sequences
    counts = np.zeros(len(sequences), dtype=np.int64)
    place = 0
    for q, weight in zip(found.owners.tolist(), found.weights.tolist(), strict=True):
        begin, length = int(sequences.begins[q]), int(sequences.lengths[q])
        if weight > 0.0:
            labels[counts[q], begin : begin + length] = found.labels[place : place + length]
            weights[counts[q], q] = weight
            counts[q] += 1
        place += length
    for q in np.flatnonzero(counts == 0):
        begin, length = int(sequences.begins[q]), int(sequences.lengths[q])
        labels[0, begin : begin + length] = risk.labels[begin : begin + length]
        weights[0, q] = 1.0
        counts[q] = 1
    weights /= np.sum(weights, axis=0)
    return counts


def _recompute(state: State) -> None:
    """V from the labellings."""
    form = state.risk.decomposed_form(np.zeros(0), state.stored())
    assert form is not None
    state.W[...], state.T[...], state.ends[0], state.ends[1] = state.space.parts(form.theta / state.problem.lam)
