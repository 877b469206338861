"""Chains by enumeration of all labellings: obviously right, for m^L up to about 1e5."""

import itertools
import math

import numpy as np


def labellings(length, count):
    """All labellings of a sequence."""
    return list(itertools.product(range(count), repeat=length))


def features(labels, count):
    """The indicators phi(y) that collect the score of a labelling: tokens x labels, pairs, first and last label."""
    nodes, pairs, first, last = (
        np.zeros((len(labels), count)),
        np.zeros((count, count)),
        np.zeros(count),
        np.zeros(count),
    )
    for t, label in enumerate(labels):
        nodes[t, label] = 1.0
    for one, other in itertools.pairwise(labels):
        pairs[one, other] += 1.0
    first[labels[0]], last[labels[-1]] = 1.0, 1.0
    return nodes, np.concatenate([pairs.ravel(), first, last])


def score(labels, nodes, tail, count):
    """The score of a labelling, term by term."""
    m, total = count, 0.0
    for t, label in enumerate(labels):
        total += nodes[t][label]
    for one, other in itertools.pairwise(labels):
        total += tail[one * m + other]
    return total + tail[m * m + labels[0]] + tail[m * m + m + labels[-1]]


def sequences_of(labels, lengths):
    """The labels of each sequence, and its first token."""
    begin = 0
    for length in lengths:
        yield begin, list(labels[begin : begin + length])
        begin += length


def hamming(one, other):
    return sum(a != b for a, b in zip(one, other, strict=True))


def losses(kind, scores, labels, lengths, count):
    """The loss of each sequence."""
    n = len(labels)
    nodes, tail = scores[: n * count].reshape(n, count), scores[n * count :]
    found = []
    for begin, own in sequences_of(labels, lengths):
        local = nodes[begin : begin + len(own)]
        every = [(y, score(y, local, tail, count)) for y in labellings(len(own), count)]
        gold = score(own, local, tail, count)
        if kind == "hinge":
            found.append(max(hamming(y, own) + value for y, value in every) - gold)
        else:
            top = max(value for _, value in every)
            found.append(top + math.log(math.fsum(math.exp(value - top) for _, value in every)) - gold)
    return np.array(found)


def mean_features(probabilities, labels, lengths, count):
    """sum_q c_q E phi(y), for c_q and a function of (sequence, labelling) that returns probabilities."""
    n = len(labels)
    nodes, tail = np.zeros((n, count)), np.zeros(count * count + 2 * count)
    for q, (begin, own) in enumerate(sequences_of(labels, lengths)):
        for y in labellings(len(own), count):
            p = probabilities(q, y)
            if p:
                here, rest = features(y, count)
                nodes[begin : begin + len(own)] += p * here
                tail += p * rest
    return np.concatenate([nodes.ravel(), tail])


def gibbs(scores, labels, lengths, count):
    """The probabilities of all labellings of each sequence: a list of dictionaries."""
    n = len(labels)
    nodes, tail = scores[: n * count].reshape(n, count), scores[n * count :]
    found = []
    for begin, own in sequences_of(labels, lengths):
        values = {y: score(y, nodes[begin : begin + len(own)], tail, count) for y in labellings(len(own), count)}
        top = max(values.values())
        total = math.fsum(math.exp(value - top) for value in values.values())
        found.append({y: math.exp(value - top) / total for y, value in values.items()})
    return found
