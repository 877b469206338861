"""Sketches of an optimum that several threads ask at once."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from fenchel import LinearClassifier
from fenchel.certificate import OptimumBall, OptimumSketch


def test_threads_that_ask_first_at_once_get_one_bracketed_ball() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 2))
    ball = LinearClassifier().fit(rows, rows[:, 0] > 0)._optimum.sketches[0].ball()
    far, calls = np.full_like(ball.intercept_lower, np.inf), []
    unbounded = replace(ball, intercept_lower=-far, intercept_upper=far)

    def bracket(found: OptimumBall) -> OptimumBall:
        calls.append(found)
        # the others ask meanwhile
        time.sleep(0.05)
        return replace(found, intercept_lower=ball.intercept_lower, intercept_upper=ball.intercept_upper)

    def whole() -> OptimumSketch:
        calls.append(None)
        time.sleep(0.05)
        return OptimumSketch(unbounded, bracket)

    sketch = OptimumSketch.on_demand(whole)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: sketch.ball(), range(4)))
    assert calls == [None, unbounded]
    assert all(one is found[0] for one in found) and np.isfinite(found[0].intercept_upper).all()
