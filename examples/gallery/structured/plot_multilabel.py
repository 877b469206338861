"""
Several labels for each example
===============================

:class:`fenchel.MultilabelClassifier` has a weight vector for each label. With ``measure="f1"`` every label gets the
costs and the threshold that are best for F1, which matters most for rare labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from fenchel import MultilabelClassifier

X, Y = make_multilabel_classification(1500, 30, n_classes=8, n_labels=2, random_state=4)
order = np.argsort(-Y.sum(axis=0))[:7]
X, Y = X / X.std(axis=0), Y[:, order]
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)

plain = MultilabelClassifier("logistic", random_state=0).fit(X_train, Y_train)
tuned = MultilabelClassifier(measure="f1", surrogate="plug_in", random_state=0).fit(X_train, Y_train)
print(tuned.certificate_)

share = Y_train.mean(axis=0)
fig, ax = plt.subplots()
for model, name, shift in ((plain, "logistic loss", -0.2), (tuned, 'measure="f1"', 0.2)):
    scores = f1_score(Y_test, model.predict(X_test), average=None, zero_division=0.0)
    ax.bar(np.arange(7) + shift, scores, width=0.4, label=f"{name}: macro F1 {scores.mean():.2f}")
ax.set(xlabel="share of the examples that have the label", ylabel="F1 on held-out examples", ylim=(0, 1.15))
ax.set_xticks(np.arange(7), [f"{value:.0%}" for value in share])
ax.set_title("F1 of each label")
ax.legend(ncols=2)
plt.show()
