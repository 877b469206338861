"""benchmark_logreg_l1: logistic regression with absolute values, without intercept."""

import warnings

from benchopt import BaseSolver
from benchopt.stopping_criterion import SufficientProgressCriterion

from fenchel import GapWarning, LinearClassifier


class Solver(BaseSolver):
    """Relative duality gaps as tolerances: each run stops when it has proved one."""

    name = "Fenchel"
    install_cmd = "conda"
    requirements = ["pip::fenchel"]
    sampling_strategy = "tolerance"
    stopping_criterion = SufficientProgressCriterion(patience=6, strategy="tolerance")

    def set_objective(self, X, y, lmbd):
        self.X, self.y = X, y
        self.model = LinearClassifier("logistic", C=1 / lmbd, l1_ratio=1.0, fit_intercept=False)
        warnings.filterwarnings("ignore", category=GapWarning)

    def get_next(self, tol):
        return min(1.0, tol / 10)

    def warm_up(self):
        self.run_once(1e-9)

    def run(self, tol):
        self.model.set_params(tol=min(tol, 1.0), max_iter=10**6, random_state=0).fit(self.X, self.y)

    def get_result(self):
        return {"beta": self.model.coef_.ravel()}
