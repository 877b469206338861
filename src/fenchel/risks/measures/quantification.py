r"""Measures of quantification: how well the number of predicted positives estimates that of positives.

With the surplus d = fp - fn and shares that are smoothed by half an example of each class, as in QuaPy,

.. math::
    p_c = \frac{n_c + 1/2}{n + 1}, \qquad \hat p_c = p_c\,(1 + x_c), \qquad x_\pm = \frac{\pm d}{n_\pm + 1/2}

=========  ================================================================================
name       :math:`\Delta`
=========  ================================================================================
``ae``     :math:`|d|/n`, the absolute error of the prevalence
``rae``    :math:`\frac12(|x_+| + |x_-|)`, the relative absolute error
``kld``    :math:`\sum_c p_c\log(p_c/\hat p_c) = \sum_c p_c\,(x_c - \log(1 + x_c))`, since :math:`\sum_c p_c x_c = 0`
``nkld``   :math:`\tanh(\mathrm{KLD}/2)`, which is :math:`2e^{\mathrm{KLD}}/(1 + e^{\mathrm{KLD}}) - 1`
``q``      :math:`1 - 2ra/(r + a)`, with the recall r = 1 - fn/n_+ and a = 1 - |d|/max(n_+, n_-)
=========  ================================================================================

The first four depend on d alone: on each diagonal Delta is constant, and the most violated labelling takes O(n log n)
(Esuli and Sebastiani 2015 train SVM-perf for KLD).

The Q-measure (Barranquero, Díez and del Coz 2015) is convex in fn on a diagonal, so that bisection fails.  But with
:math:`g(r, a) = 2ra/(r+a)`, :math:`g_{rr} = -4a^2/(r+a)^3`, :math:`g_{aa} = -4r^2/(r+a)^3` and
:math:`g_{ra} = 4ra/(r+a)^3`, and with m = max(n_+, n_-), the heights :math:`M = \Delta(fn, fp) + A_{fn} + B_{fp}` have

- for d >= 0, in (d, fn): :math:`\partial^2 M = -g_{ra}/(n_+m) + B'' \le 0`, since B is concave;
- for d <= 0, in (fn, fp): :math:`\partial^2 M = g_{ra}/(n_+m) + g_{aa}/m^2 = 4r\,(m - n_+ + fp)/(n_+m^2(r+a)^3) \ge 0`,

so the best fn does not increase with d >= 0, and the best fp does not decrease with fn where d <= 0: ``monotone`` finds
them in O(n log n).  A rectangle whose corners have d of one sign has no other d, and the corners that the inequalities
need are in both sets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.numerics.rounding import gamma
from fenchel.risks.measures.contingency import ContingencyRisk, DiagonalRisk, End
from fenchel.risks.measures.monotone import monotone_columns
from fenchel.risks.measures.separation import Cells, Diagonals, Ranked

#: roundings of a share, of a logarithm and of the sum of both classes
_ROUNDINGS = 16.0


class PrevalenceRisk(DiagonalRisk):
    """Base class of measures of the surplus d of predicted positives alone; a subclass has ``loss(d)``."""

    def __init__(self, labels: ArrayLike, weights: ArrayLike | None = None) -> None:
        super().__init__(labels, weights)
        surplus = np.arange(-self.n_pos, self.n_neg + 1, dtype=np.float64)
        self.diagonals = Diagonals(-self.n_pos, self.loss(surplus), np.zeros(len(surplus)))

    def loss(self, surplus: Array) -> Floats:
        """Delta of labellings with this surplus."""
        raise NotImplementedError

    def _relative(self, surplus: Array) -> tuple[Floats, Floats]:
        """x of the positives and of the negatives."""
        return surplus / (self.n_pos + 0.5), -surplus / (self.n_neg + 0.5)


class AbsoluteError(PrevalenceRisk):
    """Absolute error of the prevalence: the share of positives beside the share of predicted positives.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, -1 and +1.
    weights : array-like of shape (n,), default=None
        Must be None: the measure counts examples.

    See Also
    --------
    RelativeAbsoluteError : Relative to the share of each class.
    fenchel.MeasureClassifier : The estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import AbsoluteError
    >>> float(AbsoluteError([1, 1, -1, -1]).value(np.zeros(4)))
    0.5
    """

    name = "ae"

    def loss(self, surplus: Array) -> Floats:
        return np.abs(surplus) / self.examples


class RelativeAbsoluteError(PrevalenceRisk):
    """Relative absolute error of the prevalence, the mean over both classes.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, -1 and +1.
    weights : array-like of shape (n,), default=None
        Must be None: the measure counts examples.

    See Also
    --------
    AbsoluteError : The absolute error.
    fenchel.MeasureClassifier : The estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import RelativeAbsoluteError
    >>> float(RelativeAbsoluteError([1, 1, -1, -1]).value(np.zeros(4)))
    0.8
    """

    name = "rae"

    def loss(self, surplus: Array) -> Floats:
        positive, negative = self._relative(surplus)
        return 0.5 * (np.abs(positive) + np.abs(negative))


class KullbackLeibler(PrevalenceRisk):
    """Kullback-Leibler divergence of the predicted from the true prevalence.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, -1 and +1.
    weights : array-like of shape (n,), default=None
        Must be None: the measure counts examples.

    See Also
    --------
    NormalizedKullbackLeibler : The same mapped to numbers below 1.
    fenchel.MeasureClassifier : The estimator.

    References
    ----------
    .. [1] A. Esuli and F. Sebastiani. "Optimizing text quantifiers for multivariate loss functions." ACM TKDD 9, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import KullbackLeibler
    >>> round(float(KullbackLeibler([1, 1, -1, -1]).value(np.zeros(4))), 3)
    0.511
    """

    name = "kld"

    def loss(self, surplus: Array) -> Floats:
        shares = ((self.n_pos + 0.5) / (self.examples + 1.0), (self.n_neg + 0.5) / (self.examples + 1.0))
        x, z = self._relative(surplus)
        return shares[0] * (x - np.log1p(x)) + shares[1] * (z - np.log1p(z))

    def delta_error(self, fn: Array, fp: Array) -> Floats:
        surplus = np.asarray(fp, dtype=np.float64) - np.asarray(fn)
        # x and log(1 + x) cancel, and near -1 the logarithm enlarges the rounding of x
        x, z = (np.abs(x) + np.abs(np.log1p(x)) + np.abs(x) / (1.0 + x) for x in self._relative(surplus))
        return gamma(_ROUNDINGS) * (x + z)


class NormalizedKullbackLeibler(KullbackLeibler):
    """Normalized Kullback-Leibler divergence of the prevalence, ``2 / (1 + exp(-KLD)) - 1``.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, -1 and +1.
    weights : array-like of shape (n,), default=None
        Must be None: the measure counts examples.

    See Also
    --------
    KullbackLeibler : The divergence itself.
    fenchel.MeasureClassifier : The estimator.

    References
    ----------
    .. [1] A. Esuli and F. Sebastiani. "Optimizing text quantifiers for multivariate loss functions." ACM TKDD 9, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import NormalizedKullbackLeibler
    >>> round(float(NormalizedKullbackLeibler([1, 1, -1, -1]).value(np.zeros(4))), 3)
    0.25
    """

    name = "nkld"

    def loss(self, surplus: Array) -> Floats:
        # tanh(x / 2) has a slope of at most 1/2
        return np.tanh(0.5 * super().loss(surplus))


class QMeasure(ContingencyRisk):
    """Q-measure of quantification: the harmonic mean of recall and of the agreement of the numbers of positives.

    The most violated labelling takes O(n log n) steps.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, -1 and +1.
    weights : array-like of shape (n,), default=None
        Must be None: the measure counts examples.

    See Also
    --------
    AbsoluteError : The error of the prevalence alone.
    fenchel.MeasureClassifier : The estimator.

    References
    ----------
    .. [1] J. Barranquero, J. Díez and J. J. del Coz. "Quantification-oriented learning based on reliable classifiers."
           Pattern Recognition 48, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import QMeasure
    >>> float(QMeasure([1, 1, -1, -1]).value(np.zeros(4)))
    1.0
    """

    name = "q"
    has_every_surplus = False

    def delta(self, fn: Array, fp: Array) -> Floats:
        fn, fp = np.asarray(fn), np.asarray(fp)
        recall = (self.n_pos - fn) / self.n_pos
        largest = max(self.n_pos, self.n_neg)
        agreement = (largest - np.abs(fp - fn)) / largest
        total = recall + agreement
        return 1.0 - 2.0 * recall * agreement / np.where(total > 0.0, total, 1.0)

    def delta_error(self, fn: Array, fp: Array) -> Floats:
        return np.full(np.shape(fn), gamma(_ROUNDINGS))

    @property
    def roundings(self) -> float:
        """Those of a cell for each level of the search as well."""
        return super().roundings + 2.0 * _ROUNDINGS * (self.examples.bit_length() + 2)

    def _ends(self, cells: Cells) -> list[End]:
        fn, fp = np.array([self.n_pos, 0]), np.array([0, self.n_neg])
        return [End(*end) for end in zip(fn.tolist(), fp.tolist(), self.delta(fn, fp).tolist(), strict=True)]

    def _cells(self, order: Ranked) -> Cells:
        """The best cell of each surplus p >= 0, and of each fn with p <= 0; and the end with the fewest positives."""
        n_pos, n_neg, A, B = self.n_pos, self.n_neg, order.A, order.B

        def height(fn: Array, fp: Array) -> Floats:
            return self.delta(fn, fp) + A[fn] + B[fp]

        # from the largest surplus on, the best fn does not decrease
        surplus = np.arange(n_neg, -1, -1)
        most = np.minimum(n_pos, n_neg - surplus)
        over = monotone_columns(lambda row, fn: height(fn, fn + surplus[row]), np.zeros_like(most), most)
        counts = np.arange(n_pos + 1)
        under = monotone_columns(height, np.zeros_like(counts), np.minimum(counts, n_neg))
        fn = np.concatenate([over, counts, [n_pos]])
        fp = np.concatenate([over + surplus, under, [0]])
        return Cells(fp - fn, height(fn, fp), fn, self.delta(fn, fp))
