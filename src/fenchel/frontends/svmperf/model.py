"""Model files of SVM-light with a linear kernel, as SVM-perf reads and writes them, without NumPy.

Eleven lines of a header, and a line for each support vector: its coefficient, and its features.  SVM-perf writes a
single vector, the weights, with the coefficient 1; the score of a row is its product with the weights less b.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from fenchel.frontends.refusal import Refusal
from fenchel.frontends.rows import WrongLineError, read_rows
from fenchel.frontends.scoring import LinearScores

#: of the format
_VERSION = "SVM-light Version V6.20"
#: the lines of the header after the version, with the values that a linear model has
_KERNEL = (
    "0 # kernel type",
    "3 # kernel parameter -d ",
    "1 # kernel parameter -g ",
    "1 # kernel parameter -s ",
    "1 # kernel parameter -r ",
    "empty# kernel parameter -u ",
)
#: the lines of the header
_HEADER = 11
#: the largest number of a feature
_LARGEST = 99_999_999


class PerfModel(NamedTuple):
    """A linear model."""

    weights: list[float]
    #: subtracted from the scores
    threshold: float
    #: rows of the training data
    rows: int

    @property
    def scores(self) -> LinearScores:
        """The scores of rows."""
        return LinearScores(self.weights, len(self.weights), [-self.threshold])

    def content(self) -> bytes:
        """The content of the file; numbers with all their digits, of which SVM-perf keeps those of a float."""
        header = [_VERSION, *_KERNEL, f"{len(self.weights)} # highest feature index "]
        header += [f"{self.rows} # number of training documents ", "2 # number of support vectors plus 1 "]
        header.append(f"{self.threshold:.17g} # threshold b, each following line is a SV (starting with alpha*y)")
        features = "".join(f"{place}:{weight:.17g} " for place, weight in enumerate(self.weights, start=1) if weight)
        return "\n".join((*header, f"1 {features}#", "")).encode("ascii")


def load_model(path: str) -> PerfModel:
    """The model of a file; one that can't be used ends the program."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise Refusal(1, f"{path}: {error.strerror}") from None
    lines = content.split(b"\n")
    if lines[0].strip() != _VERSION.encode():
        raise Refusal(1, f"{path}: Version of model-file does not match: its first line must be {_VERSION!r}")
    if len(lines) < _HEADER:
        raise Refusal(1, f"{path}: the header of the model file is cut off")
    if _whole(path, "kernel type", lines[1]) != 0:
        raise Refusal(1, f"ERROR: {path}: only models with the linear kernel (kernel type 0) are supported")
    highest = _whole(path, "highest feature index", lines[7])
    rows = _whole(path, "number of training documents", lines[8])
    vectors = _whole(path, "number of support vectors plus 1", lines[9]) - 1
    threshold = _number(path, "threshold b", lines[10])
    found = lines[_HEADER : _HEADER + vectors] if vectors >= 0 else []
    if vectors < 0 or len(found) < vectors:
        raise Refusal(1, f"Parsing error while reading model file in SV {len(found) + 1}!\n{path}: it is cut off")
    if not 0 <= highest <= _LARGEST:
        raise Refusal(1, f"{path}: the highest feature index must be between 0 and {_LARGEST}, got {highest}")
    try:
        parts = list(read_rows(found, svm_light=True))
    except WrongLineError as error:
        raise Refusal(1, f"Parsing error while reading model file in SV {error.line}!\n{path}: {error.why}") from None
    # features without a weight at the end need no memory
    weights = [0.0] * min(highest, max((row.features[-1] for row in parts if row.features), default=0))
    for row in parts:
        for feature, value in zip(row.features, row.values, strict=True):
            if feature <= highest:
                weights[feature - 1] += row.label * value
    return PerfModel(weights, threshold, rows)


def _whole(path: str, what: str, line: bytes) -> int:
    try:
        return int(line.partition(b"#")[0])
    except ValueError:
        raise _unreadable(path, what, line) from None


def _number(path: str, what: str, line: bytes) -> float:
    try:
        return float(line.partition(b"#")[0])
    except ValueError:
        raise _unreadable(path, what, line) from None


def _unreadable(path: str, what: str, line: bytes) -> Refusal:
    return Refusal(1, f"{path}: the {what} must be a number, got {line[:40].decode('ascii', 'replace')!r}")
