"""
Which features does the lasso find?
===================================

Two hundred features, of which ten matter. With ``l1_ratio=1`` the weights that the lasso drops are exactly zero, and
the certificate says how close the model is to the best lasso model for this C.
"""

import matplotlib.pyplot as plt
import numpy as np

from fenchel import LinearRegressor

rng = np.random.default_rng(0)
n, d = 150, 200
X = rng.standard_normal((n, d))
true = np.zeros(d)
true[rng.choice(d, 10, replace=False)] = rng.choice([-1.0, 1.0], 10) * rng.uniform(0.5, 2, 10)
y = X @ true + rng.standard_normal(n)

model = LinearRegressor(l1_ratio=1.0, C=1 / (n * 0.15), tol=1e-8).fit(X, y)
print(model.certificate_)
print(f"{np.count_nonzero(model.coef_)} weights are not zero; {np.count_nonzero(model.coef_ * true)} of them matter")

fig, ax = plt.subplots()
ax.stem(np.flatnonzero(true), true[true != 0], linefmt="C1-", markerfmt="C1o", basefmt="0.6", label="truth")
found = np.flatnonzero(model.coef_)
ax.plot(found, model.coef_[found], "x", color="C0", markersize=7, label="lasso")
ax.set(xlabel="feature", ylabel="weight")
ax.set_title("The lasso keeps the features that matter, and shrinks their weights")
ax.legend()
plt.show()
