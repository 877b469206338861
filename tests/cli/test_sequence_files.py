"""The command ``fenchel`` on labelled sequences: a token in each line, blank lines between sequences."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from fenchel import FenchelError, SequenceClassifier
from fenchel.cli.main import NOT_PROVED, PROVED, REFUSED, main
from fenchel.io.columns import read_columns
from fenchel.io.model_file import load
from fenchel.io.template import Template, default_template, indicators

SENTENCES = (
    "He PRP B-NP\nreckons VBZ B-VP\nthe DT B-NP\ndeficit NN I-NP\n. . O\n",
    "the DT B-NP\ncat NN I-NP\nsleeps VBZ B-VP\n. . O\n",
    "Rockwell NNP B-NP\n",
    "she PRP B-NP\nhas VBZ B-VP\n# # B-NP\n5 CD I-NP\n",
)
TEXT = "\n".join(SENTENCES)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.conll").write_text(TEXT, encoding="utf-8")
    return tmp_path


def slow_features(text, words, t):
    """The features of token t by a template of %x macros, by replacing them one after the other."""
    found = set()
    for line in text.split("\n"):
        if not line.startswith("U"):
            continue

        def field(match):
            place = t + int(match[1])
            if place < 0:
                return f"_B{place}"
            return f"_B+{place - len(words) + 1}" if place >= len(words) else words[place][int(match[2])]

        line = re.sub(r"%x\[(-?\d+),(\d+)\]", field, line)
        for size in (1, 2, 3):
            for kind, part in (("p", words[t][0][:size]), ("s", words[t][0][-size:])):
                macro = f"%{kind}[0,0,{size}]"
                line = "" if macro in line and len(words[t][0]) < size else line.replace(macro, part)
        found |= {line} - {""}
    return found


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_the_default_template_against_replaced_text(columns):
    rng = np.random.default_rng(columns)
    alphabet = np.array(["a", "bc", "def", "ghij", "%x", "_B-1"])
    lengths = [1, 2, 7, 1, 4]
    tokens = rng.choice(alphabet, size=(sum(lengths), columns)).tolist()
    text = default_template(columns)
    found, begin = list(Template(text, columns).features(tokens, lengths)), 0
    for length in lengths:
        words = tokens[begin : begin + length]
        for t in range(length):
            assert len(set(found[begin + t])) == len(found[begin + t])
            # text that looks like a macro is replaced by the slow way alone
            if "%x" not in str(words):
                assert set(found[begin + t]) == slow_features(text, words, t)
        begin += length
    assert Template(text, columns).pairs


def test_macros_of_a_template():
    text = "# comment\n\nU1:%x[-1,0]/%p[0,0,2]\nU2:%s[+1, 0,1]\nU3:bias\nU4:%s[0,0,3]\r\n"
    found = list(Template(text, 1).features([["ab"], ["cde"], ["f"]], [2, 1]))
    assert found == [
        ["U1:_B-1/ab", "U2:e", "U3:bias"],
        ["U1:ab/cd", "U2:_B+1", "U3:bias", "U4:cde"],
        ["U2:_B+1", "U3:bias"],
    ]
    assert not Template(text, 1).pairs
    index = {}
    X = indicators(found, index, grow=True)
    assert X.toarray().sum(axis=1).tolist() == [3, 4, 2]
    X = indicators([["U3:bias", "new"]], index, grow=False)
    assert X.toarray().tolist() == [[float(name == "U3:bias") for name in index]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no line that begins with U"),
        ("B\n", "has no line that begins with U"),
        ("U0:%x[0,0]\n\nX0:%x[0,0]", "line 3 of the template: must begin with U"),
        ("U0:%x[0,0]\nB1:%x[0,0]", "line 2 of the template: features of pairs"),
        ("U0:%x[0]", "line 1 of the template: %x[0] is none of"),
        ("U0:%x[0,0,1]", "is none of"),
        ("U0:%p[0,0]", "is none of"),
        ("U0:%q[0,0]", "is none of"),
        ("U0:%x[a,0]", "all whole numbers"),
        ("U0:%x[0,2]", "names column 2, but tokens have the columns 0 to 1"),
        ("U0:%x[0,-1]", "names column -1"),
        ("U0:%s[0,0,0]", "must be at least 1"),
        ("U0:100%", "has a % that begins no macro"),
    ],
)
def test_wrong_templates(text, words):
    with pytest.raises(FenchelError, match=re.escape(words)):
        Template(text, 2)


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", "\t \r\n"])
@pytest.mark.parametrize("last", ["", "\n", "\n\n \n"])
@pytest.mark.parametrize("first", ["", "\ufeff", "\n\n"])
def test_ends_of_lines_and_blank_lines_do_not_matter(tmp_path, end, last, first):
    path = tmp_path / "a.conll"
    path.write_bytes((first + TEXT.rstrip("\n") + last).replace("\n", end).replace(" ", "\t ", 3).encode())
    found = read_columns(path)
    assert found.lengths == [5, 4, 1, 4]
    assert found.tokens[0] == ["He", "PRP"]
    assert found.labels == re.findall(r"(\S+)$", TEXT, re.MULTILINE)
    assert found.lines[5] - found.lines[4] == 2
    assert found.lines[0] == 1 + first.count("\n")
    assert found.width == 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no tokens"),
        (b"\n \n\t\r\n", "holds no tokens"),
        (b"a A\n\nb B\nc\n", "line 4 has 1 columns, line 1 has 2"),
        (b"\r\na A\r\nb x B\r\n", "line 3 has 3 columns, line 2 has 2"),
        (b"a\nb\n", "line 1 has 1 column; write a token and its label"),
        (b"a A\nb\0 B\n", "line 2 has a NUL character"),
        (b"a A\rb B\n", "line 1 has a carriage return within it"),
        (b"a A\n\xff B\n", "is not text in UTF-8"),
    ],
)
def test_wrong_files(folder, capsys, content, words):
    (folder / "a.conll").write_bytes(content)
    assert main(["train", "a.conll"]) == REFUSED
    said = capsys.readouterr()
    assert f"a.conll: {words}" in said.err
    assert said.err.count("\n") == 1
    assert not (folder / "a.model.npz").exists()


def test_other_spaces_are_characters_of_words(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("a\u00a0b A\nc\x85\u2028 B\n", encoding="utf-8")
    assert read_columns(path).tokens == [["a\u00a0b"], ["c\x85\u2028"]]


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_a_chain_goes_through_a_file_unchanged(folder, capsys, loss):
    assert main(["train", "train.conll", "--loss", loss, "-C", "0.5", "--tol", "1e-2", "--quiet"]) == PROVED
    said = capsys.readouterr().out
    assert "train.conll: 14 tokens in 4 sequences" in said
    model = load(folder / "train.model.npz")
    data = read_columns(folder / "train.conll")
    named = list(Template(default_template(2), 2).features(data.tokens, data.lengths))
    direct = SequenceClassifier(loss, C=0.5, tol=1e-2, random_state=0)
    direct.fit(indicators(named, {}, grow=True), data.labels, lengths=data.lengths)
    assert str(direct.certificate_) in said
    for name in ("coef_", "transitions_", "start_", "end_", "classes_"):
        np.testing.assert_array_equal(getattr(model.estimator, name), getattr(direct, name))
    assert model.template == default_template(2)
    assert main(["certify", "train.model.npz", "train.conll"]) == PROVED
    assert capsys.readouterr().out.strip() == str(direct.certificate_)
    assert main(["certify", "train.model.npz", "train.conll", "--tol", "1e-12"]) == NOT_PROVED
    assert main(["certify", "train.model.npz"]) == PROVED
    # other sentences, with words that are new, without labels, and compressed
    (folder / "bare.gz").write_bytes(gzip.compress(b"the DT\ndog NN\n\nbarks VBZ"))
    capsys.readouterr()
    assert main(["predict", "train.model.npz", "bare.gz"]) == PROVED
    said = capsys.readouterr()
    lines = said.out.split("\n")
    assert lines[2] == "" and len(lines) == 5
    assert {*lines[:2], lines[3]} <= set(direct.classes_)
    assert said.err == ""
    assert main(["predict", "train.model.npz", "train.conll", "-o", "labels.txt"]) == PROVED
    said = capsys.readouterr().err
    assert re.search(r"14 tokens in 4 sequences: \d+\.\d\d% right; phrase F1 \d\.\d{4}\n", said)
    predicted = direct.predict(indicators(named, {}, grow=True), lengths=data.lengths).tolist()
    assert (folder / "labels.txt").read_text().split() == predicted


def test_the_transcript_of_the_page(folder, capsys):
    page = (Path(__file__).resolve().parents[2] / "docs" / "sequences.md").read_text(encoding="utf-8")
    page = page.partition("## From the command line")[2]
    train, new = re.findall(r"```text\n(.*?)```", page, re.DOTALL)[:2]
    (folder / "train.conll").write_text(train)
    (folder / "new.conll").write_text(new)
    (transcript,) = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    commands = re.findall(r"^\$ fenchel (.*)\n((?:[^$].*\n)*)", transcript, re.MULTILINE)
    assert [command.split()[0] for command, _ in commands] == ["train", "predict", "certify"]
    for command, said in commands:
        assert main(command.split()) == PROVED
        assert capsys.readouterr().out == said


def test_probabilities_of_labels(folder, capsys):
    assert main(["train", "train.conll", "--loss", "logistic", "--tol", "1e-2", "--transitions", "pairs"]) == PROVED
    capsys.readouterr()
    assert main(["predict", "train.model.npz", "train.conll", "--probabilities"]) == PROVED
    rows = [line.split() for line in capsys.readouterr().out.split("\n") if line]
    found = np.array(rows, dtype=float)
    assert found.shape == (14, 4)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    estimator = load(folder / "train.model.npz").estimator
    assert not np.any(estimator.start_)
    assert np.any(estimator.transitions_)


def test_a_template_of_the_user_is_stored(folder, capsys):
    (folder / "words.txt").write_text("U:%x[0,0]\nB\n")
    (folder / "plain.txt").write_text(TEXT)
    options = ["--sequences", "--template", "words.txt", "--loss", "logistic", "--tol", "1e-2", "-o", "m.npz"]
    assert main(["train", "plain.txt", *options]) == PROVED
    assert "12 features" in capsys.readouterr().out
    (folder / "words.txt").unlink()
    assert load(folder / "m.npz").names[:2] == ["U:He", "U:reckons"]
    assert main(["predict", "m.npz", "plain.txt"]) == PROVED
    assert main(["certify", "m.npz", "plain.txt"]) == PROVED


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chains")
    (folder / "train.conll").write_text(TEXT)
    path = folder / "chain.npz"
    assert main(["train", str(folder / "train.conll"), "--loss", "hinge", "--tol", "0.1", "-o", str(path)]) == PROVED
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            TEXT.replace("I-NP", "I-VP", 1),
            "line 4: the label I-VP is not among the labels of the model: B-NP, B-VP, I-NP, O",
        ),
        (TEXT.replace("cat", "dog"), "the model has no feature 'U"),
        (TEXT + "\n. . O\n", "the model was trained on 14 tokens and these are 15"),
        (re.sub(r" \S+$", "", TEXT, flags=re.MULTILINE), "has no column of labels"),
        (re.sub(r" \S+ \S+$", "", TEXT, flags=re.MULTILINE), "has 1 columns, but the model was trained on 3"),
    ],
)
def test_certify_is_about_the_training_data(folder, capsys, model, text, words):
    (folder / "other.conll").write_text(text)
    assert main(["certify", str(model), "other.conll"]) == REFUSED
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "train.conll", "--measure", "f1"], "--measure is not for labelled sequences"),
        (["train", "train.conll", "--multi-class", "ovr"], "--multi-class is not for labelled sequences"),
        (["train", "train.conll", "--no-intercept"], "--no-intercept is not for labelled sequences"),
        (["train", "train.conll", "--label", "0"], "--label is not for labelled sequences"),
        (["train", "train.conll", "--loss", "squared"], "loss='squared' is unknown; choose one of 'hinge', 'logistic'"),
        (["train", "train.conll", "--template", "no.txt"], "no.txt"),
        (["train", "train.conll", "--template", "words.txt", "--transitions", "none"], "contradicts the line B"),
        (["train", "train.svm", "--transitions", "none"], "--transitions is for labelled sequences"),
        (["predict", "MODEL", "train.conll", "--scores"], "--scores is not for labelled sequences"),
        (["predict", "MODEL", "train.conll", "--proved"], "--proved is not for labelled sequences"),
        (["predict", "MODEL", "train.conll", "--probabilities"], "trained with --loss logistic"),
        (["predict", "MODEL", "train.conll", "--header"], "--header is not for labelled sequences"),
    ],
)
def test_options_that_sequences_do_not_have(folder, capsys, model, arguments, words):
    (folder / "words.txt").write_text("U:%x[0,0]\nB\n")
    assert main([str(model) if one == "MODEL" else one for one in arguments]) == REFUSED
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("transitions_", np.zeros((4, 3))),
        ("start_", np.zeros(3)),
        ("end_", np.full(4, np.nan)),
        ("coef_", np.zeros((4, 2))),
        ("theta_", np.zeros(7)),
        ("theta_", np.zeros((4, 4))),
        ("classes_", np.array(["a", "b"])),
        ("names", ["U"]),
        ("template", "U:%x[0,5]"),
        ("template", None),
        ("columns", "3"),
        ("columns", 1),
        ("parameters", {"loss": "hinge", "edge_features": "all"}),
    ],
)
def test_damaged_chains_are_refused(tmp_path, capsys, model, name, value):
    with np.load(model) as archive:
        arrays = dict(archive)
    about = json.loads(str(arrays["about"]))
    if name in about:
        arrays["about"] = np.array(json.dumps({**about, name: value}))
    else:
        arrays[name] = value
    np.savez(tmp_path / "damaged.npz", **arrays)
    assert main(["certify", str(tmp_path / "damaged.npz")]) == REFUSED
    assert "damaged.npz" in capsys.readouterr().err
