"""``python -m fenchel.lowerbounds``: print, and with ``--plot`` draw, the iterates of solvers."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fenchel.lowerbounds import CONSTRUCTIONS
from fenchel.lowerbounds.report import (
    ACCURACIES,
    draw,
    formula_checks,
    gap_lines,
    limit_check,
    measured_rates,
    rate_check,
    rate_lines,
    span_check,
)


def main(arguments: list[str] | None = None) -> int:
    """Print the report; the exit status is 0 if every check holds."""
    parser = argparse.ArgumentParser(prog="python -m fenchel.lowerbounds", description=__doc__)
    parser.add_argument(
        "--plot", nargs="?", type=Path, const=Path("lowerbounds.png"), help="draw the gaps into this file"
    )
    options = parser.parse_args(arguments)
    for kind in CONSTRUCTIONS.values():
        print("\n".join([*gap_lines(kind), ""]), flush=True)
    rates = measured_rates()
    print("\n".join([*rate_lines(rates), ""]), flush=True)
    checks = [
        check for kind in CONSTRUCTIONS.values() for epsilon in ACCURACIES for check in formula_checks(kind, epsilon)
    ]
    checks += [
        limit_check(),
        *map(span_check, ACCURACIES),
        *(check for check in map(rate_check, rates) if check is not None),
    ]
    print("\n".join(str(check) for check in checks))
    if options.plot is not None:
        _plot(options.plot)
    holding = sum(check.holds for check in checks)
    print(f"{holding} of {len(checks)} checks hold")
    return 0 if holding == len(checks) else 1


def _plot(file: Path) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("--plot needs matplotlib: pip install 'fenchel[plot]'") from error
    figure = Figure(figsize=(11.0, 6.5), layout="constrained")
    for axes, kind in zip(figure.subplots(2, 3).ravel(), CONSTRUCTIONS.values(), strict=True):
        draw(axes, kind)
    figure.savefig(file, dpi=130)
    print(f"drawn: {file}")


if __name__ == "__main__":
    sys.exit(main())
