"""Settings that every test shares: reproducible hypothesis runs and the shared data sets.

``FENCHEL_HYPOTHESIS_EXAMPLES`` raises the number of examples, ``FENCHEL_DATA`` says where the data lie (default
``../shared/data`` beside the project), ``FENCHEL_REQUIRE_DATA=1`` turns a missing data set from a skip to a failure.
A run takes some cases of large products, see products.py; ``--full-products`` takes all, and so does naming a case.
Tests marked ``thorough`` run with ``--full-products`` only, or by name.
"""

import gc
import lzma
import os
import signal

# before NumPy: each worker has one core, and threads of BLAS that wait for one another would take it
os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

from fenchel.compile.loop import Loop
from products import kept_calls, left_out
from quick_loops import quickly

PROJECT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser):
    parser.addoption(
        "--full-products", action="store_true", help="all cases, not only enough that every two values meet"
    )


def pytest_configure(config):
    examples = 60 if config.getoption("full_products") else 8
    settings.register_profile(
        "fenchel",
        derandomize=True,
        deadline=None,
        max_examples=int(os.environ.get("FENCHEL_HYPOTHESIS_EXAMPLES", examples)),
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("fenchel")


def _takes_all(config):
    return config.getoption("full_products") or any("[" in argument for argument in config.args)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    # --doctest-modules is for src: it would search every test and helper, and finds nothing there
    collectors = yield
    return [one for one in collectors if not isinstance(one, DoctestModule)]


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc):
    yield
    # before pytest makes items of them, twice as many as run; a law of several functions waits for all of them
    mark = metafunc.definition.get_closest_marker("meetings")
    if metafunc._calls and not (_takes_all(metafunc.config) or (mark and "law" in mark.kwargs)):
        metafunc._calls = kept_calls(metafunc._calls, mark)


def pytest_collection_modifyitems(config, items):
    if _takes_all(config):
        return
    left = left_out(items)
    if not any("::" in argument for argument in config.args):
        left.update(item for item in items if item.get_closest_marker("thorough"))
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def pytest_collection_finish():
    # twenty thousand cases and all modules live to the end: without this, the garbage collector takes a twelfth of the
    # time to traverse them
    gc.collect()
    gc.freeze()
    # compiling makes hundreds of thousands of objects that live until it ends
    gc.set_threshold(50_000, 20, 20)


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
    """A function from a number of random problems to the number that is tried: an eighth without ``--full-products``.

    A second argument says which part is tried, for expensive ones: 10 is a tenth.
    """
    return lambda count, part=8: count if request.config.getoption("full_products") else -(-count // part)


@pytest.fixture(scope="session")
def full_products(request):
    """Whether all cases run: what a quick run makes smaller has its whole size there."""
    return request.config.getoption("full_products")


@pytest.fixture(scope="session", autouse=True)
def quick_loops(request):
    """Without ``--full-products``, loops are compiled for fewer kinds of arguments, see quick_loops.py."""
    with pytest.MonkeyPatch.context() as patch:
        if not request.config.getoption("full_products"):
            patch.setattr(Loop, "__call__", quickly(Loop.__call__))
        yield


@pytest.fixture
def plain_interrupts():
    """Python's own handler: a process that was started in the background ignores the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def own_storage(monkeypatch):
    """Loops read the user's own arrays, however few their entries."""
    monkeypatch.setattr("fenchel.designs.rows._FEW_ENTRIES", -1)


@pytest.fixture
def plain_loops(monkeypatch):
    """Loops in plain Python, where compiling would take longer than running."""
    monkeypatch.setattr(Loop, "__call__", lambda self, *arguments: self._function(*arguments))


@pytest.fixture
def rarely_compiled(request):
    """The same, except with ``--full-products``: for a law whose loops other laws compile in every run."""
    if not request.config.getoption("full_products"):
        request.getfixturevalue("plain_loops")


@pytest.fixture(scope="session")
def load_shared():
    """A function from the name of an svmlight file (.xz) to (X in CSR, y)."""
    from sklearn.datasets import load_svmlight_file

    def load(name, n_features=None):
        with lzma.open(shared_file(name)) as stream:
            X, y = load_svmlight_file(stream, n_features=n_features)
        return X, y

    return load
