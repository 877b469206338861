"""Features from their definitions, slowly: substrings by slicing, hashes in Python's integers."""

import math

import numpy as np

_ALL = 2**64 - 1


def finalizer(code):
    """MurmurHash3's fmix64."""
    code ^= code >> 33
    code = code * 0xFF51AFD7ED558CCD & _ALL
    code ^= code >> 33
    code = code * 0xC4CEB9FE1A85EC53 & _ALL
    return code ^ code >> 33


def rank(word, alphabet):
    """The place of a word among all words of its length in the order of the alphabet."""
    place = 0
    for letter in word:
        place = place * len(alphabet) + alphabet.index(letter)
    return place


def kmer_matrix(features, strings):
    """The matrix of KmerFeatures with an alphabet."""
    alphabet = features.alphabet.encode()
    lengths = range(features.shortest or features.k, features.k + 1)
    per_block = sum(len(alphabet) ** j for j in lengths)
    windows = [(0, math.inf)] if features.windows is None else features.windows
    columns = per_block * (len(windows) + features.positions) if features.hash_bits is None else 2**features.hash_bits
    found = np.zeros((len(strings), columns))
    for row, string in zip(found, strings, strict=True):
        string = string.encode("utf-8", "surrogatepass") if isinstance(string, str) else string
        first = 0
        for j in lengths:
            beta = 2 * (features.k - j + 1) / (features.k * (features.k + 1)) if features.weighting == "degree" else 1.0
            for t in range(len(string) - j + 1):
                word = string[t : t + j]
                if set(word) - set(alphabet):
                    continue
                place = rank(word, alphabet)
                if features.reverse_complement:
                    other = bytes(word[::-1]).translate(bytes.maketrans(b"ACGT", b"TGCA"))
                    place = min(place, rank(other, alphabet))
                blocks = [b for b, (begin, end) in enumerate(windows) if begin <= t and t + j <= end]
                blocks += [len(windows) + t] if t < features.positions else []
                for block in blocks:
                    column = block * per_block + first + place
                    if features.hash_bits is not None:
                        column = finalizer(column) % 2**features.hash_bits
                    row[column] += math.sqrt(beta)
            first += len(alphabet) ** j
        norm = np.linalg.norm(row)
        if features.normalize and norm > 0:
            row /= norm
    return found


def polynomial_matrix(X, interaction_only, hash_bits):
    """The matrix of hashed PolynomialFeatures."""
    n, d = X.shape
    found = np.zeros((n, 2**hash_bits))
    for row, x in zip(found, X, strict=True):
        pairs = [(j, d, x[j]) for j in range(d)]
        pairs += [(j, m, x[j] * x[m]) for j in range(d) for m in range(j + interaction_only, d)]
        for j, m, value in pairs:
            code = finalizer(j << 32 | m)
            row[code % 2**hash_bits] += -value if code >> 63 else value
    return found
