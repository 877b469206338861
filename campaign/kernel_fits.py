"""Random fits of kernel estimators, of the online classifier, and of paths, with the problems that they stand for."""

import dataclasses
from decimal import Decimal

import numpy as np
import scipy.sparse as sp

import fenchel
from campaign.cases import one_of
from campaign.estimators import Fit, Part
from campaign.fits import LOSSES
from campaign.kernels import gram_rows
from fenchel.kernels import GramNorm
from fenchel.losses import Hinge
from fenchel.regularizers import Entropy, QNorm, QuadraticForm, UnnormalizedEntropy
from fenchel.risks import MULTICLASS

KERNELS = ("linear", "poly", "rbf", "precomputed")


def kernel_regressor(draw):
    """KernelRegressor."""
    sample_weight, (given, loss) = draw.weights(), draw.loss("regression")
    y, kernel = draw.targets(loss), _kernel(draw)
    estimator = fenchel.KernelRegressor(given, **kernel, **draw.common(fit_intercept=draw.intercept))

    def case(active, weights, **gram):
        return draw.mean(loss, y[active], given=weights, **gram)

    return _in_gram(Fit(draw, estimator, y, sample_weight, case), sample_weight)


def kernel_classifier(draw):
    """KernelClassifier; the joint hinge of two classes is the hinge of one score."""
    y, sample_weight, (given, loss) = draw.words(), draw.weights(), draw.loss("classification")
    class_weight, weights = draw.class_weights(y, sample_weight)
    form = one_of(draw.rng, ("weston_watkins", "crammer_singer", "ovr")) if loss == Hinge() else "ovr"
    draw.note(form=form, intercept=False)
    joint = form != "ovr"
    own = draw.common(multi_class=form, class_weight=class_weight, **_kernel(draw, joint))

    def case(active, weights, **gram):
        codes = draw.codes[active]
        if draw.k > 2 and joint:
            risk = MULTICLASS[form](codes, draw.k, weights)
            return draw.case(form, risk, codes.tolist(), given=weights, intercept=False, **gram)
        signs = np.where(codes[:, None] == np.arange(draw.k), 1.0, -1.0)
        return draw.mean(loss, signs[:, 1] if draw.k == 2 else signs, given=weights, intercept=False, **gram)

    fit = _in_gram(Fit(draw, fenchel.KernelClassifier(given, **own), y, sample_weight, case), weights)
    if draw.k > 2 or not joint:
        return fit
    one = fit.theta

    def theta(model):
        # the entry at a label stands for minus the other one
        both, second = one(model), draw.codes[_active(weights, draw.n)] == 1
        if both.ndim == 1:
            # solved as the hinge of one score
            return both
        return np.where(second, -both[:, 0], both[:, 1])

    return dataclasses.replace(fit, theta=theta)


def _kernel(draw, joint=False):
    """Parameters of a kernel; a small memory computes the rows of the Gram matrix when they are needed."""
    kernel = one_of(draw.rng, KERNELS)
    cached = kernel != "precomputed" and not joint and bool(draw.rng.random() < 0.3)
    draw.note(kernel=f"{kernel}, cached rows" if cached else kernel, regularizer="gram_norm")
    # megabytes, for three rows
    memory = 3 * 8 * draw.n / 2**20 if cached else 4096.0
    return {"kernel": kernel, "memory_limit": memory, **draw.kernel_options(kernel)}


def _active(weights, n):
    return np.arange(n) if weights is None else np.flatnonzero(weights > 0.0)


def _in_gram(fit, weights):
    """The fit with its case, weights and dual variables in the stored Gram matrix of the examples with weight."""
    draw, make, active = fit.draw, fit.cases, _active(weights, fit.draw.n)
    if fit.estimator.kernel == "precomputed":
        dense = np.array([[float(entry) for entry in row] for row in draw.rows])
        fit = dataclasses.replace(fit, X=draw.precomputed(dense))

    def cases(_):
        # of a fit that was refused there is no model
        task = fit.estimator.encode(draw.X if fit.X is None else fit.X, fit.y, fit.sample_weight)
        gram, rows = task.design, gram_rows(task.design)
        draw.check_entries(rows, fit.estimator, task.fitted["gamma_"], active)
        own = {"X": gram, "rows": rows, "regularizer": GramNorm(gram)}
        return [make(active, None if weights is None else weights[active], **own)]

    def coefficients(model):
        found = np.zeros((len(model.dual_coef_), len(active)))
        found[:, np.searchsorted(active, model.support_)] = model.dual_coef_
        return found

    return dataclasses.replace(
        fit, cases=cases, weights=coefficients, intercept=lambda model: vars(model).get("intercept_", 0.0),
        theta=lambda model: model.theta_[active],
    )  # fmt: skip


class OnlineFit(Fit):
    """An online classifier, which is certified on request, with one certificate for all classes."""

    def accurate(self, model):
        return model

    def parts(self, model):
        weights = np.hstack([model.coef_, model.intercept_[:, None]]) if self.draw.intercept else model.coef_
        return [Part(case, own, 0.0) for case, own in zip(self.cases(model), weights, strict=True)]

    def total(self, model):
        loss = self.parts(model)[0].case.problem.risk.loss
        return model.certify(self.draw.X, self.y, C=self.draw.C, loss=loss, effort=30.0)


def online_classifier(draw):
    """OnlineClassifier: a constant feature stands for the intercept."""
    y, (_, loss) = draw.words(), draw.loss("classification")
    update = one_of(draw.rng, ("perceptron", "winnow", "normalized_winnow", "p_norm"))
    balanced, d = bool(draw.rng.random() < 0.5), draw.d + draw.intercept
    regularizer = {
        "perceptron": QuadraticForm(np.ones(d)),
        "winnow": UnnormalizedEntropy(0.01, balanced),
        "normalized_winnow": Entropy(None, 0.01, balanced),
        "p_norm": QNorm(3.0 / (3.0 - 1.0)),
    }[update]
    draw.note(regularizer=regularizer.name, update=update, weights="none", tol="none")
    rows, X = draw.rows, draw.X
    if draw.intercept:
        rows, ones = [[*row, Decimal(1)] for row in rows], np.ones((draw.n, 1))
        X = sp.csr_array(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])
    estimator = fenchel.OnlineClassifier(
        update, balanced=balanced, learning_rate=0.1, fit_intercept=draw.intercept, random_state=0, max_iter=3
    )
    cases = draw.classes("ovr", loss, regularizer, None, intercept=False, rows=rows, X=X)
    return OnlineFit(draw, estimator, y, None, lambda _: cases)


class PathFit(Fit):
    """A path: certificates for its values of C, and of its models for values between them."""

    def accurate(self, model):
        return model

    def fitted(self, **parameters):
        draw, options = self.draw, {**self.estimator, "sample_weight": self.sample_weight, **parameters}
        ends = (draw.C / 3.0, draw.C)
        return fenchel.regularization_path(
            draw.X, self.y, list(ends) if draw.strata["path"] == "values" else ends, **options
        )

    def parts(self, model):
        points = [(C, *model.at(C)) for C in (0.4 * self.draw.C, 0.9 * self.draw.C)]
        if self.draw.strata["path"] == "values":
            points += zip(model.Cs.tolist(), model.coefs, model.intercepts, model.certificates, strict=True)
        return [Part(self.cases(C)[0], *found) for C, *found in points]

    def total(self, model):
        return None


def path(draw):
    """regularization_path: of two classes, of a joint risk, or of one target."""
    sample_weight, intercept = draw.weights(), draw.intercept
    draw.note(path=one_of(draw.rng, ("values", "interval")))
    (given, loss), (parameters, regularizer) = draw.loss(one_of(draw.rng, tuple(LOSSES))), draw.penalty()
    form = {"hinge": "weston_watkins", "logistic": "multinomial"}.get(loss.name, "ovr")
    if loss.task == "regression":
        y = draw.targets(loss, several=False)
    else:
        if form == "ovr" or not regularizer.is_ridge:
            draw.k, draw.codes = 2, draw.codes % 2
        y = draw.words()

    def cases(C):
        if loss.task == "regression":
            return [draw.mean(loss, y, regularizer, sample_weight, C=C)]
        return draw.classes(form, loss, regularizer, sample_weight, C=C)

    own = {"loss": given, "fit_intercept": intercept, "tol": draw.tol, "max_iter": 60, "random_state": 0, **parameters}
    own["accuracy"] = 0.1
    return PathFit(draw, own, y, sample_weight, cases)
