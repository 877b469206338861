"""Checks the certificate of a model file in exact arithmetic, with nothing but Python's standard library.

    python check_certificate.py MODEL DATA [--label COLUMN]

A model file of ``fenchel train`` holds a model (w, b), dual variables theta and two claims about the training data: the
objective of the model is at most ``primal + primal_error``, and no model has an objective below ``dual - dual_error``.
With W_i the weights of the n examples, S their sum and lam = 1/(C S), the objective and its Fenchel dual, times S, are

    S P(w, b) = Omega(w)/C + sum_i W_i f(s_i, y_i),                  s = X w + b
    S D(a)    = -Omega*(C X^T a)/C - sum_i W_i f*(-a_i/W_i, y_i),    a = S theta, and sum_i a_i = 0 if b is free

and P(w, b) >= D(a) for every model and every a.  All numbers in both files are floats, hence dyadic rationals, so a sum
is a sum of integers with one common exponent.  Logarithms and exponentials are enclosed between rationals.

theta is rounded, so it is on neither the domain of f* nor the plane sum(a) = 0.  It is clipped into the domain and
balanced, without rounding; the result is a dual point whose D is a lower bound, whatever theta was.

Exit status: 0 confirmed, 1 refuted, 2 can't be checked.
"""

import argparse
import ast
import bz2
import csv
import gzip
import json
import lzma
import math
import struct
import sys
import zipfile
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from operator import mul

CONFIRMED, REFUTED, CANNOT_CHECK = 0, 1, 2

#: bytes of an array, of a line and of the unpacked data that are read at most
LARGEST_ARRAY, LARGEST_LINE, LARGEST_DATA = 2**29, 2**26, 2**32
#: fractional bits of logarithms and exponentials, tried in turn until the verdict is clear
PRECISIONS = (128, 512, 2048)
#: largest exponent whose exponential is computed: a result of 72,000 bits
LARGEST_EXPONENT = 50_000
#: fractional bits of a multiple t of the dual variables, for the lasso
MULTIPLE_BITS = 128


class CannotCheckError(Exception):
    """The files are damaged, do not belong together, or hold something that this program does not know."""


# ---------------------------------------------------------------------------------------------------------------------
# Enclosures of exp and log
# ---------------------------------------------------------------------------------------------------------------------


class Enclosures:
    """exp and log of dyadic rationals, as intervals of integers over 2**bits.

    The series are summed in fixed point with 32 guard bits.  Every operation rounds down by less than one unit, and no
    result takes more than 2**13 of them (a series has fewer than 700 terms of at most three roundings; products have
    factors below 2), so an error of SLACK = 2**16 units on either side is generous.
    """

    GUARD = 32
    SLACK = 1 << 16

    def __init__(self, bits):
        self.bits = bits
        self.work = bits + self.GUARD
        # with further guard bits, since it is multiplied by exponents of up to 2**20
        self.ln2 = self._log_ratio(1, 3, self.work + self.GUARD)
        self.logs = {}
        self.exps = {}

    @staticmethod
    def _log_ratio(numerator, denominator, precision):
        """log((1 + u)/(1 - u)) = 2 (u + u^3/3 + u^5/5 + ...) for 0 < u = numerator/denominator <= 1/3."""
        term = (numerator << precision) // denominator
        square = (term * term) >> precision
        total, n = 0, 1
        while term:
            total += term // n
            term = (term * square) >> precision
            n += 2
        return 2 * total

    def log(self, x, exponent):
        """Enclose log(x / 2**exponent) for an integer x > 0."""
        length = x.bit_length()
        k = length - 1 - exponent
        if abs(k) >= 1 << 20:
            raise CannotCheckError("a number is too large or too small for the logarithm")
        shift = self.work - length + 1
        m = x << shift if shift >= 0 else x >> -shift
        # x = 2**k m with 1 <= m < 2, and m is within 1/512 of the centre c = (513 + 2j)/512
        j = (m >> (self.work - 8)) - 256
        if j not in self.logs:
            self.logs[j] = self._log_ratio(2 * j + 1, 1025 + 2 * j, self.work)
        c = (513 + 2 * j) << (self.work - 9)
        term = ((m - c) << self.work) // (m + c)
        square = (term * term) >> self.work
        total, n = 0, 1
        # a negative term ends at -1, not at 0
        while term not in (0, -1):
            total += term // n
            term = (term * square) >> self.work
            n += 2
        value = 2 * total + self.logs[j] + ((k * self.ln2) >> self.GUARD)
        return (value - self.SLACK) >> self.GUARD, ((value + self.SLACK) >> self.GUARD) + 1

    def exp(self, x, exponent):
        """Enclose exp(x / 2**exponent)."""
        if x > LARGEST_EXPONENT << exponent:
            raise CannotCheckError(f"a score is too large: its exponential is above exp({LARGEST_EXPONENT})")
        if x < -(self.bits << exponent):
            return 0, 1
        shift = self.work - exponent
        x = x << shift if shift >= 0 else x >> -shift
        # x = k log 2 + j/256 + t with 0 <= t < 1/256
        k = (x << self.GUARD) // self.ln2
        rest = x - ((k * self.ln2) >> self.GUARD)
        j = rest >> (self.work - 8)
        if j not in self.exps:
            self.exps[j] = self._exp_series(j << (self.work - 8))
        value = (self._exp_series(rest - (j << (self.work - 8))) * self.exps[j]) >> self.work
        low, high, shift = value - self.SLACK, value + self.SLACK, self.GUARD - k
        if shift <= 0:
            return low << -shift, high << -shift
        return low >> shift, (high >> shift) + 1

    def _exp_series(self, t):
        term = total = 1 << self.work
        n = 1
        while term:
            term = ((term * t) >> self.work) // n
            total += term
            n += 1
        return total


# ---------------------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------------------


class Array:
    """An array of a model file: its shape and a flat list in C order."""

    def __init__(self, shape, values):
        self.shape = shape
        self.values = values

    def rows(self):
        """The rows of a matrix, as lists."""
        width = self.shape[1]
        return [self.values[start : start + width] for start in range(0, len(self.values), width)]


def read_array(archive, name):
    """One .npy member of the archive; only floats, integers and text are accepted, never pickled objects."""
    with archive.open(name + ".npy") as stream:
        start = stream.read(8)
        if len(start) != 8 or start[:6] != b"\x93NUMPY":
            raise CannotCheckError(f"{name} is not a NumPy array")
        size = stream.read(2 if start[6] == 1 else 4)
        length = int.from_bytes(size, "little")
        if length > 2**16:
            raise CannotCheckError(f"the header of {name} is too long")
        header = ast.literal_eval(stream.read(length).decode("latin-1"))
        kind, shape, columns_first = header["descr"], header["shape"], header["fortran_order"]
        if not isinstance(kind, str) or kind[:2] not in ("<f", "<i", "<U") or not kind[2:].isdigit():
            raise CannotCheckError(f"{name} has the type {kind!r}; only float64, int64 and text are accepted")
        if len(shape) > 2 or not all(type(side) is int and 0 <= side < 2**40 for side in shape):
            raise CannotCheckError(f"{name} has the shape {shape!r}")
        count, width = math.prod(shape), int(kind[2:]) * (4 if kind[1] == "U" else 1)
        if count * width > LARGEST_ARRAY:
            raise CannotCheckError(f"{name} has {count * width:,} bytes; at most {LARGEST_ARRAY:,} are read")
        raw = stream.read(count * width)
        if len(raw) != count * width or stream.read(1):
            raise CannotCheckError(f"{name} has another size than its header says")
    if kind[1] == "U":
        values = [raw[at : at + width].decode("utf-32-le").rstrip("\0") for at in range(0, len(raw), width or 1)]
    elif kind in ("<f8", "<i8"):
        values = list(struct.unpack(f"<{count}{'d' if kind[1] == 'f' else 'q'}", raw))
    else:
        raise CannotCheckError(f"{name} has the type {kind!r}; only float64, int64 and text are accepted")
    if kind[1] == "f" and not all(map(math.isfinite, values)):
        raise CannotCheckError(f"{name} holds NaN or infinity")
    if columns_first and len(shape) == 2:
        values = [values[row + column * shape[0]] for row in range(shape[0]) for column in range(shape[1])]
    return Array(tuple(shape), values)


def read_model(path):
    """What a model file says about itself, and its arrays."""
    try:
        with zipfile.ZipFile(path) as archive:
            about = json.loads(read_array(archive, "about").values[0], parse_constant=_not_finite)
            if about["format"] != 2:
                raise CannotCheckError(f"{path}: has format {about['format']!r}, not 2")
            names = ["coef_", "intercept_", "theta_", *(["classes_"] if about["kind"] != "LinearRegressor" else [])]
            if about["kind"] == "MeasureClassifier":
                members = set(archive.namelist())
                more = ["risk_intercept_", *(f"decomposition_{k}" for k in range(len(about["certificates"])))]
                names += [name for name in more if name + ".npy" in members]
            return about, {name: read_array(archive, name) for name in names}
    except CannotCheckError:
        raise
    except Exception as error:
        # whatever a hostile file does to the readers, it can't be checked
        raise CannotCheckError(
            f"{path}: is not a model file, or is damaged: {type(error).__name__}: {error}"
        ) from error


def _not_finite(name):
    raise CannotCheckError(f"the model file holds the number {name}")


class Data:
    """Rows (indices, integers over 2**exponent) and labels, which are floats or text."""

    def __init__(self, rows, exponent, labels):
        self.rows = rows
        self.exponent = exponent
        self.labels = labels


def read_data(path, about, label):
    """The training data, read as the model file says."""
    try:
        name = path
        for suffix in (".gz", ".bz2", ".xz"):
            name = name.removesuffix(suffix)
        opener = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(path[len(name) :], open)
        with opener(path, "rb") as stream:
            lines = _lines(stream)
            found = _table(lines, about, label) if name.lower().endswith(".csv") else _svmlight(lines, about, label)
    except CannotCheckError:
        raise
    except Exception as error:
        raise CannotCheckError(f"{path}: can't be read: {type(error).__name__}: {error}") from error
    if not found.rows:
        raise CannotCheckError(f"{path}: holds no rows")
    return found


def _lines(stream):
    """The lines of a file, of limited size: compressed files may unpack to anything."""
    size = 0
    while line := stream.readline(LARGEST_LINE):
        size += len(line)
        if len(line) == LARGEST_LINE or size > LARGEST_DATA:
            raise CannotCheckError("the data are too large")
        yield line


def _svmlight(lines, about, label):
    if label is not None:
        raise CannotCheckError("--label is for tables (.csv)")
    first, features = (0 if about["zero_based"] else 1), about["features"]
    rows, labels = [], []
    for line in lines:
        tokens = line.partition(b"#")[0].split()
        if not tokens:
            continue
        labels.append(float(tokens[0]))
        indices, values = [], []
        for token in tokens[1:]:
            index, _, value = token.partition(b":")
            if index != b"qid":
                indices.append(int(index) - first)
                values.append(value)
        if any(not a < b for a, b in zip([-1, *indices], [*indices, features], strict=True)):
            raise CannotCheckError(f"row {len(labels)} has features out of order, or that the model does not have")
        rows.append((indices, values))
    return _data(rows, labels)


def _table(lines, about, label):
    reader = csv.reader(line.decode("utf-8-sig") for line in lines)
    names, label = about["names"], about["label"] if label is None else label
    if names is None:
        column, columns, rows = int(label), None, []
    else:
        header = [name.strip() for name in next(reader)]
        if len(set(header)) < len(header):
            raise CannotCheckError("the header names a column twice")
        column, columns, rows = header.index(label), [header.index(name) for name in names], []
    labels = []
    for fields in reader:
        if not fields:
            continue
        if columns is None:
            column %= len(fields)
            columns = [place for place in range(len(fields)) if place != column]
        labels.append(fields[column].strip())
        rows.append((list(range(len(columns))), [fields[place] for place in columns]))
        if len(columns) != about["features"]:
            raise CannotCheckError(f"the table has {len(columns)} features and the model {about['features']}")
    try:
        return _data(rows, [float(text) for text in labels])
    except ValueError:
        return _data(rows, labels)


def _data(rows, labels):
    """Text as integers with a common exponent; the same text is converted once."""
    texts = list({value for _, values in rows for value in values})
    numbers, exponent = dyadic([float(text) for text in texts])
    known = dict(zip(texts, numbers, strict=True))
    return Data([(indices, [known[value] for value in values]) for indices, values in rows], exponent, labels)


# ---------------------------------------------------------------------------------------------------------------------
# Exact vectors: lists of integers with a common exponent
# ---------------------------------------------------------------------------------------------------------------------


def dyadic(floats, least=0):
    """Integers x and an exponent e >= least such that the floats are exactly x / 2**e."""
    if not all(map(math.isfinite, floats)):
        raise CannotCheckError("a number is NaN or infinite")
    ratios = [value.as_integer_ratio() for value in floats]
    exponent = max((denominator.bit_length() - 1 for _, denominator in ratios), default=0)
    exponent = max(exponent, least)
    return [numerator << (exponent - denominator.bit_length() + 1) for numerator, denominator in ratios], exponent


def at_exponent(number, exponent):
    """A dyadic rational as an integer over 2**exponent."""
    scaled = Fraction(number) * (1 << exponent)
    assert scaled.denominator == 1
    return scaled.numerator


def exponent_of(number):
    """The least e such that number * 2**e is an integer."""
    return Fraction(number).denominator.bit_length() - 1


def scores(rows, weights, intercept):
    """X w + b."""
    get = weights.__getitem__
    return [intercept + sum(map(mul, values, map(get, indices))) for indices, values in rows]


def adjoint(rows, column, features):
    """X^T a."""
    found = [0] * features
    for (indices, values), a in zip(rows, column, strict=True):
        if a:
            for index, value in zip(indices, values, strict=True):
                found[index] += value * a
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Risks of one score: sum_i W_i f(s_i, y_i)
# ---------------------------------------------------------------------------------------------------------------------


class SeparableRisk:
    """A sum of losses of one score.  A column is a list of n integers; labels and weights are dyadic rationals.

    ``weights`` are few different numbers: the example i has ``weights[groups[i]]``.
    """

    def __init__(self, labels, weights, groups):
        self.labels, self.label_exponent = dyadic(labels)
        self.weights, self.groups = [Fraction(weight) for weight in weights], groups

    def bounds(self):
        """For each group and the signs -1, 0, +1 of the label, the domain of alpha = a/W; None is unbounded."""
        raise NotImplementedError

    def limits(self, exponent):
        """The domain of every a_i, as integers over 2**exponent."""
        known = {}
        for group, weight in enumerate(self.weights):
            for sign in (-1, 0, 1):
                low, high = self.bounds(sign)
                known[group, sign] = tuple(
                    None if end is None else at_exponent(weight * end, exponent) for end in (low, high)
                )
        return [known[group, (y > 0) - (y < 0)] for group, y in zip(self.groups, self.labels, strict=True)]

    def limit_exponent(self):
        """An exponent at which the ends of the domain are integers."""
        ends = [end for sign in (-1, 0, 1) for end in self.bounds(sign) if end is not None]
        return max(exponent_of(weight) for weight in self.weights) + max(map(exponent_of, ends), default=0)

    def repair(self, columns, exponent, balanced):
        """A point of the domain near a, with a sum of exactly zero if it is to be balanced; None if there is none."""
        needed = max(exponent, self.limit_exponent())
        a = [value << (needed - exponent) for value in columns[0]]
        limits = self.limits(needed)
        for i, (low, high) in enumerate(limits):
            if low is not None and a[i] < low:
                a[i] = low
            if high is not None and a[i] > high:
                a[i] = high
        if balanced:
            self._balance(a, limits)
            if sum(a):
                return None
        return [a], needed

    @staticmethod
    def _balance(a, limits):
        """Move the entries that are farthest from their bounds until the sum is zero."""

        def room(i):
            low, high = limits[i]
            return min(math.inf if low is None else a[i] - low, math.inf if high is None else high - a[i])

        excess = sum(a)
        if not excess:
            return
        for i in sorted(range(len(a)), key=room, reverse=True):
            low, high = limits[i]
            moved = a[i] - excess
            moved = moved if low is None else max(moved, low)
            moved = moved if high is None else min(moved, high)
            excess += moved - a[i]
            a[i] = moved
            if not excess:
                return

    def largest_multiple(self, columns, exponent):
        """The largest t such that t a is in the domain; None if every t is."""
        found = None
        for value, (low, high) in zip(columns[0], self.limits(exponent), strict=True):
            end = high if value > 0 else low
            if value and end is not None and (found is None or end < found * value):
                found = Fraction(end, value)
        return found

    def primal(self, columns, exponent, enclosures):
        """Lower and upper bound of sum_i W_i f(s_i, y_i)."""
        raise NotImplementedError

    def dual(self, columns, exponent, enclosures):
        """Lower and upper bound of -sum_i W_i f*(-a_i/W_i, y_i)."""
        raise NotImplementedError


class PiecewiseQuadratic(SeparableRisk):
    """Losses with f*(u, y) = -y alpha + epsilon |alpha| + kappa/2 alpha^2 for alpha = -u in an interval.

    For losses of the margin beta = y alpha is in [0, h]; for losses of the residual alpha is in [-h, l].
    """

    exact = True

    def __init__(self, labels, weights, groups, *, margin, epsilon=0, kappa=0, low=None, high=None):
        super().__init__(labels, weights, groups)
        self.margin, self.epsilon, self.kappa = margin, Fraction(epsilon), Fraction(kappa)
        self.low, self.high = (None if end is None else Fraction(end) for end in (low, high))

    def bounds(self, sign):
        if self.margin:
            return (0, self.high) if sign > 0 else (None if self.high is None else -self.high, 0)
        return None if self.high is None else -self.high, self.low

    def primal(self, columns, exponent, enclosures):
        # f(s) = max over 0 <= beta <= B of beta z - kappa/2 beta^2, where z = 1 - y s and B = h, or
        # z = |s - y| - epsilon and B is l or h: B z - kappa/2 B^2 from z = kappa B on, z^2/(2 kappa) below
        ends = {side: end for side, end in ((-1, self.low), (1, self.high)) if end is not None}
        needed = max(
            exponent,
            self.label_exponent,
            exponent_of(self.epsilon),
            *(exponent_of(self.kappa * b) for b in ends.values()),
        )
        kinks = {side: at_exponent(self.kappa * end, needed) for side, end in ends.items()}
        one, epsilon = 1 << needed, at_exponent(self.epsilon, needed)
        squares = [0] * len(self.weights)
        lines = {side: [0] * len(self.weights) for side in (-1, 1)}
        counts = {side: [0] * len(self.weights) for side in (-1, 1)}
        rise, label_rise = needed - exponent, needed - self.label_exponent
        for score, y, group in zip(columns[0], self.labels, self.groups, strict=True):
            score <<= rise
            if self.margin:
                z, side = (one - score if y > 0 else one + score), 1
            else:
                residual = score - (y << label_rise)
                z, side = abs(residual) - epsilon, (1 if residual > 0 else -1)
            if z <= 0:
                continue
            if side in kinks and z >= kinks[side]:
                lines[side][group] += z
                counts[side][group] += 1
            else:
                squares[group] += z * z
        total = Fraction(0)
        for group, weight in enumerate(self.weights):
            if squares[group]:
                total += weight * Fraction(squares[group], 1 << (2 * needed)) / (2 * self.kappa)
            for side, end in ends.items():
                line = Fraction(lines[side][group], one)
                total += weight * (end * line - self.kappa * end**2 / 2 * counts[side][group])
        return total, total

    def dual(self, columns, exponent, enclosures):
        linear = Fraction(sum(map(mul, self.labels, columns[0])), 1 << (exponent + self.label_exponent))
        total = linear - self.epsilon * Fraction(sum(map(abs, columns[0])), 1 << exponent)
        if self.kappa:
            squares = [0] * len(self.weights)
            for a, group in zip(columns[0], self.groups, strict=True):
                squares[group] += a * a
            for weight, square in zip(self.weights, squares, strict=True):
                total -= self.kappa / 2 * Fraction(square, 1 << (2 * exponent)) / weight
        return total, total


class _Entropies:
    """Sums of x log x of integers over a power of two, each enclosed."""

    def __init__(self, enclosures, exponent):
        self.enclosures, self.exponent = enclosures, exponent
        self.low = self.high = 0

    def add(self, x):
        if x:
            low, high = self.enclosures.log(x, self.exponent)
            self.low += x * low
            self.high += x * high

    def interval(self):
        scale = 1 << (self.exponent + self.enclosures.bits)
        return Fraction(self.low, scale), Fraction(self.high, scale)


class LogisticRisk(SeparableRisk):
    """f = log(1 + exp(-y s)); W f* = a log a + (W - a) log(W - a) - W log W for a = y alpha W."""

    exact = False

    def bounds(self, sign):
        return (0, 1) if sign > 0 else (-1, 0)

    def primal(self, columns, exponent, enclosures):
        lows, highs = [0] * len(self.weights), [0] * len(self.weights)
        bits = enclosures.bits
        linear = [0] * len(self.weights)
        for score, y, group in zip(columns[0], self.labels, self.groups, strict=True):
            margin = score if y > 0 else -score
            if margin < 0:
                linear[group] -= margin
            low, high = enclosures.exp(-abs(margin), exponent)
            low_log, high_log = enclosures.log((1 << bits) + low, bits)
            lows[group] += low_log
            # log(1 + x) has a slope of at most 1
            highs[group] += high_log + high - low
        return tuple(
            sum(
                weight * (Fraction(line, 1 << exponent) + Fraction(end, 1 << bits))
                for weight, line, end in zip(self.weights, linear, ends, strict=True)
            )
            for ends in (lows, highs)
        )

    def dual(self, columns, exponent, enclosures):
        entropies = _Entropies(enclosures, exponent)
        weights = [at_exponent(weight, exponent) for weight in self.weights]
        counts = [0] * len(weights)
        for a, group in zip(columns[0], self.groups, strict=True):
            entropies.add(abs(a))
            entropies.add(weights[group] - abs(a))
            counts[group] += 1
        low, high = entropies.interval()
        for weight, count in zip(weights, counts, strict=True):
            whole = _Entropies(enclosures, exponent)
            whole.add(weight)
            low, high = low - count * whole.interval()[1], high - count * whole.interval()[0]
        return -high, -low


class ExponentialRisk(SeparableRisk):
    """f = exp(-y s); W f* = a log a - a log W - a for a = y alpha W >= 0."""

    exact = False

    def bounds(self, sign):
        return (0, None) if sign > 0 else (None, 0)

    def primal(self, columns, exponent, enclosures):
        low = high = Fraction(0)
        sums = [[0, 0] for _ in self.weights]
        for score, y, group in zip(columns[0], self.labels, self.groups, strict=True):
            ends = enclosures.exp(-score if y > 0 else score, exponent)
            sums[group][0] += ends[0]
            sums[group][1] += ends[1]
        for weight, ends in zip(self.weights, sums, strict=True):
            low += weight * Fraction(ends[0], 1 << enclosures.bits)
            high += weight * Fraction(ends[1], 1 << enclosures.bits)
        return low, high

    def dual(self, columns, exponent, enclosures):
        entropies, masses = _Entropies(enclosures, exponent), [0] * len(self.weights)
        for a, group in zip(columns[0], self.groups, strict=True):
            entropies.add(abs(a))
            masses[group] += abs(a)
        low, high = entropies.interval()
        for weight, mass in zip(self.weights, masses, strict=True):
            mass = Fraction(mass, 1 << exponent)
            logs = enclosures.log(weight.numerator, exponent_of(weight))
            low -= mass * (1 + Fraction(logs[1], 1 << enclosures.bits))
            high -= mass * (1 + Fraction(logs[0], 1 << enclosures.bits))
        return -high, -low


class PoissonRisk(SeparableRisk):
    """f = exp(s) - y s + y log y - y; f* = v log v - v - y log y + y for v = y - alpha >= 0; all weights are 1."""

    exact = False

    def __init__(self, labels, weights, groups):
        super().__init__(labels, weights, groups)
        if weights != [1]:
            raise CannotCheckError("the Poisson loss with weights is not supported")
        if min(self.labels) < 0:
            raise CannotCheckError("the Poisson loss requires labels >= 0")

    def limits(self, exponent):
        rise = exponent - self.label_exponent
        return [(None, y << rise) for y in self.labels]

    def limit_exponent(self):
        return self.label_exponent

    def _label_terms(self, enclosures):
        """Enclose sum_i y_i log y_i - y_i."""
        entropies = _Entropies(enclosures, self.label_exponent)
        for y in self.labels:
            entropies.add(y)
        total = Fraction(sum(self.labels), 1 << self.label_exponent)
        return tuple(end - total for end in entropies.interval())

    def primal(self, columns, exponent, enclosures):
        ends = [enclosures.exp(score, exponent) for score in columns[0]]
        linear = Fraction(sum(map(mul, columns[0], self.labels)), 1 << (exponent + self.label_exponent))
        return tuple(
            Fraction(sum(pair[side] for pair in ends), 1 << enclosures.bits) - linear + term
            for side, term in enumerate(self._label_terms(enclosures))
        )

    def dual(self, columns, exponent, enclosures):
        entropies, mass, rise = _Entropies(enclosures, exponent), 0, exponent - self.label_exponent
        for a, y in zip(columns[0], self.labels, strict=True):
            v = (y << rise) - a
            entropies.add(v)
            mass += v
        low, high = entropies.interval()
        terms = self._label_terms(enclosures)
        mass = Fraction(mass, 1 << exponent)
        return terms[0] + mass - high, terms[1] + mass - low


# ---------------------------------------------------------------------------------------------------------------------
# Joint risks of several classes
# ---------------------------------------------------------------------------------------------------------------------


class JointRisk:
    """A sum of losses of k scores: one column of scores, and of a, for each class.

    With m_ij = -a_ij >= 0 for the classes j beside the label y_i, the entry at the label is by definition
    a_iy = sum_j m_ij.  ``weston_watkins``: sum_j [1 - s_y + s_j]_+, each m_ij <= W_i.  ``crammer_singer``: the largest
    of these hinges, sum_j m_ij <= W_i.  Both have -W f* = sum_j m_ij.  ``multinomial``: log sum_j exp(s_j - s_y), the
    same domain, and W f* = sum_j m_ij log m_ij + r log r - W log W with r = W - sum_j m_ij.
    """

    def __init__(self, form, codes, count, weights, groups):
        self.form, self.codes, self.count = form, codes, count
        self.weights, self.groups = [Fraction(weight) for weight in weights], groups
        self.exact = form != "multinomial"

    def _capacities(self, exponent):
        known = [at_exponent(weight, exponent) for weight in self.weights]
        return [known[group] for group in self.groups]

    def repair(self, columns, exponent, balanced):
        """A point of the domain near a, with columns of sum zero if ``balanced``; None if none is found."""
        needed = max(exponent, *map(exponent_of, self.weights))
        capacities = self._capacities(needed)
        masses = []
        for i, (y, capacity) in enumerate(zip(self.codes, capacities, strict=True)):
            mass = [max(0, -column[i]) << (needed - exponent) for column in columns]
            mass[y] = 0
            if self.form == "weston_watkins":
                mass = [min(m, capacity) for m in mass]
            elif sum(mass) > capacity:
                total = sum(mass)
                mass = [m * capacity // total for m in mass]
            masses.append(mass)
        if balanced and not self._balance(masses, capacities):
            return None
        found = [[-mass[j] for mass in masses] for j in range(self.count)]
        for i, y in enumerate(self.codes):
            found[y][i] = sum(masses[i])
        return found, needed

    def _room(self, mass, j, capacity):
        """How far m_ij can fall and rise."""
        return mass[j], capacity - (mass[j] if self.form == "weston_watkins" else sum(mass))

    def _movable(self, masses, capacities):
        """For each pair of classes (p, q) the best entry to move an excess from the column p to the column q.

        m_ij takes from its label's column and gives to the column j: it falls where p is the label, and rises where q
        is.  The entry farthest from its bounds is the best.
        """
        found = {}
        for i, (y, mass, capacity) in enumerate(zip(self.codes, masses, capacities, strict=True)):
            for j in range(self.count):
                if j == y:
                    continue
                down, up = self._room(mass, j, capacity)
                inner = min(down, up)
                for pair, room, sign in (((y, j), down, -1), ((j, y), up, 1)):
                    if room > 0 and (pair not in found or (inner, room) > found[pair][0]):
                        found[pair] = (inner, room), i, j, sign
        return found

    def _balance(self, masses, capacities):
        """Move excess along paths of classes until every column adds up to zero; whether that is possible."""
        excess = [0] * self.count
        for y, mass in zip(self.codes, masses, strict=True):
            for j, m in enumerate(mass):
                excess[y] += m
                excess[j] -= m
        movable = self._movable(masses, capacities) if any(excess) else {}
        while any(excess):
            path = _path(movable, excess)
            if path is None:
                return False
            moved = min(excess[path[0]], -excess[path[-1]])
            steps = [movable[pair] for pair in pairwise(path)]
            for _, i, j, sign in steps:
                moved = min(moved, self._room(masses[i], j, capacities[i])[0 if sign < 0 else 1])
            for _, i, j, sign in steps:
                masses[i][j] += sign * moved
            # steps of one path may share a row, and its capacity
            if any(min(self._room(masses[i], j, capacities[i])) < 0 for _, i, j, _ in steps):
                return False
            excess[path[0]] -= moved
            excess[path[-1]] += moved
            if any(excess):
                movable = self._movable(masses, capacities)
        return True

    def largest_multiple(self, columns, exponent):
        """The largest t such that t a is in the domain; None if every t is."""
        found = None
        for i, (y, capacity) in enumerate(zip(self.codes, self._capacities(exponent), strict=True)):
            row = [column[i] for column in columns]
            top = -min(row) if self.form == "weston_watkins" else row[y]
            if top > 0 and (found is None or capacity < found * top):
                found = Fraction(capacity, top)
        return found

    def primal(self, columns, exponent, enclosures):
        one, sums = 1 << exponent, [[0, 0, 0] for _ in self.weights]
        bits = enclosures.bits
        for i, (y, group) in enumerate(zip(self.codes, self.groups, strict=True)):
            own = columns[y][i]
            rises = [column[i] - own for column in columns]
            total = sums[group]
            if self.form == "weston_watkins":
                total[0] += sum(one + rise for rise in rises if one + rise > 0) - one
            elif self.form == "crammer_singer":
                del rises[y]
                total[0] += max(0, one + max(rises))
            else:
                top = max(rises)
                ends = [enclosures.exp(rise - top, exponent) for rise in rises if rise != top]
                # the largest terms are exactly 1
                ones = (len(rises) - len(ends)) << bits
                low, high = ones + sum(end[0] for end in ends), ones + sum(end[1] for end in ends)
                logs = enclosures.log(low, bits)
                total[0] += top
                total[1] += logs[0]
                # log x has a slope of at most 1 from x = 1 on
                total[2] += logs[1] + high - low
        return tuple(
            sum(
                weight * (Fraction(total[0], one) + Fraction(total[side], 1 << bits))
                for weight, total in zip(self.weights, sums, strict=True)
            )
            for side in (1, 2)
        )

    def dual(self, columns, exponent, enclosures):
        if self.exact:
            total = sum(columns[y][i] for i, y in enumerate(self.codes))
            return (Fraction(total, 1 << exponent),) * 2
        entropies, wholes = _Entropies(enclosures, exponent), [_Entropies(enclosures, exponent) for _ in self.weights]
        capacities, counts = self._capacities(exponent), [0] * len(self.weights)
        for i, (y, group) in enumerate(zip(self.codes, self.groups, strict=True)):
            for j, column in enumerate(columns):
                entropies.add(capacities[i] - column[i] if j == y else -column[i])
            counts[group] += 1
        low, high = entropies.interval()
        for weight, count, whole in zip(self.weights, counts, wholes, strict=True):
            whole.add(at_exponent(weight, exponent))
            ends = whole.interval()
            low, high = low - count * ends[1], high - count * ends[0]
        return -high, -low


def _path(movable, excess):
    """A path of pairs from a class with too much to one with too little, breadth first; or None."""
    for start in (c for c, value in enumerate(excess) if value > 0):
        paths, seen = [[start]], {start}
        for path in paths:
            if excess[path[-1]] < 0:
                return path
            for p, q in movable:
                if p == path[-1] and q not in seen:
                    seen.add(q)
                    paths.append([*path, q])
    return None


# ---------------------------------------------------------------------------------------------------------------------
# Measures of the contingency table
# ---------------------------------------------------------------------------------------------------------------------


class ContingencyRisk:
    """n R(s) = max over labellings z of n Delta(fn, fp) + sum_i s_i (z_i - y_i)/2, for F-beta and precision at k.

    With the scores of the positives ascending and those of the negatives descending, the best labelling with fn and fp
    errors flips the first of each.  Delta = (b_p + c_p fn)/d_p for each surplus p = fp - fn, and c_p/d_p falls with p,
    so the best fn does not rise with p.

    The dual variables are a mixture of labellings: weights q_k and counts fn_k, fp_k from the file.  With x_i = y_i a_i
    sorted, x is the vector of probabilities of flips in a mixture with these counts if and only if, among the
    positives, x_(1) + ... + x_(j) <= U_j = sum_k q_k min(j, fn_k) for all j, with equality for all of them, and
    likewise among the negatives with fp.  Then n R* <= -n sum_k q_k Delta(fn_k, fp_k).  Delta(0, 0) = 0.
    """

    exact = True

    def __init__(self, signs, mixture, *, square=None, k=None):
        self.signs, self.square, self.k = signs, square, k
        self.classes = [[i for i, sign in enumerate(signs) if sign == own] for own in (1, -1)]
        self.n_pos, self.n_neg = map(len, self.classes)
        self.mixture = self._checked(mixture)
        #: n sum q Delta and sum x of the last point of ``repair``
        self.value, self.mass = Fraction(0), 0

    def delta(self, fn, fp):
        """Numerator and denominator of Delta; the denominator is None if the labelling is not allowed."""
        predicted = self.n_pos - fn + fp
        if self.square is None:
            return fp, (predicted if predicted >= self.k else None)
        whole = self.square * self.n_pos + predicted
        # without predictions and with beta = 0, F is 0/0, and counts as 0
        return (fp + self.square * fn, whole) if whole else (1, 1)

    def _checked(self, mixture):
        """The weights as integers over 2**MULTIPLE_BITS with the sum 1, and the counts."""
        if len(mixture.shape) != 2 or mixture.shape[1] != 3:
            raise CannotCheckError(f"the decomposition has the shape {mixture.shape}")
        rows = []
        for weight, fn, fp in mixture.rows():
            if weight < 0 or fn not in range(self.n_pos + 1) or fp not in range(self.n_neg + 1):
                raise CannotCheckError("the decomposition of the dual variables is not a mixture of labellings")
            if weight and self.delta(int(fn), int(fp))[1] is None:
                raise CannotCheckError("the decomposition holds a labelling that the measure does not allow")
            rows.append((Fraction(weight), int(fn), int(fp)))
        total = sum(weight for weight, _, _ in rows)
        if not total:
            raise CannotCheckError("the decomposition of the dual variables is empty")
        shares = [int(weight / total * (1 << MULTIPLE_BITS)) for weight, _, _ in rows]
        # rounded down, and the rest goes to the labelling without errors
        found = {(0, 0): (1 << MULTIPLE_BITS) - sum(shares)}
        for share, (_, fn, fp) in zip(shares, rows, strict=True):
            found[fn, fp] = found.get((fn, fp), 0) + share
        return found

    def repair(self, columns, exponent, balanced):
        """Probabilities of flips of a multiple of the mixture, near those of the file; None if none has the sum 0."""
        needed = max(exponent, 2 * MULTIPLE_BITS)
        x = [max(0, sign * a) << (needed - exponent) for sign, a in zip(self.signs, columns[0], strict=True)]
        if not any(x):
            return [[0] * len(x)], needed
        weights = self._multiple(sum(x), needed, balanced)
        if weights is None:
            return None
        self.value = Fraction(0)
        for (fn, fp), weight in weights.items():
            if weight:
                numerator, denominator = self.delta(fn, fp)
                self.value += len(x) * weight * Fraction(numerator) / denominator
        self.value /= 1 << needed
        for members, side in zip(self.classes, (0, 1), strict=True):
            self._onto_base(x, members, {cell[side]: 0 for cell in weights}, weights, side)
        self.mass = Fraction(sum(x), 1 << needed)
        return [[sign * value for sign, value in zip(self.signs, x, strict=True)]], needed

    def _multiple(self, mass, exponent, balanced):
        """The weights of t times the mixture, as integers over 2**exponent, with as many fn as fp if ``balanced``."""
        flips = sum(weight * (fn + fp) for (fn, fp), weight in self.mixture.items())
        surplus = sum(weight * (fp - fn) for (fn, fp), weight in self.mixture.items()) if balanced else 0
        if not flips:
            return None
        # one more labelling with a single error makes the numbers equal: t (1 + |surplus|) <= 1
        whole = 1 << MULTIPLE_BITS
        t = min(
            (mass << MULTIPLE_BITS) // (flips << (exponent - MULTIPLE_BITS)), whole * whole // (whole + abs(surplus))
        )
        single = (1, 0) if surplus > 0 else (0, 1)
        if surplus and self.delta(*single)[1] is None:
            return None
        rise = exponent - 2 * MULTIPLE_BITS
        found = {cell: (t * weight) << rise for cell, weight in self.mixture.items()}
        found[single] = found.get(single, 0) + ((t * abs(surplus)) << rise)
        found[0, 0] = 0
        found[0, 0] = (1 << exponent) - sum(found.values())
        assert found[0, 0] >= 0
        return found

    @staticmethod
    def _onto_base(x, members, by_count, weights, side):
        """Replace x of a class by the differences of min(A + missing, U), where A are the sums of the largest x."""
        for cell, weight in weights.items():
            by_count[cell[side]] += weight
        order = sorted(members, key=x.__getitem__, reverse=True)
        caps, cap, step = [], 0, sum(by_count.values())
        for j in range(len(order)):
            # U rises by the weight of the labellings with more than j flips
            step -= by_count.get(j, 0)
            cap += step
            caps.append(cap)
        total = max(0, cap - sum(x[i] for i in order))
        last = 0
        for i, cap in zip(order, caps, strict=True):
            total += x[i]
            end = min(total, cap)
            x[i], last = end - last, end

    def largest_multiple(self, columns, exponent):
        return Fraction(1)

    def primal(self, columns, exponent, enclosures):
        """n R(s), from the best labelling of every surplus."""
        low = sorted(columns[0][i] for i in self.classes[0])
        high = sorted((columns[0][i] for i in self.classes[1]), reverse=True)
        flips, one = [[0], [0]], 1 << exponent
        for sums, values, sign in ((flips[0], low, -1), (flips[1], high, 1)):
            for value in values:
                sums.append(sums[-1] + sign * value)
        n, best, fn = self.n_pos + self.n_neg, Fraction(0), self.n_pos
        first = -self.n_pos if self.square is not None else self.k - self.n_pos
        for p in range(first, self.n_neg + 1):
            fn = min(fn, self.n_neg - p)
            _, whole = self.delta(max(0, -p), max(0, p))
            per_fn = 1 if self.square is None else 1 + self.square
            # one more false negative gains n c_p/d_p - s_positive + s_negative
            while fn > max(0, -p) and n * per_fn * one < (low[fn - 1] - high[fn + p - 1]) * whole:
                fn -= 1
            numerator, whole = self.delta(fn, fn + p)
            found = n * Fraction(numerator) / whole + Fraction(flips[0][fn] + flips[1][fn + p], one)
            best = max(best, found)
        return best, best

    def dual(self, columns, exponent, enclosures):
        """N sum q Delta, times the multiple of the last point of ``repair``."""
        mass = Fraction(sum(map(abs, columns[0])), 1 << exponent)
        found = self.value * mass / self.mass if mass else Fraction(0)
        return found, found


# ---------------------------------------------------------------------------------------------------------------------
# The problem of a model file
# ---------------------------------------------------------------------------------------------------------------------

_MARGIN_LOSSES = {
    "hinge": {"high": 1},
    "squared_hinge": {"kappa": 0.5},
    "huber_hinge": {"kappa": 0.5, "high": 1},
}
_RESIDUAL_LOSSES = {
    "squared": {"kappa": 1},
    "absolute": {"low": 1, "high": 1},
    "epsilon_insensitive": {"epsilon": 0.1, "low": 1, "high": 1},
    "squared_epsilon_insensitive": {"epsilon": 0.1, "kappa": 0.5},
    "huber": {"kappa": 1, "low": 1.35, "high": 1.35},
    "quantile": {"low": 0.5, "high": 0.5},
}
_JOINT_LOSSES = {"weston_watkins": "hinge", "crammer_singer": "hinge", "multinomial": "logistic"}


def separable_risk(loss, labels, weights, groups):
    """The sum of a named loss with its default parameters."""
    if loss in _MARGIN_LOSSES:
        return PiecewiseQuadratic(labels, weights, groups, margin=True, **_MARGIN_LOSSES[loss])
    if loss in _RESIDUAL_LOSSES:
        return PiecewiseQuadratic(labels, weights, groups, margin=False, **_RESIDUAL_LOSSES[loss])
    others = {"logistic": LogisticRisk, "exponential": ExponentialRisk, "poisson": PoissonRisk}
    if loss not in others:
        raise CannotCheckError(f"the loss {loss!r} is not supported")
    return others[loss](labels, weights, groups)


class Regularizer:
    """Omega(w) = (1 - rho)/2 |w|^2 + rho |w|_1 with rho from 0 (ridge) to 1 (lasso)."""

    def __init__(self, parameters):
        name, ratio = parameters.get("regularizer"), _number("l1_ratio", parameters["l1_ratio"])
        if name == "elastic_net":
            ratio = ratio or Fraction(1, 2)
        elif name in ("l1", "l2"):
            ratio = Fraction(name == "l1")
        elif name is not None:
            raise CannotCheckError(f"the regularizer {name!r} is not supported")
        if not 0 <= ratio <= 1:
            raise CannotCheckError(f"l1_ratio is {float(ratio)!r}")
        self.rho = ratio
        self.name = "l2" if ratio == 0 else "l1" if ratio == 1 else f"elastic_net({float(ratio)!r})"

    def value(self, weights, exponent):
        """Omega(w)."""
        squares, sizes = sum(w * w for w in weights), sum(map(abs, weights))
        return (1 - self.rho) / 2 * Fraction(squares, 1 << (2 * exponent)) + self.rho * Fraction(sizes, 1 << exponent)

    def conjugate(self, z, exponent, C):
        """Omega*(C z) = sum_j [|C z_j| - rho]_+^2 / (2 (1 - rho)); for the lasso |C z_j| <= 1 is required."""
        if self.rho == 1:
            assert all(abs(value) * C.numerator <= C.denominator << exponent for value in z)
            return Fraction(0)
        exponent_c = exponent_of(C)
        rise = max(0, exponent_of(self.rho) - exponent - exponent_c)
        exponent += exponent_c + rise
        factor, threshold = C.numerator << rise, at_exponent(self.rho, exponent)
        excesses = (abs(value) * factor - threshold for value in z)
        squares = sum(excess * excess for excess in excesses if excess > 0)
        return Fraction(squares, 1 << (2 * exponent)) / (2 * (1 - self.rho))


class Problem:
    """One optimization problem with its model, its dual variables and its certificate."""

    def __init__(self, data, risk, regularizer, C, total, weights, intercepts, balanced, theta, certificate, title):
        self.data, self.risk, self.regularizer, self.C, self.total = data, risk, regularizer, C, total
        self.weights, self.intercepts, self.balanced, self.theta = weights, intercepts, balanced, theta
        self.title = title
        primal, dual, *errors = (
            _number(name, certificate[name]) for name in ("primal", "dual", "primal_error", "dual_error")
        )
        self.upper, self.lower = primal + errors[0], dual - errors[1]

    def score_columns(self):
        """The exact scores, one column for each output."""
        flat, exponent = dyadic([*(w for row in self.weights for w in row), *self.intercepts])
        count, width = len(self.weights), len(self.weights[0])
        rows = [flat[k * width : (k + 1) * width] for k in range(count)]
        penalty = self.regularizer.value(flat[: count * width], exponent) / self.C
        rise = self.data.exponent
        columns = [scores(self.data.rows, row, b << rise) for row, b in zip(rows, flat[count * width :], strict=True)]
        return penalty, columns, exponent + rise

    def dual_point(self):
        """The feasible dual point nearest to what the file holds, with Omega*(C X^T a)/C; None if there is none."""
        flat, exponent = dyadic([value for column in self.theta for value in column])
        shift = exponent_of(self.total)
        factor, n = at_exponent(self.total, shift), len(self.data.rows)
        columns = [[factor * value for value in flat[start : start + n]] for start in range(0, len(flat), n)]
        repaired = self.risk.repair(columns, exponent + shift, self.balanced)
        if repaired is None:
            return None
        columns, exponent = repaired
        features = len(self.weights[0])
        z = [value for column in columns for value in adjoint(self.data.rows, column, features)]
        return columns, exponent, z, exponent + self.data.exponent

    def objective(self, scored, enclosures):
        """Enclose P."""
        penalty, columns, exponent = scored
        return tuple((penalty + end) / self.total for end in self.risk.primal(columns, exponent, enclosures))

    def bound(self, point, enclosures, multiple=None):
        """Enclose D at the dual point, or at a multiple of it."""
        columns, exponent, z, z_exponent = point
        if multiple is not None:
            factor = at_exponent(multiple, MULTIPLE_BITS)
            columns = [[factor * value for value in column] for column in columns]
            z = [factor * value for value in z]
            exponent, z_exponent = exponent + MULTIPLE_BITS, z_exponent + MULTIPLE_BITS
        penalty = self.regularizer.conjugate(z, z_exponent, self.C) / self.C
        return tuple((end - penalty) / self.total for end in self.risk.dual(columns, exponent, enclosures))

    def multiples(self, point, enclosures):
        """Intervals of D at feasible multiples of the dual point, the most promising first; for the lasso."""
        columns, exponent, z, z_exponent = point
        largest = max(map(abs, z), default=0)
        ends = [self.risk.largest_multiple(columns, exponent)]
        if largest:
            ends.append(Fraction(1 << z_exponent, largest) / self.C)
        end = min((end for end in ends if end is not None), default=Fraction(1))
        high = _rounded_down(end)
        yield self.bound(point, enclosures, high)
        if high > 1:
            # theta is the best multiple already, up to rounding
            yield self.bound(point, enclosures, Fraction(1))
        # D is concave: golden section search, and every point that it visits is a bound
        low, ratio = Fraction(0), Fraction(618, 1000)
        at = [_rounded_down(high * (1 - ratio)), _rounded_down(high * ratio)]
        found = [self.bound(point, enclosures, t) for t in at]
        yield from found
        for _ in range(40):
            if found[0][0] > found[1][0]:
                high, at, found = at[1], [None, at[0]], [None, found[0]]
                at[0], side = _rounded_down(high - ratio * (high - low)), 0
            else:
                low, at, found = at[0], [at[1], None], [found[1], None]
                at[1], side = _rounded_down(low + ratio * (high - low)), 1
            found[side] = self.bound(point, enclosures, at[side])
            yield found[side]

    def bounds(self, point, enclosures):
        """Intervals of D at feasible dual points, the most promising first."""
        if point is not None:
            if self.regularizer.rho == 1:
                yield from self.multiples(point, enclosures)
            else:
                yield self.bound(point, enclosures)
        n, outputs = len(self.data.rows), len(self.weights)
        zero = self.risk.repair([[0] * n for _ in range(outputs)], 0, self.balanced)
        if zero is not None:
            yield self.bound((*zero, [], 0), enclosures)

    def check(self):
        """The best intervals of P and D, and whether each claim is confirmed."""
        scored, point = self.score_columns(), self.dual_point()
        objective = bound = None
        for bits in PRECISIONS:
            enclosures = Enclosures(bits)
            if objective is None or objective[0] <= self.upper < objective[1]:
                objective = self.objective(scored, enclosures)
            if bound is None or bound[0] < self.lower <= bound[1]:
                bound = None
                for found in self.bounds(point, enclosures):
                    bound = found if bound is None or found[0] > bound[0] else bound
                    if bound[0] >= self.lower:
                        break
            if self.risk.exact:
                break
        return objective, bound


def _rounded_down(number):
    """The next lower multiple of 2**-MULTIPLE_BITS."""
    return Fraction((number.numerator << MULTIPLE_BITS) // number.denominator, 1 << MULTIPLE_BITS)


def _number(name, value):
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise CannotCheckError(f"{name} is {value!r}, not a number")
    return Fraction(value)


def _codes(labels, classes):
    """The number of each label's class."""
    if any(not a < b for a, b in pairwise(classes)) or len(classes) < 2:
        raise CannotCheckError("the classes of the model are not sorted")
    numbers = {label: code for code, label in enumerate(classes)}
    unknown = next((label for label in labels if label not in numbers), None)
    if unknown is not None:
        raise CannotCheckError(f"the label {unknown!r} of the data is none of the classes of the model")
    codes = [numbers[label] for label in labels]
    if len(set(codes)) < len(classes):
        raise CannotCheckError("the data lack a class of the model")
    return codes


def problems(about, arrays, data):
    """The problems of a model file, one for each certificate."""
    parameters, certificates, d, n = about["parameters"], about["certificates"], about["features"], len(data.rows)
    coef, intercept, theta = arrays["coef_"], arrays["intercept_"], arrays["theta_"]
    C, regularizer = _number("C", parameters["C"]), Regularizer(parameters)
    if C <= 0:
        raise CannotCheckError(f"C is {float(C)!r}")
    balanced = bool(parameters["fit_intercept"])
    weights, groups, loss = [1.0], [0] * n, parameters.get("loss")
    if not isinstance(loss, str | None):
        raise CannotCheckError(f"the loss {json.dumps(loss)} has parameters, which are not supported")
    forms = about["multi_class"]
    if about["kind"] == "LinearRegressor":
        if coef.shape != (d,) or intercept.shape not in ((), (1,)) or theta.shape != (n,):
            _wrong_shapes(coef, intercept, theta, n, d)
        if loss not in _RESIDUAL_LOSSES and loss != "poisson":
            raise CannotCheckError(f"the loss {loss!r} of a regression is not supported")
        if not all(isinstance(label, float) for label in data.labels):
            raise CannotCheckError("the labels of a regression must be numbers")
        tasks = [(separable_risk(loss, data.labels, weights, groups), [coef.values], [theta.values], "")]
    elif about["kind"] == "LinearClassifier":
        classes = arrays["classes_"].values
        codes, k = _codes(data.labels, classes), len(classes)
        weights, groups = _class_weights(parameters["class_weight"], codes, k)
        outputs = 1 if k == 2 and coef.shape[0] == 1 else k
        if coef.shape != (outputs, d) or intercept.shape != (outputs,):
            _wrong_shapes(coef, intercept, theta, n, d)
        if theta.shape != ((n,) if outputs == 1 else (n, k)):
            _wrong_shapes(coef, intercept, theta, n, d)
        if loss in _RESIDUAL_LOSSES or loss == "poisson":
            raise CannotCheckError(f"the loss {loss!r} of a classifier is not supported")
        columns = [theta.values] if outputs == 1 else [theta.values[j::k] for j in range(k)]
        if outputs > 1 and forms in _JOINT_LOSSES:
            if loss != _JOINT_LOSSES[forms]:
                raise CannotCheckError(f"multi_class={forms!r} with the loss {loss!r}")
            tasks = [(JointRisk(forms, codes, k, weights, groups), coef.rows(), columns, f"{forms}: ")]
        elif outputs == 1 or forms == "ovr":
            tasks = []
            for j, (row, column) in enumerate(zip(coef.rows(), columns, strict=True)):
                positive = 1 if outputs == 1 else j
                signs = [1.0 if code == positive else -1.0 for code in codes]
                title = "" if outputs == 1 else f"class {classes[j]}: "
                tasks.append((separable_risk(loss, signs, weights, groups), [row], [column], title))
        else:
            raise CannotCheckError(f"multi_class={forms!r} is not supported")
    elif about["kind"] == "MeasureClassifier":
        intercept = arrays["risk_intercept_"]
        tasks = _measure_tasks(parameters, arrays, data.labels, n, d)
    else:
        raise CannotCheckError(f"models of the kind {about['kind']!r} are not supported")
    if not balanced and any(intercept.values):
        raise CannotCheckError("the model has an intercept, but fit_intercept is false")
    if len(certificates) != len(tasks):
        raise CannotCheckError(f"the model has {len(certificates)} certificates for {len(tasks)} problems")
    total = sum(Fraction(weights[group]) for group in groups)
    found, at = [], 0
    for (risk, rows, columns, title), certificate in zip(tasks, certificates, strict=True):
        intercepts = intercept.values[at : at + len(rows)]
        at += len(rows)
        found.append(
            Problem(data, risk, regularizer, C, total, rows, intercepts, balanced, columns, certificate, title)
        )
    return found


def _measure_tasks(parameters, arrays, labels, n, d):
    """The risk, the weights, the dual variables and the title of each problem of a measure."""
    coef, intercept, theta, classes = (arrays[name] for name in ("coef_", "risk_intercept_", "theta_", "classes_"))
    measure, k = parameters["measure"], len(classes.values)
    codes, outputs = _codes(labels, classes.values), 1 if k == 2 else k
    if outputs > 1 and parameters["average"] != "macro":
        raise CannotCheckError("average='micro' is not supported")
    if "positive_weights_" in arrays:
        raise CannotCheckError("a plug-in is not supported, only the bound of a measure: train with --surrogate bound")
    if coef.shape != (outputs, d) or intercept.shape != (outputs,):
        _wrong_shapes(coef, intercept, theta, n, d)
    if theta.shape != ((n,) if outputs == 1 else (n, k)):
        _wrong_shapes(coef, intercept, theta, n, d)
    positives = range(k)
    if outputs == 1:
        positives = [1 if parameters["pos_label"] is None else classes.values.index(parameters["pos_label"])]
    tasks = []
    for j, positive in enumerate(positives):
        signs = [1 if code == positive else -1 for code in codes]
        title = "" if outputs == 1 else f"class {classes.values[j]}: "
        risk = _measure(measure, parameters, signs, arrays.get(f"decomposition_{j}"))
        tasks.append((risk, [coef.rows()[j]], [theta.values[j::outputs]], title))
    return tasks


def _measure(measure, parameters, signs, mixture):
    """The risk of a named measure."""
    if measure not in ("f1", "fbeta", "precision_at_k"):
        raise CannotCheckError(f"the measure {measure!r} is not supported")
    if mixture is None:
        raise CannotCheckError("the model file holds no decomposition of its dual variables")
    if measure == "precision_at_k":
        k = parameters["k"]
        k = signs.count(1) if k is None else k
        if type(k) is not int or not 1 <= k <= signs.count(1):
            raise CannotCheckError(f"k is {k!r}")
        return ContingencyRisk(signs, mixture, k=k)
    beta = _number("beta", parameters["beta"]) if measure == "fbeta" else Fraction(1)
    return ContingencyRisk(signs, mixture, square=beta**2)


def _wrong_shapes(coef, intercept, theta, n, d):
    raise CannotCheckError(
        f"coef_ {coef.shape}, intercept_ {intercept.shape} and theta_ {theta.shape} do not belong to {n} rows with {d} "
        "features"
    )


def _class_weights(class_weight, codes, k):
    """The different weights, and the number of each example's weight."""
    if class_weight is None:
        return [1.0], [0] * len(codes)
    if class_weight != "balanced":
        raise CannotCheckError("class_weight other than 'balanced' is not supported")
    counts = [0] * k
    for code in codes:
        counts[code] += 1
    # the weights of the problem are these floats
    return [len(codes) / (k * count) for count in counts], codes


# ---------------------------------------------------------------------------------------------------------------------
# The report
# ---------------------------------------------------------------------------------------------------------------------


def shown(number, digits=25):
    """A rational as a decimal."""
    context = Context(prec=digits)
    return str(context.divide(Decimal(number.numerator), Decimal(number.denominator)))


def report(problem):
    """Check one problem and print what is found; the exit status."""
    objective, bound = problem.check()
    exact = "exact" if problem.risk.exact else f"enclosed within {float(objective[1] - objective[0]):.0e}"
    print(f"{problem.title}objective   P = {shown(objective[1])} ({exact}), stated: at most {shown(problem.upper)}")
    status = CONFIRMED
    if bound is None:
        print(f"{problem.title}dual bound  none: no dual point near the dual variables is feasible")
        print(f"{problem.title}refuted: nothing proves the lower bound {shown(problem.lower)}")
        status = REFUTED
    else:
        print(f"{problem.title}dual bound  D = {shown(bound[0])}, stated: at least {shown(problem.lower)}")
        gap, stated = objective[1] - bound[0], problem.upper - problem.lower
        print(f"{problem.title}gap     P - D = {shown(gap, 6)}, stated: at most {shown(stated, 6)}")
        if bound[0] < problem.lower:
            missing = shown(problem.lower - bound[0], 6)
            print(
                f"{problem.title}refuted: the dual variables prove a lower bound that is {missing} below the stated one"
            )
            status = REFUTED
    if objective[1] > problem.upper:
        print(
            f"{problem.title}refuted: the objective is {shown(objective[1] - problem.upper, 6)} above the stated bound"
        )
        status = REFUTED
    if objective[1] < problem.lower:
        print(f"{problem.title}refuted: the objective is below the stated lower bound for all models")
        status = REFUTED
    return status


def main(arguments=None):
    """Run the command; the exit status."""
    parser = argparse.ArgumentParser(description="Check the certificate of a model file in exact arithmetic.")
    parser.add_argument("model", help="what `fenchel train` wrote")
    parser.add_argument("data", help="the training data: a svmlight file or a table (.csv); also .gz, .bz2, .xz")
    parser.add_argument("--label", metavar="COLUMN", help="the column of labels, if another one than in training")
    options = parser.parse_args(arguments)
    try:
        about, arrays = read_model(options.model)
        data = read_data(options.data, about, options.label)
        try:
            found = problems(about, arrays, data)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise CannotCheckError(f"{options.model}: is damaged: {type(error).__name__}: {error}") from error
        parameters = about["parameters"]
        intercept = "with" if parameters["fit_intercept"] else "without"
        goal = parameters.get("loss", parameters.get("measure"))
        print(
            f"{len(data.rows)} rows, {about['features']} features; {goal}, {found[0].regularizer.name}, "
            f"C = {parameters['C']}, {intercept} intercept"
        )
        status = max([report(problem) for problem in found])
    except CannotCheckError as error:
        print(f"can't be checked: {' '.join(str(error).split())}", file=sys.stderr)
        return CANNOT_CHECK
    if status == CONFIRMED:
        print("confirmed: both bounds hold in exact arithmetic")
    return status


if __name__ == "__main__":
    sys.exit(main())
