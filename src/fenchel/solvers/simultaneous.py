r"""Epochs of dual (block) coordinate descent in threads: CoCoA+ of Ma et al. (2015), with a step that is measured.

The dual of a problem with ridge is, with :math:`v = X^T\theta/\lambda` and :math:`\theta_i = c_i\alpha_i`,

.. math:: \min_\alpha\; \tfrac\lambda2\|v\|^2 + \sum_i c_i f_i^*(-\alpha_i).

A part of an epoch, whose examples are in random order, is divided into K blocks.  Thread k takes the examples of its
block one after the other and minimizes over the variables of each the local subproblem, eq. (9) of [1]_:

.. math:: G_k(\Delta\alpha_k) = \lambda v\cdot\delta_k + \tfrac{\lambda\sigma'}2\|\delta_k\|^2
    + \sum_{i \in k} c_i f_i^*(-\alpha_i - \Delta\alpha_i), \qquad \delta_k = X_k^T\Delta\theta_k/\lambda

These are the steps of the serial method with :math:`\sigma'q_i` in the place of the curvatures :math:`q_i`, and a
vector :math:`u_k = v + \sigma'\delta_k` of the thread's own in the place of v: one loop serves both.  Then

.. math:: \alpha \leftarrow \alpha + \gamma\sum_k\Delta\alpha_k, \qquad v \leftarrow v + \gamma\sum_k\delta_k,

added in the order of the blocks: the result depends on K, but not on which thread is faster.

The paper takes :math:`\gamma = 1` and :math:`\sigma' = K`, which is safe for all data (Lemmas 3 and 4) and makes steps
K times too short where the blocks have little in common.  Here the overlap of the blocks is measured,

.. math:: \rho = \|\textstyle\sum_k\delta_k\|^2 / \sum_k\|\delta_k\|^2 \in [0, K], \quad \gamma = \min(1, \sigma'/\rho),

and :math:`\sigma'` of the next part is a little more than :math:`\rho` of this one, within [1, K]; the first is K.
That is as safe, by the proof of Lemma 3: :math:`f_i^*` is convex, so that with :math:`\gamma\rho \le \sigma'`

.. math:: D(\alpha + \gamma\Delta\alpha) - D(\alpha)
    \le \gamma\sum_k\big[\lambda v\cdot\delta_k + \tfrac{\lambda\gamma\rho}2\|\delta_k\|^2 + \dots\big]
    \le \gamma\sum_k\big[G_k(\Delta\alpha_k) - G_k(0)\big] \le 0.

An unregularized intercept is a feature like the others: S and m·v follow from theta as v does.

=====================  =====================================================================
symbol                 here
=====================  =====================================================================
K                      ``Simultaneous.count``
:math:`\sigma'`        ``Simultaneous.sigma`` and ``Part.sigma``
:math:`\gamma`         ``gamma``
:math:`\rho`           ``overlap``
:math:`u_k`            ``Sums`` of a block, a copy
:math:`\alpha`         ``alpha``: of an example one number, or the block of its classes
=====================  =====================================================================

References
----------
.. [1] C. Ma, V. Smith, M. Jaggi, M. I. Jordan, P. Richtarik and M. Takac. "Adding vs. averaging in distributed
       primal-dual optimization." ICML, 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fenchel.arrays import Array
from fenchel.compile.primitives.copying import gather
from fenchel.compile.primitives.epoch import Part, Tally

#: entries of X that a block has at least, and the same for each feature: a block copies v and adds its change, and the
#: larger it is, the less it knows of the others' steps (on 1 GB of text each block is 2% of an epoch)
BLOCK_ENTRIES, ENTRIES_PER_FEATURE = 1 << 20, 16
#: a part of an epoch with less than this share of such blocks is left to one thread
_SHARE = 0.25
#: what sigma' has above the last overlap, since a step that must be shortened moves dual variables off their bounds
_MARGIN = 1.1


class Sums(NamedTuple):
    """What loops keep beside alpha: linear functions of theta."""

    #: X^T theta / lam
    v: Array
    #: S, m.v and what else follows from them
    intercept: Array

    def empty(self) -> Sums:
        """Room for the sums of one block."""
        return Sums(np.empty_like(self.v), np.empty_like(self.intercept))

    def copy_from(self, other: Sums) -> None:
        """Take over the numbers of other sums."""
        np.copyto(self.v, other.v)
        np.copyto(self.intercept, other.intercept)

    def subtract(self, base: Sums) -> None:
        """Keep the difference from these sums."""
        np.subtract(self.v, base.v, out=self.v)
        np.subtract(self.intercept, base.intercept, out=self.intercept)

    def add(self, change: Sums, factor: float = 1.0) -> None:
        """Add a multiple of a change, which is lost."""
        for total, term in zip(self, change, strict=True):
            if factor != 1.0:
                np.multiply(term, factor, out=term)
            np.add(total, term, out=total)


class _Block(NamedTuple):
    """What a thread found on its examples."""

    tally: Tally
    #: sigma' delta_k, and its squared norm
    change: Sums
    square: float
    #: the examples in the order of their turns, and their alpha before it; empty if steps are never shortened
    examples: Array
    before: Array
    #: as ``Part.worst``
    worst: Array


class Simultaneous:
    """Blocks of examples whose dual variables change at the same time, each in a thread.

    Parameters
    ----------
    count : int
        The number of blocks.
    measures : bool, default=True
        Whether sigma' follows the overlap of the blocks; otherwise it is ``count``, and steps are never shortened.
    """

    def __init__(self, count: int, *, measures: bool = True) -> None:
        self.count, self.measures, self.sigma = count, measures, float(count)
        self._pool = ThreadPoolExecutor(count)
        #: u_k of each block, kept between parts: new memory would have to be cleared by the system
        self._own: list[Sums] = []

    def turns(self, entries: int, features: int) -> int:
        """The number of examples in a part of an epoch, if each has ``entries`` entries."""
        return self.count * max(1, max(BLOCK_ENTRIES, ENTRIES_PER_FEATURE * features) // entries)

    def is_worth_it(self, part: Part, entries: int, features: int) -> bool:
        """Whether a part has enough examples for several threads."""
        return part.end - part.begin >= max(self.count, _SHARE * self.turns(entries, features))

    def epoch(
        self,
        part: Part,
        sums: Sums,
        alpha: Array,
        run: Callable[[Part, Sums], tuple[Any, float, int, float]],
        square: Callable[[Sums], float],
    ) -> Tally:
        """One part of an epoch, changing ``part.order``, ``sums`` and ``alpha`` as one call of a loop would.

        Parameters
        ----------
        part : Part
            The examples, of which each is in one block.
        sums : Sums
            v and the intercept.
        alpha : array of shape (n,) or (n, k)
            The dual variables, which ``run`` changes in place.
        run : callable
            Calls the loop for a part, with sums of its own; returns the fields of a ``Tally``.
        square : callable
            The squared norm of a change of the sums.
        """
        bounds = np.linspace(part.begin, part.end, self.count + 1).astype(int).tolist()
        orders = [part.order[begin:end] for begin, end in pairwise(bounds)]

        if not self._own or self._own[0].v.dtype != sums.v.dtype:
            self._own = [sums.empty() for _ in orders]

        def take(order: Array, own: Sums) -> _Block:
            # the loop changes the order of its examples
            examples = order.copy() if self.measures else order[:0]
            before = np.empty((len(examples), *alpha.shape[1:]), alpha.dtype)
            gather(alpha, examples, before)
            own.copy_from(sums)
            worst = np.zeros_like(part.worst)
            block = Part(order, 0, len(order), 0, part.threshold, self.sigma, worst, part.listed_from)
            tally = Tally(*run(block, own))
            own.subtract(sums)
            return _Block(tally, own, square(own), examples, before, worst)

        futures = [self._pool.submit(take, *pair) for pair in zip(orders, self._own, strict=True)]
        try:
            wait(futures)
        finally:
            # after Ctrl-C, too: v has to follow alpha
            blocks = [future.result() for future in futures]
            gamma = self._add(sums, blocks, square)
            if gamma < 1.0:
                for block in blocks:
                    alpha[block.examples] = block.before + gamma * (alpha[block.examples] - block.before)
            tally = _joined(part, orders, [block.tally for block in blocks])
            _join_lists(part.worst, [block.worst for block in blocks])
        return tally

    def _add(self, sums: Sums, blocks: list[_Block], square: Callable[[Sums], float]) -> float:
        """Add gamma times the changes of all blocks; returns gamma, and sets sigma' for the next part."""
        first, *others = blocks
        for other in others:
            first.change.add(other.change)
        squares = sum(block.square for block in blocks)
        # both are of sigma' times the changes
        overlap = square(first.change) / squares if squares > 0.0 else 0.0
        gamma, sigma = measured_step(self.sigma, overlap, self.count) if self.measures else (1.0, self.sigma)
        sums.add(first.change, gamma / self.sigma)
        self.sigma = sigma
        return gamma


def _join_lists(worst: Array, lists: list[Array]) -> None:
    """Append the examples that blocks have listed, as long as there is room."""
    listed = int(worst[-1])
    found = np.concatenate([one[: int(one[-1])] for one in lists])[: len(worst) - 1 - listed]
    worst[listed : listed + len(found)] = found
    worst[-1] = listed + len(found)


def squared_size(v: Array) -> float:
    """|v|^2 without BLAS, whose own threads would wait for the cores that the blocks have."""
    flat = v.reshape(-1)
    return float(np.einsum("j,j", flat, flat))


def measured_step(sigma: float, overlap: float, count: int) -> tuple[float, float]:
    """Return gamma for changes that were made with sigma' and have this overlap, and sigma' for the next ones."""
    if overlap <= 0.0:
        return 1.0, sigma
    return min(1.0, sigma / overlap), min(float(count), max(1.0, _MARGIN * overlap))


def _joined(part: Part, orders: list[Array], tallies: list[Tally]) -> Tally:
    """The tally of all blocks; examples that stay active move to the front of the order."""
    kept = [order[: int(tally.remaining)] for order, tally in zip(orders, tallies, strict=True)]
    shrunk = [order[int(tally.remaining) :] for order, tally in zip(orders, tallies, strict=True)]
    active, begin = np.concatenate(kept), part.remaining
    # of the examples shrunk earlier, which may be most of all, only those move whose places are needed
    displaced = part.order[begin : min(begin + len(active), part.begin)].copy()
    behind = np.concatenate([displaced, *shrunk])
    part.order[part.end - len(behind) : part.end] = behind
    part.order[begin : begin + len(active)] = active
    return Tally(
        part.remaining + len(active),
        max(tally.violation for tally in tallies),
        sum(tally.changes for tally in tallies),
        sum(tally.gap for tally in tallies),
    )
