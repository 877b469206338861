r"""Compiled visits of sequences; ``solver`` has the method, the references and the symbols.

The weights are W of shape (d, m), in the order of features, so that the scores of all labels of a token are a sum of
contiguous rows.  A sequence reads ``rows`` of its tokens and moves W along their ``images``: for features both are the
rows of X; for a kernel W holds the scores K alpha of all tokens, a token reads its own, and its image is a row of K.
Features of pairs of tokens are rows of ``edges``, with a matrix of ``T_k`` for each feature.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fenchel.arrays import Array
from fenchel.compile.dispatch import row_begin, row_column, row_end, row_entry
from fenchel.compile.loop import helper, loop
from fenchel.compile.primitives.chain_scores import pair_score, pair_scores, token_scores


class Chains(NamedTuple):
    """The sequences: where each begins (and the last ends), the labels of the data and the shares."""

    begins: Array
    gold: Array
    shares: Array


class Active(NamedTuple):
    """The labellings of each sequence, (labelling, token), their weights, (labelling, sequence), counts and gaps."""

    labels: Array
    weights: Array
    counts: Array
    gaps: Array


class Vector(NamedTuple):
    """Weights of features, of pairs of labels, of these for each feature of pairs, and of first and last labels."""

    W: Array
    T: Array
    T_k: Array
    a: Array
    z: Array


class Scratch(NamedTuple):
    """Room for one visit: tables of the oracle, heights, and the scores of one pair of tokens."""

    tail: Array
    u: Array
    table: Array
    pointers: Array
    best: Array
    heights: Array
    pairs: Array


@helper
def _viterbi(edges: Any, begin: int, gold: Array, v: Vector, scratch: Scratch) -> float:
    """Write the labelling of largest Hamming distance plus score to ``best``; return that number."""
    u, table, pointers, best = scratch.u, scratch.table, scratch.pointers, scratch.best
    a, z = v.a, v.z
    length, m, featured = len(gold), len(a), len(v.T_k) > 0
    T = scratch.pairs if featured else v.T
    for j in range(m):
        table[0, j] = a[j] + u[0, j] + (1.0 if j != gold[0] else 0.0)
    for t in range(1, length):
        if featured:
            pair_scores(edges, begin + t, v.T, v.T_k, T)
        for j in range(m):
            table[t, j] = table[t - 1, 0] + T[0, j]
            pointers[t, j] = 0
        for i in range(1, m):
            before = table[t - 1, i]
            for j in range(m):
                value = before + T[i, j]
                if value > table[t, j]:
                    table[t, j] = value
                    pointers[t, j] = i
        for j in range(m):
            table[t, j] += u[t, j] + (1.0 if j != gold[t] else 0.0)
    last, top = 0, table[length - 1, 0] + z[0]
    for j in range(1, m):
        if table[length - 1, j] + z[j] > top:
            last, top = j, table[length - 1, j] + z[j]
    for t in range(length - 1, -1, -1):
        best[t] = last
        last = pointers[t, last]
    return top


@helper
def _height(edges: Any, begin: int, gold: Array, v: Vector, u: Array, labels: Array) -> float:
    """Hamming distance plus score of a labelling."""
    length, T, T_k = len(gold), v.T, v.T_k
    total = v.a[labels[0]] + v.z[labels[length - 1]]
    for t in range(length):
        total += u[t, labels[t]] + (1.0 if labels[t] != gold[t] else 0.0)
        if t and not len(T_k):
            total += T[labels[t - 1], labels[t]]
        elif t:
            total += pair_score(edges, begin + t, T, T_k, labels[t - 1], labels[t])
    return total


@helper
def _add(images: Any, edges: Any, begin: int, one: Array, other: Array, scale: float, v: Vector, tail: Array) -> None:
    """Add scale (phi(one) - phi(other)) to v; ``tail`` says whether there are transitions and ends."""
    length, W, T, T_k = len(one), v.W, v.T, v.T_k
    for t in range(length):
        j, k, i = one[t], other[t], begin + t
        if j != k:
            for e in range(row_begin(images, i), row_end(images, i)):
                f, x = row_column(images, i, e), scale * row_entry(images, i, e)
                W[f, j] += x
                W[f, k] -= x
        if t and tail[0]:
            T[one[t - 1], j] += scale
            T[other[t - 1], k] -= scale
            if len(T_k) and (j != k or one[t - 1] != other[t - 1]):
                for e in range(row_begin(edges, i), row_end(edges, i)):
                    f, x = row_column(edges, i, e), scale * row_entry(edges, i, e)
                    T_k[f, one[t - 1], j] += x
                    T_k[f, other[t - 1], k] -= x
    if tail[1]:
        v.a[one[0]] += scale
        v.a[other[0]] -= scale
        v.z[one[length - 1]] += scale
        v.z[other[length - 1]] -= scale


@helper
def _squared_distance(
    rows: Any, images: Any, edges: Any, begin: int, one: Array, other: Array, S: Vector, tail: Array
) -> float:
    """|phi(one) - phi(other)|^2 in the space of v; S is zero before and after."""
    W, T, T_k, a, z = S
    length, total = len(one), 0.0
    _add(images, edges, begin, one, other, 1.0, S, tail)
    for t in range(length):
        j, k, i = one[t], other[t], begin + t
        if j != k:
            for e in range(row_begin(rows, i), row_end(rows, i)):
                f, x = row_column(rows, i, e), row_entry(rows, i, e)
                total += x * (W[f, j] - W[f, k])
        if t and not len(T_k):
            total += T[one[t - 1], j] - T[other[t - 1], k]
        elif t:
            total += pair_score(edges, i, T, T_k, one[t - 1], j)
            total -= pair_score(edges, i, T, T_k, other[t - 1], k)
    total += a[one[0]] - a[other[0]] + z[one[length - 1]] - z[other[length - 1]]
    for t in range(length):
        j, k, i = one[t], other[t], begin + t
        if j != k:
            for e in range(row_begin(images, i), row_end(images, i)):
                f = row_column(images, i, e)
                W[f, j] = 0.0
                W[f, k] = 0.0
        if t:
            T[one[t - 1], j] = 0.0
            T[other[t - 1], k] = 0.0
            if len(T_k):
                for e in range(row_begin(edges, i), row_end(edges, i)):
                    f = row_column(edges, i, e)
                    T_k[f, one[t - 1], j] = 0.0
                    T_k[f, other[t - 1], k] = 0.0
    a[one[0]] = 0.0
    a[other[0]] = 0.0
    z[one[length - 1]] = 0.0
    z[other[length - 1]] = 0.0
    return total


@helper
def _find(labels: Array, count: int, begin: int, end: int, best: Array) -> int:
    """The place of a labelling among the active ones, or -1."""
    for k in range(count):
        same = True
        for t in range(end - begin):
            if labels[k, begin + t] != best[t]:
                same = False
                break
        if same:
            return k
    return -1


@loop
def visits(
    rows: Any,
    images: Any,
    edges: Any,
    order: Array,
    first: int,
    chains: Chains,
    lam: float,
    repeats: int,
    active: Active,
    v: Vector,
    S: Vector,
    scratch: Scratch,
) -> int:
    """Visit the sequences of ``order`` from ``first`` on; return the first one that needs room for a labelling."""
    begins, gold, shares = chains
    labels, weights, counts, gaps = active
    tail, u, best, heights = scratch.tail, scratch.u, scratch.best, scratch.heights
    for visit in range(first, len(order)):
        q = order[visit]
        begin, end = begins[q], begins[q + 1]
        length, own = end - begin, gold[begin:end]
        for repeat in range(repeats):
            token_scores(rows, begin, length, v.W, u)
            count = counts[q]
            mean, low, high = 0.0, -1, 0
            for k in range(count):
                heights[k] = _height(edges, begin, own, v, u, labels[k, begin:end])
                mean += weights[k, q] * heights[k]
                if heights[k] > heights[high]:
                    high = k
                if weights[k, q] > 0.0 and (low < 0 or heights[k] < heights[low]):
                    low = k
            if repeat == 0:
                # the oracle; further steps take the labellings that it found before
                top = _viterbi(edges, begin, own, v, scratch)
                gaps[q] = max(top - mean, 0.0)
                if top > heights[high]:
                    high = _find(labels, count, begin, end, best)
                    if high < 0:
                        if count == len(labels):
                            return visit
                        high = count
                        for t in range(length):
                            labels[count, begin + t] = best[t]
                        weights[count, q] = 0.0
                        counts[q] = count + 1
                    heights[high] = top
            gain = heights[high] - heights[low]
            if not gain > 0.0:
                break
            one, other = labels[low, begin:end], labels[high, begin:end]
            square = _squared_distance(rows, images, edges, begin, one, other, S, tail)
            step = weights[low, q]
            if square * shares[q] * step > lam * gain:
                step = lam * gain / (square * shares[q])
            _add(images, edges, begin, one, other, step * shares[q] / lam, v, tail)
            weights[high, q] += step
            weights[low, q] -= step
            if not weights[low, q] > 0.0:
                # the last labelling takes the place of one without weight
                last = counts[q] - 1
                for t in range(length):
                    labels[low, begin + t] = labels[last, begin + t]
                weights[low, q] = weights[last, q]
                counts[q] = last
    return len(order)
