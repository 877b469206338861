"""Train a certified classifier on real data and look at its proof: what ``make run`` shows."""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fenchel import LinearClassifier, plot_convergence, plot_path, regularization_path

OUT = Path(__file__).resolve().parent.parent / "out"


def main() -> None:
    """Fit, say what is proved, and save the pictures."""
    data = load_breast_cancer()
    X_train, X_test, y_train, y_test = train_test_split(data.data, data.target, test_size=0.3, random_state=0)
    classifier = LinearClassifier(loss="hinge", C=1.0, tol=1e-6, random_state=0)
    model = make_pipeline(StandardScaler(), classifier).fit(X_train, y_train)

    print(
        f"Trained a linear support vector machine (hinge loss, C = 1, free intercept) on {len(y_train)} tumours with "
        f"{X_train.shape[1]} measurements each (Wisconsin breast cancer data)."
    )
    print(f"Held-out accuracy: {100 * model.score(X_test, y_test):.1f}% of {len(y_test)} tumours.")
    print(f"Certificate: {classifier.certificate_}")

    OUT.mkdir(exist_ok=True)
    axes = plot_convergence(classifier, against="passes")
    axes.set_title("Every point is a proof: the model is at most this far from the best one")
    axes.figure.savefig(OUT / "convergence.png", dpi=150)
    print("The proof on the way, as a picture: out/convergence.png")

    # a sparse logistic regression for every C from 0.0001 to 100, each within 1% of its optimum
    X = StandardScaler().fit_transform(data.data)
    options = {"loss": "logistic", "l1_ratio": 0.5, "accuracy": 0.01, "random_state": 0}
    path = regularization_path(X, data.target, (1e-4, 1e2), **options)
    weights, _, certificate = path.at(0.3)
    print(f"{len(path)} points prove a path of elastic nets for every C from 0.0001 to 100: out/path.png")
    print(f"For C = 0.3, say: {np.count_nonzero(weights)} of {len(weights)} measurements are used. {certificate}")
    plot_path(path)[0].figure.savefig(OUT / "path.png", dpi=110)


if __name__ == "__main__":
    main()
