"""LIBLINEAR's model files, read and written without NumPy.

::

    solver_type L2R_LR
    nr_class 2
    label 1 -1
    nr_feature 13
    bias -1
    w
    0.29463812 ...

One line of ``w`` for each feature, and one for the bias if it is not negative, with a number for each class (one number
for two classes, for regression and for one-class models).  LIBLINEAR refuses files with other keys.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from fenchel.frontends.liblinear.kinds import NAMED_KINDS, Kind
from fenchel.frontends.refusal import Refusal
from fenchel.frontends.scoring import LinearScores

#: characters of a word that an error shows
_SHOWN = 80
#: lines of weights that are formatted at a time, whose text stays in the cache
_LINES = 1000
#: features and classes are counted with 32 bits
_LARGEST = 2**31 - 1


class Model(NamedTuple):
    """A linear model."""

    kind: Kind
    #: 2 for regression and one-class models
    classes: int
    #: of each class; None for regression and one-class models
    labels: list[int] | None
    #: without the bias
    features: int
    #: the value of a constant feature after the others; negative for none
    bias: float
    #: those of the first feature first
    weights: list[float]
    #: the threshold of a one-class model
    rho: float = 0.0

    @property
    def outputs(self) -> int:
        """The number of weights of each feature."""
        return 1 if self.classes == 2 and not self.kind.joint else self.classes

    @property
    def rows(self) -> int:
        """The number of features and of the bias."""
        return self.features + (self.bias >= 0)

    @property
    def scores(self) -> LinearScores:
        """The scores of rows; the constant feature is the last one."""
        if self.bias >= 0:
            offsets = [weight * self.bias for weight in self.weights[-self.outputs :]]
        else:
            offsets = [-self.rho] * self.outputs
        return LinearScores(self.weights, self.features, offsets)

    def content(self) -> bytes:
        """The content of the file."""
        header = [f"solver_type {self.kind.name}", f"nr_class {self.classes}"]
        if self.labels is not None:
            header.append(" ".join(map(str, ("label", *self.labels))))
        header += [f"nr_feature {self.features}", f"bias {self.bias:.17g}"]
        if self.kind.task == "one-class":
            header.append(f"rho {self.rho:.17g}")
        k = self.outputs
        # one format for many lines takes half of the time of one for each
        line, step = "%.17g " * k + "\n", k * _LINES
        blocks = (self.weights[place : place + step] for place in range(0, len(self.weights), step))
        rows = "".join([line * (len(block) // k) % tuple(block) for block in blocks])
        return "\n".join((*header, "w", rows)).encode("ascii")


def load_model(path: str) -> Model:
    """The model of a file; a file that can't be read ends the program as LIBLINEAR does."""
    ending = f"can't open model file {path}"
    try:
        content = Path(path).read_bytes()
    except OSError:
        raise Refusal(1, ending) from None
    try:
        return _parsed(content)
    except ValueError as error:
        raise Refusal(1, f"{error}\n{ending}") from None


def _parsed(content: bytes) -> Model:
    """The model; raise ValueError with LIBLINEAR's line, if it has one, or with a reason."""
    # bytes are separated by what C calls space, texts by the separators of Unicode too
    words = content.split()
    found: dict[str, str] = {}
    labels: list[int] | None = None
    place = 0
    while True:
        key = _word(words, place)
        if key == "w":
            break
        if key == "label":
            count = _count(found, "nr_class")
            labels = [_whole(key, _word(words, place + 1 + k)) for k in range(min(count, len(words)))]
            place += 1 + count
        elif key in ("solver_type", "nr_class", "nr_feature", "bias", "rho"):
            found[key] = _word(words, place + 1)
            place += 2
        else:
            raise ValueError(f"unknown text in model file: [{key[:_SHOWN]}]")
    for key in ("solver_type", "nr_class", "nr_feature", "bias"):
        if key not in found:
            raise ValueError(f"ERROR: the model file has no {key}")
    if found["solver_type"] not in NAMED_KINDS:
        raise ValueError("unknown solver type.")
    kind = NAMED_KINDS[found["solver_type"]]
    bias, rho = _number("bias", found["bias"]), _number("rho", found.get("rho", "0"))
    rho = rho if kind.task == "one-class" else 0.0
    model = Model(kind, _count(found, "nr_class"), labels, _count(found, "nr_feature"), bias, [], rho)
    _check(model)
    expected, given = model.rows * model.outputs, len(words) - place - 1
    if given < expected:
        raise ValueError("ERROR: fscanf failed to read the model")
    if given > expected:
        raise ValueError(f"ERROR: the model file has {given} weights, and its header says {expected}")
    try:
        return model._replace(weights=list(map(float, words[place + 1 :])))
    except ValueError:
        raise ValueError("ERROR: fscanf failed to read the model") from None


def _check(model: Model) -> None:
    """Raise ValueError for a header that contradicts itself."""
    if model.classes < 1:
        raise ValueError(f"ERROR: nr_class must be at least 1, got {model.classes}")
    if model.kind.task == "classification" and model.labels is None:
        raise ValueError("ERROR: the model file has no label")
    if model.kind.task != "classification" and model.classes != 2:
        raise ValueError(f"ERROR: nr_class must be 2 for {model.kind.name}, got {model.classes}")


def _word(words: list[bytes], place: int) -> str:
    if place >= len(words):
        raise ValueError("ERROR: fscanf failed to read the model")
    return words[place].decode("ascii", "replace")


def _count(found: dict[str, str], key: str) -> int:
    if key not in found:
        raise ValueError(f"ERROR: the model file has no {key} before its labels")
    count = _whole(key, found[key])
    if count < 0:
        raise ValueError(f"ERROR: {key} must not be negative, got {count}")
    return count


def _whole(key: str, word: str) -> int:
    try:
        found = int(word)
    except ValueError:
        found = _LARGEST + 1
    if abs(found) > _LARGEST:
        raise ValueError(f"ERROR: {key} must be a whole number of 32 bits, got {word[:_SHOWN]!r}")
    return found


def _number(key: str, word: str) -> float:
    try:
        found = float(word)
    except ValueError:
        found = math.nan
    if math.isnan(found):
        raise ValueError(f"ERROR: {key} must be a number, got {word[:_SHOWN]!r}")
    return found
