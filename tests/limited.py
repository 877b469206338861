"""``pytest -p limited``: end each test after a few processor seconds, for ``make coverage`` without compiled loops.

What a test reached by then is counted; it is reported as skipped.
"""

import signal

import pytest

SECONDS = 2.0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    def end(number, frame):
        pytest.skip(f"ended after {SECONDS} s without the compiler")

    before = signal.signal(signal.SIGVTALRM, end)
    # again and again: what catches everything would swallow the first one
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, 1.0)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
