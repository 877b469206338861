"""What a session of wrong calls, full disks and interruptions met, each as it must end now."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, make_classification

from commands import refused
from fenchel.cli.main import main
from fenchel.cli.output import INTERRUPTED
from fenchel.estimators import path as path_of_estimators


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = make_classification(90, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=0)
    dump_svmlight_file(np.round(X, 6), y, "d.svm", zero_based=False)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["trian", "d.svm"], "(did you mean 'train'?); see `fenchel --help`"),
        (["train", "d.svm", "--tolerance", "1e-3"], "1e-3 (did you mean '--tol'?); see `fenchel train --help`"),
        (["train", "d.svm", "--C", "1"], "--C 1 (did you mean '-C'?); see `fenchel train --help`"),
        (["compare", "d.svm", "--folds", "3"], "; --folds is an option of `cv`; see `fenchel compare --help`"),
        # it was taken for --folds
        (["convert", "d.svm", "folder"], "unrecognized arguments: folder; see `fenchel convert --help`"),
    ],
)
def test_hints_name_options_of_the_command(capsys, arguments, hint):
    assert refused(capsys, *arguments).endswith(f"{hint}\n")


def test_what_can_not_be_written_is_said_before_the_work(folder, capsys, monkeypatch):
    (folder / "locked").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "locked")
    for command in ("train", "convert", "cv", "path"):
        said = refused(capsys, command, "d.svm", "-o", "locked/new")
        assert said == "fenchel: --output: the folder locked can't be written to\n"


def test_a_full_disk_is_said_with_the_name_of_the_file(folder):
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)); from fenchel.cli.main import main"
    )
    code += "; sys.exit(main(['train', 'd.svm', '-o', 'm.npz']))"
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    assert main(["train", "d.svm", "-o", "other.npz"]) == 0
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (2, "fenchel: m.npz: File too large\n")
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == ["d.svm", "other.npz"]


def test_binary_data_is_refused_before_a_reader_is_loaded(folder, capsys):
    (folder / "b.svm").write_bytes(b"\x7fELF\0\1\2\n1 1:2\n")
    assert refused(capsys, "train", "b.svm") == (
        "fenchel: b.svm: holds binary data; a svmlight file has rows LABEL NUMBER:VALUE ...\n"
    )


def test_an_interrupted_path_ends_as_other_commands_do(folder, capsys, monkeypatch, plain_interrupts):
    """It ended with status 3, as after a time limit."""
    follow = path_of_estimators.follow

    def interrupted(*arguments, stop_requested, **options):
        os.kill(os.getpid(), signal.SIGINT)
        return follow(*arguments, stop_requested=stop_requested, **options)

    monkeypatch.setattr(path_of_estimators, "follow", interrupted)
    assert main(["path", "d.svm", "--Cs", "0.1,1,10", "--test-share", "0"]) == INTERRUPTED
    assert "by its time limit or an interruption" in capsys.readouterr().err


def test_a_program_compiles_where_nothing_is_cached(folder, tmp_path_factory):
    environment = {**os.environ, "FENCHEL_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    command = [sys.executable, "-m", "fenchel", "liblinear", "train", "-q", "d.svm", "m"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, "")
