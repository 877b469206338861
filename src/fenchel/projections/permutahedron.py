r"""Permutahedra: the convex hulls of the orders of the entries of a vector.

:math:`\mathrm{Perm}(d)` is the set of the vectors that d majorizes (Rado 1952): with both sorted in falling order,

.. math:: A_k = \sum_{r\le k} a_{(r)} \;\le\; D_k = \sum_{r\le k} d_r \quad\text{for every } k, \qquad A_n = D_n.

A and D are concave, hence so is their minimum: its differences are the map into the set used here, which keeps the
order.  If the inequalities are violated by at most :math:`\epsilon` and the equality holds, some point of the set is
within :math:`2\epsilon` in the 1-norm: the set is the base polytope of :math:`S\mapsto D_{|S|}`, whose polymatroid has
a point below a that lacks :math:`\epsilon` in its sum, and every point of a polymatroid is below a base.

The nearest point is :math:`y_{(r)} - v_r` with v the falling vector nearest to :math:`y_{(r)} - d_r`, by pooling
adjacent violators (Lim and Wright 2016; Blondel et al. 2020).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.numerics.group_sums import order_in_groups, separate_group_sums


def into_permutahedra(
    a: Array, d: Array, groups: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[Array, NDArray[np.bool_]]:
    """Points of Perm(d) of groups that follow each other, near points a with the sum of d, and which entries changed.

    ``d`` falls within each group.
    """
    order = order_in_groups(-a, groups)
    excess = separate_group_sums(a[order] - d, sizes)
    over = excess > 0.0
    # the sums are equal up to rounding
    over[np.cumsum(sizes) - 1] = False
    moved = np.zeros(len(a), dtype=bool)
    if not np.any(over):
        return a, moved
    before = np.concatenate([[False], over[:-1]])
    ends = np.where(over, 0.0, excess)
    changed = over | before
    found = a.copy()
    entries = d + ends - np.where(np.concatenate([[True], groups[1:] != groups[:-1]]), 0.0, np.append(0.0, ends[:-1]))
    found[order[changed]] = entries[changed]
    moved[order[changed]] = True
    return found, moved


def nearest_in_permutahedron(center: Array, shift: Array, mu: float, d: Array) -> Floats:
    """The point of Perm(d) nearest to center + shift / mu; d falls.

    Within a pool all entries of y - v differ by little however small mu is: they are computed from the means of the
    pool, not as differences of large numbers.
    """
    # here, since scipy.optimize takes longer to import than most fits
    from scipy.optimize import isotonic_regression

    order = np.argsort(-(shift + mu * center))
    ordered, middle = shift[order], center[order]
    blocks = isotonic_regression(ordered + mu * (middle - d), increasing=False).blocks
    sizes = np.diff(blocks)
    ordered, middle = (values - np.repeat(_means(values, blocks, sizes), sizes) for values in (ordered, middle))
    found = np.empty(len(d))
    found[order] = ordered / mu + middle + np.repeat(_means(d, blocks, sizes), sizes)
    return found


def _means(values: Array, blocks: Array, sizes: Array) -> Floats:
    return np.add.reduceat(values, blocks[:-1]) / sizes
