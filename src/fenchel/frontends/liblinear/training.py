"""LIBLINEAR's ``train``: a model file, cross-validation, or a search for C."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Floats
from fenchel.frontends.fitting import Fit, fit, write_certificate
from fenchel.frontends.liblinear.model import Model
from fenchel.frontends.liblinear.options import TrainOptions
from fenchel.frontends.liblinear.predicting import wrong_line
from fenchel.frontends.liblinear.problems import Classes, Part, classes_of, parts, weights_of, with_bias
from fenchel.frontends.matrix import Data, read_data
from fenchel.frontends.refusal import Refusal
from fenchel.frontends.rows import WrongLineError
from fenchel.frontends.writing import check_target, writing
from fenchel.solving.solution import Solution

#: exit statuses
_DONE, _INTERRUPTED = 0, 130
#: dual variables of the one-class SVM up to this one, of at most 1, are zero
_ZERO = 1e-12


def train(options: TrainOptions) -> int:
    """Run ``train``; the exit status."""
    data = _read(options)
    if options.searches or options.folds is not None:
        from fenchel.frontends.liblinear.folds import cross_validate, search

        return search(data, options) if options.searches else cross_validate(data, options)
    try:
        check_target(options.model, options.data)
    except OSError as error:
        raise Refusal(1, f"can't save model to file {options.model}: {error}") from None
    model, fits = trained(data.X, data.y, options)
    content = model.content()
    try:
        with writing(options.model) as stream:
            stream.write(content)
        about = {"program": "liblinear train", "data": options.data, "objective": options.kind.objective}
        write_certificate(options.model, content, fits, {**about, "options": _words(options)})
    except OSError as error:
        raise Refusal(1, f"can't save model to file {options.model}: {error}") from None
    return _INTERRUPTED if any(one.interrupted for one in fits) else _DONE


def trained(
    X: sp.csr_matrix, y: Floats, options: TrainOptions, warm: Sequence[Solution] | None = None
) -> tuple[Model, list[Fit]]:
    """The model of some rows.

    Parameters
    ----------
    X : csr_matrix
        The rows, without the bias.
    y : ndarray
        Their labels.
    options : TrainOptions
        The problem.
    warm : sequence of Solution, default=None
        The solutions for the same rows with another C.

    Returns
    -------
    tuple of Model and list of Fit
        The model, and its problems.
    """
    kind, features = options.kind, X.shape[1]
    classes = classes_of(y) if kind.task == "classification" else None
    if classes is not None:
        _warn_of_absent_classes(options, classes)
        if kind.joint and len(classes.labels) == 1:
            # nothing to tell apart: zero weights have the objective zero
            return Model(kind, 1, classes.labels, features, options.bias, [0.0] * (features + (options.bias >= 0))), []
    fits, columns = [], []
    problems = parts(with_bias(X, options), y, classes, options)
    for k, part in enumerate(problems):
        found = fit(part.problem, part.scale, kind.objective, options.tol, warm[k] if warm else None)
        if found.interrupted and k + 1 < len(problems):
            # the other classes have no weights yet
            raise KeyboardInterrupt
        fits.append(found)
        columns.append(weights_of(part, found.solution.model, options))
        if not options.quiet:
            print(_report(part, found, columns[-1], options), flush=True)
    weights = np.vstack(columns).T.ravel().tolist()
    if classes is None:
        intercept = fits[0].solution.model.intercept
        rho = -float(np.asarray(intercept)) if kind.task == "one-class" else 0.0
        return Model(kind, 2, None, features, options.bias, weights, rho), fits
    return Model(kind, len(classes.labels), classes.labels, features, options.bias, weights), fits


def _read(options: TrainOptions) -> Data:
    try:
        data = read_data(options.data)
    except OSError:
        raise Refusal(1, f"can't open input file {options.data}") from None
    except WrongLineError as error:
        raise wrong_line(error) from None
    if not len(data.y):
        raise Refusal(1, f"ERROR: {options.data} has no rows")
    if not data.features:
        raise Refusal(1, f"ERROR: {options.data} has labels and no features")
    if options.searches and "s" not in options.given:
        print("Solver not specified. Using -s 2", file=sys.stderr)
    return data


def _warn_of_absent_classes(options: TrainOptions, classes: Classes) -> None:
    for label, _ in options.weights:
        if label not in classes.labels:
            print(f"WARNING: class label {label} specified in weight is not found", file=sys.stderr)


def _report(part: Part, found: Fit, weights: Floats, options: TrainOptions) -> str:
    """The lines that LIBLINEAR prints after a problem, and the certificate."""
    solution, certificate = found.solution, found.certificate
    lines = ["", f"optimization finished, #iter = {math.ceil(solution.passes)}"]
    if not solution.converged:
        lines += ["", "WARNING: reaching max number of iterations"]
    # LIBLINEAR minimizes the dual as well, with the other sign
    objective = -certificate.dual if options.kind.dual else certificate.primal
    if part.centre is not None:
        # its dual objective is |w|^2 / 2
        objective = 0.5 * float(np.sum(weights**2))
    lines.append(f"Objective value = {objective:f}")
    if options.kind.l1:
        lines.append(f"#nonzeros/#features = {np.count_nonzero(weights)}/{weights.size}")
    elif options.kind.dual:
        lines.append(f"nSV = {_support_vectors(part, found, options)}")
    if part.centre is not None:
        lines.append(f"rho = {-float(np.asarray(solution.model.intercept)):f}")
    lines.append(str(certificate))
    return "\n".join(lines)


def _support_vectors(part: Part, found: Fit, options: TrainOptions) -> int:
    """The number of dual variables of LIBLINEAR that are not zero."""
    theta = found.solution.witness.theta
    if part.centre is not None:
        # of the one-class SVM they are nu + l theta
        return int(np.count_nonzero(options.nu + part.scale * theta > _ZERO))
    return int(np.count_nonzero(theta))


def _words(options: TrainOptions) -> str:
    """The options of the problem, all of them."""
    kind = options.kind
    found = [f"-s {kind.number} -c {options.C:g} -B {options.bias:g} -e {options.eps or kind.default_eps:g}"]
    found += [f"-p {options.p:g}"] if kind.task == "regression" else []
    found += [f"-n {options.nu:g}"] if kind.task == "one-class" else []
    found += ["-R"] if options.frees_bias else []
    return " ".join((*found, *(f"-w{label} {weight:g}" for label, weight in options.weights)))
