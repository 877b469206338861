"""
A certified path of an elastic net
==================================

:func:`fenchel.regularization_path` places its points where the certificate of the last one ends, so that a certified
model exists for *every* value of C of the interval, not only for the points.
"""

from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

from fenchel import plot_path, regularization_path

data = load_diabetes()
X, y = scale(data.data), scale(data.target)
path = regularization_path(X, y, (1e-3, 10.0), loss="squared", l1_ratio=0.5, accuracy=0.01)
print(len(path), "points prove a relative gap of 1% for every C from 0.001 to 10")

weights, intercept, certificate = path.at(0.02)
print(f"at C = 0.02: {(weights != 0).sum()} weights that are not zero")
print(certificate)

# %%
# The weights above, and below them the gap that is proved between the points.

axes = plot_path(path, feature_names=data.feature_names)
