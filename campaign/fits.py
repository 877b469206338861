"""The data and parameters of random fits, and the problems that they stand for.

What an estimator encodes, weighs and divides is done here a second time: labels become signs or numbers, the weights of
classes multiply those of examples, and lam is the exact 1 / (C * sum of weights).
"""

from decimal import Decimal
from itertools import combinations

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from campaign.cases import STORAGES, WEIGHTS, Case, drawn, exact_lam, exact_numbers, one_of, stored, weights_of
from exact_losses import DIGITS, digits
from exact_regularizers import decimals
from fenchel import Problem
from fenchel.losses import NAMED, EpsilonInsensitive, Quantile
from fenchel.regularizers import L1, L2, REGULARIZERS, ElasticNet
from fenchel.risks import MULTICLASS, MeanRisk

#: estimators with their shares of the fits
SHARES = {
    "LinearClassifier": 24,
    "LinearRegressor": 14,
    "MeasureClassifier": 10,
    "OrdinalClassifier": 4,
    "WinnowClassifier": 5,
    "KernelClassifier": 8,
    "KernelRegressor": 7,
    "LinearSVC": 5,
    "LinearSVR": 5,
    "LogisticRegression": 6,
    "LinearClassifierCV": 3,
    "LinearRegressorCV": 3,
    "OnlineClassifier": 3,
    "regularization_path": 3,
    "LinearRanker": 8,
    "MultilabelClassifier": 7,
    "SequenceClassifier": 7,
}
#: the scale of X, and an offset of its columns; problems.py has the extreme ones
SCALES = ((1.0, 0.0), (1.0, 0.0), (1e-3, 0.0), (1e4, 0.0), (1.0, 1e3))
EXPONENTS_OF_C = (-4, -1, 0, 1, 4)
LABELS = {"numbers": [-1, 1, 7], "words": ["a", "b", "c"]}
#: names of losses by task, but for constraints, which have no P
LOSSES = {
    task: [name for name, loss in NAMED.items() if loss.task == task and loss().constraint is None]
    for task in ("classification", "regression")
}
PENALTIES = {
    "l2": ({}, L2()),
    "l1": ({"l1_ratio": 1.0}, L1()),
    "elastic_net": ({"l1_ratio": 0.3}, ElasticNet(0.3)),
}
#: the rest of the regularizers that estimators know by name
NAMES = ("q_norm", "unnormalized_entropy")


class Draw:
    """The data of one fit, and draws of parameters."""

    shares, scales, storages, exponents = SHARES, SCALES, STORAGES, EXPONENTS_OF_C
    #: the kernels of tokens, and the share of the sequence classifiers with one
    sequence_kernels, sequence_share = ("linear", "rbf", "precomputed"), 0.3
    #: what makes its random numbers differ from those of other draws
    stream = 11

    def __init__(self, seed, index):
        self.rng = rng = np.random.default_rng([seed, index, self.stream])
        self.name = drawn(rng, self.shares)
        (scale, offset), self.storage = one_of(rng, self.scales), one_of(rng, self.storages)
        self.weighting = one_of(rng, WEIGHTS)
        self.n, self.d, self.k = int(rng.integers(6, 11)), int(rng.integers(1, 5)), int(rng.integers(2, 4))
        self.strata = {}
        self.X, self.rows = self.data(scale * (rng.normal(size=(self.n, self.d)) + offset))
        # every class has two examples, so that two folds have all classes
        self.codes = np.concatenate([np.tile(np.arange(self.k), 2), rng.integers(0, self.k, self.n - 2 * self.k)])
        self.labels = one_of(rng, tuple(LABELS))
        self.exponent = one_of(rng, self.exponents)
        self.C = 10.0**self.exponent * (1.0 + rng.random())
        self.intercept = bool(rng.random() < 0.6)
        self.tol = one_of(rng, (1e-3, 1e-6, 0.0))
        #: whether all classes, or labels, have one contingency table
        self.micro = False
        self.strata |= {
            "estimator": self.name,
            "storage": self.storage,
            "scale": f"{scale:g}",
            "offset": f"{offset:g}",
            "C": f"1e{self.exponent}",
            "intercept": str(self.intercept),
            "tol": f"{self.tol:g}",
            "loss": "none",
            "regularizer": "l2",
        }

    def data(self, X):
        """X as it is given to an estimator, and its exact entries."""
        return stored(X, self.storage)

    def kernel_options(self, kernel):
        """Further parameters of a kernel."""
        return {}

    def precomputed(self, dense):
        """Kernel values as a user computes them."""
        return dense @ dense.T

    def check_entries(self, found, estimator, gamma, active):
        """Raise unless the entries of a stored Gram matrix are those of the kernel; here they are taken as they are."""

    def note(self, **values):
        """Count these values."""
        self.strata.update({key: str(value) for key, value in values.items()})

    def weights(self, weighted=True):
        """The weights of the examples."""
        weighting = self.weighting if weighted else "none"
        self.note(weights=weighting)
        return weights_of(self.rng, weighting, self.n, 2 * self.k)

    def words(self):
        """The labels, and as numbers."""
        self.note(labels=self.labels, classes=self.k)
        return np.array(LABELS[self.labels])[self.codes]

    def targets(self, loss, several=True):
        """Targets of a regression, one or two."""
        shape = (self.n, 2) if several and self.rng.random() < 0.2 else (self.n,)
        self.note(classes="targets" if len(shape) == 2 else "target")
        y = self.rng.normal(size=shape)
        return np.abs(y) if loss.name == "poisson" else y

    def class_weights(self, y, sample_weight):
        """A ``class_weight``, and the weights of the examples times it."""
        kind = one_of(self.rng, ("none", "none", "balanced", "dict"))
        self.note(class_weight=kind)
        if kind == "none":
            return None, sample_weight
        classes = np.unique(y)
        chosen = "balanced" if kind == "balanced" else {c: 0.3 + i for i, c in enumerate(classes.tolist())}
        weights = np.ones(self.n) if sample_weight is None else sample_weight
        each = compute_class_weight(chosen, classes=classes, y=y, sample_weight=weights)
        return chosen, each[self.codes] * weights

    def loss(self, task):
        """The name of a loss, or an object with other parameters, and the object."""
        name = one_of(self.rng, LOSSES[task])
        given = one_of(self.rng, (Quantile(0.1), EpsilonInsensitive(0.2))) if self.rng.random() < 0.1 else None
        given = name if given is None or task == "classification" else given
        loss = NAMED[given]() if isinstance(given, str) else given
        self.note(loss=repr(loss))
        return given, loss

    def penalty(self, names=(*PENALTIES, *NAMES)):
        """Parameters of an estimator, and the regularizer that they stand for."""
        name = one_of(self.rng, ("l2", *names))
        self.note(regularizer=name)
        return PENALTIES[name] if name in PENALTIES else ({"regularizer": name}, REGULARIZERS[name]())

    def common(self, **more):
        """Parameters that most estimators have."""
        return {"C": self.C, "tol": self.tol, "max_iter": 60, "random_state": 0, **more}

    def case(
        self, kind, risk, labels, regularizer, given, *,
        C=None, intercept=None, rows=None, X=None, copies=1, parameter=None,
    ):  # fmt: skip
        """A problem of this fit; ``given`` are the weights of its examples, each of which may have several rows."""
        C, n = self.C if C is None else C, self.n if rows is None else len(rows)
        intercept = self.intercept if intercept is None else intercept
        total = float(n / copies if given is None else np.sum(given))
        problem = Problem(self.X if X is None else X, risk, 1.0 / (C * total), regularizer, intercept=intercept)
        shares, lam = exact_numbers(given, n, C)
        with digits(DIGITS):
            lam = lam * copies
        rows = self.rows if rows is None else rows
        return Case(problem, kind, rows, labels, shares, lam, self.strata, self.rng, C, given, parameter=parameter)

    def stacked(self, one, table=None):
        """The problem of all classes in one contingency table: a row for each example and class.

        ``table`` are the signs, if not those of the classes.
        """
        rows = [
            [entry if place == own else Decimal(0) for place in range(self.k) for entry in row]
            for row in self.rows
            for own in range(self.k)
        ]
        table = np.stack([self.signs(j) for j in range(self.k)], axis=1) if table is None else table
        return one(table.ravel(), intercept=False, rows=rows, X=np.array(rows, dtype=np.float64), copies=self.k)

    def structured_case(self, kind, risk, labels, regularizer, parameter=None, X=None, rows=None):
        """A ranking, or chains, whose weights are those of queries or sequences."""
        lam = 1.0 / (self.C * float(labels.total()))
        problem = Problem(self.X if X is None else X, risk, lam, regularizer)
        rows, lam = self.rows if rows is None else rows, exact_lam(labels, self.C)
        return Case(problem, kind, rows, labels, [], lam, self.strata, self.rng, self.C, parameter=parameter)

    def mean(self, loss, y, regularizer, given, **more):
        """The mean of a loss, of one or several scores."""
        kind = "mean" if y.ndim == 1 else "outputs"
        labels = decimals(y.reshape(len(y), -1))
        return self.case(kind, MeanRisk(loss, y, given), labels, regularizer, given, **more)

    def signs(self, k):
        """1 for the class k, -1 for the others."""
        return np.where(self.codes == k, 1.0, -1.0)

    def classes(self, form, loss, regularizer, given, **more):
        """The problems of a classification in this form."""
        if self.k == 2:
            return [self.mean(loss, self.signs(1), regularizer, given, **more)]
        if form in MULTICLASS:
            risk = MULTICLASS[form](self.codes, self.k, given)
            return [self.case(form, risk, self.codes.tolist(), regularizer, given, **more)]
        if form == "ovr":
            return [self.mean(loss, self.signs(j), regularizer, given, **more) for j in range(self.k)]
        weights, found = np.ones(self.n) if given is None else given, []
        for a, b in combinations(range(self.k), 2):
            active = np.where(np.isin(self.codes, (a, b)), weights, 0.0)
            found.append(self.mean(loss, -self.signs(a), regularizer, active, **more))
        return found
