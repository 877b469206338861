r"""The report of the lower bounds: gaps against formulas, rates against Table 1, and checks.

For every accuracy the step :math:`T(\varepsilon)` is the first k with :math:`J(w_k) - J^* \le \varepsilon`, on the
construction for that accuracy (a weak lower bound) or on the one problem that there is (a strong one); the exponent p
of :math:`T \sim \varepsilon^{-p}` is fitted to the logarithms.  Table 1 of Zhang, Saha and Vishwanathan (2010) says
which one to expect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from fenchel.arrays import Floats
from fenchel.lowerbounds import CONSTRUCTIONS
from fenchel.lowerbounds.construction import Construction, bundle, gaps, weights_of
from fenchel.lowerbounds.every_kink import HingeLoss
from fenchel.lowerbounds.four_points import FourPoints
from fenchel.lowerbounds.hadamard import Hadamard
from fenchel.lowerbounds.subgradient import Subgradient
from fenchel.solvers import Pegasos, Pragam, Solver
from fenchel.solvers.bundle.solver import Bundle
from fenchel.solving.loop import solve

#: absolute error of objectives up to which a formula counts as confirmed
EXACT = 1e-9
#: accuracies epsilon for which formulas are checked
ACCURACIES = (0.33, 0.1, 1.0 / 32.0)
#: steps measured at most, and the k at which the limit of the four points is checked
_STEPS, _FAR = 64, 20_000
#: tolerances of a fitted exponent, and of the limit at a finite k (relative)
_NEAR, _NEAR_LIMIT = 0.15, 0.01
#: accuracies of the constructions that depend on it, and of the one that does not
RATE_ACCURACIES = tuple(2.0**-power for power in range(3, 8))
FINE_ACCURACIES = tuple(2.0**-power for power in range(6, 13))
#: as many steps as a solver gets, in units of 1/epsilon
_MOST = 60.0
#: the solvers whose iterates are combinations of subgradients with steps 1/(lam t)
_SUBGRADIENT = ("pegasos", "subgradient", "mean subgradient")
#: a solver that never needs more steps than this ends at the optimum
_FEW = 6


@dataclass(frozen=True)
class Check:
    """One statement of the theory, and whether it holds."""

    statement: str
    holds: bool

    def __str__(self) -> str:
        return f"  {'holds' if self.holds else 'FAILS'}: {self.statement}"


@dataclass(frozen=True)
class Rate:
    """The measurements of one solver on one construction."""

    construction: type[Construction]
    solver: str
    accuracies: tuple[float, ...]
    #: T of each accuracy; None if it was not reached
    steps: tuple[int | None, ...]
    #: what the paper says
    paper: str

    @property
    def exponent(self) -> float:
        """p of T ~ eps^-p; 0 if a few steps always suffice, NaN if an accuracy was not reached."""
        found = [step for step in self.steps if step is not None]
        if len(found) < len(self.steps):
            return float("nan")
        if max(found) <= _FEW:
            return 0.0
        return float(np.polyfit(-np.log(self.accuracies), np.log(found), 1)[0])


def contenders() -> dict[str, Solver]:
    """The solvers that are measured: the bundle methods of the papers, pragam, and subgradient methods.

    Pegasos takes all examples in a step, so that its iterates are not random; they are the last ones, not averages.
    """
    return {
        "line-search bundle": bundle("line_search"),
        "qp bundle": bundle("qp"),
        "pragam": Pragam(lipschitz="data"),
        "pegasos": Pegasos(batch="all"),
        "subgradient": Subgradient(),
        "mean subgradient": Subgradient(averages=True),
    }


#: the constructions on which a solver is measured, if not on all: pragam's rate needs rows of bounded length, pegasos
#: the hinge
_MEASURED: dict[str, tuple[type[Construction], ...]] = {"pragam": (FourPoints,), "pegasos": (FourPoints, HingeLoss)}


def applies(solver: str, kind: type[Construction]) -> bool:
    """Whether a solver is measured on a construction."""
    return kind in _MEASURED.get(solver, (kind,))


def claim(solver: str, kind: type[Construction]) -> str:
    """The paper's Table 1; for subgradient methods the bounds of ``subgradient``."""
    if solver == "pragam":
        return "Θ(1/√ε)"
    if solver in _SUBGRADIENT:
        return "Θ(1/ε)" if kind is Hadamard and solver == "subgradient" else "O*(1/ε)"
    return "open" if solver == "qp bundle" and kind is FourPoints else "Θ(1/ε)"


def steps_to(solver: Any, construction: Construction, epsilon: float, most: int) -> int | None:
    """The first k with a gap of at most epsilon, up to rounding; None if it takes too many steps."""
    for k, weights in enumerate(weights_of(solver, construction), start=1):
        if construction.objective(weights) - construction.optimum <= epsilon * (1.0 + 1e-9):
            return k
        if k == most:
            break
    return None


def rate(name: str, solver: Any, kind: type[Construction]) -> Rate:
    """Measure one solver on one construction."""
    accuracies = FINE_ACCURACIES if kind is FourPoints else RATE_ACCURACIES
    steps = tuple(steps_to(solver, kind.for_accuracy(epsilon), epsilon, int(_MOST / epsilon)) for epsilon in accuracies)
    return Rate(kind, name, accuracies, steps, claim(name, kind))


def formula_checks(kind: type[Construction], epsilon: float) -> Iterator[Check]:
    """Iterates, gaps and the optimum of one construction against the closed forms."""
    construction = kind.for_accuracy(epsilon)
    count = min(construction.last, _STEPS)
    found = list(islice(weights_of(construction.solver, construction), count))
    steps = range(1, count + 1)
    apart = max(float(np.max(np.abs(w - construction.iterate(k)))) for w, k in zip(found, steps, strict=True))
    measured = [construction.objective(w) - construction.optimum for w in found]
    off = max(abs(gap - construction.gap(k)) for gap, k in zip(measured, steps, strict=True))
    where = f"{kind.name}, ε = {epsilon:.3g}, k = 1…{count}"
    yield Check(f"{where}: iterates are the closed forms (largest difference {apart:.1e})", apart <= EXACT)
    yield Check(f"{where}: gaps are the formula (largest difference {off:.1e})", off <= EXACT)
    best = solve(construction.problem, Bundle(), tol=1e-10, max_iter=2000).certificate
    inside = best.dual - EXACT <= construction.optimum <= best.primal + EXACT and best.gap <= 1e-7
    yield Check(f"{where}: J* = {construction.optimum:.9g} is between certified bounds", inside)


def limit_check() -> Check:
    """k (J(w_k) - J*) of the four points."""
    found = _FAR * FourPoints().gap(_FAR)
    near = abs(found - FourPoints.limit) <= _NEAR_LIMIT * FourPoints.limit
    return Check(f"four points: k (J(w_k) - J*) = {found:.6f} at k = {_FAR:,} tends to 1/8", near)


def rate_check(found: Rate) -> Check | None:
    """Whether a fitted exponent is the proved one; true where the paper leaves it open."""
    if found.paper == "open":
        return None
    where = f"{found.construction.name}, {found.solver}: exponent {found.exponent:.2f}"
    if found.solver == "pragam":
        return Check(f"{where}, at most 1/2 (within {_NEAR:g})", found.exponent <= 0.5 + _NEAR)
    if found.solver in _SUBGRADIENT and found.paper != "Θ(1/ε)":
        # O(log(1/eps)/eps): the logarithm alone has this exponent on these accuracies
        sizes = -np.log(found.accuracies)
        most = 1.0 + float(np.polyfit(sizes, np.log(sizes), 1)[0])
        return Check(
            f"{where}, at most {most:.2f}, that of log(1/ε)/ε (within {_NEAR:g})", found.exponent <= most + _NEAR
        )
    exact = found.solver.startswith(found.construction.inner.split("_")[0]) or found.solver in _SUBGRADIENT
    if exact:
        return Check(f"{where}, proved to be 1 (within {_NEAR:g})", abs(found.exponent - 1.0) <= _NEAR)
    return Check(f"{where}, at most 1 (within {_NEAR:g})", found.exponent <= 1.0 + _NEAR)


def span_check(epsilon: float) -> Check:
    """Whether J(w_t) - J* >= 1/(2 lam d) for t < d, for all solvers on Hadamard's pieces: see ``subgradient``."""
    construction = Hadamard.for_accuracy(epsilon)
    count = construction.last
    least = min(float(np.min(track, initial=np.inf)) for track in measured_gaps(construction, count).values())
    bound = 1.0 / (2.0 * construction.lam * construction.d)
    statement = f"Hadamard, ε = {epsilon:.3g}: no method is within 1/(2λd) = {bound:.4g} of J* in {count} steps"
    return Check(f"{statement} (smallest gap {least:.4g})", least >= bound - EXACT)


def gap_lines(kind: type[Construction], epsilon: float = ACCURACIES[-1]) -> list[str]:
    """Measured gaps beside the formula at a few steps."""
    construction = kind.for_accuracy(epsilon)
    last = min(construction.last, _STEPS)
    shown = sorted({1, 2, 4, 8, 16, 32, last} & set(range(1, last + 1)))
    tracks = measured_gaps(construction, last)
    lines = [f"{kind.name} ({kind.reference}), ε = {epsilon:.3g}"]
    lines.append("  " + "".join(f"{head:>20}" for head in ("k", "formula", *tracks)))
    for k in shown:
        cells = [f"{track[k - 1]:.10f}" if k <= len(track) else "ended" for track in tracks.values()]
        lines.append("  " + "".join(f"{cell:>20}" for cell in (str(k), f"{construction.gap(k):.10f}", *cells)))
    return lines


def measured_gaps(construction: Construction, count: int) -> dict[str, Floats]:
    """J(w_k) - J* of every solver that is watched on this construction."""
    watched = {name: solver for name, solver in contenders().items() if applies(name, type(construction))}
    return {name: gaps(solver, construction, count) for name, solver in watched.items()}


def rate_lines(rates: list[Rate]) -> list[str]:
    """The table of fitted exponents, with the paper's rate beside it."""
    lines = ["T(ε) ~ ε^-p: fitted p, and Table 1 of paper 003 (weak or strong lower bound = upper bound)"]
    lines.append(f"  {'construction':14}{'solver':20}{'p':>7}  {'paper':10}steps")
    for found in rates:
        steps = " ".join("-" if step is None else str(step) for step in found.steps)
        name = found.construction.name
        lines.append(f"  {name:14}{found.solver:20}{found.exponent:7.2f}  {found.paper:10}{steps}")
    return lines


def measured_rates() -> list[Rate]:
    """Every solver on every construction where it is watched."""
    return [
        rate(name, solver, kind)
        for kind in CONSTRUCTIONS.values()
        for name, solver in contenders().items()
        if applies(name, kind)
    ]


def draw(axes: Any, kind: type[Construction], epsilon: float = ACCURACIES[-1]) -> None:
    """Measured gaps and the formula, in logarithms."""
    construction = kind.for_accuracy(epsilon)
    last = min(construction.last, _STEPS)
    steps = np.arange(1, last + 1)
    axes.plot(steps, [construction.gap(int(k)) for k in steps], color="0.6", linewidth=4, label="formula")
    for name, track in measured_gaps(construction, last).items():
        # the optimum itself has no logarithm
        axes.plot(steps[: len(track)], np.maximum(track, 1e-12), linewidth=1, marker=".", markersize=3, label=name)
    axes.set(xscale="log", yscale="log", title=f"{kind.name}, ε = {epsilon:.3g}", xlabel="k", ylabel="J(w_k) − J*")  # noqa: RUF001
    axes.set_ylim(bottom=1e-4)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=7)
