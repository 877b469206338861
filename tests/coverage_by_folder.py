"""Print the coverage of each folder of the package, from what ``make coverage`` recorded."""

import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    """A table in Markdown: statements and branches that ran, of those there are."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "coverage.json"
        command = [sys.executable, "-m", "coverage", "json", "-q", "-o", str(path), *sys.argv[1:]]
        subprocess.run(command, check=True)
        files = json.loads(path.read_text(encoding="utf-8"))["files"]
    totals = collections.defaultdict(collections.Counter)
    for name, file in files.items():
        parts = Path(name).parts
        parts = parts[parts.index("fenchel") + 1 :]
        # a solver is a folder of its own
        room = "/".join(parts[: 2 if parts[0] == "solvers" and len(parts) > 2 else 1]) if len(parts) > 1 else "(files)"
        totals[room].update({key: value for key, value in file["summary"].items() if isinstance(value, int)})
    print("| folder | statements | covered | branches | covered |\n|---|---|---|---|---|")
    for room, total in sorted(totals.items()):
        statements, branches = max(1, total["num_statements"]), max(1, total["num_branches"])
        print(
            f"| {room} | {total['num_statements']} | {total['covered_lines'] / statements:.0%} "
            f"| {total['num_branches']} | {total['covered_branches'] / branches:.0%} |"
        )


if __name__ == "__main__":
    main()
