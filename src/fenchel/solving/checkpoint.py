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
import zipfile
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fenchel.arrays import Array
from fenchel.certificate import Verdict, judge
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
#: rows of X whose bytes are copied at a time
_CHUNK = 1 << 12
#: what reading a damaged file raises
_DAMAGES = (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error, RecursionError)
_log = logging.getLogger("fenchel")


class Checkpoint:
    """The file of one solve."""

    def __init__(self, path: Path | str, problem: Problem, every: float = EVERY_SECONDS) -> None:
        if not isinstance(path, (str, Path)):
            raise FenchelError(f"checkpoint must be a path or None, got {type(path).__name__}")
        self.path, self.problem, self.every = Path(path), problem, every
        self._written = time.monotonic()
        if self.path.exists() and not self.path.is_file():
            raise FenchelError(f"checkpoint: {path} is no regular file")
        if not self.path.absolute().parent.is_dir():
            raise FenchelError(f"checkpoint: there is no folder {self.path.parent}")

    def start(self) -> Start | None:
        """The pair of the file as a warm start; None if there is no file."""
        if not self.path.exists():
            return None
        about, arrays = self._read()
        for name, value in self._problem.items():
            if about.get(name) != value:
                raise self._other_problem(f"its {name} is {about.get(name)}, here it is {value}")
        intercept = arrays["intercept"]
        model = Model(arrays["weights"], intercept if intercept.ndim else float(intercept))
        witness = Witness(arrays["theta"], decomposition=arrays.get("decomposition"))
        if not self.problem.fits(model) or witness.theta.shape != self.problem.theta_shape:
            raise FenchelError(f"checkpoint: {self.path} is damaged: its arrays have other shapes than the problem")
        found = judge(self.problem, model, witness).certificate
        tolerance = _SAME_OBJECTIVE * max(abs(about["primal"]), abs(about["dual"]))
        # a certificate may find a better multiple of the dual point
        if not (abs(found.primal - about["primal"]) <= tolerance and found.dual >= about["dual"] - tolerance):
            objectives = f"the objective of its model is {about['primal']:.9g}, here it is {found.primal:.9g}"
            raise self._other_problem(f"{objectives}; labels, weights or parameters differ")
        return Start(model, witness)

    def _other_problem(self, why: str) -> FenchelError:
        return FenchelError(f"checkpoint: {self.path} is of another problem: {why}. Remove it, or choose another name")

    def offer(self, best: Verdict) -> None:
        """Write the best pair if the last one was written long enough ago."""
        if time.monotonic() - self._written >= self.every:
            self.write(best)

    def write(self, best: Verdict) -> None:
        """Write the best pair; a full disk does not end the solve."""
        certificate, model, witness, _ = best
        if not math.isfinite(certificate.primal):
            # no model meets the constraints yet
            return
        about = {"format": _FORMAT, **self._problem, "primal": certificate.primal, "dual": certificate.dual}
        arrays = {"weights": model.weights, "theta": witness.theta}
        arrays["intercept"] = np.asarray(0.0 if model.intercept is None else model.intercept)
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
            if about["format"] != _FORMAT or not {"weights", "theta", "intercept"} <= set(arrays):
                raise ValueError(f"it has format {about['format']}")
            if any(array.dtype.kind != "f" for array in arrays.values()):
                raise ValueError("it does not hold numbers")
            about["primal"], about["dual"] = float(about["primal"]), float(about["dual"])
        except _DAMAGES as error:
            raise FenchelError(f"checkpoint: {self.path} is no checkpoint, or is damaged: {error}") from error
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
            "checksum of X": _checksum(problem),
        }


def _checksum(problem: Problem) -> int:
    """The CRC-32 of the arrays of X."""
    crc = 0
    for values in problem.design.rows():
        array = np.atleast_1d(np.asarray(values))
        crc = zlib.crc32(f"{array.dtype.str} {array.shape}".encode(), crc)
        for begin in range(0, len(array), _CHUNK):
            crc = zlib.crc32(np.ascontiguousarray(array[begin : begin + _CHUNK]).data, crc)
    return crc
