"""``pytest -p limited``: end each test after a few processor seconds, for ``make coverage`` without compiled loops.

What a test reached by then is counted; it is reported as skipped.
"""

import signal

import pytest

SECONDS = 2.0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    def end(number, frame):
        if frame is not None and frame.f_globals.get("__name__", "").startswith("coverage"):
            # it may hold a lock, which an exception here would leave locked for good; the next signal comes soon
            return
        pytest.skip(f"ended after {SECONDS} s without the compiler")

    before = signal.signal(signal.SIGVTALRM, end)
    # again and again: what catches everything would swallow the first one
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, 0.1)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
