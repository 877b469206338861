"""
Ordered classes
===============

Grades such as low, medium and high have an order that a multinomial model ignores. :class:`fenchel.OrdinalClassifier`
learns one score for all pairs of grades, and thresholds on it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

from fenchel import LinearClassifier, OrdinalClassifier

X, progression = load_diabetes(return_X_y=True)
order = ["low", "medium", "high", "severe"]
grades = np.array(order)[np.digitize(progression, np.quantile(progression, [0.25, 0.5, 0.75]))]
X_train, X_test, y_train, y_test = train_test_split(scale(X), grades, random_state=0)

model = OrdinalClassifier(order, C=1.0).fit(X_train, y_train)
nominal = LinearClassifier("logistic", C=1.0).fit(X_train, y_train)
print(model.certificate_)


def mean_error(predicted):
    """How many grades a prediction is off, on average."""
    return np.abs([order.index(a) - order.index(b) for a, b in zip(predicted, y_test, strict=True)]).mean()


ordinal, multinomial = mean_error(model.predict(X_test)), mean_error(nominal.predict(X_test))
print(f"grades off: ordinal {ordinal:.2f}, multinomial {multinomial:.2f}")

# %%
# The scores of held-out patients, by grade, and the thresholds between the predictions.

scores = X_test @ model.coef_[0]
fig, ax = plt.subplots()
ax.boxplot([scores[y_test == grade] for grade in order], tick_labels=order, orientation="vertical", widths=0.5)
for threshold in model.thresholds_:
    ax.axhline(threshold, color="C3", linestyle="--")
ax.set(xlabel="grade", ylabel="score of a held-out patient", title="Diabetes progression in four grades")
plt.show()
