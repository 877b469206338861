"""The commands that print a table of many fits: ``path`` and ``compare``."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fenchel.cli.names import CLASSIFICATION, LOSSES, RANKING, SOLVERS, Chosen, check_one_of, chosen, numbers
from fenchel.cli.objective import estimator_of, is_ranking, is_regression, settle
from fenchel.cli.output import DASH, INTERRUPTED, NOT_PROVED, PROVED, check_output, csv_lines, say, table_lines, write
from fenchel.errors import FenchelError
from fenchel.frontends.starting import load_scikit_learn
from fenchel.io.files import check_data

if TYPE_CHECKING:
    from fenchel.cli.reading import Data

#: rows of the fit that loads the compiled loops before the first one is timed
_WARM_UP = 50


def path(options: Namespace) -> int:
    """Fit models for many values of C and print a table; the exit status."""
    check_output(options.output, options.force)
    settle(options)
    Cs = _values_or_interval(options.Cs)
    if options.measure is not None or is_ranking(options):
        raise FenchelError("path is for losses of single rows; use `fenchel cv` for a measure")
    _check_files(options)
    from fenchel.cli.fits import warned
    from fenchel.cli.reading import training_and_test, training_table
    from fenchel.estimators import regularization_path

    table = training_table(options)
    data, test = training_and_test(options, table)
    given = estimator_of(options)
    names = ("loss", "l1_ratio", "regularizer", "fit_intercept", "multi_class", "n_jobs", "tol", "max_iter", "solver")
    shared = {name: value for name, value in given.get_params(deep=False).items() if name in names}
    shared |= {"random_state": options.seed, "time_limit": options.time_limit, "accuracy": options.accuracy}
    with warned():
        found = regularization_path(data.X, data.y, Cs, **shared, **data.more)
    score = "R²" if is_regression(options) else "accuracy"
    header = ("C", "objective", "proved gap", "non-zeros", *(() if test is None else (f"held-out {score}",)))
    rows = []
    for k, C in enumerate(found.Cs):
        certificate = found.certificates[k]
        weights = _count(found.coefs[k])
        row = (f"{C:.6g}", f"{certificate.primal:.6g}", _gap(certificate), f"{weights}")
        rows.append(row if test is None else (*row, f"{_path_score(given, found, k, test):.4f}"))
    _write_table(options, header, rows)
    goal = options.accuracy if isinstance(Cs, tuple) or (Cs is None and found.accuracy is not None) else options.tol
    if isinstance(Cs, tuple) and found.accuracy is not None:
        say(f"every C from {Cs[0]:g} to {Cs[1]:g} is proved to be within {100 * found.accuracy:g}% of its optimum")
    proved = all(certificate.meets(goal) for certificate in found.certificates)
    return INTERRUPTED if found.interrupted else PROVED if proved else NOT_PROVED


def _values_or_interval(text: str | None) -> Any:
    if text is None:
        return None
    if ":" in text:
        ends = [one for part in text.split(":") for one in numbers("Cs", part)]
        if len(ends) != 2:
            raise FenchelError(f"--Cs: an interval is LOW:HIGH, got {text!r}")
        return tuple(ends)
    return numbers("Cs", text)


def _gap(certificate: Any) -> str:
    """The relative gap; rounding may leave a negative one of an optimal model, which proves no more than zero."""
    return f"{max(certificate.relative_gap, 0.0):.1e}"


def _count(weights: Any) -> int:
    """The features with a weight that is not zero, for any class."""
    import numpy as np

    return int(np.count_nonzero(np.any(np.atleast_2d(weights) != 0.0, axis=0)))


def _path_score(estimator: Any, found: Any, k: int, test: Data) -> float:
    """The score of one model of a path on held-out rows."""
    import numpy as np

    from fenchel.cli.scores import main_score

    model = type(estimator)(**estimator.get_params(deep=False))
    coef, intercept = found.coefs[k], found.intercepts[k]
    if found.classes is not None:
        model.classes_, coef, intercept = found.classes, np.atleast_2d(coef), np.atleast_1d(intercept)
        model.multi_class_ = estimator.multi_class
    model.coef_, model.intercept_, model.n_features_in_ = coef, intercept, coef.shape[-1]
    return main_score(model, test.X, test.y)[1]


class _Run(NamedTuple):
    """One row of a comparison."""

    name: str
    solver: str
    C: float
    estimator: Any
    #: scikit-learn's
    peer: bool = False


def compare(options: Namespace) -> int:
    """Fit several models to one file and print a table; the exit status."""
    check_output(options.output, options.force)
    check_output(options.report, options.force, "report")
    if (
        options.report is not None
        and options.output is not None
        and options.report.resolve() == options.output.resolve()
    ):
        raise FenchelError(f"--output and --report both name {options.report}; choose two files")
    losses = [chosen("losses", one, LOSSES) for one in options.losses.split(",")]
    solvers = options.solvers.split(",")
    for name in solvers:
        check_one_of("solvers", name, SOLVERS)
    _check_losses(losses)
    Cs = numbers("Cs", options.Cs)
    _check_files(options)
    from fenchel.cli.fits import fit
    from fenchel.cli.reading import training_and_test, training_table
    from fenchel.cli.scores import main_score

    data, test = training_and_test(options, training_table(options))
    runs = _runs(options, losses, solvers, Cs)
    rows, proved = [], True
    for run in runs:
        _warm_up(run, data)
        begin = time.process_time()
        if fit(run.estimator, data.X, data.y, **data.more):
            raise KeyboardInterrupt
        seconds = time.process_time() - begin
        certificate = _certificate(run, data)
        score = None if test is None else main_score(run.estimator, test.X, test.y)[1]
        solver = run.solver if run.peer or run.solver != "auto" else f"auto ({run.estimator.solver_})"
        row = (run.name, solver, f"{run.C:g}", f"{seconds:.3f}", _gap(certificate))
        rows.append(row if score is None else (*row, f"{score:.4f}"))
        if not run.peer:
            proved = proved and certificate.meets(options.tol)
    header = ("loss", "solver", "C", "seconds", "proved gap")
    score_name = "accuracy" if losses[0].name in CLASSIFICATION else "R²"
    _write_table(options, header if test is None else (*header, f"held-out {score_name}"), rows)
    if options.report is not None:
        from fenchel.cli.judging import write_page

        models = {f"{run.name}, {run.solver}, C={run.C:g}": run.estimator for run in runs}
        held = {} if test is None else {"X_test": test.X, "y_test": test.y}
        held |= {} if test is None else {f"{name}_test": values for name, values in test.more.items()}
        write_page("compare", (models, data.X, data.y), {**data.more, **held}, options.report)
        say(f"written: {options.report}")
    return PROVED if proved else NOT_PROVED


def _check_losses(losses: Sequence[Chosen]) -> None:
    if any(loss.name in RANKING for loss in losses):
        raise FenchelError("--losses: rankings can't be compared here; train and evaluate each of them")
    if len({loss.name in CLASSIFICATION for loss in losses}) > 1:
        raise FenchelError("--losses: losses of classification and of regression have no common score; choose one kind")


def _runs(options: Namespace, losses: Sequence[Chosen], solvers: Sequence[str], Cs: Sequence[float]) -> list[_Run]:
    runs = []
    for loss in losses:
        for C in Cs:
            for solver in solvers:
                own = Namespace(**{**vars(options), "loss": loss, "C": C, "solver": solver, "measure": None})
                runs.append(_Run(str(loss), solver, C, estimator_of(own)))
            peer = _peer(options, loss, C) if options.baseline else None
            if peer is not None:
                runs.append(_Run(str(loss), f"scikit-learn {type(peer).__name__}", C, peer, peer=True))
    return runs


def _peer(options: Namespace, loss: Chosen, C: float) -> Any:
    """Scikit-learn's class for a loss, None if there is none with an L2 penalty."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import LinearSVC, LinearSVR

    shared = {"fit_intercept": options.intercept, "max_iter": int(options.max_iter), "random_state": options.seed}
    svm = {**shared, "C": C, "tol": options.tol, "dual": "auto"}
    if options.l1_ratio or options.regularizer or len(loss.values) > 1:
        return None
    match loss.name:
        case "hinge" if not loss.values:
            return LinearSVC(loss="hinge", class_weight=options.class_weight, **{**svm, "dual": True})
        case "squared_hinge":
            return LinearSVC(loss="squared_hinge", class_weight=options.class_weight, **svm)
        case "logistic":
            return LogisticRegression(C=C, tol=options.tol, class_weight=options.class_weight, **shared)
        case "squared":
            return Ridge(alpha=1.0 / C, tol=options.tol, **shared)
        case "absolute" | "epsilon_insensitive":
            epsilon = 0.0 if loss.name == "absolute" else (loss.values or (0.1,))[0]
            return LinearSVR(epsilon=epsilon, loss="epsilon_insensitive", **{**svm, "dual": True})
    return None


def _warm_up(run: _Run, data: Data) -> None:
    """Load the compiled loops of a fit, so that the time of the first row is that of its fit."""
    import warnings

    from sklearn.base import clone

    few = data.taken(slice(0, None, max(1, len(data.y) // _WARM_UP)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clone(run.estimator).fit(few.X, few.y, **few.more)
    except ValueError:
        # few rows may have one class; what is wrong with all rows is said by their fit
        return


def _certificate(run: _Run, data: Data) -> Any:
    if not run.peer:
        return run.estimator.certificate_
    from fenchel.interop import certify

    return certify(run.estimator, data.X, data.y, **data.more).certificate


def _check_files(options: Namespace) -> None:
    """Raise unless the files are there, and load what reads them."""
    for file in (options.data, options.test):
        if file is not None:
            check_data(file)
    load_scikit_learn()


def _write_table(options: Namespace, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print the table, or write it with commas."""
    if options.output is None:
        print("\n".join(table_lines(header, rows)))
        return
    write(csv_lines([name.replace(" ", "_").replace("-", "_") for name in header], rows), options.output)
    if options.output != DASH:
        print(f"written: {options.output}")
