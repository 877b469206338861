"""Mutated files for the readers of the front ends: a refusal, or what an independent parser reads.

Model files of LIBLINEAR and SVM-perf, and data files in both dialects.  A model that is accepted must also predict what
its weights say.  Any exception but a refusal is a defect; so is a file that one of the reader in plain Python, the
compiled one and the independent one reads otherwise than the others.
"""

import contextlib
import io
import tempfile
from functools import partial
from pathlib import Path

from campaign import parsers
from campaign.files import MEMORY, MOST, rounds
from campaign.mutations import DefectError, mutated
from fenchel.frontends.liblinear.model import load_model as load_liblinear
from fenchel.frontends.main import main
from fenchel.frontends.matrix import read_data
from fenchel.frontends.refusal import Refusal
from fenchel.frontends.rows import WrongLineError, read_rows
from fenchel.frontends.svmperf.model import load_model as load_svmperf

LIBLINEAR = (
    b"solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 3\nbias 1\nw\n0.5 \n-1 \n2.25 \n1e-3 \n",
    b"solver_type MCSVM_CS\nnr_class 3\nlabel 7 -3 2\nnr_feature 2\nbias -1\nw\n1 2 3 \n-1 -2 -3 \n",
    b"solver_type L2R_L2LOSS_SVR\nnr_class 2\nnr_feature 2\nbias -1\nw\n1 \n-2 \n",
    b"solver_type ONECLASS_SVM\nnr_class 2\nnr_feature 2\nbias -1\nrho 0.25\nw\n1 \n-2 \n",
)
SVMPERF = (
    b"SVM-light Version V6.20\n0 # kernel type\n3 # kernel parameter -d \n1 # kernel parameter -g \n"
    b"1 # kernel parameter -s \n1 # kernel parameter -r \nempty# kernel parameter -u \n4 # highest feature index \n"
    b"9 # number of training documents \n2 # number of support vectors plus 1 \n0.5 # threshold b\n1 1:0.5 3:-2 #\n",
    b"SVM-light Version V6.20\n0 # kernel type\n3 #\n1 #\n1 #\n1 #\nempty#\n9 #\n2 #\n4 #\n-1e-3 #\n"
    b"0.5 1:1 2:-1 #\n-0.25 2:4 9:1\n1 1:3 #\n",
)
DATA = (
    b"1 1:0.5 3:-2\n-1 2:1e-3 4:7\n1 1:1\n-1 3:2.5 4:-1\n",
    b"# a comment\n+1 qid:3 1:0.5 # a remark\n-1 qid:4 cost:0.1 2:1\n",
    b"3\r\n7 1:1e5\r\n3 2:0.25 4:-1",
)
#: rows that accepted models predict
ROWS = ({1: 0.5, 2: -2.0}, {2: 1.0, 3: 4.0, 9: 0.25})
#: for which kind of models a row of LIBLINEAR has the label of its largest score
_CLASSES = {"L2R_LR", "L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC", "L2R_L1LOSS_SVC_DUAL", "MCSVM_CS", "L1R_L2LOSS_SVC"}
_CLASSES |= {"L1R_LR", "L2R_LR_DUAL"}


def liblinear_mutant(rng, folder):
    """Load one mutated model file of LIBLINEAR, compare it, and predict with it."""
    content = LIBLINEAR[int(rng.integers(len(LIBLINEAR)))]
    # few mutants of the header are models
    begin = content.index(b"w\n") + 2 if rng.random() < 0.5 else 0
    content = content[:begin] + mutated(rng, content[begin:])
    found, expected = _loaded(load_liblinear, parsers.liblinear_model, content, folder)
    if found is None:
        return content, False
    read = found.kind.name, found.classes, found.labels, found.features, found.bias, found.rho, found.weights
    _compare("the model", read, expected)
    _, classes, labels, features, bias, rho, weights = expected
    k = len(weights) // (features + (bias >= 0)) if weights else 0
    lines = []
    for row in ROWS if k else ():
        scores = []
        for output in range(k):
            total = 0.0
            for feature, value in row.items():
                total += weights[(feature - 1) * k + output] * value if feature <= features else 0.0
            scores.append(total + (weights[features * k + output] * bias if bias >= 0 else -rho))
        lines.append(_label(expected[0], classes, labels, scores))
    if k:
        _compare("predictions", _predicted("liblinear predict", folder), lines)
    return content, True


def _label(kind, classes, labels, scores):
    if kind not in _CLASSES:
        return (1 if scores[0] > 0 else -1) if kind == "ONECLASS_SVM" else scores[0]
    if classes == 2:
        return labels[0] if scores[0] > 0 else labels[1]
    best = 0
    for place, score in enumerate(scores):
        best = place if score > scores[best] else best
    return labels[best]


def svmperf_mutant(rng, folder):
    """Load one mutated model file of SVM-perf, compare it, and classify with it."""
    content = mutated(rng, SVMPERF[int(rng.integers(len(SVMPERF)))])
    found, expected = _loaded(load_svmperf, parsers.svmperf_model, content, folder)
    if found is None:
        return content, False
    weights, threshold, rows = expected
    stored = {place: weight for place, weight in enumerate(found.weights, start=1) if weight != 0.0}
    _compare("the threshold and the rows", (found.threshold, found.rows), (threshold, rows))
    _compare("the weights", sorted(stored.items()), sorted((j, w) for j, w in weights.items() if w != 0.0))
    scores = [sum(weights.get(j, 0.0) * value for j, value in row.items()) - threshold for row in ROWS]
    _compare("scores", _predicted("svmperf classify", folder), [float(f"{score:.8f}") for score in scores])
    return content, True


def _loaded(load, parse, content, folder):
    """What the reader and the independent parser find: both, or neither."""
    path = folder / "model"
    path.write_bytes(content)
    try:
        found = load(str(path))
    except Refusal as refusal:
        if refusal.status != 1 or not refusal.error:
            raise DefectError(f"refused with status {refusal.status} and {refusal.error!r}") from refusal
        found = None
    except Exception as error:
        raise DefectError(f"raised {type(error).__name__}: {error}") from error
    try:
        expected = parse(content)
    except ValueError as error:
        if found is not None:
            raise DefectError(f"accepted, but {error}") from error
        return None, None
    if found is None:
        raise DefectError("refused, but it is well formed")
    return found, expected


def _predicted(program, folder):
    """The numbers that a program writes for the rows, with the model of the folder."""
    lines = (" ".join(["1", *(f"{j}:{value}" for j, value in row.items())]) for row in ROWS)
    (folder / "rows").write_text("\n".join(lines) + "\n")
    names = [str(folder / name) for name in ("rows", "model", "output")]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            status = main([*program.split(), *names])
        except Exception as error:
            raise DefectError(f"{program} raised {type(error).__name__}: {error}") from error
    if status != 0:
        raise DefectError(f"{program} ended with status {status}: {said.getvalue()}")
    return [float(line) for line in (folder / "output").read_text().split()]


def data_mutant(rng, folder, svm_light):
    """Read one mutated data file in plain Python and by the compiled reader, and compare it."""
    content = mutated(rng, DATA[int(rng.integers(len(DATA)))])
    path = folder / "data"
    path.write_bytes(content)
    try:
        expected = parsers.front_end_rows(content, svm_light)
    except ValueError:
        expected = None

    def plainly():
        return [
            (row.label, list(zip(row.features, row.values, strict=True)))
            for row in read_rows(io.BytesIO(content), svm_light=svm_light)
        ]

    def compiled():
        X, y = read_data(str(path), svm_light=svm_light)
        places = [slice(*X.indptr[row : row + 2]) for row in range(len(y))]
        pairs = [zip((X.indices[one] + 1).tolist(), X.data[one].tolist(), strict=True) for one in places]
        return list(zip(y.tolist(), map(list, pairs), strict=True))

    for name, reader in (("plain Python", plainly), ("the compiled reader", compiled)):
        try:
            found = reader()
        except WrongLineError:
            found = None
        except Exception as error:
            raise DefectError(f"{name} raised {type(error).__name__}: {error}") from error
        _compare(name, found, expected)
    return content, expected is not None


def _compare(what, found, expected):
    # NaN is written nan in both
    if repr(found) != repr(expected) and found != expected:
        raise DefectError(f"{what}: {found}, not {expected}")


READERS = {
    "liblinear model": liblinear_mutant,
    "svmperf model": svmperf_mutant,
    "liblinear data": partial(data_mutant, svm_light=False),
    "svmperf data": partial(data_mutant, svm_light=True),
}


def run(seed, budget, most=MOST, former=None):
    """Mutants of every reader in turn, as in ``files.run``."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        return rounds(READERS, Path(name), seed, budget, most, former)
