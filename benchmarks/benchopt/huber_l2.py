"""benchmark_huber_l2: Huber's loss with a ridge, and its scale, where the least objective has slope zero."""

import numpy as np
from benchopt import BaseSolver
from benchopt.stopping_criterion import SufficientProgressCriterion

from fenchel import LinearRegressor
from fenchel.losses import Huber


class Solver(BaseSolver):
    """A proved fit for each scale; the envelope theorem gives the slope of the least objective, for a secant method."""

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
        return 1 - np.mean(np.minimum(((self.y - z) / scale) ** 2, self.epsilon**2))

    def run(self, tol):
        self.model, tol = LinearRegressor(max_iter=10**6, random_state=0, warm_start=True), max(min(tol, 0.1), 1e-12)
        here, low, high, step, last = np.log(np.std(self.y) / 3), -np.inf, np.inf, 1.0, None
        while abs(step) > tol and here > np.log(1e-9 * np.std(self.y)):
            slope = self.slope(np.exp(here), tol)
            low, high = (here, high) if slope < 0 else (low, here)
            rate = 2.0 if last is None else max(0.5, (slope - last[1]) / (here - last[0]))
            last, step = (here, slope), -slope / rate
            here = here + step if low < here + step < high else 0.5 * (low + high)

    def get_result(self):
        return {"params": np.r_[self.model.intercept_, self.scale, self.model.coef_]}
