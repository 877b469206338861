"""Random fits of kernel estimators alone: more scales, kinds of numbers and kernels, repeated rows, exact Gram entries.

A Gram matrix is positive semi-definite to the accuracy that a certificate counts on only if its entries are accurate;
the certificates are judged in the matrix as stored, so its entries are compared with exact kernel values here.
"""

from decimal import Decimal

import numpy as np
import scipy.sparse as sp

from campaign.cases import STORAGES, one_of, stored
from campaign.fits import Draw
from exact_losses import DIGITS, digits

#: estimators with their shares of the fits
SHARES = {"KernelClassifier": 35, "KernelRegressor": 25, "SequenceClassifier": 40}
#: the scale of X, and an offset of its columns in units of the scale
SCALES = tuple((10.0**exponent, offset) for exponent in (-6, -3, 0, 2, 4, 6, 8) for offset in (0.0, 0.0, 1.0, 1e3))
#: kinds of numbers beside those of all fits: squares of the former overflow
SMALL = ("int8", "bool", "csr_int8", "csr_bool")
#: how rows are repeated
REPETITIONS = ("none", "none", "rows", "nearly")
#: roundings of sqrt(K_ii K_jj) in an entry, for each feature; and beside them
ROUNDINGS, MORE_ROUNDINGS = 1.0, 40.0
#: error of a feature's share of the exponent of an RBF kernel
EXPONENT = 1e-12


class KernelDraw(Draw):
    """The data of one fit of a kernel estimator."""

    shares = SHARES
    scales, exponents = SCALES, (-4, -1, 0, 1, 4, 8, 12)
    storages = (*(name for name in STORAGES if not name.startswith("store")), *SMALL)
    sequence_kernels, sequence_share = ("linear", "linear", "poly", "rbf", "precomputed"), 1.0
    stream = 12

    def data(self, X):
        """Rows, some of which are repeated, to a few roundings of float32 or exactly."""
        repeated, half = one_of(self.rng, REPETITIONS), len(X) // 2
        self.note(repeated=repeated)
        if repeated != "none":
            X[half : 2 * half] = X[:half] * (
                1.0 if repeated == "rows" else 1.0 + 1e-7 * self.rng.normal(size=(half, 1))
            )
        if self.storage not in SMALL:
            return stored(X, self.storage)
        X = np.clip(np.rint(X), -127, 127).astype(np.int8)
        X = X > 0 if "bool" in self.storage else X
        rows = [[Decimal(int(entry)) for entry in row] for row in X.tolist()]
        return (sp.csr_array(X) if self.storage.startswith("csr") else X), rows

    def kernel_options(self, kernel):
        """Parameters of a kernel: the degree and the constant of a polynomial, and how distances are scaled."""
        if kernel not in ("poly", "rbf"):
            return {}
        gamma = one_of(self.rng, ("scale", "scale", "auto", 1e-3))
        self.note(gamma=gamma)
        if kernel == "rbf":
            return {"gamma": gamma}
        degree, constant = one_of(self.rng, (1, 2, 3, 6)), one_of(self.rng, (0.0, 1.0, 1e4))
        self.note(degree=degree, coef0=f"{constant:g}")
        return {"gamma": gamma, "degree": degree, "coef0": constant}

    def precomputed(self, dense):
        """Kernel values, sometimes as they are stored in float32."""
        K, rounded = dense @ dense.T, bool(self.rng.random() < 0.3)
        self.note(precomputed="float32" if rounded else "float64")
        with np.errstate(over="ignore", under="ignore"):
            return K.astype(np.float32) if rounded else K

    def check_entries(self, found, estimator, gamma, active):
        """Raise unless the entries of a stored Gram matrix are the kernel of the exact rows, up to rounding."""
        kernel = estimator.kernel
        if kernel == "precomputed":
            return
        rows = [self.rows[i] for i in active]
        unit, d = Decimal(2) ** -53, len(rows[0])
        with digits(DIGITS):
            exact = [[_kernel_value(estimator, gamma, x, z) for z in rows] for x in rows]
            roundings = Decimal(ROUNDINGS * d + MORE_ROUNDINGS) * unit
            roundings *= estimator.degree if kernel == "poly" else 1
            roundings += Decimal(EXPONENT * d) if kernel == "rbf" else 0
            for i, row in enumerate(found):
                for j, entry in enumerate(row):
                    size = (exact[i][i] * exact[j][j]).sqrt()
                    if abs(entry - exact[i][j]) > roundings * size + Decimal(2) ** -1000:
                        raise AssertionError(f"K[{i}, {j}] = {entry:.17g} is not the kernel, {exact[i][j]:.17g}")


def _kernel_value(estimator, gamma, x, z):
    """The exact kernel of two rows."""
    gamma = Decimal(gamma)
    if estimator.kernel == "rbf":
        return (-gamma * sum((a - b) ** 2 for a, b in zip(x, z, strict=True))).exp()
    product = sum(a * b for a, b in zip(x, z, strict=True))
    if estimator.kernel == "linear":
        return product
    return (gamma * product + Decimal(estimator.coef0)) ** estimator.degree
