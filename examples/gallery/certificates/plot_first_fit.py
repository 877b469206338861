"""
A first fit and its certificate
===============================

Multinomial logistic regression on scikit-learn's handwritten digits. The certificate bounds how far the objective is
from the optimum, and :func:`fenchel.plot_convergence` draws how this bound fell during the fit.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from fenchel import LinearClassifier, plot_convergence

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)

model = LinearClassifier(loss="logistic", tol=1e-6, random_state=0).fit(X_train, y_train)
print(model.certificate_)
print(f"accuracy on held-out digits: {model.score(X_test, y_test):.3f}")

# %%
# The weights of each digit, as a picture: blue speaks for the digit, red against it.

fig, axes = plt.subplots(2, 5, figsize=(6.4, 3.0))
for digit, (ax, weights) in enumerate(zip(axes.flat, model.coef_, strict=True)):
    ax.imshow(weights.reshape(8, 8), cmap="RdBu", vmin=-1.5, vmax=1.5)
    ax.set(title=digit, xticks=[], yticks=[])
    ax.grid(False)
plt.show()

# %%
# ``tol`` is a relative duality gap: the fit ended when it had proved 1e-6.  Nothing was compared with an earlier
# iterate, and no number of a solver is part of the proof.

ax = plot_convergence(model, against="passes")
ax.set_title("Handwritten digits: the proved gap falls with every pass")
plt.show()
