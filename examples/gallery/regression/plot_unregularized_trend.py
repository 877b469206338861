"""
A feature that is not regularized
=================================

Strong regularization shrinks every weight, also that of a feature which must be in the model, such as a trend.
:class:`fenchel.regularizers.FreeDirections` exempts it, and the fit is certified as before.
"""

import matplotlib.pyplot as plt
import numpy as np

from fenchel import LinearRegressor
from fenchel.regularizers import FreeDirections

rng = np.random.default_rng(0)
n, d = 120, 40
X = rng.standard_normal((n, d))
X[:, 0] = np.linspace(0, 1, n)
y = 3 * X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(n)

Cs = np.logspace(-4, 0, 13)
free = FreeDirections.of_features([0], n_features=d)
shrunk = [LinearRegressor(C=C, tol=1e-6).fit(X, y).coef_[0] for C in Cs]
kept = [LinearRegressor(C=C, regularizer=free).fit(X, y).coef_[0] for C in Cs]

fig, ax = plt.subplots()
ax.semilogx(Cs, shrunk, "o-", markersize=4, label="all features regularized")
ax.semilogx(Cs, kept, "o-", markersize=4, label="the trend is free")
ax.axhline(3, color="0.4", linestyle="--", label="truth")
ax.set(xlabel="C (to the left: strong regularization)", ylabel="weight of the trend")
ax.set_title("A free direction keeps its weight at every C")
ax.legend()
plt.show()
