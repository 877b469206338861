"""
Quantile regression with a proof
================================

One model for each quantile: ``Quantile(level)`` is the pinball loss. The noise grows with x, so that the quantiles
fan out, and a spline basis makes them curved.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from fenchel import LinearRegressor
from fenchel.losses import Quantile

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 600))
y = np.sin(x) + 0.3 * x + (0.1 + 0.12 * x) * rng.standard_normal(600)
X = x[:, None]

fig, ax = plt.subplots()
ax.scatter(x, y, s=6, color="0.6")
for level in (0.05, 0.5, 0.95):
    model = make_pipeline(SplineTransformer(8), LinearRegressor(Quantile(level), C=10.0, tol=1e-6)).fit(X, y)
    below = np.mean(y <= model.predict(X))
    ax.plot(x, model.predict(X), linewidth=2, label=f"quantile {level}: {below:.1%} of the points are below")
    print(f"{level}: {model[-1].certificate_}")
ax.set(xlabel="x", ylabel="y")
ax.set_title("Three conditional quantiles")
ax.legend()
plt.show()
