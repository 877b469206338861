"""Train beside scikit-learn's class on real data, and look at the proof: what ``make run`` shows."""

import time
import warnings
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.ticker import ScalarFormatter
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from threadpoolctl import threadpool_limits

from fenchel import LinearClassifier, certify

OUT = Path(__file__).resolve().parent.parent / "out"
#: of scikit-learn, from loose to tight; 1e-4 is its default
TOLERANCES = [1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6]
#: relative gaps below this are rounding errors of float64
ROUNDING = 1e-15


def timed(estimator, X, y, rounds=20):
    """The least processor milliseconds of some fits, after one that may compile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X, y)
        times = []
        for _ in range(rounds):
            began = time.process_time()
            estimator.fit(X, y)
            times.append(1000 * (time.process_time() - began))
    return min(times)


def held_out(estimator, X, y):
    """The prediction for each example by a model that was fitted to nine tenths of the others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return cross_val_predict(estimator, X, y, cv=StratifiedKFold(10, shuffle=True, random_state=0))


def line(name, accuracy, milliseconds, certificate):
    """One line of the table."""
    gap = max(0.0, certificate.upper - certificate.lower) / certificate.lower
    above = f"{100 * gap:.2g}%" if gap < 1 else f"{1 + gap:.2g} times"
    print(f"  {name:<34}{100 * accuracy:>9.1f}%{milliseconds:>16.1f}{above:>26}")


def main() -> None:
    """Fit both libraries, say what is proved, and save the picture."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X / X.max(axis=0)
    print(f"{len(y)} tumours with {X.shape[1]} measurements (Wisconsin breast cancer), held out in ten folds.")
    print("Logistic regression, C = 100, one thread; both libraries minimize the same objective.\n")
    # compiles the loops, which prints a line, before the table
    LinearClassifier("logistic", C=100.0, random_state=0).fit(X, y)
    print(f"  {'':<34}{'held out':>10}{'processor ms':>16}{'proved above optimum':>26}")

    OUT.mkdir(exist_ok=True)
    figure, axes = pyplot.subplots(figsize=(7.5, 4.5), layout="constrained")
    found, predicted = [], []
    for tol in TOLERANCES:
        peer = LogisticRegression(C=100.0, tol=tol)
        milliseconds = timed(peer, X, y)
        judged = certify(peer, X, y).certificate
        found.append((milliseconds, max(judged.relative_gap, ROUNDING)))
        if tol == 1e-4:
            predicted.append(held_out(peer, X, y))
            axes.annotate("default", found[-1], xytext=(6, 6), textcoords="offset points")
            line("scikit-learn, default tol", np.mean(predicted[-1] == y), milliseconds, judged)
    axes.loglog(*zip(*found, strict=True), "o--", color="#e9a03b", label="scikit-learn, tol = 1 to 1e-6")
    own = []
    for tol in (1e-1, 1e-2, 1e-3, 1e-6, 1e-9):
        model = LinearClassifier("logistic", C=100.0, tol=tol, random_state=0)
        milliseconds = timed(model, X, y)
        own.append((milliseconds, max(model.certificate_.relative_gap, ROUNDING)))
        if tol == 1e-3:
            predicted.append(held_out(model, X, y))
            axes.annotate("default", own[-1], xytext=(8, 0), textcoords="offset points")
            line("Fenchel, default tol", np.mean(predicted[-1] == y), milliseconds, model.certificate_)
            certificate = model.certificate_
    axes.loglog(*zip(*own, strict=True), "s-", color="#1b6ca8", label="Fenchel, tol = 0.1 to 1e-9")
    print(f"\nFenchel's certificate: {certificate}")
    differ = np.sum(predicted[0] != predicted[1])
    print(f"Held out, the two classifiers differ on {differ} of {len(y)} tumours: accuracy is settled at such gaps.")
    axes.axhspan(ROUNDING / 10, ROUNDING, color="0.5", alpha=0.25, linewidth=0, label="rounding errors of float64")
    axes.set_ylim(bottom=ROUNDING / 4)
    axes.set(xlabel="processor milliseconds of a fit", ylabel="relative gap to the optimum, proved")
    axes.set_title("Every point is a proof: how far is the model from the best one?")
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(ScalarFormatter())
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(OUT / "proofs.png", dpi=150)
    print("All tolerances of both libraries in one picture: out/proofs.png")


if __name__ == "__main__":
    # one thread each, so that processor times can be compared
    with threadpool_limits(1):
        main()
