"""Random problems, kernels and fits: cases in chunks, kept as they come, and a report.

``python -m campaign problems --seed 0 --cases 1000000 --processes 2`` goes on where the last run of this seed ended;
``python -m campaign problems --seed 0 --case 123`` runs one case again and shows it.
"""

import json
import math
import multiprocessing
import sys
import time
from collections import Counter, defaultdict

from campaign.fitted import run_fit, run_kernel_fit
from campaign.judging import run_case
from campaign.kernels import run_kernel_case
from campaign.loops import use_compiled_loops, use_plain_loops
from fenchel.solvers import SOLVERS

#: what runs a case of a seed and a number, by part
RUNNERS = {
    "problems": run_case,
    "kernels": run_kernel_case,
    "estimators": run_fit,
    "kernel_estimators": run_kernel_fit,
}
#: cases of a line in the file of results; a fit takes fifty times as long as a problem
CHUNKS = {"problems": 500, "kernels": 500, "estimators": 50, "kernel_estimators": 50}
#: bins of the logarithm of floor over true error, for each factor of ten
BINS = 20
#: a stratum with a smaller share of the cases than this is too thin: 1 in 1,000
LEAST_SHARE = 1e-3
#: the same for solvers and pairs, which are drawn rarely
LEAST_SOLVER_SHARE = 1e-5
#: cases that a report lists
MOST_SHOWN = 1000
RARE = ("solver", "conic", "other lam")


def run_chunk(task):
    """The tallies of a chunk of cases, in types that JSON knows."""
    part, seed, first, count = task
    begin = time.process_time()
    strata, refused, wrong, unexpected, ratios = Counter(), Counter(), [], [], defaultdict(Counter)
    judged = certificates = contradictory = 0
    for index in range(first, first + count):
        outcome = RUNNERS[part](seed, index)
        if outcome.wrong:
            wrong.append({"case": index, "strata": outcome.strata, "wrong": outcome.wrong[:4]})
        unexpected += [{"case": index, "what": line[:200]} for line in outcome.unexpected]
        if outcome.refused is not None:
            refused[outcome.refused[:60]] += 1
            continue
        judged += 1
        certificates += outcome.certificates
        contradictory += outcome.contradictory
        strata.update(f"{dimension}: {value}" for dimension, value in outcome.strata.items())
        for ratio in outcome.ratios:
            # a floor of 1e255 over an error of 1e-80 is larger than any float
            place = math.floor(BINS * math.log10(min(ratio, sys.float_info.max))) if ratio > 0.0 else -BINS
            for name in ("all", f"loss: {outcome.strata['loss']}", f"regularizer: {outcome.strata['regularizer']}"):
                ratios[name][place] += 1
    return {
        "first": first,
        "count": count,
        "judged": judged,
        "certificates": certificates,
        "contradictory": contradictory,
        "seconds": time.process_time() - begin,
        "strata": strata,
        "refused": refused,
        "wrong": wrong,
        "unexpected": unexpected,
        "ratios": {name: {str(place): many for place, many in one.items()} for name, one in ratios.items()},
    }


def run(part, seed, cases, path, *, budget=math.inf, processes=1, compiled=False, show=True):
    """Run the chunks that ``path`` lacks, until the budget in seconds is spent; returns the report."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = {line["first"] for line in _lines(path)}
    size = CHUNKS[part]
    tasks = [(part, seed, first, min(size, cases - first)) for first in range(0, cases, size) if first not in done]
    begin, finished = time.monotonic(), 0
    with path.open("a", encoding="utf-8") as stream, _pool(processes, compiled) as results:
        for result in results(tasks):
            stream.write(json.dumps(result) + "\n")
            stream.flush()
            finished += 1
            elapsed = time.monotonic() - begin
            if show:
                print(
                    f"\r{(len(done) + finished) * size:,} of {cases:,} cases, {finished * size / elapsed:.0f}/s",
                    end="",
                    file=sys.stderr,
                )
            if elapsed > budget:
                break
    return report(part, path)


class _pool:  # noqa: N801 (a context manager that reads like a function)
    """A function that maps chunks to results, as they come, in this process or in others."""

    def __init__(self, processes, compiled):
        self.processes, self.initializer = processes, use_compiled_loops if compiled else use_plain_loops

    def __enter__(self):
        if self.processes == 1:
            self.initializer()
            self.pool = None
            return lambda tasks: map(run_chunk, tasks)
        self.pool = multiprocessing.get_context("spawn").Pool(self.processes, self.initializer)
        return lambda tasks: self.pool.imap_unordered(run_chunk, tasks)

    def __exit__(self, *_):
        if self.pool is not None:
            self.pool.terminate()
            self.pool.join()


def _lines(path):
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            # the last line of a run that was killed
            continue


def report(part, path):
    """The sums of all chunks in a file."""
    total, refused, wrong, unexpected = Counter(), Counter(), [], []
    strata = Counter({f"solver: {name}": 0 for name in SOLVERS} if part == "problems" else {})
    ratios = defaultdict(Counter)
    for line in _lines(path):
        total.update({name: line[name] for name in ("count", "judged", "certificates", "contradictory", "seconds")})
        strata.update(line["strata"])
        refused.update(line["refused"])
        wrong += line["wrong"]
        unexpected += line["unexpected"]
        for name, bins in line["ratios"].items():
            ratios[name].update({int(place): many for place, many in bins.items()})
    return {
        "cases": total["count"],
        "problems": total["judged"],
        "certificates": total["certificates"],
        "wrong": len(wrong),
        "contradictory": total["contradictory"],
        "unexpected": len(unexpected),
        "processor seconds": round(total["seconds"], 1),
        "median of floor over true error": {name: _median(bins) for name, bins in sorted(ratios.items())},
        "thin strata": _thin(strata, total["judged"]),
        "strata": dict(sorted(strata.items())),
        "refused": dict(refused.most_common()),
        "wrong cases": sorted(wrong, key=lambda one: one["case"])[:MOST_SHOWN],
        "unexpected cases": sorted(unexpected, key=lambda one: one["case"])[:MOST_SHOWN],
    }


def _median(bins):
    """The median from the counts of bins, to the upper end of a bin."""
    half, seen = sum(bins.values()) / 2.0, 0
    for place, many in sorted(bins.items()):
        seen += many
        if seen >= half:
            return float(f"{10.0 ** ((place + 1) / BINS):.3g}")
    return None


def _thin(strata, judged):
    """Strata with less than their minimum count."""
    thin = {}
    for name, many in strata.items():
        rare = name.startswith(RARE)
        least = judged * (LEAST_SOLVER_SHARE if rare else LEAST_SHARE)
        if many < least:
            thin[name] = f"{many} of at least {math.ceil(least)}"
    return thin


def recheck(part, seed, path):
    """Judge the wrong and unexpected cases of a file again, by the present code; returns those that remain."""
    use_plain_loops()
    found = report(part, path)
    cases = sorted({one["case"] for one in (*found["wrong cases"], *found["unexpected cases"])})
    outcomes = {index: RUNNERS[part](seed, index) for index in cases}
    return {
        "rechecked": len(cases),
        "wrong": {index: one.wrong for index, one in outcomes.items() if one.wrong},
        "unexpected": {index: one.unexpected for index, one in outcomes.items() if one.unexpected},
    }


def show_case(part, seed, index):
    """Run one case again and print it."""
    use_plain_loops()
    outcome = RUNNERS[part](seed, index)
    for name, value in outcome.strata.items():
        print(f"{name}: {value}")
    print(f"refused: {outcome.refused}" if outcome.refused else f"{outcome.certificates} certificates")
    for ratio in outcome.ratios:
        print(f"floor over true error: {ratio:.3g}")
    for line in outcome.wrong:
        print(f"WRONG: {line}")
    for line in outcome.unexpected:
        print(f"UNEXPECTED: {line}")
    return 1 if outcome.wrong or outcome.unexpected else 0
