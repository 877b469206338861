"""Independent readers of data and model files: characters one after the other, and nothing of NumPy or scikit-learn.

A file that can't be read raises ValueError.
"""

import ast
import json
import re
import statistics
import struct
import zipfile

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE | re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
#: an underscore between digits, as in Python
_DIGITS_APART = re.compile(r"(?<=\d)_(?=\d)", re.ASCII)
#: what separates the fields of a svmlight file
_SPACES = re.compile(r"[ \t\n\r\x0b\x0c]+")


def number(text):
    """A decimal number, infinity or NaN."""
    text = _DIGITS_APART.sub("", text.strip())
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is no number")
    return float(text)


def whole(text):
    """A whole number."""
    text = _DIGITS_APART.sub("", text)
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is no whole number")
    return int(text)


def svmlight(content):
    """Rows of (label, {column: value}) of a svmlight file, columns as written."""
    rows = []
    for line in content.decode("latin-1").split("\n"):
        fields = [field for field in _SPACES.split(line.partition("#")[0]) if field]
        if not fields:
            continue
        label, *others = fields
        entries, last = {}, -1
        if others and others[0].startswith("qid") and ":" in others[0]:
            # queries are not read, whatever they are
            others.pop(0)
        for field in others:
            column, colon, value = field.partition(":")
            if not colon:
                raise ValueError(f"{field!r} has no colon")
            column = whole(column)
            if column <= last:
                raise ValueError("columns must increase")
            entries[column], last = number(value), column
        rows.append((number(label), entries))
    if not rows:
        raise ValueError("no rows")
    return rows


def delimiter(content):
    """What separates the fields of a table: the first of semicolon, comma and tab outside of quotes in its line 1."""
    quoted = False
    seen = set()
    for char in content.decode("utf-8-sig"):
        if char in "\r\n":
            break
        quoted ^= char == '"'
        if not quoted:
            seen.add(char)
    return next((mark for mark in ";,\t" if mark in seen), ",")


def column(fields, impute):
    """The features of a column, a list for each category or one of numbers, with their names after the column's.

    A column of numbers and of texts, or a missing value without ``impute``, raises ValueError.
    """
    values = []
    for field in fields:
        text = field.strip()
        missing = text.lower() in ("", "na", "n/a", "nan", "null", "?")
        try:
            value = None if missing else number(field) if field.isascii() else text
        except ValueError:
            value = text
        values.append(None if value != value else value)
    known = [value for value in values if value is not None]
    if len({type(value) for value in known}) != 1 or (impute is None and None in values):
        raise ValueError("numbers and texts, or values that are missing")
    if isinstance(known[0], float):
        fill = {"median": statistics.median, "mean": statistics.fmean, "most-frequent": _least_mode}.get(impute)
        return {"": [fill(known) if value is None else value for value in values]}
    values = [statistics.mode(known) if value is None else value for value in values]
    return {f"={name}": [float(value == name) for value in values] for name in sorted(set(known))}


def _least_mode(numbers):
    return min(statistics.multimode(numbers))


def table(content, separator=","):
    """The fields of all rows of a table with double quotes, blank rows dropped."""
    text = content.decode("utf-8-sig")
    rows, row, field, quoted, place, was_quoted = [], [], [], False, 0, False
    while place < len(text):
        char = text[place]
        place += 1
        if quoted:
            if char == '"' and text[place : place + 1] == '"':
                field.append(char)
                place += 1
            elif char == '"':
                quoted = False
            else:
                field.append(char)
        elif char == '"' and not field and not was_quoted:
            quoted = was_quoted = True
        elif char == separator:
            row.append("".join(field))
            field, was_quoted = [], False
        elif char in "\r\n":
            if char == "\r" and text[place : place + 1] == "\n":
                place += 1
            if row or field or was_quoted:
                rows.append([*row, "".join(field)])
            row, field, was_quoted = [], [], False
        else:
            field.append(char)
    if quoted:
        raise ValueError("a quote is not closed")
    if row or field or was_quoted:
        rows.append([*row, "".join(field)])
    return rows


def columns(content):
    """Sequences of tokens, each a list of fields, of a file with a token in each line."""
    text = content.decode("utf-8")
    if text[:1] == "\ufeff":
        text = text[1:]
    found, line, field = [[]], [], ""
    for place, char in enumerate(text + "\n"):
        if char == "\0" or (char == "\r" and text[place + 1 : place + 2] not in ("\n", "")):
            raise ValueError("a character that no line has")
        if char not in " \t\r\n":
            field += char
            continue
        if field:
            line.append(field)
            field = ""
        if char == "\n":
            if line:
                found[-1].append(line)
            elif found[-1]:
                found.append([])
            line = []
    found = [sequence for sequence in found if sequence]
    if not found or len({len(token) for sequence in found for token in sequence}) != 1 or len(found[0][0]) < 2:
        raise ValueError("no tokens, or not as many columns everywhere")
    return found


def model(path):
    """The text and the arrays, as flat tuples with their shapes, of a model file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name.endswith(".npy")}
    arrays = {name.removesuffix(".npy"): array(content) for name, content in members.items() if name != "about.npy"}
    shape, (text,) = array(members["about.npy"])
    if shape:
        raise ValueError("the text has a shape")
    return json.loads(text), arrays


def array(content):
    """(shape, values) of a .npy file of floats, integers or text, in C or Fortran order."""
    if content[:6] != b"\x93NUMPY":
        raise ValueError("no array")
    wide = content[6] > 1
    (length,) = struct.unpack("<I" if wide else "<H", content[8 : 12 if wide else 10])
    begin = (12 if wide else 10) + length
    # spaces and ends of lines do not count
    header = ast.literal_eval(" ".join(content[begin - length : begin].decode("latin-1").split()))
    shape, kind, data = header["shape"], header["descr"], content[begin:]
    size = 1
    for part in shape:
        size *= part
    order, letter, width = kind[0], kind[1], int(kind[2:])
    if letter == "U":
        codec = "utf-32-le" if order == "<" else "utf-32-be"
        values = [data[i * 4 * width : (i + 1) * 4 * width].decode(codec).rstrip("\0") for i in range(size)]
    else:
        letters = {("f", 8): "d", ("f", 4): "f", ("i", 8): "q", ("i", 4): "i", ("u", 8): "Q", ("b", 1): "?"}
        values = list(struct.unpack(f"{order.replace('|', '<')}{size}{letters[letter, width]}", data[: size * width]))
    if header["fortran_order"] and len(shape) == 2:
        values = [values[j * shape[0] + i] for i in range(shape[0]) for j in range(shape[1])]
    return shape, tuple(values)
