r"""Compiled visits of sequences; ``solver`` has the method, the references and the symbols.

Forward-backward works with exponentials, as in ``risks.chains.oracles``: with :math:`E = e^{U_q}` over its largest
entry, :math:`f_t \propto (E^Tf_{t-1})\circ e_t` and vectors b that are scaled so that :math:`f_t\cdot b_t = 1`.  With
features of pairs, rows of ``edges``, :math:`U_q` and T are 1 + K matrices, and E is that of a pair of tokens.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.arrays import Array
from fenchel.compile.dispatch import row_begin, row_column, row_end, row_entry
from fenchel.compile.loop import helper, loop
from fenchel.compile.primitives.chain_scores import pair_scores, token_scores

#: the first step of a sequence, the factor after a step that was taken, and that after one that was not
FIRST_STEP, _LONGER, _SHORTER = 0.5, 1.1, 0.5
#: factor of the first parameters of a sequence while they are too far from the labelling of the data
_SHARPER = 1.5
#: trials of a visit
_TRIALS = 12
#: decreases of the dual objective that are rounding errors, relative to the entropy plus one
_ROUNDING = 1e-13


class Dual(NamedTuple):
    """The distribution of each sequence: natural parameters, marginals, entropy; its step, and estimates of its gap."""

    u: Array
    U: Array
    nodes: Array
    pairs: Array
    entropies: Array
    steps: Array
    seen: Array
    gaps: Array


class Weights(NamedTuple):
    """W, T and the ends a and z of v, and whether there are transitions and ends."""

    W: Array
    T: Array
    ends: Array
    tail: Array


class Scratch(NamedTuple):
    """Room for one visit: scores, the parameters of a trial, its recursion and its marginals."""

    s: Array
    u: Array
    U: Array
    E: Array
    e: Array
    f: Array
    inverses: Array
    b: Array
    B: Array
    nodes: Array
    pairs: Array
    squares: Array
    room: Array


@helper
def _exponentials(U: Array, E: Array) -> float:
    """E = exp(U) over its largest entry, whose logarithm is returned."""
    m, peak = len(U), U[0, 0]
    for i in range(m):
        for j in range(m):
            peak = max(peak, U[i, j])
    for i in range(m):
        for j in range(m):
            E[i, j] = np.exp(U[i, j] - peak)
    return peak


@helper
def _add_pairs(edges: Any, i: int, f: Array, b: Array, E: Array, pairs: Array, room: Array) -> None:
    """Add the features of the pair of tokens that ends with token i, of marginals E f b^T, to ``pairs``."""
    m, plain, own = len(b), pairs[0], pairs[1:]
    for k in range(m):
        for j in range(m):
            room[k, j] = f[k] * E[k, j] * b[j]
            plain[k, j] += room[k, j]
    for e in range(row_begin(edges, i), row_end(edges, i)):
        c, x = row_column(edges, i, e), row_entry(edges, i, e)
        for k in range(m):
            for j in range(m):
                own[c, k, j] += x * room[k, j]


@helper
def _forward_backward(edges: Any, begin: int, length: int, scratch: Scratch) -> float:
    """Write the marginals of the parameters of the trial; return log Z, or NaN if exponentials underflow."""
    u, U, E, e, f, inverses, b, B = scratch[1:9]
    nodes, pairs, room = scratch.nodes, scratch.pairs, scratch.room
    T, T_k, plain = U[0], U[1:], pairs[0]
    m, alike = len(b), not len(T_k)
    peak, log_z = _exponentials(T, E), 0.0
    for t in range(length):
        top, total = u[t, 0], 0.0
        for j in range(m):
            top = max(top, u[t, j])
        for j in range(m):
            e[t, j] = np.exp(u[t, j] - top)
            f[t, j] = 0.0 if t else 1.0
        if t:
            if not alike:
                pair_scores(edges, begin + t, T, T_k, room)
                peak = _exponentials(room, E)
            log_z += peak
            for i in range(m):
                before = f[t - 1, i]
                for j in range(m):
                    f[t, j] += before * E[i, j]
        for j in range(m):
            f[t, j] *= e[t, j]
            total += f[t, j]
        if not total > 0.0:
            return np.nan
        inverses[t] = 1.0 / total
        log_z += np.log(total) + top
        for j in range(m):
            f[t, j] *= inverses[t]
    pairs[...] = 0.0
    for j in range(m):
        B[j] = 1.0
    for t in range(length - 1, -1, -1):
        if t < length - 1:
            if not alike:
                # computed again: an entry for each token and pair of labels would be too many to keep
                pair_scores(edges, begin + t + 1, T, T_k, room)
                _exponentials(room, E)
                _add_pairs(edges, begin + t + 1, f[t], b, E, pairs, room)
            for i in range(m):
                # without features of pairs; ``_add_pairs`` has added the others
                total, before = 0.0, f[t, i] if alike else 0.0
                for j in range(m):
                    total += E[i, j] * b[j]
                    plain[i, j] += before * b[j]
                B[i] = total
        for j in range(m):
            nodes[t, j] = f[t, j] * B[j]
            b[j] = B[j] * e[t, j] * inverses[t]
    if alike:
        for i in range(m):
            for j in range(m):
                plain[i, j] *= E[i, j]
    return log_z


@helper
def _trial(
    edges: Any, dual: Dual, q: int, begin: int, length: int, step: float, T: Array, scratch: Scratch
) -> tuple[float, float]:
    """Write the parameters (1 - step) u + step s and their marginals; return the entropy, and the linear gain.

    The latter is that of the dual objective at the present v, over the share of the sequence.
    """
    s, u, U, nodes, pairs = scratch.s, scratch.u, scratch.U, scratch.nodes, scratch.pairs
    m = T.shape[1]
    for t in range(length):
        for j in range(m):
            u[t, j] = (1.0 - step) * dual.u[begin + t, j] + step * s[t, j]
    for k in range(len(T)):
        for i in range(m):
            for j in range(m):
                U[k, i, j] = (1.0 - step) * dual.U[q, k, i, j] + step * T[k, i, j]
    entropy, linear = _forward_backward(edges, begin, length, scratch), 0.0
    for t in range(length):
        for j in range(m):
            entropy -= u[t, j] * nodes[t, j]
            linear += s[t, j] * (nodes[t, j] - dual.nodes[begin + t, j])
    for k in range(len(T)):
        for i in range(m):
            for j in range(m):
                entropy -= U[k, i, j] * pairs[k, i, j]
                linear += T[k, i, j] * (pairs[k, i, j] - dual.pairs[q, k, i, j])
    return entropy, entropy - dual.entropies[q] + linear


@helper
def _move(
    rows: Any, dual: Dual, q: int, begin: int, length: int, scale: float, weights: Weights, scratch: Scratch
) -> float:
    """Add scale times the difference of the present marginals and those of the trial to v; return that of |v|^2."""
    W, T, ends, tail = weights
    nodes, pairs, b, squares = scratch.nodes, scratch.pairs, scratch.b, scratch.squares
    m = len(b)
    for j in range(m):
        squares[j] = 0.0
    for t in range(length):
        i = begin + t
        for j in range(m):
            b[j] = scale * (dual.nodes[i, j] - nodes[t, j])
        for k in range(row_begin(rows, i), row_end(rows, i)):
            c, x = row_column(rows, i, k), row_entry(rows, i, k)
            for j in range(m):
                change = x * b[j]
                squares[j] += change * (2.0 * W[c, j] + change)
                W[c, j] += change
        if tail[1] and t == 0:
            for j in range(m):
                squares[j] += b[j] * (2.0 * ends[0, j] + b[j])
                ends[0, j] += b[j]
        if tail[1] and t == length - 1:
            for j in range(m):
                squares[j] += b[j] * (2.0 * ends[1, j] + b[j])
                ends[1, j] += b[j]
    if tail[0]:
        for k in range(len(T)):
            for i in range(m):
                for j in range(m):
                    change = scale * (dual.pairs[q, k, i, j] - pairs[k, i, j])
                    squares[j] += change * (2.0 * T[k, i, j] + change)
                    T[k, i, j] += change
    total = 0.0
    for j in range(m):
        total += squares[j]
    return total


@helper
def _store(dual: Dual, q: int, begin: int, length: int, entropy: float, scratch: Scratch) -> None:
    """Take the trial."""
    m = len(scratch.b)
    for t in range(length):
        for j in range(m):
            dual.u[begin + t, j], dual.nodes[begin + t, j] = scratch.u[t, j], scratch.nodes[t, j]
    for k in range(len(scratch.U)):
        for i in range(m):
            for j in range(m):
                dual.U[q, k, i, j], dual.pairs[q, k, i, j] = scratch.U[k, i, j], scratch.pairs[k, i, j]
    dual.entropies[q] = entropy
    dual.seen[q] = True


@loop
def marginals(edges: Any, begins: Array, dual: Dual, scratch: Scratch) -> None:
    """Write the marginals and entropies of all parameters; a sequence whose recursion underflows is not seen."""
    for q in range(len(begins) - 1):
        begin, length = begins[q], begins[q + 1] - begins[q]
        for t in range(length):
            for j in range(len(scratch.b)):
                scratch.s[t, j] = dual.u[begin + t, j]
        entropy, _ = _trial(edges, dual, q, begin, length, 1.0, dual.U[q], scratch)
        if np.isfinite(entropy):
            _store(dual, q, begin, length, entropy, scratch)


@loop
def visits(
    rows: Any,
    edges: Any,
    order: Array,
    begins: Array,
    shares: Array,
    lam: float,
    dual: Dual,
    weights: Weights,
    scratch: Scratch,
) -> int:
    """Visit sequences in this order; return the number of those that moved."""
    moved = 0
    for q in order:
        begin, length, share = begins[q], begins[q + 1] - begins[q], shares[q]
        token_scores(rows, begin, length, weights.W, scratch.s)
        for j in range(len(scratch.b)):
            scratch.s[0, j] += weights.ends[0, j]
            scratch.s[length - 1, j] += weights.ends[1, j]
        for _ in range(_TRIALS):
            step = dual.steps[q]
            entropy, linear = _trial(edges, dual, q, begin, length, step, weights.T, scratch)
            if np.isfinite(entropy):
                squares = _move(rows, dual, q, begin, length, share / lam, weights, scratch)
                gain = share * (entropy - dual.entropies[q]) - 0.5 * lam * squares
                if gain >= -_ROUNDING * share * (entropy + 1.0):
                    # exact for a step of 1, and if the divergence from the Gibbs distribution of s is quadratic
                    dual.gaps[q] = max(linear, 0.0) / (step * (2.0 - step))
                    dual.steps[q] = min(1.0, _LONGER * step) if dual.seen[q] else FIRST_STEP
                    _store(dual, q, begin, length, entropy, scratch)
                    moved += 1
                    break
                _move(rows, dual, q, begin, length, -share / lam, weights, scratch)
            if dual.seen[q]:
                dual.steps[q] = _SHORTER * step
            else:
                for t in range(length):
                    for j in range(len(scratch.b)):
                        dual.u[begin + t, j] *= _SHARPER
    return moved
