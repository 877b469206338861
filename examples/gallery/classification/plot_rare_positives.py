"""
Rare positives: train for F1
============================

With 5% of positives the error rate says little. :class:`fenchel.MeasureClassifier` minimizes a bound on F1, or a
cost-weighted loss with a tuned threshold, whichever is better on held-out folds.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score, precision_recall_curve
from sklearn.model_selection import train_test_split

from fenchel import LinearClassifier, MeasureClassifier

X, y = make_classification(4000, 20, n_informative=8, weights=[0.95], class_sep=0.9, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

models = {
    "LinearClassifier": LinearClassifier("logistic", random_state=0),
    'class_weight="balanced"': LinearClassifier("logistic", class_weight="balanced", random_state=0),
    'MeasureClassifier("f1")': MeasureClassifier("f1", random_state=0),
}
fig, ax = plt.subplots()
for name, model in models.items():
    model.fit(X_train, y_train)
    precision, recall, _ = precision_recall_curve(y_test, model.decision_function(X_test))
    (line,) = ax.plot(recall, precision, linewidth=1.2)
    predicted = model.predict(X_test) == 1
    hits = (predicted & (y_test == 1)).sum()
    label = f"{name}: F1 {f1_score(y_test, predicted):.2f}"
    ax.plot(hits / (y_test == 1).sum(), hits / predicted.sum(), "o", color=line.get_color(), markersize=9, label=label)
ax.set(xlabel="recall", ylabel="precision", title="Where each classifier puts its threshold (held-out data)")
ax.legend()
plt.show()

# %%
# The certificate names the objective that was solved.

print(models['MeasureClassifier("f1")'].certificate_)
