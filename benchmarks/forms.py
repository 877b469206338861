"""Which form of several classes: test accuracy and seconds of a fit, for every ``multi_class``, proved to 1e-3.

    python benchmarks/forms.py --update-readme       (about half an hour)
    python benchmarks/forms.py --data dna satimage   some of the sets

The C of each form is chosen on a fifth of the training part; then it is fitted to all of it.  Seconds are of that last
fit, with intercepts and certificates, one thread, compiled code warm, median of three.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/forms.py`

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.classes import NAMES, Split, load_split
from benchmarks.report import RESULTS, markdown_table, update_readme, write_json

#: multi_class and the loss that goes with it
FORMS = (
    ("ovr", "hinge"),
    ("ovr", "logistic"),
    ("ovo", "hinge"),
    ("weston_watkins", "hinge"),
    ("crammer_singer", "hinge"),
    ("multinomial", "logistic"),
)
_CS = (0.01, 0.1, 1.0, 10.0)
_ROUNDS = 3
#: pairs of more classes than this are left out
_MOST_PAIRED = 30


def main() -> None:
    """Measure every form on every set and report accuracy and time side by side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=(*NAMES, "clouds"), default=list(NAMES))
    parser.add_argument("--cap", type=float, default=120.0, help="seconds that one fit may take")
    parser.add_argument("--update-readme", action="store_true", help="write the section in benchmarks/README.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of fits that the cap ends; they are marked
    cells = []
    for name in options.data:
        data = load_split(name)
        for form, loss in FORMS:
            if form == "ovo" and data.count > _MOST_PAIRED:
                continue
            cells.append(measure(data, form, loss, options.cap))
            print(cells[-1], flush=True)
    text = markdown(cells)
    print(text)
    write_json(RESULTS / "forms.json", {"cells": cells})
    if options.update_readme:
        update_readme("forms", text)


def measure(data: Split, form: str, loss: str, cap: float) -> dict[str, Any]:
    """Choose C, and then fit with it."""
    from fenchel import LinearClassifier

    def fitted(C: float, X: Any, y: np.ndarray) -> Any:
        return LinearClassifier(loss, C=C, multi_class=form, random_state=0, time_limit=cap).fit(X, y)

    chosen = train_test_split(data.matrix, data.classes, test_size=0.2, random_state=0, stratify=data.classes)
    train, held, train_classes, held_classes = chosen
    scores = {C: fitted(C, train, train_classes).score(held, held_classes) for C in _CS}
    C = max(_CS, key=lambda C: (scores[C], -C))
    seconds = []
    for _ in range(_ROUNDS):
        begin = time.perf_counter()
        model = fitted(C, data.matrix, data.classes)
        seconds.append(time.perf_counter() - begin)
    return {
        "data": data.name,
        "about": data.description,
        "form": form,
        "loss": loss,
        "C": C,
        "accuracy": 100.0 * model.score(data.test_matrix, data.test_classes),
        "seconds": seconds,
        "gap": float(model.certificate_.relative_gap),
        "converged": bool(model.converged_),
    }


def markdown(cells: list[dict[str, Any]]) -> str:
    """A table of the sets by the forms, and the mean rank of each form."""
    names = [f"{form}, {loss}" for form, loss in FORMS]
    rows, ranks = [], {name: [] for name in names}
    for data in dict.fromkeys(cell["data"] for cell in cells):
        found = {f"{cell['form']}, {cell['loss']}": cell for cell in cells if cell["data"] == data}
        best = sorted(-cell["accuracy"] for cell in found.values())
        for name, cell in found.items():
            ranks[name].append(1 + best.index(-cell["accuracy"]))
        about = next(iter(found.values()))["about"]
        rows.append([f"{data} ({about})", *(_cell(found.get(name)) for name in names)])
    mean = ["mean rank of the accuracy", *(f"{np.mean(ranks[name]):.1f}" if ranks[name] else "–" for name in names)]
    return markdown_table(["data set", *names], [*rows, mean])


def _cell(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return "–"
    seconds = statistics.median(cell["seconds"])
    text = f"{cell['accuracy']:.2f} % (C = {cell['C']:g}), {seconds:.3g} s"
    return text if cell["converged"] else f"{text}, gap {cell['gap']:.1e}"


if __name__ == "__main__":
    main()
