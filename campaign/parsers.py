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
#: a byte order mark, byte by byte
_MARK = "\xef\xbb\xbf"
#: what separates the fields of a svmlight file
_BLANKS = " \t\n\r\x0b\x0c"
_SPACES = re.compile(f"[{_BLANKS}]+")


def number(text):
    """A decimal number, infinity or NaN."""
    text = _DIGITS_APART.sub("", text.strip())
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def bare_number(text):
    """A decimal number, infinity or NaN, without any space of Unicode around it."""
    if text != text.strip():
        raise ValueError(f"{text!r} has spaces")
    return number(text)


def whole(text):
    """A whole number."""
    text = _DIGITS_APART.sub("", text)
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _unmarked(content):
    """The characters after a byte order mark."""
    return content.decode("latin-1").removeprefix(_MARK)


def svmlight(content):
    """Rows of (label, {column: value}) of a svmlight file, columns as written."""
    rows = []
    for line in _unmarked(content).split("\n"):
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


#: the solver types of LIBLINEAR, those of regression and of one class last
_LIBLINEAR = {
    *("L2R_LR", "L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC", "L2R_L1LOSS_SVC_DUAL", "MCSVM_CS", "L1R_L2LOSS_SVC"),
    *("L1R_LR", "L2R_LR_DUAL"),
}
_WITHOUT_LABELS = {"L2R_L2LOSS_SVR", "L2R_L2LOSS_SVR_DUAL", "L2R_L1LOSS_SVR_DUAL", "ONECLASS_SVM"}


def front_end_rows(content, svm_light):
    """Rows of (label, [(feature, value)]) of a data file of LIBLINEAR, or of SVM-light."""
    lines = content.decode("latin-1").split("\n")
    if not lines[-1]:
        lines.pop()
    rows = []
    for k, whole_line in enumerate(lines):
        line = whole_line.removeprefix(_MARK) if k == 0 else whole_line
        if svm_light and line[:1] == "#":
            continue
        fields = [field for field in _SPACES.split(line.partition("#")[0]) if field]
        if not fields:
            raise ValueError("a line without a label")
        entries, last = [], 0
        for field in fields[1:]:
            if svm_light and field.startswith(("qid:", "sid:", "cost:")):
                continue
            feature, colon, value = field.partition(":")
            if not colon or not last < whole(feature) < 2**31:
                raise ValueError(f"{field!r} is not a feature, or does not follow the one before")
            last = whole(feature)
            entries.append((last, bare_number(value)))
        rows.append((bare_number(fields[0]), entries))
    return rows


def liblinear_model(content):
    """Type, classes, labels, features, bias, rho and weights of a model file of LIBLINEAR."""
    words = [word for word in _SPACES.split(content.decode("latin-1")) if word][::-1]
    head, labels = {}, None

    def following():
        if not words:
            raise ValueError("the file ends early")
        return words.pop()

    while (key := following()) != "w":
        if key == "label":
            if "nr_class" not in head:
                raise ValueError("labels before their number")
            labels = [_of_32_bits(following()) for _ in range(min(head["nr_class"], len(words) + 1))]
        elif key in ("nr_class", "nr_feature"):
            head[key] = _of_32_bits(following())
            if head[key] < 0:
                raise ValueError(f"{key} is negative")
        elif key in ("bias", "rho"):
            head[key] = bare_number(following())
            if head[key] != head[key]:
                raise ValueError(f"{key} is not a number")
        elif key == "solver_type":
            head[key] = following()
        else:
            raise ValueError(f"unknown key {key}")
    missing = {"solver_type", "nr_class", "nr_feature", "bias"} - set(head)
    kind, classes = head.get("solver_type"), head.get("nr_class")
    if missing or kind not in _LIBLINEAR | _WITHOUT_LABELS or not classes:
        raise ValueError("a header that lacks something")
    if (kind in _LIBLINEAR and labels is None) or (kind in _WITHOUT_LABELS and classes != 2):
        raise ValueError("a header that contradicts itself")
    outputs = 1 if classes == 2 and kind != "MCSVM_CS" else classes
    if len(words) != outputs * (head["nr_feature"] + (head["bias"] >= 0)):
        raise ValueError("another number of weights")
    rho = head.get("rho", 0.0) if kind == "ONECLASS_SVM" else 0.0
    return kind, classes, labels, head["nr_feature"], head["bias"], rho, [bare_number(word) for word in words[::-1]]


def _of_32_bits(text):
    if abs(whole(text)) >= 2**31:
        raise ValueError("more than 32 bits")
    return whole(text)


def svmperf_model(content):
    """{feature: weight}, threshold and training rows of a model file of SVM-perf."""
    lines = content.decode("latin-1").split("\n")
    if lines[0].strip(_BLANKS) != "SVM-light Version V6.20" or len(lines) < 11:
        raise ValueError("another first line, or a header that is cut off")
    values = [line.partition("#")[0].strip(_BLANKS) for line in lines[:11]]
    kernel, highest, rows, vectors = (whole(values[place]) for place in (1, 7, 8, 9))
    threshold, lines = bare_number(values[10]), lines[11:]
    if kernel != 0 or not 0 <= highest < 10**8 or not 0 <= vectors - 1 <= len(lines):
        raise ValueError("another kernel, a wrong number of features, or a file that is cut off")
    weights = {}
    own = "".join(f"{line}\n" for line in lines[: vectors - 1])
    for factor, entries in front_end_rows(own.encode("latin-1"), svm_light=True):
        for feature, value in entries:
            if feature <= highest:
                weights[feature] = weights.get(feature, 0.0) + factor * value
    return weights, threshold, rows


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
    return features(values, impute)


def features(values, impute):
    """The features of a column of numbers or of texts, None where one is missing; see :func:`column`."""
    known = [value for value in values if value is not None]
    if len({type(value) for value in known}) != 1 or (impute is None and None in values):
        raise ValueError("numbers and texts, or values that are missing")
    if isinstance(known[0], float):
        fill = {"median": statistics.median, "mean": statistics.fmean, "most-frequent": _least_mode}.get(impute)
        return {"": [fill(known) if value is None else value for value in values]}
    values = [_least_mode(known) if value is None else value for value in values]
    return {f"={name}": [float(value == name) for value in values] for name in sorted(set(known))}


def _least_mode(values):
    return min(statistics.multimode(values))


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
    order, letter = kind[0], kind[1]
    width = int(kind[2:] or 4 * (letter != "U"))
    if letter == "U":
        codec = "utf-32-le" if order == "<" else "utf-32-be"
        values = [data[i * 4 * width : (i + 1) * 4 * width].decode(codec).rstrip("\0") for i in range(size)]
    else:
        letters = {("f", 8): "d", ("f", 4): "f", ("i", 8): "q", ("i", 4): "i", ("u", 8): "Q", ("b", 1): "?"}
        letters |= {("f", 2): "e", ("i", 2): "h", ("i", 1): "b", ("u", 4): "I", ("u", 2): "H", ("u", 1): "B"}
        values = list(struct.unpack(f"{order.replace('|', '<')}{size}{letters[letter, width]}", data[: size * width]))
    if header["fortran_order"] and len(shape) == 2:
        values = [values[j * shape[0] + i] for i in range(shape[0]) for j in range(shape[1])]
    return shape, tuple(values)
