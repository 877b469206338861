"""Handwritten words: do neighbouring letters help to read a letter?

    python examples/letters.py                       train on each of the ten folds, test on the other nine
    python examples/letters.py --folds 2 --C 1

The OCR letters of Taskar, Guestrin and Koller (NIPS 2003): 6,877 words, of which each letter is 16 x 8 pixels.  Letters
are read one by one (``transitions="none"``) and as chains, by the max-margin loss and by the log-loss of a conditional
random field, all with the same C.  The words are read from the folder ``FENCHEL_DATA`` (default ../shared/data beside
the project).  The last column is the difference to independent letters with the same loss, with its standard error
over the folds; training folds are disjoint, test folds overlap.
"""

import argparse
import csv
import lzma
import os
from pathlib import Path

import numpy as np

from fenchel import SequenceClassifier

#: loss and transitions of each method
METHODS = {
    "independent letters, max-margin": ("hinge", "none"),
    "chains, max-margin (M3N)": ("hinge", "full"),
    "independent letters, log-loss": ("logistic", "none"),
    "chains, log-loss (CRF)": ("logistic", "full"),
}


def words() -> tuple[list[np.ndarray], list[list[str]], np.ndarray]:
    """The pixels of the letters of each word, the letters, and the fold of each word."""
    folder = Path(os.environ.get("FENCHEL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
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
    X, y, folds = words()
    errors: dict[str, list[float]] = {name: [] for name in METHODS}
    for fold in range(options.folds):
        train, test = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        for name, (loss, transitions) in METHODS.items():
            model = SequenceClassifier(
                loss, C=options.C, tol=options.tol, transitions=transitions, max_iter=5000, random_state=0
            )
            model.fit([X[q] for q in train], [y[q] for q in train])
            errors[name].append(100.0 - 100.0 * model.score([X[q] for q in test], [y[q] for q in test]))
            print(f"fold {fold}, {name}: {errors[name][-1]:.2f}% ({model.certificate_})", flush=True)
    print(f"\n{'method':34} wrong letters, %   difference to independent letters")
    for name, (loss, _) in METHODS.items():
        own = np.array(errors[name])
        alone = next(np.array(errors[other]) for other, pair in METHODS.items() if pair == (loss, "none"))
        apart, shown = own - alone, ""
        if np.any(apart) and len(apart) > 1:
            shown = f"{np.mean(apart):+.2f} ± {np.std(apart, ddof=1) / np.sqrt(len(apart)):.2f}"
        print(f"{name:34} {np.mean(own):.2f}              {shown}")


if __name__ == "__main__":
    main()
