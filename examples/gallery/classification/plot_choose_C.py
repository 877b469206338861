"""
Choose C by cross-validation
============================

:class:`fenchel.LinearClassifierCV` fits each fold for all values of C, each fit warm-started from the last and each
certified. ``gaps_`` tells whether a poor score is that of a poor fit.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from fenchel import LinearClassifierCV

X, y = load_breast_cancer(return_X_y=True)
model = LinearClassifierCV("logistic", Cs=15, random_state=0).fit(scale(X), y)
print(f"C = {model.C_:g}; the largest gap of {model.gaps_.size} fits is {model.gaps_.max():.1e}")
print(model.certificate_)

mean, spread = model.scores_.mean(axis=0), model.scores_.std(axis=0)
fig, ax = plt.subplots()
ax.fill_between(model.Cs_, mean - spread, mean + spread, alpha=0.2, label="standard deviation of the folds")
ax.semilogx(model.Cs_, mean, "o-", label="mean of five folds")
ax.axvline(model.C_, color="0.4", linestyle="--", label=f"chosen: C = {model.C_:.2g}")
ax.set(xlabel="C", ylabel="accuracy on held-out folds", title="Breast cancer: cross-validation over C")
ax.legend()
plt.show()
