"""What the stored runs of Zhang, Saha and Vishwanathan (2012) come to, in the words of their page."""

import json
import statistics

import numpy as np

from reproductions.zhang2012 import counted_measures, paper
from reproductions.zhang2012.figures import bound_of
from reproductions.zhang2012.runs import MEASURES, RESULTS, Row, curve_of
from reproductions.zhang2012.table2 import NOISE, best_lambda, ratio, rows_of

TEXT = ("reuters-moneyfx", "reuters-earn", "reuters-acq", "reuters-grain")
_STUDIED = ("a9a", "web8", "covertype")
_PANELS = [(data, measure) for data in _STUDIED for measure in MEASURES]


def cells_of(name):
    """The rows of a file."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["cells"]


def span(values, form=".2g"):
    """The least and the largest of some numbers."""
    return f"{min(values):{form}} to {max(values):{form}}".replace("e-0", "e-")


def above(cell):
    """Percent above the bound at the end of a run."""
    return 100.0 * (float(np.min(curve_of(cell)["objective"])) / cell["bound"] - 1.0)


def sentences():
    """All of them, by name."""
    return {**_bundle(), **_text(), **_default(), **_tests(), **_choice_of_mu(), **_matrices(), **_counted()}


def _bundle():
    """Table 2 on the paper's sets."""
    rows = rows_of(cells_of("runs"))
    own = {row: ratio(solvers, "plain", "sms") for row, solvers in rows.items() if row.data in paper.SAME}
    assert all(one.value > 1.0 and one.sign != "<" for one in own.values())
    strong = [one for row, one in own.items() if row.lam == 1e-2]
    weak = {row: one for row, one in own.items() if row.lam == 1e-6}
    assert all(not one.sign for one in strong)
    assert all(one.sign == ">" for one in weak.values())
    least, most = (end(weak, key=lambda row: weak[row].value) for end in (min, max))
    errors = [above(rows[row]["plain"]) for row in weak]
    found = {
        "ahead": f"in every one of their {len(own)} rows",
        "strong": f"{span([one.value for one in strong])} times at λ = 1e-2",
        "weak": f"by at least {weak[least].value:.2g} ({least.data}) to {weak[most].value:.2g} times ({most.data})",
        "stopped": f"at {min(errors):.2g}% to {max(errors):.0f}% above the minimum",
    }
    for measure, name in (("prbep", "PRBEP"), ("roc_auc", "ROC area")):
        shown = []
        for data in paper.SAME:
            value = ratio(rows[best_lambda(rows, data, measure)], "plain", "sms")
            known = paper.ratio(paper.COUNTERPARTS[data], measure)
            shown.append(f"{data} {value} ({known:.{0 if known > 99 else 1 if known > 1 else 2}f})")
        found[f"best {measure}"] = f"for {name} {', '.join(shown)}"
    return found


def _text():
    """Table 2 on Reuters."""
    rows = rows_of(cells_of("runs"))
    found = {}
    for measure, name in (("prbep", "PRBEP"), ("roc_auc", "ROC area")):
        best = {data: ratio(rows[best_lambda(rows, data, measure)], "plain", "sms") for data in TEXT}
        shown = [f"{data.removeprefix('reuters-')} {value if value else 'neither'}" for data, value in best.items()]
        found[f"text {measure}"] = f"{name}: {', '.join(shown)}"
    last = {(data, measure): rows[Row(data, measure, 1e-6)]["sms"] for data in TEXT for measure in MEASURES}
    missed = {place: cell for place, cell in last.items() if not cell["seconds"]}
    counts = [data.removeprefix("reuters-") for data, measure in missed if measure == "prbep"]
    assert sum(measure == "roc_auc" for _, measure in missed) == len(TEXT)
    found["sms misses"] = f"for ROC area on all four and for PRBEP on {' and '.join(counts)}"
    weak = list(missed.values())
    assert {cell["status"] for cell in weak} == {"STALLED"}
    found["sms fails"] = f"it stalls {span([above(cell) for cell in weak])}% above the minimum"
    low, high = (f"{end(cell['bound'] for cell in weak):.1e}".replace("e-0", "e-") for end in (min, max))
    found["minima"] = f"these minima are {low} to {high}"
    lost = {
        row: value
        for row, solvers in rows.items()
        if (value := ratio(solvers, "plain", "sms")) and (value.value < NOISE or value.sign == "<")
    }
    shown = [
        f"{row.data.removeprefix('reuters-')}, {row.measure}, λ = {row.lam:.0e}{'' if v.sign else f' ({v})'}"
        for row, v in sorted(lost.items(), key=lambda one: one[1].sign)
    ]
    found["lost"] = f"plain method: {', and '.join(shown)}, where the plain method alone comes within 1%"
    found["lost"] = found["lost"].replace("roc_auc", "ROC area").replace("prbep", "PRBEP").replace("e-0", "e-")
    return found


def _default():
    """Fenchel's smoothing against the paper's."""
    rows = rows_of(cells_of("runs"))
    own = {row: ratio(solvers, "sms") for row, solvers in rows.items()}
    same = {row: one for row, one in own.items() if row.data in paper.SAME}
    assert all(not one.sign for one in same.values())
    text = [one for data in TEXT for measure in MEASURES if (one := own[Row(data, measure, 1e-6)])]
    ended = [rows[Row(data, measure, 1e-6)] for data, measure in _PANELS]
    later = [solvers["sms"]["total"] / solvers["smoothing"]["total"] for solvers in ended]
    best, worst = (end(same, key=lambda row: same[row].value) for end in (max, min))
    names = {"prbep": "PRBEP", "roc_auc": "ROC area"}

    def place(row):
        return f"{names[row.measure]}, {row.data}, λ = {row.lam:.0e}".replace("e-0", "e-")

    return {
        "same": f"{statistics.median(one.value for one in same.values()):.2g} in the median of the paper's sets",
        "weak text": f"on text at λ = 1e-6 {min(text)} to {max(text)}",
        "best": f"ahead by up to {same[best].value:.2g} ({place(best)})",
        "worst": f"ahead by up to {1.0 / same[worst].value:.2g} ({place(worst)})",
        "proof": f"{span(later)} times its seconds at λ = 1e-6 on a9a, web8 and covertype",
    }


def _tests():
    """Test measures."""
    rows = rows_of(cells_of("runs"))

    def at(data, measure):
        own = [rows[Row(data, measure, lam)]["smoothing"] for lam in paper.LAMBDAS]
        return [float(cell["curve"]["test"].split()[-1]) for cell in own]

    shown = {
        (data, measure): ", ".join(f"{value:.2f}" for value in at(data, measure))
        for data in ("web8", "a9a", "covertype")
        for measure in MEASURES
    }
    printed = {measure: ", ".join(f"{value:.2f}" for value in paper.TEST["web8"][measure]) for measure in MEASURES}
    adult = {(cell["measure"], cell["lam"]): cell for cell in cells_of("adult")}
    best = {
        measure: max(paper.LAMBDAS, key=lambda lam: at("a9a", measure)[paper.LAMBDAS.index(lam)])
        for measure in MEASURES
    }
    positive, area = (
        max(adult[measure, lam][field] for lam in paper.LAMBDAS)
        for measure, field in (("prbep", "positive"), ("roc_auc", "area"))
    )
    mean = [0.5 * (cell["positive"] + cell["negative"]) for cell in adult.values() if cell["measure"] == "prbep"]
    assert best_lambda(rows, "covertype", "prbep").lam == best_lambda(rows, "covertype", "roc_auc").lam == 1e-6
    assert best_lambda(rows, "web8", "roc_auc").lam == best["roc_auc"] == 1e-4
    assert best_lambda(rows, "web8", "prbep").lam == 1e-6
    assert best_lambda(rows, "kdd99", "prbep").lam == best_lambda(rows, "kdd99", "roc_auc").lam == 1e-2
    return {
        "web8 prbep": f"PRBEP {shown['web8', 'prbep']} at λ = 1e-2, 1e-4, 1e-6 (paper {printed['prbep']})",
        "web8 roc": f"ROC area {shown['web8', 'roc_auc']} ({printed['roc_auc']})",
        "a9a prbep": f"1e-4 and 1e-6 differ by {abs(np.diff(at('a9a', 'prbep')[1:])[0]):.2f} points",
        "kdd99": "the best test values are at λ = 1e-2",
        "adult prbep": f"| {positive:.2f} | 78.27 |",
        "adult roc": f"| {area:.2f} | 86.12 |",
        "adult mean": f"is {max(mean):.2f} is a coincidence",
    }


def _near(cells, row, share=0.01):
    """Seconds of each method of the studies until its curve is within this share of the bound."""
    bound, found = bound_of(cells, row), {}
    for cell in cells:
        if Row(cell["data"], cell["measure"], cell["lam"]) == row:
            curve = curve_of(cell)
            within = np.flatnonzero(curve["objective"] <= (1.0 + share) * bound)
            found[cell["solver"]] = float(curve["seconds"][within[0]]) if len(within) else np.inf
    return found


def _choice_of_mu():
    """Figures 27 to 32."""
    cells = [*cells_of("runs"), *cells_of("studies")]
    errors = {c_mu: {} for c_mu in paper.C_MU}
    seconds = {}
    for data, measure in _PANELS:
        row = Row(data, measure, 1e-6)
        own = {cell["solver"]: cell for cell in cells if Row(cell["data"], cell["measure"], cell["lam"]) == row}
        for c_mu in paper.C_MU:
            lowest = float(np.min(curve_of(own[f"sms c_mu={c_mu:g}"])["objective"]))
            errors[c_mu][data, measure] = lowest - bound_of(cells, row)
        seconds[data, measure] = _near(cells, row)
    within = {c_mu: sum(error <= paper.EPSILON for error in found.values()) for c_mu, found in errors.items()}
    assert (within[10.0], within[1000.0]) == (6, 0)
    slower = [own["agm"] / own["sms c_mu=10"] for own in seconds.values()]
    shown = {}
    for measure in MEASURES:
        pairs = [(seconds[data, measure]["agm"], seconds[data, measure]["sms c_mu=10"]) for data in _STUDIED]
        parts = [f"{a:.2g} against {b:.2g}" if np.isfinite(a) else f"not within 5 against {b:.2g}" for a, b in pairs]
        shown[measure] = ", ".join(parts)
    beyond = sorted(error for error in errors[100.0].values() if error > paper.EPSILON)
    words = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
    form = ".0e"
    return {
        "c_mu = 10": f"(errors of {span(errors[10.0].values(), form)})",
        "c_mu = 1000": f"1000 in none ({span(errors[1000.0].values(), form)})",
        "c_mu = 100": f"within ε in {words[within[100.0]]} panels and at {span(beyond, '.1e')}",
        "agm": f"{span([one for one in slower if np.isfinite(one)], '.0f')} times the seconds of plain L-BFGS to 1%",
        "agm prbep": f"PRBEP {shown['prbep']} s on a9a, web8 and covertype",
        "agm roc": f"ROC area {shown['roc_auc']} s",
        **_newton(seconds),
    }


def _newton(seconds):
    """The first matrix in seconds."""
    found = {}
    for measure, name in (("prbep", "PRBEP"), ("roc_auc", "ROC area")):
        pairs = [
            f"{data} {seconds[data, measure]['c_mu=10']:.2g} against {seconds[data, measure]['sms c_mu=10']:.2g}"
            for data in _STUDIED
        ]
        found[f"newton {measure}"] = f"{name} {', '.join(pairs)} s"
    return found


def _matrices():
    """The first matrix in passes."""
    cells = cells_of("first_matrix")
    near, last = {}, {}
    for data in _STUDIED:
        own = [cell for cell in cells if (cell["data"], cell["measure"]) == (data, "prbep")]
        bound = max(cell["dual"] for cell in own)
        for cell in own:
            if cell["mu"] == "fixed, D = 1/2":
                curve = curve_of(cell)
                first = np.flatnonzero(curve["objective"] <= 1.01 * bound)[0]
                near[data, cell["matrix"]], last[data, cell["matrix"]] = curve["passes"][first], curve["passes"][-1]

    def both(found):
        pairs = [f"{found[data, 'identity']:,.0f} against {found[data, 'Hessian']:,.0f} on {data}" for data in _STUDIED]
        return f"{', '.join(pairs[:-1])} and {pairs[-1]}"

    return {"matrix to 1%": f"the identity needs {both(near)} to 1%", "matrix to the end": f"to the end {both(last)}"}


def _counted():
    """F1, F2 and precision at k."""
    pairs = counted_measures.pairs_of(cells_of("counted_measures"))
    found = {key: counted_measures.ratio(pair["bundle"], pair["smoothing"]) for key, pair in pairs.items()}
    known = {key: one for key, one in found.items() if one is not None}
    faster = sum(value > 1.0 and sign != "<" for value, sign in known.values())

    def at(lam, tol=1e-2):
        return span(
            [value for (_, _, own, gap), (value, sign) in known.items() if (own, gap) == (lam, tol) and not sign]
        )

    return {
        "counted": f"faster than the bundle method in {faster or 'none'} of {len(found)} cells",
        "counted ratios": f"from {at(1e-2)} at λ = 1e-2 to {at(1e-6)} at λ = 1e-6 for a gap of 1%",
    }
