"""Compiled loops and their cache: kept on disk for the package, never for a user's loss, and it can't break a fit."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import fenchel
from catalog import CASES
from fenchel import solve
from fenchel.compile.cache import _CacheFile
from forked import ForkServer

PACKAGE = Path(fenchel.__file__).resolve().parent

USER_LOSS = """
from dataclasses import dataclass
from typing import ClassVar, NamedTuple
import numpy as np
from fenchel.losses import Loss

A = {factor}

class CompiledScaled(NamedTuple):
    factor: float
    def dual_step(self, label, alpha, score, curvature):
        return alpha - (alpha / self.factor + score - label) / (1.0 / self.factor + curvature)
    def kkt_margin(self, label, alpha, score):
        return 0.0

@dataclass(frozen=True)
class Scaled(Loss):
    '''A/2 (s - y)^2'''
    name: ClassVar[str] = "scaled"
    task: ClassVar[str] = "regression"
    smooth: ClassVar[bool] = True
    def value(self, s, y): return A / 2 * (s - y) ** 2
    def derivative(self, s, y): return A * (s - y)
    def conjugate(self, u, y): return u ** 2 / (2 * A) + u * y
    def domain(self, y): return np.full_like(y, -np.inf), np.full_like(y, np.inf)
    def dual_step(self, y, alpha, s, q): return alpha - (alpha / A + s - y) / (1 / A + q)
    def sublevel(self, level, y): return y - np.sqrt(2 * level / A), y + np.sqrt(2 * level / A)
    def best_intercept(self, s, y, c): return float(c @ (y - s) / c.sum())
    def compiled(self): return CompiledScaled(A)
"""

PRELUDE = """
import json, sys
import numpy as np
from fenchel import Problem, solve
from fenchel.risks import MeanRisk
from fenchel.compile.primitives.random_order import shuffle
from fenchel.compile.primitives.row_norms import squared_norms
from fenchel.designs import as_design
from fenchel.solvers.dual_coordinate.loop import epoch
X = np.random.default_rng(0).normal(size=(30, 3)); y = np.where(X[:, 0] > 0, 1.0, -1.0)
def fit(loss): return solve(Problem(X, MeanRisk(loss, y), 0.1), "dual_coordinate", tol=1e-10).certificate.primal
def short(kind="i8"):
    order, norms = np.arange(9, dtype=kind), np.empty(30)
    shuffle(order, 9, np.array([7], dtype=np.uint64))
    squared_norms(as_design(X).rows(), norms)
    return [order.tolist(), norms.tolist()]
def counts():
    s = epoch._dispatchers[()].stats
    return sum(s.cache_hits.values()), sum(s.cache_misses.values())
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run code in a process without a module of Fenchel; what it prints as JSON, and its error output."""
    # what is asked here is what is compiled when, not how fast it is then
    server, folder = ForkServer(NUMBA_OPT="0"), tmp_path_factory.mktemp("streams")

    def run(code, cache, *, path=(), package=PACKAGE.parent, warnings=None, arguments=()):
        environment = {"FENCHEL_CACHE_DIR": str(cache)}
        status, printed, errors = server.run(
            PRELUDE + textwrap.dedent(code), folder, path=[package, *path], warnings=warnings, arguments=arguments,
            **environment,
        )  # fmt: skip
        assert status == 0, errors[-3000:]
        return json.loads(printed.strip().splitlines()[-1]), errors

    yield run
    server.close()


def cache_files(cache):
    return {str(p.relative_to(cache)): p.stat().st_mtime_ns for p in cache.rglob("*.nb*")}


def copied_package(folder):
    shutil.copytree(PACKAGE, folder / "fenchel", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def compiled(tmp_path_factory, run):
    """A cache folder that one process made with two losses; what the process printed, and its error output."""
    folder = tmp_path_factory.mktemp("cache")
    code = """
    import fenchel.compile.stopwatch as watch
    watch._PATIENCE_SECONDS = 0.01
    from pathlib import Path
    hinge, first = fit('hinge'), counts()
    files = [str(path) for path in Path(sys.argv[1]).rglob('*.nb*')]
    print(json.dumps([hinge, fit('squared'), first, counts(), files, short()]))
    """
    return folder, *run(code, folder, arguments=[str(folder)])


@pytest.fixture
def cache(tmp_path, compiled):
    """A copy of that folder."""
    return shutil.copytree(compiled[0], tmp_path / "cache")


def test_second_process_compiles_nothing(cache, compiled, run):
    hinge, squared, first, both, files, _ = compiled[1]
    assert (first, both) == ([0, 1], [0, 2])
    before = cache_files(cache)
    # the second loss was one more entry, the old one stayed
    assert {str(Path(name).relative_to(compiled[0])) for name in files} < set(before)
    found, errors = run("print(json.dumps([fit('hinge'), fit('squared'), counts()]))", cache)
    assert found == [hinge, squared, [2, 0]]
    assert cache_files(cache) == before
    assert errors == ""


def test_edited_package_uses_a_new_folder(tmp_path, cache, compiled, run):
    package, before = copied_package(tmp_path / "copy"), compiled[1][1]
    code = "print(json.dumps([fit('squared'), counts()]))"
    # an equal copy elsewhere finds what the original compiled
    assert run(code, cache, package=package)[0] == [before, [1, 0]]
    folders = {p.name for p in cache.iterdir()}
    source = package / "fenchel" / "losses" / "residual.py"
    # half the bend of the conjugate is twice the loss
    text = source.read_text()
    text = text.replace(
        "CompiledResidual(0.0, 1.0, math.inf, math.inf)", "CompiledResidual(0.0, 0.5, math.inf, math.inf)"
    )
    text = text.replace("residual * (0.5 * residual)", "residual * residual")
    source.write_text(text)
    (after, (hits, _)), _ = run(code, cache, package=package)
    assert hits == 0
    assert after > before * 1.05
    assert len({p.name for p in cache.iterdir()} - folders) == len(folders)


@pytest.mark.thorough
def test_renamed_class_in_the_package_breaks_nothing(tmp_path, cache, compiled, run):
    package = copied_package(tmp_path / "copy")
    for source in (package / "fenchel" / "losses").glob("*.py"):
        source.write_text(source.read_text().replace("CompiledResidual", "RenamedKernel"))
    code = "print(json.dumps([fit('hinge'), fit('squared')]))"
    after, _ = run(code, cache, package=package, warnings="error")
    assert after == compiled[1][:2]


def test_a_users_loss_trains_and_is_never_stored(tmp_path, cache, run):
    home = tmp_path / "home"
    home.mkdir()
    module = home / "user_loss.py"
    module.write_text(USER_LOSS.format(factor="1.0"))
    code = "from user_loss import Scaled; print(json.dumps([fit(Scaled()), fit('squared')]))"
    (one, squared), _ = run(code, cache, path=[home])
    assert one == pytest.approx(squared, rel=1e-9)
    assert not [file for file in cache.rglob("*") if file.is_file() and b"user_loss" in file.read_bytes()]
    files = cache_files(cache)
    # edited: the new code runs
    module.write_text(USER_LOSS.format(factor="3.0"))
    (three, again), _ = run(code, cache, path=[home])
    assert again == squared
    assert three > squared * 1.05
    # the optimum of 3/2 r^2 at lam is 3 times that of r^2/2 at lam/3
    third = "solve(Problem(X, MeanRisk('squared', y), 0.1 / 3), 'dual_coordinate', tol=1e-10).certificate.primal"
    expected, _ = run(f"print(json.dumps(3 * {third}))", cache)
    assert three == pytest.approx(expected, rel=1e-9)
    # removed: built-in losses still work
    module.unlink()
    still, errors = run("print(json.dumps(fit('squared')))", cache, warnings="error")
    assert still == squared
    assert errors == ""
    assert cache_files(cache) == files


@pytest.mark.thorough
def test_a_loss_in_main_adds_no_cache_file(cache, run):
    files = cache_files(cache)
    code = USER_LOSS.format(factor="2.0") + "\nprint(json.dumps(fit(Scaled())))"
    first, _ = run(code, cache)
    assert first > 0.0
    assert cache_files(cache) == files


def test_unwritable_folder_gives_one_warning_and_works(tmp_path, compiled, run):
    file = tmp_path / "file"
    file.write_text("not a folder")
    # several loops, and one warning
    result, errors = run("print(json.dumps(short()))", file / "below", warnings="always")
    assert errors.count("CacheWarning") == 1
    assert "FENCHEL_CACHE_DIR" in errors
    assert result == compiled[1][5]


@pytest.mark.meetings(1, only=["pattern"])
@pytest.mark.parametrize(("pattern", "damage"), [("*.nbi", b"garbage"), ("*.nbi", None), ("*.nbc", b"")])
def test_damaged_cache_works(cache, compiled, pattern, damage, run):
    files = list(cache.rglob(pattern))
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:-20] if damage is None else damage)
    found, errors = run("print(json.dumps(short()))", cache, warnings="always")
    assert found == compiled[1][5]
    assert errors.count("CacheWarning") <= 1


def test_processes_that_compile_at_once_never_get_each_others_code(tmp_path, monkeypatch):
    """Both read the index before either writes; the second writes all it has just before the first one's code."""
    one, two = (_CacheFile(str(tmp_path), "loop", "stamp") for _ in range(2))
    monkeypatch.setattr(two, "_load_index", dict)
    write = one._save_data

    def late(*arguments):
        two.save("two", "code of two")
        write(*arguments)

    monkeypatch.setattr(one, "_save_data", late)
    one.save("one", "code of one")
    again = _CacheFile(str(tmp_path), "loop", "stamp")
    assert again.load("one") in (None, "code of one")
    assert again.load("two") == "code of two"


def test_long_compilation_is_announced_once(cache, compiled, run):
    assert compiled[2].count("compiling loops") == 1
    # there is nothing to announce where nothing is compiled
    code = "import fenchel.compile.stopwatch as watch; watch._PATIENCE_SECONDS = 0.01; print(json.dumps(fit('hinge')))"
    _, errors = run(code, cache)
    assert errors == ""


@pytest.mark.thorough
def test_quick_compilation_is_not_announced(cache, run):
    code = (
        "import fenchel.compile.stopwatch as watch; watch._PATIENCE_SECONDS = 60.0; print(json.dumps(fit('logistic')))"
    )
    _, errors = run(code, cache)
    assert errors == ""


def test_old_folders_are_removed(tmp_path, run):
    for name, age_days in (("old", 40), ("young", 3)):
        (tmp_path / name).mkdir()
        mark = tmp_path / name / "used"
        mark.touch()
        when = mark.stat().st_mtime - age_days * 86400
        os.utime(mark, (when, when))
    (tmp_path / "foreign").mkdir()
    run("from fenchel.compile.cache import cache_root; print(json.dumps(str(cache_root())))", tmp_path)
    assert not (tmp_path / "old").exists()
    assert (tmp_path / "young").exists()
    assert (tmp_path / "foreign").exists()


JIT_OFF = """
sys.path.insert(0, {tests!r})
from catalog import CASES
results = []
for case in CASES:
    if case.outputs is None:
        s = solve(case.problem(), max_iter=4, tol=1e-9)
        results.append([list(s.model.weights), float(s.model.intercept), list(s.witness.theta), s.passes])
print(json.dumps(results))
"""


def test_the_core_works_without_the_compiler(tmp_path):
    code = PRELUDE + JIT_OFF.format(tests=str(Path(__file__).resolve().parents[1]))
    settings = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "FENCHEL_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env={**settings, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    plain = json.loads(done.stdout.strip().splitlines()[-1])
    assert not cache_files(tmp_path)
    cases = [case for case in CASES if case.outputs is None]
    assert len(plain) == len(cases)
    for case, (weights, intercept, theta, passes) in zip(cases, plain, strict=True):
        solution = solve(case.problem(), max_iter=4, tol=1e-9)
        assert passes == pytest.approx(solution.passes)
        np.testing.assert_allclose(weights, solution.model.weights, rtol=1e-9, atol=1e-11, err_msg=str(case))
        np.testing.assert_allclose(theta, solution.witness.theta, rtol=1e-9, atol=1e-11, err_msg=str(case))
        assert intercept == pytest.approx(solution.model.intercept, rel=1e-9, abs=1e-10)


def test_two_threads_give_what_one_gives():
    problems = [case.problem() for case in CASES if case.intercept]
    alone = [solve(problem, tol=1e-8) for problem in problems]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda problem: solve(problem, tol=1e-8), problems * 2))
    for k, solution in enumerate(together):
        np.testing.assert_array_equal(solution.model.weights, alone[k % len(alone)].model.weights)
        np.testing.assert_array_equal(solution.witness.theta, alone[k % len(alone)].witness.theta)


#: short loops for two types, and whole fits
AT_ONCE = ["short, ['i4', 'i8']", "fit, ['hinge', 'squared']"]


@pytest.mark.thorough
@pytest.mark.parametrize("calls", AT_ONCE)
def test_threads_may_compile_at_once(tmp_path, run, calls):
    code = f"""
    from concurrent.futures import ThreadPoolExecutor
    call, kinds = {calls}
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(call, kinds * 2))
    print(json.dumps([together, [call(kind) for kind in kinds] * 2]))
    """
    (together, alone), _ = run(code, tmp_path, warnings="error")
    assert together == alone
