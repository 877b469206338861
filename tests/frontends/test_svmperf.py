"""SVM-perf's programs: its objective by enumeration, files, lines that scripts parse, and wrong calls."""

import itertools
import json
import re

import numpy as np
import pytest
from sklearn import metrics

from fenchel.frontends.svmperf.classifying import qualities
from fenchel.frontends.svmperf.model import load_model
from front_end_cases import examples, lines_of, two_labels


def kld(a, b, c, d):
    total = a + b + c + d + 1.0
    true, predicted = (a + c + 0.5) / total, (a + b + 0.5) / total
    return true * np.log(true / predicted) + (1 - true) * np.log((1 - true) / (1 - predicted))


def f1(a, b, c, d):
    return 2.0 * a / (2.0 * a + b + c) if a else 0.0


def nae(a, b, c, d):
    return 1.0 - abs(c - b) / max(a + c, b + d)


def gm(a, b, c, d):
    return np.sqrt(a / (a + c) * d / (b + d))


def q(quality):
    def found(a, b, c, d, beta=1.0):
        r, s = nae(a, b, c, d), quality(a, b, c, d)
        return (1 + beta**2) * r * s / (beta**2 * s + r) if r or s else 0.0

    return found


def recall(a, b, c, d):
    return a / (a + c)


def accuracy(a, b, c, d):
    return (a + d) / (a + b + c + d)


#: in percent, of true positives a, false positives b, false negatives c and true negatives d; None: not allowed
LOSSES = {
    0: lambda a, b, c, d: float(b + c > 0),
    1: lambda a, b, c, d: 100 * (1 - f1(a, b, c, d)),
    2: lambda a, b, c, d: 100 * (b + c) / (a + b + c + d),
    3: lambda a, b, c, d: 100 * (1 - a / (a + b)) if b == c else None,
    4: lambda a, b, c, d: 100 * (1 - a / (a + b)) if a + b >= max(1, int(0.5 * (a + c))) else None,
    5: lambda a, b, c, d: 100 * (1 - a / (a + c)) if a + b <= 2 * (a + c) else None,
    12: kld,
    13: lambda a, b, c, d: 100 - 200 / (1 + np.exp(kld(a, b, c, d))),
    20: lambda a, b, c, d: 100 * (1 - gm(a, b, c, d)),
    21: lambda a, b, c, d: 100 * (1 - nae(a, b, c, d)),
    22: lambda a, b, c, d: 100 * (1 - q(recall)(a, b, c, d)),
    23: lambda a, b, c, d: 100 * (1 - q(accuracy)(a, b, c, d)),
    24: lambda a, b, c, d: 100 * (1 - q(f1)(a, b, c, d)),
    25: lambda a, b, c, d: 100 * (1 - q(gm)(a, b, c, d)),
    26: lambda a, b, c, d: 100 * abs(c - b) / (a + b + c + d),
    27: lambda a, b, c, d: 50 * abs(c - b) * (1 / (a + c + 0.5) + 1 / (b + d + 0.5)),
}


def slack(loss, scores, positive):
    """max over all labellings of the loss + 100/(2n) sum of scores times the change, by enumeration."""
    y, best = np.where(positive, 1, -1), 0.0
    for signs in itertools.product((-1, 1), repeat=len(y)):
        z = np.array(signs)
        a, b = np.sum((z > 0) & positive), np.sum((z > 0) & ~positive)
        c, d = np.sum(positive) - a, np.sum(~positive) - b
        value = LOSSES[loss](int(a), int(b), int(c), int(d))
        if value is not None:
            best = max(best, value + 50.0 / len(y) * float(scores @ (z - y)))
    return best


@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_is_that_of_svm_perf(call, folder, loss):
    X, target = examples(9, 3)
    positive = target > 0
    (folder / "d").write_text(lines_of(X, positive.astype(int)))
    said = call(f"svmperf learn -c 0.3 -l {loss} -w 3 -e 1e-4 d m")
    assert said.status == 0
    model = load_model("m")
    # the weight of the constant feature is minus the threshold
    weights = np.array([*model.weights, -model.threshold])
    scores = X @ weights[:-1] + weights[-1]
    primal = 0.5 * np.sum(weights**2) + 0.3 * slack(loss, scores, positive)
    pval = float(re.search(r"^Primal objective value: pval=(\S+)$", said.out, re.M)[1])
    dval = float(re.search(r"^Dual objective value: dval=(\S+)$", said.out, re.M)[1])
    assert pval == pytest.approx(primal, abs=2e-5)
    assert 0.0 <= pval - dval <= 0.3 * 1e-4 + 2e-5
    sidecar = json.loads((folder / "m.certificate").read_text())
    assert sidecar["problems"][0]["objective"] == pytest.approx(primal, rel=1e-9)


def test_roc_area(call, folder):
    X, target = examples(20, 3)
    positive = target > 0
    (folder / "d").write_text(lines_of(X, two_labels(target)))
    said = call("svmperf learn -c 0.3 -l 10 -e 1e-4 --b 0 d m")
    weights = np.array(load_model("m").weights)
    scores = X @ weights
    pairs = np.maximum(0.0, 1.0 - (scores[positive][:, None] - scores[~positive]))
    primal = 0.5 * np.sum(weights**2) + 30.0 * np.mean(pairs)
    assert float(re.search(r"pval=(\S+)$", said.out, re.M)[1]) == pytest.approx(primal, abs=2e-5)


def test_beta_fractions_and_the_bias(call, folder):
    X, target = examples(12, 3)
    (folder / "d").write_text(lines_of(X, two_labels(target)))
    positives = int(np.sum(target > 0))
    values = {}
    for words in ("-l 22", "-l 22 -j 1", "-l 22 -j 2", "-l 4 --p 1", "-l 5 --p 1", "-l 3", "-l 2 --b 0", "-l 2 --b 5"):
        said = call(f"svmperf learn -c 0.1 -e 1e-3 {words} d m")
        assert said.status == 0
        values[words] = float(re.search(r"pval=(\S+)$", said.out, re.M)[1])
    assert values["-l 22"] == values["-l 22 -j 1"] != values["-l 22 -j 2"]
    # more labellings are allowed than at the break-even point
    assert min(values["-l 4 --p 1"], values["-l 5 --p 1"]) >= values["-l 3"] - 1e-3
    assert values["-l 2 --b 0"] >= values["-l 2 --b 5"] - 1e-3
    assert positives > 1


def test_c_of_one_slack_per_example(call, folder):
    """SVM-perf's error rate at C is LIBLINEAR's -s 3 at 100 C / n with the same constant feature."""
    X, target = examples(40)
    (folder / "d").write_text(lines_of(X, two_labels(target)))
    call("svmperf learn -c 0.2 -e 1e-5 d perf")
    call("liblinear train -s 3 -c 0.5 -B 1 -e 1e-4 -q d liblinear")
    first = json.loads((folder / "perf.certificate").read_text())["problems"][0]
    second = json.loads((folder / "liblinear.certificate").read_text())["problems"][0]
    assert first["objective"] == pytest.approx(second["objective"], rel=1e-5)


def test_lines_that_scripts_parse(call, folder):
    X, target = examples(50)
    (folder / "d").write_text(lines_of(X, two_labels(target)))
    said = call("svmperf learn -c 1 -l 1 d m").out
    assert said.startswith("Reading training examples...done\nTraining set properties: 6 features, 50 examples (")
    for line in (
        "Upper bound on duality gap: ",
        "Number of iterations: ",
        "Norm of weight vector: |w|=",
        "Runtime in cpu",
    ):
        assert f"\n{line}" in said
    assert said.endswith("Writing learned model...done\n")
    said = call("svmperf classify d m out").out
    scores, positive = np.loadtxt("out"), target > 0
    assert "Zero/one-error on test set: 100.00% (0 correct, 1 incorrect, 1 total)\n" in said
    guess = scores > 0
    expected = {
        "Accuracy": metrics.accuracy_score(positive, guess),
        "Precision": metrics.precision_score(positive, guess),
        "Recall": metrics.recall_score(positive, guess),
        "F1": metrics.f1_score(positive, guess),
        "PRBEP": metrics.recall_score(positive, scores >= np.sort(scores)[-np.sum(positive)]),
        "ROCArea": metrics.roc_auc_score(positive, scores),
        "AvgPrec": metrics.average_precision_score(positive, scores),
    }
    for name, value in expected.items():
        assert f"\n{name:9}: {100 * value:5.2f}\n" in said
    assert f"Average loss on test set: {100 * (1 - expected['Accuracy']):.4f}\n" in said
    assert call("svmperf learn -v 0 -c 1 d m").out == ""
    assert call("svmperf classify -v 0 d m").out.startswith("Accuracy : ")
    assert (folder / "svm_predictions").is_file()


def test_equal_scores_are_in_the_worst_order():
    found = qualities([True, False, True, False], [1.0, 1.0, 1.0, 0.0])
    assert found["ROCArea"] == 50.0
    assert found["PRBEP"] == 50.0
    assert found["AvgPrec"] == pytest.approx(100 * (1 / 2 + 2 / 3) / 2)
    none = qualities([False, False], [1.0, -1.0])
    assert none["Recall"] == none["F1"] == none["PRBEP"] == 0.0
    assert np.isnan(none["ROCArea"])


def test_models_of_svm_light_with_several_vectors(call, folder):
    """Scores are the products with all support vectors, less b."""
    header = "SVM-light Version V6.20\n0 # kernel type\n3 # kernel parameter -d \n1 # kernel parameter -g \n"
    header += (
        "1 # kernel parameter -s \n1 # kernel parameter -r \nempty# kernel parameter -u \n3 # highest feature index \n"
    )
    header += "9 # number of training documents \n3 # number of support vectors plus 1 \n0.5 # threshold b, ...\n"
    (folder / "m").write_text(header + "2 1:1 3:0.5 #\n-1 2:4 qid:1 3:2 # a comment\n")
    (folder / "d").write_text("1 1:1 2:1 3:1 # with a comment\n# a line of comments\n-1 sid:2 cost:0.3 2:-1 9:5\n0\n")
    assert call("svmperf classify d m out").status == 0
    assert (folder / "out").read_text() == "-3.50000000\n3.50000000\n-0.50000000\n"
    model = load_model("m")
    (folder / "again").write_bytes(model.content())
    assert load_model("again") == model


WRONG = {
    "": (0, "Not enough input parameters!"),
    "-c 1": (0, "Not enough input parameters!"),
    "-z 1 d": (0, "Unrecognized option -z!"),
    "-c1 d": (0, "Unrecognized option -c1!"),
    "--z 1 d": (0, "Unrecognized option --z!"),
    "d": (0, "You have to specify a value for the parameter '-c' (C>0)!"),
    "-c -1 d": (0, "You have to specify a value for the parameter '-c' (C>0)!"),
    "-c 1 -e 0 d": (0, "The epsilon parameter must be greater than zero!"),
    "-c 1 -w 7 d": (0, "Algorithm type must be"),
    "-c 1 -l 4 --p 3 d": (0, "must not be larger than 1.0!"),
    "-c 1 -l 5 --p 0.5 d": (0, "must not be smaller than 1.0!"),
    "-c x d": (1, "-c must be followed by a finite number, got 'x'"),
    "-c 1 -t 2 d": (1, "kernels other than the linear one are not supported"),
    "-c 1 -o 1 d": (1, "slack rescaling"),
    "-c 1 -p 2 d": (1, "squared slacks"),
    "-c 1 --t 1 d": (1, "sparse kernel approximations"),
    "-c 1 -l 11 d": (1, "Unknown loss function '11'"),
    "-c 1 missing m": (1, "missing: No such file or directory"),
    "-c 1 bad m": (1, "Parsing error in line 2!"),
    "-c 1 one m": (1, "needs both classes"),
    "-c 1 d no/m": (1, "no/m: "),
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_calls_of_learn(call, folder, words):
    (folder / "d").write_text("1 1:1\n-1 1:-1\n1 1:2\n")
    (folder / "bad").write_text("1 1:1\n-1 1:x\n")
    (folder / "one").write_text("1 1:1\n1 1:2\n")
    status, message = WRONG[words]
    said = call(f"svmperf learn {words}")
    assert said.status == status
    assert message in (said.err if status else said.out)
    assert not (folder / "m").exists()


def test_options_without_effect(call, folder):
    (folder / "d").write_text("1 1:1\n-1 1:-1\n1 1:2\n")
    words = "-w 3 -y 0 -k 100 -f 5 -b 100 -n 10 -q 10 -m 40 -h 100 -# 1000 -t 0 -d 3 -g 1 -s 1 -r 1 -u x -p 1 -o 2 -a x"
    said = call(f"svmperf learn {words} --s 1 --i 2 --k 500 --r 0 --f x --t 0 -c 1 d m")
    assert said.status == 0
    assert load_model("m").weights
    assert call("svmperf learn -?").out.startswith("usage: svm_perf_learn")


def test_wrong_calls_of_classify(call, folder):
    (folder / "d").write_text("1 1:1\n-1 1:-1\n")
    (folder / "empty").write_text("")
    call("svmperf learn -c 1 d m")
    good = (folder / "m").read_text()
    assert call("svmperf classify d").status == 0
    assert "Unrecognized option -z!" in call("svmperf classify -z 1 d m").out
    (folder / "rbf").write_text(good.replace("0 # kernel type", "2 # kernel type"))
    (folder / "old").write_text(good.replace("V6.20", "V5.00"))
    (folder / "cut").write_text("\n".join(good.split("\n")[:11]))
    for words, message in {
        "d missing out": "missing: No such file or directory",
        "d rbf out": "only models with the linear kernel",
        "d old out": "Version of model-file does not match",
        "d cut out": "Parsing error while reading model file in SV 1!",
        "missing m out": "missing: No such file or directory",
        "empty m out": "holds no examples",
        "d m no/out": "no/out",
    }.items():
        said = call(f"svmperf classify {words}")
        assert said.status == 1
        assert message in said.err
    assert not (folder / "out").exists()
