"""``python -m campaign NAME --seed S --budget SECONDS``: see README.md."""

import argparse
import importlib
import json
import sys
from pathlib import Path

#: sub-commands whose modules have ``run(seed, budget) -> report``, a dictionary with "defects"
NAMES = ("faults", "files", "front_ends", "checker", "arguments", "targets", "processes", "soak")
#: sub-commands that run cases in chunks, see problems.py
CASES = {
    "problems": "random problems, judged in exact arithmetic",
    "kernels": "random problems with Gram matrices, judged in exact arithmetic",
    "estimators": "fits of every estimator, judged in exact arithmetic",
    "kernel_estimators": "fits of kernel estimators at many scales, judged in exact arithmetic",
}


def parser():
    """The parser of all sub-commands."""
    top = argparse.ArgumentParser(prog="python -m campaign", description=__doc__)
    commands = top.add_subparsers(dest="name", required=True)
    for name, shown in CASES.items():
        command = commands.add_parser(name, help=shown)
        command.add_argument("--cases", type=int, default=10_000, help="cases in all, with those of former runs")
        command.add_argument("--case", type=int, help="run this case alone and show it")
        command.add_argument("--recheck", action="store_true", help="judge the bad cases of former runs again")
        command.add_argument("--processes", type=int, default=1)
        command.add_argument("--compiled", action="store_true", help="compiled loops: slow to start, as users run them")
    for name in NAMES:
        commands.add_parser(name, help=importlib.import_module(f"campaign.{name}").__doc__.splitlines()[0])
    commands.choices["files"].add_argument("--readers", nargs="+", metavar="NAME", help="these alone")
    for command in commands.choices.values():
        command.add_argument("--seed", type=int, default=0)
        command.add_argument("--budget", type=float, default=60.0, help="seconds (%(default)s)")
        command.add_argument("--folder", type=Path, default=Path("out/campaign"), help="for reports (%(default)s)")
    return top


def main():
    """Run a sub-command, write its report, and return 1 if it found a defect."""
    options = parser().parse_args()
    report = options.folder / f"{options.name}-{options.seed}.json"
    if options.name in CASES:
        from campaign import problems

        if options.case is not None:
            return problems.show_case(options.name, options.seed, options.case)
        compiled = "-compiled" if options.compiled else ""
        path = options.folder / f"{options.name}-{options.seed}{compiled}.jsonl"
        if options.recheck:
            found = problems.recheck(options.name, options.seed, path)
            print(json.dumps(found, indent=1))
            return 1 if found["wrong"] or found["unexpected"] else 0
        found = problems.run(
            options.name,
            options.seed,
            options.cases,
            path,
            budget=options.budget,
            processes=options.processes,
            compiled=options.compiled,
        )
        defects = found["wrong"] + found["contradictory"] + found["unexpected"]
    else:
        more = {}
        if options.name == "files":
            more["chosen"] = options.readers
            more["former"] = json.loads(report.read_text()) if report.exists() else None
        found = importlib.import_module(f"campaign.{options.name}").run(options.seed, options.budget, **more)
        defects = len(found["defects"])
    options.folder.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(found, indent=1) + "\n")
    shown = {key: value for key, value in found.items() if key not in ("strata", "refused")}
    print(json.dumps(shown, indent=1))
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
