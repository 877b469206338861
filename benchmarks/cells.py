"""The cells in which Fenchel races its peers, and which of them nobody tunes on.

A cell is a data set, a loss and a C.  The list was written before the work on speed that it judges; constants and rules
of ``auto`` are set on the cells that are not held out, and the others are measured once that is done.  A data set is
held out as a whole, or a few values of C of a set that is otherwise open are.  Of every question at least half of the
cells are held out (tests/test_benchmarks.py).  Tables of the benchmarks have a column for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Cell(NamedTuple):
    """One problem of one question."""

    question: str
    data: str
    loss: str
    C: float
    held_out: bool


class Question(NamedTuple):
    """What a user asks, as a product of losses, data sets and values of C."""

    losses: tuple[str, ...]
    #: data sets that may be tuned on
    open: tuple[str, ...]
    #: data sets that may not
    held_out: tuple[str, ...]
    #: values of C that may be tuned on, on the open sets
    open_cs: tuple[float, ...] = (1.0, 10.0)
    #: and those that may not
    held_out_cs: tuple[float, ...] = (0.1, 100.0)


QUESTIONS = {
    "classification": Question(
        ("hinge", "squared_hinge", "logistic"),
        open=("a9a", "w8a", "covtype"),
        held_out=("mushrooms", "kddcup99", "mnist", "covtype-dense", "mnist-dense"),
    ),
    "text": Question(
        ("hinge", "squared_hinge", "logistic"),
        open=("20news.binary", "imdb"),
        held_out=("reuters-moneyfx",),
    ),
    "small data": Question(
        ("drop-in", "own"),
        open=("iris", "breast_cancer"),
        held_out=("wine", "digits", "diabetes", "housing.scale"),
        open_cs=(1.0,),
        held_out_cs=(),
    ),
    "several classes": Question(
        ("weston_watkins", "crammer_singer"),
        open=("dna", "letter", "banking77"),
        held_out=("satimage", "sector", "news20", "20news", "mnist"),
        open_cs=(1.0,),
        held_out_cs=(),
    ),
    "L1": Question(
        ("logistic", "squared"),
        open=("a9a", "20news.binary"),
        held_out=("imdb", "w8a", "cpusmall", "gaussian@2000"),
        open_cs=(0.1, 10.0),
        held_out_cs=(0.01, 1.0, 100.0),
    ),
    "regression": Question(
        ("epsilon_insensitive", "huber", "quantile"),
        open=("abalone", "cpusmall"),
        held_out=("cadata", "housing.scale", "abalone-unit", "cadata-unit"),
    ),
    "kernels": Question(
        ("hinge", "epsilon_insensitive"),
        open=("a9a@5000", "abalone"),
        held_out=("w8a@5000", "cpusmall", "mnist@10000"),
        open_cs=(1.0, 10.0),
        held_out_cs=(100.0,),
    ),
    "measures": Question(
        ("roc_auc", "prbep", "f1"),
        open=("a9a", "reuters-moneyfx"),
        held_out=("w8a", "covtype@50000", "kddcup99@50000"),
        open_cs=(1.0,),
        held_out_cs=(0.1, 10.0),
    ),
}


def cells(name: str) -> Iterator[Cell]:
    """The cells of a question."""
    question = QUESTIONS[name]
    for loss in question.losses:
        for data in question.open + question.held_out:
            for C in question.open_cs + question.held_out_cs:
                yield Cell(name, data, loss, C, data in question.held_out or C in question.held_out_cs)


def is_held_out(name: str, data: str, C: float) -> bool:
    """Whether nobody tunes on this data set and C; a set or C that no list names is held out too."""
    question = QUESTIONS[name]
    return data not in question.open or C not in question.open_cs


def named(name: str, data: str) -> str:
    """A data set as the lists of a question spell it: without "-dense" or ".scale" where they have it without."""
    question = QUESTIONS[name]
    known = question.open + question.held_out
    shorter = (data, data.removesuffix("-dense"), data.removesuffix("-dense").removesuffix(".scale"))
    return next((one for one in shorter if one in known), data)


def question_of(data: str) -> str:
    """The question that linear models of a data set belong to; classification, if no list has it."""
    for name in ("text", "regression", "several classes"):
        if named(name, data) in QUESTIONS[name].open + QUESTIONS[name].held_out:
            # "mnist" stands among the sets of two and of several classes
            return "classification" if data in QUESTIONS["classification"].held_out else name
    return "classification"


def held_out_mark(name: str, data: str, C: float | None = None) -> str:
    """What the column "held out" of a table says; without C, whether the whole data set is."""
    return "yes" if is_held_out(name, named(name, data), QUESTIONS[name].open_cs[0] if C is None else C) else ""
