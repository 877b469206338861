"""
Maximum entropy: a loaded die
=============================

All that is known of a die is the mean of its throws. Which probabilities have the largest entropy among those with
this mean? The loss is a constraint, and the certificate proves that no other probabilities have more entropy.
"""

import matplotlib.pyplot as plt
import numpy as np

from fenchel import Problem, solve
from fenchel.losses import Interpolation
from fenchel.regularizers import Entropy
from fenchel.risks import MeanRisk

faces = np.arange(1.0, 7.0)
means = (2.5, 3.5, 4.5)
fig, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True)
for ax, mean in zip(axes, means, strict=True):
    problem = Problem(faces[None, :], MeanRisk(Interpolation(), [mean]), lam=1.0, regularizer=Entropy())
    solution = solve(problem, tol=1e-8)
    ax.bar(faces, solution.model.weights)
    ax.set(xlabel="face", title=f"mean {mean}")
    print(f"mean {mean}: {solution.certificate}")
axes[0].set_ylabel("probability")
plt.show()

# %%
# A mean of 7 is impossible, and the dual variable proves it.

solution = solve(Problem(faces[None, :], MeanRisk(Interpolation(), [7.0]), lam=1.0, regularizer=Entropy()))
print(solution.status)
