"""Mutated model files, data files and options never end in a traceback, and never replace a file when they fail."""

import io
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest

from campaign.front_ends import LIBLINEAR, SVMPERF
from campaign.mutations import mutated
from fenchel.frontends.liblinear.kinds import KINDS
from fenchel.frontends.liblinear.options import predict_options, train_options
from fenchel.frontends.main import main
from fenchel.frontends.refusal import Refusal
from fenchel.frontends.svmperf.options import classify_options, learn_options

DATA = b"1 1:0.5 3:-2\n-1 2:1e-3 4:7\n1 1:1\n-1 3:2.5 4:-1\n"


def run(*words):
    """The exit status of a front end; any exception is a defect."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return main(words)


@pytest.mark.parametrize("program", ["liblinear predict", "svmperf classify"])
def test_mutated_models_and_data(tmp_path, program, portion):
    rng = np.random.default_rng(0)
    data, model, out = tmp_path / "d", tmp_path / "m", tmp_path / "out"
    statuses = set()
    for _ in range(portion(2000)):
        originals = LIBLINEAR if program.startswith("liblinear") else SVMPERF
        content = originals[int(rng.integers(len(originals)))]
        which = rng.random() < 0.7
        model.write_bytes(mutated(rng, content) if which else content)
        data.write_bytes(DATA if which else mutated(rng, DATA))
        out.write_text("kept")
        status = run(*program.split(), str(data), str(model), str(out))
        assert status in (0, 1), model.read_bytes()
        assert status == 0 or out.read_text() == "kept"
        statuses.add(status)
    assert statuses == {0, 1}


LETTERS = [
    "-s",
    "-c",
    "-p",
    "-e",
    "-B",
    "-w1",
    "-w",
    "-v",
    "-q",
    "-C",
    "-R",
    "-n",
    "-b",
    "-l",
    "-t",
    "--p",
    "--b",
    "-j",
]
VALUES = ["0", "1", "-1", "2.5", "1e400", "nan", "x", "", "-", "--", "99999999999999999999", "1_0", "é", "\0", "d"]


def test_mutated_options():
    """Options end the program, or are understood."""
    rng = np.random.default_rng(1)
    letters = [*LETTERS, *map(str, KINDS), *VALUES]
    for parse in (train_options, predict_options, learn_options, classify_options):
        understood = 0
        for _ in range(1000):
            words = [letters[k] for k in rng.integers(len(letters), size=int(rng.integers(6)))]
            try:
                parse([*words, "d", "m", "o"])
                understood += 1
            except Refusal as refusal:
                assert refusal.status in (0, 1)
                assert refusal.output or refusal.error
        assert understood


def test_mutated_calls_of_training(tmp_path, monkeypatch, portion):
    """Mutated data and options of both programs that train; no file is left by one that fails."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    for _ in range(portion(200)):
        (tmp_path / "d").write_bytes(mutated(rng, DATA))
        command = ["liblinear", "train", "-s", str(rng.choice([1, 2, 3]))]
        if rng.random() < 0.3:
            command = ["svmperf", "learn", "-l", "2", "-c", str(rng.choice(["1", "0.1", "x"]))]
        status = run(*command, "d", "m")
        assert status in (0, 1), (tmp_path / "d").read_bytes()
        assert (tmp_path / "m").exists() == (status == 0)
        for path in (tmp_path / "m", tmp_path / "m.certificate"):
            path.unlink(missing_ok=True)
