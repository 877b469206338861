"""LIBLINEAR's programs: wrong options and files that can't be read end with its status and its lines."""

import pytest

USAGE = "Usage: train [options] training_set_file [model_file]\n"
WRONG_OPTIONS = {
    "": ("", True),
    "-z 1 d": ("unknown option: -z", True),
    "- d": ("unknown option: -", True),
    "--help": ("unknown option: --", True),
    "-s": ("ERROR: -s must be followed by a value", True),
    "-c": ("ERROR: -c must be followed by a value", True),
    "-c4 d": ("ERROR: -c4: an option is one letter, and its value the next argument; write -c 4", True),
    "-v 1 d": ("n-fold cross validation: n must >= 2", True),
    "-C -s 1 d": ("Warm-start parameter search only available for -s 0, -s 2 and -s 11", True),
    "d -s 2": ("ERROR: options come before the files, got -s after d", True),
    "-s 8 d": ("ERROR: unknown solver type", False),
    "-s x d": ("ERROR: -s must be followed by a whole number, got 'x'", False),
    "-c x d": ("ERROR: -c must be followed by a number, got 'x'", False),
    "-c 0 d": ("ERROR: C <= 0", False),
    "-c nan d": ("ERROR: C must be a finite number, got nan", False),
    "-e 0 d": ("ERROR: eps <= 0", False),
    "-s 11 -p -1 d": ("ERROR: p < 0", False),
    "-w 2 d": ("ERROR: -w must be followed by the label of a class, as in -w1, got ''", False),
    "-w1 -2 d": ("ERROR: the weight of class 1 must not be negative", False),
    "-R d": ("ERROR: To not regularize bias, must specify -B 1 along with -R", False),
    "-s 3 -B 1 -R d": (
        "ERROR: -R option supported only for solver L2R_LR, L2R_L2LOSS_SVC, L1R_L2LOSS_SVC, L1R_LR, and L2R_L2LOSS_SVR",
        False,
    ),
    "-s 21 -B 1 d": ("ERROR: prob->bias >=0, but this is ignored in ONECLASS_SVM", False),
    "-s 21 -n 2 d": ("ERROR: nu must be between 0 and 1, got 2", False),
    "missing": ("can't open input file missing", False),
    ".": ("can't open input file .", False),
}


@pytest.mark.parametrize("words", WRONG_OPTIONS)
def test_wrong_calls_of_train(call, folder, words):
    (folder / "d").write_text("1 1:1\n-1 1:-1\n")
    message, helps = WRONG_OPTIONS[words]
    said = call(f"liblinear train {words}")
    assert said.status == 1
    assert said.err == (f"{message}\n" if message else "")
    assert said.out.startswith(USAGE) if helps else said.out == ""
    assert sorted(path.name for path in folder.iterdir()) == ["d"]


WRONG_LINES = {
    "1 1:1\n\n": (2, "has no label"),
    "1 1:1\nx 1:1\n": (2, "the label 'x' is not a number"),
    "1 0:1\n": (1, "number the features from 1"),
    "1 2:1 1:1\n": (1, "must ascend"),
    "1 1:1 1:2\n": (1, "must ascend"),
    "1 1:a\n": (1, "'1:a' is not NUMBER:VALUE"),
    "1 1\n": (1, "'1' has no colon"),
    "1 99999999999:1\n": (1, "2^31"),
    "# comment\n1 1:1\n": (1, "has no label"),
    "1 qid:3 1:2\n": (1, "'qid:3' is not NUMBER:VALUE"),
}


@pytest.mark.parametrize("content", WRONG_LINES)
def test_wrong_lines(call, folder, content):
    (folder / "d").write_text(content)
    (folder / "m").write_text("solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 1\nbias -1\nw\n1 \n")
    (folder / "out").write_text("kept")
    line, why = WRONG_LINES[content]
    for words in ("train d model", "predict d m out"):
        said = call(f"liblinear {words}")
        assert said.status == 1
        first, second = said.err.splitlines()
        assert first == f"Wrong input format at line {line}"
        assert second.startswith(f"line {line}: ") and why in second
    assert (folder / "out").read_text() == "kept"
    assert not (folder / "model").exists()


def test_files_that_are_not_data(call, folder):
    (folder / "empty").write_text("")
    (folder / "bare").write_text("1\n-1\n")
    (folder / "d").write_text("1 1:1\n-1 1:-1\n")
    (folder / "large").write_text("1e10 1:1\n-1 1:-1\n")
    (folder / "nan").write_text("1 1:nan\n-1 1:-1\n")
    assert "has no rows" in call("liblinear train empty").err
    assert "no features" in call("liblinear train bare").err
    assert "whole number of 32 bits" in call("liblinear train large").err
    assert "NaN" in call("liblinear train nan").err
    assert call("liblinear train d missing/model").err.startswith("can't save model to file missing/model: ")
    assert call("liblinear train d .").status == 1
    assert sorted(path.name for path in folder.iterdir()) == ["bare", "d", "empty", "large", "nan"]


def test_wrong_calls_of_predict(call, folder):
    (folder / "d").write_text("1 1:1\n-1 1:-1\n")
    call("liblinear train -q d")
    usage = "Usage: predict [options] test_file model_file output_file\n"
    for words in ("", "d d.model", "-z d d.model out", "-b"):
        said = call(f"liblinear predict {words}")
        assert said.status == 1
        assert said.out.startswith(usage)
    assert call("liblinear predict missing d.model out").err == "can't open input file missing\n"
    assert call("liblinear predict d missing out").err == "can't open model file missing\n"
    assert call("liblinear predict d d.model no/out").err.startswith("can't open output file no/out")
    assert call("liblinear predict -b 1 d d.model out").err == (
        "probability output is only supported for logistic regression\n"
    )
    (folder / "bad").write_text((folder / "d.model").read_text().replace("nr_class", "certificate"))
    said = call("liblinear predict d bad out")
    assert said.err == "unknown text in model file: [certificate]\ncan't open model file bad\n"
    assert said.status == 1
    assert not (folder / "out").exists()
