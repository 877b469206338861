"""The data that the options name."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.cli.output import say
from fenchel.cli.progress import reading
from fenchel.errors import FenchelError
from fenchel.io.kinds import no_features
from fenchel.io.model_file import ModelFile
from fenchel.io.readers import Layout, Table, read


class Data(NamedTuple):
    """Rows with labels, and what ``fit`` is given besides."""

    X: Any
    y: Any
    #: queries and weights, by the argument's name
    more: dict[str, Any]

    def taken(self, rows: Any) -> Data:
        """Some of the rows."""
        return Data(self.X[rows], self.y[rows], {name: values[rows] for name, values in self.more.items()})


def shown_name(options: Namespace, path: Path) -> str:
    """What messages call a file."""
    return str(options.names.get(str(path), path.name))


def training_table(options: Namespace, *, ranks: bool = False) -> Table:
    """The rows of the file to train on."""
    layout = _with_text(
        Layout(options.label, options.header, ranks=ranks, qid=options.qid),
        options,
        impute=options.impute,
        texts=tuple(options.text),
        drop=tuple(options.drop),
    )
    table = _read(options, options.data, layout)
    if sp.issparse(table.X) and not table.X.nnz:
        raise no_features(shown_name(options, options.data), table.X.shape[0])
    return table


def table_for(options: Namespace, model: ModelFile, path: Path | None = None) -> Table:
    """The rows of a file as a model needs them."""
    layout = _with_text(model.layout(options.label, options.header, options.qid), options)
    return _read(options, options.data if path is None else path, layout)


def table_like(options: Namespace, trained: Table, path: Path) -> Table:
    """The rows of another file as the training data were read."""
    label = None if trained.label is None else str(trained.label)
    layout = Layout(options.label, options.header, trained.X.shape[1], None, trained.zero_based, own_label=label)
    return _read(options, path, _with_text(layout._replace(encoding=trained.encoding), options))


def delimiter_of(options: Namespace) -> str | None:
    """What separates fields, as the user says."""
    asked: str | None = options.delimiter
    if asked in ("tab", "\\t"):
        return "\t"
    if asked is not None and (len(asked) != 1 or asked in '"\r\n'):
        raise FenchelError(f"--delimiter must be one character, or tab, got {asked!r}")
    return asked


def _with_text(layout: Layout, options: Namespace, **more: Any) -> Layout:
    text = {"delimiter": delimiter_of(options), "decimal_comma": options.decimal_comma, "kind": options.format}
    return layout._replace(**text, **more)


def _read(options: Namespace, path: Path, layout: Layout) -> Table:
    with reading(options):
        table = read(path, layout)
    for note in table.notes:
        say(f"{shown_name(options, path)}: {note}")
    return table


def data_of(options: Namespace, table: Table, *, ranks: bool = False) -> Data:
    """What is fitted to, of rows that have labels."""
    assert table.y is not None
    more = {} if table.sample_weight is None else {"sample_weight": table.sample_weight}
    if ranks:
        if table.qid is None:
            raise FenchelError(
                f"{shown_name(options, options.data)}: has no queries; write qid:NUMBER after each label, or name a "
                "table's --qid COLUMN"
            )
        more["qid"] = table.qid
    return Data(table.X, table.y, more)


def training_and_test(options: Namespace, table: Table) -> tuple[Data, Data | None]:
    """The rows to train on, and those for the scores: another file, or a share of the rows."""
    data = data_of(options, table)
    if options.test is not None:
        other = table_like(options, table, options.test)
        if other.y is None:
            raise FenchelError(f"{options.test}: has no labels, and scores need them")
        X = other.X[:, : data.X.shape[1]]
        return data, Data(X, other.y, {})
    if not 0.0 <= options.test_share < 1.0:
        raise FenchelError(f"--test-share must be at least 0 and below 1, got {options.test_share:g}")
    rows = len(data.y)
    held_out = round(options.test_share * rows)
    if not held_out:
        return data, None
    if held_out == rows:
        raise FenchelError(f"--test-share {options.test_share:g} leaves none of {rows} rows to train on")
    order = np.random.default_rng(options.seed).permutation(rows)
    return data.taken(np.sort(order[held_out:])), data.taken(np.sort(order[:held_out]))
