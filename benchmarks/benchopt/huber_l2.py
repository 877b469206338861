"""benchmark_huber_l2: Huber's loss with a ridge, and its scale, where the least objective has slope zero."""

import numpy as np
from benchopt import BaseSolver
from benchopt.stopping_criterion import SufficientProgressCriterion
from scipy.optimize import brentq

from fenchel import LinearRegressor
from fenchel.losses import Huber


class Solver(BaseSolver):
    """A proved fit for each scale; the envelope theorem gives the slope of the least objective."""

    name = "Fenchel"
    requirements = ["pip::fenchel"]
    stopping_criterion = SufficientProgressCriterion(patience=6, strategy="tolerance")

    def set_objective(self, X, y, lmbd, epsilon):
        self.X, self.y, self.lmbd, self.epsilon = X, y, lmbd, epsilon
        self.run(1e-9)

    def get_next(self, tol):
        return min(1.0, tol / 10)

    def slope(self, scale, tol):
        loss, C = Huber(self.epsilon * scale), 1 / (self.lmbd * scale)
        self.model = LinearRegressor(loss, C=C, tol=tol, max_iter=10**6, random_state=0).fit(self.X, self.y)
        z = (self.y - self.model.predict(self.X)) / scale
        return len(z) - np.sum(np.minimum(z**2, self.epsilon**2))

    def run(self, tol):
        tol, self.scale = min(tol, 0.1), 1e-9 * np.std(self.y)
        if self.slope(self.scale, tol) < 0:
            self.scale = brentq(self.slope, self.scale, 1e10 * self.scale, args=(tol,), rtol=max(tol, 1e-12))
            self.slope(self.scale, tol)

    def get_result(self):
        return {"params": np.r_[self.model.intercept_, self.scale, self.model.coef_]}
