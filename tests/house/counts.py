"""The size of the house in numbers, as a markdown table: ``python tests/house/counts.py [folder]``.

Everything is read from syntax trees, so comments, docstrings and blank lines do not count as code.
"""

import ast
import io
import re
import sys
import tokenize
from pathlib import Path
from typing import NamedTuple

LONG_FILE, LONG_FUNCTION = 300, 50
_UPPER = re.compile(r"_?[A-Z][A-Z0-9_]*")
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Source(NamedTuple):
    """One file: its path below the folder, its text and its tree."""

    path: Path
    text: str
    tree: ast.Module


def read(folder):
    """All files of a folder."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))}
    return [Source(path.relative_to(folder), text, ast.parse(text)) for path, text in texts.items()]


def docstring_lines(tree):
    """The numbers of the lines of all docstrings, those of attributes included."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.update(range(node.lineno, node.end_lineno + 1))
    return found


def code_lines(source):
    """The numbers of the lines with code."""
    tokens = tokenize.generate_tokens(io.StringIO(source.text).readline)
    lines = set()
    for token in tokens:
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines - docstring_lines(source.tree)


def calls(source, name):
    """The calls of a function of this name."""
    return [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


def probes(source):
    """Questions to an object what it has: hasattr, getattr with a default, getattr with a literal name."""
    asked = [call for call in calls(source, "getattr") if len(call.args) == 3 or isinstance(call.args[1], ast.Constant)]
    return len(calls(source, "hasattr")) + len(asked)


def lines_with_any(source):
    """The lines in which the name Any stands."""
    return len({node.lineno for node in ast.walk(source.tree) if isinstance(node, ast.Name) and node.id == "Any"})


def constants(source):
    """The assignments of UPPER and _UPPER names at the top of a module."""
    count = 0
    for node in source.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [part for target in targets if target is not None for part in ast.walk(target)]
        count += sum(isinstance(part, ast.Name) and bool(_UPPER.fullmatch(part.id)) for part in names)
    return count


def functions(source):
    """Every function with its qualified name."""

    def below(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
                name = f"{prefix}{child.name}"
                if isinstance(child, _FUNCTIONS):
                    yield name, child
                yield from below(child, f"{name}.")
            else:
                yield from below(child, prefix)

    return list(below(source.tree, ""))


def arguments(function):
    """How many arguments a function has, self and cls left out."""
    of = function.args
    named = [argument.arg for argument in (*of.posonlyargs, *of.args)]
    own = sum(name in ("self", "cls") for name in named[:1])
    return len(named) - own + len(of.kwonlyargs) + (of.vararg is not None) + (of.kwarg is not None)


def longest(sources, initializers):
    """The longest argument list, of all functions or of those that are no ``__init__``."""
    found = [
        (arguments(function), f"`{name}` in {source.path.as_posix()}")
        for source in sources
        for name, function in functions(source)
        if initializers or function.name != "__init__"
    ]
    count, where = max(found)
    return f"{count} ({where})"


def long_functions(sources):
    """The functions over the limit, from their first line to their last, docstrings counted."""
    every = [function for source in sources for _, function in functions(source)]
    return sum(function.end_lineno - function.lineno + 1 > LONG_FUNCTION for function in every)


def table(folder):
    """The rows of the table."""
    sources = read(folder)
    lengths = [len(source.text.splitlines()) for source in sources]
    return [
        ("lines of code", sum(len(code_lines(source)) for source in sources)),
        ("lines in all", sum(lengths)),
        ("files", len(sources)),
        ("files directly in solvers/", sum(source.path.parent.as_posix() == "solvers" for source in sources)),
        ("`isinstance` calls", sum(len(calls(source, "isinstance")) for source in sources)),
        ("probes (`hasattr`, `getattr`)", sum(map(probes, sources))),
        ("lines with `Any`", sum(map(lines_with_any, sources))),
        ("module-level constants", sum(map(constants, sources))),
        ("longest argument list", longest(sources, initializers=True)),
        ("longest argument list beside `__init__`", longest(sources, initializers=False)),
        (f"files over {LONG_FILE} lines", sum(length > LONG_FILE for length in lengths)),
        (f"functions over {LONG_FUNCTION} lines", long_functions(sources)),
    ]


def main():
    default = Path(__file__).resolve().parents[2] / "src" / "fenchel"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    print("| what | count |\n|---|---|")
    for what, count in table(folder):
        print(f"| {what} | {count} |")


if __name__ == "__main__":
    main()
