"""Whether the tests still kill every stored mutant: ``python tests/mutants/run.py --only losses``.

Each mutant is put into a copy of the package in a temporary folder, and tests run on that copy until one fails: first
the test that killed it when it was stored, then, quickest first, those that call the mutated function (reach.py).  Only
cases that a plain run takes (products.py) are tried, and loops are not compiled, which for the small tests here is
faster.  pytest runs in a fork of a process that has all but the package imported (forked.py).  Results are kept in a
json file as they come, and a run resumes where the last one ended.
"""

import argparse
import ast
import functools
import json
import math
import os
import random
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from forked import ForkServer  # noqa: E402

#: where the laws of the three folders are
TESTS = [
    *("losses", "risks", "certificate", "regularizers/test_dual_pairs.py", "regularizers/test_regularizer_errors.py"),
    *("estimators/test_path.py", "solvers/test_constraints.py", "solvers/test_free_directions.py", "test_verify.py"),
]
#: seconds of tests tried against one mutant
ENOUGH = 20.0


def span(text, qualname):
    """The first and the last line, from zero and without the last, of a function in this text; None if it is gone."""
    body, function = ast.parse(text).body, None
    for name in qualname.split("."):
        named = [node for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name]
        if len(named) != 1:
            return None
        function, body = named[0], named[0].body
    return function.lineno - 1, function.end_lineno


def mutated(text, mutant):
    """The text with one line changed; None unless the line stands exactly once in its function."""
    found = span(text, mutant["function"])
    if found is None:
        return None
    lines = text.splitlines(keepends=True)
    places = [k for k in range(*found) if lines[k].strip() == mutant["line"]]
    if len(places) != 1:
        return None
    lines[places[0]] = lines[places[0]].replace(mutant["line"], mutant["mutant"])
    return "".join(lines)


@functools.cache
def server():
    """The process that pytest is forked from."""
    modules = ("pytest", "sklearn.utils.estimator_checks", "scipy.stats", "scipy.special")
    return ForkServer(*modules, NUMBA_DISABLE_JIT="1", OMP_NUM_THREADS="1")


def pytest_on(package, arguments, seconds=0):
    """The exit status of pytest with reach.py on the package in this folder, and its output.

    The status is negative if it was ended after these seconds.
    """
    code = f"""
import os, signal, sys
os.chdir({str(PROJECT)!r})
signal.alarm({math.ceil(seconds)})
import pytest
status = int(pytest.main(sys.argv[1:]))
sys.stdout.flush()
os._exit(status)
"""
    options = ["-q", "-p", "reach", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no", *arguments]
    path = [str(package), str(HERE), str(HERE.parent)]
    with tempfile.TemporaryDirectory() as streams:
        status, *output = server().run(
            code, Path(streams), path=path, arguments=options, PYTHONPATH=os.pathsep.join(path)
        )
    return status, "".join(output)


def reach(path):
    """What reach.py recorded on the package itself; recorded now if the file is not there."""
    if not path.exists():
        pytest_on(PROJECT / "src", ["--record-reach", str(path), *(f"tests/{name}" for name in TESTS)])
    return json.loads(path.read_text(encoding="utf-8"))


def callers(mutant, reached):
    """The quickest tests that call the mutated function, ``ENOUGH`` seconds of them, and the quickest files first."""
    name = f"{mutant['file']}::{mutant['function']}"
    calling = {test: one["seconds"] for test, one in reached.items() if name in one["functions"]}
    taken, files = [], {}
    for test in sorted(calling, key=calling.get):
        if sum(files.values()) < ENOUGH:
            taken.append(test)
            file = test.partition("::")[0]
            files[file] = files.get(file, 0.0) + calling[test]
    # the tests of a file stay together: they share fixtures
    return sorted(taken, key=lambda test: files[test.partition("::")[0]])


def tested(names, folder, seconds):
    """Whether one of these tests failed on the package in this folder, and which: (True, test), or (None, why)."""
    if not names:
        return False, ""
    taken = folder / "names.json"
    taken.write_text(json.dumps(names), encoding="utf-8")
    files = sorted({name.partition("::")[0] for name in names})
    status, printed = pytest_on(folder, ["-x", "--take-tests", str(taken), *files], max(1.0, seconds))
    if status < 0:
        return None, "timeout"
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", printed, re.MULTILINE)
    # 1: a test failed; 2: the tests could not even be read; 4 and 5: the test that is known has another name now
    if status == 1 and not failed:
        raise RuntimeError(f"pytest itself failed: {printed}")
    return (status in (1, 2), failed.group(1) if failed else "")


def judged(mutant, limit, recorded):
    """The result of one mutant: killed, survived, timeout or not applicable, with the test and the seconds."""
    begin = time.perf_counter()
    result = {"result": "survived", "killed_by": ""}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(PROJECT / "src" / "fenchel", folder / "fenchel")
        path = folder / mutant["file"]
        changed = mutated(path.read_text(encoding="utf-8"), mutant) if path.exists() else None
        if changed is None:
            return {"result": "not applicable", "killed_by": "", "seconds": 0.0}
        path.write_text(changed, encoding="utf-8")
        for known in (True, False) if "killed_by" in mutant else (False,):
            names = [mutant["killed_by"]] if known else callers(mutant, reach(recorded))
            killed, test = tested(names, folder, limit - (time.perf_counter() - begin))
            if killed is None:
                result = {"result": "timeout", "killed_by": ""}
                break
            if killed:
                result = {"result": "killed", "killed_by": test}
                break
    return {**result, "seconds": round(time.perf_counter() - begin, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=Path, default=HERE / "mutants.json")
    parser.add_argument("--results", type=Path, default=Path(tempfile.gettempdir()) / "fenchel_mutants.json")
    parser.add_argument("--reach", type=Path, default=Path(tempfile.gettempdir()) / "fenchel_reach.json")
    parser.add_argument("--only", default="", help="only mutants whose id, file or kind contains this")
    parser.add_argument("--seed", type=int, help="take them in a random order")
    parser.add_argument("--most", type=int, help="the largest number of mutants")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--keep", type=Path, help="write the killed mutants to this file, with the test")
    options = parser.parse_args()
    mutants = json.loads(options.mutants.read_text(encoding="utf-8"))
    mutants = [one for one in mutants if any(options.only in one[key] for key in ("id", "file", "kind"))]
    if options.seed is not None:
        random.Random(options.seed).shuffle(mutants)
    resumed = options.results.exists() and not options.fresh
    results = json.loads(options.results.read_text(encoding="utf-8")) if resumed else {}
    for mutant in mutants[: options.most]:
        if mutant["id"] not in results:
            results[mutant["id"]] = judged(mutant, options.limit, options.reach)
            options.results.write_text(json.dumps(results, indent=1), encoding="utf-8")
            print(mutant["id"], *results[mutant["id"]].values(), flush=True)
    counted = [results[one["id"]]["result"] for one in mutants if one["id"] in results]
    if options.keep:
        killed = [one for one in mutants if results.get(one["id"], {}).get("result") == "killed"]
        kept = [{**one, "killed_by": results[one["id"]]["killed_by"]} for one in killed]
        options.keep.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    for result in sorted(set(counted)):
        print(f"{result}: {counted.count(result)}")
    # a mutant that can't be applied proves nothing and has to be replaced
    return int(any(result != "killed" for result in counted))


if __name__ == "__main__":
    sys.exit(main())
