"""
Many irrelevant features: Winnow
================================

If few of many features matter, a large margin with an entropy (Winnow, multiplicative updates) needs fewer examples
than one with the Euclidean norm. Both problems are convex, and both fits are certified.
"""

import matplotlib.pyplot as plt
import numpy as np

from fenchel import LinearClassifier, WinnowClassifier

rng = np.random.default_rng(0)
d, relevant, sizes = 500, 5, (50, 100, 200, 400)
X = rng.choice([-1.0, 1.0], (max(sizes) + 2000, d))
y = np.where(X[:, :relevant].sum(axis=1) > 0, 1, -1)
X_test, y_test = X[max(sizes) :], y[max(sizes) :]

models = {
    "Euclidean norm, LinearClassifier": LinearClassifier(C=1.0, random_state=0),
    "entropy, WinnowClassifier": WinnowClassifier(C=1.0, normalized=True, mass=20.0, random_state=0),
}
fig, ax = plt.subplots()
for name, model in models.items():
    errors = [1 - model.fit(X[:n], y[:n]).score(X_test, y_test) for n in sizes]
    ax.plot(sizes, errors, "o-", label=name)
ax.set(xlabel="training examples", ylabel="error rate on held-out examples", ylim=(0, None))
ax.set_title(f"{relevant} of {d} features matter")
ax.legend()
plt.show()
