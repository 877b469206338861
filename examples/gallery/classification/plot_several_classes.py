"""
Several classes: one problem or many
====================================

``multi_class`` determines what replaces the sum of losses. One-vs-rest draws a line between each class and all others
at once, which is hard for a class in the middle; the joint forms compare classes with each other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from fenchel import LinearClassifier

centers = [[-4, 0], [0, 0.6], [4, 0], [0, 4]]
X, y = make_blobs(400, centers=centers, cluster_std=1.0, random_state=0)
x1, x2 = np.meshgrid(np.linspace(-7, 7, 300), np.linspace(-3, 7, 300))
grid = np.column_stack([x1.ravel(), x2.ravel()])
colours = ["#0072b2", "#e69f00", "#009e73", "#cc79a7"]

forms = {"ovr": "hinge", "weston_watkins": "hinge", "crammer_singer": "hinge", "multinomial": "logistic"}
fig, axes = plt.subplots(2, 2, figsize=(8, 6), sharex=True, sharey=True)
for ax, (form, loss) in zip(axes.flat, forms.items(), strict=True):
    model = LinearClassifier(loss, multi_class=form, C=1.0, random_state=0).fit(X, y)
    ax.contourf(
        x1, x2, model.predict(grid).reshape(x1.shape), levels=[-0.5, 0.5, 1.5, 2.5, 3.5], colors=colours, alpha=0.3
    )
    ax.scatter(*X.T, c=np.array(colours)[y], s=6)
    ax.set_title(f"{form}: {model.score(X, y):.1%} right, gap {model.certificate_.relative_gap:.0e}")
    ax.grid(False)
plt.show()
