"""Phrases of sentences: what the labels of neighbouring words are worth, and what a chain learns about them.

    python examples/chunking.py                       draws docs/chunking.png
    python examples/chunking.py --sentences 2000

CoNLL-2000: words with part-of-speech tags, to be divided into noun phrases, verb phrases and others.  Training
sentences are read from the folder ``FENCHEL_DATA`` (default ../shared/data beside the project); without it the example
says so and ends.  The picture has the F1 of whole phrases on 500 test sentences for three classifiers with the same C,
and the weights of pairs of labels of the largest conditional random field.
"""

import argparse
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

from fenchel import SequenceClassifier, plot_transitions
from fenchel.metrics import phrase_f1_score

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "chunking.png"
TEST_SENTENCES = 500
#: loss and transitions of each classifier
CLASSIFIERS = {
    "independent tokens, log-loss": ("logistic", "none"),
    "chains, log-loss (CRF)": ("logistic", "full"),
    "chains, max-margin (M3N)": ("hinge", "full"),
}

Sentence = list[list[str]]


def read(part: str) -> list[Sentence] | None:
    """The sentences of a part, each a list of (word, tag, label); None if there is no file."""
    folder = Path(os.environ.get("FENCHEL_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "conll2000.zip").is_file():
        return None
    with zipfile.ZipFile(folder / "conll2000.zip") as archive:
        text = archive.read(f"conll2000/{part}.txt").decode()
    return [[line.split() for line in block.split("\n")] for block in text.strip().split("\n\n")]


def features(sentence: Sentence) -> Iterator[list[str]]:
    """The features of each token: words and tags from two before to two after it, pairs of them, and the suffix."""
    for t in range(len(sentence)):
        word, tag = sentence[t][:2]
        found = [f"suffix {word[-3:]}"]
        for offset in range(-2, 3):
            if 0 <= t + offset < len(sentence):
                other, other_tag = sentence[t + offset][:2]
                found += [f"word {offset:+} {other}", f"tag {offset:+} {other_tag}"]
                if abs(offset) == 1:
                    found += [f"words {offset:+} {word}|{other}", f"tags {offset:+} {tag}|{other_tag}"]
        yield found


def pairs(sentences: list[Sentence]) -> tuple[list[Any], list[Any]]:
    """Features and labels."""
    return [list(features(one)) for one in sentences], [[token[2] for token in one] for one in sentences]


def main() -> None:
    """Fit, print what was learned, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=1000, help="of the largest training set")
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--tol", type=float, default=1e-2)
    options = parser.parse_args()
    train, test = read("train"), read("test")
    if train is None or test is None:
        print("skipped: conll2000.zip is not in the folder FENCHEL_DATA (default ../shared/data)")
        return
    X_test, y_test = pairs(test[:TEST_SENTENCES])
    sizes = [max(1, options.sentences // share) for share in (10, 3, 1)]
    found: dict[str, list[float]] = {name: [] for name in CLASSIFIERS}
    models: dict[str, SequenceClassifier] = {}
    for size in sizes:
        X, y = pairs(train[:size])
        for name, (loss, transitions) in CLASSIFIERS.items():
            model = SequenceClassifier(loss, C=options.C, tol=options.tol, transitions=transitions, random_state=0)
            models[name] = model.fit(X, y)
            found[name].append(100.0 * phrase_f1_score(y_test, model.predict(X_test)))
            print(f"{size} sentences, {name}: phrase F1 {found[name][-1]:.2f}% ({model.certificate_})", flush=True)
    chain = models["chains, log-loss (CRF)"]
    print(chain.summary())
    draw(sizes, found, chain)


def draw(sizes: list[int], found: dict[str, list[float]], chain: SequenceClassifier) -> None:
    """F1 against the number of sentences, and the transitions."""
    mpl.use("Agg")
    figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 5.6), width_ratios=(1.0, 1.35), layout="constrained")
    for name, values in found.items():
        left.semilogx(sizes, values, marker="o", label=name)
    left.set(title="Phrases of 500 test sentences", xlabel="training sentences", ylabel="F1, %")
    left.set_xticks(sizes, [f"{size:,}" for size in sizes])
    left.minorticks_off()
    left.grid(alpha=0.3)
    left.legend()
    plot_transitions(chain, ax=right)
    right.set_title(f"Weights of pairs of labels, CRF of {sizes[-1]:,} sentences")
    figure.savefig(PICTURE, dpi=110)
    print(f"drawn: {PICTURE.name}")


if __name__ == "__main__":
    main()
