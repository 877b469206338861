"""Executables with the original names, and what they import."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fenchel
from fenchel.frontends.install import EXECUTABLES
from front_end_cases import examples, lines_of, two_labels

#: what Python has imported, one a line, at the end of a program
PRINT_MODULES = """
import atexit, sys
atexit.register(lambda: print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr))
from fenchel.frontends.main import main
sys.exit(main(sys.argv[1:]))
"""


def environment():
    return {**os.environ, "PYTHONPATH": str(Path(fenchel.__file__).parents[1])}


def test_executables_are_written_and_run(call, folder):
    said = call("install-frontends bin")
    assert said.status == 0
    assert said.out.splitlines() == [f"written: bin/{name}" for name in EXECUTABLES]
    assert all(os.access(folder / "bin" / name, os.X_OK) for name in EXECUTABLES)
    X, target = examples(20)
    (folder / "d").write_text(lines_of(X, two_labels(target)))
    # a module of this folder is not that of the standard library
    (folder / "random.py").write_text("raise SystemExit('imported from the present folder')\n")
    call("liblinear train -q d")
    done = subprocess.run(["bin/predict", "d", "d.model", "out"], capture_output=True, text=True, env=environment())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Accuracy = ")
    done = subprocess.run(["bin/train"], capture_output=True, text=True, env=environment())
    assert done.returncode == 1
    assert done.stdout.startswith("Usage: train [options] training_set_file [model_file]\n")


def test_foreign_files_are_kept(call, folder):
    (folder / "bin").mkdir()
    (folder / "bin" / "train").write_text("#!/bin/sh\necho mine\n")
    said = call("install-frontends bin")
    assert said.status == 2
    assert said.err == "fenchel: bin/train exist and are not Fenchel's: choose another folder, or --force\n"
    assert [path.name for path in (folder / "bin").iterdir()] == ["train"]
    assert call("install-frontends --force bin").status == 0
    # ours are replaced without a word, a link never
    assert call("install-frontends bin").status == 0
    (folder / "bin" / "predict").unlink()
    (folder / "bin" / "predict").symlink_to(folder / "elsewhere")
    assert call("install-frontends --force bin").status == 2
    for words in ("", "a b", "-x", "bin/train"):
        assert call(f"install-frontends {words}").status == 2
    assert call("install-frontends --help").out.startswith("usage: fenchel install-frontends")


def test_commands_that_name_no_program(call):
    assert call("liblinear").status == 2
    assert "choose train or predict" in call("liblinear fit").err
    assert "choose learn or classify" in call("svmperf train").err
    assert call("svmperf --help").status == 0


@pytest.mark.parametrize(
    "words", ["liblinear predict d d.model out", "svmperf classify d m out", "liblinear train", "svmperf learn -z"]
)
def test_predictions_and_errors_import_no_numpy(call, folder, words):
    X, target = examples(20)
    (folder / "d").write_text(lines_of(X, two_labels(target)))
    (folder / "d.model").write_text("solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 1\nbias -1\nw\n1 \n")
    (folder / "m").write_text("SVM-light Version V6.20\n0 #\n3 #\n1 #\n1 #\n1 #\n#\n1 #\n2 #\n2 #\n0 #\n1 1:2 #\n")
    call_words = [sys.executable, "-P", "-c", PRINT_MODULES, *words.split()]
    done = subprocess.run(call_words, capture_output=True, text=True, env=environment())
    assert "Traceback" not in done.stderr
    imported = set(done.stderr.splitlines()[-1].split())
    assert not imported & {"numpy", "scipy", "numba", "sklearn", "dataclasses", "argparse"}


def test_quapy(call, folder):
    """QuaPy's wrapper of SVM-perf, unchanged, with all of its losses."""
    svmperf = pytest.importorskip("quapy.classification.svmperf", reason="a client of SVM-perf")
    call("install-frontends bin")
    X, target = examples(60)
    for loss in svmperf.SVMperf.valid_losses:
        model = svmperf.SVMperf(str(folder / "bin"), C=10, loss=loss).fit(X, (target > 0).astype(int))
        scores = model.decision_function(X)
        assert scores.shape == (60,)
        assert np.mean((scores > 0) == (target > 0)) > (0.4 if loss == "01" else 0.75)
