"""LIBLINEAR's ``predict``: labels, values or probabilities of the rows of a file, and how good they are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fenchel.frontends.liblinear.model import Model, load_model
from fenchel.frontends.liblinear.options import PredictOptions
from fenchel.frontends.refusal import Refusal
from fenchel.frontends.rows import WrongLineError
from fenchel.frontends.scoring import scored
from fenchel.frontends.writing import check_target, writing


def predict(options: PredictOptions) -> int:
    """Run ``predict``; the exit status."""
    if not _readable(options.data):
        raise Refusal(1, f"can't open input file {options.data}")
    try:
        check_target(options.output, options.data, options.model)
    except OSError as error:
        raise Refusal(1, f"can't open output file {options.output}: {error}") from None
    model = load_model(options.model)
    if options.probabilities and not model.kind.has_probabilities:
        raise Refusal(1, "probability output is only supported for logistic regression")
    tally = _Tally(model)
    try:
        rows = scored(options.data, model.scores)
        with writing(options.output) as stream:
            if options.probabilities:
                stream.write(" ".join(map(str, ("labels", *(model.labels or [])))).encode("ascii") + b"\n")
            for label, scores in rows:
                found = predicted(model, scores)
                stream.write(_line(model, options, found, scores).encode("ascii"))
                tally.add(label, found)
    except WrongLineError as error:
        raise wrong_line(error) from None
    if not options.quiet:
        print(tally, end="")
    return 0


def wrong_line(error: WrongLineError) -> Refusal:
    """LIBLINEAR's end for a line that can't be read, with the reason after it."""
    return Refusal(1, f"Wrong input format at line {error.line}\n{error}")


def predicted(model: Model, scores: Sequence[float]) -> float:
    """The label or the value that the scores of a row mean."""
    if model.kind.task == "regression":
        return scores[0]
    if model.kind.task == "one-class":
        return 1 if scores[0] > 0 else -1
    assert model.labels is not None
    if model.classes == 2:
        # of the two scores of Crammer and Singer the first one is compared with zero as well
        return model.labels[0] if scores[0] > 0 else model.labels[1]
    best = 0
    for place in range(1, model.classes):
        if scores[place] > scores[best]:
            best = place
    return model.labels[best]


def probabilities(scores: Sequence[float], classes: int) -> list[float]:
    """The probability of each class; for more than two classes those of one-vs-rest, divided by their sum."""
    found = [_logistic(score) for score in scores]
    if classes == 2:
        return [found[0], 1.0 - found[0]]
    total = 0.0
    for one in found:
        total += one
    return [one / total if total else math.nan for one in found]


def _logistic(score: float) -> float:
    try:
        return 1.0 / (1.0 + math.exp(-score))
    except OverflowError:
        return 0.0


def _line(model: Model, options: PredictOptions, found: float, scores: Sequence[float]) -> str:
    if not options.probabilities:
        return f"{found:.17g}\n"
    return " ".join(f"{number:g}" for number in (found, *probabilities(scores, model.classes))) + "\n"


def _readable(path: str) -> bool:
    try:
        with open(path, "rb"):
            return True
    except OSError:
        return False


class _Tally:
    """How good the predictions are, with sums in the order of the rows, as LIBLINEAR has them."""

    def __init__(self, model: Model) -> None:
        self._regression = model.kind.task == "regression"
        self.total = self.correct = 0
        self.error = self.p = self.t = self.pp = self.tt = self.pt = 0.0

    def add(self, label: float, found: float) -> None:
        """Count one row."""
        self.total += 1
        self.correct += found == label
        if self._regression:
            self.error += (found - label) * (found - label)
            self.p += found
            self.t += label
            self.pp += found * found
            self.tt += label * label
            self.pt += found * label

    def __str__(self) -> str:
        n = self.total
        if not self._regression:
            share = self.correct / n * 100 if n else math.nan
            return f"Accuracy = {share:g}% ({self.correct}/{n})\n"
        return (
            f"Mean squared error = {_ratio(self.error, n):g} (regression)\n"
            f"Squared correlation coefficient = {squared_correlation(self):g} (regression)\n"
        )


def squared_correlation(sums: _Tally) -> float:
    """The squared correlation of labels and predictions."""
    n = sums.total
    covariance = n * sums.pt - sums.p * sums.t
    return _ratio(covariance * covariance, (n * sums.pp - sums.p * sums.p) * (n * sums.tt - sums.t * sums.t))


def _ratio(a: float, b: float) -> float:
    """a / b, and NaN or infinity for b = 0 as in C."""
    return a / b if b else math.nan if not a else math.copysign(math.inf, a)
