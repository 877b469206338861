"""
One problem, several solvers
============================

All solvers are judged by the same certificate, so their curves can be compared: the gap that each has proved, against
passes over the data. ``solver="auto"`` chooses by the problem.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from fenchel import GapWarning, Problem, plot_convergence, solve
from fenchel.risks import MeanRisk

X, y = load_breast_cancer(return_X_y=True)
problem = Problem(scale(X), MeanRisk("hinge", 2.0 * y - 1), lam=1e-3, intercept=True)

solutions = {}
for solver in ("dual_coordinate", "newton", "smoothing", "bundle"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        solutions[solver] = solve(problem, solver, tol=1e-6, max_iter=300, certify_every=1)

ax = plot_convergence(solutions, against="passes")
ax.set_title("Linear SVM on breast cancer: proved gaps of four solvers")
plt.show()
