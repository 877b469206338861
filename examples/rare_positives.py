"""Rare positives: where the bound of F1 is trivial, and what the default does then.

    python examples/rare_positives.py            draws docs/rare-positives.png

Two classes of a synthetic set, 3% of positives, are moved apart; half of the examples train and half test.  Where they
overlap, no weights have a lower bound on F1 than w = 0, which the certificate proves, and the classifier predicts a
constant.  ``surrogate="auto"`` compares the bound on held-out folds with a plug-in: a cost-weighted logistic fit whose
threshold is chosen for F1.
"""

import warnings
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from fenchel import MeasureClassifier
from fenchel.risks import F1

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "rare-positives.png"
#: of ``make_classification``: how far the classes are apart
APART = (0.4, 0.7, 1.0, 1.3, 1.6, 2.0)
SEEDS = range(3)
METHODS = {
    'surrogate="auto", the default': lambda: MeasureClassifier("f1", tol=1e-2, random_state=0),
    'surrogate="bound"': lambda: MeasureClassifier("f1", surrogate="bound", tol=1e-2, random_state=0),
    "LogisticRegression, threshold 1/2": lambda: LogisticRegression(max_iter=1000),
}


def main() -> None:
    """Fit, print and draw."""
    mpl.use("Agg")
    warnings.simplefilter("ignore")  # of trivial bounds, which are the subject
    marks = {name: np.zeros((len(APART), len(SEEDS))) for name in METHODS}
    ratios, plugged = np.zeros((len(APART), len(SEEDS))), np.zeros((len(APART), len(SEEDS)))
    for at, apart in enumerate(APART):
        for seed in SEEDS:
            X, y = make_classification(
                4000, 20, n_informative=8, weights=[0.97], flip_y=0.005, class_sep=apart, random_state=seed
            )
            X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
            for name, make in METHODS.items():
                model = make().fit(X, y)
                marks[name][at, seed] = 100.0 * f1_score(y_test, model.predict(X_test))
                if name.startswith('surrogate="bound'):
                    at_zero = F1(np.where(y > 0, 1.0, -1.0)).constant_value
                    ratios[at, seed] = model.certificate_.primal / at_zero
                if name.startswith('surrogate="auto'):
                    plugged[at, seed] = model.surrogate_ == "plug_in"
        means = ", ".join(f"{name}: {marks[name][at].mean():.1f}" for name in METHODS)
        print(f"apart {apart}: F1 {means}; plug-in in {plugged[at].sum():.0f} of {len(SEEDS)}")
    draw(marks, ratios, plugged)


def draw(marks: dict[str, np.ndarray], ratios: np.ndarray, plugged: np.ndarray) -> None:
    """F1 on test data, and the objective of the bound relative to that of w = 0."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for (name, own), style in zip(marks.items(), ("o-", "s--", "^:"), strict=True):
        left.errorbar(APART, own.mean(axis=1), own.std(axis=1), fmt=style, capsize=3, label=name)
    left.set(xlabel="class_sep of make_classification", ylabel="F1 on test data, percent")
    left.set_title("3% positives: F1 on held-out examples")
    left.legend(loc="upper left")
    right.axhline(1.0, color="0.6", linewidth=1.0)
    right.plot(APART, ratios.mean(axis=1), "s--", color="C1", label="least objective of the bound / objective of w = 0")
    right.plot(APART, plugged.mean(axis=1), "o-", color="C0", label='share of fits in which "auto" took the plug-in')
    right.set(xlabel="class_sep of make_classification", ylim=(-0.05, 1.15))
    right.set_title("Where the bound is trivial")
    right.legend(loc="lower left")
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
