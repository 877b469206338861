"""Seeded mutants of the rooms that prove things: ``python tests/mutants/choose.py --seed 0 --count 130``.

A mutant is one changed line: the file, the function around it, the line before and after.  They are printed as json;
``run.py --mutants found.json --keep mutants.json`` keeps the mutants that the tests kill.
"""

import argparse
import ast
import json
import random
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "fenchel"
#: how many of a hundred mutants each room has
SHARES = {"certificate": 35, "losses": 30, "risks": 35}
#: functions whose results are words
_WORDS = ("__repr__", "__str__", "__post_init__")
_ARITHMETIC = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
_ORDER = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
_EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
_CONSTANTS = {0.5: "1.0", 1.0: "2.0", 2.0: "3.0"}


def between(text, left, right, old, new):
    """The line with the operator between two operands replaced; None if they are not on one line."""
    if not left.end_lineno == right.lineno == left.lineno == right.end_lineno:
        return None
    start, end = left.end_col_offset, right.col_offset
    middle = text[start:end]
    return text[:start] + middle.replace(old, new) + text[end:] if middle.count(old) == 1 else None


def replaced(text, node, new):
    """The line with a node's text replaced."""
    return text[: node.col_offset] + new + text[node.end_col_offset :]


def mutations(node, text):
    """Pairs (kind, changed line) of one node that lies on one line."""
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        old, new = _ARITHMETIC[type(node.op)]
        yield f"{old} to {new}", between(text, node.left, node.right, old, new)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _ORDER:
        old, new = _ORDER[type(node.ops[0])]
        yield f"{old} to {new}", between(text, node.left, node.comparators[0], old, new)
    elif isinstance(node, ast.Constant) and type(node.value) is float and node.value in _CONSTANTS:
        yield "constant", replaced(text, node, _CONSTANTS[node.value])
    elif isinstance(node, ast.Call):
        yield from of_call(node, text)
    elif isinstance(node, ast.Subscript):
        yield from of_index(node, text)


def of_call(node, text):
    """Minimum and maximum exchanged, an absolute value dropped."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in _EXTREMES:
        end = node.func.end_col_offset
        yield f"{name} to {_EXTREMES[name]}", text[: end - len(name)] + _EXTREMES[name] + text[end:]
    if name == "abs" and len(node.args) == 1:
        inner = text[node.args[0].col_offset : node.args[0].end_col_offset]
        yield "abs dropped", replaced(text, node, f"({inner})")


def of_index(node, text):
    """An index or an end of a slice that is one off."""
    parts = [node.slice.lower, node.slice.upper] if isinstance(node.slice, ast.Slice) else [node.slice]
    for part in parts:
        number = ast.literal_eval(part) if isinstance(part, (ast.Constant, ast.UnaryOp)) and is_number(part) else None
        if number is not None:
            yield "index", replaced(text, part, str(number - 1 if number < 0 else number + 1))


def is_number(part):
    """Whether this is an integer, perhaps with a sign."""
    part = part.operand if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub) else part
    return isinstance(part, ast.Constant) and type(part.value) is int


def of_condition(node, text):
    """A condition negated, or one that always returns early."""
    test = node.test
    if not node.lineno == test.lineno == test.end_lineno:
        return
    inner = text[test.col_offset : test.end_col_offset]
    yield "negated", replaced(text, test, f"not ({inner})")
    if isinstance(node, ast.If) and isinstance(node.body[0], ast.Return):
        yield "returns early", replaced(text, test, "True")


def expressions(function):
    """The nodes of a function without annotations, decorators, messages, docstrings and functions inside it."""
    waiting = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Raise, ast.Assert, ast.JoinedStr)):
            continue
        if isinstance(node, ast.AnnAssign):
            waiting.extend(filter(None, [node.value]))
            continue
        if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
            waiting.extend(node.orelse)
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def functions(tree):
    """Every function with its qualified name."""

    def below(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                if isinstance(child, ast.FunctionDef):
                    yield prefix + child.name, child
                yield from below(child, f"{prefix}{child.name}.")

    yield from below(tree, "")


def candidates(path):
    """All mutants of one file whose line stands once in its function."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for qualname, function in functions(ast.parse("\n".join(lines))):
        if function.name in _WORDS:
            continue
        own = [line.strip() for line in lines[function.lineno - 1 : function.end_lineno]]
        for node in expressions(function):
            if not hasattr(node, "lineno"):
                continue
            text = lines[node.lineno - 1]
            if not text.isascii() or own.count(text.strip()) != 1:
                continue
            branches = isinstance(node, (ast.If, ast.IfExp))
            if not branches and node.lineno != node.end_lineno:
                continue
            for kind, changed in of_condition(node, text) if branches else mutations(node, text):
                if changed is not None and changed != text:
                    file = path.relative_to(PACKAGE.parent).as_posix()
                    yield {
                        "file": file,
                        "function": qualname,
                        "kind": kind,
                        "line": text.strip(),
                        "mutant": changed.strip(),
                    }


def chosen(room, count, seed):
    """``count`` mutants of a folder, no two of them on one line and kinds in turn."""
    found = [mutant for path in sorted((PACKAGE / room).glob("*.py")) for mutant in candidates(path)]
    random.Random(f"{seed} {room}").shuffle(found)
    kinds, taken, lines = {}, [], set()
    for mutant in found:
        kinds.setdefault(mutant["kind"], []).append(mutant)
    turn = 0
    while len(taken) < count and any(kinds.values()):
        turn += 1
        for kind, waiting in kinds.items():
            # a comparison that is strict or not seldom matters with floats
            rare = kind[0] in "<>" and turn % 3
            if waiting and len(taken) < count and not rare:
                mutant = waiting.pop()
                key = (mutant["file"], mutant["function"], mutant["line"])
                if key not in lines:
                    lines.add(key)
                    taken.append(mutant)
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=130)
    options = parser.parse_args()
    every = []
    for room, share in SHARES.items():
        for number, mutant in enumerate(chosen(room, round(options.count * share / 100), options.seed)):
            every.append({"id": f"{room}-{number:02d}", **mutant})
    print(json.dumps(every, indent=1))


if __name__ == "__main__":
    main()
