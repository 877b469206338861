"""What the command ``fenchel`` understands."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction, RawDescriptionHelpFormatter
from pathlib import Path

import fenchel

_DATA = (
    "a svmlight (LIBSVM) file, a table with commas (.csv), or labelled sequences, a token in each line (.conll); also "
    ".gz, .bz2, .xz; or what `convert` wrote"
)
_LABEL = "name or number (from 0) of a table's column of labels; the last one if not given"
_STATUS = (
    "Exit status: 0 if the tolerance is proved, 1 if not (the model is written), 2 for bad input, 130 after Ctrl-C."
)


#: stands in a help text for the names of a registry
_NAMES = "[names]"


class _Parser(ArgumentParser):
    """A parser whose help lists the names of the registries, which only the help has to import."""

    def format_help(self) -> str:
        named = [action for action in self._actions if _NAMES in (action.help or "")]
        names = _registered() if named else {}
        for action in named:
            action.help = str(action.help).replace(_NAMES, names[action.dest])
        return super().format_help()


def _registered() -> dict[str, str]:
    """The names that each option knows."""
    from fenchel.estimators.multiclass import FORMS
    from fenchel.losses import NAMED
    from fenchel.regularizers import REGULARIZERS
    from fenchel.risks import MEASURES, RANKINGS
    from fenchel.solvers import SOLVERS

    losses = {
        task: ", ".join(name for name, loss in NAMED.items() if loss.task == task)
        for task in ("classification", "regression")
    }
    return {
        "loss": "; for ".join(f"{task} {names}" for task, names in {**losses, "ranking": ", ".join(RANKINGS)}.items()),
        "measure": ", ".join(MEASURES),
        "regularizer": ", ".join(REGULARIZERS),
        "multi_class": ", ".join(("auto", *FORMS)),
        "solver": ", ".join(("auto", *SOLVERS)),
    }


def parser() -> ArgumentParser:
    """The parser of all commands."""
    top = ArgumentParser(
        prog="fenchel", description="Linear models that come with a proof.", formatter_class=RawDescriptionHelpFormatter
    )
    top.add_argument("--version", action="version", version=f"fenchel {fenchel.__version__}")
    commands = top.add_subparsers(
        dest="command", required=True, metavar="train | predict | certify | convert", parser_class=_Parser
    )
    train = commands.add_parser("train", help="fit a model to a file and prove how good it is", epilog=_STATUS)
    _add_train(train)
    convert = commands.add_parser("convert", help="write a file's rows to a store, for data larger than memory")
    convert.add_argument(
        "data",
        type=Path,
        help="a svmlight (LIBSVM) file or a table of numbers (.csv); also .gz, .bz2, .xz; or a Parquet file (.parquet)",
    )
    convert.add_argument("-o", "--output", type=Path, help="the folder of the store; NAME.store if not given")
    convert.add_argument("--force", action="store_true", help="replace a store of this name")
    convert.add_argument(
        "--zero-based", action=BooleanOptionalAction, help="whether features are numbered from 0; else it is looked up"
    )
    convert.add_argument("--label", metavar="COLUMN", help=_LABEL)
    convert.add_argument("--weights", metavar="COLUMN", help="name or number of a table's column of weights")
    predict = commands.add_parser("predict", help="predict the labels of a file's rows")
    certify = commands.add_parser(
        "certify", help="prove again, from the data, how close a model is to the optimum", epilog=_STATUS
    )
    for command in (predict, certify):
        command.add_argument("model", type=Path, help="what `fenchel train` wrote")
        command.add_argument("--label", metavar="COLUMN", help="the column of labels, if another one than in training")
    predict.add_argument("data", type=Path, help=_DATA)
    predict.add_argument(
        "-o", "--output", type=Path, help="a file for the predictions, a line each; else they are printed"
    )
    shown = predict.add_mutually_exclusive_group()
    shown.add_argument("--scores", action="store_true", help="scores instead of labels")
    shown.add_argument("--probabilities", action="store_true", help="probabilities instead of labels (logistic loss)")
    shown.add_argument(
        "--proved",
        action="store_true",
        help="add whether every exact optimum predicts the same (for numbers bounds)",
    )
    predict.add_argument("--force", action="store_true", help="replace the output file")
    certify.add_argument(
        "data", type=Path, nargs="?", help="the training data; without it, what was proved in training"
    )
    for command in (train, predict, certify, convert):
        command.add_argument(
            "--qid", metavar="COLUMN", help="name or number of a table's column of queries, for rankings"
        )
        command.add_argument("--header", action=BooleanOptionalAction, help="whether a table's first row is a header")
    certify.add_argument("--tol", type=float, help="the relative gap that status 0 means, if not that of the training")
    certify.add_argument(
        "--rigorous", action="store_true", help="enclose both bounds in about 32 digits: slower, on IEEE 754 alone"
    )
    return top


def _add_train(train: ArgumentParser) -> None:
    train.add_argument("data", type=Path, help=_DATA)
    train.add_argument("-o", "--output", type=Path, help="the model file; NAME.model.npz if not given")
    train.add_argument("--force", action="store_true", help="replace the model file")
    train.add_argument("--label", metavar="COLUMN", help=_LABEL)
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
    what = train.add_argument_group("what is minimized")
    what.add_argument("--loss", help=f"hinge if not given; for {_NAMES}")
    what.add_argument("--measure", help=f"a measure to train for, instead of a loss: {_NAMES}")
    what.add_argument(
        "--surrogate",
        choices=("auto", "bound", "plug_in"),
        default="auto",
        help="of a measure: its convex bound, a plug-in, or what is better on folds (%(default)s)",
    )
    what.add_argument("--positive", metavar="LABEL", help="the positive one of two labels; the second if not given")
    what.add_argument("--k", type=int, help="of precision_at_k, recall_at_k and ndcg")
    what.add_argument("--gain", default="exponential", help="of ndcg: exponential (2^y - 1) or linear (%(default)s)")
    what.add_argument("--beta", type=float, default=1.0, help="of fbeta")
    what.add_argument("-C", type=float, default=1.0, help="inverse strength of the regularization (%(default)s)")
    what.add_argument("--l1-ratio", type=float, default=0.0, help="0 = ridge (L2), 1 = lasso (L1) (%(default)s)")
    what.add_argument("--regularizer", help=f"in place of --l1-ratio: {_NAMES}")
    what.add_argument("--intercept", action=BooleanOptionalAction, default=True, help="a free intercept")
    what.add_argument(
        "--multi-class", default="auto", help=f"the form of more than two classes (%(default)s): {_NAMES}"
    )
    what.add_argument("--class-weight", choices=("balanced",), help="weigh classes by their sizes")
    how = train.add_argument_group("how")
    how.add_argument("--tol", type=float, default=1e-3, help="the relative duality gap to prove (%(default)s)")
    how.add_argument("--max-iter", type=float, default=1000, help="passes over the data at most (%(default)s)")
    how.add_argument("--time-limit", type=float, metavar="SECONDS", help="the best model so far is written then")
    how.add_argument(
        "--checkpoint", type=Path, metavar="FILE", help="keep the best model so far there, once a minute and at the end"
    )
    how.add_argument("--resume", action="store_true", help="go on from the file of --checkpoint, if there is one")
    how.add_argument("--solver", default="auto", help=f"%(default)s if not given; {_NAMES}")
    how.add_argument("--threads", type=int, help="for several classes, and solvers that use them")
    how.add_argument("--seed", type=int, default=0, help="of the order of the examples (%(default)s)")
    how.add_argument("--quiet", action="store_true", help="no progress in a terminal")
