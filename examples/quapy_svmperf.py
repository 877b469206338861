"""QuaPy's wrapper of SVM-perf on Fenchel's executables, with all of its losses.

    pip install quapy
    python examples/quapy_svmperf.py [FOLDER ...]

The first column of each kind is Fenchel's; a FOLDER with other executables `svm_perf_learn` and `svm_perf_classify`,
such as those of SVM-perf with QuaPy's patch, adds another.
"""

import sys
import tempfile
from importlib.metadata import version

from quapy.classification.svmperf import SVMperf
from sklearn.datasets import make_classification

from fenchel.cli.main import main

X, y = make_classification(600, 20, weights=[0.7], flip_y=0.05, random_state=0)
train, test = slice(400), slice(400, None)

with tempfile.TemporaryDirectory() as folder:
    if main(["install-frontends", folder]):
        sys.exit("the executables could not be written")
    programs = [folder, *sys.argv[1:]]
    print(f"QuaPy {version('quapy')}: {sum(y[test] == 1)} positives among {len(y[test])} test rows")
    print("loss   accuracy" + 9 * len(programs) * " " + "predicted positives")
    for loss in SVMperf.valid_losses:
        models = [SVMperf(program, C=1, loss=loss).fit(X[train], y[train]) for program in programs]
        found = [model.predict(X[test]) for model in models]
        shares = "".join(f"{(one == y[test]).mean():9.3f}" for one in found)
        print(f"{loss:6}{shares}        {''.join(f'{sum(one == 1):9}' for one in found)}")
