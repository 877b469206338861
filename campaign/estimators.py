"""Random fits of every public estimator, each with the problems that it stands for (``fits.py``)."""

import dataclasses
from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

import fenchel
from campaign.cases import Case, one_of
from campaign.fits import PENALTIES, Draw
from fenchel import Certificate
from fenchel.losses import EpsilonInsensitive, Hinge, Logistic, SquaredEpsilonInsensitive, as_loss
from fenchel.regularizers import L1, L2, Entropy, UnnormalizedEntropy
from fenchel.risks import MEASURES, OrdinalHinge

#: data passes of a fit to the rounding floor
ACCURATE = 150
#: forms of several classes, by loss; others are for one score
FORMS = {"hinge": ("auto", "weston_watkins", "crammer_singer"), "logistic": ("auto", "multinomial")}


class Part(NamedTuple):
    """One problem of a fit, with the model and the dual variables that the estimator holds for it."""

    case: Case
    weights: np.ndarray
    intercept: object
    #: None if there is one for all parts only
    certificate: Certificate | None = None
    theta: np.ndarray | None = None
    decomposition: np.ndarray | None = None


@dataclasses.dataclass
class Fit:
    """An estimator with its data and what it minimizes."""

    draw: Draw
    estimator: object
    y: np.ndarray
    sample_weight: np.ndarray | None
    #: from a fitted estimator to its cases, in the order of its certificates
    cases: Callable
    #: what ``fit`` takes, if not the rows
    X: object = None
    #: what a fitted estimator holds, in the coordinates of its cases
    weights: Callable = lambda model: model.coef_
    intercept: Callable = lambda model: vars(model).get("risk_intercept_", model.intercept_)
    theta: Callable = lambda model: model.theta_
    #: a much more accurate fit of the same problems
    reference: Callable | None = None
    #: further arguments of ``fit``, and of ``predict`` for new rows
    more: dict = dataclasses.field(default_factory=dict)
    predict_more: dict = dataclasses.field(default_factory=dict)

    def fitted(self, **parameters):
        """A new fit of the estimator with these parameters changed."""
        model = type(self.estimator)(**{**self.estimator.get_params(deep=False), **parameters})
        data = (self.draw.X if self.X is None else self.X, self.y)
        data = data if self.sample_weight is None else (*data, self.sample_weight)
        return model.fit(*data, **self.more)

    def accurate(self, model):
        """A fit of the same problems to the rounding floor."""
        return self.fitted(tol=0.0, max_iter=ACCURATE) if self.reference is None else self.reference(model)

    def parts(self, model):
        """The problems of a fitted estimator."""
        cases, weights, theta = self.cases(model), np.atleast_2d(self.weights(model)), self.theta(model)
        intercept = np.broadcast_to(np.atleast_1d(self.intercept(model)), len(weights))
        if len(cases) == 1:
            (decomposition,) = vars(model).get("decompositions_") or [None]
            return [Part(cases[0], weights, intercept, model.certificates_[0], theta, decomposition)]
        columns = theta.toarray().T if sp.issparse(theta) else theta.T
        return [Part(*one) for one in zip(cases, weights, intercept, model.certificates_, columns, strict=True)]

    def total(self, model):
        """The certificate of all parts."""
        return model.certificate_


def linear_classifier(draw):
    """LinearClassifier: any loss, regularizer and form."""
    y, sample_weight = draw.words(), draw.weights()
    (given, loss), (parameters, regularizer) = draw.loss("classification"), draw.penalty()
    joint = FORMS.get(loss.name, ("auto",)) if regularizer.is_ridge and loss in (Hinge(), Logistic()) else ("auto",)
    form = one_of(draw.rng, (*joint, "ovr", "ovo"))
    class_weight, weights = draw.class_weights(y, sample_weight)
    draw.note(form=form if draw.k > 2 else "two classes")
    own = draw.common(multi_class=form, class_weight=class_weight, fit_intercept=draw.intercept, **parameters)
    return Fit(
        draw, fenchel.LinearClassifier(given, **own), y, sample_weight,
        lambda model: draw.classes(model.multi_class_, loss, regularizer, weights, C=vars(model).get("C_")),
    )  # fmt: skip


def linear_regressor(draw):
    """LinearRegressor: any loss and regularizer, one or two targets."""
    sample_weight, (given, loss), (parameters, regularizer) = draw.weights(), draw.loss("regression"), draw.penalty()
    y = draw.targets(loss)
    own = draw.common(fit_intercept=draw.intercept, **parameters)
    return Fit(
        draw, fenchel.LinearRegressor(given, **own), y, sample_weight,
        lambda model: [draw.mean(loss, y, regularizer, sample_weight, C=vars(model).get("C_"))],
    )  # fmt: skip


def with_chosen_C(make, kind):  # noqa: N802 (C is the parameter)
    """The fit whose C is chosen by cross-validation; the estimator of one C fits the same problem."""

    def made(draw):
        fit = make(draw)
        known = fit.estimator.get_params(deep=False)
        for name in ("C", "warm_start", "stop_when", "checkpoint", "features"):
            del known[name]
        estimator = kind(**known, Cs=[draw.C / 10.0, draw.C, 3.0 * draw.C], cv=2)

        def reference(model):
            found = fit.fitted(C=model.C_, tol=0.0, max_iter=ACCURATE)
            found.C_ = model.C_
            return found

        return dataclasses.replace(fit, estimator=estimator, reference=reference)

    return made


def measure_classifier(draw):
    """MeasureClassifier: each class against the rest, or one contingency table for all classes."""
    measure = one_of(draw.rng, list(MEASURES))
    weighted = measure in ("accuracy", "roc_auc")
    y, sample_weight, (parameters, regularizer) = draw.words(), draw.weights(weighted), draw.penalty(tuple(PENALTIES))
    micro = draw.micro = draw.k > 2 and not weighted and bool(draw.rng.random() < 0.4)
    k = {"precision_at_k": int(np.min(np.bincount(draw.codes))), "recall_at_k": draw.n}.get(measure)
    more = {"fbeta": (2.0,), "precision_at_k": (k,), "recall_at_k": (k,)}.get(measure, ())
    one = of_measure(draw, measure, more, regularizer, sample_weight)
    own = draw.common(k=k, beta=2.0, average="micro" if micro else "macro", fit_intercept=draw.intercept,
                      surrogate="bound", **parameters)  # fmt: skip
    fit = Fit(
        draw, fenchel.MeasureClassifier(measure, **own), y, sample_weight,
        lambda _: [one(draw.signs(j)) for j in ((1,) if draw.k == 2 else range(draw.k))],
    )  # fmt: skip
    return in_one_table(fit, lambda: draw.stacked(one)) if micro else fit


def of_measure(draw, measure, more, regularizer, sample_weight):
    """From signs to the problem of a measure with these parameters."""
    draw.note(measure=f"{measure}, {'micro' if draw.micro else 'macro'}")

    def one(signs, intercept=draw.intercept, **options):
        risk = MEASURES[measure](signs, *more, weights=sample_weight)
        labels, parameter = [[Decimal(int(sign))] for sign in signs], more[0] if more else None
        intercept = intercept and measure not in ("prbep", "roc_auc")
        numbers = {"parameter": parameter, "intercept": intercept, **options}
        return draw.case(measure, risk, labels, regularizer, sample_weight, **numbers)

    return one


def in_one_table(fit, case):
    """The fit whose classes, or labels, have one contingency table."""
    return dataclasses.replace(
        fit, cases=lambda _: [case()], weights=lambda m: m.coef_.ravel(), intercept=lambda _: 0.0,
        theta=lambda m: m.theta_.ravel(),
    )  # fmt: skip


def ordinal_classifier(draw):
    """OrdinalClassifier."""
    y, sample_weight, (parameters, regularizer) = draw.words(), draw.weights(), draw.penalty(tuple(PENALTIES))
    class_weight, weights = draw.class_weights(y, sample_weight)
    estimator = fenchel.OrdinalClassifier(**draw.common(class_weight=class_weight, **parameters))
    risk = OrdinalHinge(draw.codes, weights)
    cases = [draw.case("ordinal", risk, draw.codes.tolist(), regularizer, weights, intercept=False)]
    return Fit(draw, estimator, y, sample_weight, lambda _: cases, intercept=lambda _: 0.0)


def winnow_classifier(draw):
    """WinnowClassifier: both entropies, weights of one or both signs."""
    y, sample_weight, (given, loss) = draw.words(), draw.weights(), draw.loss("classification")
    class_weight, weights = draw.class_weights(y, sample_weight)
    normalized, balanced = (bool(draw.rng.random() < 0.5) for _ in range(2))
    regularizer = Entropy(None, 0.01, balanced) if normalized else UnnormalizedEntropy(0.01, balanced)
    draw.note(regularizer=f"{'balanced_' if balanced else ''}{regularizer.name}")
    own = draw.common(class_weight=class_weight, fit_intercept=draw.intercept, normalized=normalized, balanced=balanced)
    estimator = fenchel.WinnowClassifier(given, **own)
    return Fit(draw, estimator, y, sample_weight, lambda _: draw.classes("ovr", loss, regularizer, weights))


def linear_svc(draw):
    """LinearSVC; Crammer and Singer's risk of two classes is the hinge with twice the C, and ignores the penalty."""
    y, sample_weight = draw.words(), draw.weights()
    class_weight, weights = draw.class_weights(y, sample_weight)
    name, penalty = one_of(draw.rng, ("hinge", "squared_hinge")), one_of(draw.rng, ("l2", "l1"))
    form = one_of(draw.rng, ("ovr", "crammer_singer"))
    joint = form == "crammer_singer"
    loss, regularizer = as_loss("hinge" if joint else name), L1() if penalty == "l1" and not joint else L2()
    draw.note(loss=repr(loss), regularizer=regularizer.name, form=form)
    own = draw.common(loss=name, penalty=penalty, multi_class=form, class_weight=class_weight)
    C = 2.0 * draw.C if joint and draw.k == 2 else draw.C
    return Fit(
        draw, fenchel.LinearSVC(**own, fit_intercept=draw.intercept), y, sample_weight,
        lambda _: draw.classes(form, loss, regularizer, weights, C=C),
    )  # fmt: skip


def linear_svr(draw):
    """LinearSVR."""
    loss = one_of(draw.rng, (EpsilonInsensitive, SquaredEpsilonInsensitive))(one_of(draw.rng, (0.0, 0.25)))
    sample_weight, y = draw.weights(), draw.targets(loss, several=False)
    draw.note(loss=repr(loss))
    own = draw.common(loss=loss.name, epsilon=loss.epsilon, fit_intercept=draw.intercept)
    return Fit(
        draw, fenchel.LinearSVR(**own), y, sample_weight, lambda _: [draw.mean(loss, y, L2(), sample_weight)]
    )  # fmt: skip


def logistic_regression(draw):
    """LogisticRegression; with "liblinear" its weights are not rounded to float32."""
    y, sample_weight, (parameters, regularizer) = draw.words(), draw.weights(), draw.penalty(tuple(PENALTIES))
    class_weight, weights = draw.class_weights(y, sample_weight)
    draw.note(loss="Logistic()")
    own = draw.common(class_weight=class_weight, solver="liblinear", fit_intercept=draw.intercept, **parameters)
    return Fit(
        draw, fenchel.LogisticRegression(**own), y, sample_weight,
        lambda _: draw.classes("multinomial", Logistic(), regularizer, weights),
    )  # fmt: skip
