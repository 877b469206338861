"""
Predictions that no further training can change
===============================================

A certificate confines every exact optimum to a ball around the model. A prediction is *proved* if all models in this
ball make it. The smaller the gap, the narrower the band around the decision boundary in which predictions are open.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from fenchel import LinearClassifier

X, y = make_blobs(200, centers=[[-1.2, 0], [1.2, 0.6]], cluster_std=1.0, random_state=0)
x1, x2 = np.meshgrid(np.linspace(-4.5, 4.5, 200), np.linspace(-3.5, 4, 200))
grid = np.column_stack([x1.ravel(), x2.ravel()])

fig, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharex=True, sharey=True)
for ax, tol in zip(axes, (1e-1, 1e-2, 1e-4), strict=True):
    model = LinearClassifier(loss="logistic", tol=tol, solver="dual_coordinate", random_state=0).fit(X, y)
    found = model.certified_predictions(grid)
    side = np.where(found.proved, np.where(found.predictions == 1, 1.0, -1.0), 0.0).reshape(x1.shape)
    ax.contourf(x1, x2, side, levels=[-1.5, -0.5, 0.5, 1.5], colors=["#0072b2", "0.75", "#e69f00"], alpha=0.35)
    ax.scatter(*X.T, c=np.where(y == 1, "#e69f00", "#0072b2"), s=9)
    ax.set_title(f"gap {model.certificate_.relative_gap:.0e}: {found.proved.mean():.0%} proved")
    ax.grid(False)
fig.supxlabel("grey: predictions that more accurate training could still change")
plt.show()
