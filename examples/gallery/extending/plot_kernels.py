"""
A kernel machine, and where its predictions are proved
======================================================

:class:`fenchel.KernelClassifier` is certified from the Gram matrix, and its predictions can be proved as those of a
linear model can.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from fenchel import KernelClassifier

X, y = make_moons(200, noise=0.2, random_state=0)
x1, x2 = np.meshgrid(np.linspace(-2, 3, 200), np.linspace(-1.6, 2.1, 200))
grid = np.column_stack([x1.ravel(), x2.ravel()])

fig, axes = plt.subplots(1, 2, figsize=(8.6, 3.6), sharey=True)
for ax, tol in zip(axes, (1e-2, 1e-5), strict=True):
    model = KernelClassifier("logistic", kernel="rbf", gamma=2.0, C=1.0, tol=tol, random_state=0).fit(X, y)
    found = model.certified_predictions(grid)
    side = np.where(found.proved, np.where(found.predictions == 1, 1.0, -1.0), 0.0).reshape(x1.shape)
    ax.contourf(x1, x2, side, levels=[-1.5, -0.5, 0.5, 1.5], colors=["#0072b2", "0.75", "#e69f00"], alpha=0.35)
    ax.contour(x1, x2, model.decision_function(grid).reshape(x1.shape), levels=[0], colors="0.2", linewidths=1)
    ax.scatter(*X.T, c=np.where(y == 1, "#e69f00", "#0072b2"), s=9)
    ax.set_title(f"gap {model.certificate_.relative_gap:.0e}: {found.proved.mean():.0%} of the plane proved")
    ax.grid(False)
plt.show()
