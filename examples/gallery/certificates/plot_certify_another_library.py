"""
Judge the fits of another library
=================================

What does scikit-learn's ``tol`` mean? :func:`fenchel.certify` reads the objective of a fitted estimator from its
parameters and proves how far the estimator is from the optimum. The picture has this for one value of ``tol`` after
the other: the same ``tol`` means a different accuracy for each class, and none of these fits gave a warning.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from fenchel import certify

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
print(certify(LogisticRegression(C=1.0, tol=1e-2).fit(X, y), X, y))

# %%
# The gap that is proved is an upper bound on the suboptimality.

tolerances = np.logspace(-1, -6, 6)
models = {
    "LogisticRegression (lbfgs)": lambda tol: LogisticRegression(tol=tol, max_iter=10_000),
    "LinearSVC (hinge)": lambda tol: LinearSVC(loss="hinge", tol=tol, max_iter=1_000_000, random_state=0),
    "SGDClassifier (logistic)": lambda tol: SGDClassifier(
        "log_loss", alpha=1e-3, tol=tol, max_iter=10_000, random_state=0
    ),
}
fig, ax = plt.subplots()
for name, model in models.items():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        judged = [certify(model(tol).fit(X, y), X, y).certificate.relative_gap for tol in tolerances]
    ax.loglog(tolerances, judged, "o-", label=name)
ax.loglog(tolerances, tolerances, color="0.4", linestyle="--", label="a gap equal to tol")
ax.invert_xaxis()
ax.set(xlabel="tol of the estimator", ylabel="relative duality gap, proved by certify")
ax.set_title("What scikit-learn's tol bounds")
ax.legend()
plt.show()
