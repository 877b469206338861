"""Chains with features of pairs of tokens, by the explicit feature vector of every labelling."""

import itertools
import math

import numpy as np


def phi(labels, begin, tokens, edges, m, number=float):
    """The features of a labelling of the sequence that begins at a token, in the order of the scores, as a dict."""
    K = edges.shape[1]
    pairs = tokens * m
    ends = pairs + (1 + K) * m * m
    found = {}

    def add(place, value):
        found[place] = found.get(place, number(0)) + number(value)

    for t, label in enumerate(labels):
        add((begin + t) * m + label, 1)
        if t:
            add(pairs + labels[t - 1] * m + label, 1)
            for k in range(K):
                add(pairs + ((1 + k) * m + labels[t - 1]) * m + label, edges[begin + t, k])
    add(ends + labels[0], 1)
    add(ends + m + labels[-1], 1)
    return found


def every(labels, lengths, edges, m, number=float):
    """For each sequence its own labelling, and {labelling: features} of all."""
    begin, found = 0, []
    for length in lengths:
        own = tuple(int(label) for label in labels[begin : begin + length])
        all_of_them = itertools.product(range(m), repeat=int(length))
        found.append((own, {y: phi(y, begin, len(labels), edges, m, number) for y in all_of_them}))
        begin += length
    return found


def score(features, scores):
    return sum(value * scores[place] for place, value in features.items())


def hamming(one, other):
    return sum(a != b for a, b in zip(one, other, strict=True))


def losses(kind, scores, sequences):
    """The loss of each sequence; exact for fractions of the max-margin loss."""
    found = []
    for own, features in sequences:
        gold = score(features[own], scores)
        if kind == "hinge":
            found.append(max(hamming(y, own) + score(one, scores) for y, one in features.items()) - gold)
        else:
            values = np.array([score(one, scores) for one in features.values()])
            found.append(np.max(values) + math.log(np.sum(np.exp(values - np.max(values)))) - gold)
    return found


def gibbs(scores, sequences):
    """The probabilities of all labellings of each sequence."""
    found = []
    for _, features in sequences:
        values = {y: score(one, scores) for y, one in features.items()}
        top = max(values.values())
        total = math.fsum(math.exp(value - top) for value in values.values())
        found.append({y: math.exp(value - top) / total for y, value in values.items()})
    return found


def theta(probabilities, sequences, shares, size):
    """sum_q c_q (phi(y_q) - E phi(y))."""
    found = np.zeros(size)
    for share, p, (own, features) in zip(shares, probabilities, sequences, strict=True):
        for place, value in features[own].items():
            found[place] += share * value
        for y, weight in p.items():
            for place, value in features[y].items():
                found[place] -= share * weight * value
    return found
