"""
Outliers: squared, Huber and absolute loss
==========================================

A tenth of the targets is wrong. The squared loss follows them; the Huber loss and the absolute loss do not. All three
are one parameter of :class:`fenchel.LinearRegressor`, and all three are certified.
"""

import matplotlib.pyplot as plt
import numpy as np

from fenchel import LinearRegressor
from fenchel.losses import Huber

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3, 3, 100))
y = 1.5 * x + 0.4 * rng.standard_normal(100)
wrong = rng.choice(np.flatnonzero(x > 0), 10, replace=False)
y[wrong] -= 12

fig, ax = plt.subplots()
ax.scatter(x, y, s=10, color="0.6")
ax.plot(x, 1.5 * x, color="0.3", linestyle="--", label="truth")
for loss, name in [("squared", "squared"), (Huber(0.5), "Huber, width 0.5"), ("absolute", "absolute")]:
    model = LinearRegressor(loss, C=10.0, tol=1e-6).fit(x[:, None], y)
    ax.plot(x, model.predict(x[:, None]), label=f"{name}: slope {model.coef_[0]:.2f}")
    print(f"{name}: {model.certificate_}")
ax.set(xlabel="x", ylabel="y")
ax.set_title("Robust losses ignore the ten wrong targets")
ax.legend()
plt.show()
