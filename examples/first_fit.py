"""Train a certified classifier on real data and look at its proof: what ``make run`` shows."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fenchel import LinearClassifier, plot_convergence

OUT = Path(__file__).resolve().parent.parent / "out"


def main() -> None:
    """Fit, say what is proved, and save the picture."""
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


if __name__ == "__main__":
    main()
