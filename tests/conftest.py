"""Settings that every test shares: reproducible hypothesis runs and the shared data sets.

``FENCHEL_HYPOTHESIS_EXAMPLES`` raises the number of examples, ``FENCHEL_DATA`` says where the data lie (default
``../shared/data`` beside the project), ``FENCHEL_REQUIRE_DATA=1`` turns a missing data set from a skip to a failure.
A run takes some cases of large products, see products.py; ``--full-products`` takes all, and so does naming a case.
"""

import lzma
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from products import axes_of, covering

PROJECT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser):
    parser.addoption(
        "--full-products", action="store_true", help="all cases, not just so many that every two values meet"
    )


def pytest_configure(config):
    examples = 60 if config.getoption("full_products") else 20
    settings.register_profile(
        "fenchel",
        derandomize=True,
        deadline=None,
        max_examples=int(os.environ.get("FENCHEL_HYPOTHESIS_EXAMPLES", examples)),
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("fenchel")


def pytest_collection_modifyitems(config, items):
    if config.getoption("full_products") or any("[" in argument for argument in config.args):
        return
    functions = {}
    for item in items:
        if hasattr(item, "callspec"):
            mark = item.get_closest_marker("meetings")
            law = mark.kwargs.get("law") if mark else None
            # what is expected to fail stands for nothing else
            key = law or item.nodeid.partition("[")[0], item.get_closest_marker("xfail") is None
            functions.setdefault(key, []).append(item)
    left_out = set()
    for cases in functions.values():
        mark = cases[0].get_closest_marker("meetings")
        chosen = covering([axes_of(case.callspec.params) for case in cases], *(mark.args if mark else ()))
        left_out.update(set(cases) - {cases[place] for place in chosen})
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def shared_file(name):
    """The path of a shared data file; skips, or fails where data are required, if it is not there."""
    folder = Path(os.environ.get("FENCHEL_DATA") or PROJECT.parent / "shared" / "data")
    path = folder / name
    if not path.exists():
        reason = f"shared data file {name} is not in {folder} (set FENCHEL_DATA)"
        if os.environ.get("FENCHEL_REQUIRE_DATA") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@pytest.fixture(scope="session")
def portion(request):
    """A function from a number of random problems to how many of them are tried: a fifth if not all are asked for."""
    return lambda count: count if request.config.getoption("full_products") else -(-count // 5)


@pytest.fixture(scope="session")
def load_shared():
    """A function from the name of an svmlight file (.xz) to (X in CSR, y)."""
    from sklearn.datasets import load_svmlight_file

    def load(name, n_features=None):
        with lzma.open(shared_file(name)) as stream:
            X, y = load_svmlight_file(stream, n_features=n_features)
        return X, y

    return load
