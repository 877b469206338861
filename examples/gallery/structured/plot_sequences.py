"""
Labelled sequences
==================

A label for each token, where neighbouring labels depend on each other: here made-up weather, seen through a noisy
instrument. :class:`fenchel.SequenceClassifier` learns weights of pairs of labels, which
:func:`fenchel.plot_transitions` draws.
"""

import matplotlib.pyplot as plt
import numpy as np

from fenchel import SequenceClassifier, plot_transitions

rng = np.random.default_rng(0)
weather = np.array(["sun", "cloud", "rain"])
stay = np.array([[0.8, 0.18, 0.02], [0.2, 0.6, 0.2], [0.02, 0.28, 0.7]])


def week(days=14):
    """Labels of a Markov chain, and a noisy measurement of each."""
    today, labels = rng.integers(3), []
    for _ in range(days):
        labels.append(today)
        today = rng.choice(3, p=stay[today])
    return np.eye(3)[labels] + 0.9 * rng.standard_normal((days, 3)), weather[labels]


X, y = map(list, zip(*(week() for _ in range(200)), strict=True))
chains = SequenceClassifier("logistic", random_state=0).fit(X[:100], y[:100])
tokens = SequenceClassifier("logistic", transitions="none", random_state=0).fit(X[:100], y[:100])
print(chains.certificate_)
print(f"days right: chain {chains.score(X[100:], y[100:]):.1%}, single days {tokens.score(X[100:], y[100:]):.1%}")

# %%
# What the chain has learned: the weather stays as it is, and rain does not follow sun.

ax = plot_transitions(chains)
ax.grid(False)
ax.set_title("Weights of pairs of neighbouring labels")
plt.show()
