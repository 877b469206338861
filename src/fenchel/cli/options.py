"""What the command ``fenchel`` understands; nothing but the standard library is imported for it."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction
from pathlib import Path
from typing import Any

import fenchel
from fenchel.cli.names import (
    CLASSIFICATION,
    FORMATS,
    IMPUTATIONS,
    MEASURES,
    MULTICLASS,
    RANKING,
    REGRESSION,
    REGULARIZERS,
    SOLVERS,
)
from fenchel.cli.parsing import Parser
from fenchel.frontends.main import COMMANDS as FRONT_ENDS

_DATA = (
    "a svmlight (LIBSVM) file, a table with commas, semicolons (.csv) or tabs (.tsv), a Parquet file (.parquet), or "
    "labelled sequences, a token in each line (.conll); also .gz, .bz2, .xz; - for standard input; or what `convert` "
    "wrote"
)
_TABLE = _DATA.replace(", or labelled sequences, a token in each line (.conll)", "")
_LABEL = "name or number (from 0) of a table's column of labels; the last one if not given"
#: the exit statuses of the commands that prove something, and what they leave behind where they do not
_NOT_PROVED = {
    **dict.fromkeys(("train", "cv"), "the model is written all the same"),
    **dict.fromkeys(("path", "compare"), "the table is written all the same"),
    "certify": "the gap is printed all the same",
}
_LOSSES = "; for ".join(
    f"{task} {', '.join(name + (':' + ','.join(own).upper() if own else '') for name, own in names.items())}"
    for task, names in (("classification", CLASSIFICATION), ("regression", REGRESSION), ("ranking", RANKING))
)
_MEASURES = ", ".join(name + (f":{own[0].upper()}" if own else "") for name, own in MEASURES.items())


def parser() -> Parser:
    """The parser of all commands."""
    top = Parser(prog="fenchel", description="Linear models that come with a proof.")
    top.add_argument("--version", action="version", version=f"fenchel {fenchel.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    for name, (help_text, add) in _COMMANDS.items():
        command = commands.add_parser(name, help=help_text, description=help_text, epilog=_status(name))
        add(command)
        command.names = tuple(option for action in command._actions for option in action.option_strings)
    for name, help_text in FRONT_ENDS.items():
        # only for the list of commands: the arguments of these never come here
        commands.add_parser(name, help=help_text, add_help=False)
    top.commands = commands.choices
    return top


def _status(command: str) -> str:
    """What the exit status of a command means."""
    proves = _NOT_PROVED.get(command)
    done = "0 if done" if proves is None else f"0 if the tolerance is proved, 3 if it is not ({proves})"
    return f"Exit status: {done}, 2 for bad input, 130 after Ctrl-C."


def _add_train(train: ArgumentParser) -> None:
    train.add_argument("data", type=Path, help=_DATA)
    train.add_argument("-o", "--output", type=Path, help="the model file, or -; NAME.model.npz if not given")
    train.add_argument("--force", action="store_true", help="replace the model file")
    _add_columns(train, training=True)
    chains = train.add_argument_group("labelled sequences (linear chains; --loss hinge or logistic)")
    chains.add_argument(
        "--sequences",
        action="store_true",
        help="each line has the fields of a token, its label last; blank lines separate sequences (.conll always)",
    )
    chains.add_argument("--template", type=Path, help="features of tokens, as in CRF++; see docs/sequences.md")
    chains.add_argument(
        "--transitions",
        choices=("full", "pairs", "none"),
        help="weights of pairs of labels, and of first and last labels; full if not given",
    )
    what = _add_objective(train)
    what.add_argument("-C", type=float, default=1.0, help="inverse strength of the regularization (%(default)s)")
    how = _add_effort(train)
    how.add_argument(
        "--checkpoint", type=Path, metavar="FILE", help="write the best model so far here, once a minute and at the end"
    )
    how.add_argument("--resume", action="store_true", help="go on from the file of --checkpoint, if there is one")


def _add_predict(predict: ArgumentParser) -> None:
    _add_model_and_data(predict)
    predict.add_argument(
        "-o", "--output", type=Path, help="a file for the predictions, a line each; else they are printed"
    )
    shown = predict.add_mutually_exclusive_group()
    shown.add_argument("--scores", action="store_true", help="scores instead of labels")
    shown.add_argument("--probabilities", action="store_true", help="probabilities instead of labels (logistic loss)")
    shown.add_argument(
        "--proved",
        action="store_true",
        help="add whether every exact optimum predicts the same, or bounds of its number",
    )
    predict.add_argument("--force", action="store_true", help="replace the output file")


def _add_evaluate(evaluate: ArgumentParser) -> None:
    _add_model_and_data(evaluate)
    evaluate.add_argument("--json", action="store_true", help="one object in JSON instead of a table")


def _add_certify(certify: ArgumentParser) -> None:
    _add_model_and_data(certify, "the training data; without it, what was proved in training", nargs="?")
    certify.add_argument("--tol", type=float, help="the relative gap to prove; that of the training if not given")
    certify.add_argument(
        "--rigorous", action="store_true", help="enclose both bounds in about 32 digits: slower, on IEEE 754 alone"
    )


def _add_path(path: ArgumentParser) -> None:
    path.add_argument("data", type=Path, help=_TABLE)
    path.add_argument(
        "--Cs", metavar="VALUES", help="0.01,0.1,1, or LOW:HIGH for an interval that is certified everywhere"
    )
    path.add_argument("--accuracy", type=float, default=1e-2, help="the gap of every C of an interval (%(default)s)")
    _add_held_out(path)
    path.add_argument("-o", "--output", type=Path, help="a CSV file for the table; - prints CSV")
    path.add_argument("--force", action="store_true", help="replace the output file")
    _add_columns(path, training=True)
    _add_objective(path)
    _add_effort(path)


def _add_cv(cv: ArgumentParser) -> None:
    cv.add_argument("data", type=Path, help=_TABLE)
    cv.add_argument("--Cs", metavar="VALUES", help="such as 0.01,0.1,1; 10 values from 1e-4 to 1e4 if not given")
    cv.add_argument("--folds", type=int, default=5, help="number of folds (%(default)s)")
    cv.add_argument("--scoring", help="a score of scikit-learn, such as roc_auc or neg_mean_absolute_error")
    cv.add_argument("-o", "--output", type=Path, help="the model file, or -; NAME.model.npz if not given")
    cv.add_argument("--force", action="store_true", help="replace the model file")
    _add_columns(cv, training=True)
    _add_objective(cv)
    _add_effort(cv)


def _add_compare(compare: ArgumentParser) -> None:
    compare.add_argument("data", type=Path, help=_TABLE)
    compare.add_argument("--losses", default="hinge", metavar="NAMES", help="such as hinge,logistic (%(default)s)")
    compare.add_argument("--solvers", default="auto", metavar="NAMES", help="such as auto,newton (%(default)s)")
    compare.add_argument("--Cs", default="1", metavar="VALUES", help="such as 0.1,1,10 (%(default)s)")
    compare.add_argument("--baseline", action="store_true", help="also scikit-learn's class for each loss and C")
    _add_held_out(compare)
    compare.add_argument("-o", "--output", type=Path, help="a CSV file for the table; - prints CSV")
    compare.add_argument("--report", type=Path, metavar="FILE", help="also a page that compares them")
    compare.add_argument("--force", action="store_true", help="replace the output files")
    _add_columns(compare, training=True)
    _add_objective(compare, one=False)
    _add_effort(compare, one=False)


def _add_report(report: ArgumentParser) -> None:
    _add_model_and_data(report, "the training data; - for standard input")
    report.add_argument("--test", type=Path, metavar="FILE", help="held-out data, for their scores and curves")
    report.add_argument("--baseline", action="store_true", help="also fit scikit-learn's counterpart")
    report.add_argument("-o", "--output", type=Path, help="the page; NAME.report.html if not given; - prints it")
    report.add_argument("--force", action="store_true", help="replace the page")


def _add_convert(convert: ArgumentParser) -> None:
    convert.add_argument("data", type=Path, help=_TABLE.replace("; or what `convert` wrote", ""))
    convert.add_argument("-o", "--output", type=Path, help="the folder of the store; NAME.store if not given")
    convert.add_argument("--force", action="store_true", help="replace a store of this name")
    convert.add_argument(
        "--zero-based",
        action=BooleanOptionalAction,
        help="whether features are numbered from 0; looked up if not given",
    )
    convert.add_argument("--weights", metavar="COLUMN", help="name or number of a table's column of weights")
    _add_columns(convert)


def _add_info(info: ArgumentParser) -> None:
    info.add_argument("file", type=Path, help="a model file or a data file; - for standard input")
    _add_columns(info)


_COMMANDS: dict[str, tuple[str, Any]] = {
    "train": ("fit a model to a file and prove how good it is", _add_train),
    "predict": ("predict the labels of a file's rows", _add_predict),
    "evaluate": ("compare a model's predictions with the labels of a file", _add_evaluate),
    "certify": ("prove again, from the data, how close a model is to the optimum", _add_certify),
    "path": ("fit models for many values of C, each with its proof", _add_path),
    "cv": ("choose C by cross-validation, and fit the model", _add_cv),
    "compare": ("compare losses, solvers, values of C and scikit-learn on one file", _add_compare),
    "report": ("write a page about a model and its proof", _add_report),
    "convert": ("write a file's rows to a store, for data larger than memory", _add_convert),
    "info": ("say what a model file or a data file holds", _add_info),
}


def _add_model_and_data(command: ArgumentParser, data: str = _DATA, nargs: str | None = None) -> None:
    command.add_argument("model", type=Path, help="what `fenchel train` or `fenchel cv` wrote; - for standard input")
    command.add_argument("data", type=Path, nargs=nargs, help=data)
    _add_columns(command)


def _add_columns(command: ArgumentParser, *, training: bool = False) -> None:
    """How files are read."""
    tables = command.add_argument_group("tables")
    tables.add_argument("--label", metavar="COLUMN", help=_LABEL)
    tables.add_argument("--header", action=BooleanOptionalAction, help="whether a table's first row is a header")
    tables.add_argument("--qid", metavar="COLUMN", help="name or number of a table's column of queries, for rankings")
    tables.add_argument("--format", choices=FORMATS, help="what the file is, if its name does not say it")
    tables.add_argument("--delimiter", metavar="CHARACTER", help="what separates fields; looked up if not given")
    tables.add_argument("--decimal-comma", action="store_true", help="numbers are written 1,5 instead of 1.5")
    if training:
        tables.add_argument(
            "--impute", choices=IMPUTATIONS, help="replace missing values, here and in predictions, not refuse them"
        )
        tables.add_argument(
            "--text",
            action="append",
            default=[],
            metavar="COLUMN",
            help="a column of categories that look like numbers",
        )
        tables.add_argument("--drop", action="append", default=[], metavar="COLUMN", help="omit a column")
    shown = command.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="no progress in a terminal")
    shown.add_argument("--verbose", action="store_true", help="progress outside of a terminal too")


def _add_objective(command: ArgumentParser, *, one: bool = True) -> Any:
    what = command.add_argument_group("what is minimized")
    if one:
        what.add_argument("--loss", help=f"hinge if not given; for {_LOSSES}")
        what.add_argument("--measure", help=f"a measure to train for, instead of a loss: {_MEASURES}")
        what.add_argument(
            "--surrogate",
            choices=("auto", "bound", "plug_in"),
            default="auto",
            help="for a measure: its convex bound, a plug-in, or what is better on folds (%(default)s)",
        )
        what.add_argument("--positive", metavar="LABEL", help="the label that is positive; the second if not given")
        what.add_argument("--k", type=int, help="k of precision_at_k, recall_at_k and ndcg")
        what.add_argument(
            "--gain", default="exponential", help="gain of ndcg: exponential (2^y - 1) or linear (%(default)s)"
        )
        what.add_argument("--beta", type=float, help="beta of fbeta; 1 if not given")
    what.add_argument("--l1-ratio", type=float, default=0.0, help="0 = ridge (L2), 1 = lasso (L1) (%(default)s)")
    what.add_argument("--regularizer", help=f"in place of --l1-ratio: {', '.join(REGULARIZERS)}")
    what.add_argument("--intercept", action=BooleanOptionalAction, default=True, help="a free intercept")
    what.add_argument(
        "--multi-class",
        default="auto",
        help=f"the form of more than two classes (%(default)s): {', '.join(MULTICLASS)}",
    )
    what.add_argument("--class-weight", choices=("balanced",), help="weight classes inversely to their sizes")
    return what


def _add_effort(command: ArgumentParser, *, one: bool = True) -> Any:
    how = command.add_argument_group("how")
    how.add_argument("--tol", type=float, default=1e-3, help="the relative duality gap to prove (%(default)s)")
    how.add_argument("--max-iter", type=float, default=1000, help="most passes over the data (%(default)s)")
    how.add_argument("--time-limit", type=float, metavar="SECONDS", help="stop then, with the best model so far")
    if one:
        how.add_argument("--solver", default="auto", help=f"one of {', '.join(SOLVERS)} (%(default)s)")
    how.add_argument("--threads", type=int, help="number of threads, for several classes and for solvers that use them")
    how.add_argument("--seed", type=int, default=0, help="seed of the order of the examples (%(default)s)")
    return how


def _add_held_out(command: ArgumentParser) -> None:
    held_out = command.add_mutually_exclusive_group()
    held_out.add_argument("--test", type=Path, metavar="FILE", help="data for the scores")
    held_out.add_argument(
        "--test-share", type=float, default=0.2, help="rows that are held out for the scores; 0 for none (%(default)s)"
    )
