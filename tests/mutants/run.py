"""Whether the tests still kill every stored mutant: ``python tests/mutants/run.py --only losses``.

Each mutant is put into a copy of the package in a temporary folder, and tests run on that copy until one fails: first
the test that killed it when it was stored, then the files of its room.  Loops are not compiled, which for the small
tests here is faster.  Results are kept in a json file as they come, and a run goes on where the last one ended.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
#: quick files of each room without compiled loops, those that kill most first
TESTS = {
    "certificate": [
        "solvers/test_free_directions",
        "regularizers/test_dual_pairs",
        "certificate/test_certificate",
        "estimators/test_path",
    ],
    "losses": [
        "losses/test_losses",
        "losses/test_loss_curve",
        "solvers/test_constraints",
        "losses/test_loss_parameters",
        "losses/test_power_losses",
    ],
    "risks": [
        "risks/test_ordinal",
        "risks/test_measures",
        "risks/test_smoothed_risks",
        "risks/test_multinomial",
        "risks/test_measure_duals",
    ],
}


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


def trials(mutant):
    """What pytest is asked to run, in this order."""
    known = mutant.get("killed_by")
    room = mutant["file"].split("/")[1]
    files = [f"tests/{name}.py" for name in TESTS[room]]
    # a test whose name has changed is no test: its file is tried then
    return [*([known] if known else []), *files]


def tested(asked, folder, seconds):
    """Whether a test failed on the package in this folder, and which: (True, test), (False, "") or (None, why)."""
    quiet = {"NUMBA_DISABLE_JIT": "1", "FENCHEL_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no", asked]
    try:
        run = subprocess.run(
            command,
            cwd=PROJECT,
            env={**os.environ, **quiet},
            capture_output=True,
            text=True,
            timeout=max(1.0, seconds),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, "timeout"
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", run.stdout, re.MULTILINE)
    # 1: a test failed; 2: the tests could not even be read
    return (run.returncode in (1, 2), failed.group(1) if failed else "")


def judged(mutant, limit):
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
        for asked in trials(mutant):
            killed, test = tested(asked, folder, limit - (time.perf_counter() - begin))
            if killed is None:
                result = {"result": "timeout", "killed_by": asked}
                break
            if killed:
                result = {"result": "killed", "killed_by": test or asked}
                break
    return {**result, "seconds": round(time.perf_counter() - begin, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=Path, default=HERE / "mutants.json")
    parser.add_argument("--results", type=Path, default=Path(tempfile.gettempdir()) / "fenchel_mutants.json")
    parser.add_argument("--only", default="", help="those whose id, file or kind holds this")
    parser.add_argument("--seed", type=int, help="take them in a random order")
    parser.add_argument("--most", type=int, help="so many at most")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--keep", type=Path, help="write those that were killed to this file, with the test")
    options = parser.parse_args()
    mutants = json.loads(options.mutants.read_text(encoding="utf-8"))
    mutants = [one for one in mutants if any(options.only in one[key] for key in ("id", "file", "kind"))]
    if options.seed is not None:
        random.Random(options.seed).shuffle(mutants)
    resumed = options.results.exists() and not options.fresh
    results = json.loads(options.results.read_text(encoding="utf-8")) if resumed else {}
    for mutant in mutants[: options.most]:
        if mutant["id"] not in results:
            results[mutant["id"]] = judged(mutant, options.limit)
            options.results.write_text(json.dumps(results, indent=1), encoding="utf-8")
            print(mutant["id"], *results[mutant["id"]].values(), flush=True)
    counted = [results[one["id"]]["result"] for one in mutants if one["id"] in results]
    if options.keep:
        killed = [one for one in mutants if results.get(one["id"], {}).get("result") == "killed"]
        kept = [{**one, "killed_by": results[one["id"]]["killed_by"]} for one in killed]
        options.keep.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    for result in sorted(set(counted)):
        print(f"{result}: {counted.count(result)}")
    # a mutant that can't be applied is to be written anew: it proves nothing
    return int(any(result != "killed" for result in counted))


if __name__ == "__main__":
    sys.exit(main())
