"""Ctrl-C during a fit stores the best model with its certificate and is raised again."""

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from fenchel import (
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    MeasureClassifier,
    MultilabelClassifier,
    Problem,
    regularization_path,
    solve,
)
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.proved import Sketches
from fenchel.estimators.selection import SelectionOfC
from fenchel.risks import MeanRisk, Risk
from fenchel.solvers import Bundle, DualCoordinate
from fenchel.solving.run import Run
from fenchel.solving.solution import Status


class Impatient(DualCoordinate):
    """A user who presses Ctrl-C during the third step."""

    def step(self, state, hint):
        if getattr(state, "steps", 0) == 3:
            raise KeyboardInterrupt
        state.steps = getattr(state, "steps", 0) + 1
        return super().step(state, replace(hint, passes=1.0))


@pytest.mark.parametrize("classes", [2, 3])
def test_attributes_are_stored_before_the_interrupt_is_raised(classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)), np.arange(90) % classes
    model = LinearClassifier(solver=Impatient(), tol=1e-12)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert np.isfinite(model.certificate_.gap)
    assert model.predict(X).shape == (90,)
    regressor = LinearRegressor(solver=Impatient(), tol=1e-12)
    with pytest.raises(KeyboardInterrupt):
        regressor.fit(X, X @ np.ones(4) + rng.normal(size=90))
    assert regressor.certificate_.gap > 0


def test_folds_of_a_threshold_are_not_begun_after_the_interrupt(monkeypatch):
    """Each would be a copy of most of X, for thresholds that an interrupted fit takes from the training examples."""
    X, begun = np.random.default_rng(1).normal(size=(60, 3)), []
    original = MeasureClassifier._fold
    monkeypatch.setattr(MeasureClassifier, "_fold", lambda self, *given: begun.append(1) or original(self, *given))

    def interrupted(*given, **options):
        raise KeyboardInterrupt

    y = np.where(X[:, 0] > 0, 1, -1)
    model = MeasureClassifier("f1", threshold="cv", cv=3).fit(X, y)
    assert len(begun) == 3
    monkeypatch.setattr(Bundle, "step", interrupted)
    again = MeasureClassifier("f1", threshold="cv", cv=3, solver="bundle")
    with pytest.raises(KeyboardInterrupt):
        again.fit(X, y)
    assert len(begun) == 3
    assert np.isfinite(again.certificate_.gap)
    assert again.predict(X).shape == model.predict(X).shape


def ctrl_c_in(monkeypatch, owner, name, call):
    """Send the signal when a function is called for the n-th time."""
    original, calls = getattr(owner, name), []

    def interrupted(*given, **options):
        calls.append(1)
        if len(calls) == call:
            signal.raise_signal(signal.SIGINT)
        return original(*given, **options)

    monkeypatch.setattr(owner, name, interrupted)


@pytest.mark.parametrize(
    ("kind", "owner", "name", "call"),
    [
        ("labels", MultilabelClassifier, "_one_label", 3),
        ("classes", Sketches, "__call__", 2),
        ("labels", LinearEstimator, "attributes", 1),
        ("labels", Run, "_finished", 2),
        ("folds", LinearEstimator, "_problem", 3),
        ("folds", SelectionOfC, "_judged", 2),
        ("measure", MeasureClassifier, "_thresholds", 1),
    ],
)
def test_nothing_is_lost_between_solves(monkeypatch, plain_interrupts, kind, owner, name, call):
    """Problems that are being made, proofs of predictions and thresholds are no place to lose a model."""
    X = np.random.default_rng(2).normal(size=(60, 3))
    y = (X > 0.3).astype(int)
    model, y = {
        "labels": (MultilabelClassifier(), y),
        "classes": (LinearClassifier(multi_class="ovr"), y.sum(axis=1)),
        "folds": (LinearClassifierCV(cv=2), y[:, 0]),
        "measure": (MeasureClassifier("f1", surrogate="bound"), y[:, 0]),
    }[kind]
    ctrl_c_in(monkeypatch, owner, name, call)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert np.isfinite(model.certificate_.gap)
    assert model.predict(X).shape == y.shape


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
def test_ctrl_c_at_the_end_of_a_solve_or_a_path_keeps_it(monkeypatch, plain_interrupts):
    X = np.random.default_rng(3).normal(size=(40, 2))
    problem = Problem(X, MeanRisk("hinge", np.sign(X[:, 0])), 0.1)
    with monkeypatch.context() as patched:
        ctrl_c_in(patched, Run, "_finished", 1)
        assert solve(problem).status is Status.INTERRUPTED
    ctrl_c_in(monkeypatch, Run, "_finished", 3)
    path = regularization_path(X, np.sign(X[:, 0]), np.geomspace(0.1, 10.0, 8), tol=1e-9)
    assert 3 <= len(path) < 8


def test_a_second_ctrl_c_is_raised_at_once(plain_interrupts):
    class Endless(Risk):
        name, examples = "endless", 2

        def value(self, scores):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("not reached")

        def subgradient(self, scores):
            return np.zeros(2)

    with pytest.raises(KeyboardInterrupt):
        solve(Problem(np.eye(2), Endless(), 0.1), "bundle")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.thorough
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_real_signal_ends_a_long_fit(n_jobs):
    script = textwrap.dedent(
        f"""
        import os, signal, threading, time
        import numpy as np
        from fenchel import LinearClassifier
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(20000, 50)), rng.integers(0, 3, 20000)
        # one loop, which other tests compile too
        model = LinearClassifier(C=1e4, tol=1, multi_class="ovr", solver="dual_coordinate", n_jobs={n_jobs})
        model.fit(X[:2000], y[:2000])
        # a process that was started in the background ignores it
        signal.signal(signal.SIGINT, signal.default_int_handler)
        model.set_params(tol=0, max_iter=1e9)
        threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begin = time.perf_counter()
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            print("interrupted after", time.perf_counter() - begin, "with gap", model.certificate_.gap)
        """
    )
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, env=environment)
    assert "interrupted after" in done.stdout, done.stderr
    words = done.stdout.split()
    assert float(words[2]) < 30
    assert float(words[-1]) > 0
