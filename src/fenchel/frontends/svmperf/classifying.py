"""``svm_perf_classify``: a score for each row, and the quality of their signs and of their order."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from fenchel.frontends.refusal import Refusal
from fenchel.frontends.rows import WrongLineError
from fenchel.frontends.scoring import scored
from fenchel.frontends.svmperf.model import load_model
from fenchel.frontends.svmperf.options import ClassifyOptions
from fenchel.frontends.writing import check_target, writing


def classify(options: ClassifyOptions) -> int:
    """Run ``svm_perf_classify``; the exit status."""
    speaks = options.verbosity >= 1
    model = load_model(options.model)
    try:
        check_target(options.output, options.data, options.model)
    except OSError as error:
        raise Refusal(1, f"{options.output}: {error.strerror or error}") from None
    begin = time.process_time()
    try:
        found = [(label, scores[0]) for label, scores in scored(options.data, model.scores, svm_light=True)]
    except OSError as error:
        raise Refusal(1, f"{options.data}: {error.strerror or error}") from None
    except WrongLineError as error:
        raise Refusal(1, f"Parsing error in line {error.line}!\n{options.data}: {error.why}") from None
    if not found:
        raise Refusal(1, f"{options.data}: holds no examples")
    with writing(options.output) as stream:
        stream.write("".join(f"{score:.8f}\n" for _, score in found).encode("ascii"))
    quality = qualities([label > 0 for label, _ in found], [score for _, score in found])
    if speaks:
        print("Reading model...done.\nReading test examples...done.\nClassifying test examples...done")
        print(f"Runtime (without IO) in cpu-seconds: {time.process_time() - begin:.2f}")
        wrong = 0 if quality["Accuracy"] == 100.0 else 1
        print(f"Average loss on test set: {100.0 - quality['Accuracy']:.4f}")
        print(
            f"Zero/one-error on test set: {100.0 * wrong:.2f}% ({1 - wrong} correct, {wrong} incorrect, 1 total)\n"
            "NOTE: the loss above is the percentage of errors, and the zero/one-error is that of all\n"
            "      examples together."
        )
    print("\n".join(f"{name:9}: {value:5.2f}" for name, value in quality.items()))
    return 0


def qualities(positive: Sequence[bool], scores: Sequence[float]) -> dict[str, float]:
    """The measures that SVM-perf prints, in percent; examples with equal scores are in the worst order.

    Parameters
    ----------
    positive : sequence of bool
        Whether each example is positive.
    scores : sequence of float
        Their scores; those above 0 are predicted positive.

    Returns
    -------
    dict of str to float
        Accuracy, Precision, Recall, F1, PRBEP, ROCArea and AvgPrec.
    """
    n, n_pos = len(scores), sum(positive)
    predicted = [score > 0 for score in scores]
    right = sum(truth and guess for truth, guess in zip(positive, predicted, strict=True))
    errors = n_pos + sum(predicted) - 2 * right
    # the negatives first among equals
    order = sorted(range(n), key=lambda place: (-scores[place], positive[place]))
    swapped, above, hits, precisions = 0, 0, 0, 0.0
    for place in order:
        if positive[place]:
            swapped += above
            hits += 1
            precisions += hits / (hits + above)
        else:
            above += 1
    at_break_even = sum(positive[place] for place in order[:n_pos])
    return {
        "Accuracy": 100.0 - 100.0 * _share(errors, n),
        "Precision": 100.0 * _share(right, sum(predicted)),
        "Recall": 100.0 * _share(right, n_pos),
        "F1": 100.0 * _share(2 * right, n_pos + sum(predicted)),
        "PRBEP": 100.0 * _share(at_break_even, n_pos),
        "ROCArea": 100.0 - 100.0 * swapped / (n_pos * (n - n_pos)) if 0 < n_pos < n else math.nan,
        "AvgPrec": 100.0 * precisions / n_pos if n_pos else math.nan,
    }


def _share(part: int, whole: int) -> float:
    """part / whole; 0 / 0 is 0."""
    return part / whole if whole else 0.0
