"""Topics of news: several labels for each document, trained apart, for F1 and together.

    python examples/topics.py            draws docs/topics.png

The ten most frequent topics of Reuters-21578 (ModApte split), read from the folder ``FENCHEL_DATA`` (default
../shared/data beside the project).  Every second document of the training part trains, and all of the test part tests.
Term counts are turned into tf-idf with rows of unit length.
"""

import lzma
import os
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import f1_score
from sklearn.preprocessing import MultiLabelBinarizer

from fenchel import GapWarning, MultilabelClassifier

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "topics.png"
TOPICS = 10
METHODS = {
    "one hinge a topic": MultilabelClassifier(tol=1e-2, random_state=0),
    'measure="f1", plug-in': MultilabelClassifier(measure="f1", surrogate="plug_in", C=10.0, tol=1e-2, random_state=0),
    'form="joint"': MultilabelClassifier(form="joint", tol=5e-2, max_iter=300, random_state=0),
}


def folder() -> Path:
    """The folder with the data."""
    return Path(os.environ.get("FENCHEL_DATA", ROOT.parent / "shared" / "data"))


def read(name: str, columns: int | None) -> tuple[Any, list[tuple[float, ...]]]:
    """Term counts and the numbers of the topics of each document."""
    with lzma.open(folder() / f"{name}.svm.xz") as text:
        X, topics = load_svmlight_file(text, n_features=columns, multilabel=True)
    return X, topics


def main() -> None:
    """Fit, print the proofs, and draw."""
    mpl.use("Agg")
    try:
        counts, numbers = read("reuters21578", None)
        counts_test, numbers_test = read("reuters21578.t", counts.shape[1])
    except FileNotFoundError as error:
        print(f"skipped: {Path(error.filename).name} is not in the folder FENCHEL_DATA (default ../shared/data)")
        return
    binarizer = MultiLabelBinarizer().fit([*numbers, *numbers_test])
    Y, Y_test = binarizer.transform(numbers), binarizer.transform(numbers_test)
    kept = np.argsort(-Y.sum(axis=0), kind="stable")[:TOPICS]
    lines = (folder() / "reuters21578.topics.txt").read_text(encoding="utf-8").splitlines()
    names = dict(line.split("\t")[:2] for line in lines if not line.startswith("#"))
    shown = [names[str(int(binarizer.classes_[k]))] for k in kept]
    Y, Y_test, half = Y[::2, kept], Y_test[:, kept], counts[::2]
    transformer = TfidfTransformer(sublinear_tf=True).fit(half)
    X, X_test = transformer.transform(half), transformer.transform(counts_test)
    found = {}
    for name, model in METHODS.items():
        with warnings.catch_warnings():
            # of fits that end before they prove tol
            warnings.simplefilter("ignore", GapWarning)
            predicted = model.fit(X, Y).predict(X_test)
        found[name] = 100.0 * f1_score(Y_test, predicted, average=None)
        micro = 100.0 * f1_score(Y_test, predicted, average="micro")
        print(f"{name}: macro F1 {found[name].mean():.1f}, micro F1 {micro:.1f}; {model.certificate_}")
    draw(shown, Y, found)


def draw(topics: list[str], Y: np.ndarray, found: dict[str, np.ndarray]) -> None:
    """F1 of each topic, and how many topics occur together."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(12, 4.4), layout="constrained", gridspec_kw={"width_ratios": (1.7, 1.0)}
    )
    places, width = np.arange(len(topics)), 0.8 / len(found)
    for at, (name, own) in enumerate(found.items()):
        left.bar(places + (at - 0.5 * (len(found) - 1)) * width, own, width, label=f"{name} (mean {own.mean():.1f})")
    left.set_xticks(places, [f"{name}\n{count}" for name, count in zip(topics, Y.sum(axis=0), strict=True)])
    left.set(ylabel="F1 on the test part, percent", ylim=(0.0, 119.0), title="F1 of each topic")
    left.set_xlabel("topic, and its documents in the training half")
    left.legend(loc="upper right")
    both = (Y.T @ Y) / Y.sum(axis=0)[:, None]
    image = right.imshow(100.0 * both, cmap="Blues", vmin=0.0, vmax=100.0)
    right.set_xticks(places, topics, rotation=90)
    right.set_yticks(places, topics)
    right.set_title("Together, percent of the row's documents")
    figure.colorbar(image, ax=right)
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
