"""
Counts: Poisson regression
==========================

Counts are not negative, and their variance grows with their mean. ``loss="poisson"`` fits the logarithm of the mean;
``predict`` returns the mean itself.
"""

import matplotlib.pyplot as plt
import numpy as np

from fenchel import LinearRegressor

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 4, 400))
mean = np.exp(-0.5 + 0.8 * x)
counts = rng.poisson(mean)

fig, ax = plt.subplots()
ax.scatter(x, counts, s=6, color="0.6", label="counts")
ax.plot(x, mean, color="0.3", linestyle="--", label="true mean")
for loss in ("squared", "poisson"):
    model = LinearRegressor(loss, C=100.0, tol=1e-8).fit(x[:, None], counts)
    ax.plot(x, model.predict(x[:, None]), label=f"{loss}")
    print(f"{loss}: {model.certificate_}")
ax.set(xlabel="x", ylabel="count")
ax.set_title("The squared loss predicts negative counts, Poisson regression does not")
ax.legend()
plt.show()
