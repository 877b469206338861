"""Names and compiled code are loaded on first use, while the garbage collector waits."""

import gc
import os
import subprocess
import sys
import threading
import warnings

import pytest

from fenchel.loading import no_collection, of_package, on_first_use


@pytest.fixture(params=[True, False], ids=["collector on", "collector off"])
def collector(request):
    was_on = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if was_on else gc.disable)()


def test_the_collector_is_as_before_after_nested_loads_and_errors(collector):
    with pytest.raises(KeyboardInterrupt), no_collection():
        with no_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise KeyboardInterrupt
    assert gc.isenabled() == collector


def test_the_last_of_several_threads_turns_the_collector_on(collector):
    inside, go_on = threading.Event(), threading.Event()

    def load():
        with no_collection():
            inside.set()
            go_on.wait(10.0)

    thread = threading.Thread(target=load)
    with no_collection():
        thread.start()
        assert inside.wait(10.0)
    # the other one is still loading
    assert not gc.isenabled()
    go_on.set()
    thread.join()
    assert gc.isenabled() == collector


def test_programs_keep_what_they_load_out_of_collections():
    code = """
import gc
from fenchel.loading import keep_what_loads, no_collection
counts = []
for prepare in (lambda: None, keep_what_loads):
    prepare()
    with no_collection():
        loaded = [[] for _ in range(1000)]
    counts.append(gc.get_freeze_count())
print(counts[0], counts[1] > 1000, gc.isenabled())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 True True\n"


def test_names_are_imported_once_and_unknown_ones_named():
    namespace = {"__name__": "package"}
    imported = on_first_use(namespace, {"sqrt": "math"})
    assert imported("sqrt")(9.0) == 3.0
    assert namespace["sqrt"](4.0) == 2.0
    with pytest.raises(AttributeError, match="module 'package' has no attribute 'cbrt'"):
        imported("cbrt")


def test_submodules_have_no_other_home():
    assert on_first_use({"__name__": "json"}, {"decoder": None})("decoder").__name__ == "json.decoder"


def test_the_module_of_a_public_class_is_its_room():
    class Inner:
        __module__ = "fenchel.estimators.somewhere.deep"

    assert of_package(Inner).__module__ == "fenchel.estimators"


def test_one_estimator_is_imported_without_the_others():
    """Nor all solvers, nor scikit-learn's metrics."""
    code = "import sys; from fenchel import LinearClassifier; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "fenchel.estimators.classifier" in loaded
    assert not {f"fenchel.estimators.{name}" for name in ("cv", "kernel_base", "online", "path")} & set(loaded)
    folders = {name.split(".")[2] for name in loaded if name.startswith("fenchel.solvers.")}
    assert not folders & {"bundle", "constrained", "interior_point", "l1", "reference", "smoothing"}
    assert not {"sklearn.metrics", "sklearn.model_selection"} & set(loaded)


def test_a_fit_without_loops_does_not_load_numba():
    """Multinomial regression of few features is NumPy alone; the import of numba takes longer than many such fits."""
    code = """
import sys
from sklearn.datasets import load_iris
from fenchel import LinearClassifier
LinearClassifier("logistic", random_state=0).fit(*load_iris(return_X_y=True))
print("fenchel.compile.loop" in sys.modules, "numba" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert found.split() == ["True", "False"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_process_does_not_inherit_what_another_thread_loads():
    began, ended = threading.Event(), threading.Event()

    def load():
        with no_collection():
            began.set()
            ended.wait()

    thread = threading.Thread(target=load)
    thread.start()
    began.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        with no_collection():
            pass
        os._exit(0 if gc.isenabled() else 1)
    ended.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert gc.isenabled()
