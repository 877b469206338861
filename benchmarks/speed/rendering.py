"""The measured cells in Markdown: medians by group, where Fenchel loses, and a table for each loss."""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import statistics

from benchmarks.cells import held_out_mark, question_of
from benchmarks.ledger import Cell
from benchmarks.report import markdown_table
from benchmarks.speed.comparing import Row, advantage, first_of, groups, intercept_cost, middle, rows_of
from benchmarks.speed.contenders import Fenchel
from benchmarks.speed.registry import CONTENDERS
from benchmarks.speed.tasks import LOSSES


def markdown(cells: list[Cell]) -> str:
    """The whole section."""
    if not cells:
        return "(not measured yet)"
    rows = rows_of(cells)
    parts = [_summary(rows), *_defeats(rows), *_intercepts(rows), *_notes(cells, rows)]
    for name, loss in LOSSES.items():
        of_loss = [row for row in rows if first_of(row)["loss"] == name]
        if of_loss:
            parts += [f"### {loss.title}", _table(of_loss)]
    return "\n\n".join(parts)


def _summary(rows: list[Row]) -> str:
    """Medians of the ratios, for each group and target."""
    targets = sorted({first_of(row)["target"] for row in rows}, reverse=True)
    lines = []
    for title, belongs in groups().items():
        members = [row for row in rows if belongs(first_of(row))]
        if members:
            by_target = [[row for row in members if first_of(row)["target"] == target] for target in targets]
            lines.append([title, *map(middle, [members, *by_target])])
    head = ["fastest peer ÷ Fenchel", "both targets", *(f"to {target:g}" for target in targets)]
    legend = "Median [least…most] of the ratio of medians; above 1 Fenchel is faster."
    return f"{legend}\n\n{markdown_table(head, lines)}"


def _table(rows: list[Row]) -> str:
    """One line for each data set, C and target; columns for those who take part."""
    present = {name for row in rows for name, cell in row.items() if cell["status"] != "skipped"}
    names = [name for name in CONTENDERS if name in present]
    lines = []
    for row in rows:
        first, own = first_of(row), row.get(Fenchel.name)
        found = [cell_text(row.get(name), own) for name in names]
        label = f"{first['data']} ({first['description']})"
        held_out = held_out_mark(question_of(first["data"]), first["data"], first["C"])
        place = [label, f"{first['C']:g}", held_out, f"{first['target']:g}"]
        lines.append([*place, *found, str(advantage(row) or "–")])
    columns = [name if CONTENDERS[name].counted or name.startswith(Fenchel.name) else f"({name})" for name in names]
    return markdown_table(["data set", "C", "held out", "target", *columns, "fastest peer ÷ Fenchel"], lines)


def cell_text(cell: Cell | None, own: Cell | None) -> str:
    """A cell in words, with the ratio to Fenchel's if that is known."""
    if cell is None or cell["status"] == "skipped":
        return "–"
    if cell["status"] == "cap":
        return f"> {cell['cap']:g}" + (" (not tried)" if cell["reason"].startswith("not tried") else "")
    if cell["status"] == "failed":
        return cell["reason"]
    if cell["status"] == "stopped":
        return f"not reached: {cell['reason']} after {seconds(cell['seconds'][0])} at {cell['suboptimality']:.1e}"
    text = spread(cell)
    if own is not None and own is not cell and own["status"] == "reached":
        text += f" ×{cell['median'] / own['median']:.2f}"
    return text + (f" ({cell['missed']} runs missed)" if cell.get("missed") else "")


def spread(cell: Cell) -> str:
    """Median and range of the seconds of a cell."""
    if len(cell["seconds"]) == 1:
        return f"{seconds(cell['median'])} (one run)"
    return f"{seconds(cell['median'])} [{seconds(cell['least'])}–{seconds(cell['most'])}]"


def seconds(value: float) -> str:
    """Three digits."""
    return f"{value:.3g}"


def _defeats(rows: list[Row]) -> list[str]:
    """Every row in which Fenchel is slower than the fastest peer, or does not get there."""
    compared = [(row, found) for row in rows if (found := advantage(row)) is not None]
    lost = [(row, found) for row, found in compared if found.factor < 1.0 or found.bound == "< "]
    lines = []
    for loss, described in LOSSES.items():
        ours = [
            f"{first['data']} C={first['C']:g} to {first['target']:g}: {found}"
            for row, found in lost
            if (first := first_of(row))["loss"] == loss
        ]
        if ours:
            lines.append(f"- {described.title}: {'; '.join(ours)}")
    head = f"Fenchel is slower than the fastest peer in {len(lost)} of {len(compared)} rows"
    unreached = sum(row.get(Fenchel.name, {}).get("status", "reached") != "reached" for row in rows)
    head += f", and did not reach the target in {unreached} of {len(rows)}" if unreached else ""
    return [head + (":" if lines else "."), *(["\n".join(lines)] if lines else [])]


def _intercepts(rows: list[Row]) -> list[str]:
    """What a free intercept costs."""
    lines = []
    for target in sorted({first_of(row)["target"] for row in rows}, reverse=True):
        of_target = [row for row in rows if first_of(row)["target"] == target]
        costs = [cost for cost in map(intercept_cost, of_target) if cost is not None]
        if costs:
            lines.append(
                f"To {target:g}: with intercept Fenchel takes {statistics.median(costs):.2f} times as long as without "
                f"in the median of {len(costs)} rows (goal: at most 1.5), {max(costs):.2f} at worst."
            )
    return lines


def _notes(cells: list[Cell], rows: list[Row]) -> list[str]:
    """What a reader must know to read the numbers."""
    rounds = max((len(cell["seconds"]) for cell in cells if cell["status"] == "reached"), default=0)
    caps = sorted({cell["cap"] for cell in cells})
    notes = [
        f"Seconds: median [least–most] of {rounds} interleaved runs, one thread, and × Fenchel's median; (one run) for "
        "a contender that took more than 1 s and five times the fastest peer's time while settings were searched; > is "
        f"the cap of {' or '.join(f'{cap:g}' for cap in caps)} s a run, (not tried) where it was hit at a smaller C. "
        "Where no peer got there, or Fenchel did not, the cap stands in and the ratio is a bound. Target: relative "
        "suboptimality, judged from the weights. Columns in parentheses are reported beside and not counted as peers."
    ]
    coarse = {(c["loss"], c["data"], c["C"], c["reference_gap"]) for c in cells if _is_coarse(c)}
    notes += [
        f"The optimum of {LOSSES[loss].title.lower()}, {name}, C = {C:g}, is known to a relative gap of {gap:.1e} "
        "only: everyone is judged by the lower bound, hence too strictly by so much."
        for loss, name, C, gap in sorted(coarse)
    ]
    mixed = [row for row in rows if len({cell["run"] for cell in row.values() if cell["status"] == "reached"}) > 1]
    if mixed:
        places = sorted({"{loss} {data} C={C:g}".format(**first_of(row)) for row in mixed})
        notes.append(f"Measured in more than one run, so that ratios are less sure: {', '.join(places)}.")
    return notes


def _is_coarse(cell: Cell) -> bool:
    return bool(cell["reference_gap"] > 0.1 * cell["target"])
