r"""Checkpoints of long solves: the best model and dual point so far, in a file that a later solve starts from.

The file holds the weights, the intercept and the witness (arrays), and in plain text what the problem was: its shape,
:math:`\lambda`, the names of risk and regularizer, a CRC-32 of X, and P and D of the pair.  It holds nothing of the
solver's state: a resumed solve is one with a warm start, which is certified like any other, so that its answer does
not depend on the file being right.  A file of another problem is refused, by the name of what differs.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fenchel.archive_damage import DAMAGES
from fenchel.arrays import Array
from fenchel.certificate import Verdict, gathered, judge
from fenchel.errors import FenchelError
from fenchel.problem import Model, Problem, Witness
from fenchel.replacing import replacing
from fenchel.solvers.base import Start

#: seconds between two writes
EVERY_SECONDS = 60.0
#: relative difference of objectives that are recomputed, possibly on another machine
_SAME_OBJECTIVE = 1e-9
#: of the layout of the file
_FORMAT = 1
_log = logging.getLogger("fenchel")


class Checkpoint:
    """The file of one solve."""

    def __init__(self, path: Path | str, problem: Problem, every: float = EVERY_SECONDS) -> None:
        self.path, self.problem, self.every = checked_target(path), problem, every
        self._written = time.monotonic()

    def start(self) -> Start | None:
        """The pair of the file as a warm start; None if there is no file."""
        if not self.path.exists():
            return None
        about, arrays = self._read()
        for name, value in self._problem.items():
            if about.get(name) != value:
                raise self._other_problem(f"its {name} is {about.get(name)}, here it is {value}")
        self._check_arrays(arrays)
        intercept = arrays["intercept"]
        model = Model(arrays["weights"], intercept if intercept.ndim else float(intercept))
        witness = Witness(arrays["theta"], decomposition=arrays.get("decomposition"))
        try:
            found = judge(self.problem, model, witness).certificate
        except ValueError as error:
            raise FenchelError(f"checkpoint: {self.path} is damaged: {error}") from error
        tolerance = _SAME_OBJECTIVE * max(abs(about["primal"]), abs(about["dual"]))
        # a certificate may find a better multiple of the dual point
        if not (abs(found.primal - about["primal"]) <= tolerance and found.dual >= about["dual"] - tolerance):
            objectives = f"the objective of its model is {about['primal']:.9g}, here it is {found.primal:.9g}"
            raise self._other_problem(f"{objectives}; labels, weights or parameters differ")
        return Start(model, witness)

    def _check_arrays(self, arrays: dict[str, Array]) -> None:
        """Raise unless the arrays are a model and a dual point of the problem."""
        problem = self.problem
        expected = {"weights": problem.weights_shape, "theta": problem.theta_shape}
        expected["intercept"] = np.shape(problem.no_intercept())
        for name, array in arrays.items():
            if array.shape != expected.get(name, array.shape):
                raise FenchelError(
                    f"checkpoint: {self.path} is damaged: {name} has shape {array.shape}, and the problem "
                    f"{expected[name]}. Remove it, or choose another name"
                )
            if not np.all(np.isfinite(array)):
                raise FenchelError(
                    f"checkpoint: {self.path} is damaged: {name} holds NaN or infinity. Remove it, or choose another "
                    "name"
                )

    def _other_problem(self, why: str) -> FenchelError:
        return FenchelError(f"checkpoint: {self.path} is of another problem: {why}. Remove it, or choose another name")

    def offer(self, best: Verdict) -> None:
        """Write the best pair if the last one was written long enough ago."""
        if time.monotonic() - self._written >= self.every:
            self.write(best)

    def write(self, best: Verdict) -> None:
        """Write the best pair; a full disk does not end the solve."""
        certificate, model, witness, _ = gathered(best)
        if not math.isfinite(certificate.primal):
            # no model meets the constraints yet
            return
        about = {"format": _FORMAT, **self._problem, "primal": certificate.primal, "dual": certificate.dual}
        arrays = {"weights": model.weights, "theta": witness.theta}
        arrays["intercept"] = np.asarray(self.problem.no_intercept() if model.intercept is None else model.intercept)
        if witness.decomposition is not None:
            arrays["decomposition"] = witness.decomposition
        try:
            with replacing(self.path) as stream:
                np.savez(stream, allow_pickle=False, about=np.array(json.dumps(about)), **arrays)
        except OSError as error:
            _log.warning("fenchel: the checkpoint %s can't be written: %s", self.path, error)
        self._written = time.monotonic()

    def _read(self) -> tuple[dict[str, Any], dict[str, Array]]:
        try:
            with self.path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
                about = json.loads(str(archive["about"]))
                arrays = {name: archive[name] for name in archive if name != "about"}
            if about["format"] != _FORMAT:
                raise ValueError(f"it has format {about['format']}, and this version reads {_FORMAT}")
            if not {"weights", "theta", "intercept"} <= set(arrays):
                raise ValueError("it lacks weights, theta or intercept")
            if any(array.dtype.kind != "f" for array in arrays.values()):
                raise ValueError("it does not hold numbers")
            about["primal"], about["dual"] = float(about["primal"]), float(about["dual"])
        except DAMAGES as error:
            # NumPy recommends to load the objects, which would run their code
            why = "it holds no arrays of numbers" if "allow_pickle" in str(error) else error
            raise FenchelError(f"checkpoint: {self.path} is not a checkpoint, or is damaged: {why}") from error
        return about, arrays

    @cached_property
    def _problem(self) -> dict[str, Any]:
        """What tells problems apart, as JSON has it."""
        problem = self.problem
        return {
            "shape": list(problem.design.shape),
            "lam": float(problem.lam),
            "risk": type(problem.risk).__name__,
            "regularizer": type(problem.regularizer).__name__,
            "intercept": bool(problem.intercept),
            "checksum of X": problem.design.checksum(),
        }


def checked_target(path: Path | str) -> Path:
    """The path of a checkpoint; raise unless a file can have this name."""
    if not isinstance(path, (str, Path)):
        raise FenchelError(f"checkpoint must be a path or None, got {type(path).__name__}")
    if not str(path):
        raise FenchelError("checkpoint must be the name of a file or None, got an empty name")
    target = Path(path)
    try:
        if target.exists() and not target.is_file():
            raise FenchelError(f"checkpoint: {path} is not a regular file")
        if not target.absolute().parent.is_dir():
            raise FenchelError(f"checkpoint: there is no folder {target.parent}")
        # older versions of Python say of such a name that there is no such file
        target.lstat()
    except FileNotFoundError:
        pass
    except FenchelError:
        raise
    except (OSError, ValueError) as error:
        raise FenchelError(f"checkpoint: {str(path)!r} can't be the name of a file: {error}") from error
    return target


def checked_targets(path: Path | str | None, count: int) -> Sequence[Path | None]:
    """The file of each of several problems, numbered before the suffix; raise if one can't be written."""
    if path is None:
        return [None] * count
    target = checked_target(path)
    if count == 1:
        return [target]
    return [checked_target(target.with_name(f"{target.stem}.{k}{target.suffix}")) for k in range(count)]
