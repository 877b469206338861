r"""Euclidean projection onto the edge marginals of chains: unit flows through trellises.

.. math::
    \min_\alpha\; \tfrac12\sum_t d_t^2\,\|\alpha_t - m_t\|^2 \quad\text{s.t.}\quad \alpha\ge 0,\quad
    \textstyle\sum_{ij}\alpha_t(i,j) = 1,\quad \sum_i\alpha_t(i,j) = \sum_k\alpha_{t+1}(j,k)

Saha, Zhang and Vishwanathan, Lower bounds for BMRM and faster rates for training SVMs, App. E.3.1, with corrections:
(38) needs :math:`d_t^{-2}`, and its derivative in :math:`\mu_t(i)` a minus before the sum of edge t + 1.  The paper's
Alg. 3 alternates between :math:`\xi` and conjugate gradients in :math:`(\lambda, \mu)`.  Here :math:`\xi` is
eliminated, and so are all :math:`\lambda_t` but that of the first edge, since a constant that is added to
:math:`\mu_t` moves one :math:`\lambda` into the next:

.. math::
    \alpha_t(i,j) = d_t^{-2}\,[z_t(i,j)]_+, \qquad z_t(i,j) = d_t^2 m_t(i,j) + \mu_t(j) - \mu_{t-1}(i), \qquad
    \mu_0 = -\lambda, \quad \mu_{L-1} = 0

    \min_{\lambda,\mu}\; D = \tfrac12\sum_t d_t^{-2}\sum_{ij}[z_t(i,j)]_+^2 - \lambda

which is convex, piecewise quadratic and without constraints.  A semismooth Newton method minimizes it: its Hessian, the
Laplacian of the graph of the edges with positive flow, is block tridiagonal with blocks of m labels, so a step takes
:math:`O(Lm^3)`, and a line search in D makes it converge from anywhere; near the solution the edges with positive flow
no longer change and one step is exact.  Where the positive edges do not connect both ends the Hessian is singular: a
small multiple of the identity is added, and after a short step the edges with :math:`z` a little below zero, by a
multiple of the violation of the equalities, count as positive too, so that a step closes many gaps at once.

The start divides the loss of the best path through each node evenly among its edges (max-sum messages), and projects
each edge onto a simplex.  After it the potentials are of the size of d^2, however large the targets are.

=====================  ===============================================================
symbol                 here
=====================  ===============================================================
:math:`z_t`            ``z``, for all edges of all chains
:math:`d_t^{-2}`       ``inverse``
:math:`\mu_t`          ``heads`` of edge t, ``tails`` of edge t + 1
=====================  ===============================================================
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.limits import EPS
from fenchel.stopping import stop_point

#: largest number of Newton steps; random chains of 14 tokens and 26 labels need 5 to 20, one of 1,000 tokens up to 80
_MAX_STEPS = 500
#: violation of the equalities, in roundings of a sum of m numbers of size one, at which a chain is finished
_ROUNDINGS = 8.0
#: multiple of the identity that is added to the Hessian, relative to the largest d^-2
_SHIFT = 1e-11
#: largest derivative at the end of a line search, relative to that at its beginning; its largest number of trials
_CURVATURE_CONDITION, _MAX_TRIALS = 0.5, 60
#: shorter steps widen the set of entries that count as positive in the Hessian, by this factor and from this width on
_SHORT_STEP, _WIDER, _FIRST_WIDTH = 0.3, 4.0, 0.3
#: share of the bracket within which a secant step is replaced by bisection
_NEAR_END = 0.1
#: steps without a smaller violation after which a chain is finished, once its violation is this small: it is rounding
_MAX_STEPS_WITHOUT_PROGRESS, _NEARLY_ROUNDING = 5, 1e-10

Integers = NDArray[np.int64]


class _Trellis(NamedTuple):
    """Chains in the order of falling length, whose edges lie position after position."""

    #: the chains with more than t edges, for t = 0, 1, ...
    active: list[int]
    #: the first edge of each position
    begins: list[int]
    #: the chain of each edge, the edge before it (-1 at the first) and the edge after it (-1 at the last)
    owners: Integers
    before: Integers
    after: Integers

    @property
    def chains(self) -> int:
        return self.active[0]

    def sums(self, values: Array) -> Floats:
        """The sums of a number for each edge over each chain."""
        found: Floats = np.zeros(self.chains)
        found += np.bincount(self.owners, values, self.chains)
        return found


def onto_chain_marginals(targets: ArrayLike, counts: ArrayLike, scales: ArrayLike = 1.0) -> Floats:
    """Project onto the edge marginals of chains.

    ``targets`` is (edges, m, m), the edges of one chain after those of the other; ``counts`` has the number of edges of
    each chain, all at least 1, and ``scales`` d for each edge.  Equalities hold up to rounding: the sums of
    neighbouring edges differ by some 1e-14.
    """
    m, sizes = np.asarray(targets, dtype=np.float64), np.asarray(counts, dtype=np.int64)
    if m.ndim != 3 or m.shape[1] != m.shape[2] or sizes.ndim != 1 or np.any(sizes < 1) or np.sum(sizes) != len(m):
        raise FenchelError(
            f"targets must have the shape (edges, labels, labels) and counts add up to the edges, got {m.shape} and "
            f"counts {sizes.tolist()[:10]}"
        )
    d = np.broadcast_to(np.asarray(scales, dtype=np.float64), len(m))
    if not np.all(np.isfinite(m)) or not np.all((d > 0.0) & np.isfinite(d)):
        raise FenchelError("targets must be finite, and scales positive numbers")
    trellis, order = _trellis(sizes)
    squares = d[order] ** 2
    z = m[order] * squares[:, None, None]
    found = np.empty_like(m)
    found[order] = _newton(trellis, _start(trellis, z, squares), 1.0 / squares)
    return found


def _trellis(sizes: Integers) -> tuple[_Trellis, Integers]:
    """The trellis of chains of these sizes, and the places of its edges among those of the chains in their order."""
    ranked = np.argsort(-sizes, kind="stable")
    lengths, firsts = sizes[ranked], (np.cumsum(sizes) - sizes)[ranked]
    active = (len(sizes) - np.cumsum(np.bincount(sizes))[:-1]).tolist()
    begins = (np.cumsum(active) - active).tolist()
    owners = np.concatenate([np.arange(count) for count in active])
    positions = np.repeat(np.arange(len(active)), active)
    edges = np.arange(len(owners))
    before = np.where(positions > 0, edges - np.append(0, active)[positions], -1)
    after = np.where(positions + 1 < lengths[owners], edges + np.array(active)[positions], -1)
    return _Trellis(active, begins, owners, before, after), firsts[owners] + positions


def _start(trellis: _Trellis, z: Floats, squares: Floats) -> Floats:
    """z with the potentials of the start: those of max-sum messages, and one number for each edge."""
    m, edges = z.shape[1], len(z)
    # the best path to the tail of each edge, and from its head; f and b in the order of the trellis
    f, b = np.zeros((edges, m)), np.zeros((edges, m))
    for t in range(1, len(trellis.active)):
        count, begin, last = trellis.active[t], trellis.begins[t], trellis.begins[t - 1]
        f[begin : begin + count] = np.max(f[last : last + count, :, None] + z[last : last + count], axis=1)
    for t in range(len(trellis.active) - 2, -1, -1):
        count, begin, last = trellis.active[t + 1], trellis.begins[t + 1], trellis.begins[t]
        b[last : last + count] = np.max(z[begin : begin + count] + b[begin : begin + count, None, :], axis=2)
    own = trellis.sums(np.ones(edges))[trellis.owners]
    positions = np.repeat(np.arange(len(trellis.active)), trellis.active)
    # the best path through the node at the tail: from the start and to the end
    to_end = np.max(z + b[:, None, :], axis=2)
    share = (positions / own)[:, None]
    tails = (1.0 - share) * f - share * to_end
    heads = np.where((trellis.after >= 0)[:, None], tails[trellis.after], 0.0)
    moved = z + tails[:, :, None] - heads[:, None, :]
    return moved + _simplex_shifts(moved.reshape(edges, -1), squares)[:, None, None]


def _simplex_shifts(z: Floats, totals: Floats) -> Floats:
    """The numbers c with sum [z + c]_+ = total of each row."""
    ordered = -np.sort(-z, axis=1)
    shifts = (totals[:, None] - np.cumsum(ordered, axis=1)) / np.arange(1.0, z.shape[1] + 1.0)
    # the entries that are positive with the shift of the entries up to themselves
    count = np.sum(ordered + shifts > 0.0, axis=1)
    return shifts[np.arange(len(z)), np.maximum(count, 1) - 1]


def _newton(trellis: _Trellis, z: Floats, inverse: Floats) -> Floats:
    """The flows at the minimum of D, from the z of a start."""
    flows = inverse[:, None, None] * np.maximum(z, 0.0)
    best, still, tolerance = np.full(trellis.chains, np.inf), np.zeros(trellis.chains), _ROUNDINGS * EPS * z.shape[1]
    widths = np.zeros(trellis.chains)
    for _ in range(_MAX_STEPS):
        stop_point()
        slope, slope_lam = _gradient(trellis, flows)
        violation = np.zeros(trellis.chains)
        np.maximum.at(violation, trellis.owners, np.max(np.abs(slope), axis=1))
        np.maximum(violation, np.abs(slope_lam), out=violation)
        still = np.where((violation < best) | (best > _NEARLY_ROUNDING), 0, still + 1)
        best = np.minimum(best, violation)
        moving = (violation > tolerance) & (still < _MAX_STEPS_WITHOUT_PROGRESS)
        count = int(np.sum(moving))
        if count == 0:
            break
        if 2 * count <= trellis.chains:
            # the others are finished
            sizes, some = trellis.sums(np.ones(len(z))), moving[trellis.owners]
            flows[some] = _newton(_trellis(sizes[moving].astype(np.int64))[0], z[some], inverse[some])
            break
        near = (widths * np.minimum(violation, 1.0))[trellis.owners] / inverse
        heads, lam = _direction(trellis, z > -near[:, None, None], inverse, slope, slope_lam)
        change = _change(trellis, heads, lam)
        lengths = _line_search(trellis, z, change, inverse, lam, moving)
        wider, narrower = np.maximum(_WIDER * widths, _FIRST_WIDTH), np.where(widths < 0.1, 0.0, widths / _WIDER)
        widths = np.where(lengths < _SHORT_STEP, wider, narrower)
        z = z + lengths[trellis.owners][:, None, None] * change
        flows = inverse[:, None, None] * np.maximum(z, 0.0)
    return flows


def _gradient(trellis: _Trellis, flows: Floats) -> tuple[Floats, Floats]:
    """The derivatives of D in mu, for the head of each edge, and in lambda."""
    into, out = np.sum(flows, axis=1), np.sum(flows, axis=2)
    inner = trellis.after >= 0
    slope = np.zeros_like(into)
    slope[inner] = into[inner] - out[trellis.after[inner]]
    return slope, np.sum(out[: trellis.chains], axis=1) - 1.0


def _change(trellis: _Trellis, heads: Floats, lam: Floats) -> Floats:
    """The change of z by changes of the potentials."""
    tails = np.where((trellis.before >= 0)[:, None], heads[trellis.before], 0.0)
    tails[: trellis.chains] = -lam[:, None]
    found: Floats = heads[:, None, :] - tails[:, :, None]
    return found


def _direction(
    trellis: _Trellis, positive: NDArray[np.bool_], inverse: Floats, slope: Floats, slope_lam: Floats
) -> tuple[Floats, Floats]:
    """Newton's step in mu and lambda: elimination from the last nodes to the first."""
    edges, m = slope.shape
    A = inverse[:, None, None] * positive
    shift = _SHIFT * float(np.max(inverse))
    diagonal = np.sum(A, axis=1) + shift
    inner = trellis.after >= 0
    diagonal[inner] += np.sum(A[trellis.after[inner]], axis=2)
    # S^-1 [A^T, right] of each edge with a node at its head
    solved, right = np.zeros((edges, m, m + 1)), -slope
    for t in range(len(trellis.active) - 2, -1, -1):
        count, begin, following = trellis.active[t + 1], trellis.begins[t], trellis.begins[t + 1]
        here, on = slice(begin, begin + count), trellis.active[t + 2] if t + 2 < len(trellis.active) else 0
        S = np.zeros((count, m, m))
        S[:, np.arange(m), np.arange(m)] = diagonal[here]
        if on:
            B = A[following : following + on]
            S[:on] -= B @ solved[following : following + on, :, :m]
            right[begin : begin + on] += (B @ solved[following : following + on, :, m:])[:, :, 0]
        both = np.concatenate([np.transpose(A[here], (0, 2, 1)), right[here][:, :, None]], axis=2)
        solved[here] = np.linalg.solve(S, both)
    return _back_substituted(trellis, A, solved, slope_lam, shift)


def _back_substituted(
    trellis: _Trellis, A: Floats, solved: Floats, slope_lam: Floats, shift: float
) -> tuple[Floats, Floats]:
    """Lambda, and then mu from the first nodes to the last."""
    chains, m = trellis.chains, A.shape[1]
    # lambda is added to all entries of the first edge: the coupling with mu_1 is the sum over i
    ahead = solved[:chains]
    coupling = np.sum(A[:chains], axis=1)
    pivot = np.sum(A[:chains], axis=(1, 2)) + shift - np.einsum("qj,qj->q", coupling, np.sum(ahead[:, :, :m], axis=2))
    lam = (-slope_lam - np.einsum("qj,qj->q", coupling, ahead[:, :, m])) / np.maximum(pivot, shift)
    heads = np.zeros(A.shape[:2])
    tails = np.broadcast_to(-lam[:, None], (chains, m))
    for t in range(len(trellis.active) - 1):
        count, begin = trellis.active[t + 1], trellis.begins[t]
        here = slice(begin, begin + count)
        heads[here] = solved[here, :, m] + np.einsum("qji,qi->qj", solved[here, :, :m], tails[:count])
        tails = heads[here]
    return heads, lam


def _line_search(
    trellis: _Trellis, z: Floats, change: Floats, inverse: Floats, lam: Floats, moving: NDArray[np.bool_]
) -> Floats:
    """The lengths of the steps of all chains: roots of the derivative of D, which is monotone, up to a share."""

    def derivative(lengths: Floats) -> Floats:
        moved = np.maximum(z + lengths[trellis.owners][:, None, None] * change, 0.0)
        return trellis.sums(inverse * np.einsum("eij,eij->e", moved, change)) - lam

    lengths, low, high = np.where(moving, 1.0, 0.0), np.zeros(trellis.chains), np.full(trellis.chains, np.inf)
    first = derivative(np.zeros(trellis.chains))
    low_slope, high_slope = first.copy(), np.full(trellis.chains, np.nan)
    searching = moving.copy()
    for _ in range(_MAX_TRIALS):
        here = derivative(lengths)
        searching &= np.abs(here) > _CURVATURE_CONDITION * np.abs(first)
        if not np.any(searching):
            break
        up, down = searching & (here < 0.0), searching & (here >= 0.0)
        low[up], low_slope[up] = lengths[up], here[up]
        high[down], high_slope[down] = lengths[down], here[down]
        bounded = searching & np.isfinite(high)
        lengths[searching & ~bounded] *= 4.0
        width = np.where(bounded, high - low, 0.0)
        # bisection where the secant is near an end
        share = np.divide(low_slope, low_slope - high_slope, out=np.full_like(low, 0.5), where=bounded)
        share[(share < _NEAR_END) | (share > 1.0 - _NEAR_END)] = 0.5
        lengths = np.where(bounded, low + share * width, lengths)
    return lengths
