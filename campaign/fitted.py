"""Whether what fitted estimators say holds: certificates, convergence, copies and proved predictions.

A fit is wrong if one of its certificates is (``judging.py``), if ``converged_`` is not what its certificates prove, if
a copy of it predicts otherwise, or if a proved prediction contradicts the optimum of a much more accurate fit.
"""

import pickle
import tempfile
import warnings
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import fenchel
from campaign import estimators, exact, infeasible_exact, kernel_fits, structured_fits
from campaign.files import MEMORY
from campaign.fits import SHARES, Draw
from campaign.judging import ALLOWED_REFUSALS, SOLVER_REFUSALS, compare, compare_all, guarded, solved
from campaign.kernel_draws import KernelDraw
from campaign.loops import compiled_loops
from exact_losses import DIGITS, digits
from fenchel import FenchelError, GapWarning, Model, Witness
from fenchel.certificate import Verdict
from fenchel.io.model_file import ModelFile, load, save

MAKERS = {
    "LinearClassifier": estimators.linear_classifier,
    "LinearRegressor": estimators.linear_regressor,
    "MeasureClassifier": estimators.measure_classifier,
    "OrdinalClassifier": estimators.ordinal_classifier,
    "WinnowClassifier": estimators.winnow_classifier,
    "LinearSVC": estimators.linear_svc,
    "LinearSVR": estimators.linear_svr,
    "LogisticRegression": estimators.logistic_regression,
    "LinearClassifierCV": estimators.with_chosen_C(estimators.linear_classifier, fenchel.LinearClassifierCV),
    "LinearRegressorCV": estimators.with_chosen_C(estimators.linear_regressor, fenchel.LinearRegressorCV),
    "KernelClassifier": kernel_fits.kernel_classifier,
    "KernelRegressor": kernel_fits.kernel_regressor,
    "OnlineClassifier": kernel_fits.online_classifier,
    "regularization_path": kernel_fits.path,
    "LinearRanker": structured_fits.linear_ranker,
    "MultilabelClassifier": structured_fits.multilabel_classifier,
    "SequenceClassifier": structured_fits.sequence_classifier,
}
assert MAKERS.keys() == SHARES.keys()
#: estimators that model files hold
SAVED = (fenchel.LinearClassifier, fenchel.LinearRegressor, fenchel.MeasureClassifier)


def run_fit(seed, index, kind=Draw):
    """The outcome of one fit, whose data and parameters ``kind`` draws."""
    draw = kind(seed, index)

    def judged(outcome):
        fit = MAKERS[draw.name](draw)
        try:
            _judge_fit(draw, fit, outcome)
        except FenchelError as error:
            if infeasible_exact.WORDS not in str(error) or not _some_part_is_inseparable(draw, fit):
                raise
            outcome.refused = str(error)
        except ArithmeticError as error:
            # exp overflows in plain Python, where a compiled loop goes on with infinity
            if compiled_loops():
                raise
            raise FenchelError("a loop in plain Python overflows") from error

    return guarded(draw.strata, judged, (*ALLOWED_REFUSALS, *SOLVER_REFUSALS))


run_kernel_fit = partial(run_fit, kind=KernelDraw)


def _some_part_is_inseparable(draw, fit):
    """Whether a fit was right to refuse its constraints; without a model, so its form is the one that was drawn."""
    form = "ovo" if draw.strata.get("form") == "ovo" else "ovr"
    return any(map(infeasible_exact.inseparable, fit.cases(SimpleNamespace(multi_class_=form))))


def _judge_fit(draw, fit, outcome):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit.fitted()
        warned = any(issubclass(warning.category, GapWarning) for warning in caught)
        accurate = fit.accurate(model)
        total = fit.total(model)
        found = _compare_parts(fit, model, accurate, outcome)
    for side, bound, known in (("upper", "upper", found[0]), ("lower", "lower", found[1])):
        if total is not None and known is not None:
            compare(outcome, side, getattr(total, bound), known, "the sum of the exact P of all problems")
    if draw.name == "regularization_path":
        return
    new = fit.X if fit.X is not None else _new_rows(draw)
    _check_copies(model, new, fit.predict_more, outcome)
    if draw.name != "OnlineClassifier":
        _check_convergence(fit, model, warned, outcome)
        _check_proved(draw, fit, model, accurate, new, outcome)


def _compare_parts(fit, model, accurate, outcome):
    """Judge the problems of both fits; returns the sums of the exact P of the first, and of the least known ones."""
    own, best = Decimal(0), Decimal(0)
    for part, other in zip(fit.parts(model), fit.parts(accurate), strict=True):
        case = part.case
        known = [exact.primal(case, *exact.model_numbers(_model(one))) for one in (part, other)]
        optimum = _ridge_optimum(case)
        known += [] if optimum is None else [exact.primal(case, *optimum)]
        verdicts = [_verdict(one) for one in (part, other) if one.certificate is not None]
        least = compare_all(case, [*verdicts, *solved(case)], known, outcome)
        with digits(DIGITS):
            own, best = own + known[0], best + least
    return own, best


def _model(part):
    weights = np.atleast_2d(part.weights)
    return Model(weights, np.broadcast_to(np.atleast_1d(part.intercept), len(weights)))


def _verdict(part):
    witness = None if part.theta is None else Witness(part.theta, None, part.decomposition)
    return Verdict(part.certificate, _model(part), witness, None)


def _ridge_optimum(case):
    """The exact optimum of a squared loss of one score with ridge; None for other problems."""
    mean = case.problem.risk.separable()
    plain = case.kind == "mean" and mean.loss.name == "squared" and case.problem.regularizer.is_ridge
    return exact.ridge_optimum(case) if plain and case.problem.design.kernel() is None else None


def _new_rows(draw):
    """Rows like those of the fit."""
    size = max(max(abs(float(entry)) for entry in row) for row in draw.rows)
    return size * draw.rng.normal(size=(6, draw.d))


def _check_convergence(fit, model, warned, outcome):
    """``converged_`` is true if and only if every certificate proves tol, or its optimum to the rounding floor."""
    tol = Fraction(fit.estimator.tol)

    def proves(certificate):
        if certificate.contradictory or not np.isfinite(certificate.upper - certificate.lower):
            return False
        upper, lower = Fraction(certificate.upper), Fraction(certificate.lower)
        exhausted = certificate.optimal and (tol == 0 or certificate.trivial)
        return exhausted or upper - lower <= tol * max(abs(upper), abs(lower))

    proved = all(map(proves, model.certificates_))
    if model.converged_ != proved:
        outcome.wrong.append(f"converged_={model.converged_}, but the certificates prove {proved}")
    if not model.converged_ and not warned:
        outcome.wrong.append("no warning, and the fit has not converged")


def _check_copies(model, new, more, outcome):
    """A pickled, and a saved and loaded estimator predict the same and hold the same certificates."""
    copies = {"pickled": pickle.loads(pickle.dumps(model))}
    if type(model) in SAVED and isinstance(vars(model).get("loss", ""), str):
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
            path = Path(folder) / "model.npz"
            save(path, ModelFile(model, None, None, False))
            copies["loaded"] = load(path).estimator
    for name, copy in copies.items():
        if not np.array_equal(copy.predict(new, **more), model.predict(new, **more)):
            outcome.wrong.append(f"the {name} estimator predicts otherwise")
        if vars(copy).get("certificates_") != vars(model).get("certificates_"):
            outcome.wrong.append(f"the {name} estimator has other certificates")


def _check_proved(draw, fit, model, accurate, new, outcome):
    """Intervals of scores of two fits contain the same optimum, and so does that of the exact one."""
    try:
        first, second = (one.certified_predictions(new) for one in (model, accurate))
    except FenchelError:
        draw.note(proved="refused")
        return
    draw.note(proved="some" if np.any(first.proved) else "none")
    if not np.array_equal(first.predictions, model.predict(new)):
        outcome.wrong.append("certified_predictions predicts otherwise than predict")
    ends = (first.lower, first.upper, second.lower, second.upper)
    case = fit.parts(model)[0].case
    if np.any((ends[0] > ends[3]) | (ends[2] > ends[1])):
        outcome.wrong.append("the intervals of scores of two fits of the same problem are disjoint")
    both = first.proved & second.proved
    if first.kind != "score" and np.any(first.predictions[both] != second.predictions[both]):
        outcome.wrong.append("two proved predictions contradict each other")
    optimum = _ridge_optimum(case)
    if optimum is None or first.lower.ndim != 1:
        return
    (weights,), (intercept,) = optimum
    for row, lower, upper in zip(new.tolist(), first.lower.tolist(), first.upper.tolist(), strict=True):
        with digits(DIGITS):
            score = sum(Decimal(x) * w for x, w in zip(row, weights, strict=True)) + intercept
        compare(outcome, "lower", lower, score, "the score of the exact optimum")
        compare(outcome, "upper", upper, score, "the score of the exact optimum")
