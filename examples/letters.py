"""Handwritten words: do neighbouring letters help to read a letter?

    python examples/letters.py                       train on each of the ten folds, test on the other nine
    python examples/letters.py --folds 1             the first fold alone; both draw docs/letters.png

The OCR letters of Taskar, Guestrin and Koller (NIPS 2003): 6,877 words, of which each letter is 16 x 8 pixels.  Letters
are read one by one (``transitions="none"``) and as chains, by the max-margin loss and by the log-loss of a conditional
random field, all with the same C.  The words are read from the folder ``FENCHEL_DATA`` (default ../shared/data beside
the project); without it the example says so and ends.  The last column is the difference to independent letters with
the same loss, with its standard error over the folds; training folds are disjoint, test folds overlap.  The picture has
test words that only the chain reads right, and the weights of pairs of letters, both of the first fold's max-margin
chain.
"""

import argparse
import csv
import lzma
import os
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from fenchel import SequenceClassifier, plot_transitions

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "letters.png"
#: the number of words in the picture, and the least number of letters of each
WORDS, LEAST_LETTERS = 6, 6
#: loss and transitions of each method
METHODS = {
    "independent letters, max-margin": ("hinge", "none"),
    "chains, max-margin (M3N)": ("hinge", "full"),
    "independent letters, log-loss": ("logistic", "none"),
    "chains, log-loss (CRF)": ("logistic", "full"),
}


def words() -> tuple[list[np.ndarray], list[list[str]], np.ndarray] | None:
    """The pixels of the letters of each word, the letters, and the fold of each word; None if there is no file."""
    folder = Path(os.environ.get("FENCHEL_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "ocr-letters.data.xz").is_file():
        return None
    with lzma.open(folder / "ocr-letters.data.xz", "rt") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    pixels = np.array([row[6:134] for row in rows], dtype=np.float64)
    # the letter after the last one of a word has the number -1
    ends = np.flatnonzero([row[2] == "-1" for row in rows]) + 1
    letters = np.split(np.array([row[1] for row in rows]), ends[:-1])
    folds = np.array([int(rows[end - 1][5]) for end in ends])
    return np.split(pixels, ends[:-1]), [one.tolist() for one in letters], folds


def main() -> None:
    """Print the share of wrong letters of each method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=10, help="training folds, at most 10")
    parser.add_argument("--C", type=float, default=0.1)
    parser.add_argument("--tol", type=float, default=1e-2)
    options = parser.parse_args()
    found = words()
    if found is None:
        print("skipped: ocr-letters.data.xz is not in the folder FENCHEL_DATA (default ../shared/data)")
        return
    X, y, folds = found
    errors: dict[str, list[float]] = {name: [] for name in METHODS}
    for fold in range(options.folds):
        train, test = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        models = {}
        for name, (loss, transitions) in METHODS.items():
            models[name] = model = SequenceClassifier(
                loss, C=options.C, tol=options.tol, transitions=transitions, max_iter=5000, random_state=0
            )
            model.fit([X[q] for q in train], [y[q] for q in train])
            errors[name].append(100.0 - 100.0 * model.score([X[q] for q in test], [y[q] for q in test]))
            print(f"fold {fold}, {name}: {errors[name][-1]:.2f}% ({model.certificate_})", flush=True)
        if fold == 0:
            alone, chain = (models[name] for name, (loss, _) in METHODS.items() if loss == "hinge")
            draw(alone, chain, [X[q] for q in test], [y[q] for q in test])
    print(f"\n{'method':34} wrong letters, %   difference to independent letters")
    for name, (loss, _) in METHODS.items():
        own = np.array(errors[name])
        alone = next(np.array(errors[other]) for other, pair in METHODS.items() if pair == (loss, "none"))
        apart, shown = own - alone, ""
        if np.any(apart) and len(apart) > 1:
            shown = f"{np.mean(apart):+.2f} ± {np.std(apart, ddof=1) / np.sqrt(len(apart)):.2f}"
        print(f"{name:34} {np.mean(own):.2f}              {shown}")


def draw(alone: SequenceClassifier, chain: SequenceClassifier, X: list[np.ndarray], y: list[list[str]]) -> None:
    """Words that the chain reads right and single letters do not, each once, and the transitions."""
    mpl.use("Agg")
    shown: dict[str, tuple[np.ndarray, Any]] = {}
    for pixels, letters, one, other in zip(X, y, alone.predict(X), chain.predict(X), strict=True):
        if len(letters) >= LEAST_LETTERS and other.tolist() == letters and one.tolist() != letters:
            shown.setdefault("".join(letters), (pixels, one))
    figure = plt.figure(figsize=(12.5, 6.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.0, 1.15))
    left.suptitle("Read right by the chain; below, by single letters")
    axes = left.subplots(WORDS, 1)
    longest = max([len(word) for word in list(shown)[:WORDS]], default=1)
    for ax, (word, (pixels, read)) in zip(axes, list(shown.items())[:WORDS], strict=False):
        # letters of 16 x 8 pixels side by side
        ax.imshow(np.hstack(pixels.reshape(-1, 16, 8)), cmap="gray_r", extent=(0, len(word), 0, 2), aspect="equal")
        for t, letter in enumerate(read):
            right_one = letter == word[t]
            ax.text(t + 0.5, -0.25, letter, ha="center", va="top", color="0.4" if right_one else "tab:red")
        ax.set(xlim=(0, longest), ylim=(-1.0, 2.0))
    for ax in axes:
        ax.axis("off")
    ax = plot_transitions(chain, ax=right.subplots())
    ax.set_title("Weights of pairs of letters")
    ax.set(xlabel="next letter", ylabel="letter")
    figure.savefig(PICTURE, dpi=110)
    print(f"drawn: {PICTURE.name}")


if __name__ == "__main__":
    main()
