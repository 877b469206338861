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
    get_next = staticmethod(lambda tol: min(1.0, tol / 10))
    stopping_criterion = SufficientProgressCriterion(patience=6, strategy="tolerance")

    def set_objective(self, X, y, lmbd, epsilon):
        self.X, self.y, self.lmbd, self.epsilon = X, y, lmbd, epsilon
        self.run(1e-9)

    def slope(self, scale, tol):
        loss, C = Huber(self.epsilon * scale), 1 / (self.lmbd * scale)
        self.scale, z = scale, self.model.set_params(loss=loss, C=C, tol=tol).fit(self.X, self.y).predict(self.X)
        return len(z) - np.sum(np.minimum(((self.y - z) / scale) ** 2, self.epsilon**2))

    def run(self, tol):
        self.model = LinearRegressor(max_iter=10**6, random_state=0, warm_start=True)
        tol, low, least = min(tol, 0.1), np.std(self.y) / 5, 1e-9 * np.std(self.y)
        while self.slope(low, tol) > 0 and low > least:
            low /= 10
        if low > least:
            self.slope(brentq(self.slope, low, 10 * low, args=(tol,), rtol=max(tol, 1e-12)), tol)

    def get_result(self):
        return {"params": np.r_[self.model.intercept_, self.scale, self.model.coef_]}
