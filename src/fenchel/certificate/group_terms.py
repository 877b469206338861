"""What certificates compute beside each group of rows (``by_groups``), from its rows and its term of the risk."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.certificate.dual import usable
from fenchel.certificate.other_lambdas import score_limits
from fenchel.certificate.primal import evaluate
from fenchel.certificate.rounding import absolute_sums, risk_error
from fenchel.designs.row_groups import GroupOfRows
from fenchel.numerics.error_free import expansion
from fenchel.problem import Model, Problem
from fenchel.projections.zero_sum import absorbed
from fenchel.regularizers import Regularizer
from fenchel.risks import MeanRisk


class About(NamedTuple):
    """What the problem of a group has in common with the whole."""

    lam: float
    regularizer: Regularizer
    intercept: bool


class Begun(NamedTuple):
    """Kept beside a group: its term of R, and its theta in the domain; None where it was lost."""

    risk: float
    theta: Floats | None


class Balance(NamedTuple):
    """What the driver learns in the first exchange: the sums are those of the entries of each sign of each output."""

    risk: float
    lost: bool
    usable: bool
    above: Floats
    below: Floats


class DualSums(NamedTuple):
    """A group's terms of the dual side."""

    conjugate: float
    error: float
    x_theta: Floats
    #: sum |theta_i| of each output
    sums: Floats
    #: of each output numbers whose sum is that of theta exactly, and the largest entries of each sign
    rest: list[list[float]]
    above: Floats
    below: Floats
    #: the interval in which the optimal intercept of each output is
    lowest: Floats
    highest: Floats


class Absorbed(NamedTuple):
    """A group's term of R* after an entry of each output has moved, with its error; and bounds on sum theta."""

    conjugate: float
    error: float
    left: Floats


class FineErrors(NamedTuple):
    """A group's terms of the finer bounds."""

    risk: float
    conjugate: float
    #: sum |theta_i| r_i of each output, with the magnitudes of the rows
    terms: Floats


class Moved(NamedTuple):
    """Kept beside a group: theta, None where it was lost, and the bounds on its sums if an entry has moved."""

    theta: Floats | None
    left: Floats | None


def begin(
    group: GroupOfRows,
    part: MeanRisk,
    theta: Array | None,
    *,
    about: About,
    weights: Array,
    intercept: Any,
    at_model: bool,
) -> Begun:
    """The term of R of a group, and its theta in the domain; ``at_model`` it is minus the subgradient there."""
    with np.errstate(over="ignore", invalid="ignore"):
        primal = evaluate(Problem(group.design, part, *about), Model(weights, intercept))
        if at_model:
            scores = primal.scores if primal.scores is not None else group.design.scores(weights) + intercept
            theta = -part.subgradient(scores)
        return Begun(primal.risk, None if theta is None else part.project(theta))


def balance(group: GroupOfRows, begun: Begun) -> Balance:
    """What the balance of theta needs."""
    theta = begun.theta
    if theta is None:
        return Balance(begun.risk, True, False, np.zeros(1), np.zeros(1))
    above, below = np.maximum(theta, 0.0).sum(axis=0), -np.minimum(theta, 0.0).sum(axis=0)
    return Balance(begun.risk, False, usable(theta), np.atleast_1d(above), np.atleast_1d(below))


def balance_and_sums(
    group: GroupOfRows, part: MeanRisk, begun: Begun, *, about: About
) -> tuple[Balance, DualSums | None]:
    """Both at once, where theta need not be balanced."""
    found, theta = balance(group, begun), begun.theta
    if theta is None or not found.usable:
        return found, None
    return found, dual_sums(group, part, theta, about=about, level=math.inf)


def scaled(group: GroupOfRows, begun: Begun, *, above: Array, below: Array) -> Floats | None:
    """Theta with its positive and its negative entries times numbers, one for each output."""
    theta = begun.theta
    if theta is None or (np.all(above == 1.0) and np.all(below == 1.0)):
        return theta
    if theta.ndim == 1:
        above, below = above[0], below[0]
    return np.where(theta > 0.0, theta * above, theta * below)


def dual_sums(
    group: GroupOfRows, part: MeanRisk, theta: Floats | None, *, about: About, level: float
) -> DualSums | None:
    """The terms of the dual side; ``level`` is an objective that the optimum does not exceed.

    None where theta was lost since the first exchange, with the worker that had it.
    """
    if theta is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        conjugate = part.conjugate(theta, feasible=True)
        error = part.conjugate_error(theta, conjugate, fine=False)
        columns = np.atleast_2d(theta.T)
        lowest, highest, rest = np.full(len(columns), -np.inf), np.full(len(columns), np.inf), []
        if about.intercept:
            limits = score_limits(Problem(group.design, part, *about), level)
            lowest, highest = part.intercept_interval(level, limits)
            rest = [expansion(column) for column in columns]
        most = np.max(columns, axis=1), -np.min(columns, axis=1)
        x_theta = group.design.adjoint(theta)
        return DualSums(conjugate, error, x_theta, absolute_sums(theta), rest, *most, lowest, highest)


def moved(group: GroupOfRows, theta: Floats | None, moves: Array) -> Moved:
    """Theta with an entry of each output moved towards zero by this number."""
    if theta is None or not np.any(moves):
        return Moved(theta, None if theta is not None or not np.any(moves) else np.zeros(len(moves)))
    columns, left = np.atleast_2d(theta.T).copy(), np.zeros(len(moves))
    for j in np.flatnonzero(moves):
        columns[j], left[j] = absorbed(columns[j], float(moves[j]))
    return Moved(columns[0] if theta.ndim == 1 else np.ascontiguousarray(columns.T), left)


def absorbed_sums(group: GroupOfRows, part: MeanRisk, found: Moved) -> Absorbed | None:
    """The term of R* of a group whose theta has moved, NaN where it was lost; None for others."""
    if found.left is None:
        return None
    if found.theta is None:
        return Absorbed(math.nan, math.nan, found.left)
    conjugate = part.conjugate(found.theta, feasible=True)
    return Absorbed(conjugate, part.conjugate_error(found.theta, conjugate, fine=False), found.left)


def theta_of(group: GroupOfRows, found: Moved) -> Floats | None:
    """Theta alone."""
    return found.theta


def fine_errors(
    group: GroupOfRows, part: MeanRisk, theta: Floats | None, *, about: About, weights: Array, intercept: Any
) -> FineErrors | None:
    """The finer bounds on the errors of a group's terms, row by row; None where theta was lost."""
    if theta is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        own = Problem(group.design, part, *about)
        primal = evaluate(own, Model(weights, intercept))
        conjugate = part.conjugate(theta, feasible=True)
        of_conjugate = part.conjugate_error(theta, conjugate, fine=True)
        terms = absolute_sums(theta, group.design.row_magnitudes)
        return FineErrors(risk_error(own, primal, fine=True), of_conjugate, terms)
