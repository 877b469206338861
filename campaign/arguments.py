"""Wrong types and values for every public argument, generated from signatures.

A call may succeed or raise ValueError (FenchelError is one) or TypeError; any other exception is a defect.
"""

import contextlib
import inspect
import tempfile
import time
import warnings

import numpy as np
import scipy.sparse as sp

import fenchel
from campaign.loops import use_plain_loops
from fenchel import designs, kernels, losses, regularizers, risks, solvers

X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, -1.0], [3.0, 0.1], [0.5, 2.0], [1.5, -0.2]])
SIGNS = np.array([-1.0, 1.0, -1.0, 1.0, 1.0, -1.0])
CLASSES = np.array([0, 1, 2, 0, 1, 2])
GRAM = kernels.GramDesign(X @ X.T + np.eye(6))


class Strange:
    """An object that is nothing, and says so when it is asked."""

    def __len__(self):
        return 3

    def __repr__(self):
        return "Strange()"


def wrong_values():
    """What no argument, or hardly any, should be."""
    return [
        *(None, True, -1, 0, 1, 7, 10**400, -0.0, 1e-320, 1e308, float("nan"), float("inf"), 1j, "", "x", b"x"),
        *([], [None], ["a", "b"], [[1.0, 2.0], [3.0]], {}, {"a": 1}, {1: "x"}, set(), (), range(3), lambda: 0),
        *(Strange(), Strange, np.float32(2), np.array(3.0), np.array([]), np.zeros((0, 2)), np.zeros((2, 2, 2))),
        *(np.array(["x", "y"]), np.array([1, None], dtype=object), np.full((6, 2), np.nan), np.full(6, np.inf)),
        *(np.zeros(6, dtype=complex), np.zeros((6, 2), dtype=np.float16), np.zeros(6, dtype="M8[s]")),
        *(sp.csr_array((6, 2)), sp.coo_array(np.ones((3, 1))), np.ma.masked_array([1.0, 2.0], [True, False])),
        *(np.matrix(X), memoryview(b"abc"), 5 * [SIGNS], CLASSES, SIGNS, X),
    ]


def _problem():
    return fenchel.Problem(X, risks.MeanRisk("hinge", SIGNS), 0.1, intercept=True)


#: a valid value for required arguments, by their names
VALID = {
    "X": X,
    "y": SIGNS,
    "design": X,
    "matrix": sp.csr_array(X),
    "values": X,
    "risk": risks.MeanRisk("hinge", SIGNS),
    "lam": 0.1,
    "problem": _problem(),
    "model": np.zeros(2),
    "weights": np.zeros(2),
    "theta": np.zeros(6),
    "loss": "hinge",
    "labels": SIGNS,
    "classes": CLASSES,
    "k": 3,
    "delta": lambda fn, fp: (fn + fp) / 6.0,
    "gram": GRAM,
    "K": np.eye(6),
    "kernel": "rbf",
    "estimator": fenchel.LinearClassifier(),
    "operator": np.eye(2),
    "directions": np.array([[1.0, 0.0]]),
    "primal": 1.0,
    "dual": 0.5,
    "table": risks.BreakEven(np.tile(SIGNS, 2)),
    "outputs": 2,
    "solver": "auto",
}
#: the same for one callable
SPECIAL = {
    "MultilabelHinge": {"labels": np.tile(CLASSES[:, None], 3) == np.arange(3)},
    "OrdinalHinge": {"labels": CLASSES},
    **{kind.__name__: {"labels": CLASSES} for kind in risks.RANKINGS.values()},
    "LinearRanker": {"y": CLASSES},
    "MultilabelClassifier": {"y": (np.tile(CLASSES[:, None], 3) == np.arange(3)).astype(int)},
    "SequenceClassifier": {"X": [X[:4], X[4:]], "y": [CLASSES[:4], CLASSES[4:]]},
    "ChainDesign": {"tokens": X, "labels": 3},
    "ChainHinge": {"labels": CLASSES, "lengths": [4, 2]},
    "ChainLogistic": {"labels": CLASSES, "lengths": [4, 2]},
    "OrdinalClassifier": {"y": CLASSES},
    "PrecisionAtK": {"k": 2},
    "CachedGram": {"source": lambda rows: np.eye(6)[rows], "diagonal": np.ones(6), "megabytes": 1.0},
    "GramDesign": {"gram": np.eye(6)},
    "ChainGram": {"tokens": kernels.GramDesign(np.eye(6)), "labels": 3},
    "row_lengths": {"design": designs.as_design(X)},
    "LinearRegressor": {"y": X[:, 0]},
    "check_loss": {"loss": losses.Hinge()},
    "check_regularizer": {"regularizer": regularizers.L2()},
}
#: not called: abstract, made by the library, or in need of a file
LEFT_OUT = {"Design", "KernelDesign", "Loss", "Regularizer", "Risk", "ContingencyRisk", "MulticlassRisk", "Solver"}
LEFT_OUT |= {"CustomLoss", "Solution", "Progress", "TracePoint", "Status", "RegularizationPath", "GapWarning"}
LEFT_OUT |= {"Hint", "Need", "Start", "ChainRisk", "MappedDesign", "ComputedDesign"}
LEFT_OUT |= {
    "CacheWarning",
    "FenchelError",
    "plot_certificate",
    "plot_coefficients",
    "plot_convergence",
    "plot_path",
    "plot_thresholds",
    "plot_transitions",
    "MicroRisk",
    "CertifiedPredictions",
    "Screened",
}
ALLOWED = (ValueError, TypeError, OverflowError, MemoryError)


def callables():
    """Every public class and function, by its name."""
    found = {}
    for module in (fenchel, losses, regularizers, risks, designs, kernels, solvers):
        for name in module.__all__:
            one = getattr(module, name)
            if callable(one) and name not in LEFT_OUT:
                found.setdefault(name, one)
    return found


def required(name, one):
    """Valid values for the required arguments."""
    own = {**VALID, **SPECIAL.get(name, {})}
    return {
        parameter.name: own[parameter.name]
        for parameter in inspect.signature(one).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }


def _call(name, one, changed, **values):
    """Call with valid values but for the changed ones; an estimator is fitted too, with few iterations."""
    arguments = {**required(name, one), **values}
    rows = SPECIAL.get(name, {}).get("X", X)
    return _quick(one(**arguments), changed).fit(rows, _labels(name)) if hasattr(one, "fit") else one(**arguments)


def _quick(estimator, changed=()):
    """The estimator with few iterations and folds."""
    known = estimator.get_params(deep=False)
    cheap = {"max_iter": 3, "cv": 2, "n_jobs": 1, "Cs": 2}
    return estimator.set_params(**{key: value for key, value in cheap.items() if key in known and key not in changed})


def _labels(name):
    return X[:, 0] if "Regressor" in name or name == "LinearSVR" else SPECIAL.get(name, {}).get("y", SIGNS)


def _try(what, action, defects):
    """Run one call; note an exception that is not allowed."""
    try:
        with np.errstate(all="ignore"):
            action()
    except ALLOWED:
        return
    except Exception as error:
        defects.append(f"{what}: {type(error).__name__}: {error}"[:250])


def _fit_arguments(name, one, defects):
    """Wrong X, y, sample_weight of fit, and wrong X of the methods of a fitted estimator."""
    values = wrong_values()
    labels = _labels(name)
    good = {"X": X, "y": labels}
    names = [n for n in inspect.signature(one.fit).parameters if n in ("X", "y", "sample_weight")]
    for argument in names:
        for value in values:
            estimator = _quick(one())
            given = {**{key: good[key] for key in names if key in good}, argument: value}
            _try(f"{name}().fit({argument}={value!r})", lambda e=estimator, g=given: e.fit(**g), defects)
    estimator = _quick(one()).fit(X, labels)
    for method in ("predict", "decision_function", "predict_proba", "score", "certified_predict", "proved_predict"):
        if not hasattr(estimator, method):
            continue
        for value in values:
            arguments = (value, labels) if method == "score" else (value,)
            _try(f"{name}.{method}({value!r})", lambda m=method, a=arguments: getattr(estimator, m)(*a), defects)
    return len(names) * len(values)


def run(seed, budget, most=None):
    """Every argument, or ``most`` of them, of every public callable with every wrong value, in a random order."""
    # a text may be the name of a file that is written
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return _run(seed, budget, most)


def _run(seed, budget, most):
    use_plain_loops()
    warnings.simplefilter("ignore")
    rng, deadline = np.random.default_rng(seed), time.monotonic() + budget
    defects, without, calls = [], [], 0
    names = callables()
    plans = []
    for name, one in names.items():
        try:
            _call(name, one, ())
        except Exception as error:
            without.append(f"{name}: {type(error).__name__}: {error}"[:160])
            continue
        plans += [(name, one, parameter) for parameter in inspect.signature(one).parameters]
        plans += [(name, one, None)] if hasattr(one, "fit") else []
    for place in rng.permutation(len(plans))[:most]:
        name, one, parameter = plans[place]
        if time.monotonic() > deadline:
            break
        if parameter is None:
            calls += _fit_arguments(name, one, defects)
            continue
        for value in wrong_values():
            what = f"{name}({parameter}={value!r})"
            _try(what, lambda n=name, o=one, p=parameter, v=value: _call(n, o, (p,), **{p: v}), defects)
            calls += 1
    return {
        "callables": len(names),
        "arguments": len(plans),
        "calls": calls,
        "no valid call is known": without,
        "defects": defects[:300],
        "number of defects": len(defects),
    }
