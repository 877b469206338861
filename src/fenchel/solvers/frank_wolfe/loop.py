r"""Compiled visits of sequences; ``solver`` has the method, the references and the symbols.

The weights are W of shape (d, m), in the order of features, so that the scores of all labels of a token are a sum of
contiguous rows.  A sequence reads ``rows`` of its tokens and moves W along their ``images``: for features both are the
rows of X; for a kernel W holds the scores K alpha of all tokens, a token reads its own, and its image is a row of K.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fenchel.arrays import Array
from fenchel.compile.dispatch import row_begin, row_column, row_end, row_entry
from fenchel.compile.loop import helper, loop
from fenchel.compile.primitives.chain_scores import token_scores


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


class Scratch(NamedTuple):
    """Room for one visit: a difference of two labellings (S, S_T, S_ends), tables of the oracle, heights."""

    S: Array
    S_T: Array
    S_ends: Array
    tail: Array
    u: Array
    table: Array
    pointers: Array
    best: Array
    heights: Array


@helper
def _viterbi(u: Array, gold: Array, T: Array, a: Array, z: Array, table: Array, pointers: Array, best: Array) -> float:
    """Write the labelling of largest Hamming distance plus score to ``best``; return that number."""
    length, m = len(gold), len(a)
    for j in range(m):
        table[0, j] = a[j] + u[0, j] + (1.0 if j != gold[0] else 0.0)
    for t in range(1, length):
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
def _height(u: Array, gold: Array, T: Array, a: Array, z: Array, labels: Array) -> float:
    """Hamming distance plus score of a labelling."""
    length = len(gold)
    total = a[labels[0]] + z[labels[length - 1]]
    for t in range(length):
        total += u[t, labels[t]] + (1.0 if labels[t] != gold[t] else 0.0)
        if t:
            total += T[labels[t - 1], labels[t]]
    return total


@helper
def _add(
    images: Any, begin: int, one: Array, other: Array, scale: float, W: Array, T: Array, a: Array, z: Array, tail: Array
) -> None:
    """Add scale (phi(one) - phi(other)) to the weights; ``tail`` says whether there are transitions and ends."""
    length = len(one)
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
    if tail[1]:
        a[one[0]] += scale
        a[other[0]] -= scale
        z[one[length - 1]] += scale
        z[other[length - 1]] -= scale


@helper
def _squared_distance(
    rows: Any,
    images: Any,
    begin: int,
    one: Array,
    other: Array,
    S: Array,
    T: Array,
    a: Array,
    z: Array,
    tail: Array,
) -> float:
    """|phi(one) - phi(other)|^2 in the space of the weights; S, T, a and z are zero before and after."""
    length, total = len(one), 0.0
    _add(images, begin, one, other, 1.0, S, T, a, z, tail)
    for t in range(length):
        j, k, i = one[t], other[t], begin + t
        if j != k:
            for e in range(row_begin(rows, i), row_end(rows, i)):
                f, x = row_column(rows, i, e), row_entry(rows, i, e)
                total += x * (S[f, j] - S[f, k])
        if t:
            total += T[one[t - 1], j] - T[other[t - 1], k]
    total += a[one[0]] - a[other[0]] + z[one[length - 1]] - z[other[length - 1]]
    for t in range(length):
        j, k, i = one[t], other[t], begin + t
        if j != k:
            for e in range(row_begin(images, i), row_end(images, i)):
                f = row_column(images, i, e)
                S[f, j] = 0.0
                S[f, k] = 0.0
        if t:
            T[one[t - 1], j] = 0.0
            T[other[t - 1], k] = 0.0
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
    order: Array,
    first: int,
    chains: Chains,
    lam: float,
    repeats: int,
    active: Active,
    W: Array,
    T: Array,
    a: Array,
    z: Array,
    scratch: Scratch,
) -> int:
    """Visit the sequences of ``order`` from ``first`` on; return the first one that needs room for a labelling."""
    begins, gold, shares = chains
    labels, weights, counts, gaps = active
    S, S_T, S_ends, tail, u, table, pointers, best, heights = scratch
    for visit in range(first, len(order)):
        q = order[visit]
        begin, end = begins[q], begins[q + 1]
        length, own = end - begin, gold[begin:end]
        for repeat in range(repeats):
            token_scores(rows, begin, length, W, u)
            count = counts[q]
            mean, low, high = 0.0, -1, 0
            for k in range(count):
                heights[k] = _height(u, own, T, a, z, labels[k, begin:end])
                mean += weights[k, q] * heights[k]
                if heights[k] > heights[high]:
                    high = k
                if weights[k, q] > 0.0 and (low < 0 or heights[k] < heights[low]):
                    low = k
            if repeat == 0:
                # the oracle; further steps take the labellings that it found before
                top = _viterbi(u, own, T, a, z, table, pointers, best)
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
            square = _squared_distance(rows, images, begin, one, other, S, S_T, S_ends[0], S_ends[1], tail)
            step = weights[low, q]
            if square * shares[q] * step > lam * gain:
                step = lam * gain / (square * shares[q])
            _add(images, begin, one, other, step * shares[q] / lam, W, T, a, z, tail)
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
