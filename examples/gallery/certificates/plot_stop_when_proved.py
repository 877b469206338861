"""
Train until predictions are proved
==================================

``tol`` is one way to end a fit. :class:`fenchel.ProvedShare` is another: train until a given share of the predictions
on some rows, which need no labels, is proved to be those of every exact optimum.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from fenchel import LinearClassifier, ProvedShare

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

shares, gaps, proved = (0.5, 0.8, 0.9, 0.95, 0.99), [], []
for share in shares:
    model = LinearClassifier("logistic", stop_when=ProvedShare(X_test, share), solver="dual_coordinate", random_state=0)
    model.fit(X_train, y_train)
    gaps.append(model.certificate_.relative_gap)
    proved.append(model.certified_predictions(X_test).proved.mean())
    print(f"asked for {share:.0%}: {proved[-1]:.1%} proved at a gap of {gaps[-1]:.1e}")

# %%
# Most predictions are far from the decision boundary and proved early; the last ones take a much smaller gap.

fig, ax = plt.subplots()
ax.semilogx(gaps, proved, "o-")
ax.invert_xaxis()
ax.set(xlabel="relative duality gap at the end of the fit", ylabel="share of test predictions that is proved")
ax.set_title("Share of predictions that every exact optimum makes too")
plt.show()
