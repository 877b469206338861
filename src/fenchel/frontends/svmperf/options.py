"""Options of SVM-perf's programs.

The original ends with status 0 if options are wrong, and so do these; status 1 is for files that can't be used and for
what is refused here (kernels, slack rescaling, squared slacks).
"""

from __future__ import annotations

from collections.abc import Sequence

from fenchel.frontends.refusal import Refusal

_LEARN_USAGE = """\
usage: svm_perf_learn [options] example_file model_file
  -c float  C (required, > 0); C of an SVM with one slack per example is 100 C / n
  -l int    loss (default 2): 0 zero/one, 1 F1, 2 error rate, 3 precision/recall breakeven, 4 precision@k,
            5 recall@k, 10 ROC area; of quantification 12 KLD, 13 NKLD, 20 GM, 21 NAE, 22 Q, 23 Q (accuracy),
            24 Q (F1), 25 Q (GM), 26 absolute error, 27 relative absolute error
  -e float  bound on the error of the slack, in percent (default 0.1)
  -j float  beta of the losses 22 to 25 (default 1)
  --p float k of the losses 4 and 5, as a multiple of the positives (default 0.5 and 2)
  --b float value of a constant feature, whose weight is regularized; 0 for none (default 1)
  -v int    0 is quiet (default 1)
Accepted without effect: -w, -y, -k, -f, -b, -n, -q, -m, -h, -#, -a, --s, --i, --k, --r, --f, and -d, -g, -s, -r, -u.
Only linear models are trained: -t 0, -o 2, -p 1, --t 0.
"""
_CLASSIFY_USAGE = """\
usage: svm_perf_classify [options] example_file model_file output_file
  -v int    0 is quiet (default 1)
Accepted without effect: -y, --d.
"""
#: options of the original that have a value and change nothing here
_IGNORED = "yakfbnqmh#dgsru"
#: options of algorithms, after two dashes
_IGNORED_LONG = "sikrf"
_ALGORITHMS = (0, 1, 2, 3, 4, 5, 9)


class LearnOptions:
    """What ``svm_perf_learn`` was asked for."""

    def __init__(self) -> None:
        self.C = -1.0
        self.loss, self.epsilon, self.beta = 2, 0.1, 1.0
        #: of the positives, for k
        self.fraction = 0.0
        self.bias = 1.0
        self.verbosity = 1
        self.data, self.model = "", "svm_struct_model"


class ClassifyOptions:
    """What ``svm_perf_classify`` was asked for."""

    def __init__(self) -> None:
        self.verbosity = 1
        self.data, self.model, self.output = "", "", "svm_predictions"


def learn_options(arguments: Sequence[str]) -> LearnOptions:
    """The options of ``svm_perf_learn``, checked before any file is opened."""
    found = LearnOptions()
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        word = arguments[place]
        if word == "-?":
            raise Refusal(0, output=_LEARN_USAGE)
        value = arguments[place + 1] if place + 1 < len(arguments) else None
        if not _set_long(found, word, value) and not _set(found, word, value):
            raise wrong(f"Unrecognized option {word}!", _LEARN_USAGE)
        place += 2
    files = arguments[place:]
    if not files:
        raise wrong("Not enough input parameters!", _LEARN_USAGE)
    found.data = files[0]
    found.model = files[1] if len(files) > 1 else found.model
    if not found.C > 0:
        raise wrong("You have to specify a value for the parameter '-c' (C>0)!", _LEARN_USAGE)
    if not found.epsilon > 0:
        raise wrong("The epsilon parameter must be greater than zero!", _LEARN_USAGE)
    if not found.fraction >= 0:
        raise wrong("The value of option --p must not be negative!", _LEARN_USAGE)
    return found


def classify_options(arguments: Sequence[str]) -> ClassifyOptions:
    """The options of ``svm_perf_classify``."""
    found = ClassifyOptions()
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        word = arguments[place]
        if word in ("-h", "-?"):
            raise Refusal(0, output=_CLASSIFY_USAGE)
        if word not in ("-v", "-y", "--d"):
            raise wrong(f"Unrecognized option {word}!", _CLASSIFY_USAGE)
        value = _whole(word, arguments[place + 1] if place + 1 < len(arguments) else None)
        if word == "-v":
            found.verbosity = value
        place += 2
    files = arguments[place:]
    if len(files) < 2:
        raise wrong("Not enough input parameters!", _CLASSIFY_USAGE)
    found.data, found.model = files[:2]
    found.output = files[2] if len(files) > 2 else found.output
    return found


def wrong(message: str, usage: str = "") -> Refusal:
    """The original's end for wrong options: the message on standard output, and status 0."""
    return Refusal(0, output=f"\n{message}\n\n{usage}")


def _set(found: LearnOptions, word: str, value: str | None) -> bool:
    """Set an option of one letter; whether it is known."""
    match word:
        case "-c":
            found.C = _number(word, value)
        case "-l":
            found.loss = _whole(word, value)
        case "-e":
            found.epsilon = _number(word, value)
        case "-j":
            found.beta = _number(word, value)
        case "-v":
            found.verbosity = _whole(word, value)
        case "-w":
            if _whole(word, value) not in _ALGORITHMS:
                raise wrong("Algorithm type must be either '0', '1', '2', '3', '4', or '9'!", _LEARN_USAGE)
        case "-t":
            _only(word, value, 0, "kernels other than the linear one")
        case "-p":
            _only(word, value, 1, "squared slacks")
        case "-o":
            _only(word, value, 2, "slack rescaling")
        case _:
            if len(word) != 2 or word[1] not in _IGNORED:
                return False
            _given(word, value)
    return True


def _set_long(found: LearnOptions, word: str, value: str | None) -> bool:
    """Set an option with two dashes; whether it is known."""
    match word:
        case "--b":
            found.bias = _number(word, value)
        case "--p":
            found.fraction = _number(word, value)
        case "--t":
            _only(word, value, 0, "sparse kernel approximations")
        case _:
            if len(word) != 3 or not word.startswith("--") or word[2] not in _IGNORED_LONG:
                return False
            _given(word, value)
    return True


def _only(word: str, value: str | None, allowed: int, what: str) -> None:
    if _whole(word, value) != allowed:
        raise Refusal(1, f"ERROR: {word} {value}: {what} are not supported; linear models need {word} {allowed}")


def _given(word: str, value: str | None) -> str:
    if value is None:
        raise wrong(f"Option {word} must be followed by a value!", _LEARN_USAGE)
    return value


def _number(word: str, value: str | None) -> float:
    text = _given(word, value)
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if found != found or abs(found) == float("inf"):
        raise Refusal(1, f"ERROR: {word} must be followed by a finite number, got {text!r}")
    return found


def _whole(word: str, value: str | None) -> int:
    text = _given(word, value)
    try:
        return int(text)
    except ValueError:
        raise Refusal(1, f"ERROR: {word} must be followed by a whole number, got {text!r}") from None
