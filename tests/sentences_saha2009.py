"""What the stored runs of Saha, Zhang and Vishwanathan (2009) come to, in the words of their page."""

# ruff: noqa: RUF001 (typographic signs in sentences for people)

import json

from reproductions.saha2009.runs import CAPS, RESULTS, SETS, SOLVERS, curve_of, minimum_of
from reproductions.saha2009.table import error_after, reached, settled

CELLS = json.loads((RESULTS / "runs.json").read_text(encoding="utf-8"))["cells"]
_TEXT = "20news.binary"
_REUTERS = "reuters-moneyfx"
#: errors for which iterations with and without restarts are compared
_LEVELS = (1e-2, 1e-3, 1e-5)
#: the sets whose methods were run in turn in one run
_TOGETHER = ("reuters-moneyfx", "a9a", "web8", "covertype")
#: and the method that was run later, on all sets in one run
_AGAIN = "dual_coordinate"


def cell_of(data, name, seed=0):
    """A stored row."""
    return next(cell for cell in CELLS if (cell["data"], cell["solver"], cell["seed"]) == (data, name, seed))


def error_of(data, name):
    """The error at the end of a run."""
    return cell_of(data, name)["lowest"] / minimum_of(CELLS, data, name.endswith("-b")) - 1.0


def shown(error):
    """Two digits."""
    return f"{error:.0f}" if error >= 9.95 else f"{error:.2g}".replace("e-0", "e-")


def after(data, steps, names):
    """Errors after so many iterations."""
    errors = [shown(error_after(CELLS, data, name, steps)) for name in names]
    return (" against " if len(errors) == 2 else ", ").join(errors)


def seconds_to(level, name, sets=SETS, seed=0):
    """Seconds, or that the cap came first."""
    found = [reached(CELLS, data, name, level, seed) for data in sets]
    return [one[1] if one else None for one in found]


def listed(values, none="not within the cap"):
    """Seconds with two digits."""
    return ", ".join(none if value is None else f"{value:.2g}" for value in values)


def sentences():
    """All of them, by name."""
    return {**_runs(), **_iterations(), **_pegasos(), **_seconds(), **_accuracies(), **_restarts()}


def _runs():
    """What was run."""
    there = sum(reached(CELLS, data, name, 1e-3) is not None for data in SETS for name in SOLVERS)
    rows = {data: cell_of(data, "pragam")["description"].partition(" ")[0] for data in SETS}
    for data in _TOGETHER:
        own = [cell for cell in CELLS if cell["data"] == data]
        assert {cell["cap"] for cell in own} == {CAPS[data]}
        # the methods of a set were run side by side, but for one that was run again on all sets
        assert len({cell["run"] for cell in own if cell["solver"] != _AGAIN}) == 1
    again = {cell["run"] for cell in CELLS if cell["solver"] == _AGAIN}
    assert len(again) == len(SETS) and len({run.partition(":")[0] for run in again}) == 1  # a run a set, in one hour
    loads = [cell["provenance"]["load"] for cell in CELLS if cell["data"] in _TOGETHER and cell["solver"] != _AGAIN]
    longer = [name for name in SOLVERS if cell_of(_TEXT, name)["cap"] == CAPS[_TEXT]]
    assert {cell_of(_TEXT, name)["cap"] for name in SOLVERS if name not in longer} == {12.0}
    caps = f"{CAPS[_REUTERS]:g} on Reuters, {CAPS['a9a']:g} on a9a, {CAPS['web8']:g} on web8"
    names = f"{', '.join(longer[:-1])} and {longer[-1]}"
    return {
        "caps": f"{caps}, {CAPS['covertype']:g} on covertype",
        "caps text": f"{CAPS[_TEXT]:g} on 20news.binary for {names}, 12 there for the others",
        "there": f"{there} of {len(SETS) * len(SOLVERS)} cells are within 1e-3",
        "load": f"(`provenance.load` in `runs.json`: {min(loads):.0f} to {max(loads):.0f})",
        "rows": f"{rows['web8']} and {rows['covertype']} rows are trained on",
    }


def _iterations():
    """Figure 1."""
    three = ("pragam, no restart", "ls-bmrm", "pegasos-n")
    for data, steps in ((_REUTERS, 300), ("web8", 300), ("a9a", 300), ("covertype", 100)):
        own, *others = (error_after(CELLS, data, name, steps) for name in three)
        assert own < min(others)
    own, *others = (error_after(CELLS, _TEXT, name, 100) for name in three)
    assert own < min(others)
    first = [error_after(CELLS, _TEXT, name, 30) for name in three[:2]]
    assert first[0] > first[1]
    both = ("qp-bmrm", "pragam")
    return {
        "fig 1 reuters": f"Reuters ({after(_REUTERS, 300, three)})",
        "fig 1 web8": f"web8 ({after('web8', 300, three)})",
        "fig 1 a9a": f"a9a ({after('a9a', 300, three)})",
        "fig 1 covertype": f"covertype ({after('covertype', 100, three)})",
        "fig 1 text": f"({after(_TEXT, 30, three[:2])} after 30 iterations, {after(_TEXT, 100, three[:2])} after 100)",
        "qp a9a": f"{after('a9a', 1000, both)} after 1,000",
        "qp covertype": f"{after('covertype', 100, both)} after 100",
        "qp text": f"{after(_TEXT, 30, both)} after 30",
        "liblinear passes": _passes("LIBLINEAR", (_REUTERS, "web8", _TEXT, "covertype")),
        "older passes": f"needs {reached(CELLS, 'a9a', 'LIBLINEAR, older', 1e-3)[0]:.0f}",
        "liblinear a9a": f"at {shown(error_of('a9a', 'LIBLINEAR'))}",
        "dual passes": f"in {_ends([reached(CELLS, data, 'dual_coordinate', 1e-3)[0] for data in SETS])} passes",
    }


def _passes(name, sets):
    found = [reached(CELLS, data, name, 1e-3) for data in sets]
    names = {_REUTERS: "Reuters"}
    parts = [f"{one[0]:.0f} on {names.get(data, data)}" for data, one in zip(sets, found, strict=True) if one]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _ends(values):
    return f"{min(values):.0f} to {max(values):.0f}"


def _pegasos():
    found = {}
    for data in SETS:
        ends = [reached(CELLS, data, "pegasos-1", 1e-3, seed) for seed in (0, 1, 2)]
        known = [one for one in ends if one is not None]
        seconds = [f"{end(one[1] for one in known):.2g}" for end in (min, max)] if known else []
        spread = "–".join(dict.fromkeys(seconds))
        passes = "–".join(dict.fromkeys(f"{end(one[0] for one in known):,.0f}" for end in (min, max))) if known else ""
        at = "–".join(dict.fromkeys(shown(e) for e in sorted(_ends_of(data, "pegasos-1"))[::2]))
        found[f"pegasos {data}"] = f"{data} {len(known)} of 3 seeds" + (
            f", {passes} passes, {spread} s" if known else f" ({at} at the cap)"
        )
    n = cell_of("a9a", "pegasos-n")
    found["pegasos-n a9a"] = f"{shown(error_of('a9a', 'pegasos-n'))} times the minimum above it after {n['steps']:,d}"
    n = cell_of("covertype", "pegasos-n")
    found["pegasos-n covertype"] = f"{shown(error_of('covertype', 'pegasos-n'))} times after {n['steps']:,d}"
    found["pegasos-1 a9a"] = f"{shown(error_of('a9a', 'pegasos-1'))} above the minimum after 20 s"
    return found


def _ends_of(data, name):
    return [cell_of(data, name, seed)["lowest"] / minimum_of(CELLS, data, False) - 1.0 for seed in (0, 1, 2)]


def _seconds():
    """Figure 2."""
    high = ("pragam", "pragam, no restart", "ls-bmrm", "qp-bmrm", "pegasos-1")
    found = {
        f"to 1e-3 {name}": f"{name} {listed(seconds_to(1e-3, name))}"
        for name in (*high, "dual_coordinate")
        if name != "ls-bmrm"
    }
    ahead = [data for data in SETS if error_of(data, "pragam, no restart") < error_of(data, "pegasos-1")]
    assert ahead == [_REUTERS, "a9a", "web8"]
    found["to 1e-5 dual_coordinate"] = f"dual_coordinate {listed(seconds_to(1e-5, 'dual_coordinate'))} s"
    for data in SETS:
        errors = [
            f"{name} {one[1]:.2g} s"
            if (one := reached(CELLS, data, name, 1e-5))
            else f"{name} at {shown(error_of(data, name))}"
            for name in high
        ]
        found[f"high {data}"] = f"{data}: {', '.join(errors)}"
    for name in ("LIBLINEAR", "LIBLINEAR, older"):
        found[f"{name} 1e-3"] = f"{name} {listed(seconds_to(1e-3, name), 'never')} s"
        found[f"{name} 1e-5"] = f"{name} {listed(seconds_to(1e-5, name), 'never')} s"
    return found


def _accuracies():
    """Figures 3 and 4."""
    early = [settled(cell_of(data, "pragam"), cell_of(data, "reference")["test"]) for data in SETS]
    minima = [[cell_of(data, name)["test"] for name in ("reference-b", "reference")] for data in SETS]
    steps = {}
    for name in ("pragam", "pragam-b"):
        steps[name] = []
        for data in SETS:
            curve, seconds = (
                curve_of(cell_of(data, name)),
                settled(cell_of(data, name), cell_of(data, "reference")["test"]),
            )
            steps[name].append(
                "never" if seconds is None else f"{curve['steps'][list(curve['seconds']).index(seconds)]:.0f}"
            )
    times = {
        name: [settled(cell_of(data, name), cell_of(data, "reference")["test"]) for data in SETS]
        for name in ("pragam", "pragam-b")
    }
    return {
        "pragam-b": f"not on covertype ({curve_of(cell_of('covertype', 'pragam-b'))['test'][-1]:.2f}%)",
        "early": f"after {listed(early, 'never')} s",
        "minima": ", ".join(f"{with_:.2f} and {without:.2f}%" for with_, without in minima),
        "steps b": f"pragam-b after {', '.join(steps['pragam-b'])}",
        "steps": f"pragam after {', '.join(steps['pragam'])} iterations",
        "times b": f"{listed(times['pragam-b'], 'never')} against {listed(times['pragam'], 'never')} s",
    }


def _restarts():
    """Iterations with and without restarts."""
    first, second, last = (f"{level:.0e}".replace("e-0", "e-") for level in _LEVELS)
    found = {"levels": f"Iterations until the error is {first}, {second} and {last}"}
    for name in ("pragam, no restart", "pragam"):
        shown_ = []
        for data in (_REUTERS, "web8", "a9a", _TEXT):
            parts = []
            for level in _LEVELS:
                one = reached(CELLS, data, name, level)
                if one is None:
                    parts.append(f">{cell_of(data, name)['steps']:,d} ({shown(error_of(data, name))})")
                    break
                parts.append(f"{one[0]:,.0f}")
            shown_.append(", ".join(parts))
        found[f"restarts {name}"] = " | ".join(shown_)
    rest = [reached(CELLS, "a9a", "pragam, no restart", level) for level in (1e-2, 1e-3)]
    if all(rest):
        curve = curve_of(cell_of("a9a", "pragam, no restart"))
        plateau = [curve["objective"][curve["steps"] <= steps][-1] for steps in (210, 1200)]
        found["plateau"] = f"rests at {plateau[0]:.3f}" if plateau[0] - plateau[1] < 1e-2 else "does not rest"
        (one, early), (thousandth, late) = rest
        found["a9a"] = f"1% after {one:,.0f}, 1e-3 after {thousandth:,.0f} iterations; {early:.0f} and {late:.0f} s"
    return found
