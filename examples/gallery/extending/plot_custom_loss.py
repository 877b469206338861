"""
A custom loss
=============

A loss outside of the package: value, derivative, conjugate and the domain of the conjugate. This is the loss of
expectile regression, a squared loss with different weights above and below. It is compiled into the solvers, and its
conjugate makes the certificate.
"""

from dataclasses import dataclass
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import scale

from fenchel import LinearRegressor
from fenchel.losses import CustomLoss


class Compiled(NamedTuple):
    """The derivative for one example, in plain Python, for compiled loops."""

    level: float

    def derivative(self, label, score):
        """Return the slope of the loss."""
        return (1 - self.level if score > label else self.level) * (score - label)


@dataclass(frozen=True)
class Expectile(CustomLoss):
    """``|level - [s > y]| (s - y)²/2``"""

    name, task, smooth = "expectile", "regression", True
    level: float = 0.5

    def weight(self, sign):
        """Return the weight of a residual above zero, or below."""
        return np.where(sign > 0, 1 - self.level, self.level)

    def value(self, s, y):
        """Return the loss."""
        return 0.5 * self.weight(s - y) * (s - y) ** 2

    def derivative(self, s, y):
        """Return its slope."""
        return self.weight(s - y) * (s - y)

    def conjugate(self, u, y):
        """Return the convex conjugate."""
        return u * y + 0.5 * u**2 / self.weight(u)

    def domain(self, y):
        """Return where the conjugate is finite: everywhere."""
        return np.full_like(y, -np.inf), np.full_like(y, np.inf)

    def compiled(self):
        """Return what compiled loops use."""
        return Compiled(float(self.level))


rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 4, 300))
y = x + (0.2 + 0.3 * x) * rng.standard_normal(300)
X = scale(np.column_stack([x, x**2]))

fig, ax = plt.subplots()
ax.scatter(x, y, s=6, color="0.6")
for level in (0.05, 0.5, 0.95):
    model = LinearRegressor(Expectile(level), C=1.0).fit(X, y)
    ax.plot(x, model.predict(X), label=f"expectile {level}")
    print(f"{level}: {model.certificate_}")
ax.set(xlabel="x", ylabel="y", title="Expectiles by a custom loss")
ax.legend()
plt.show()
