"""Options of LIBLINEAR's programs, in its order: options, then files.

An option is a letter after a dash and its value is the next argument, so ``-c 4`` and never ``-c4``; only ``-wi`` has
the label of a class behind its letter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy

from fenchel.frontends.liblinear.kinds import KINDS
from fenchel.frontends.refusal import Refusal

#: called with the letter of an option, the rest of its word, and its value
_Put = Callable[[str, str, str], None]
_TRAIN_USAGE = """\
Usage: train [options] training_set_file [model_file]
options:
-s type : the problem (default 1)
   0 or 7   logistic regression, L2
   1 or 2   SVM with squared hinge, L2
   3        SVM with hinge, L2
   4        multi-class SVM of Crammer and Singer
   5        SVM with squared hinge, L1
   6        logistic regression, L1
  11 or 12  support vector regression, squared epsilon-insensitive loss, L2
  13        support vector regression, epsilon-insensitive loss, L2
  21        one-class SVM
-c cost : C (default 1)
-p epsilon : of the losses of regression (default 0.1)
-n nu : of the one-class SVM (default 0.5)
-e epsilon : tolerance (default 0.01 for -s 0, 2, 5, 6, 21, 0.0001 for -s 11, else 0.1); the proved relative
   duality gap is proportional to it: at the default 1e-5 for -s 0, 2, 21, 1e-6 for -s 11, else 1e-4
-B bias : if bias >= 0, a constant feature of this value (default -1)
-R : the bias is not regularized; with -B 1, for -s 0, 2, 5, 6, 11
-wi weight : C of class i is multiplied by weight
-v n : n-fold cross-validation
-C : search for C (-s 0, 2), or for C and p (-s 11)
-q : quiet
"""
_PREDICT_USAGE = """\
Usage: predict [options] test_file model_file output_file
options:
-b probability_estimates : 0 or 1 (default 0); 1 for logistic regression only
-q : quiet
"""


class TrainOptions:
    """What ``train`` was asked for; a plain class, because ``dataclasses`` takes longer to import than a prediction."""

    def __init__(self) -> None:
        self.kind = KINDS[1]
        self.C, self.p, self.nu = 1.0, 0.1, 0.5
        #: None: LIBLINEAR's own for the kind
        self.eps: float | None = None
        self.bias, self.frees_bias = -1.0, False
        #: of classes, as often as -wi was given
        self.weights: list[tuple[int, float]] = []
        #: None without cross-validation
        self.folds: int | None = None
        self.searches = self.quiet = False
        #: the letters of the options that were given
        self.given: set[str] = set()
        self.data = self.model = ""

    @property
    def tol(self) -> float:
        """The relative duality gap to prove."""
        return self.kind.default_tol * (1.0 if self.eps is None else self.eps / self.kind.default_eps)

    def quietly(self, C: float, p: float | None = None) -> TrainOptions:
        """The same without a report, and with other parameters."""
        found = copy(self)
        found.C, found.p, found.quiet = C, self.p if p is None else p, True
        return found


class PredictOptions:
    """What ``predict`` was asked for."""

    def __init__(self) -> None:
        self.probabilities = self.quiet = False
        self.data = self.model = self.output = ""


def train_options(arguments: Sequence[str]) -> TrainOptions:
    """The options of ``train``, checked as LIBLINEAR does, before any file is opened."""
    found = TrainOptions()
    files = _parse(arguments, "RCq", "scpneBwv", found.given, _TRAIN_USAGE, lambda *one: _set(found, *one))
    if not files:
        raise _help("", _TRAIN_USAGE)
    found.data = files[0]
    found.model = files[1] if len(files) > 1 else files[0].rpartition("/")[2] + ".model"
    if len(files) > 1 and files[1].startswith("-"):
        raise _help(f"ERROR: options come before the files, got {files[1]} after {files[0]}", _TRAIN_USAGE)
    if found.searches:
        found.folds = found.folds or 5
        if "s" not in found.given:
            found.kind = KINDS[2]
        elif found.kind.number not in (0, 2, 11):
            raise _help("Warm-start parameter search only available for -s 0, -s 2 and -s 11", _TRAIN_USAGE)
    _check(found)
    return found


def predict_options(arguments: Sequence[str]) -> PredictOptions:
    """The options of ``predict``."""
    found = PredictOptions()

    def put(letter: str, _: str, value: str) -> None:
        if letter == "q":
            found.quiet = True
        else:
            found.probabilities = _whole("-b", value) != 0

    files = _parse(arguments, "q", "b", set(), _PREDICT_USAGE, put)
    if len(files) < 3:
        raise _help("", _PREDICT_USAGE)
    found.data, found.model, found.output = files[:3]
    return found


def _check(options: TrainOptions) -> None:
    """End the program for parameters outside of their range, with LIBLINEAR's words where it has some."""
    eps = options.kind.default_eps if options.eps is None else options.eps
    numbers = {"eps": eps, "C": options.C, "p": options.p, "nu": options.nu, "bias": options.bias}
    for name, value in (*numbers.items(), *((f"the weight of class {label}", w) for label, w in options.weights)):
        if not math.isfinite(value):
            raise Refusal(1, f"ERROR: {name} must be a finite number, got {value}")
    wrong = None
    if eps <= 0:
        wrong = "eps <= 0"
    elif options.C <= 0:
        wrong = "C <= 0"
    elif options.p < 0 and options.kind.task == "regression":
        wrong = "p < 0"
    elif not 0 < options.nu < 1 and options.kind.task == "one-class":
        wrong = f"nu must be between 0 and 1, got {options.nu:g}"
    elif options.bias >= 0 and options.kind.task == "one-class":
        wrong = "prob->bias >=0, but this is ignored in ONECLASS_SVM"
    elif options.frees_bias and options.bias != 1.0:
        wrong = "To not regularize bias, must specify -B 1 along with -R"
    elif options.frees_bias and not options.kind.frees_bias:
        wrong = "-R option supported only for solver L2R_LR, L2R_L2LOSS_SVC, L1R_L2LOSS_SVC, L1R_LR, and L2R_L2LOSS_SVR"
    else:
        negative = [label for label, weight in options.weights if weight < 0]
        if negative:
            wrong = f"the weight of class {negative[0]} must not be negative"
    if wrong is not None:
        raise Refusal(1, f"ERROR: {wrong}")


def _parse(arguments: Sequence[str], flags: str, valued: str, given: set[str], usage: str, put: _Put) -> list[str]:
    """Call ``put`` with the letter, the rest of the word and the value of each option; return the other arguments."""
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        word = arguments[place]
        letter, rest = word[1:2], word[2:]
        place += 1
        if not letter or letter not in flags + valued:
            raise _help(f"unknown option: -{letter}", usage)
        if rest and letter != "w":
            advice = f"write -{letter} {rest}" if letter in valued else f"write -{letter}"
            raise _help(f"ERROR: {word}: an option is one letter, and its value the next argument; {advice}", usage)
        given.add(letter)
        if letter in flags:
            put(letter, rest, "")
            continue
        if place >= len(arguments):
            raise _help(f"ERROR: {word} must be followed by a value", usage)
        put(letter, rest, arguments[place])
        place += 1
    return list(arguments[place:])


def _set(found: TrainOptions, letter: str, rest: str, value: str) -> None:
    """Set one option of ``train``."""
    match letter:
        case "s":
            number = _whole("-s", value)
            if number not in KINDS:
                raise Refusal(1, "ERROR: unknown solver type")
            found.kind = KINDS[number]
        case "w":
            found.weights.append((_whole("-w", rest), _number(f"-w{rest}", value)))
        case "v":
            found.folds = _whole("-v", value)
            if found.folds < 2:
                raise _help("n-fold cross validation: n must >= 2", _TRAIN_USAGE)
        case "c":
            found.C = _number("-c", value)
        case "p":
            found.p = _number("-p", value)
        case "n":
            found.nu = _number("-n", value)
        case "e":
            found.eps = _number("-e", value)
        case "B":
            found.bias = _number("-B", value)
        case "R":
            found.frees_bias = True
        case "C":
            found.searches = True
        case "q":
            found.quiet = True


def _help(error: str, usage: str) -> Refusal:
    return Refusal(1, error, usage)


def _number(option: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise Refusal(1, f"ERROR: {option} must be followed by a number, got {value!r}") from None


def _whole(option: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        what = "the label of a class, as in -w1" if option == "-w" else "a whole number"
        raise Refusal(1, f"ERROR: {option} must be followed by {what}, got {value!r}") from None
