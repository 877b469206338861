"""``svm_perf_learn``: a linear model that is trained for a performance measure."""

from __future__ import annotations

import math
import time

import numpy as np
import scipy.sparse as sp

from fenchel.frontends.fitting import Fit, fit, write_certificate
from fenchel.frontends.matrix import Data, read_data
from fenchel.frontends.refusal import Refusal
from fenchel.frontends.rows import WrongLineError
from fenchel.frontends.svmperf.losses import PERCENT, risk_of
from fenchel.frontends.svmperf.model import PerfModel
from fenchel.frontends.svmperf.options import LearnOptions
from fenchel.frontends.writing import check_target, writing
from fenchel.problem import Problem
from fenchel.regularizers import L2

_OBJECTIVE = "|w|²/2 + C xi"
#: exit statuses
_DONE, _INTERRUPTED = 0, 130


def learn(options: LearnOptions) -> int:
    """Run ``svm_perf_learn``; the exit status."""
    said = _Said(options.verbosity)
    said("Reading training examples...", end="")
    data = read_examples(options.data)
    said("done")
    try:
        check_target(options.model, options.data)
    except OSError as error:
        raise Refusal(1, f"{options.model}: {error.strerror or error}") from None
    begin = time.process_time()
    problem, scale = problem_of(data, options)
    positives = int(np.sum(data.y > 0))
    counts = f"{len(data.y)} examples ({positives} pos / {len(data.y) - positives} neg)"
    said(f"Training set properties: {problem.design.shape[1]} features, {counts}")
    found = fit(problem, scale, _OBJECTIVE, _tol(problem, options))
    for line in _statistics(found, options, time.process_time() - begin):
        said(line)
    model = _model(data, found, options)
    content = model.content()
    said("Writing learned model...", end="")
    with writing(options.model) as stream:
        stream.write(content)
    words = f"-l {options.loss} -c {options.C:g} -e {options.epsilon:g} --b {options.bias:g}"
    about = {"program": "svm_perf_learn", "data": options.data, "objective": _OBJECTIVE, "options": words}
    write_certificate(options.model, content, [found], about)
    said("done")
    return _INTERRUPTED if found.interrupted else _DONE


def read_examples(path: str) -> Data:
    """The rows of a file; the original's messages for one that can't be read."""
    try:
        data = read_data(path, svm_light=True)
    except OSError as error:
        raise Refusal(1, f"{path}: {error.strerror or error}", "\n") from None
    except WrongLineError as error:
        raise Refusal(1, f"Parsing error in line {error.line}!\n{path}: {error.why}", "\n") from None
    if not len(data.y):
        raise Refusal(1, f"{path}: holds no examples", "\n")
    return data


def problem_of(data: Data, options: LearnOptions) -> tuple[Problem, float]:
    """The problem, and by how much SVM-perf's objective is larger; labels up to 0 are negative."""
    X = data.X
    if options.bias != 0.0:
        X = sp.csr_matrix(sp.hstack([X, np.full((X.shape[0], 1), options.bias)], format="csr"))
    risk = risk_of(np.where(data.y > 0, 1.0, -1.0), options)
    scale = PERCENT * options.C
    return Problem(X, risk, 1.0 / scale, L2()), scale


def _tol(problem: Problem, options: LearnOptions) -> float:
    """The relative gap that bounds the error of the slack by epsilon: the optimum is at most R(0)."""
    return options.epsilon / PERCENT / max(1.0, problem.risk.value(np.zeros(problem.design.shape[0])))


def _model(data: Data, found: Fit, options: LearnOptions) -> PerfModel:
    weights = np.asarray(found.solution.model.weights, dtype=np.float64)
    threshold = 0.0
    if options.bias != 0.0:
        threshold, weights = -options.bias * float(weights[-1]), weights[:-1]
    return PerfModel(weights.tolist(), threshold, len(data.y))


def _statistics(found: Fit, options: LearnOptions, seconds: float) -> list[str]:
    """The lines of SVM-perf that have a meaning here, and the certificate."""
    certificate, solution = found.certificate, found.solution
    norm = float(np.linalg.norm(np.asarray(solution.model.weights)))
    lines = [] if solution.converged else ["WARNING: reaching max number of iterations"]
    return [
        *lines,
        f"Final epsilon on KKT-Conditions: {certificate.gap / options.C:.5f}",
        f"Upper bound on duality gap: {certificate.gap:.5f}",
        f"Dual objective value: dval={certificate.dual:.5f}",
        f"Primal objective value: pval={certificate.primal:.5f}",
        f"Number of iterations: {math.ceil(solution.passes)}",
        f"Norm of weight vector: |w|={norm:.5f}",
        f"Value of slack variable (global): xi={(certificate.primal - 0.5 * norm * norm) / options.C:.5f}",
        f"Runtime in cpu-seconds: {seconds:.2f}",
        str(certificate),
    ]


class _Said:
    """Prints unless the verbosity is 0."""

    def __init__(self, verbosity: int) -> None:
        self._speaks = verbosity >= 1

    def __call__(self, line: str, end: str = "\n") -> None:
        if self._speaks:
            print(line, end=end, flush=True)
